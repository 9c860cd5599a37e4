"""Elements of variable length: those that HDF5 reads, and never a byte of anything else."""

from __future__ import annotations

import importlib
import struct

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.kernels import _heap_reference, heap
from fuel.kernels.heap import locate, take_arrays, take_bytes

try:
    compiled = importlib.import_module("fuel.kernels._heap")
except ImportError:
    compiled = None

FORMS = [
    pytest.param(_heap_reference, id="reference"),
    pytest.param(
        compiled,
        id="compiled",
        marks=pytest.mark.skipif(compiled is None, reason="built without a C compiler"),
    ),
]


@pytest.fixture(autouse=True, scope="module", params=FORMS)
def form(request):
    """Every law holds for both forms behind the same door."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heap, "_kernel", request.param)
        yield request.param


def objects(things):
    array = numpy.empty(len(things), object)
    for place, thing in enumerate(things):
        array[place] = thing
    return array


def vlen_sources():
    rng = numpy.random.default_rng(0)
    yield "u1", "u1", [rng.integers(0, 256, rng.integers(0, 40), "u1") for _ in range(700)]
    yield "i8", "i8", [rng.integers(-9, 9, rng.integers(0, 40)) for _ in range(700)]
    yield "f4", ">f4", [rng.normal(size=n % 5).astype(">f4") for n in range(300)]
    yield "large", "u1", [rng.integers(0, 256, n, "u1") for n in (70_000, 3, 5000, 200_000, 4064)]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file by HDF5: its bytes, and for each data set its descriptors and what HDF5 reads."""
    path = tmp_path_factory.mktemp("heap") / "vlen.hdf5"
    words = ["", "a", "h\u00e9llo", "word" * 20, "x" * 9000] * 60
    with h5py.File(path, "w") as file:
        for name, dtype, values in vlen_sources():
            file.create_dataset(name, data=objects(values), dtype=h5py.vlen_dtype(dtype))
        file.create_dataset("text", data=words, dtype=h5py.string_dtype())
        file.create_dataset("ascii", data=[b"ab", b"", b"cde"], dtype=h5py.string_dtype("ascii"))
        # Written one at a time, some again, some never.
        patchy = file.create_dataset("patchy", (500,), dtype=h5py.vlen_dtype("u2"))
        patchy[499] = [1, 2]
        for number in (*range(0, 400, 3), *range(0, 400, 9), *range(0, 200, 2)):
            patchy[number] = numpy.arange(number % 23)
    data = numpy.fromfile(path, "u1")
    found = {}
    with h5py.File(path, "r") as file:
        for name, dataset in file.items():
            first = dataset.id.get_offset()
            descriptors = data[first : first + 16 * len(dataset)].reshape(-1, 16)
            text = h5py.check_string_dtype(dataset.dtype)
            dtype = numpy.dtype("u1") if text else h5py.check_vlen_dtype(dataset.dtype)
            found[name] = descriptors, dtype, dataset[()]
    # What is not in the machine's order of bytes, h5py gives out as if it were (as of 3.16).
    found["f4"] = *found["f4"][:2], objects({n: v for n, _, v in vlen_sources()}["f4"])
    return data, found


@pytest.mark.parametrize("name", ["u1", "i8", "f4", "large", "patchy"])
@pytest.mark.parametrize("order", ["as written", "shuffled", "repeated"])
def test_vectors_are_those_that_hdf5_reads(written, name, order):
    data, found = written
    descriptors, dtype, expected = found[name]
    rows = numpy.arange(len(expected))
    if order != "as written":
        rows = numpy.random.default_rng(0).choice(rows, len(rows), replace=order == "repeated")
    starts, lengths, good = locate(data, descriptors[rows], itemsize=dtype.itemsize)
    assert good is True
    got = take_arrays(data, starts, lengths, dtype)
    assert got.shape == rows.shape and got.dtype == object
    for one, other in zip(got, expected[rows], strict=True):
        assert type(one) is numpy.ndarray and one.dtype == other.dtype == dtype
        assert one.tolist() == other.tolist()
        assert one.flags.writeable and not numpy.may_share_memory(one, data)


