"""Sequences of different lengths: 100,000 of 5 to 50 int32, batches of 64, padded, with a mask.

Two cases: in any order, and with sequences of like length together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy
from harness.registry import SEED, Goal, Work, Workload
from limits import address, compile_and_load

from workloads._common import index_batches

__all__ = ["WORKLOAD"]

WORKLOAD = Workload("W6", "int32 sequences of 5 to 50, batch 64, padded with a mask", "sequences")
COUNT, BATCH, LONGEST, POOL = 100_000, 64, 50, 100
RANDOM, BUCKETED = "any order", "like lengths together, in pools of 100 batches"
Pass = Callable[[], tuple[int, int]]

C_LIST, TORCH = "C loop over a list of arrays", "torch DataLoader, pad_sequence and mask"
OURS, OURS_BATCH = "Fuel, Padding of a batch stream", "Fuel, Padding(Batch) of an example stream"


def prepare(work: Work) -> None:
    """Make the sequences, one behind the other and as arrays of their own."""
    rng = numpy.random.default_rng(SEED)
    count = 1280 if work.quick else COUNT
    lengths = rng.integers(5, LONGEST + 1, count)
    offsets = numpy.zeros(count + 1, numpy.int64)
    numpy.cumsum(lengths, out=offsets[1:])
    flat = rng.integers(1, 30_000, offsets[-1], dtype=numpy.int32)
    work.given.lengths, work.given.offsets, work.given.flat = lengths, offsets, flat
    work.given.rows = [flat[first:last].copy() for first, last in itertools.pairwise(offsets)]


WORKLOAD.prepare = prepare
WORKLOAD.goals = [
    Goal(OURS_BATCH, C_LIST, 0.6),
    Goal(OURS_BATCH, TORCH, 12.0),
    Goal(OURS, C_LIST, 0.6),
    Goal(OURS, TORCH, 12.0),
]


def order(work: Work, case: str, rng: Any) -> Iterator[Any]:
    """Yield the indices of the batches of an epoch."""
    lengths = work.given.lengths
    if case == RANDOM:
        yield from index_batches(len(lengths), BATCH, rng)
        return
    for pool in index_batches(len(lengths), BATCH * POOL, rng):
        pool = pool[numpy.argsort(lengths[pool], kind="stable")]
        batches = [pool[first : first + BATCH] for first in range(0, len(pool), BATCH)]
        yield from (batches[number] for number in rng.permutation(len(batches)))


def drain(batches: Iterable[Any]) -> tuple[int, int]:
    """Take all batches; count sequences, and bytes with one a place for the mask."""
    count = size = 0
    for values, mask in batches:
        assert values.shape == mask.shape
        count += len(values)
        size += values.nbytes + mask.shape[0] * mask.shape[1]
    return count, size


def each_case(name: str, kind: str, **more: Any) -> Callable[[Any], Any]:
    """Register a contender in both cases."""

    def register(build: Any) -> Any:
        WORKLOAD.contender(name, kind, case=RANDOM, **more)(lambda work: build(work, RANDOM))
        bucketed = f"{name}, by length"
        WORKLOAD.contender(bucketed, kind, case=BUCKETED, **more)(
            lambda work: build(work, BUCKETED)
        )
        return build

    return register


def over(work: Work, case: str, batch: Callable[[Any], Any]) -> Pass:
    """Make passes of a function of the indices of a batch."""
    rng = numpy.random.default_rng(SEED)
    return lambda: drain(batch(index) for index in order(work, case, rng))


@each_case("C loop over one array and offsets", "limit")
def c_flat(work: Work, case: str) -> Pass:
    """Into the same memory again."""
    lib, given = compile_and_load("arrays", work.data), work.given
    values, mask = (
        numpy.empty(BATCH * LONGEST, numpy.int32),
        numpy.empty(BATCH * LONGEST, numpy.uint8),
    )
    flat, offsets, to, over_there = map(address, (given.flat, given.offsets, values, mask))

    def batch(index: Any) -> Any:
        n, width = len(index), int(given.lengths[index].max())
        lib.pad_flat(flat, offsets, address(index), n, width, to, over_there)
        return values[: n * width].reshape(n, width), mask[: n * width].reshape(n, width)

    return over(work, case, batch)


@each_case(C_LIST, "limit")
def c_list(work: Work, case: str) -> Pass:
    """Into the same memory again; where the arrays are is known beforehand."""
    lib, given = compile_and_load("arrays", work.data), work.given
    addresses = numpy.array([address(row) for row in given.rows], numpy.int64)
    values, mask = (
        numpy.empty(BATCH * LONGEST, numpy.int32),
        numpy.empty(BATCH * LONGEST, numpy.uint8),
    )
    to, over_there = address(values), address(mask)

    def batch(index: Any) -> Any:
        rows, lengths = addresses[index], given.lengths[index]
        n, width = len(index), int(lengths.max())
        lib.pad_list(address(rows), address(lengths), n, width, to, over_there)
        return values[: n * width].reshape(n, width), mask[: n * width].reshape(n, width)

    return over(work, case, batch)


def pad_by_hand(part: list[Any]) -> Any:
    """Pad and mark, in a loop."""
    width = max(map(len, part))
    values, mask = (
        numpy.zeros((len(part), width), numpy.int32),
        numpy.zeros((len(part), width), bool),
    )
    for number, row in enumerate(part):
        values[number, : len(row)] = row
        mask[number, : len(row)] = True
    return values, mask


@each_case("NumPy loop over a list of arrays", "hand")
def numpy_loop(work: Work, case: str) -> Pass:
    """The loop that everybody writes."""
    rows = work.given.rows
    return over(work, case, lambda index: pad_by_hand([rows[number] for number in index]))


@each_case("NumPy without a loop, one array and offsets", "hand")
def numpy_flat(work: Work, case: str) -> Pass:
    """What the patient write."""
    flat, offsets, lengths = work.given.flat, work.given.offsets, work.given.lengths
    columns, last = numpy.arange(LONGEST), len(work.given.flat) - 1

    def batch(index: Any) -> Any:
        part = lengths[index]
        across = columns[: int(part.max())]
        mask = across < part[:, None]
        places = numpy.minimum(offsets[index][:, None] + across, last)
        return flat[places] * mask, mask

    return over(work, case, batch)


def _dataset(work: Work) -> Any:
    from fuel.datasets import IndexableDataset

    rows = numpy.empty(len(work.given.rows), object)
    rows[:] = work.given.rows
    return IndexableDataset({"x": rows})


@WORKLOAD.contender(OURS, "fuel", case=RANDOM)
def fuel_batches(work: Work) -> Pass:
    """A scheme of batches."""
    from fuel.schemes import ShuffledScheme
    from fuel.streams import DataStream
    from fuel.transformers import Padding

    dataset = _dataset(work)
    scheme = ShuffledScheme(dataset.num_examples, BATCH)
    stream = Padding(DataStream(dataset, iteration_scheme=scheme), mask_dtype="bool")
    return lambda: drain(stream.get_epoch_iterator())


@WORKLOAD.contender(OURS_BATCH, "fuel", case=RANDOM)
def fuel_examples(work: Work) -> Pass:
    """A scheme of examples, put together by Batch."""
    from fuel.schemes import ConstantScheme, ShuffledExampleScheme
    from fuel.streams import DataStream
    from fuel.transformers import Batch, Padding

    dataset = _dataset(work)
    scheme = ShuffledExampleScheme(dataset.num_examples)
    stream = DataStream(dataset, iteration_scheme=scheme)
    stream = Padding(Batch(stream, ConstantScheme(BATCH)), mask_dtype="bool")
    return lambda: drain(stream.get_epoch_iterator())


@WORKLOAD.contender("Fuel, Padding(Batch(Unpack(SortMapping)))", "fuel", case=BUCKETED)
def fuel_sorted(work: Work) -> Pass:
    """The original recipe: pools are fetched, sorted, taken apart and put together again."""
    from fuel.schemes import ConstantScheme, ShuffledScheme
    from fuel.streams import DataStream
    from fuel.transformers import Batch, Mapping, Padding, SortMapping, Unpack

    dataset = _dataset(work)
    scheme = ShuffledScheme(dataset.num_examples, BATCH * POOL)
    stream = Mapping(DataStream(dataset, iteration_scheme=scheme), SortMapping(_length))
    stream = Batch(Unpack(stream), ConstantScheme(BATCH))
    stream = Padding(stream, mask_dtype="bool")
    return lambda: drain(stream.get_epoch_iterator())


@WORKLOAD.contender("Fuel, Padding(BucketByLength)", "fuel", case=BUCKETED)
def fuel_buckets(work: Work) -> Pass:
    """The same with the step that is there for it."""
    from fuel.schemes import ShuffledExampleScheme
    from fuel.streams import DataStream
    from fuel.transformers import Padding
    from fuel.transformers.sequences import BucketByLength

    dataset = _dataset(work)
    scheme = ShuffledExampleScheme(dataset.num_examples)
    stream = BucketByLength(DataStream(dataset, iteration_scheme=scheme), BATCH, pool=POOL)
    stream = Padding(stream, mask_dtype="bool")
    return lambda: drain(stream.get_epoch_iterator())


def _length(example: Any) -> int:
    return len(example[0])


def torch_pad(rows: list[Any]) -> Any:
    """Tensors in, padded batch and mask out: the usual function to collate."""
    import torch

    lengths = torch.tensor([len(row) for row in rows])
    values = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return values, torch.arange(values.shape[1]) < lengths[:, None]


@each_case("torch pad_sequence and mask, loop", "hand", lane="torch", needs=("torch",))
def torch_loop(work: Work, case: str) -> Pass:
    """What torch's users write by hand."""
    import torch

    rows = [torch.from_numpy(row) for row in work.given.rows]
    return over(work, case, lambda index: torch_pad([rows[number] for number in index]))


