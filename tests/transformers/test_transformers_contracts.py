"""Every transformer, alone and in chains, keeps the laws of streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.schemes import (
    ConstantScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)
from fuel.streams import DataStream
from fuel.testing import StreamContract, assert_resumes_everywhere
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
    Padding,
    Rename,
    ScaleAndShift,
    SortMapping,
    Unpack,
)
from fuel.transformers.defaults import ToBytes
from fuel.transformers.sequences import NGrams, Window


def images(count: int = 7, sources: tuple[str, ...] = ("x", "y")) -> IndexableDataset:
    data = {"x": numpy.arange(count * 4).reshape(count, 2, 2), "y": numpy.arange(count)[:, None]}
    return IndexableDataset(
        data,
        sources=sources,
        axis_labels={"x": ("batch", "height", "width"), "y": ("batch", "index")},
    )


def examples(count: int = 7) -> DataStream:
    return DataStream(images(count), iteration_scheme=ShuffledExampleScheme(count))


def batches(count: int = 7, size: int = 3) -> DataStream:
    return DataStream(images(count), iteration_scheme=ShuffledScheme(count, size))


def sentences() -> DataStream:
    data = [[1, 2, 3, 4], [5], [6, 7, 8], [], [9, 10, 11]]
    return DataStream(
        IndexableDataset({"words": data}), iteration_scheme=ShuffledExampleScheme(len(data))
    )


def arrays() -> DataStream:
    return DataStream(IterableDataset([numpy.arange(n) for n in (4, 1, 3)]))


def noise(data: Any, rng: numpy.random.Generator) -> Any:
    return (data[0] + rng.random(), *data[1:])


def noise_on_list(data: Any, rng: numpy.random.Generator) -> Any:
    return (numpy.asarray(data[0]) + rng.random(), data[1])


def doubled(data: Any) -> Any:
    return (data[0] * 2, data[1])


def summed(data: Any) -> Any:
    return {"z": data["x"].sum()}


def backwards(example: Any) -> Any:
    return -example[1][0]


def some(data: Any) -> Any:
    return data[1][0] % 3


def odd(data: Any) -> Any:
    return data[1].sum() % 2


def heavy(data: Any, rng: numpy.random.Generator) -> bool:
    return bool(rng.random() < 0.6)


CASES: dict[str, Callable[[], Any]] = {
    "Mapping": lambda: Mapping(batches(), doubled),
    "Mapping dict": lambda: Mapping(examples(), summed, add_sources=("z",), mapping_accepts=dict),
    "Mapping rng": lambda: Mapping(examples(), noise),
    "Mapping rng batches": lambda: Mapping(batches(), noise, seed=5),
    "SortMapping": lambda: Mapping(batches(), SortMapping(backwards)),
    "Flatten": lambda: Flatten(batches(), which_sources=("x",)),
    "ScaleAndShift": lambda: ScaleAndShift(examples(), 2, 1),
    "Cast": lambda: Cast(examples(), "floatX"),
    "ForceFloatX": lambda: ForceFloatX(Cast(batches(), "float32")),
    "ToBytes": lambda: ToBytes(batches()),
    "Filter examples": lambda: Filter(examples(), some),
    "Filter batches": lambda: Filter(batches(), odd),
    "Filter rng": lambda: Filter(examples(), heavy),
    "Batch": lambda: Batch(examples(), ConstantScheme(3)),
    "Batch drops": lambda: Batch(examples(), ConstantScheme(3), strictness=1),
    "Batch times": lambda: Batch(examples(), ConstantScheme(2, times=2)),
    "Batch ragged": lambda: Batch(sentences(), ConstantScheme(2)),
    "Unpack": lambda: Unpack(batches()),
    "Cache smaller": lambda: Cache(batches(), ConstantScheme(2)),
    "Cache larger": lambda: Cache(batches(), ConstantScheme(5)),
    "Padding": lambda: Padding(Batch(sentences(), ConstantScheme(2))),
    "Rename": lambda: Rename(examples(), {"x": "features"}),
    "FilterSources": lambda: FilterSources(examples(), ("y",)),
    "Window": lambda: Window(1, 2, 1, True, sentences()),
    "Window arrays": lambda: Window(-1, 1, 1, True, arrays()),
    "NGrams": lambda: NGrams(1, sentences()),
    **{
        f"Merge {policy}": lambda policy=policy: Merge(
            (examples(5), Cast(examples(3), "float32"), arrays()),
            ("a", "b", "c", "d", "e"),
            on_unequal=policy,
        )
        for policy in ("shortest", "longest", "cycle")
    },
    "Merge strict": lambda: Merge(
        (batches(), batches(7, 3)), ("a", "b", "c", "d"), on_unequal="strict"
    ),
    # chains
    "batch of noise, cut": lambda: Cache(
        Batch(Mapping(examples(), noise), ConstantScheme(4)), ConstantScheme(3)
    ),
    "unpacked twice": lambda: Unpack(Batch(Unpack(batches()), ConstantScheme(2))),
    "noisy grams": lambda: Mapping(
        Batch(Mapping(NGrams(1, sentences()), noise_on_list), ConstantScheme(2)), noise
    ),
    "filtered windows of unpacked": lambda: Filter(
        Window(
            0, 1, 1, False, Unpack(Cache(Batch(sentences(), ConstantScheme(2)), ConstantScheme(3)))
        ),
        heavy,
    ),
    "merged caches": lambda: Cache(
        Merge(
            (Cache(batches(), ConstantScheme(2)), Batch(Unpack(batches(5)), ConstantScheme(2))),
            ("a", "b", "c", "d"),
            on_unequal="cycle",
        ),
        ConstantScheme(3),
    ),
}

#: A stream that starts again takes the epoch that comes next, whichever iterator asks first.
SHARED_ORDER = {"Merge cycle", "merged caches"}


def _suite(name: str) -> type:
    """Return the suite of one case, for pytest to collect."""

    class Suite(StreamContract):
        new_process = False
        independent = name not in SHARED_ORDER
        # The key of a legacy generator takes up about 7000 bytes, and there are up to six.
        max_state_bytes = 42000

        def make_stream(self) -> Any:
            return CASES[name]()

    return Suite


for _name in CASES:
    globals()["Test" + "".join(word.capitalize() for word in _name.split())] = _suite(_name)


@pytest.mark.parametrize("name", ["batch of noise, cut", "merged caches", "noisy grams"])
def test_chains_go_on_in_a_new_process(name: str) -> None:
    assert_resumes_everywhere(CASES[name], start_epochs=(1,))
