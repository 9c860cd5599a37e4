"""Every stream and transformer of the package under the suite of streams, alone and in chains."""

from __future__ import annotations

import operator

import h5py
import numpy
import pytest

import fuel.transformers
from fuel.datasets import H5PYDataset, IndexableDataset, IterableDataset, TextFile
from fuel.schemes import (
    ConcatenatedScheme,
    ConstantScheme,
    PermutedExampleScheme,
    PermutedScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import (
    AbstractDataStream,
    DataStream,
    InterleavedStream,
    MixtureStream,
    ShardedStream,
)
from fuel.testing import StreamContract
from fuel.transformers import (
    Batch,
    Cache,
    Cast,
    Filter,
    FilterSources,
    Flatten,
    ForceFloatX,
    Mapping,
    Merge,
    MultiProcessing,
    Padding,
    Parallel,
    Rename,
    ScaleAndShift,
    SortMapping,
    Unpack,
)
from fuel.transformers.defaults import ToBytes
from fuel.transformers.sequences import NGrams, Window

LABELS = {"x": ("batch", "height", "width"), "y": ("batch", "index")}


def arrays(examples=10):
    values = numpy.arange(examples * 6, dtype="u1").reshape(examples, 2, 3)
    return {"x": values, "y": numpy.arange(examples)[:, None]}


def batches(scheme=None, examples=10):
    dataset = IndexableDataset(arrays(examples), axis_labels=LABELS)
    return DataStream(dataset, iteration_scheme=scheme or PermutedScheme(examples, 4, seed=5))


def single(examples=7):
    dataset = IndexableDataset(arrays(examples), axis_labels=LABELS)
    return DataStream(dataset, iteration_scheme=PermutedExampleScheme(examples, seed=5))


def ragged(examples=8):
    rows = [numpy.arange(n % 4 + 1) + n for n in range(examples)]
    dataset = IndexableDataset({"x": rows})
    return DataStream(dataset, iteration_scheme=PermutedExampleScheme(examples, seed=2))


def noise(data, rng):
    return tuple(column + rng.normal(size=numpy.shape(column)) for column in data)


def halves(data):
    return (data[0].sum(axis=-1),)


def odd(data):
    return bool(data[1][0] % 2)


def length(example):
    return len(example[0])


def hdf5(tmp, in_memory):
    path = tmp / "data.hdf5"
    if not path.exists():
        with h5py.File(path, "w") as file:
            for name, values in arrays().items():
                file[name] = values
            file.attrs["split"] = H5PYDataset.create_split_array(
                {"train": {"x": (0, 10), "y": (0, 10)}}
            )
    dataset = H5PYDataset(path, ("train",), load_in_memory=in_memory)
    return DataStream(dataset, iteration_scheme=ShuffledScheme(10, 4))


def text(tmp):
    path = tmp / "text.txt"
    if not path.exists():
        path.write_text("a b\nb\na a a\nb a\n")
    words = {"<S>": 0, "</S>": 1, "<UNK>": 2, "a": 3, "b": 4}
    return DataStream(TextFile([str(path)], words))


MAKERS = {
    "sequential": lambda tmp: batches(SequentialScheme(10, 4)),
    "shuffled": lambda tmp: batches(ShuffledScheme(10, 4)),
    "shuffled examples": lambda tmp: DataStream(
        IndexableDataset(arrays()), iteration_scheme=ShuffledExampleScheme(10)
    ),
    "concatenated": lambda tmp: batches(
        ConcatenatedScheme([SequentialScheme(5, 2), PermutedScheme(10, 4, seed=1)])
    ),
    "permuted": lambda tmp: batches(),
    "iterable": lambda tmp: DataStream(IterableDataset({"x": [1, 2, 3], "y": [4.0, 5.0, 6.0]})),
    "HDF5": lambda tmp: hdf5(tmp, False),
    "HDF5 in memory": lambda tmp: hdf5(tmp, True),
    "text": text,
    "Flatten": lambda tmp: Flatten(batches()),
    "Flatten examples": lambda tmp: Flatten(single(), which_sources=("x",)),
    "ScaleAndShift": lambda tmp: ScaleAndShift(batches(), 0.5, 1, which_sources=("x",)),
    "Cast": lambda tmp: Cast(batches(), "float32"),
    "ForceFloatX": lambda tmp: ForceFloatX(Cast(batches(), "float32")),
    "Mapping": lambda tmp: Mapping(batches(), halves, add_sources=("sum",)),
    "Mapping with draws": lambda tmp: Mapping(batches(), noise, seed=4),
    "Mapping with draws, examples": lambda tmp: Mapping(single(), noise),
    "SortMapping": lambda tmp: Mapping(
        Batch(ragged(), ConstantScheme(3)), SortMapping(length, reverse=True)
    ),
    "Filter": lambda tmp: Filter(single(), odd),
    "Cache": lambda tmp: Cache(batches(), ConstantScheme(3)),
    "Cache of more": lambda tmp: Cache(batches(PermutedScheme(10, 2, seed=1)), ConstantScheme(5)),
    "Batch": lambda tmp: Batch(single(), ConstantScheme(3)),
    "Batch, whole": lambda tmp: Batch(single(), ConstantScheme(3), strictness=1),
    "Batch of a number": lambda tmp: Batch(single(), ConstantScheme(3, num_examples=5)),
    "Unpack": lambda tmp: Unpack(batches()),
    "Padding": lambda tmp: Padding(Batch(ragged(), ConstantScheme(3))),
    "Rename": lambda tmp: Rename(batches(), {"x": "features"}),
    "FilterSources": lambda tmp: FilterSources(batches(), ("y",)),
    "ToBytes": lambda tmp: ToBytes(single(), which_sources=("x",)),
    "Window": lambda tmp: Window(1, 2, 1, False, ragged()),
    "NGrams": lambda tmp: NGrams(2, ragged()),
    "Merge": lambda tmp: Merge([batches(), batches(SequentialScheme(9, 3))], ("a", "b", "c", "d")),
    "Merge, longest": lambda tmp: Merge(
        [single(), single(5)], ("a", "b", "c", "d"), on_unequal="longest"
    ),
    "Merge, cycle": lambda tmp: Merge(
        [Cast(single(), "f4"), Mapping(single(3), noise)], ("a", "b", "c", "d"), on_unequal="cycle"
    ),
    "Merge, cycle, shuffled": lambda tmp: Merge(
        [
            single(),
            DataStream(IndexableDataset(arrays(3)), iteration_scheme=ShuffledExampleScheme(3)),
        ],
        ("a", "b", "c", "d"),
        on_unequal="cycle",
    ),
    "Mixture": lambda tmp: MixtureStream([single(), Mapping(single(3), noise)], [2, 1]),
    "Mixture, all": lambda tmp: Mapping(
        MixtureStream([single(3), single(6), single(1)], [3, 2, 1], stop="all"), noise
    ),
    "Mixture, cycle, of batches": lambda tmp: Mapping(
        MixtureStream(
            [batches(), batches(SequentialScheme(3, 2), 3)],
            [0.25, 0.75],
            stop="cycle",
            schedule={4: [1, 1]},
        ),
        noise,
    ),
    "Mixture, cycle, of iterables": lambda tmp: MixtureStream(
        [DataStream(IterableDataset(items)) for items in ("abc", "1234567")], [1, 1], stop="cycle"
    ),
    "Batch of a Mixture": lambda tmp: Batch(
        MixtureStream([single(), Filter(single(5), odd)], [1, 2], stop="cycle"), ConstantScheme(4)
    ),
    "Interleaved": lambda tmp: InterleavedStream(
        [single(4), single(1), single(3), single(2)], cycle_length=2, block_length=2
    ),
    "Interleaved batches": lambda tmp: Mapping(
        InterleavedStream([batches(), batches(SequentialScheme(9, 2)), batches()]), noise
    ),
    "Sharded": lambda tmp: Mapping(
        ShardedStream(batches(PermutedScheme(10, 2, seed=5)), rank=1, world_size=2), noise
    ),
    "Sharded, padded": lambda tmp: ShardedStream(
        Mapping(Batch(Filter(single(), odd), ConstantScheme(2)), noise),
        rank=1,
        world_size=2,
        remainder="pad",
    ),
    "Sharded, padded, alone": lambda tmp: ShardedStream(
        batches(), rank=0, world_size=1, remainder="pad"
    ),
    "Sharded, padded, of a function that remembers": lambda tmp: ShardedStream(
        Mapping(batches(), halves, add_sources=("sum",)), rank=2, world_size=3, remainder="pad"
    ),
    "Sharded, wrapped": lambda tmp: ShardedStream(
        batches(PermutedScheme(10, 3, seed=5)), rank=2, world_size=3, remainder="wrap"
    ),
    "Sharded, wrapped, shuffled": lambda tmp: ShardedStream(
        batches(ShuffledScheme(10, 3)), rank=2, world_size=3, remainder="wrap"
    ),
    "Sharded, wrapped, of examples": lambda tmp: Batch(
        ShardedStream(single(), rank=1, world_size=2, remainder="wrap"), ConstantScheme(2)
    ),
    "Sharded, alone": lambda tmp: ShardedStream(batches(), rank=0, world_size=1),
    "Sharded, of a Mixture": lambda tmp: ShardedStream(
        Batch(MixtureStream([single(), single(5)], [1, 1], stop="cycle"), ConstantScheme(2)),
        rank=0,
        world_size=2,
        remainder="wrap",
    ),
    "Sharded, of an iterable": lambda tmp: ShardedStream(
        DataStream(IterableDataset({"x": list(range(7))})), rank=1, world_size=3, remainder="pad"
    ),
    "MultiProcessing": lambda tmp: MultiProcessing(Cast(batches(), "float32"), max_store=2),
    "MultiProcessing below": lambda tmp: Batch(
        MultiProcessing(Unpack(batches()), max_store=3), ConstantScheme(3)
    ),
    "Parallel, threads": lambda tmp: Parallel(
        Cast(Batch(single(), ConstantScheme(3)), "f4"), workers=2, kind="thread"
    ),
    "Parallel, processes": lambda tmp: Parallel(
        Cast(Batch(single(), ConstantScheme(3)), "f4"), workers=1, kind="process"
    ),
    "Parallel, in the middle": lambda tmp: Batch(
        Filter(Parallel(Unpack(Cast(batches(), "f4")), workers=2, kind="thread"), odd),
        ConstantScheme(2),
    ),
    "Parallel, replacing": lambda tmp: Parallel(single(), workers=0, on_error="replace"),
    "Parallel, of ranks": lambda tmp: Parallel(
        ShardedStream(batches(), rank=1, world_size=2, remainder="pad"), workers=2, kind="thread"
    ),
    "a chain": lambda tmp: Cast(
        Flatten(ScaleAndShift(Batch(Filter(Unpack(batches()), odd), ConstantScheme(2)), 2, 1)), "f4"
    ),
    "a long chain": lambda tmp: Padding(
        Mapping(
            Batch(
                Unpack(
                    Mapping(
                        Cache(Batch(NGrams(2, ragged()), ConstantScheme(4)), ConstantScheme(3)),
                        noise,
                    )
                ),
                ConstantScheme(5),
            ),
            operator.itemgetter(slice(None)),
        ),
        mask_sources=("x",),
    ),
}
#: Pipelines that are saved with the key of a Mersenne twister.
LEGACY = {
    "shuffled",
    "shuffled examples",
    "concatenated",
    "HDF5",
    "HDF5 in memory",
    "Merge, cycle, shuffled",
    "Sharded, wrapped, shuffled",
}


@pytest.fixture(params=list(MAKERS))
def name(request):
    return request.param


class TestEveryStream(StreamContract):
    @pytest.fixture(autouse=True)
    def _choose(self, name, tmp_path_factory):
        folder = tmp_path_factory.getbasetemp() / "contract-streams"
        folder.mkdir(exist_ok=True)
        self.make_stream = lambda: MAKERS[name](folder)
        self.max_state_bytes = None if name in LEGACY else 2048
        # Every continuation starts a process of its own there.
        self.start_epochs = (1,) if "MultiProcessing" in name else (0, 1)
        # A legacy generator is one: a stream begun again in an epoch draws from it in turn.
        self.independent = name != "Merge, cycle, shuffled"


def test_every_public_transformer_is_under_the_suite(tmp_path):
    made = set()

    def visit(stream):
        made.add(type(stream))
        for child in getattr(stream, "data_streams", None) or [
            getattr(stream, "data_stream", None)
        ]:
            if child is not None:
                visit(child)

    for make in MAKERS.values():
        visit(make(tmp_path))
    bases = {
        fuel.transformers.Transformer,
        fuel.transformers.AgnosticTransformer,
        fuel.transformers.SourcewiseTransformer,
        fuel.transformers.AgnosticSourcewiseTransformer,
        AbstractDataStream,
    }
    public = {
        value
        for name in fuel.transformers.__all__
        for value in [getattr(fuel.transformers, name)]
        if isinstance(value, type) and issubclass(value, AbstractDataStream)
    }
    assert public - bases <= made
