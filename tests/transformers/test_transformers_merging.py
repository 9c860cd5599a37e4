"""Merge: several streams side by side, whatever their lengths."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset, IterableDataset
from fuel.exceptions import StateMismatchError
from fuel.schemes import SequentialExampleScheme, SequentialScheme, ShuffledExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping, Merge


def listed(*values: Any) -> DataStream:
    return DataStream(IterableDataset(list(values)))


def counting(count: int, start: int = 0) -> DataStream:
    data = IndexableDataset({"n": numpy.arange(start, start + count)})
    return DataStream(data, iteration_scheme=SequentialExampleScheme(count))


def values(stream: Any) -> list[Any]:
    return [tuple(None if part is None else int(part) for part in item) for item in stream]


def test_items_stand_side_by_side() -> None:
    two = DataStream(IterableDataset({"a": [1, 2], "b": [3, 4]}))
    stream = Merge((two, listed(5, 6)), ("x", "y", "z"))
    assert values(stream) == [(1, 3, 5), (2, 4, 6)]
    assert stream.sources == ("x", "y", "z")
    assert stream.produces_examples is True
    assert stream.axis_labels is None
    assert Merge((two,), ("x", "y"), {"x": ("t",)}).axis_labels == {"x": ("t",)}
    assert next(stream.get_epoch_iterator(as_dict=True)) == {"x": 1, "y": 3, "z": 5}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("shortest", [(0, 10), (1, 11)]),
        ("longest", [(0, 10), (1, 11), (2, None), (3, None), (4, None)]),
        ("cycle", [(0, 10), (1, 11), (2, 10), (3, 11), (4, 10)]),
    ],
)
def test_streams_of_unequal_lengths(policy: str, expected: Any) -> None:
    stream = Merge((counting(5), counting(2, 10)), ("a", "b"), on_unequal=policy)
    for _ in range(3):
        assert values(stream) == expected
    assert len(stream) == len(expected)
    turned = Merge((counting(2, 10), counting(5)), ("b", "a"), on_unequal=policy)
    assert values(turned) == [(b, a) for a, b in expected]


def test_the_shortest_ends_the_epoch_by_default() -> None:
    assert len(values(Merge((listed(1, 2, 3), listed(1)), ("a", "b")))) == 1


def test_later_streams_are_not_read_beyond_the_end_of_an_earlier_one() -> None:
    seen: list[int] = []
    noted = Mapping(counting(5), lambda data: seen.append(int(data[0])) or data, elementwise=True)
    assert len(values(Merge((counting(2), noted), ("a", "b")))) == 2
    assert seen == [0, 1]


def test_strict_says_which_stream_ended_where() -> None:
    stream = Merge((counting(3), counting(2), counting(3)), "abc", on_unequal="strict")
    iterator = stream.get_epoch_iterator()
    next(iterator), next(iterator)
    for _ in range(2):
        with pytest.raises(
            ValueError,
            match=r"stream 0 \(DataStream\) has more, stream 1 \(DataStream\) ended after 2 items",
        ):
            next(iterator)
    with pytest.raises(TypeError, match="not known"):
        len(stream)
    again = Merge((counting(3), counting(2), counting(3)), "abc", on_unequal="strict")
    again.load_state_dict(iterator.state_dict())
    with pytest.raises(ValueError, match="ended after 2 items"):
        next(again.get_epoch_iterator())
    equal = Merge((counting(3), counting(3)), ("a", "b"), on_unequal="strict")
    assert len(equal) == len(values(equal)) == 3


def test_a_stream_that_starts_again_is_shuffled_again() -> None:
    data = IndexableDataset({"n": numpy.arange(4)})
    short = DataStream(data, iteration_scheme=ShuffledExampleScheme(4))
    alone = DataStream(data, iteration_scheme=ShuffledExampleScheme(4))
    first, second, third = (values(alone) for _ in range(3))
    stream = Merge((counting(8), short), ("a", "b"), on_unequal="cycle")
    assert [(b,) for _, b in values(stream)] == first + second
    assert [(b,) for _, b in values(stream)][:4] == third


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    policy=st.sampled_from(["shortest", "longest", "cycle"]),
)
def test_its_length_is_exact(lengths: list[int], policy: str) -> None:
    streams = [counting(length) for length in lengths]
    stream = Merge(streams, [str(n) for n in range(len(lengths))], on_unequal=policy)
    wanted = min(lengths) if policy == "shortest" else max(lengths)
    assert len(stream) == len(values(stream)) == wanted


@pytest.mark.parametrize("policy", ["shortest", "longest", "strict"])
def test_empty_streams(policy: str) -> None:
    assert values(Merge((listed(), listed()), ("a", "b"), on_unequal=policy)) == []


def test_an_empty_stream_cannot_be_cycled() -> None:
    assert values(Merge((listed(), listed()), ("a", "b"), on_unequal="cycle")) == []
    stream = Merge((listed(1), listed()), ("a", "b"), on_unequal="cycle")
    with pytest.raises(ValueError, match=r"stream 1 \(DataStream\).*is empty"):
        next(iter(stream))


def test_batches_are_merged() -> None:
    data = IndexableDataset({"n": numpy.arange(5)})
    streams = [DataStream(data, iteration_scheme=SequentialScheme(5, size)) for size in (2, 3)]
    stream = Merge(streams, ("a", "b"))
    assert stream.produces_examples is False
    assert [tuple(part.tolist() for part in item) for item in stream] == [
        ([0, 1], [0, 1, 2]),
        ([2, 3], [3, 4]),
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Merge((), ()), "at least one stream"),
        (lambda: Merge((listed(1), listed(1)), ("a",)), r"2 sources \['data', 'data'\], got 1"),
        (lambda: Merge((listed(1),), ("a", "b")), "got 2"),
        (lambda: Merge((listed(1),), ("a",), on_unequal="zip"), "'shortest'.*got 'zip'"),
        (
            lambda: Merge(
                (
                    listed(1),
                    DataStream(
                        IndexableDataset({"n": numpy.arange(3)}),
                        iteration_scheme=SequentialScheme(3, 2),
                    ),
                ),
                ("a", "b"),
            ),
            r"DataStream \(examples\), DataStream \(batches\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_at_construction(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_policy_is_given_by_name_and_unknown_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError):
        Merge((listed(1),), ("a",), None, "cycle")  # type: ignore[misc]
    with pytest.raises(TypeError):
        Merge((listed(1),), ("a",), unknown=1)  # type: ignore[call-arg]


def test_requests_are_refused() -> None:
    stream = Merge((listed(1, 2),), ("a",))
    stream.get_epoch_iterator()
    with pytest.raises(ValueError, match="takes no requests"):
        stream.get_data(1)
    assert stream.get_data() == (1,)


def test_close_reset_and_next_epoch_reach_every_stream() -> None:
    class Noting(DataStream):
        def __init__(self, name: str) -> None:
            super().__init__(IterableDataset([1]))
            self.name = name

        def close(self) -> None:
            calls.append(("close", self.name))

        def reset(self) -> None:
            calls.append(("reset", self.name))

        def next_epoch(self) -> None:
            calls.append(("next_epoch", self.name))

    calls: list[Any] = []
    stream = Merge([Noting("a"), Noting("b")], ("a", "b"))
    for what in ("close", "reset", "next_epoch"):
        calls.clear()
        getattr(stream, what)()
        assert calls == [(what, "a"), (what, "b")]


def test_the_iterators_of_its_streams_can_be_read() -> None:
    stream = Merge((counting(4), counting(4, 10)), ("a", "b"))
    with pytest.raises(AttributeError, match="before an epoch was started"):
        stream.child_epoch_iterators
    iterator = stream.get_epoch_iterator()
    one, other = stream.child_epoch_iterators
    assert (int(next(one)[0]), int(next(other)[0])) == (0, 10)
    assert values([next(iterator)]) == [(1, 11)]


def test_iterators_assigned_the_old_way_are_read() -> None:
    class Mine(Merge):
        def get_epoch_iterator(self, **kwargs: Any) -> Any:
            self.child_epoch_iterators = [s.get_epoch_iterator() for s in self.data_streams]
            from fuel.iterator import DataIterator

            return DataIterator(self)

    stream = Mine((counting(3), counting(2, 10)), ("a", "b"))
    for _ in range(2):
        assert values(stream.get_epoch_iterator()) == [(0, 10), (1, 11)]


def test_an_old_style_subclass_pulls_from_its_streams() -> None:
    class Alternate(Merge):
        def get_data(self, request: Any = None) -> Any:
            one, other = self.child_epoch_iterators
            return (*next(one), *next(other), *next(other))[:2]

    stream = Alternate((counting(3), counting(4, 10)), ("a", "b"))
    for _ in range(2):
        assert values(stream) == [(0, 10), (1, 12)]
    iterator = stream.get_epoch_iterator()
    next(iterator)
    again = Alternate((counting(3), counting(4, 10)), ("a", "b"))
    again.load_state_dict(iterator.state_dict())
    assert values(again.get_epoch_iterator()) == [(1, 12)]


def test_after_an_error_the_streams_are_still_side_by_side() -> None:
    failing = {1}

    def check(data: Any) -> Any:
        if int(data[0]) in failing:
            failing.clear()
            raise RuntimeError("once")
        return data

    def make() -> Any:
        checked = Mapping(counting(3), check, elementwise=True)
        return Merge((counting(3), checked), ("a", "b"))

    stream = make()
    iterator = stream.get_epoch_iterator()
    next(iterator)
    with pytest.raises(RuntimeError, match="once"):
        next(iterator)
    again = make()
    again.load_state_dict(iterator.state_dict())
    assert values(again.get_epoch_iterator()) == [(1, 1), (2, 2)]


def test_the_seed_is_that_of_the_first_stream_unless_given() -> None:
    def draw(data: Any, rng: Any) -> Any:
        return (rng.random(),)

    def drawn(**kwargs: Any) -> Any:
        data = IterableDataset([1, 2])
        streams = (DataStream(data, seed=5), DataStream(data, seed=6))
        return list(Mapping(Merge(streams, ("a", "b"), **kwargs), draw))

    assert drawn() == drawn(seed=5)
    assert drawn() != drawn(seed=6)


def test_a_state_of_another_policy_is_refused() -> None:
    state = Merge((counting(2),), ("a",)).state_dict()
    with pytest.raises(StateMismatchError, match="on_unequal"):
        Merge((counting(2),), ("a",), on_unequal="cycle").load_state_dict(state)


def test_it_describes_itself() -> None:
    stream = Merge((counting(2), listed(1)), ("a", "b"), on_unequal="cycle")
    assert "Merge(DataStream" in repr(stream)
    assert "cycle" in repr(stream)
    assert "side by side" in stream.explain()
