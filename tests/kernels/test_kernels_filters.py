"""Undoing HDF5's own filters: what HDF5 wrote comes back, and damage is noticed, not followed."""

from __future__ import annotations

import importlib

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.kernels import _filters_reference, filters
from fuel.kernels.filters import fletcher32, lzf_decompress, unshuffle

try:
    compiled = importlib.import_module("fuel.kernels._filters")
except ImportError:
    compiled = None

FORMS = [
    pytest.param(_filters_reference, id="reference"),
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
        for name in ("lzf", "unshuffle", "fletcher32"):
            patch.setattr(filters, f"_{name}", getattr(request.param, name))
        yield request.param


@pytest.fixture
def chunk_of(tmp_path):
    """Return a function that has HDF5 write one chunk, and returns what is in the file."""

    def write(array, **options):
        with h5py.File(tmp_path / "chunk.hdf5", "w") as file:
            dataset = file.create_dataset("x", data=array, chunks=array.shape, **options)
            file.flush()
            mask, data = dataset.id.read_direct_chunk((0,) * array.ndim)
        assert mask == 0
        return data

    return write


def arrays():
    rng = numpy.random.default_rng(0)
    yield "zeros", numpy.zeros(70_000, "u1")
    yield "numbers", rng.integers(0, 1000, 9_000).astype("i4")
    yield "smooth", numpy.cumsum(rng.normal(size=4_000)).cumsum()
    yield "halves", (numpy.arange(5_000) // 7).astype("i2")
    for period in (2, 3, 5, 6, 7, 9, 12, 15, 16, 17, 33):
        pattern = rng.integers(0, 256, period, "u1")
        yield f"period {period}", numpy.resize(pattern, 3_000 + period)
    text = b"".join(rng.choice([b"the ", b"quick ", b"brown ", b"fox "], 4_000).tolist())
    yield "words", numpy.frombuffer(text, "u1")
    yield "short", numpy.zeros(40, "u1")


@pytest.mark.parametrize(("name", "array"), list(arrays()), ids=lambda value: str(value)[:9])
@pytest.mark.parametrize("shuffled", [False, True])
def test_what_hdf5_compressed_comes_back(chunk_of, name, array, shuffled):
    try:
        data = chunk_of(array, compression="lzf", shuffle=shuffled)
    except AssertionError:
        assert name in ("numbers", "smooth")  # not made smaller, and so left as it was
        return
    got = lzf_decompress(data, array.nbytes)
    assert got.dtype == numpy.uint8 and got.shape == (array.nbytes,)
    if shuffled:
        got = unshuffle(got, array.itemsize)
    assert got.tobytes() == array.tobytes()


def commands():
    literals = st.binary(min_size=1, max_size=32).map(lambda text: (text, 0, 0))
    copies = st.tuples(
        st.just(b""),
        st.one_of(st.integers(1, 20), st.integers(1, 8192)),
        st.one_of(st.integers(3, 12), st.integers(3, 264)),
    )
    return st.lists(st.one_of(literals, copies), max_size=40)


def encoded(parts):
    """Encode as the format says; returns the data too, made one byte after the other."""
    made, code = bytearray(), bytearray()
    for text, distance, count in parts:
        if text:
            code += bytes([len(text) - 1]) + text
            made += text
            continue
        if not made:
            continue
        distance = min(distance, len(made))
        code.append(min(count - 2, 7) << 5 | (distance - 1) >> 8)
        if count >= 9:
            code.append(count - 9)
        code.append((distance - 1) & 255)
        for _ in range(count):
            made.append(made[-distance])
    return bytes(code), bytes(made)


@given(parts=commands())
def test_every_copy_repeats_what_it_overlaps(form, parts):
    code, made = encoded(parts)
    assert lzf_decompress(code, len(made)).tobytes() == made
    # With room behind for wide copies, or without: the same.
    behind = code + bytes([31]) + bytes(range(32))
    for _ in range(12):
        behind += bytes([31]) + bytes(range(32))
    whole = made + bytes(range(32)) * 13
    assert lzf_decompress(behind, len(whole)).tobytes() == whole


@given(parts=commands(), data=st.data())
def test_whatever_is_wrong_is_an_error_and_touches_nothing_else(form, parts, data):
    code, made = encoded(parts)
    damaged = bytearray(code)
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            place = data.draw(st.integers(0, len(damaged) - 1))
            damaged[place] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(0, len(damaged))) :]
    size = max(0, len(made) + data.draw(st.integers(-3, 3)))
    guarded = numpy.full(size + 128, 0xA5, "u1")
    out = guarded[64 : 64 + size]
    expected = numpy.empty(size, "u1")
    status, _ = _filters_reference.lzf(bytes(damaged), expected)
    if status:
        with pytest.raises(ValueError, match="bytes of LZF are damaged"):
            lzf_decompress(bytes(damaged), size, out)
    else:
        assert lzf_decompress(bytes(damaged), size, out) is out
        numpy.testing.assert_array_equal(out, expected)
    assert (guarded[:64] == 0xA5).all() and (guarded[64 + size :] == 0xA5).all()


