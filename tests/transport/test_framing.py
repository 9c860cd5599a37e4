"""Arrays as header and buffers: they arrive as they left, and damage is refused."""

from __future__ import annotations

import json

import numpy
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from fuel.exceptions import TransportError
from fuel.transport.framing import decode_arrays, encode_arrays

ALIGNED = numpy.dtype(
    [("a", "i1"), ("b", "f8", (2, 3)), ("c", [("d", "U3"), ("e", "M8[us]")])], True
)
REORDERED = numpy.dtype(
    {"names": ["a", "b"], "formats": ["<i4", "S1"], "offsets": [4, 0], "itemsize": 12}
)
TITLED = numpy.dtype([(("The title", "name"), ">f4"), ("other", "?")])

ARRAYS = {
    "0-d": numpy.float64(3),
    "empty": numpy.zeros((0, 3)),
    "empty with a long axis": numpy.zeros((2**40, 0), "u1"),
    "Fortran order": numpy.asfortranarray(numpy.arange(6).reshape(2, 3)),
    "strided": numpy.arange(20)[::3],
    "reversed": numpy.arange(5)[::-1],
    "transposed part": numpy.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)[1:],
    "broadcast": numpy.broadcast_to(numpy.arange(3.0), (2, 3)),
    "read-only": numpy.frombuffer(b"abcd", "u1"),
    "unicode": numpy.array(["", "ab", "ü中"]),
    "bytes": numpy.array([b"a", b"", b"bc"]),
    "bool": numpy.array([True, False]),
    "half": numpy.array([1.5, numpy.nan], "f2"),
    "long double": numpy.array([1, numpy.inf], numpy.longdouble),
    "complex": numpy.array([1j, -0.0]),
    "byte-swapped": numpy.arange(3).astype(numpy.dtype("i4").newbyteorder()),
    "dates": numpy.array(["2020-02-29", "NaT"], "M8[D]"),
    "times": numpy.array([1, 2], "m8[25s]"),
    "times without a unit": numpy.zeros(2, "m8"),
    "void": numpy.array([b"abc"], "V3"),
    "without size": numpy.zeros(3, "V0"),
    "without fields": numpy.zeros(2, []),
    "aligned fields": numpy.ones(3, ALIGNED),
    "reordered fields": numpy.zeros(2, REORDERED),
    "titled fields": numpy.zeros((2, 2), TITLED),
    "one structure": numpy.zeros((), TITLED),
    "with metadata": numpy.zeros(2, numpy.dtype("i4", metadata={"unit": "m"})),
}


def over_the_wire(arrays):
    headers, buffers = encode_arrays(arrays)
    return decode_arrays(json.loads(json.dumps(headers)), [bytes(buffer) for buffer in buffers])


def assert_same(came, sent):
    sent = numpy.asarray(sent)
    assert came.dtype == sent.dtype
    assert came.shape == sent.shape
    assert came.tobytes() == sent.tobytes()


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_arrives_as_it_left(name):
    (came,) = over_the_wire([ARRAYS[name]])
    assert_same(came, ARRAYS[name])
    assert came.flags.writeable
    assert came.size == 0 or came.itemsize == 0 or came.ctypes.data % 64 == 0


def test_the_order_of_the_axes_in_memory_is_kept():
    (came,) = over_the_wire([ARRAYS["Fortran order"]])
    assert came.flags.f_contiguous
    assert not came.flags.c_contiguous


def test_no_arrays_are_a_message_too():
    assert over_the_wire([]) == []


def test_the_header_is_that_of_the_npy_format():
    headers, buffers = encode_arrays([numpy.zeros((2, 3), ">i2", order="F")])
    assert headers == [{"descr": ">i2", "fortran_order": True, "shape": [2, 3]}]
    assert [buffer.nbytes for buffer in buffers] == [12]
    for array in ARRAYS.values():
        array = numpy.asarray(array)
        if array.dtype != REORDERED and not array.dtype.metadata:  # beyond the format
            theirs = numpy.lib.format.header_data_from_array_1_0(array)
            assert encode_arrays([array])[0] == json.loads(json.dumps([theirs]))


def test_contiguous_data_is_not_copied_to_encode_it():
    array = numpy.arange(5)
    _, (buffer,) = encode_arrays([array])
    assert numpy.shares_memory(numpy.frombuffer(buffer, "u1"), array)


def test_what_arrives_is_nobody_elses():
    headers, _ = encode_arrays([numpy.zeros(4)])
    memory = bytearray(32)
    (came,) = decode_arrays(headers, [memory])
    memory[:] = b"\xff" * 32
    assert came.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (numpy.array([None, "x"]), "Python objects"),
        (numpy.zeros(1, [("a", "i4"), ("b", "O")]), "Python objects"),
        ([[1, 2], [3]], "Padding"),
        (object(), "Python objects"),
        (numpy.ma.array([1, 2], mask=[True, False]), "mask"),
    ],
)
def test_what_is_no_plain_array_is_refused_by_the_sender(item, reason):
    with pytest.raises(TransportError, match=reason) as caught:
        encode_arrays([numpy.zeros(2), item])
    assert "1 of a message" in str(caught.value)