@each_case(TORCH, "peer", lane="torch", needs=("torch",))
def torch_loader(work: Work, case: str) -> Pass:
    """A sampler of batches, and a function to collate."""
    import torch
    from torch.utils.data import DataLoader

    rows = [torch.from_numpy(row) for row in work.given.rows]
    rng = numpy.random.default_rng(SEED)

    class Sampler:
        def __iter__(self) -> Iterator[list[int]]:
            return (index.tolist() for index in order(work, case, rng))

        def __len__(self) -> int:
            return math.ceil(len(rows) / BATCH)

    loader = DataLoader(rows, batch_sampler=Sampler(), collate_fn=torch_pad)  # type: ignore
    return lambda: drain(loader)


@each_case("Grain, batch with a function", "peer", lane="torch", needs=("grain",))
def grain_batch(work: Work, case: str) -> Pass:
    """The order is given; the batch is put together by hand."""
    import grain

    rows, rng = work.given.rows, numpy.random.default_rng(SEED)
    options = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)

    def run() -> tuple[int, int]:
        index = numpy.concatenate(list(order(work, case, rng)))
        dataset = grain.MapDataset.source(index).map(lambda number: rows[number])
        return drain(dataset.batch(BATCH, batch_fn=pad_by_hand).to_iter_dataset(options))

    return run


