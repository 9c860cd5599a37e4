"""Handles of HDF5 files: shared, counted, never inherited, never pickled."""

import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import h5py
import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import H5PYDataset
from fuel.datasets.hdf5 import PytablesDataset
from fuel.exceptions import StorageError
from fuel.schemes import ShuffledScheme
from fuel.streams import DataStream

# The timer that ends hanging tests is a thread; what forks here holds no lock of its.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

SIZE = 200_000


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "data.hdf5")
    with h5py.File(name, "w") as file:
        file["x"] = numpy.arange(SIZE)
        ragged = file.create_dataset("ragged", (10,), dtype=h5py.vlen_dtype("int32"))
        for row in range(10):
            ragged[row] = numpy.arange(row)
        file.attrs["split"] = H5PYDataset.create_split_array(
            {"train": {"x": (100, SIZE)}, "ragged": {"ragged": (0, 10)}}
        )
    assert name not in H5PYDataset._file_handles
    yield name
    gc.collect()
    assert counts(name) == (0, False), "a handle was left open"


def counts(path):
    return H5PYDataset._ref_counts.get(path, 0), path in H5PYDataset._file_handles


def test_open_and_close_count(path):
    first, second = H5PYDataset(path, ("train",)), H5PYDataset(path, ("train",))
    assert counts(path) == (0, False)
    first.open()
    second.open()
    assert counts(path) == (2, True)
    assert first._file_handle is second._file_handle is H5PYDataset._file_handles[path]
    handle = first._file_handle
    first.close(None)
    assert counts(path) == (1, True)
    assert handle
    second.close(None)
    assert not handle
    second.close(None)
    assert counts(path) == (0, False)


def test_reading_without_opening_is_closed_by_close(path):
    dataset = H5PYDataset(path, ("train",))
    for _ in range(3):
        dataset.get_data(None, [0])
    assert counts(path) == (1, True)
    dataset.close(None)
    assert counts(path) == (0, False)


def test_opening_takes_over_the_handle_that_reading_opened(path):
    dataset = H5PYDataset(path, ("train",))
    dataset.get_data(None, [0])
    dataset.open()
    assert counts(path) == (1, True)
    dataset.close(None)
    assert counts(path) == (0, False)


def test_a_collected_dataset_leaves_nothing_open(path):
    opened, read = H5PYDataset(path, ("train",)), H5PYDataset(path, ("train",))
    opened.open()
    opened.open()
    read.get_data(None, [0])
    assert counts(path) == (3, True)
    del opened, read
    gc.collect()
    assert counts(path) == (0, False)


