"""What is done about examples that cannot be evaluated: the same whoever evaluates."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.exceptions import TooManyFailuresError
from fuel.schemes import ConstantScheme, PermutedExampleScheme, SequentialScheme, ShuffledScheme
from fuel.streams import DataStream
from fuel.transformers import Batch, Cast, Mapping, Parallel
from fuel.workers import Failure, FailurePolicy

ROWS = 40
KINDS = ("serial", "thread", "process")


class Picky:
    """Refuses some numbers; others get a draw."""

    def __init__(self, bad: Any) -> None:
        self.bad = frozenset(bad)

    def __call__(self, data: Any, rng: numpy.random.Generator) -> Any:
        if int(data[0]) in self.bad:
            raise ValueError(f"{data[0]} is bad")
        return (rng.integers(0, 10**6),)


def examples(bad: Any) -> Any:
    dataset = IndexableDataset({"x": numpy.arange(ROWS)})
    stream = DataStream(dataset, iteration_scheme=PermutedExampleScheme(ROWS, seed=3), seed=1)
    return _mapped(stream, bad)


def _mapped(stream: Any, bad: Any) -> Any:
    return Mapping(stream, Picky(bad), add_sources=("draw",))


def batches(bad: Any, size: int = 6) -> Any:
    return Cast(Batch(examples(bad), ConstantScheme(size)), "float64", which_sources=("x",))


def run(stream: Any, kind: str, on_error: Any, workers: int = 2) -> tuple[list[Any], Parallel]:
    parallel = Parallel(
        stream, workers=0 if kind == "serial" else workers, kind=kind, on_error=on_error
    )
    return [tuple(numpy.asarray(one).tolist() for one in item) for item in parallel], parallel


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(bad=st.sets(st.integers(0, ROWS - 1), max_size=12))
def test_skipped_examples_are_missing_and_batches_are_refilled(kind: str, bad: set[int]) -> None:
    whole, _ = run(examples(()), "serial", "raise")
    kept = [item for item in whole if item[0] not in bad]
    found, parallel = run(batches(bad), kind, "skip")
    assert [x for batch in found for x in batch[0]] == [x for x, _ in kept]
    assert [d for batch in found for d in batch[1]] == [d for _, d in kept]
    assert all(len(batch[0]) == 6 for batch in found[:-1])
    report = parallel.failures
    order = [x for x, _ in whole]
    assert report.count == len(bad)
    assert report.ordinals == sorted(order.index(x) for x in bad)
    assert {failure.example for failure in report.failures} == bad
    assert all(failure.action == "skip" for failure in report.failures)
    for failure in report.failures:
        assert str(failure.example) in str(report) and "is bad" in str(failure.error)


@settings(max_examples=15, deadline=None)
@given(bad=st.sets(st.integers(0, ROWS - 1), max_size=12), data=st.data())
def test_a_replacement_depends_on_the_place_alone_and_resumes(bad: set[int], data: Any) -> None:
    expected, _ = run(examples(bad), "serial", "replace")
    whole, _ = run(examples(()), "serial", "raise")
    assert len(expected) == ROWS
    for (x, draw), (y, other) in zip(expected, whole, strict=True):
        if y in bad:
            assert x not in bad
        else:
            assert (x, draw) == (y, other)
    kind = data.draw(st.sampled_from(KINDS[1:]))
    assert run(examples(bad), kind, "replace", data.draw(st.integers(1, 3)))[0] == expected
    parallel = Parallel(examples(bad), workers=2, kind=kind, on_error="replace")
    iterator = parallel.get_epoch_iterator()
    place = data.draw(st.integers(0, ROWS))
    for _ in range(place):
        next(iterator)
    state = json.loads(json.dumps(iterator.state_dict()))
    resumed = Parallel(examples(bad), workers=0, on_error="replace")
    resumed.load_state_dict(state)
    rest = [tuple(numpy.asarray(one).tolist() for one in item) for item in resumed]
    assert rest == expected[place:]
    parallel.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_skip_resumes_at_the_next_example(kind: str) -> None:
    bad = {3, 4, 17, 30}
    expected, _ = run(batches(bad), "serial", "skip")
    for place in range(len(expected) + 1):
        parallel = Parallel(
            batches(bad), workers=2, kind="thread" if kind == "serial" else kind, on_error="skip"
        )
        iterator = parallel.get_epoch_iterator()
        for _ in range(place):
            next(iterator)
        state = json.loads(json.dumps(iterator.state_dict()))
        parallel.close()
        resumed = Parallel(batches(bad, 4), workers=0, on_error="skip")
        resumed.load_state_dict(state)
        rest = [x for batch in resumed for x in batch[0].tolist()]
        assert rest == [x for batch in expected[place:] for x in batch[0]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_decides(kind: str) -> None:
    seen: list[Failure] = []

    def decide(failure: Failure) -> Any:
        seen.append(failure)
        number = failure.example
        if number == 5:
            return (numpy.int64(-5), numpy.int64(0))
        return "skip" if number == 6 else "replace"

    found, parallel = run(examples({5, 6, 7}), kind, decide)
    assert len(found) == ROWS - 1
    assert (-5, 0) in found
    assert [failure.action for failure in parallel.failures.failures] == [
        {5: "substitute", 6: "skip", 7: "replace"}[failure.example] for failure in seen
    ]
    assert all(isinstance(failure.error, ValueError) for failure in seen)


def test_a_function_that_answers_nonsense_raises_the_error_with_a_note() -> None:
    with pytest.raises(ValueError, match="is bad") as caught:
        run(examples({5}), "thread", lambda failure: 42)
    assert any(
        "returned 42" in note for note in getattr(caught.value, "__notes__", ["returned 42"])
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (FailurePolicy("skip", max_count=2), "`max_count` is 2"),
        (FailurePolicy("skip", max_fraction=0.05), "`max_fraction` is 0.05"),
        (FailurePolicy("skip", max_consecutive=1), "max_consecutive is 1"),
    ],
)
def test_bounds_end_the_run(kind: str, policy: FailurePolicy, message: str) -> None:
    order = [x for x, _ in run(examples(()), "serial", "raise")[0]]
    with pytest.raises(TooManyFailuresError, match=message) as caught:
        run(examples(order[10:13]), kind, policy)
    assert isinstance(caught.value.__cause__, ValueError)
    assert "ordinal" in str(caught.value)


def test_everything_failing_is_an_error_and_not_an_empty_epoch() -> None:
    dataset = IndexableDataset({"x": numpy.arange(500)})
    stream = DataStream(dataset, iteration_scheme=PermutedExampleScheme(500, seed=1))
    with pytest.raises(TooManyFailuresError, match="101 one after the other"):
        list(Parallel(_mapped(stream, range(500)), workers=2, kind="thread", on_error="skip"))


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_stream_of_batches_whole_batches_are_left_out(kind: str) -> None:
    dataset = IndexableDataset({"x": numpy.arange(12)})
    stream = DataStream(dataset, iteration_scheme=SequentialScheme(12, 4))

    def fails(batch: Any) -> Any:
        if 5 in batch[0]:
            raise ValueError("five")
        return batch

    mapped = Mapping(stream, fails, elementwise=True)
    found, parallel = run(mapped, kind, "skip")
    assert [batch[0] for batch in found] == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert parallel.failures.failures[0].example == [4, 5, 6, 7]
    with pytest.raises(ValueError, match="five") as caught:
        run(mapped, kind, "replace")
    assert "single examples" in " ".join(getattr(caught.value, "__notes__", ["single examples"]))


def test_failures_of_shuffled_batches_name_their_examples() -> None:
    dataset = IndexableDataset({"x": numpy.arange(12)})
    scheme = ShuffledScheme(12, 4, rng=numpy.random.RandomState(0))
    stream = DataStream(dataset, iteration_scheme=scheme)

    def fails(batch: Any) -> Any:
        if 5 in batch[0]:
            raise ValueError(f"{sorted(batch[0].tolist())}")
        return batch

    parallel = run(Mapping(stream, fails, elementwise=True), "process", "skip")[1]
    failure = parallel.failures.failures[0]
    assert str(sorted(failure.example)) == str(failure.error)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: FailurePolicy("ignore"),  # type: ignore[arg-type]
        lambda: FailurePolicy("skip", max_count=-1),
        lambda: FailurePolicy("skip", max_fraction=2.0),
        lambda: FailurePolicy("skip", max_consecutive=True),
        lambda: Parallel(examples(()), on_error="sometimes"),
        lambda: Parallel(examples(()), workers=-1),
        lambda: Parallel(examples(()), kind="gpu"),
        lambda: Parallel(examples(()), prefetch=0),
        lambda: Parallel(examples(()), restarts=1.5),  # type: ignore[arg-type]
        lambda: Parallel(examples(()), stall_timeout_s=0),
        lambda: Parallel(examples(()), start_method="teleport"),
        lambda: Parallel(examples(()), shared_memory_bytes=-4),
    ],
)
def test_wrong_arguments_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        wrong()