@pytest.mark.parametrize(
    ("code", "size", "message"),
    [
        (b"", 1, "fewer than the 1 bytes expected"),
        (b"\x00", 1, "middle of a run at byte 0"),
        (b"\x01a", 2, "middle of a run at byte 0"),
        (b"\x00a\x20", 4, "middle of a run at byte 2"),
        (b"\x00a\xe0", 20, "middle of a run at byte 2"),
        (b"\x00a\xe0\x01", 20, "middle of a run at byte 2"),
        (b"\x20\x00", 3, "byte 0 refers to what would be before the beginning"),
        (b"\x00a\x20\x01", 4, "byte 2 refers to what would be before the beginning"),
        (b"\x01ab", 1, r"more than the 1 bytes expected \(at byte 0\)"),
        (b"\x00a\x20\x00", 3, r"more than the 3 bytes expected \(at byte 2\)"),
        (b"\x00a\x20\x00", 5, "fewer than the 5 bytes expected"),
    ],
)
def test_the_error_says_what_is_wrong(code, size, message):
    with pytest.raises(ValueError, match=f"{len(code)} bytes of LZF are damaged: .*{message}"):
        lzf_decompress(code, size)


@pytest.mark.parametrize("distance", [1, 3, 8, 20])
@pytest.mark.parametrize("count", [3, 100, 264])
def test_a_copy_never_goes_beyond_the_end(distance, count):
    code, made = encoded([(bytes(range(20)), 0, 0), (b"", distance, count)])
    behind = bytes([31]) + bytes(32)
    for size in range(len(made) - 70 if count > 70 else 20, len(made) + 40):
        guarded = numpy.full(size + 600, 0xA5, "u1")
        with pytest.raises(ValueError, match=f"more than the {size} bytes expected"):
            lzf_decompress(code + behind * 5, size, guarded[:size])
        assert (guarded[size:] == 0xA5).all()


def test_nothing_is_nothing():
    assert lzf_decompress(b"", 0).shape == unshuffle(b"", 4).shape == (0,)
    assert fletcher32(b"") == 0


SIZES = [*range(1, 26), 32, 33, 100, 1000, 3000]


