"""Gather and normalise: 50,000 images of 3 by 32 by 32 bytes to float32, batches of 256, shuffled.

Two cases, because the order of the steps decides the arithmetic: bytes times a Python number are
double precision in NumPy, float32 times a Python number stays float32. The peers compute in
float32; their best is compared with in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy
from harness.registry import BEST_PEER, SEED, Goal, Work, Workload
from limits import address, compile_and_load

from workloads._common import index_batches

__all__ = ["WORKLOAD"]

WORKLOAD = Workload(
    "W2", "gather, scale and shift to float32, 3x32x32, batch 256, shuffled", "examples",
    one_field=True,
)  # fmt: skip
COUNT, SIZE, BATCH, ROW = 50_000, (3, 32, 32), 256, 3072
DOUBLE, SINGLE = "scaled, then cast: double precision between", "cast, then scaled: float32"
LOADER = "Fuel DataLoader of ScaleAndShift(Cast)"
FACTOR, OFFSET = 1 / 255 / 0.25, -0.47 / 0.25
SCALE = (1 / 255 / numpy.array([0.247, 0.243, 0.262])).astype(numpy.float32)[:, None, None]
SHIFT = (-numpy.array([0.491, 0.482, 0.447]) / [0.247, 0.243, 0.262]).astype(numpy.float32)
SHIFT = SHIFT[:, None, None]
Pass = Callable[[], tuple[int, int]]


def prepare(work: Work) -> None:
    """Make the images."""
    count = 2560 if work.quick else COUNT
    rng = numpy.random.default_rng(SEED)
    work.given.x = rng.integers(0, 256, (count, *SIZE), dtype=numpy.uint8)


WORKLOAD.prepare = prepare
WORKLOAD.goals = [
    Goal("Fuel, Cast(ScaleAndShift)", "C loop through double", 0.85),
    Goal("Fuel, Cast(ScaleAndShift)", BEST_PEER, 2.5),
    Goal("Fuel, ScaleAndShift(Cast)", "C loop in float32", 0.8),
    Goal("Fuel, ScaleAndShift(Cast)", BEST_PEER, 3.5),
    Goal(LOADER, "NumPy, x[i].astype(float32) * a + b", 0.8),
    Goal(LOADER, "torch DataLoader", 5.0),
    Goal(LOADER, "torch DataLoader, whole batches", 5.0),
    Goal(LOADER, "Grain, examples then batch", 20.0),
    Goal(LOADER, "Grain, whole batches", 20.0),
]


def drain(batches: Iterable[Any]) -> tuple[int, int]:
    """Take all batches; count examples and bytes of float32."""
    count = 0
    for batch in batches:
        assert batch.dtype.itemsize == 4 and batch.shape[1:] == SIZE
        count += len(batch)
    return count, count * ROW * 4


def _double(work: Work, *flags: str) -> Pass:
    lib = compile_and_load("arrays", work.data, *flags)
    x, rng = work.given.x, numpy.random.default_rng(SEED)
    source = address(x)

    def epoch() -> Iterator[Any]:
        for index in index_batches(len(x), BATCH, rng):
            out = numpy.empty((len(index), *SIZE), numpy.float32)
            lib.normalise_double(
                source, address(index), len(index), ROW, FACTOR, OFFSET, address(out)
            )
            yield out

    return lambda: drain(epoch())


def _single(work: Work, *flags: str) -> Pass:
    lib = compile_and_load("arrays", work.data, *flags)
    x, rng = work.given.x, numpy.random.default_rng(SEED)
    source, scale, shift = address(x), address(SCALE), address(SHIFT)

    def epoch() -> Iterator[Any]:
        for index in index_batches(len(x), BATCH, rng):
            out = numpy.empty((len(index), *SIZE), numpy.float32)
            lib.normalise_float(
                source, address(index), len(index), 3, ROW // 3, scale, shift, address(out)
            )
            yield out

    return lambda: drain(epoch())


@WORKLOAD.contender("C loop through double", "limit", case=DOUBLE)
def c_double(work: Work) -> Pass:
    """Fresh output, the flags of the kernels."""
    return _double(work)


@WORKLOAD.contender("C loop through double, AVX2", "limit", case=DOUBLE)
def c_double_avx2(work: Work) -> Pass:
    """The same with wider registers."""
    return _double(work, "-mavx2")


@WORKLOAD.contender("C loop in float32", "limit", case=SINGLE)
def c_single(work: Work) -> Pass:
    """Fresh output, the flags of the kernels."""
    return _single(work)


@WORKLOAD.contender("C loop in float32, AVX2", "limit", case=SINGLE)
def c_single_avx2(work: Work) -> Pass:
    """The same with wider registers."""
    return _single(work, "-mavx2")


@WORKLOAD.contender("NumPy, (x[i] * a + b).astype(float32)", "hand", case=DOUBLE)
def numpy_double(work: Work) -> Pass:
    """The line that everybody writes."""
    x, rng = work.given.x, numpy.random.default_rng(SEED)
    return lambda: drain(
        (x[i] * FACTOR + OFFSET).astype(numpy.float32) for i in index_batches(len(x), BATCH, rng)
    )


@WORKLOAD.contender("NumPy, x[i].astype(float32) * a + b", "hand", case=SINGLE)
def numpy_single(work: Work) -> Pass:
    """The line of those who know about float32."""
    x, rng = work.given.x, numpy.random.default_rng(SEED)
    return lambda: drain(
        x[i].astype(numpy.float32) * SCALE + SHIFT for i in index_batches(len(x), BATCH, rng)
    )


@WORKLOAD.contender("NumPy, in place", "hand", case=SINGLE)
def numpy_in_place(work: Work) -> Pass:
    """All with ``out=``."""
    x, rng = work.given.x, numpy.random.default_rng(SEED)
    raw, out = (numpy.empty((BATCH, *SIZE), dtype) for dtype in (numpy.uint8, numpy.float32))

    def batch(i: Any) -> Any:
        numpy.take(x, i, axis=0, out=raw[: len(i)], mode="clip")
        numpy.multiply(raw[: len(i)], SCALE, out=out[: len(i)])
        return numpy.add(out[: len(i)], SHIFT, out=out[: len(i)])

    return lambda: drain(batch(i) for i in index_batches(len(x), BATCH, rng))


def _stream(work: Work) -> Any:
    from fuel.datasets import IndexableDataset
    from fuel.schemes import ShuffledScheme
    from fuel.streams import DataStream

    x = work.given.x
    dataset = IndexableDataset({"x": x})
    return DataStream(dataset, iteration_scheme=ShuffledScheme(len(x), BATCH))


@WORKLOAD.contender("Fuel, Cast(ScaleAndShift)", "fuel", case=DOUBLE)
def fuel_double(work: Work) -> Pass:
    """The chain that everybody writes."""
    from fuel.transformers import Cast, ScaleAndShift

    stream = Cast(ScaleAndShift(_stream(work), FACTOR, OFFSET), "float32")
    return lambda: drain(batch for (batch,) in stream.get_epoch_iterator())


@WORKLOAD.contender("Fuel, ScaleAndShift(Cast)", "fuel", case=SINGLE)
def fuel_single(work: Work) -> Pass:
    """Cast first."""
    from fuel.transformers import Cast, ScaleAndShift

    stream = ScaleAndShift(Cast(_stream(work), "float32"), FACTOR, OFFSET)
    return lambda: drain(batch for (batch,) in stream.get_epoch_iterator())


def _fuel_loader(work: Work, **options: Any) -> Pass:
    from fuel import DataLoader
    from fuel.datasets import IndexableDataset
    from fuel.schemes import ShuffledExampleScheme
    from fuel.streams import DataStream
    from fuel.transformers import Cast, ScaleAndShift

    x = work.given.x
    scheme = ShuffledExampleScheme(len(x))
    stream: Any = DataStream(IndexableDataset({"x": x}), iteration_scheme=scheme)
    stream = ScaleAndShift(Cast(stream, "float32"), SCALE, SHIFT)
    loader = DataLoader(stream, batch_size=BATCH, **options)
    return lambda: drain(batch for (batch,) in loader)


@WORKLOAD.contender(LOADER, "fuel", case=SINGLE)
def fuel_loader(work: Work) -> Pass:
    """Batches of what is done to examples, a scale and a shift for each channel."""
    return _fuel_loader(work)


@WORKLOAD.contender(f"{LOADER}, workers", "fuel", case=SINGLE)
def fuel_loader_workers(work: Work) -> Pass:
    """Processes, for what it is worth."""
    return _fuel_loader(work, num_workers=work.threads)


@WORKLOAD.contender("Fuel, Cast(ScaleAndShift), float32 per channel", "fuel", case=SINGLE)
def fuel_channels(work: Work) -> Pass:
    """A scale and a shift for each channel, in float32, as the peers have it."""
    from fuel.transformers import Cast, ScaleAndShift

    stream = Cast(ScaleAndShift(_stream(work), SCALE, SHIFT), "float32")
    return lambda: drain(batch for (batch,) in stream.get_epoch_iterator())


@WORKLOAD.contender(
    "torch x[i].float().mul_().add_()", "hand", case=SINGLE, lane="torch", needs=("torch",)
)
def torch_loop(work: Work) -> Pass:
    """What torch's users write by hand."""
    import torch

    x, a, b = (torch.from_numpy(array) for array in (work.given.x, SCALE, SHIFT))
    return lambda: drain(x[i].float().mul_(a).add_(b) for i in torch.randperm(len(x)).split(BATCH))


