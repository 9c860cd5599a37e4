"""Every transformer for images, sequences, text and time series under the suite of streams."""

from __future__ import annotations

import io

import numpy
import pytest
from PIL import Image

from fuel.datasets import IndexableDataset
from fuel.schemes import ConstantScheme, PermutedExampleScheme, PermutedScheme
from fuel.streams import AbstractDataStream, DataStream
from fuel.testing import StreamContract
from fuel.transformers import Batch, Padding, image, sequences, text, timeseries
from fuel.transformers.image import (
    CenterCrop,
    ColorJitter,
    CutMix,
    ImagesFromBytes,
    MinimumImageDimensions,
    MixUp,
    Normalize,
    OneHot,
    Pad,
    Random2DRotation,
    RandomErasing,
    RandomFixedSizeCrop,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
    Transpose,
)
from fuel.transformers.sequences import BucketByLength, NGrams, Pack, Segments, Window
from fuel.transformers.text import Tokens, Vocabulary
from fuel.transformers.timeseries import (
    AddNoise,
    FrequencyMask,
    Resample,
    SlidingWindows,
    TimeMask,
)

X = ("x",)


def images(dtype="u1", scheme=None):
    pixels = (numpy.arange(7 * 3 * 6 * 5) * 11 % 256).reshape(7, 3, 6, 5)
    pixels = pixels.astype(dtype) if dtype == "u1" else (pixels / 255).astype(dtype)
    data = IndexableDataset(
        {"x": pixels, "targets": numpy.arange(7) % 3},
        axis_labels={"x": ("batch", "channel", "height", "width"), "targets": ("batch",)},
    )
    return DataStream(data, iteration_scheme=scheme or PermutedScheme(7, 3, seed=5), seed=4)


def single(dtype="u1"):
    return images(dtype, PermutedExampleScheme(7, seed=5))


def files():
    encoded = []
    for number in range(6):
        out = io.BytesIO()
        Image.new("RGB", (8 + number, 9), (number * 40, 100, 20)).save(out, "JPEG")
        encoded.append(out.getvalue())
    return DataStream(IndexableDataset({"x": encoded}), iteration_scheme=PermutedScheme(6, 4))


def ragged():
    rows = [numpy.arange(n % 4 + 1) + n for n in range(8)]
    return DataStream(
        IndexableDataset({"x": rows}), iteration_scheme=PermutedExampleScheme(8, seed=2), seed=3
    )


def recordings():
    rows = [numpy.sin(numpy.arange((5 + n) * 2.0)).reshape(5 + n, 2) for n in range(5)]
    return DataStream(
        IndexableDataset({"x": rows}), iteration_scheme=PermutedExampleScheme(5, seed=2), seed=3
    )


def lines():
    words = IndexableDataset({"x": ["a b", "b", "", "c a a", "b a"]})
    return DataStream(words, iteration_scheme=PermutedScheme(5, 2, seed=1))


MAKERS = {
    "CenterCrop": lambda: CenterCrop(images(), (4, 8), which_sources=X),
    "ColorJitter": lambda: ColorJitter(images(), 0.4, 0.4, 0.4, 0.1, which_sources=X),
    "ColorJitter examples": lambda: ColorJitter(single("f4"), 0.4, which_sources=X),
    "CutMix": lambda: CutMix(images(), num_classes=3),
    "ImagesFromBytes": lambda: ImagesFromBytes(files()),
    "ImagesFromBytes, windows": lambda: RandomFixedSizeCrop(ImagesFromBytes(files()), 6),
    "MinimumImageDimensions": lambda: MinimumImageDimensions(images(), (9, 7), which_sources=X),
    "MixUp": lambda: MixUp(images("f4"), num_classes=3),
    "Normalize": lambda: Normalize(images("f4"), (0, 0.5, 1), 2, which_sources=X),
    "OneHot": lambda: OneHot(images(), 3, which_sources=("targets",)),
    "Pad": lambda: Pad(images(), 1, which_sources=X),
    "Random2DRotation": lambda: Random2DRotation(single(), which_sources=X),
    "RandomErasing": lambda: RandomErasing(images(), 1.0, value="random", which_sources=X),
    "RandomFixedSizeCrop": lambda: RandomFixedSizeCrop(images(), (4, 4), which_sources=X),
    "RandomFixedSizeCrop examples": lambda: RandomFixedSizeCrop(single(), 4, which_sources=X),
    "RandomGrayscale": lambda: RandomGrayscale(images(), 0.5, which_sources=X),
    "RandomHorizontalFlip": lambda: RandomHorizontalFlip(images(), which_sources=X),
    "RandomResizedCrop": lambda: RandomResizedCrop(images(), 4, which_sources=X),
    "RandomVerticalFlip": lambda: RandomVerticalFlip(single(), which_sources=X),
    "Resize": lambda: Resize(images(), 4, which_sources=X),
    "Transpose": lambda: Transpose(images(), "HWC", which_sources=X),
    "a chain of images": lambda: Batch(
        RandomHorizontalFlip(
            RandomFixedSizeCrop(single("f4"), 4, which_sources=X), which_sources=X
        ),
        ConstantScheme(3),
    ),
    "BucketByLength": lambda: BucketByLength(ragged(), 2, [2, 3]),
    "BucketByLength, pool": lambda: BucketByLength(ragged(), 2, pool=2),
    "BucketByLength, tokens": lambda: BucketByLength(ragged(), max_tokens=6, pool=3),
    "NGrams": lambda: NGrams(2, ragged()),
    "NGrams of batches": lambda: NGrams(2, Batch(ragged(), ConstantScheme(3))),
    "Pack": lambda: Pack(ragged(), 5),
    "Pack, concatenated": lambda: Pack(ragged(), 3, how="concatenate"),
    "Segments": lambda: Segments(Padding(Batch(ragged(), ConstantScheme(3))), 2),
    "Window": lambda: Window(0, 2, 1, True, Batch(ragged(), ConstantScheme(3))),
    "Tokens": lambda: Tokens(lines(), Vocabulary(["<UNK>", "<S>", "</S>", "a", "b"]), "word"),
    "AddNoise": lambda: AddNoise(recordings(), 0.1),
    "FrequencyMask": lambda: FrequencyMask(recordings(), 1, axis=1),
    "Resample": lambda: Resample(recordings(), 2, 3),
    "SlidingWindows": lambda: SlidingWindows(recordings(), 3, 2),
    "SlidingWindows, padded": lambda: SlidingWindows(recordings(), 4, 3, "pad"),
    "TimeMask": lambda: TimeMask(recordings(), 2),
}


@pytest.fixture(params=list(MAKERS))
def name(request):
    return request.param


class TestEveryStream(StreamContract):
    @pytest.fixture(autouse=True)
    def _choose(self, name):
        self.make_stream = MAKERS[name]
        self.max_state_bytes = 2048
        # Each starting epoch is a run of its own; one is enough for steps without an epoch.
        self.start_epochs = (1,)


def test_every_public_transformer_is_under_the_suite():
    made = set()

    def visit(stream):
        made.add(type(stream))
        if getattr(stream, "data_stream", None) is not None:
            visit(stream.data_stream)

    for make in MAKERS.values():
        visit(make())
    public = {
        value
        for face in (image, sequences, text, timeseries)
        for value in (getattr(face, name) for name in face.__all__)
        if isinstance(value, type) and issubclass(value, AbstractDataStream)
    }
    assert public and public <= made