@pytest.mark.parametrize("itemsize", SIZES)
def test_shuffled_bytes_come_back(itemsize):
    rng = numpy.random.default_rng(itemsize)
    for count in (0, 1, 7, 16, 31, 600):
        for rest in {0, 1 % itemsize, itemsize - 1}:
            data = rng.integers(0, 256, count * itemsize + rest, "u1")
            whole = data[: count * itemsize].reshape(count, itemsize)
            shuffled = whole.T.tobytes() + data[count * itemsize :].tobytes()
            guarded = numpy.full(len(data) + 64, 0xA5, "u1")
            out = guarded[32 : 32 + len(data)]
            assert unshuffle(shuffled, itemsize, out) is out
            numpy.testing.assert_array_equal(out, data)
            assert (guarded[:32] == 0xA5).all() and (guarded[32 + len(data) :] == 0xA5).all()


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8", "c16", "S3", "S7", [("a", "i4"), ("b", "S9")]])
def test_what_hdf5_shuffled_comes_back(chunk_of, dtype):
    array = numpy.frombuffer(numpy.random.default_rng(0).bytes(7 * 11 * 48), "u1")
    dtype = numpy.dtype(dtype)
    array = array[: len(array) // dtype.itemsize * dtype.itemsize].view(dtype)
    data = chunk_of(array, shuffle=True)
    out = numpy.empty(array.shape, dtype)
    assert unshuffle(data, dtype.itemsize, out) is out
    assert out.tobytes() == array.tobytes()


def test_an_element_larger_than_all_bytes_changes_nothing():
    for itemsize in (4, 10**30):
        assert unshuffle(b"abc", itemsize).tobytes() == b"abc"


@pytest.mark.parametrize("size", [1, 2, 3, 31, 32, 33, 719, 720, 721, 8191, 8192, 40_001, 262_140])
@pytest.mark.parametrize("kind", ["random", "zeros", "ones", "last"])
def test_checksums_are_those_of_hdf5(chunk_of, size, kind):
    array = {
        "random": numpy.random.default_rng(size).integers(0, 256, size, "u1"),
        "zeros": numpy.zeros(size, "u1"),
        "ones": numpy.full(size, 255, "u1"),
        "last": (numpy.arange(size) == size - 1).astype("u1"),
    }[kind]
    data = chunk_of(array, fletcher32=True)
    assert len(data) == size + 4
    assert fletcher32(memoryview(data)[:-4]) == int.from_bytes(data[-4:], "little")


@settings(max_examples=40)
@given(text=st.binary(max_size=3000), times=st.integers(1, 20))
def test_checksums_of_both_forms_agree(form, text, times):
    assert fletcher32(text * times) == _filters_reference.fletcher32(text * times)


def test_a_changed_byte_changes_the_checksum():
    data = bytearray(range(200))
    before = fletcher32(data)
    for place in range(200):
        data[place] ^= 0x10
        assert fletcher32(data) != before
        data[place] ^= 0x10


def test_bytes_may_be_of_any_kind():
    array = numpy.arange(12, dtype=">i4").reshape(3, 4)
    text = array.tobytes()
    expected = unshuffle(text, 4).tobytes(), fletcher32(text)
    for data in (bytearray(text), memoryview(text), array, array.view("u1"), memoryview(array)):
        assert (unshuffle(data, 4).tobytes(), fletcher32(data)) == expected
    code = memoryview(b"..\x00a\x20\x00")[2:]
    assert lzf_decompress(code, 4, numpy.empty(4, "S1")).tolist() == [b"a"] * 4
    assert lzf_decompress(code, 4, numpy.empty((), "f4")).tobytes() == b"aaaa"


def test_what_is_not_bytes_is_refused():
    for call in (fletcher32, lambda data: unshuffle(data, 2), lambda data: lzf_decompress(data, 3)):
        for data in ("text", 3, None, [1, 2]):
            with pytest.raises(TypeError):
                call(data)
        with pytest.raises((BufferError, ValueError)):
            call(numpy.arange(6, dtype="u1")[::2])


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (numpy.empty(5, "u1"), ValueError, "must have 4 bytes, got 5"),
        (numpy.empty(8, "u1")[::2], ValueError, "writable and in C order"),
        (numpy.frombuffer(b"abcd", "u1"), ValueError, "writable and in C order"),
        (numpy.empty(4, "O"), TypeError, "without objects, got object"),
        (bytearray(4), TypeError, "without objects, got bytearray"),
    ],
)
def test_an_output_that_cannot_take_the_bytes_is_refused(out, error, message):
    with pytest.raises(error, match=message):
        lzf_decompress(b"\x00a\x20\x00", 4, out)
    with pytest.raises(error, match=message):
        unshuffle(b"abcd", 2, out)


def test_an_output_over_the_data_is_refused():
    memory = numpy.zeros(12, "u1")
    memory[4:8] = [0, 97, 32, 0]
    before = memory.copy()
    for out in (memory[2:6], memory[4:8], memory[7:11]):
        with pytest.raises(ValueError, match="apart from `data`"):
            lzf_decompress(memory[4:8], 4, out)
        with pytest.raises(ValueError, match="apart from `data`"):
            unshuffle(memory[4:8], 2, out)
    assert (memory == before).all()


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="`itemsize` must be at least 1, got 0"):
        unshuffle(b"ab", 0)
    with pytest.raises(ValueError, match="`size` must not be negative, got -1"):
        lzf_decompress(b"", -1)
    with pytest.raises(TypeError):
        unshuffle(b"ab", 1.5)