def _torch_loader(work: Work, whole: bool) -> Pass:
    import torch
    from torch.utils.data import DataLoader, Dataset

    x, a, b = (torch.from_numpy(array) for array in (work.given.x, SCALE, SHIFT))

    class Items(Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(x)

        def __getitem__(self, i: Any) -> Any:
            return x[i].float().mul_(a).add_(b)

    class Whole(Items):
        def __getitems__(self, i: list[int]) -> Any:
            return self[i]

    if whole:
        loader = DataLoader(Whole(), batch_size=BATCH, shuffle=True, collate_fn=lambda batch: batch)
    else:
        loader = DataLoader(Items(), batch_size=BATCH, shuffle=True)
    return lambda: drain(loader)


@WORKLOAD.contender("torch DataLoader", "peer", case=SINGLE, lane="torch", needs=("torch",))
def torch_items(work: Work) -> Pass:
    """Example by example."""
    return _torch_loader(work, whole=False)


@WORKLOAD.contender(
    "torch DataLoader, whole batches", "peer", case=SINGLE, lane="torch", needs=("torch",)
)
def torch_whole(work: Work) -> Pass:
    """A batch at once."""
    return _torch_loader(work, whole=True)


@WORKLOAD.contender(
    "Grain, examples then batch", "peer", case=SINGLE, lane="torch", needs=("grain",)
)
def grain_items(work: Work) -> Pass:
    """The usual way."""
    import grain

    x = work.given.x
    dataset = grain.MapDataset.range(len(x)).seed(SEED).shuffle()
    dataset = dataset.map(lambda i: x[i].astype(numpy.float32) * SCALE + SHIFT).batch(BATCH)
    return lambda: drain(dataset.to_iter_dataset())


@WORKLOAD.contender("Grain, whole batches", "peer", case=SINGLE, lane="torch", needs=("grain",))
def grain_whole(work: Work) -> Pass:
    """Batches of indices first."""
    import grain

    x = work.given.x
    dataset = grain.MapDataset.range(len(x)).seed(SEED).shuffle().batch(BATCH)
    dataset = dataset.map(lambda i: x[i].astype(numpy.float32) * SCALE + SHIFT)
    options = grain.ReadOptions(num_threads=work.threads, prefetch_buffer_size=4)
    return lambda: drain(dataset.to_iter_dataset(options))


@WORKLOAD.contender(
    "SPDL pipeline, whole batches", "peer", case=SINGLE, lane="torch", needs=("spdl",)
)
def spdl_pipeline(work: Work) -> Pass:
    """Threads that gather and normalise."""
    from spdl.pipeline import PipelineBuilder

    x, rng = work.given.x, numpy.random.default_rng(SEED)

    def run() -> tuple[int, int]:
        builder = PipelineBuilder().add_source(list(index_batches(len(x), BATCH, rng)))
        builder = builder.pipe(
            lambda i: x[i].astype(numpy.float32) * SCALE + SHIFT, concurrency=work.threads
        )
        pipeline = builder.add_sink(4).build(num_threads=work.threads)
        with pipeline.auto_stop():
            return drain(pipeline)

    return run


@WORKLOAD.contender(
    "tf.data, slices", "peer", case=SINGLE, lane="tensorflow", needs=("tensorflow",)
)
def tf_slices(work: Work) -> Pass:
    """The usual way."""
    import tensorflow as tf

    x, a, b = work.given.x, tf.constant(SCALE), tf.constant(SHIFT)
    dataset = tf.data.Dataset.from_tensor_slices(x).shuffle(len(x)).batch(BATCH)
    dataset = dataset.map(lambda t: tf.cast(t, tf.float32) * a + b, tf.data.AUTOTUNE)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    return lambda: drain(dataset.as_numpy_iterator())


@WORKLOAD.contender(
    "tf.data, whole batches", "peer", case=SINGLE, lane="tensorflow", needs=("tensorflow",)
)
def tf_gather(work: Work) -> Pass:
    """Batches of indices first."""
    import tensorflow as tf

    x, a, b = tf.constant(work.given.x), tf.constant(SCALE), tf.constant(SHIFT)
    dataset = tf.data.Dataset.range(len(x)).shuffle(len(x)).batch(BATCH)
    dataset = dataset.map(
        lambda i: tf.cast(tf.gather(x, i), tf.float32) * a + b, tf.data.AUTOTUNE
    ).prefetch(tf.data.AUTOTUNE)
    return lambda: drain(dataset.as_numpy_iterator())


@WORKLOAD.contender(
    "DALI on the CPU, external source", "peer", case=SINGLE, lane="dali", needs=("nvidia.dali",)
)
def dali(work: Work) -> Pass:
    """Batches gathered by NumPy, normalised by DALI."""
    from nvidia.dali import fn, pipeline_def, types

    x, rng = work.given.x, numpy.random.default_rng(SEED)
    left: list[Iterator[Any]] = [iter(())]

    def source() -> Any:
        index = next(left[0], None)
        if index is None:
            raise StopIteration
        return x[index]

    @pipeline_def(batch_size=BATCH, num_threads=work.threads, device_id=None)
    def graph() -> Any:
        batch = fn.external_source(source, batch=True, layout="CHW")
        return fn.cast(batch, dtype=types.FLOAT) * types.Constant(SCALE) + types.Constant(SHIFT)

    pipeline = graph()
    pipeline.build()

    def run() -> tuple[int, int]:
        left[0] = index_batches(len(x), BATCH, rng)
        pipeline.reset()
        count = 0
        while True:
            try:
                (out,) = pipeline.run()
            except StopIteration:
                return count, count * ROW * 4
            count += len(out)

    return run
