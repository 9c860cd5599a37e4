"""MultiProcessing is transparent: the same items, states and errors as without it."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading

import cloudpickle
import numpy
import pytest

from fuel.config_parser import config
from fuel.datasets import Dataset, H5PYDataset, IndexableDataset, IterableDataset
from fuel.exceptions import WorkerError
from fuel.schemes import (
    ConstantScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import AbstractDataStream, DataStream
from fuel.transformers import (
    BackgroundProcess,
    Batch,
    Cache,
    Filter,
    ForceFloatX,
    Mapping,
    Merge,
    MultiProcessing,
    Transformer,
    Unpack,
)

needs_signals = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to end with")


class Counting(Transformer):
    """Remembers how many batches it has seen, and draws from a generator of its own."""

    def __init__(self, data_stream):
        super().__init__(data_stream, data_stream.produces_examples)
        self.calls = 0
        self.rng = numpy.random.RandomState(5)

    def transform_batch(self, batch):
        self.calls += 1
        return (*batch, self.calls, self.rng.randint(1000))


def noisy(data, rng):
    return (*data, rng.integers(1000, size=2))


def batches(scheme=None, **options):
    dataset = IndexableDataset({"x": numpy.arange(40.0).reshape(20, 2), "y": numpy.arange(20)})
    return DataStream(dataset, iteration_scheme=scheme or ShuffledScheme(20, 4), **options)


def examples():
    return batches(ShuffledExampleScheme(20))


CHAINS = {
    "shuffled batches": batches,
    "examples in the dataset's order": lambda: DataStream(IterableDataset(list(range(9)))),
    "random draws": lambda: Mapping(Mapping(batches(seed=3), noisy), noisy),
    "hidden memory": lambda: Counting(batches()),
    "a buffer": lambda: Cache(batches(), iteration_scheme=ConstantScheme(3)),
    "another number of items": lambda: Filter(Unpack(batches()), lambda data: data[1] % 3 != 0),
    "batches made here": lambda: Batch(examples(), iteration_scheme=ConstantScheme(6)),
    "two sources": lambda: Merge((batches(), batches(SequentialScheme(20, 4))), tuple("abcd")),
}


def freeze(item):
    return repr(item)


@pytest.fixture
def parallel():
    """Make MultiProcessing streams that are closed at the end."""
    made = []

    def make(stream, *args, **kwargs):
        made.append(MultiProcessing(stream, *args, **kwargs))
        return made[-1]

    yield make
    for stream in made:
        stream.close()


@pytest.mark.parametrize("name", CHAINS)
def test_three_epochs_are_those_of_the_stream_below(parallel, name):
    plain, ahead = CHAINS[name](), parallel(CHAINS[name](), 3)
    for _ in range(3):
        assert list(map(freeze, ahead.get_epoch_iterator())) == list(
            map(freeze, plain.get_epoch_iterator())
        )


@pytest.mark.parametrize("name", ["random draws", "hidden memory", "a buffer"])
def test_states_are_those_of_the_stream_below_and_resume_in_either(parallel, name):
    plain, ahead = CHAINS[name](), parallel(CHAINS[name]())
    one, other = plain.get_epoch_iterator(), ahead.get_epoch_iterator()
    for _ in range(3):
        assert freeze(next(one)) == freeze(next(other))
    state = one.state_dict()
    assert other.state_dict() == state
    copy = cloudpickle.loads(cloudpickle.dumps(other))
    tail = list(map(freeze, one))
    following = list(map(freeze, plain.get_epoch_iterator()))
    assert list(map(freeze, copy)) == tail
    copy.data_stream.close()

    resumed = parallel(CHAINS[name]())
    resumed.load_state_dict(state)
    assert list(map(freeze, resumed.get_epoch_iterator())) == tail
    assert list(map(freeze, resumed.get_epoch_iterator())) == following
    without = CHAINS[name]()
    without.load_state_dict(other.state_dict())
    assert list(map(freeze, without.get_epoch_iterator())) == tail


def test_a_step_above_and_the_place_in_the_chain_change_no_draws(parallel):
    plain = Mapping(Mapping(batches(seed=3), noisy), noisy)
    ahead = Mapping(parallel(Mapping(batches(seed=3), noisy)), noisy)
    assert list(map(freeze, ahead.get_epoch_iterator())) == list(
        map(freeze, plain.get_epoch_iterator())
    )


def test_names_of_draws_are_counted_from_the_source_of_the_whole_chain(parallel):
    def merged(wrap):
        first, second = (Mapping(batches(seed=3), noisy) for _ in range(2))
        return Merge((first, wrap(second)), tuple("abcd"))

    plain, ahead = merged(lambda stream: stream), merged(parallel)
    assert list(map(freeze, ahead.get_epoch_iterator())) == list(
        map(freeze, plain.get_epoch_iterator())
    )


def test_an_epoch_given_up_does_not_leak_into_the_next(parallel):
    plain, ahead = Counting(batches()), parallel(Counting(batches()))
    for stop in (2, 0):
        for stream in (plain, ahead):
            iterator = stream.get_epoch_iterator()
            for _ in range(stop):
                last = next(iterator)
            del iterator
    assert list(map(freeze, ahead.get_epoch_iterator())) == list(
        map(freeze, plain.get_epoch_iterator())
    )
    del last


def test_iterators_are_independent(parallel):
    stream = parallel(batches(SequentialScheme(20, 4)))
    first, second = stream.get_epoch_iterator(), stream.get_epoch_iterator()
    taken = [next(first)[1][0], next(second)[1][0], next(first)[1][0], next(second)[1][0]]
    assert taken == [0, 0, 4, 4]
    assert len(list(first)) == len(list(second)) == 3


def test_what_a_step_remembers_is_brought_back(parallel):
    step = Counting(batches())
    iterator = parallel(step).get_epoch_iterator()
    next(iterator)
    next(iterator)
    assert step.calls == 2
    list(iterator)
    assert step.calls == 5


def test_changes_made_between_epochs_count(parallel):
    stream = parallel(ForceFloatX(batches(SequentialScheme(20, 4))))
    assert next(iter(stream))[0].dtype == config.floatX
    with config.override(floatX="float32"):
        assert next(iter(stream))[0].dtype == "float32"
        stream.data_stream.data_stream.iteration_scheme = SequentialScheme(6, 2)
        assert [data[1].tolist() for data in stream] == [[0, 1], [2, 3], [4, 5]]


def test_no_more_is_produced_ahead_than_was_allowed(parallel, tmp_path):
    log = tmp_path / "log"

    def record(data):
        with open(log, "a") as file:
            file.write(".")
        return data

    stream = parallel(Mapping(batches(SequentialExampleScheme(20)), record), 3)
    taken = 0
    for _ in stream:
        taken += 1
        assert taken <= len(log.read_text()) <= taken + 3
    assert taken == 20


def test_sources_labels_and_kind_are_those_of_the_stream_below():
    labels = {"x": ("batch", "feature"), "y": ("batch",)}
    stream = MultiProcessing(batches(axis_labels=labels))
    assert stream.sources == ("x", "y")
    assert stream.axis_labels == labels
    assert stream.axis_labels is not stream.data_stream.axis_labels
    assert not stream.produces_examples
    assert MultiProcessing(examples()).produces_examples
    assert len(stream) == 5
    assert set(next(stream.get_epoch_iterator(as_dict=True))) == {"x", "y"}
    stream.close()


def test_arguments_are_checked(parallel):
    for max_store in (-1, 1.5, None, True):
        with pytest.raises(ValueError, match="max_store"):
            MultiProcessing(batches(), max_store)
    stream = parallel(batches())
    stream.get_epoch_iterator()
    with pytest.raises(ValueError, match="takes no requests"):
        stream.get_data([1])


def test_get_data_reads_the_epoch_started_last(parallel):
    stream = parallel(batches(SequentialScheme(20, 12)))
    iterator = stream.get_epoch_iterator()
    assert len(stream.get_data()[1]) == 12
    assert len(stream.get_data()[1]) == 8
    with pytest.raises(StopIteration):
        stream.get_data()
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_exception_arrives_with_its_traceback_after_what_came_before(parallel):
    def fail(data):
        if data[1][0] == 8:
            raise KeyError("the broken image")
        return data

    def sequence():
        return Mapping(batches(SequentialScheme(20, 4)), fail)

    stream, seen = parallel(sequence()).get_epoch_iterator(), []
    with pytest.raises(KeyError, match="the broken image") as caught:
        for _, y in stream:
            seen.append(y[0])
    assert seen == [0, 4]
    assert "in fail" in str(caught.value.__cause__)
    assert "MultiProcessing over Mapping" in str(caught.value.__cause__)
    plain = sequence().get_epoch_iterator()
    for _ in range(2):
        next(plain)
    with pytest.raises(KeyError):
        next(plain)
    assert plain.state_dict() == stream.state_dict()
    assert [freeze(data) for data in plain] == [freeze(data) for data in stream]


def test_what_cannot_be_pickled_is_told_and_where(parallel):
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"MultiProcessing over Mapping.*cannot be pickled"):
        next(iter(parallel(Mapping(batches(), lambda data: (lock, data)))))
    with pytest.raises(TypeError, match="pickle"):
        next(iter(parallel(Mapping(batches(), lambda data: (threading.Lock(),)))))


@needs_signals
def test_a_dead_process_is_told_and_the_next_item_comes_from_another(parallel, tmp_path):
    mark = tmp_path / "died"

    def die_once(data):
        if data[1][0] == 8 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return data

    stream = parallel(Mapping(batches(SequentialScheme(20, 4)), die_once), 1)
    iterator, seen = stream.get_epoch_iterator(), []
    with pytest.raises(WorkerError, match=r"SIGKILL.*memory.*delivered 2 items of epoch 0"):
        for _, y in iterator:
            seen.append(y[0])
    seen += [y[0] for _, y in iterator]
    assert seen == [0, 4, 8, 12, 16]


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def pid_stream():
    return Mapping(batches(), lambda data: (os.getpid(),))


def test_it_starts_with_the_first_item_and_serves_all_epochs(parallel):
    stream = parallel(pid_stream())
    iterator = stream.get_epoch_iterator()
    assert stream._idle is None
    pids = {pid for (pid,) in iterator} | {pid for (pid,) in stream}
    assert len(pids) == 1
    assert pids != {os.getpid()}


def test_close_ends_the_process_and_the_stream_may_be_used_again():
    stream = MultiProcessing(pid_stream())
    for items in (1, 6):  # in the middle of an epoch, and between two
        iterator = stream.get_epoch_iterator()
        pid = next(iterator)[0]
        for _ in range(items - 1):
            next(iterator, None)
        assert not gone(pid)
        stream.close()
        stream.close()
        assert gone(pid)


def test_garbage_collection_ends_the_process():
    stream = MultiProcessing(pid_stream())
    iterator = stream.get_epoch_iterator()
    (pid,) = next(iterator)
    del stream, iterator
    gc.collect()
    assert gone(pid)
    stream = MultiProcessing(pid_stream())
    pid = list(stream)[0][0]
    del stream
    gc.collect()
    assert gone(pid)


def test_giving_up_an_iterator_ends_its_process(parallel):
    iterator = parallel(pid_stream()).get_epoch_iterator()
    (pid,) = next(iterator)
    del iterator
    gc.collect()
    assert gone(pid)


def test_it_pickles_without_its_process(parallel):
    stream = parallel(batches())
    list(stream)
    copy = pickle.loads(pickle.dumps(stream))
    assert list(map(freeze, copy)) == list(map(freeze, stream))
    copy.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_gets_a_process_of_its_own(parallel):
    stream = parallel(batches(SequentialScheme(20, 4)))
    iterator = stream.get_epoch_iterator()
    next(iterator)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = [y[0] for _, y in iterator] != [4, 8, 12, 16]
            stream.close()
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert [y[0] for _, y in iterator] == [4, 8, 12, 16]


class Generated(AbstractDataStream):
    """A stream written the old way, as a generator, which no process can send to another."""

    sources = ("number",)
    produces_examples = True

    def get_epoch_iterator(self, as_dict=False):
        for number in range(4):
            yield (number,)


def test_a_stream_that_is_a_generator_works(parallel):
    stream = parallel(Generated())
    for _ in range(2):
        assert list(stream) == [(0,), (1,), (2,), (3,)]
    iterator = stream.get_epoch_iterator()
    next(iterator)
    resumed = parallel(Generated())
    resumed.load_state_dict(iterator.state_dict())
    assert list(resumed) == [(1,), (2,), (3,)]


class Lines(Dataset):
    """Keeps an open file as its state, which no process can send to another."""

    provides_sources = ("line",)
    example_iteration_scheme = None

    def __init__(self, path):
        self.path = path
        super().__init__()

    def open(self):
        return open(self.path)

    def close(self, state):
        state.close()

    def get_data(self, state=None, request=None):
        return (next(state),)


def test_a_dataset_whose_state_is_an_open_file_works(parallel, tmp_path):
    (tmp_path / "lines").write_text("a\nb\nc\n")
    stream = parallel(DataStream(Lines(tmp_path / "lines")))
    for _ in range(2):
        assert list(stream) == [("a\n",), ("b\n",), ("c\n",)]
    next(iter(stream))
    assert next(iter(stream)) == ("a\n",)


def test_a_file_may_be_read_here_and_there(parallel, tmp_path):
    import h5py

    path = tmp_path / "data.hdf5"
    with h5py.File(path, "w") as file:
        file["x"] = numpy.arange(12)
        ragged = file.create_dataset("words", (12,), h5py.vlen_dtype("u1"))
        for row in range(12):
            ragged[row] = numpy.arange(row)

    def stream():
        return DataStream(H5PYDataset(str(path)), iteration_scheme=SequentialScheme(12, 5))

    here, there = stream(), parallel(stream())
    for one, other in zip(here, there, strict=True):
        assert freeze(one) == freeze(other)
    here.close()


def test_the_background_process_gives_item_after_item():
    background = BackgroundProcess(batches(SequentialScheme(20, 12)), 2)
    background.main()
    for _ in range(2):
        assert [len(background.get_next_data()[1]) for _ in range(2)] == [12, 8]
        with pytest.raises(StopIteration):
            background.get_next_data()
    assert background.max_batches == 2
    background.close()
