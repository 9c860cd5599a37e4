"""Records in memory: 60,000 images of 28 by 28 bytes with labels, batches of 128, shuffled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy
from harness.registry import BEST_PEER, SEED, Goal, Work, Workload
from limits import address, compile_and_load

from workloads._common import index_batches

__all__ = ["WORKLOAD"]

WORKLOAD = Workload(
    "W1", "records in memory, 784 bytes and a label, batch 128, shuffled", "examples"
)
COUNT, SIZE, BATCH, ROW = 60_000, (28, 28), 128, 784
Pass = Callable[[], tuple[int, int]]


def prepare(work: Work) -> None:
    """Make the images and the labels."""
    rng = numpy.random.default_rng(SEED)
    count = 1280 if work.quick else COUNT
    work.given.x = rng.integers(0, 256, (count, *SIZE), dtype=numpy.uint8)
    work.given.y = rng.integers(0, 10, count, dtype=numpy.int64)


WORKLOAD.prepare = prepare
WORKLOAD.goals = [
    Goal("Fuel, DataStream and ShuffledScheme", "NumPy, x[i] and y[i]", 0.8),
    Goal("Fuel, DataStream and ShuffledScheme", BEST_PEER, 3.0),
    Goal("Fuel DataLoader", "NumPy, x[i] and y[i]", 0.8),
    Goal("Fuel DataLoader", "torch DataLoader", 5.0),
    Goal("Fuel DataLoader", "torch DataLoader, whole batches", 5.0),
    Goal("Fuel DataLoader", "Grain, examples then batch", 20.0),
    Goal("Fuel DataLoader", "Grain, indices then one gather", 20.0),
]


def drain(batches: Iterable[Any]) -> tuple[int, int]:
    """Take all batches; count examples and their bytes."""
    count = 0
    for batch in batches:
        assert len(batch[0]) == len(batch[1])
        count += len(batch[0])
    return count, count * (ROW + 8)


@WORKLOAD.contender("C gather, the same arrays again", "limit")
def c_gather(work: Work) -> Pass:
    """One call a batch, into arrays that are there already."""
    lib, given = compile_and_load("arrays", work.data), work.given
    rng = numpy.random.default_rng(SEED)
    images, labels = numpy.empty((BATCH, *SIZE), numpy.uint8), numpy.empty(BATCH, numpy.int64)

    def epoch() -> Iterable[Any]:
        x, y, to, labels_to = map(address, (given.x, given.y, images, labels))
        for index in index_batches(len(given.x), BATCH, rng):
            n = len(index)
            lib.gather(x, y, address(index), n, ROW, to, labels_to)
            yield images[:n], labels[:n]

    return lambda: drain(epoch())


@WORKLOAD.contender("NumPy, x[i] and y[i]", "hand")
def numpy_index(work: Work) -> Pass:
    """The loop that everybody writes."""
    x, y, rng = work.given.x, work.given.y, numpy.random.default_rng(SEED)
    return lambda: drain((x[i], y[i]) for i in index_batches(len(x), BATCH, rng))


@WORKLOAD.contender("NumPy, take into the same arrays", "hand")
def numpy_take(work: Work) -> Pass:
    """The same without fresh arrays."""
    x, y, rng = work.given.x, work.given.y, numpy.random.default_rng(SEED)
    images, labels = numpy.empty((BATCH, *SIZE), numpy.uint8), numpy.empty(BATCH, numpy.int64)

    def epoch() -> Iterable[Any]:
        for i in index_batches(len(x), BATCH, rng):
            n = len(i)
            numpy.take(x, i, axis=0, out=images[:n], mode="clip")
            numpy.take(y, i, out=labels[:n], mode="clip")
            yield images[:n], labels[:n]

    return lambda: drain(epoch())


def _fuel(work: Work, name: str) -> Pass:
    from fuel import schemes
    from fuel.datasets import IndexableDataset
    from fuel.streams import DataStream

    x, y = work.given.x, work.given.y
    dataset = IndexableDataset({"x": x, "y": y})
    stream = DataStream(dataset, iteration_scheme=getattr(schemes, name)(len(x), BATCH))
    return lambda: drain(stream.get_epoch_iterator())


@WORKLOAD.contender("Fuel, DataStream and ShuffledScheme", "fuel")
def fuel_shuffled(work: Work) -> Pass:
    """The original way."""
    return _fuel(work, "ShuffledScheme")


@WORKLOAD.contender("Fuel, DataStream and PermutedScheme", "fuel")
def fuel_permuted(work: Work) -> Pass:
    """An order that takes no memory."""
    return _fuel(work, "PermutedScheme")


def _fuel_loader(work: Work, **options: Any) -> Pass:
    from fuel import DataLoader

    data = (work.given.x, work.given.y)
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, **options)
    return lambda: drain(loader)


@WORKLOAD.contender("Fuel DataLoader", "fuel")
def fuel_loader(work: Work) -> Pass:
    """The everyday way."""
    return _fuel_loader(work)


@WORKLOAD.contender("Fuel DataLoader, buffer=True", "fuel")
def fuel_loader_buffer(work: Work) -> Pass:
    """The same arrays again."""
    return _fuel_loader(work, buffer=True)


@WORKLOAD.contender("Fuel DataLoader, threads", "fuel")
def fuel_loader_threads(work: Work) -> Pass:
    """More cost than use where the work is so little."""
    return _fuel_loader(work, parallel=work.threads)


@WORKLOAD.contender("Fuel DataLoader, workers", "fuel")
def fuel_loader_workers(work: Work) -> Pass:
    """Processes, for what it is worth."""
    return _fuel_loader(work, num_workers=work.threads)


@WORKLOAD.contender("torch x[i] loop", "hand", lane="torch", needs=("torch",))
def torch_index(work: Work) -> Pass:
    """What torch's users write by hand."""
    import torch

    x, y = torch.from_numpy(work.given.x), torch.from_numpy(work.given.y)
    return lambda: drain((x[i], y[i]) for i in torch.randperm(len(x)).split(BATCH))