def test_a_copy_has_references_of_its_own(path):
    dataset = H5PYDataset(path, ("train",))
    dataset.open()
    for other in (copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        other.close(None)
        assert counts(path) == (1, True)
        assert other.get_data(None, [1])[0] == 101
        other.close(None)
        assert counts(path) == (1, True)
    dataset.close(None)


def test_two_drivers_are_two_handles(path):
    plain, core = H5PYDataset(path, ("train",)), H5PYDataset(path, ("train",), driver="core")
    plain.open()
    core.open()
    assert (plain._file_handle.driver, core._file_handle.driver) == ("sec2", "core")
    plain.close(None)
    assert core.get_data(None, [0])[0] == 100
    core.close(None)


def test_a_handle_closed_behind_our_back_is_opened_again(path):
    dataset = H5PYDataset(path, ("train",))
    dataset.open()
    dataset._file_handle.close()
    assert dataset.get_data(None, [0])[0] == 100
    dataset.close(None)
    assert counts(path) == (0, False)


def test_an_open_file_that_was_given_is_never_closed(path):
    with h5py.File(path, "r") as file:
        dataset = H5PYDataset(file, ("train",))
        dataset.open()
        assert dataset.get_data(None, [0])[0] == 100
        dataset.close(None)
        assert counts(path) == (0, False)
        again = pickle.loads(pickle.dumps(dataset))
        del dataset
        gc.collect()
        assert file
    assert again.external_file_handle is None
    assert again.get_data(None, [0])[0] == 100


def test_a_replaced_file_is_read_anew(path, tmp_path):
    dataset = H5PYDataset(path, ("train",), sources=("x",))
    dataset.open()
    with h5py.File(tmp_path / "new.hdf5", "w") as file:
        file["x"] = numpy.arange(SIZE) + 1
        file.attrs["split"] = H5PYDataset.create_split_array({"train": {"x": (100, SIZE)}})
    os.replace(tmp_path / "new.hdf5", path)
    fresh = H5PYDataset(path, ("train",))
    assert fresh.get_data(None, [0])[0] == 101
    # The old dataset goes on with the old file until it is closed.
    assert dataset.get_data(None, [0])[0] == 100
    dataset.close(None)
    assert dataset.get_data(None, [0])[0] == 101


def test_threads_share_one_handle(path):
    dataset = H5PYDataset(path, ("train",))
    start, wrong = threading.Barrier(8), []

    def read(seed):
        start.wait()
        for request in numpy.random.RandomState(seed).randint(SIZE - 100, size=(20, 30)):
            (x,) = dataset.get_data(None, request)
            if not numpy.array_equal(x, request + 100):
                wrong.append(request)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert counts(path) == (1, True)


# -- pickles ---------------------------------------------------------------------------------------


def in_new_process(program, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("load", [False, True])
def test_a_pickle_holds_no_data_and_is_read_in_a_new_process(path, tmp_path, load):
    dataset = H5PYDataset(path, ("train",), load_in_memory=load)
    dataset.open()
    dataset.get_data(None, [0])
    pickled = pickle.dumps(dataset)
    dataset.close(None)
    assert len(pickled) < 3000
    (tmp_path / "d.pkl").write_bytes(pickled)
    program = (
        "import pickle, sys; d = pickle.load(open(sys.argv[1], 'rb').__enter__())\n"
        "print(d.num_examples, d.get_data(None, [5, 0, 5])[0].tolist(), d.subsets[0].list_or_slice)"
    ).replace(
        "open(sys.argv[1], 'rb').__enter__()",
        "__import__('io').BytesIO(__import__('pathlib').Path(sys.argv[1]).read_bytes())",
    )
    assert in_new_process(program, tmp_path / "d.pkl") == (
        f"{SIZE - 100} [105, 100, 105] slice(100, {SIZE}, None)"
    )


@pytest.mark.parametrize("load", [False, True])
def test_unpickling_does_not_need_the_file_which_may_move(path, tmp_path, load):
    dataset = H5PYDataset(path, ("train",), load_in_memory=load)
    pickled = pickle.dumps(dataset)
    os.rename(path, tmp_path / "moved.hdf5")
    again = pickle.loads(pickled)
    assert again.specs == dataset.specs
    assert "H5PYDataset" in repr(again)
    with pytest.raises(StorageError, match=r"there is no such file.*set the `path`"):
        again.get_data(None, [0])
    with pytest.raises(FileNotFoundError):
        _ = again.num_examples
    again.path = str(tmp_path / "moved.hdf5")
    assert again.num_examples == SIZE - 100
    assert again.get_data(None, [0])[0] == 100


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_stream_resumes_in_mid_epoch_and_leaks_nothing(path, done):
    dataset = H5PYDataset(path, ("train",), subset=slice(0, 6))
    stream = DataStream(dataset, iteration_scheme=ShuffledScheme(6, 2))
    iterator = stream.get_epoch_iterator()
    for _ in range(done):
        next(iterator)
    resumed = pickle.loads(pickle.dumps(iterator))
    rest = [batch[0].tolist() for batch in iterator]
    assert [batch[0].tolist() for batch in resumed] == rest
    assert len(rest) == 3 - done
    again = pickle.loads(pickle.dumps(stream))
    again.next_epoch()
    again.close()
    del resumed, again
    gc.collect()
    stream.close()
    assert counts(path) == (0, False)


def test_a_pickle_names_the_original_not_the_cached_copy(path, tmp_path, monkeypatch):
    (tmp_path / "local").mkdir()
    monkeypatch.setattr(config, "local_data_path", str(tmp_path / "local"))
    dataset = H5PYDataset(path, ("train",))
    dataset.open()
    assert dataset._file_handle.filename.startswith(str(tmp_path / "local"))
    assert dataset.path == path
    assert str(tmp_path / "local").encode() not in pickle.dumps(dataset)
    dataset.close(None)


# -- other processes ----------------------------------------------------------------------------


def answer(dataset, connection):
    """Serve requests from another process, and say whose handle was used."""
    while True:
        request = connection.recv()
        if request is None:
            break
        connection.send((os.getpid(), [list(item) for item in dataset.get_data(None, request)]))
    connection.send((H5PYDataset._ref_counts.get(getattr(dataset, "path", ""), 0), None))
    connection.close()


def read_in_turns(dataset, method, requests):
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    child = context.Process(target=answer, args=(dataset, there))
    child.start()
    there.close()
    answers = []
    for request in requests:
        here.send(request)
        mine = [list(item) for item in dataset.get_data(None, request)]
        pid, theirs = here.recv()
        assert pid == child.pid
        answers.append((mine, theirs))
    here.send(None)
    count, _ = here.recv()
    child.join(60)
    assert child.exitcode == 0
    here.close()
    return answers, count


METHODS = multiprocessing.get_all_start_methods()


@pytest.mark.parametrize("method", METHODS)
def test_a_child_reads_while_the_parent_reads(path, method):
    dataset = H5PYDataset(path, ("train",))
    dataset.open()
    handle = dataset._file_handle
    requests = numpy.random.RandomState(3).randint(SIZE - 100, size=(20, 50)).tolist()
    answers, count = read_in_turns(dataset, method, requests)
    for request, (mine, theirs) in zip(requests, answers, strict=True):
        assert mine == theirs == [[index + 100 for index in request]]
    # The child had opened the file for itself; ours was not touched.
    assert count == 1
    assert handle
    assert counts(path) == (1, True)
    dataset.close(None)


@pytest.mark.parametrize("method", METHODS)
def test_a_child_reads_data_of_variable_length_too(path, method):
    dataset = H5PYDataset(path, ("ragged",))
    dataset.open()
    answers, _ = read_in_turns(dataset, method, [[3, 1], [9, 9, 0]])
    for mine, theirs in answers:
        assert [x.tolist() for x in mine[0]] == [x.tolist() for x in theirs[0]]
    dataset.close(None)


@pytest.mark.parametrize("method", METHODS)
def test_a_child_reads_pytables_for_itself(tmp_path, method):
    import tables

    with tables.open_file(str(tmp_path / "t.h5"), "w") as file:
        file.create_array(file.create_group("/", "Data"), "x", numpy.arange(1000))
    dataset = PytablesDataset(tmp_path / "t.h5", ("x",))
    answers, _ = read_in_turns(dataset, method, [[3, 1], [999, 9, 0]])
    assert answers == [([[3, 1]], [[3, 1]]), ([[999, 9, 0]], [[999, 9, 0]])]
    dataset.close_file()


@pytest.mark.skipif("fork" not in METHODS, reason="this platform has no fork")
def test_a_forked_child_does_not_read_through_a_file_that_was_given(path):
    with h5py.File(path, "r") as file:
        dataset = H5PYDataset(file, ("train",))
        answers, count = read_in_turns(dataset, "fork", [[1]])
        assert answers == [([[101]], [[101]])]
        assert count == 1
        assert file