@each_case("SPDL pipeline, padding by hand", "peer", lane="torch", needs=("spdl",))
def spdl_pad(work: Work, case: str) -> Pass:
    """One thread that pads."""
    from spdl.pipeline import PipelineBuilder

    rows, rng = work.given.rows, numpy.random.default_rng(SEED)

    def run() -> tuple[int, int]:
        builder = PipelineBuilder().add_source(list(order(work, case, rng)))
        builder = builder.pipe(lambda index: pad_by_hand([rows[number] for number in index]))
        pipeline = builder.add_sink(4).build(num_threads=1)
        with pipeline.auto_stop():
            return drain(pipeline)

    return run


def _tf_drain(dataset: Any) -> Pass:
    import tensorflow as tf

    def mark(values: Any) -> Any:
        lengths = tf.reduce_sum(tf.cast(values != 0, tf.int32), 1)
        return values, tf.sequence_mask(lengths, tf.shape(values)[1])

    dataset = dataset.map(mark).prefetch(tf.data.AUTOTUNE)
    return lambda: drain(dataset.as_numpy_iterator())


def _tf_slices(work: Work) -> Any:
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_row_splits(work.given.flat, work.given.offsets)
    dataset = tf.data.Dataset.from_tensor_slices(ragged).map(lambda row: row)
    return dataset.shuffle(len(work.given.rows))


@WORKLOAD.contender(
    "tf.data, padded_batch", "peer", case=RANDOM, lane="tensorflow", needs=("tensorflow",)
)
def tf_padded(work: Work) -> Pass:
    """Shuffled by a buffer that holds all."""
    return _tf_drain(_tf_slices(work).padded_batch(BATCH, padded_shapes=[None]))


@WORKLOAD.contender(
    "tf.data, bucket_by_sequence_length",
    "peer",
    case=BUCKETED,
    lane="tensorflow",
    needs=("tensorflow",),
)
def tf_bucket(work: Work) -> Pass:
    """Buckets two lengths wide."""
    import tensorflow as tf

    edges = list(range(7, LONGEST + 1, 2))
    sizes = [BATCH] * (len(edges) + 1)
    slices = _tf_slices(work)
    return _tf_drain(slices.bucket_by_sequence_length(lambda row: tf.shape(row)[0], edges, sizes))