@pytest.mark.parametrize("name", ["text", "ascii"])
def test_strings_are_those_that_hdf5_reads(written, name):
    data, found = written
    descriptors, _, expected = found[name]
    for rows in (slice(None), slice(None, None, -1), [0], []):
        starts, lengths, good = locate(data, descriptors[rows])
        assert good
        assert take_bytes(data, starts, lengths) == expected[rows].tolist()


def test_a_map_and_a_user_block_make_no_difference(tmp_path):
    path = tmp_path / "block.hdf5"
    with h5py.File(path, "w", userblock_size=1024) as file:
        file.create_dataset("x", data=["one", "two"], dtype=h5py.string_dtype())
    with h5py.File(path, "r") as file:
        first = file["x"].id.get_offset()
    data = numpy.memmap(path, "u1", "r")
    for start in (first, first + 1024):  # versions of HDF5 count from different places
        descriptors = data[start : start + 32].reshape(2, 16)
        starts, lengths, good = locate(data, descriptors, base=1024)
        if good and descriptors.any():
            assert take_bytes(data, starts, lengths) == [b"one", b"two"]
            break
    else:
        raise AssertionError("the elements were not found")
    del data, descriptors


def collection(*parts, size=None, version=1):
    """The bytes of a collection of objects: numbers and contents."""
    text = b"".join(
        struct.pack("<HHIQ", number, 0, 0, len(content)) + content + bytes(-len(content) % 8)
        for number, content in parts
    )
    size = 16 + len(text) if size is None else size
    return b"GCOL" + bytes([version, 0, 0, 0]) + struct.pack("<Q", size) + text


def found_in(text, *descriptors, **options):
    data = numpy.frombuffer(text, "u1")
    packed = b"".join(struct.pack("<IQI", *descriptor) for descriptor in descriptors)
    table = numpy.frombuffer(packed, "u1").reshape(-1, 16)
    starts, lengths, good = locate(data, table, **options)
    assert good is not bool((starts == -1).any())
    elements = []
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        assert length >= 0 and (start == -1) <= (length == 0)
        one = numpy.array([max(start, 0)]), numpy.array([length])
        elements.append(None if start == -1 else take_bytes(data, *one)[0])
    return elements


def test_numbers_may_be_in_any_order_and_asked_for_in_any_order():
    parts = [(number, b"%d" % number * (number % 5)) for number in (7, 3, 4, 900, 5, 1, 65535)]
    text = bytes(8) + collection(*parts) + collection((1, b"other"))
    second = 8 + len(collection(*parts))
    wanted = [(len(content), 8, number) for number, content in parts]
    expected = [content for _, content in parts]
    for turn in range(len(parts)):
        order = [*range(turn, len(parts)), *range(turn)]
        asked = [wanted[k] for k in order] + [(5, second, 1)] + [wanted[k] for k in reversed(order)]
        answer = [expected[k] for k in order] + [b"other"] + [expected[k] for k in reversed(order)]
        assert found_in(text, *asked) == answer


def test_what_was_never_written_is_empty():
    assert found_in(b"", (0, 0, 0), (3, 0, 9)) == [b"", b""]
    assert found_in(bytes(8) + collection((1, b"")), (0, 8, 1)) == [b""]


HEAD = bytes(8)
ONE = collection((1, b"abcdefgh"), (2, b"xy"))


