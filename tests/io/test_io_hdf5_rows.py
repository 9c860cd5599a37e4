"""Rows of any dataset, however it is stored, are those that h5py gives."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.io.hdf5 import _cache
from fuel.io.hdf5._cache import ChunkCache
from fuel.io.hdf5._chunked import CachedChunks, MappedChunks
from fuel.io.hdf5._contiguous import MappedRows, ReadRows
from fuel.io.hdf5._selection import SelectedRows
from fuel.io.hdf5._table import ChunkTable
from fuel.io.hdf5._tiles import Tiling
from fuel.io.hdf5.store import Store
from fuel.kernels import threads

DTYPES = [
    "u1", "<i2", ">i4", "<f2", ">f8", "<c8", "S5", "?", [("x", "<i4"), ("y", "<f8", (2,))],
]  # fmt: skip

FILTERS = [
    {},
    {"compression": "gzip", "compression_opts": 1},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
    {"compression": "lzf"},
    {"compression": "lzf", "shuffle": True},
    {"fletcher32": True},
    {"shuffle": True},
]


def contents(shape, dtype, seed=0):
    generator = numpy.random.default_rng(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "S":
        return generator.integers(97, 99, (*shape, 5), dtype="u1").view("S5").reshape(shape)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.names:
        array = numpy.zeros(shape, dtype)
        array["x"] = generator.integers(-9, 9, shape)
        array["y"] = generator.normal(size=(*shape, 2))
        return array
    return generator.integers(0, 4, shape).astype(dtype)


def same(one, other):
    assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape
    numpy.testing.assert_array_equal(one, other)


def check(rows, expected, requests):
    for request in requests:
        answer = rows.take(request)
        same(answer, expected[request])
        if isinstance(answer, numpy.ndarray):
            assert answer.flags.writeable and answer.flags.c_contiguous
            assert rows.table is None or not numpy.shares_memory(answer, rows.table)


def requests_of(count, draw):
    indices = st.lists(st.integers(0, count - 1), min_size=1, max_size=12)
    start = draw(st.integers(0, count - 1))
    stop = draw(st.integers(start + 1, count))
    return [
        numpy.array(draw(indices), dtype=numpy.int64),
        numpy.arange(start, stop),
        numpy.arange(count)[::-1].copy(),
        slice(start, stop, 1),
        slice(start, stop, draw(st.integers(1, 3))),
        draw(st.integers(0, count - 1)),
    ]


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_rows_are_those_of_h5py(tmp_path_factory, data):
    draw = data.draw
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=4)))
    shape = (shape[0] * 3, *shape[1:])
    dtype = numpy.dtype(draw(st.sampled_from(DTYPES)))
    expected = contents(shape, dtype)
    path = str(tmp_path_factory.mktemp("rows") / "file.hdf5")
    chunks = draw(st.none() | st.tuples(*[st.integers(1, size) for size in shape]))
    options = {} if chunks is None else {"chunks": chunks, **draw(st.sampled_from(FILTERS))}
    libver = draw(st.sampled_from(["earliest", "latest"]))
    block = draw(st.sampled_from([0, 512]))
    with h5py.File(path, "w", libver=libver, userblock_size=block) as h5file:
        h5file["before"] = numpy.zeros(draw(st.integers(1, 3)), dtype="u1")
        h5file.create_dataset("x", data=expected, **options)
    with h5py.File(path, "r") as h5file:
        mapped = draw(st.booleans())
        row_bytes = expected.nbytes // shape[0]
        limit = draw(st.sampled_from([0, row_bytes, 3 * row_bytes + 1, 1 << 20]))
        store = Store(h5file, path if mapped else None, limit)
        rows = store.rows("x")
        for _ in range(2):  # the second time, what is kept is used
            check(rows, expected, requests_of(len(expected), draw))
            assert store.cache.held_bytes <= limit


def kinds(path, name="x"):
    with h5py.File(path, "r") as h5file:
        return type(Store(h5file, path).rows(name))


def test_each_layout_has_its_way(tmp_path):
    path = str(tmp_path / "file.hdf5")
    array = numpy.arange(60, dtype="<i4").reshape(20, 3)
    with h5py.File(path, "w") as h5file:
        h5file["contiguous"] = array
        h5file.create_dataset("chunked", data=array, chunks=(4, 2))
        h5file.create_dataset("gzip", data=array, chunks=(4, 3), compression="gzip")
        h5file.create_dataset("scaled", data=array, chunks=(4, 3), scaleoffset=3)
        h5file.create_dataset("never", shape=(20, 3), dtype="<i4")
        h5file.create_dataset("nothing", shape=(0, 3), dtype="<i4")
        h5file["text"] = ["a"] * 20
        external = [(str(tmp_path / "raw.bin"), 0, array.nbytes)]
        h5file.create_dataset("external", data=array, external=external)
        layout = h5py.VirtualLayout((20, 3), "<i4")
        layout[:] = h5py.VirtualSource(h5file["contiguous"])
        h5file.create_virtual_dataset("virtual", layout)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(array.shape)
        h5py.h5d.create(h5file.id, b"compact", h5py.h5t.STD_I32LE, space, compact).write(
            h5py.h5s.ALL, h5py.h5s.ALL, array
        )
    expected = {
        "contiguous": MappedRows,
        "chunked": MappedChunks,
        "gzip": CachedChunks,
        "scaled": CachedChunks,
        "never": SelectedRows,
        "nothing": SelectedRows,
        "external": SelectedRows,
        "virtual": SelectedRows,
        "compact": SelectedRows,
    }
    assert {name: kinds(path, name) for name in expected} == expected
    with h5py.File(path, "r") as h5file:
        store = Store(h5file, path)
        for name in sorted(set(expected) - {"nothing"}):
            request = numpy.array([7, 0, 7, 19])
            same(store.rows(name).take(request), h5file[name][...][request])


def test_only_what_nobody_writes_to_is_mapped(tmp_path):
    path = str(tmp_path / "file.hdf5")
    with h5py.File(path, "w") as h5file:
        h5file["x"] = numpy.arange(10)
        store = Store(h5file, path)
        assert store.changing and type(store.rows("x")) is SelectedRows
        h5file["x"][3] = -1
        assert store.rows("x").take(numpy.array([3])).tolist() == [-1]


def test_a_file_of_the_users_is_not_mapped(tmp_path):
    path = str(tmp_path / "file.hdf5")
    with h5py.File(path, "w") as h5file:
        h5file["x"] = numpy.arange(10)
        h5file.create_dataset("z", data=numpy.arange(10), chunks=(3,), compression="gzip")
    with h5py.File(path, "r") as h5file:
        store = Store(h5file, None)
        assert type(store.rows("x")) is SelectedRows
        assert type(store.rows("z")) is CachedChunks
        assert store.rows("z").take(numpy.array([9, 0])).tolist() == [9, 0]


def test_another_file_of_the_same_name_is_not_mapped(tmp_path):
    path = str(tmp_path / "file.hdf5")
    with h5py.File(path, "w") as h5file:
        h5file["x"] = numpy.arange(10)
    with h5py.File(path, "r") as h5file:
        other = str(tmp_path / "other.hdf5")
        with h5py.File(other, "w") as h5other:
            h5other["x"] = -numpy.arange(10)
        (tmp_path / "other.hdf5").replace(path)
        rows = Store(h5file, path).rows("x")
        assert type(rows) is SelectedRows
        assert rows.take(numpy.array([4])).tolist() == [4]


def test_without_a_map_rows_are_read_where_they_are(tmp_path, monkeypatch):
    path = str(tmp_path / "file.hdf5")
    array = numpy.arange(300, dtype=">u2").reshape(100, 3)
    with h5py.File(path, "w") as h5file:
        h5file["x"] = array
    monkeypatch.setattr("fuel.io.hdf5._mapping.is_local", lambda path: False)
    with h5py.File(path, "r") as h5file:
        rows = Store(h5file, path).rows("x")
        assert type(rows) is ReadRows
        requests = [numpy.array([5, 99, 0, 5]), slice(3, 40, 1), slice(3, 40, 7), 12]
        check(rows, array, [*requests, numpy.arange(7, 30)])


@pytest.mark.parametrize("options", FILTERS[1:6], ids=lambda options: "-".join(map(str, options)))
def test_a_damaged_chunk_is_an_error_and_the_others_are_read(tmp_path, options):
    from fuel.exceptions import StorageError

    path = str(tmp_path / "file.hdf5")
    array = numpy.random.default_rng(0).integers(0, 5, (40, 50)).astype("i4")
    with h5py.File(path, "w") as h5file:
        dataset = h5file.create_dataset("x", data=array, chunks=(10, 50), **options)
        info = dataset.id.get_chunk_info(1)
    with open(path, "r+b") as raw:
        raw.seek(info.byte_offset + info.size // 2)
        raw.write(b"\xff" * 16)
        if options == {"compression": "lzf"} or "shuffle" in options:
            raw.seek(info.byte_offset)
            raw.write(b"\xff" * 40)
    with h5py.File(path, "r") as h5file:
        rows = Store(h5file, path).rows("x")
        with pytest.raises(StorageError, match="does not deliver the chunk"):
            rows.take(numpy.array([0, 15]))
        same(rows.take(numpy.array([5, 35])), array[[5, 35]])


def test_threads_may_read_at_once(tmp_path):
    path = str(tmp_path / "file.hdf5")
    array = numpy.arange(4000, dtype="i8").reshape(400, 10)
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset("x", data=array, chunks=(16, 10), compression="gzip")
    wrong = []
    with h5py.File(path, "r") as h5file:
        rows = Store(h5file, path, 4 * 16 * 80).rows("x")

        def read(seed):
            generator = numpy.random.default_rng(seed)
            for _ in range(60):
                request = generator.integers(0, 400, 20)
                if not numpy.array_equal(rows.take(request), array[request]):
                    wrong.append(request)

        readers = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    assert not wrong


def test_the_cache_stays_within_its_bound_and_keeps_what_is_used(tmp_path):
    path = str(tmp_path / "file.hdf5")
    array = numpy.arange(1000, dtype="i8")
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset("x", data=array, chunks=(10,), compression="gzip")
        h5file.create_dataset("y", data=-array, chunks=(10,), compression="gzip")
    with h5py.File(path, "r") as h5file:
        store = Store(h5file, path, 20 * 80)
        x, y = store.rows("x"), store.rows("y")
        for start in range(0, 1000, 7):
            x.take(numpy.arange(start, min(start + 50, 1000)))
            y.take(numpy.array([5]))  # the chunk in use is not the one that goes
            assert store.cache.held_bytes <= 20 * 80
        decoded = []
        x._chunk, y._chunk = decoded.append, decoded.append
        y.take(numpy.array([7]))
        assert not decoded
        store.cache.clear()
        assert store.cache.held_bytes == 0 and not x.shelf.pointers.any()


def test_one_thread_decodes_as_several_do(tmp_path):
    path = str(tmp_path / "file.hdf5")
    array = numpy.random.default_rng(1).integers(0, 9, (64, 33)).astype("f4")
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset("x", data=array, chunks=(5, 7), compression="gzip", shuffle=True)
    try:
        for limit in (1, 4):
            threads.set_limit(limit)
            with h5py.File(path, "r") as h5file:
                request = numpy.random.default_rng(2).permutation(64)
                same(Store(h5file, path).rows("x").take(request), array[request])
    finally:
        threads.set_limit(None)


@pytest.mark.parametrize("name", ["deflate", "isal", "zlib"])
def test_every_decoder_of_gzip_gives_the_same(tmp_path, monkeypatch, name):
    from fuel.io.hdf5 import _decoders

    if name != "zlib":
        pytest.importorskip(name, reason=f"the decoder {name} is optional, and not installed")
    make = getattr(_decoders, f"_{name}")
    monkeypatch.setattr(_decoders, "gzip_decoder", lambda: (name, make()))
    path = str(tmp_path / "file.hdf5")
    array = numpy.random.default_rng(1).integers(0, 9, (64, 33)).astype("u2")
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset("x", data=array, chunks=(16, 33), compression="gzip")
    with h5py.File(path, "r") as h5file:
        rows = Store(h5file, path).rows("x")
        rows._through_hdf5 = None  # nobody else may do it
        same(rows.take(numpy.arange(64)), array)


def test_an_interruption_anywhere_leaves_no_address_without_its_chunk():
    countdown = 0

    def trace(frame, event, _):
        nonlocal countdown
        if frame.f_code.co_filename != _cache.__file__:
            return None
        if event == "line":
            countdown -= 1
            if not countdown:
                raise KeyboardInterrupt
        return trace

    interrupted = 0
    for line in range(1, 150):
        cache = ChunkCache(5 * 16)
        shelf = _cache.Shelf(9, 2)
        countdown, before = line, sys.gettrace()
        sys.settrace(trace)
        try:
            for row in range(9):
                cache.put(shelf, row, [numpy.zeros(8, "u1") for _ in range(2)], ())
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(before)
        expected = numpy.zeros(18, dtype="i8")
        for _, row, chunks, _ in cache._held:
            expected[2 * row : 2 * row + 2] = [chunk.ctypes.data for chunk in chunks]
        assert numpy.array_equal(shelf.pointers, expected)
        assert cache.held_bytes == sum(size for *_, size in cache._held)
    assert interrupted > 50


def test_so_many_chunks_that_a_table_of_them_does_not_pay_are_left_to_hdf5(tmp_path):
    path = str(tmp_path / "file.hdf5")
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset("x", (10**8,), "u1", chunks=(1,))[5] = 1
    with h5py.File(path, "r") as h5file:
        rows = Store(h5file, path).rows("x")
        assert type(rows) is SelectedRows
        assert rows.take(numpy.array([10**8 - 1, 5])).tolist() == [0, 1]


@pytest.mark.parametrize("wrong", [{"byte_offset": 2**63}, {"size": 2**63}, {"chunk_offset": (3,)}])
def test_a_table_that_cannot_be_is_none(wrong):
    chunk = {"chunk_offset": (4,), "byte_offset": 100, "size": 4, "filter_mask": 0, **wrong}
    found = [SimpleNamespace(**chunk)]

    def chunk_iter(note):
        return next(filter(None, map(note, found)), None)

    dataset = SimpleNamespace(id=SimpleNamespace(chunk_iter=chunk_iter), shape=(8,))
    assert ChunkTable.of(dataset, Tiling((8,), (4,), 1)) is None


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("options", [{}, {"chunks": (4, 3)}, {"chunks": (4, 3), "shuffle": True}])
def test_a_dataset_behind_a_link_to_another_file_is_read_there(
    tmp_path, monkeypatch, mapped, options
):
    if not mapped:
        monkeypatch.setattr("fuel.io.hdf5.store.map_file", lambda path, handle: None)
    array = numpy.arange(60, dtype="i4").reshape(10, 6)
    with h5py.File(tmp_path / "other.hdf5", "w") as h5file:
        h5file.create_dataset("x", data=array, **options)
        h5file["texts"] = [f"text {row}" for row in range(10)]
    path = str(tmp_path / "file.hdf5")
    with h5py.File(path, "w") as h5file:
        h5file["padding"] = numpy.zeros(10000)
        h5file["x"] = h5py.ExternalLink("other.hdf5", "/x")
        h5file["texts"] = h5py.ExternalLink("other.hdf5", "/texts")
    with h5py.File(path, "r") as h5file:
        store = Store(h5file, path)
        same(store.rows("x").take(numpy.array([9, 0, 3])), array[[9, 0, 3]])
        assert store.rows("texts").take(numpy.array([9, 0])).tolist() == [b"text 9", b"text 0"]