GOOD = {"descr": "<i4", "fortran_order": False, "shape": [2]}


def header(**changes):
    return [{**GOOD, **changes}]


def nested(depth):
    descr = "<i4"
    for _ in range(depth):
        descr = [["a", descr]]
    return descr


@pytest.mark.parametrize(
    "headers",
    [
        None,
        7,
        "text",
        {},
        {"0": GOOD},
        [],
        [GOOD, GOOD],
        header(descr="<m8[0s]", shape=[1]),
        [None],
        [[]],
        [{}],
        [{**GOOD, "extra": 1}],
        header(fortran_order=1),
        header(shape=2),
        header(shape="2"),
        header(shape=[2.0]),
        header(shape=[True, 2]),
        header(shape=[-2]),
        header(shape=[-1, -2]),
        header(shape=[3]),
        header(shape=[1] * 65 + [2]),
        header(shape=[2**62, 2**62]),
        header(shape=[2**70, 0]),
        header(shape=[10**30]),
        header(shape=[2**40], descr="|V0"),
        header(descr=None),
        header(descr="|O"),
        header(descr="O"),
        header(descr="<i3"),
        header(descr="<f99"),
        header(descr="i4,i4"),
        header(descr="(2,)i4"),
        header(descr="float64"),
        header(descr="<i4\n"),
        header(descr="<M8[parsecs]"),
        header(descr="|S9999999999"),
        header(descr=[["a", "|O"]], shape=[1]),
        header(descr=[["a"]], shape=[1]),
        header(descr=[["a", "<i4"], ["a", "<i4"]], shape=[1]),
        header(descr=[[1, "<i8"]], shape=[1]),
        header(descr=[["a", "<i4", [-2]]], shape=[1]),
        header(descr=[["a", "<i4", [2**40]]], shape=[0]),
        header(descr=[["a", "<i4", [2**40, 0]]], shape=[0]),
        header(descr=[["a", "|V2000000000"], ["b", "|V2000000000"]], shape=[0]),
        header(descr=nested(17), shape=[2]),
        header(descr=nested(300), shape=[2]),
        header(
            descr={"names": ["a"], "formats": [["<i8", []]], "offsets": [4], "itemsize": 8},
            shape=[1],
        ),
        header(
            descr={"names": ["a"], "formats": [["|O", []]], "offsets": [0], "itemsize": 8},
            shape=[1],
        ),
        header(descr={"names": ["a"], "formats": [], "offsets": [0], "itemsize": 8}, shape=[1]),
        header(descr={"names": 1, "formats": 2, "offsets": 3, "itemsize": 8}, shape=[1]),
        header(
            descr={"names": ["a"], "formats": [["<i8", []]], "offsets": [-1], "itemsize": 8},
            shape=[1],
        ),
    ],
)
def test_a_malformed_header_is_refused(headers):
    with pytest.raises(TransportError):
        decode_arrays(headers, [b"12345678"])


def test_all_headers_are_checked_before_any_array_is_made(monkeypatch):
    monkeypatch.setattr("fuel.transport.framing._make", lambda *_: pytest.fail("made one"))
    with pytest.raises(TransportError):
        decode_arrays([GOOD, {**GOOD, "shape": [3]}], [b"12345678", b"12345678"])


def test_nothing_is_allocated_for_a_header_that_promises_more_than_came():
    import tracemalloc

    tracemalloc.start()
    with pytest.raises(TransportError, match=r"2000000000000 bytes, but 8 bytes came"):
        decode_arrays(header(shape=[500_000_000_000]), [b"12345678"])
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(
        ["descr", "shape", "fortran_order", "<i4", "|V8", "<M8[D]", "|O", "", "names"]
    )
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["descr", "shape", "fortran_order", "names", "formats", "offsets", "itemsize"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)
headers_like = st.fixed_dictionaries(
    {
        "descr": json_values | st.sampled_from(["<i4", [["a", "<i4"]], [["a", "|u1", [4]]]]),
        "fortran_order": json_values | st.booleans(),
        "shape": json_values | st.lists(st.integers(-1, 2**64), max_size=3),
    }
)


@settings(max_examples=200, deadline=None)
@given(
    json_values | st.lists(headers_like | json_values, max_size=3),
    st.lists(st.binary(max_size=16), max_size=3),
)
@example([{"descr": [], "fortran_order": False, "shape": [5]}], [b""])
def test_whatever_comes_gives_arrays_of_the_size_that_came_or_a_transport_error(headers, buffers):
    try:
        arrays = decode_arrays(headers, buffers)
    except TransportError:
        return
    assert [array.nbytes for array in arrays] == [len(buffer) for buffer in buffers]
    assert not any(array.dtype.hasobject for array in arrays)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st_numpy.arrays(
            st_numpy.scalar_dtypes()
            | st_numpy.nested_dtypes(max_itemsize=200).filter(lambda d: not d.subdtype),
            st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
        ),
        max_size=3,
    )
)
def test_any_arrays_arrive_as_they_left(arrays):
    for came, sent in zip(over_the_wire(arrays), arrays, strict=True):
        assert_same(came, sent)