@pytest.mark.parametrize(
    ("text", "descriptor"),
    [
        (HEAD + ONE, (7, 8, 1)),  # another length
        (HEAD + ONE, (9, 8, 1)),
        (HEAD + ONE, (0, 8, 1)),
        (HEAD + ONE, (2**32 - 1, 8, 1)),
        (HEAD + ONE, (8, 8, 3)),  # no such number
        (HEAD + ONE, (8, 8, 0)),
        (HEAD + ONE, (8, 8, 65537)),
        (HEAD + ONE, (8, 9, 1)),  # no collection
        (HEAD + ONE, (8, 8 + len(ONE), 1)),
        (HEAD + ONE, (8, len(ONE) - 7, 1)),
        (HEAD + ONE, (8, 2**63, 1)),
        (HEAD + ONE, (8, 2**64 - 1, 1)),
        (HEAD + ONE, (0, 2**64 - 1, 0)),
        (HEAD + ONE, (8, 2**64 - 8, 1)),
        (HEAD + collection((1, b"abcdefgh"), version=2), (8, 8, 1)),
        (HEAD + collection((1, b"abcdefgh"), size=15), (8, 8, 1)),  # sizes that cannot be
        (HEAD + collection((1, b"abcdefgh"), size=39), (8, 8, 1)),
        (HEAD + collection((1, b"abcdefgh"), size=41), (8, 8, 1)),
        (HEAD + collection((1, b"abcdefgh"), size=2**64 - 1), (8, 8, 1)),
        (HEAD + collection((1, b"abcdefgh"), size=2**63), (8, 8, 1)),
        (HEAD + ONE[:-1], (8, 8, 1)),  # cut off
        (HEAD + ONE[:20], (8, 8, 1)),
        (HEAD + ONE[:15], (8, 8, 1)),
        (HEAD + ONE[:4], (8, 8, 1)),
        (HEAD + collection((0, b""), (1, b"abcdefgh")), (8, 8, 1)),  # behind what is free
    ],
)
def test_what_is_odd_is_told_and_the_rest_is_found(text, descriptor):
    assert found_in(text, descriptor) == [None]
    whole = text + bytes(-len(text) % 8) + collection((5, b"good"))
    behind = len(whole) - len(collection((5, b"good")))
    if behind > descriptor[1] or descriptor[1] > len(whole):
        assert found_in(whole, (4, behind, 5), descriptor, (0, 0, 0))[::2] == [b"good", b""]


@pytest.mark.parametrize("length", [9, 24, 25, 2**32, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1])
def test_an_object_that_would_end_behind_its_collection_is_odd(length):
    text = bytearray(HEAD + collection((1, b"abcdefgh"), (2, b"xy")))
    text[8 + 16 + 24 + 8 : 8 + 16 + 24 + 16] = struct.pack("<Q", length)
    assert found_in(bytes(text), (8, 8, 1), (2, 8, 2), (length % 2**32, 8, 2)) == [
        b"abcdefgh",
        None,
        None,
    ]


def test_the_first_of_two_with_one_number_counts():
    text = HEAD + collection((1, b"ab"), (2, b"cd"), (1, b"ef"), (2, b"ghi"), (9, b"z"))
    asked = (2, 8, 2), (2, 8, 1), (3, 8, 2), (1, 8, 9)
    assert found_in(text, *asked) == [b"cd", b"ab", None, b"z"]


def test_the_basic_type_decides_how_long_they_have_to_be():
    text = HEAD + collection((1, bytes(12)))
    assert found_in(text, (3, 8, 1), itemsize=4) == [bytes(12)]
    assert found_in(text, (12, 8, 1), itemsize=4) == [None]
    assert found_in(text, (2**32 - 1, 8, 1), itemsize=2**40) == [None]
    assert found_in(bytes(32) + text, (12, 8, 1), base=32) == [bytes(12)]
    assert found_in(text, (12, 8, 1), base=2**70) == [None]


@settings(max_examples=150)
@given(data=st.data())
def test_damage_is_never_followed_and_both_forms_agree(form, written, data):
    whole, found = written
    name = data.draw(st.sampled_from(["u1", "text", "patchy", "i8"]))
    descriptors, dtype, _ = found[name]
    rng = numpy.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rows = rng.integers(0, len(descriptors), 40)
    chosen, damaged = descriptors[rows].copy(), whole.copy()
    itemsize = dtype.itemsize
    # Where it hurts: in heads of collections and of objects, and in descriptors.
    starts, _, _ = locate(whole, chosen, itemsize=itemsize)
    heads = numpy.concatenate([starts - 16, chosen[:, 4:12].copy().view("<i8").ravel()])
    heads = heads[heads > 0]
    for _ in range(data.draw(st.integers(0, 5))):
        place = rng.choice(heads) + rng.integers(0, 16)
        damaged[place] = rng.choice([0, 1, 255, rng.integers(0, 256)])
    for _ in range(data.draw(st.integers(0, 3))):
        chosen[rng.integers(0, 40), rng.integers(0, 16)] = rng.integers(0, 256)
    damaged = damaged[: data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))]
    starts, lengths, good = locate(damaged, chosen, itemsize=itemsize)
    ours, theirs = numpy.empty(40, "i8"), numpy.empty(40, "i8")
    odd = _heap_reference.locate(damaged, chosen, 0, itemsize, ours, theirs)
    assert starts.tolist() == ours.tolist() and lengths.tolist() == theirs.tolist()
    assert good is (odd == 0)
    inside = starts >= 0
    elements = take_bytes(damaged, starts[inside], lengths[inside])
    for start, length, element in zip(starts[inside], lengths[inside], elements, strict=True):
        assert element == damaged[start : start + length].tobytes()


