"""What people suffered from in the original must not come back: states, processes, streams.

Each test is one user's bad day, told in its docstring, from beginning to end with real files and
processes. The rooms' own tests go into the details; files, commands and settings are in the
second part.
"""

from __future__ import annotations

import copy
import gc
import json
import multiprocessing
import pickle
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import H5PYDataset, IndexableDataset
from fuel.exceptions import WorkerError
from fuel.schemes import (
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledScheme,
    cross_validation,
    shuffled_split,
)
from fuel.streams import DataStream
from fuel.transformers import (
    Batch,
    Flatten,
    Mapping,
    Merge,
    MultiProcessing,
    Padding,
    Transformer,
    Unpack,
)
from fuel.utils.parallel import producer_consumer

ROWS = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An HDF5 file of 60 examples, 50 of them for training."""
    path = tmp_path / "data.hdf5"
    with h5py.File(path, "w") as file:
        file["x"] = numpy.arange(ROWS * 3.0).reshape(ROWS, 3)
        file["y"] = numpy.arange(ROWS)
        parts = {"train": {"x": (0, 50), "y": (0, 50)}, "test": {"x": (50, 60), "y": (50, 60)}}
        file.attrs["split"] = H5PYDataset.create_split_array(parts)
    return path


def batches(path: Path, **options: Any) -> DataStream:
    dataset = H5PYDataset(path, ("train",), **options)
    return DataStream(dataset, iteration_scheme=ShuffledScheme(50, 8))


def numbers(iterator: Any) -> list[list[int]]:
    return [batch[-1].tolist() for batch in iterator]


def references(path: Path) -> int:
    return H5PYDataset._ref_counts.get(str(path), 0)


GO_ON = """
import gc, pickle, sys
from fuel.datasets import H5PYDataset
with open(sys.argv[1], "rb") as file:
    iterator = pickle.load(file)
print([batch[-1].tolist() for batch in iterator])
del iterator
gc.collect()
print(dict(H5PYDataset._ref_counts))
"""


@pytest.mark.parametrize("taken", [0, 1, 4, 7])
def test_a_pickled_iterator_over_a_file_on_disk_goes_on_in_a_new_process(
    path: Path, tmp_path: Path, fresh_python: Callable[..., str], taken: int
) -> None:
    """The job was stopped in the middle of an epoch; after loading it, reading failed.

    The data set had been unpickled closed, so the next batch found no open file. The repair of
    those days opened it and never closed it again.
    """
    stream = batches(path)
    iterator = stream.get_epoch_iterator()
    for _ in range(taken):
        next(iterator)
    (tmp_path / "iterator.pickle").write_bytes(pickle.dumps(iterator))
    rest = numbers(iterator)
    printed = fresh_python(GO_ON, str(tmp_path / "iterator.pickle")).splitlines()
    assert printed == [repr(rest), "{}"]
    again = pickle.loads((tmp_path / "iterator.pickle").read_bytes())
    assert numbers(again) == rest
    stream.close()
    del again, iterator
    gc.collect()
    assert references(path) == 0


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("first", ["next_epoch", "get_epoch_iterator", "get_data", "reset"])
def test_a_pickled_stream_holds_no_handle_and_no_data_and_works_whatever_is_called_first(
    path: Path, in_memory: bool, first: str
) -> None:
    """A checkpoint of a few settings was as large as the data, or could not be written at all.

    File handles do not pickle; where they were left out, the first call after loading met an
    attribute that was not there.
    """
    stream = batches(path, load_in_memory=in_memory)
    next(stream.get_epoch_iterator())
    expected = numbers(copy.deepcopy(stream).get_epoch_iterator())
    pickled = pickle.dumps(stream)
    assert len(pickled) < 8_000  # the generator's key is 2,500 of them, the data would be 1,600
    assert numpy.arange(6.0).tobytes() not in pickled
    loaded = pickle.loads(pickled)
    if first == "get_data":
        assert loaded.get_data([3, 1])[1].tolist() == [3, 1]
    else:
        getattr(loaded, first)()
    assert sorted(chain.from_iterable(numbers(loaded.get_epoch_iterator()))) == list(range(50))
    assert numbers(pickle.loads(pickled).get_epoch_iterator()) == expected


@pytest.mark.parametrize("cached", [False, True])
def test_a_pickle_loads_without_its_file_and_can_be_pointed_to_where_it_went(
    path: Path, tmp_path: Path, cached: bool
) -> None:
    """The data moved to another disk, and with it went the access to every saved experiment.

    With the local cache on, it was even the path of the throw-away copy that was saved.
    """
    with config.override(local_data_path=str(tmp_path / "cache") if cached else ""):
        dataset = H5PYDataset(path, ("train",))
        pickled = pickle.dumps(DataStream(dataset, iteration_scheme=SequentialScheme(50, 25)))
        del dataset
        moved = tmp_path / "elsewhere" / path.name
        moved.parent.mkdir()
        shutil.move(path, moved)
        if cached:
            shutil.rmtree(tmp_path / "cache")
        loaded = pickle.loads(pickled)
        assert loaded.dataset.path == str(path)
        with pytest.raises(FileNotFoundError, match="there is no such file"):
            next(loaded.get_epoch_iterator())
        loaded.dataset.path = str(moved)
        assert list(chain.from_iterable(numbers(loaded.get_epoch_iterator()))) == list(range(50))


class Named(IndexableDataset):
    """A subclass as users write them: with a sentence of its own in the constructor."""

    def __init__(self, title: str, **kwargs: Any) -> None:
        self.title = title
        super().__init__({"x": numpy.arange(5), "y": list("abcde")}, **kwargs)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_dataset_of_arrays_survives_pickling_and_copying(protocol: int) -> None:
    """Loading ended in endless recursion.

    Sources can be read as attributes, and looking one up needs an attribute that is not there
    yet while the object is being put together.
    """
    dataset = Named("five", sources=("y",))
    for twin in (
        pickle.loads(pickle.dumps(dataset, protocol)),
        copy.copy(dataset),
        copy.deepcopy(dataset),
    ):
        assert (twin.title, twin.sources, twin.y) == ("five", ("y",), list("abcde"))
        assert twin.get_data(request=[4, 0]) == (["e", "a"],)
        with pytest.raises(AttributeError, match="z"):
            _ = twin.z
    empty = Named.__new__(Named)
    with pytest.raises(AttributeError):
        _ = empty.anything


LIGHT = """
import json, sys
sys.modules["picklable_itertools"] = sys.modules["pkg_resources"] = None  # not to be had
import numpy
from fuel.datasets import IndexableDataset
from fuel.schemes import PermutedScheme
from fuel.streams import DataStream
dataset = IndexableDataset({"x": numpy.arange(10**6)})
stream = DataStream(dataset, iteration_scheme=PermutedScheme(10**6, 1000, seed=3))
iterator = stream.get_epoch_iterator()
if len(sys.argv) > 1:
    iterator.load_state_dict(json.loads(sys.argv[1]))
    print(next(iterator)[0].tolist())
