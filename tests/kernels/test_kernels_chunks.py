"""Rows out of chunks: those that were asked for, from wherever the chunks are, and nothing else."""

from __future__ import annotations

import importlib
import threading

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.exceptions import RequestError
from fuel.kernels import _chunks_reference, chunks
from fuel.kernels.chunks import fetch, gather_tiles, missing

try:
    compiled = importlib.import_module("fuel.kernels._chunks")
except ImportError:
    compiled = None

FORMS = [
    pytest.param(_chunks_reference, id="reference"),
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
        for name in ("gather", "fetch", "missing"):
            patch.setattr(chunks, f"_{name}", getattr(request.param, name))
        yield request.param


def vector(*values):
    return numpy.array(values, numpy.int64)


class Tiled:
    """Rows of `width` bytes, in chunks of `chunk_rows` rows and `chunk_width` bytes."""

    def __init__(self, count, chunk_rows, width, chunk_width):
        rng = numpy.random.default_rng(count * 7 + width)
        self.data = rng.integers(0, 256, (count, width), "u1")
        self.chunk_rows, self.chunk_width = chunk_rows, chunk_width
        self.tiles = -(-width // chunk_width)
        self.chunks, self.runs = [], []
        for first in range(0, count, chunk_rows):
            for left in range(0, width, chunk_width):
                chunk = numpy.full((chunk_rows, chunk_width), 99, "u1")
                part = self.data[first : first + chunk_rows, left : left + chunk_width]
                chunk[: part.shape[0], : part.shape[1]] = part
                self.chunks.append(chunk)
        for tile, left in enumerate(range(0, width, chunk_width)):
            self.runs.append((tile, 0, left, min(chunk_width, width - left)))
        self.runs = numpy.array(self.runs, numpy.int64)
        self.pointers = vector(*[chunk.ctypes.data for chunk in self.chunks])

    def layout(self):
        return self.chunk_rows, self.tiles, self.runs, self.chunk_width

    def gather(self, rows, out, places=None):
        gather_tiles(self.pointers, rows, *self.layout(), out, places)
        return out

    def fetch(self, rows, out, places=None, touched=None):
        return fetch(self.pointers, rows, *self.layout(), out, places, touched)

    def missing(self, rows, touched=None):
        return missing(self.pointers, rows, self.chunk_rows, self.tiles, touched)


def tiled(count=25, chunk_rows=10, width=7, chunk_width=7):
    return Tiled(count, chunk_rows, width, chunk_width)


@settings(max_examples=60)
@given(
    count=st.integers(1, 40),
    chunk_rows=st.integers(1, 12),
    width=st.one_of(st.integers(1, 10), st.sampled_from([16, 31, 33, 64, 65, 130])),
    chunk_width=st.integers(1, 140),
    data=st.data(),
)
def test_rows_are_copied_from_wherever_they_are(form, count, chunk_rows, width, chunk_width, data):
    source = Tiled(count, chunk_rows, width, chunk_width)
    rows = vector(*data.draw(st.lists(st.integers(0, count - 1), max_size=30)))
    got = source.gather(rows, numpy.empty((len(rows), width), "u1"))
    numpy.testing.assert_array_equal(got, source.data[rows])
    places = numpy.random.default_rng(0).permutation(len(rows) + 3)[: len(rows)]
    target = numpy.full((len(rows) + 3, width), 77, "u1")
    expected = target.copy()
    expected[places] = source.data[rows]
    touched = numpy.zeros(len(source.pointers) // source.tiles, "u1")
    assert source.fetch(rows, target, places, touched) == 0
    numpy.testing.assert_array_equal(target, expected)
    assert numpy.flatnonzero(touched).tolist() == sorted(set((rows // chunk_rows).tolist()))


@pytest.mark.parametrize("count", [1, 255, 256, 257, 2000])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 784, 5000])
@pytest.mark.parametrize("sequential", [False, True])
def test_any_number_of_rows_of_any_size(count, width, sequential):
    source = Tiled(50, 16, width, width)
    rows = numpy.random.default_rng(0).integers(0, 50, count)
    if sequential:
        rows = numpy.arange(count) % 50
    got = source.gather(rows, numpy.empty((count, width), "u1"))
    numpy.testing.assert_array_equal(got, source.data[rows])


@pytest.mark.parametrize("width", [8, 40])
def test_rows_that_follow_one_another_may_go_anywhere(width):
    source = Tiled(50, 16, width, width)
    rows = numpy.concatenate([numpy.arange(5, 40), numpy.arange(20, 30)])
    for places in (numpy.arange(45)[::-1].copy(), numpy.roll(numpy.arange(45), 3)):
        got = source.gather(rows, numpy.zeros((45, width), "u1"), places)
        numpy.testing.assert_array_equal(got[places], source.data[rows])


def test_rows_of_any_type_and_shape():
    source = Tiled(25, 10, 24, 8)
    rows = vector(3, 24, 3)
    for dtype, shape in (
        ("f4", (2, 3)),
        (">i8", (3,)),
        ("S24", ()),
        ([("a", "f8"), ("b", "V16")], ()),
    ):
        out = numpy.empty((3, *shape), dtype)
        assert source.gather(rows, out).tobytes() == source.data[rows].tobytes()


def test_parts_of_rows_go_where_the_runs_say():
    source = tiled()
    source.runs = numpy.array([[0, 5, 0, 2], [0, 1, 4, 3], [0, 0, 7, 0]])
    out = numpy.zeros((2, 7), "u1")
    source.gather(vector(21, 4), out)
    rows = source.data[[21, 4]]
    assert out[:, :2].tolist() == rows[:, 5:].tolist()
    assert out[:, 4:].tolist() == rows[:, 1:4].tolist()
    assert not out[:, 2:4].any()
    source.runs = numpy.array([[0, 2, 3, 2]])
    out[:] = 0
    source.gather(vector(21, 4), out)
    assert out[:, 3:5].tolist() == rows[:, 2:4].tolist() and not out[:, 5:].any()


def test_nothing_may_be_asked_for():
    source = tiled()
    assert source.gather(vector(), numpy.empty((0, 7), "u1")).shape == (0, 7)
    assert source.fetch(vector(), numpy.empty((0, 7), "u1")) == 0
    assert source.missing(vector()).tolist() == []
    source.runs = source.runs[:0]
    assert source.gather(vector(3), numpy.full((1, 7), 5, "u1")).tolist() == [[5] * 7]
    empty = numpy.empty((3, 0), "u1")
    assert source.gather(vector(1, 2, 3), empty) is empty


@settings(max_examples=50)
@given(rows=st.lists(st.integers(0, 59), max_size=30), absent=st.sets(st.integers(0, 17)))
def test_what_is_missing_is_named_once_in_order(form, rows, absent):
    source = Tiled(60, 10, 9, 3)
    source.pointers[list(absent)] = 0
    touched = numpy.zeros(6, "u1")
    needed = sorted({row // 10 for row in rows})
    expected = [chunk for chunk in needed if absent & {3 * chunk, 3 * chunk + 1, 3 * chunk + 2}]
    found = source.missing(vector(*rows), touched)
    assert found.dtype == numpy.int64 and found.tolist() == expected
    assert numpy.flatnonzero(touched).tolist() == needed and set(touched.tolist()) <= {0, 1}
    out = numpy.full((len(rows), 9), 200, "u1")
    count = source.fetch(vector(*rows), out)
    assert count == sum(row // 10 in expected for row in rows)
    if count:
        assert (out == 200).all()
        with pytest.raises(ValueError, match=r"row \d+ is in row \d of chunks, which is not there"):
            source.gather(vector(*rows), out)
        assert (out == 200).all()
    else:
        numpy.testing.assert_array_equal(out, source.data[rows])


def test_a_tile_that_no_run_reads_may_be_missing():
    source = Tiled(25, 10, 9, 3)
    source.pointers[1::3] = 0
    source.runs = source.runs[[0, 2]]
    out = source.gather(vector(24, 0), numpy.zeros((2, 9), "u1"))
    assert out[:, :3].tolist() == source.data[[24, 0], :3].tolist()
    assert out[:, 6:].tolist() == source.data[[24, 0], 6:].tolist()


def test_an_address_of_nothing_is_never_read():
    source = tiled()
    source.pointers[:] = 0
    with pytest.raises(ValueError, match="row 21 is in row 2 of chunks"):
        source.gather(vector(21, 3), numpy.empty((2, 7), "u1"))
    assert source.missing(numpy.repeat(vector(21, 3, 22, 9), 500)).tolist() == [0, 2]


@pytest.mark.parametrize("row", [30, -1, 2**40, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("before", [0, 300])
def test_a_row_that_is_not_there_is_named(row, before):
    source = tiled()
    rows = vector(*[2] * before, row)
    out = numpy.full((len(rows), 7), 200, "u1")
    for call in (
        lambda: source.gather(rows, out),
        lambda: source.fetch(rows, out),
        lambda: source.missing(rows),
    ):
        with pytest.raises(RequestError, match=f"3 rows of chunks of 10 .* got .* row {row};"):
            call()
    assert (out == 200).all()


def test_rows_of_other_types_are_understood_or_refused():
    source = tiled()
    for rows in ([3, 1], numpy.array([3, 1], "u8"), numpy.array([3, 9, 1], ">i4")[::2]):
        got = source.gather(rows, numpy.empty((2, 7), "u1"), [1, 0])
        assert got.tolist() == source.data[[1, 3]].tolist()
        assert source.missing(rows).tolist() == []
    with pytest.raises(RequestError, match=f"row {2**64 - 1};"):
        source.missing(numpy.array([2**64 - 1], "u8"))
    for rows in ([1.5], [True], numpy.ones((1, 1), int), 3):
        with pytest.raises(TypeError, match="`rows` must be a vector of integers"):
            source.missing(rows)


@pytest.mark.parametrize(
    "run",
    [
        [1, 0, 0, 1],
        [-1, 0, 0, 1],
        [0, -1, 0, 1],
        [0, 0, -1, 1],
        [0, 7, 0, 1],
        [0, 0, 7, 1],
        [0, 0, 0, 8],
        [0, 0, 0, -1],
        [0, 2**62, 0, 2**62],
        [0, -(2**63), 0, 7],
        [2**63 - 1, 0, 0, 1],
    ],
)
def test_a_copy_beyond_a_row_is_refused(run):
    source = tiled()
    source.runs = numpy.array([[0, 0, 0, 7], run])
    out = numpy.full((1, 7), 200, "u1")
    for call in (source.gather, source.fetch):
        with pytest.raises(ValueError, match="each of `runs` must stay within 1 tiles, 7 bytes"):
            call(vector(3), out)
    assert (out == 200).all()


def frozen(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("argument", "value", "error", "message"),
    [
        ("out", numpy.empty((3, 7), "u1"), ValueError, "as many places as rows, 2, got 3 rows"),
        ("out", numpy.empty((2, 6), "u1"), ValueError, "6 bytes of a row of `out`"),
        ("out", numpy.empty((2, 7), "O"), TypeError, "without objects"),
        ("out", numpy.empty((7, 2), "u1").T, ValueError, "writable and in C order"),
        ("out", frozen(numpy.empty((2, 7), "u1")), ValueError, "writable and in C order"),
        ("out", numpy.array(3), TypeError, "array with rows"),
        ("out", bytearray(14), TypeError, "got bytearray"),
        ("places", vector(0, 2), ValueError, "`places` must be from 0 to 1"),
        ("places", vector(-1, 0), ValueError, "`places` must be from 0 to 1"),
        ("places", vector(0), ValueError, "as many places as rows, 2, got 1 `places`"),
        ("places", [0.5, 1], TypeError, "`places` must be a vector of integers"),
        ("pointers", [0, 0, 0], TypeError, "`pointers` must be an aligned vector"),
        ("pointers", numpy.ones(3, "i4"), TypeError, "`pointers` must be an aligned vector"),
        ("runs", [[0, 0, 0, 7]], TypeError, "`runs` must be an array of int64"),
        ("runs", numpy.zeros((1, 3), "i8"), ValueError, r"shape \(k, 4\)"),
        ("chunk_rows", 0, ValueError, "got 0 rows and 1 tiles"),
        ("tiles", 2, ValueError, "2 addresses for each row of chunks, got 3"),
        ("tiles", -1, ValueError, "got 10 rows and -1 tiles"),
        ("chunk_row_bytes", 6, ValueError, "6 bytes of a chunk's row"),
        ("chunk_row_bytes", -7, ValueError, "`chunk_row_bytes` must be the size"),
        ("chunk_row_bytes", 2**62, ValueError, "`chunk_row_bytes` must be the size"),
        ("touched", numpy.zeros(2, "u1"), ValueError, "each of 3 rows of chunks, got 2"),
        ("touched", numpy.zeros(3, "i8"), TypeError, "`touched` must be a writable vector"),
        ("touched", frozen(numpy.zeros(3, "u1")), TypeError, "`touched` must be a writable"),
    ],
)
def test_what_does_not_fit_is_refused(argument, value, error, message):
    source = tiled()
    arguments = {
        "pointers": source.pointers,
        "rows": vector(3, 1),
        "chunk_rows": 10,
        "tiles": 1,
        "runs": source.runs,
        "chunk_row_bytes": 7,
        "out": numpy.empty((2, 7), "u1"),
        "places": None,
    }
    if argument == "touched":
        with pytest.raises(error, match=message):
            missing(source.pointers, vector(3), 10, 1, value)
        arguments["touched"] = None
    arguments[argument] = value
    with pytest.raises(error, match=message):
        fetch(**arguments)
    if argument != "touched":
        with pytest.raises(error, match=message):
            gather_tiles(**arguments)


@pytest.mark.parametrize("which", ["pointers", "rows", "runs", "places", "touched"])
def test_a_batch_over_what_is_read_meanwhile_is_refused(which):
    source = tiled()
    memory = numpy.zeros(64, numpy.int64)
    vectors = {
        "pointers": source.pointers,
        "rows": vector(0, 1),
        "runs": source.runs,
        "places": vector(0, 1),
        "touched": numpy.zeros(8, "u1"),
    }
    given_vector = vectors[which]
    over = memory[4 : 4 + -(-given_vector.nbytes // 8)].view(given_vector.dtype)
    over = over.reshape(given_vector.shape)
    over[...] = given_vector
    vectors[which] = over
    out = memory.view("u1")[32:46].reshape(2, 7)
    before = memory.copy()
    with pytest.raises(ValueError, match="apart from the vectors that say what is read"):
        fetch(
            vectors["pointers"],
            vectors["rows"],
            10,
            1,
            vectors["runs"],
            7,
            out,
            vectors["places"],
            vectors["touched"],
        )
    assert which == "touched" or (memory == before).all()


def test_many_threads_may_gather_at_once():
    source = Tiled(500, 16, 300, 100)
    touched = numpy.zeros(32, "u1")
    failures = []

    def work(seed):
        rng = numpy.random.default_rng(seed)
        for _ in range(10):
            rows = rng.integers(0, 500, 64)
            out = numpy.empty((64, 300), "u1")
            if source.fetch(rows, out, None, touched) or not (out == source.data[rows]).all():
                failures.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