@WORKLOAD.contender("torch DataLoader", "peer", lane="torch", needs=("torch",))
def torch_loader(work: Work) -> Pass:
    """Example by example, the usual way."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    dataset = TensorDataset(torch.from_numpy(work.given.x), torch.from_numpy(work.given.y))
    loader = DataLoader(dataset, batch_size=BATCH, shuffle=True)
    return lambda: drain(loader)


@WORKLOAD.contender("torch DataLoader, workers", "peer", lane="torch", needs=("torch",))
def torch_workers(work: Work) -> Pass:
    """The usual way, in processes."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    dataset = TensorDataset(torch.from_numpy(work.given.x), torch.from_numpy(work.given.y))
    loader = DataLoader(
        dataset,
        batch_size=BATCH,
        shuffle=True,
        num_workers=work.threads,
        persistent_workers=True,
    )
    return lambda: drain(loader)


@WORKLOAD.contender("torch DataLoader, whole batches", "peer", lane="torch", needs=("torch",))
def torch_whole(work: Work) -> Pass:
    """With ``__getitems__``, which fetches a batch at once."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    x, y = torch.from_numpy(work.given.x), torch.from_numpy(work.given.y)

    class Whole(Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(x)

        def __getitem__(self, i: int) -> Any:
            return x[i], y[i]

        def __getitems__(self, i: list[int]) -> Any:
            return x[i], y[i]

    loader = DataLoader(Whole(), batch_size=BATCH, shuffle=True, collate_fn=lambda batch: batch)
    return lambda: drain(loader)


@WORKLOAD.contender(
    "torch DataLoader, BatchSampler as sampler", "peer", lane="torch", needs=("torch",)
)
def torch_sampler(work: Work) -> Pass:
    """Another way to fetch a batch at once."""
    import torch
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

    dataset = TensorDataset(torch.from_numpy(work.given.x), torch.from_numpy(work.given.y))
    sampler = BatchSampler(RandomSampler(dataset), BATCH, False)
    loader = DataLoader(dataset, sampler=sampler, batch_size=None)
    return lambda: drain(loader)


@WORKLOAD.contender("torchdata StatefulDataLoader", "peer", lane="torch", needs=("torchdata",))
def stateful_loader(work: Work) -> Pass:
    """The loader that can be resumed."""
    import torch
    from torch.utils.data import TensorDataset
    from torchdata.stateful_dataloader import StatefulDataLoader

    dataset = TensorDataset(torch.from_numpy(work.given.x), torch.from_numpy(work.given.y))
    loader = StatefulDataLoader(dataset, batch_size=BATCH, shuffle=True)
    return lambda: drain(loader)


@WORKLOAD.contender("Grain, examples then batch", "peer", lane="torch", needs=("grain",))
def grain_map(work: Work) -> Pass:
    """The usual way."""
    import grain

    x, y = work.given.x, work.given.y
    dataset = grain.MapDataset.range(len(x)).seed(SEED).shuffle()
    dataset = dataset.map(lambda i: (x[i], y[i])).batch(BATCH)
    return lambda: drain(dataset[i] for i in range(len(dataset)))


@WORKLOAD.contender("Grain, indices then one gather", "peer", lane="torch", needs=("grain",))
def grain_whole(work: Work) -> Pass:
    """Batches of indices first."""
    import grain

    x, y = work.given.x, work.given.y
    dataset = grain.MapDataset.range(len(x)).seed(SEED).shuffle().batch(BATCH)
    dataset = dataset.map(lambda i: (x[i], y[i]))
    options = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    return lambda: drain(dataset.to_iter_dataset(options))


@WORKLOAD.contender("SPDL pipeline, indices then one gather", "peer", lane="torch", needs=("spdl",))
def spdl_pipeline(work: Work) -> Pass:
    """One thread that gathers."""
    from spdl.pipeline import PipelineBuilder

    x, y, rng = work.given.x, work.given.y, numpy.random.default_rng(SEED)

    def run() -> tuple[int, int]:
        builder = PipelineBuilder().add_source(list(index_batches(len(x), BATCH, rng)))
        pipeline = builder.pipe(lambda i: (x[i], y[i])).add_sink(4).build(num_threads=1)
        with pipeline.auto_stop():
            return drain(pipeline)

    return run


@WORKLOAD.contender(
    "Hugging Face datasets, NumPy format", "peer", lane="torch", needs=("datasets",)
)
def hugging_face(work: Work) -> Pass:
    """Arrow tables, read as arrays."""
    import datasets

    x, y = work.given.x, work.given.y
    features = datasets.Features(
        {"x": datasets.Array2D(SIZE, "uint8"), "y": datasets.Value("int64")}
    )
    table = datasets.Dataset.from_dict({"x": x, "y": y}, features=features).with_format("numpy")
    return lambda: drain((b["x"], b["y"]) for b in table.shuffle(seed=SEED).iter(BATCH))


@WORKLOAD.contender("tf.data, slices", "peer", lane="tensorflow", needs=("tensorflow",))
def tf_data(work: Work) -> Pass:
    """Shuffled by a buffer that holds all."""
    import tensorflow as tf

    x, y = work.given.x, work.given.y
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(BATCH)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    return lambda: drain(dataset.as_numpy_iterator())
