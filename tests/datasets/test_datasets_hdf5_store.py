"""`H5PYDataset` over the store: what is handed out, what happens to the file meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import H5PYDataset, IndexableDataset
from fuel.exceptions import RequestError, StorageError
from fuel.schemes import ChunkShuffledScheme, PermutedScheme, SequentialScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers import Cast, ScaleAndShift

COUNT = 60


def write(path, options=None, ragged=False):
    """Write a file with all kinds of storage; the splits do not begin where chunks do."""
    rng = numpy.random.default_rng(0)
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset(
            "x", data=rng.integers(0, 9, (COUNT, 4, 3)).astype("u1"), **(options or {})
        )
        h5file["y"] = numpy.arange(COUNT, dtype="i2").reshape(COUNT, 1)
        sources = ["x", "y"]
        if ragged:
            sources.append("z")
            vlen = h5file.create_dataset("z", (COUNT,), h5py.vlen_dtype(numpy.dtype("f4")))
            shapes = numpy.array([[number % 3, 2] for number in range(COUNT)], "i4")
            for number, shape in enumerate(shapes):
                vlen[number] = numpy.full(shape.prod(), number, "f4")
            h5file["z_shapes"], h5file["z_labels"] = shapes, numpy.array([b"h", b"w"])
            for name, scale in (("z_shapes", "shapes"), ("z_labels", "shape_labels")):
                h5file[name].make_scale(scale)
                vlen.dims[0].attach_scale(h5file[name])
        h5file["odd"] = numpy.array([41, 7, 7, 30, 3])
        reference = h5file["odd"].ref
        splits = {
            "train": dict.fromkeys(sources, (5, 41)),
            "test": dict.fromkeys(sources, (41, COUNT)),
            "listed": dict.fromkeys(sources, (0, 0, reference)),
        }
        h5file.attrs["split"] = H5PYDataset.create_split_array(splits)
    return str(path)


STORAGE = [
    {},
    {"chunks": (7, 4, 3)},
    {"chunks": (7, 2, 2), "compression": "gzip", "shuffle": True},
    {"chunks": (16, 4, 3), "compression": "lzf", "fletcher32": True},
]


def equal(one, other):
    assert len(one) == len(other)
    for mine, theirs in zip(one, other, strict=True):
        if isinstance(mine, numpy.ndarray) and mine.dtype == object:
            equal(mine, theirs)
        else:
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
            numpy.testing.assert_array_equal(mine, theirs)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_disk_and_memory_answer_alike(tmp_path_factory, data):
    draw = data.draw
    path = write(
        tmp_path_factory.mktemp("store") / "file.hdf5", draw(st.sampled_from(STORAGE)), True
    )
    which = draw(
        st.sampled_from([("train",), ("test",), ("listed",), ("test", "train"), ("listed", "test")])
    )
    order = draw(st.sampled_from(["sorted", "given"]))
    options = {
        "subset": draw(st.sampled_from([None, slice(1, 4), [3, 0, 1, 0], numpy.array([4, 2])])),
        "subset_order": order,
    }
    disk = H5PYDataset(
        path, which, chunk_cache_bytes=draw(st.sampled_from([0, 99, None])), **options
    )
    memory = H5PYDataset(path, which, load_in_memory=True, **options)
    count = memory.num_examples
    assert disk.num_examples == count
    request = draw(
        st.lists(st.integers(0, count - 1), min_size=1, max_size=9)
        | st.builds(slice, st.integers(0, count - 1), st.just(count), st.integers(1, 3))
        | st.integers(0, count - 1)
        | st.just(numpy.arange(count) % 2 == 0)
    )
    equal(disk.get_data(None, request), memory.get_data(None, request))
    for wrong in ([], [count], [-1], slice(count, count), numpy.zeros(count, bool)):
        for dataset in (disk, memory):
            with pytest.raises(RequestError):
                dataset.get_data(None, wrong)
    scheme = PermutedScheme(count, draw(st.integers(1, 9)), seed=1)
    for one, other in zip(
        *(
            DataStream(dataset, iteration_scheme=scheme).get_epoch_iterator()
            for dataset in (disk, memory)
        ),
        strict=True,
    ):
        equal(one, other)


def test_a_given_order_keeps_order_and_repetitions(tmp_path):
    path = write(tmp_path / "file.hdf5")

    def targets(which, subset, order):
        dataset = H5PYDataset(path, which, subset=subset, subset_order=order, sources=("y",))
        return dataset.get_data(None, slice(0, dataset.num_examples))[0][:, 0].tolist()

    assert targets(("train",), [4, 0, 2, 2], "sorted") == [5, 7, 9]
    assert targets(("train",), [4, 0, 2, 2], "given") == [9, 5, 7, 7]
    assert targets(("listed",), None, "sorted") == [3, 7, 30, 41]
    assert targets(("listed",), None, "given") == [41, 7, 7, 30, 3]
    assert targets(("listed",), [0, 2, 0], "given") == [41, 7, 41]
    assert targets(("listed", "test"), slice(4, 7), "given") == [3, 41, 42]
    with pytest.raises(ValueError, match="'sorted' or 'given', got 'any'"):
        targets(("train",), None, "any")
    with pytest.raises(ValueError, match="36 examples, got a request for example 36"):
        targets(("train",), [0, 36], "given")


@pytest.mark.parametrize("in_memory", [False, True])
def test_without_copies_windows_are_read_only(tmp_path, in_memory):
    path = write(tmp_path / "file.hdf5")
    dataset = H5PYDataset(path, ("train",), load_in_memory=in_memory, copy=False)
    usual = H5PYDataset(path, ("train",))
    for request in (slice(3, 9), [3, 4, 5], [2], 4):
        found = dataset.get_data(None, request)
        equal(found, usual.get_data(None, request))
        assert not any(part.flags.writeable for part in found)
        assert not any(part.flags.owndata for part in found)
    for request in ([3, 5], [5, 4], [4, 4]):
        assert all(part.flags.writeable for part in dataset.get_data(None, request))
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(36, 5))
    for one, other in zip(
        stream.get_epoch_iterator(),
        DataStream(usual, iteration_scheme=SequentialScheme(36, 5)).get_epoch_iterator(),
        strict=True,
    ):
        equal(one, other)
        assert not one[0].flags.writeable and other[0].flags.writeable


def test_arrays_can_be_lent_as_well():
    array = numpy.arange(12).reshape(6, 2)
    dataset = IndexableDataset({"a": array, "b": list("abcdef")}, copy=False)
    window, letters = dataset.get_data(None, [2, 3])
    assert numpy.shares_memory(window, array) and not window.flags.writeable
    assert letters == ["c", "d"] and array.flags.writeable
    assert not numpy.shares_memory(dataset.get_data(None, [3, 2])[0], array)
    with pytest.raises(RequestError):
        dataset.get_data(None, [5, 6])


def test_what_was_handed_out_outlives_the_file(tmp_path):
    path = write(tmp_path / "file.hdf5")
    dataset = H5PYDataset(path, ("train",), copy=False)
    handle = dataset.open()
    window = dataset.get_data(handle, slice(0, 5))[1]
    dataset.close(handle)
    del dataset
    os.remove(path)
    assert window[:, 0].tolist() == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("storage", STORAGE[:3])
def test_a_file_that_is_cut_short_while_it_is_read_is_an_error(tmp_path, storage, monkeypatch):
    monkeypatch.setattr("fuel.io.hdf5._mapping._LOOK_EVERY_S", 0)
    path = write(tmp_path / "file.hdf5", storage)
    dataset = H5PYDataset(path, ("train",), chunk_cache_bytes=0)
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(36, 6))
    batches = stream.get_epoch_iterator()
    next(batches)
    os.truncate(path, 100)
    with pytest.raises(StorageError, match="was truncated while it was read"):
        next(batches)
    with pytest.raises(StorageError, match="was truncated while it was read"):
        dataset.get_data(None, [3])


def test_a_handle_for_writing_shows_what_is_written(tmp_path):
    path = write(tmp_path / "file.hdf5", STORAGE[2])
    with h5py.File(path, "r+") as h5file:
        dataset = H5PYDataset(h5file, ("train",))
        before = dataset.get_data(None, [1])[0]
        h5file["x"][6] = before[0] + 1
        assert (dataset.get_data(None, [1])[0] == before + 1).all()
        stream = DataStream(dataset, iteration_scheme=SequentialScheme(36, 36))
        batch = next(stream.get_epoch_iterator())[0]
        assert (batch[1] == before[0] + 1).all()


def test_a_replaced_file_is_read_anew_in_the_next_epoch(tmp_path):
    path = write(tmp_path / "file.hdf5", STORAGE[2])
    dataset = H5PYDataset(path, ("train",))
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(36, 36))
    next(stream.get_epoch_iterator())
    stream.close()
    other = write(tmp_path / "other.hdf5", STORAGE[2])
    with h5py.File(other, "r+") as h5file:
        h5file["x"][...] = 77
    os.replace(other, path)
    fresh = DataStream(H5PYDataset(path, ("train",)), iteration_scheme=SequentialScheme(36, 36))
    assert (next(fresh.get_epoch_iterator())[0] == 77).all()


@pytest.mark.skipif(os.name != "posix", reason="files are told apart by their numbers")
def test_chunks_are_kept_from_epoch_to_epoch_unless_the_file_changes(tmp_path, monkeypatch):
    from fuel.io.hdf5._chunked import CachedChunks

    decoded, decode = [], CachedChunks._chunk
    monkeypatch.setattr(
        CachedChunks, "_chunk", lambda rows, number: decoded.append(number) or decode(rows, number)
    )
    path = write(tmp_path / "file.hdf5", STORAGE[3])
    dataset = H5PYDataset(path, ("train",), sources=("x",))
    stream = DataStream(dataset, iteration_scheme=PermutedScheme(36, 9, seed=1))
    expected = numpy.concatenate([batch for (batch,) in stream.get_epoch_iterator()])
    once = sorted(decoded)
    assert set(once) >= {0, 1, 2} and len(set(once)) == len(once)
    stream.close()
    again = numpy.concatenate([batch for (batch,) in stream.get_epoch_iterator()])
    assert len(again) == len(expected) and sorted(decoded) == once
    stream.close()
    other = write(tmp_path / "other.hdf5", STORAGE[3])
    with h5py.File(other, "r+") as h5file:
        h5file["x"][...] = 77
    os.replace(other, path)
    assert (next(stream.get_epoch_iterator())[0] == 77).all()


@pytest.mark.parametrize("storage", STORAGE)
def test_pickles_and_copies_hold_nothing_of_the_store(tmp_path, storage):
    path = write(tmp_path / "file.hdf5", storage, True)
    dataset = H5PYDataset(path, ("train",))
    expected = dataset.get_data(None, [8, 2, 2])
    pickled = pickle.dumps(dataset)
    assert len(pickled) < 3000
    again = pickle.loads(pickled)
    equal(again.get_data(None, [8, 2, 2]), expected)
    equal(dataset.get_data(None, [8, 2, 2]), expected)


def _read_in_child(dataset, queue):
    data = dataset.get_data(None, list(range(36)))
    queue.put([numpy.asarray(part).tolist() for part in data[:2]])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("storage", STORAGE)
def test_a_forked_child_reads_with_a_handle_of_its_own(tmp_path, storage):
    path = write(tmp_path / "file.hdf5", storage)
    dataset = H5PYDataset(path, ("train",))
    expected = dataset.get_data(None, list(range(36)))
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_read_in_child, args=(dataset, queue))
    child.start()
    found = queue.get()
    child.join()
    assert child.exitcode == 0
    assert found == [part.tolist() for part in expected]
    equal(dataset.get_data(None, list(range(36))), expected)


def test_threads_read_the_same(tmp_path):
    path = write(tmp_path / "file.hdf5", STORAGE[2], True)
    dataset = H5PYDataset(path, ("train",), chunk_cache_bytes=300)
    expected = H5PYDataset(path, ("train",), load_in_memory=True)
    wrong = []

    def read(seed):
        rng = numpy.random.default_rng(seed)
        for _ in range(30):
            request = rng.integers(0, 36, 8).tolist()
            try:
                equal(dataset.get_data(None, request), expected.get_data(None, request))
            except Exception as error:
                wrong.append(error)

    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert not wrong


@pytest.mark.parametrize("storage", STORAGE)
def test_steps_above_a_file_give_what_they_give_above_memory(tmp_path, storage):
    path = write(tmp_path / "file.hdf5", storage)

    def epoch(**options):
        dataset = H5PYDataset(path, ("train",), **options)
        stream = DataStream(dataset, iteration_scheme=PermutedScheme(36, 7, seed=3))
        stream = ScaleAndShift(stream, 0.5, 1.0, which_sources=("x",))
        return list(Cast(stream, "float32", which_sources=("x",)).get_epoch_iterator())

    for one, other in zip(epoch(), epoch(load_in_memory=True), strict=True):
        equal(one, other)


def test_what_is_fused_above_a_mapped_file_is_told(tmp_path):
    dataset = H5PYDataset(write(tmp_path / "file.hdf5"), ("train",), sources=("x",))
    stream = Cast(DataStream(dataset, iteration_scheme=SequentialScheme(36, 5)), "float32")
    handle = dataset.open()
    assert "fused: nothing" not in str(stream.explain())
    dataset.close(handle)


@pytest.mark.parametrize("storage", [STORAGE[0], STORAGE[2]])
def test_the_order_of_chunks_resumes_everywhere(tmp_path, storage):
    path = write(tmp_path / "file.hdf5", storage)

    def make():
        dataset = H5PYDataset(path, ("train",))
        return DataStream(
            dataset, iteration_scheme=ChunkShuffledScheme(dataset, 5, window=2, seed=1)
        )

    assert_resumes_everywhere(make)


@pytest.mark.parametrize("wrong", [-1, 2.5, True, "many"])
def test_a_cache_has_a_number_of_bytes(tmp_path, wrong):
    with pytest.raises(ValueError, match="`chunk_cache_bytes` must be a number of bytes"):
        H5PYDataset(write(tmp_path / "file.hdf5"), ("train",), chunk_cache_bytes=wrong)


def test_unsorted_lists_without_sorting_are_a_type_error_as_ever(tmp_path):
    dataset = H5PYDataset(write(tmp_path / "file.hdf5"), ("train",), sort_indices=False)
    assert dataset.get_data(None, [1, 4])[1][:, 0].tolist() == [6, 9]
    with pytest.raises(TypeError):
        dataset.get_data(None, [4, 1])
    stream = DataStream(dataset, iteration_scheme=PermutedScheme(36, 9, seed=1))
    with pytest.raises(TypeError):
        next(stream.get_epoch_iterator())
