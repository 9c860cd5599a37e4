"""Several passes at once: side by side, one inside another, pickled, copied."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy
import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import ConstantScheme, PermutedExampleScheme, SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cast, Mapping, Merge, MultiProcessing, Parallel
from fuel.workers import close_workers

ROWS = 30
KINDS = ("thread", "process")


@pytest.fixture(autouse=True, scope="module")
def no_workers_left() -> Any:
    yield
    close_workers()


def noisy(data: Any, rng: numpy.random.Generator) -> Any:
    return (data[0] + rng.integers(0, 1000),)


def examples(seed: int = 1) -> Any:
    dataset = IndexableDataset({"x": numpy.arange(ROWS) * 1000})
    scheme = PermutedExampleScheme(ROWS, seed=seed)
    return Mapping(DataStream(dataset, iteration_scheme=scheme), noisy)


def chain() -> Any:
    return Cast(Batch(examples(), ConstantScheme(4)), "float32")


def values(items: Any) -> list[Any]:
    return [numpy.asarray(item[0]).tolist() for item in items]


@pytest.mark.parametrize("kind", KINDS)
def test_iterators_side_by_side_do_not_disturb_each_other(kind: str) -> None:
    serial = chain()
    epochs = [values(serial) for _ in range(3)]
    parallel = Parallel(chain(), workers=2, kind=kind)
    iterators = [parallel.get_epoch_iterator() for _ in range(3)]
    found: list[list[Any]] = [[], [], []]
    for _ in range(len(epochs[0])):
        for number in (2, 0, 1):
            found[number] += values([next(iterators[number])])
    assert found == epochs
    parallel.close()


@pytest.mark.parametrize("outer", KINDS)
@pytest.mark.parametrize("inner", KINDS)
def test_one_inside_another_changes_nothing(outer: str, inner: str) -> None:
    nested = Parallel(
        Cast(Parallel(Batch(examples(), ConstantScheme(4)), workers=2, kind=inner), "float32"),
        workers=2,
        kind=outer,
    )
    assert values(nested) == values(chain())
    nested.close()


@pytest.mark.parametrize("kind", KINDS)
def test_over_several_streams_each_keeps_its_order(kind: str) -> None:
    def merged() -> Any:
        numbers = IndexableDataset({"n": numpy.arange(ROWS)})
        plain = DataStream(numbers, iteration_scheme=SequentialExampleScheme(ROWS))
        return Merge((examples(2), plain, examples(3)), ("a", "n", "b"))

    expected = [tuple(int(one) for one in item) for item in merged()]
    parallel = Parallel(merged(), workers=2, kind=kind)
    assert [tuple(int(one) for one in item) for item in parallel] == expected
    parallel.close()


def test_over_and_below_another_process() -> None:
    for stream in (
        Parallel(MultiProcessing(chain()), workers=1, kind="thread"),
        MultiProcessing(Parallel(chain(), workers=1, kind="thread")),
    ):
        assert values(stream) == values(chain())
        stream.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_goes_on_with_the_next_item_and_so_does_the_original(kind: str) -> None:
    expected = values(chain())
    for place in (0, 1, 5, len(expected)):
        parallel = Parallel(chain(), workers=2, kind=kind)
        iterator = parallel.get_epoch_iterator()
        assert values(next(iterator) for _ in range(place)) == expected[:place]
        copied = pickle.loads(pickle.dumps(iterator))
        assert values(copied) == expected[place:]
        assert values(iterator) == expected[place:]
        parallel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_deep_copy_is_another_stream(kind: str) -> None:
    serial = chain()
    first, second = values(serial), values(serial)
    parallel = Parallel(chain(), workers=2, kind=kind)
    assert values(parallel) == first
    twin = copy.deepcopy(parallel)
    assert values(twin) == second and values(parallel) == second
    parallel.close()
    twin.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_closed_can_be_iterated_over_again(kind: str) -> None:
    serial = chain()
    epochs = [values(serial) for _ in range(3)]
    parallel = Parallel(chain(), workers=2, kind=kind)
    for epoch in epochs:
        with parallel:
            assert values(parallel) == epoch
        parallel.close()