else:
    for _ in range(500):
        next(iterator)
    print(json.dumps(iterator.state_dict()))
    print(next(iterator)[0].tolist())
"""


def test_a_position_is_small_plain_text_however_large_the_data(
    fresh_python: Callable[..., str],
) -> None:
    """Checkpoints took minutes and gigabytes, for a position that a few numbers describe.

    They were pickles of iterators, which needed a package that newer installations cannot import.
    """
    state, following = fresh_python(LIGHT).splitlines()
    assert len(state) < 2000
    assert json.loads(state)
    assert fresh_python(LIGHT, state).strip() == following


def fail_at_the_third(data: Any) -> Any:
    if data[0][0] >= 4:
        raise ArithmeticError("the third batch is broken")
    return data


def pairs() -> DataStream:
    dataset = IndexableDataset({"x": numpy.arange(10)})
    return DataStream(dataset, iteration_scheme=SequentialScheme(10, 2))


def test_an_error_in_the_background_reaches_the_loop() -> None:
    """A preprocessing error showed as a training that stood still for ever."""
    with MultiProcessing(Mapping(pairs(), fail_at_the_third)) as stream:
        seen = []
        with pytest.raises(ArithmeticError, match="the third batch is broken") as caught:
            seen.extend(numbers_of(stream))
    assert seen == [[0, 1], [2, 3]]
    assert "fail_at_the_third" in str(caught.value.__cause__)


def numbers_of(stream: Any) -> Any:
    for (x,) in stream.get_epoch_iterator():
        yield x.tolist()


def test_an_epoch_left_early_does_not_leak_pickles_and_processes_end() -> None:
    """After a `break` the next epoch began with the rest of the old one.

    The stream could be neither pickled nor stopped: its process lived as long as the program.
    """
    before = set(multiprocessing.active_children())
    stream = MultiProcessing(pairs(), max_store=3)
    for number, _ in enumerate(stream.get_epoch_iterator()):
        if number == 1:
            break
    whole = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert list(numbers_of(stream)) == whole
    twin = pickle.loads(pickle.dumps(stream))
    stream.close()
    assert list(numbers_of(twin)) == whole
    twin.close()
    assert set(multiprocessing.active_children()) <= before


def produce_a_little(socket: Any) -> None:
    socket.send_pyobj(1)
    raise LookupError("image 2 is broken")


def consume_two(socket: Any) -> Any:
    return socket.recv_pyobj(), socket.recv_pyobj()


def produce_two(socket: Any) -> None:
    socket.send_pyobj("one")
    socket.send_pyobj("two")


def test_a_broken_producer_is_an_error_and_a_port_of_ones_own_works() -> None:
    """One image that could not be decoded, and a conversion of days hung instead of failing.

    So did every call that named its port.
    """
    import socket

    with pytest.raises((LookupError, WorkerError), match="image 2 is broken"):
        producer_consumer(produce_a_little, consume_two)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert producer_consumer(produce_two, consume_two, port=port) == ("one", "two")


class Epochs(Transformer):
    """Counts how often it is told that an epoch begins."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream, stream.produces_examples)
        self.told = 0

    def next_epoch(self) -> None:
        self.told += 1
        super().next_epoch()

    def transform_batch(self, batch: Any) -> Any:
        return batch