@pytest.mark.parametrize(
    ("start", "length"),
    [(-1, 0), (-1, 4), (0, 101), (101, 0), (97, 4), (4, -4), (2**63 - 1, 4), (4, 2**63 - 4)],
)
def test_an_element_outside_of_the_file_is_refused(start, length):
    data = numpy.arange(100, dtype="u1")
    starts, lengths = numpy.array([0, start]), numpy.array([4, length])
    for call in (
        lambda: take_bytes(data, starts, lengths),
        lambda: take_arrays(data, starts, lengths, "u1"),
    ):
        with pytest.raises(
            ValueError, match=f"inside of the 100 bytes .* got {length} bytes from {start} on"
        ):
            call()


def test_elements_have_to_be_whole():
    data = numpy.arange(100, dtype="u1")
    with pytest.raises(
        ValueError, match="whole items of 4 bytes, got 6 bytes from 8 on at place 1"
    ):
        take_arrays(data, numpy.array([0, 8]), numpy.array([4, 6]), "i4")
    got = take_arrays(data, numpy.array([0, 8, 3]), numpy.array([4, 8, 0]), "<i4")
    assert [one.tolist() for one in got] == [[0x03020100], [0x0B0A0908, 0x0F0E0D0C], []]


def test_nothing_is_asked_for():
    data, none = numpy.arange(100, dtype="u1"), numpy.empty(0, "i8")
    starts, lengths, good = locate(data, numpy.empty((0, 16), "u1"))
    assert len(starts) == len(lengths) == 0 and good
    assert take_bytes(data, none, none) == [] and take_arrays(data, none, none, "f8").shape == (0,)


def test_vectors_need_not_lie_one_after_the_other():
    text = HEAD + collection((1, b"ab"), (2, b"cde"))
    data = numpy.frombuffer(text, "u1")
    packed = struct.pack("<IQIIQI", 2, 8, 1, 3, 8, 2)
    table = numpy.repeat(numpy.frombuffer(packed, "u1").reshape(2, 16), 2, axis=0)[::2]
    starts, lengths, _ = locate(data, table)
    assert take_bytes(data, numpy.repeat(starts, 2)[::2], lengths[::-1][::-1]) == [b"ab", b"cde"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: locate(b"", d), TypeError, "`file` must be a vector of uint8"),
        (lambda d: locate(numpy.zeros((4, 4), "u1"), d), TypeError, "`file` must be a vector"),
        (lambda d: locate(numpy.zeros(8, "u1")[::2], d), TypeError, "`file` must be a vector"),
        (lambda d: locate(numpy.zeros(8, "i1"), d), TypeError, "`file` must be a vector of uint8"),
        (lambda d: locate(d[0], d[:, :8]), ValueError, r"shape \(n, 16\), got \(1, 8\)"),
        (lambda d: locate(d[0], d.view("i1")), TypeError, "`descriptors` must be an array of"),
        (lambda d: locate(d[0], d.tolist()), TypeError, "`descriptors` must be an array of"),
        (lambda d: locate(d[0], d, -1), ValueError, "`base` must not be negative"),
        (lambda d: locate(d[0], d, 0, 0), ValueError, "`itemsize` at least 1, got 0 and 0"),
        (lambda d: take_bytes(d[0], [0], [1]), TypeError, "`starts` must be a vector of int64"),
        (lambda d: take_bytes(d[0], ONES, ONES.astype("i4")), TypeError, "`lengths` must be a"),
        (lambda d: take_bytes(d[0], ONES, ONES[:0]), ValueError, "as many `lengths` as `starts`"),
        (lambda d: take_arrays(d[0], ONES, ONES, "O"), TypeError, "without objects or axes"),
        (lambda d: take_arrays(d[0], ONES, ONES, "S"), TypeError, "a type of some bytes"),
        (lambda d: take_arrays(d[0], ONES, ONES, "2u1"), TypeError, "without objects or axes"),
    ],
)
def test_arguments_of_another_kind_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(numpy.zeros((1, 16), "u1"))


ONES = numpy.ones(1, numpy.int64)
