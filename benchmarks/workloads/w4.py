"""Decode JPEG files, cut a random window of 224 by 224, mirror every second: batches of 32.

Files are in memory but for DALI, which reads its own; pixels are bytes, three of a pixel together
for all but Fuel, whose images have the channel first.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
from harness.registry import BEST_PEER, SEED, Goal, Work, Workload
from limits import address, compile_and_load

from workloads._images import jpeg_files

__all__ = ["WORKLOAD"]

WORKLOAD = Workload("W4", "JPEG of about 500x375 to a window of 224x224, batch 32", "images")
COUNT, BATCH, SIDE = 2000, 32, 224
Pass = Callable[[], tuple[int, int]]
One = Callable[[bytes, Any], Any]

C_NAME = "C, libjpeg-turbo decodes the window, threads"
OURS, PILLOW = "Fuel, our extension", "Fuel, Pillow alone"
LOADER, LOADER_PILLOW = (
    "Fuel DataLoader, our extension, workers",
    "Fuel DataLoader, Pillow, workers",
)
TORCH_SIMPLE, TORCH_PILLOW = (
    "torch DataLoader, simplejpeg, workers",
    "torch DataLoader, Pillow, workers",
)


def prepare(work: Work) -> None:
    """Read the files, made if need be."""
    paths = jpeg_files(work.data / "photographs", 64 if work.quick else COUNT)
    work.given.paths = [str(path) for path in paths]
    work.given.files = [path.read_bytes() for path in paths]


WORKLOAD.prepare = prepare
WORKLOAD.goals = [
    Goal(OURS, C_NAME, 0.95),
    Goal(OURS, BEST_PEER, 0.97),
    Goal(OURS, TORCH_SIMPLE, 1.5),
    Goal(PILLOW, TORCH_PILLOW, 1.0),
    Goal(LOADER, BEST_PEER, 1.0),
    Goal(LOADER, TORCH_SIMPLE, 1.5),
    Goal(LOADER_PILLOW, TORCH_PILLOW, 1.0),
]


def drain(batches: Iterable[Any]) -> tuple[int, int]:
    """Take all batches; count images and bytes."""
    count = 0
    for batch in batches:
        count += len(batch)
    return count, count * SIDE * SIDE * 3


def window(image: Any, rng: Any) -> Any:
    """Cut a window anywhere, and mirror it half of the time."""
    top = int(rng.integers(0, image.shape[0] - SIDE + 1))
    left = int(rng.integers(0, image.shape[1] - SIDE + 1))
    image = image[top : top + SIDE, left : left + SIDE]
    return image[:, ::-1] if rng.random() < 0.5 else image


def with_pillow(file: bytes, rng: Any) -> Any:
    """Decode all of it with Pillow."""
    from PIL import Image

    return window(numpy.asarray(Image.open(io.BytesIO(file)).convert("RGB")), rng)


def with_simplejpeg(file: bytes, rng: Any) -> Any:
    """Decode all of it with libjpeg-turbo, through simplejpeg."""
    import simplejpeg

    return window(simplejpeg.decode_jpeg(file), rng)


@WORKLOAD.contender(C_NAME, "limit")
def c_window(work: Work) -> Pass:
    """A pool of threads that fills a batch."""
    lib, files = compile_and_load("jpeg", work.data, "-ljpeg"), work.given.files
    rng = numpy.random.default_rng(SEED)
    pool = ThreadPoolExecutor(work.threads)
    arrays = [numpy.frombuffer(file, numpy.uint8) for file in files]

    def one(out: Any, file: Any, across: float, down: float, flip: bool) -> None:
        wrong = lib.window(address(file), file.size, across, down, SIDE, int(flip), address(out))
        if wrong:
            raise RuntimeError("libjpeg-turbo cannot decode a file")

    def epoch() -> Iterator[Any]:
        order = rng.permutation(len(arrays))
        for start in range(0, len(order), BATCH):
            part = [arrays[number] for number in order[start : start + BATCH]]
            out = numpy.empty((len(part), SIDE, SIDE, 3), numpy.uint8)
            places = rng.random((2, len(part))).tolist()
            list(pool.map(one, out, part, *places, rng.random(len(part)) < 0.5))
            yield out

    return lambda: drain(epoch())


def _by_hand(work: Work, decode: One) -> Pass:
    files, rng = work.given.files, numpy.random.default_rng(SEED)
    pool = ThreadPoolExecutor(work.threads)

    def epoch() -> Iterator[Any]:
        order = rng.permutation(len(files))
        for start in range(0, len(order), BATCH):
            part = [files[number] for number in order[start : start + BATCH]]
            yield numpy.stack(list(pool.map(decode, part, rng.spawn(len(part)))))

    return lambda: drain(epoch())


@WORKLOAD.contender("Pillow, threads", "hand")
def pillow_threads(work: Work) -> Pass:
    """What users write by hand."""
    return _by_hand(work, with_pillow)


@WORKLOAD.contender("simplejpeg, threads", "hand", lane="torch", needs=("simplejpeg",))
def simplejpeg_threads(work: Work) -> Pass:
    """The same with a better decoder."""
    return _by_hand(work, with_simplejpeg)


def _fuel(work: Work) -> Pass:
    from fuel.datasets import IndexableDataset
    from fuel.schemes import ShuffledScheme
    from fuel.streams import DataStream
    from fuel.transformers.image import (
        ImagesFromBytes,
        RandomFixedSizeCrop,
        RandomHorizontalFlip,
    )

    files = work.given.files
    dataset = IndexableDataset({"image": files})
    stream: Any = DataStream(dataset, iteration_scheme=ShuffledScheme(len(files), BATCH))
    stream = RandomFixedSizeCrop(ImagesFromBytes(stream), (SIDE, SIDE))
    stream = RandomHorizontalFlip(stream)

    def batches() -> Iterator[Any]:
        for (images,) in stream.get_epoch_iterator():
            assert images[0].shape == (3, SIDE, SIDE)
            yield images

    return lambda: drain(batches())


@WORKLOAD.contender(OURS, "fuel", environment={"FUEL_JPEG": "compiled"})
def fuel_compiled(work: Work) -> Pass:
    """ImagesFromBytes, RandomFixedSizeCrop and RandomHorizontalFlip."""
    return _fuel(work)


@WORKLOAD.contender(PILLOW, "fuel", environment={"FUEL_JPEG": "pillow"})
def fuel_pillow(work: Work) -> Pass:
    """The same chain where only Pillow is installed."""
    return _fuel(work)


def _fuel_loader(work: Work, **options: Any) -> Pass:
    from fuel import DataLoader
    from fuel.datasets import IndexableDataset
    from fuel.schemes import ShuffledExampleScheme
    from fuel.streams import DataStream
    from fuel.transformers.image import (
        ImagesFromBytes,
        RandomFixedSizeCrop,
        RandomHorizontalFlip,
    )

    files = work.given.files
    scheme = ShuffledExampleScheme(len(files))
    stream: Any = DataStream(IndexableDataset({"image": files}), iteration_scheme=scheme)
    stream = RandomHorizontalFlip(RandomFixedSizeCrop(ImagesFromBytes(stream), (SIDE, SIDE)))
    loader = DataLoader(stream, batch_size=BATCH, **options)

    def batches() -> Iterator[Any]:
        for (images,) in loader:
            assert images.shape[1:] == (3, SIDE, SIDE)
            yield images

    return lambda: drain(batches())


@WORKLOAD.contender(LOADER, "fuel", environment={"FUEL_JPEG": "compiled"})
def fuel_loader(work: Work) -> Pass:
    """The same chain in processes."""
    return _fuel_loader(work, num_workers=work.threads)


@WORKLOAD.contender(
    "Fuel DataLoader, our extension, threads", "fuel", environment={"FUEL_JPEG": "compiled"}
)
def fuel_loader_threads(work: Work) -> Pass:
    """The same chain in threads."""
    return _fuel_loader(work, parallel=work.threads)


@WORKLOAD.contender(LOADER_PILLOW, "fuel", environment={"FUEL_JPEG": "pillow"})
def fuel_loader_pillow(work: Work) -> Pass:
    """Processes where only Pillow is installed."""
    return _fuel_loader(work, num_workers=work.threads)


class Images:
    """A dataset for frameworks that take any object with a length and items."""

    def __init__(self, files: list[bytes], decode: One) -> None:
        self.files, self.decode, self.rng = files, decode, None

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, number: Any) -> Any:
        if self.rng is None:
            self.rng = numpy.random.default_rng()  # in each worker one of its own
        return numpy.ascontiguousarray(self.decode(self.files[number], self.rng))


def _torch(work: Work, decode: One) -> Pass:
    from torch.utils.data import DataLoader

    loader = DataLoader(
        Images(work.given.files, decode),  # type: ignore[arg-type]
        batch_size=BATCH,
        shuffle=True,
        num_workers=work.threads,
        persistent_workers=True,
    )
    return lambda: drain(loader)


@WORKLOAD.contender(TORCH_PILLOW, "peer", lane="torch", needs=("torch", "PIL"))
def torch_pillow(work: Work) -> Pass:
    """Worker processes."""
    return _torch(work, with_pillow)


@WORKLOAD.contender(TORCH_SIMPLE, "peer", lane="torch", needs=("torch", "simplejpeg"))
def torch_simplejpeg(work: Work) -> Pass:
    """Worker processes with a better decoder."""
    return _torch(work, with_simplejpeg)


@WORKLOAD.contender(
    "Grain, simplejpeg, threads", "peer", lane="torch", needs=("grain", "simplejpeg")
)
def grain_threads(work: Work) -> Pass:
    """Threads."""
    import grain

    dataset = grain.MapDataset.source(Images(work.given.files, with_simplejpeg))
    dataset = dataset.seed(SEED).shuffle().batch(BATCH)
    options = grain.ReadOptions(num_threads=work.threads, prefetch_buffer_size=4)
    return lambda: drain(dataset.to_iter_dataset(options))


@WORKLOAD.contender(
    "SPDL pipeline, simplejpeg, threads", "peer", lane="torch", needs=("spdl", "simplejpeg")
)
def spdl_threads(work: Work) -> Pass:
    """Threads."""
    from spdl.pipeline import PipelineBuilder

    files, rng = work.given.files, numpy.random.default_rng(SEED)

    def run() -> tuple[int, int]:
        order = rng.permutation(len(files))
        builder = PipelineBuilder().add_source([files[number] for number in order])
        builder = builder.pipe(lambda file: with_simplejpeg(file, rng), concurrency=work.threads)
        builder = builder.aggregate(BATCH).pipe(numpy.stack).add_sink(3)
        pipeline = builder.build(num_threads=work.threads + 1)
        with pipeline.auto_stop():
            return drain(pipeline)

    return run


@WORKLOAD.contender(
    "tf.data, decode_and_crop_jpeg", "peer", lane="tensorflow", needs=("tensorflow",)
)
def tf_data(work: Work) -> Pass:
    """Decodes the window only."""
    import tensorflow as tf

    def decode(file: Any) -> Any:
        shape = tf.image.extract_jpeg_shape(file)
        top = tf.random.uniform((), 0, shape[0] - SIDE + 1, tf.int32)
        left = tf.random.uniform((), 0, shape[1] - SIDE + 1, tf.int32)
        image = tf.image.decode_and_crop_jpeg(file, [top, left, SIDE, SIDE], channels=3)
        return tf.image.random_flip_left_right(image)

    options = tf.data.Options()
    options.threading.private_threadpool_size = work.threads
    dataset = tf.data.Dataset.from_tensor_slices(work.given.files).shuffle(COUNT)
    dataset = dataset.map(decode, num_parallel_calls=work.threads).batch(BATCH).prefetch(2)
    dataset = dataset.with_options(options)
    return lambda: drain(dataset.as_numpy_iterator())


@WORKLOAD.contender("DALI on the CPU, image_crop", "peer", lane="dali", needs=("nvidia.dali",))
def dali(work: Work) -> Pass:
    """Decodes the window only; reads the files itself."""
    from nvidia.dali import fn, pipeline_def, types

    paths = work.given.paths

    @pipeline_def(
        batch_size=BATCH, num_threads=work.threads, device_id=None, prefetch_queue_depth=2, seed=7
    )
    def graph() -> Any:
        files, _ = fn.readers.file(files=paths, random_shuffle=True, initial_fill=256)
        images = fn.decoders.image_crop(
            files,
            crop=(SIDE, SIDE),
            crop_pos_x=fn.random.uniform(range=(0.0, 1.0)),
            crop_pos_y=fn.random.uniform(range=(0.0, 1.0)),
            output_type=types.RGB,
        )
        return fn.flip(images, horizontal=fn.random.coin_flip())

    pipeline = graph()
    pipeline.build()
    return lambda: drain(pipeline.run()[0] for _ in range(len(paths) // BATCH))