def test_a_new_epoch_reaches_every_step_of_the_chain() -> None:
    """A step that had to prepare each epoch was never told that one began."""
    inner = Epochs(pairs())
    outer = Epochs(inner)
    outer.next_epoch()
    assert (outer.told, inner.told) == (1, 1)
    list(outer.get_epoch_iterator())
    list(outer.get_epoch_iterator())
    assert outer.told == inner.told


def test_streams_of_unequal_length_are_combined_as_asked() -> None:
    """Joining a short stream and a long one silently dropped the rest of the long one.

    What the user wanted was to begin the short one again.
    """

    def stream(length: int) -> DataStream:
        dataset = IndexableDataset({"x": list(range(length))})
        return DataStream(dataset, iteration_scheme=SequentialExampleScheme(length))

    def merged(policy: str) -> list[Any]:
        return list(Merge((stream(2), stream(4)), ("a", "b"), on_unequal=policy))

    assert merged("shortest") == [(0, 0), (1, 1)]
    assert merged("cycle") == [(0, 0), (1, 1), (0, 2), (1, 3)]
    assert len(merged("longest")) == 4
    with pytest.raises(ValueError, match="stream 0 .* ended after 2 items"):
        merged("strict")


@pytest.mark.parametrize("folds", [3, 10])  # ten examples: ten folds leave one out at a time
def test_folds_and_random_splits_cover_the_data_every_epoch(folds: int) -> None:
    """People wrote their own k-fold loops, and these schemes were empty in the second epoch."""
    tested = []
    for train, valid, *_ in cross_validation(SequentialExampleScheme, 10, folds, False):
        for _ in range(2):
            seen = list(train.get_request_iterator()), list(valid.get_request_iterator())
            assert sorted(seen[0] + seen[1]) == list(range(10))
        tested += seen[1]
    assert sorted(tested) == list(range(10))


def test_a_part_is_held_out_at_random_and_the_same_next_time() -> None:
    """There was no way to set a tenth of the training data aside but to sort it out by hand."""
    train, valid = shuffled_split(100, 0.9, seed=5)
    assert (len(train), sorted(train + valid)) == (90, list(range(100)))
    assert (train, valid) == shuffled_split(100, 0.9, seed=5)
    assert (train, valid) != shuffled_split(100, 0.9, seed=6)
    assert valid != list(range(90, 100))


@pytest.mark.parametrize("step", [Padding, Unpack])
def test_a_step_for_batches_refuses_examples_when_it_is_built(step: Any) -> None:
    """The chain was built without a word and failed much later, without saying which step."""
    dataset = IndexableDataset({"x": numpy.zeros((4, 2))})
    examples = DataStream(dataset, iteration_scheme=SequentialExampleScheme(4))
    with pytest.raises(ValueError, match=rf"{step.__name__} needs batches .* put Batch between"):
        step(examples)
    with pytest.raises(ValueError, match="Batch needs examples .* put Unpack between"):
        Batch(pairs(), iteration_scheme=SequentialScheme(4, 2))
    (flat,) = next(iter(Flatten(examples)))  # what does either is content with both
    assert flat.shape == (2,)
    with pytest.raises(NotImplementedError, match="Epochs does not transform examples.*Batch"):
        next(iter(Epochs(examples)))
