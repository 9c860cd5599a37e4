"""A subclass may say where windows are: it is asked, resumed, and one pass of it at a time."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from fuel.datasets import IndexableDataset
from fuel.exceptions import IteratorInvalidatedError
from fuel.plan._chain import elementwise
from fuel.schemes import ShuffledExampleScheme
from fuel.streams import DataStream
from fuel.testing import assert_resumes_everywhere
from fuel.transformers.sequences import NGrams, Window

WORDS = [[1, 2, 3, 4, 5, 6], [7], [8, 9, 10], [], [11, 12, 13, 14]]


def sentences(words: Any = WORDS) -> DataStream:
    scheme = ShuffledExampleScheme(len(words))
    return DataStream(IndexableDataset({"x": words}), iteration_scheme=scheme)


def one(words: Any) -> DataStream:
    return sentences([words])


class Same(Window):
    """It says what was so already."""

    def _set_index(self) -> None:
        super()._set_index()

    def _get_target_index(self) -> Any:
        return super()._get_target_index()

    def _get_end_index(self) -> Any:
        return super()._get_end_index()


class Mirrored(Window):
    """The target comes from the place that is as far from the end."""

    def _get_target_index(self) -> Any:
        return 5 - self.index


class Short(Window):
    """Some places at the end of each sequence stay out of reach."""

    def _get_end_index(self) -> Any:
        return super()._get_end_index() + 2


class FromSecond(Window):
    """The first example of a sequence is left out."""

    def _set_index(self) -> None:
        self.index = 1


class Strided(Window):
    """Every second place, counted over all sequences: it remembers more than the place."""

    asked = 0

    def _get_end_index(self) -> Any:
        self.asked += 1
        while self.index % 2:
            self.index += 1
        return super()._get_end_index()


class Bigrams(NGrams):
    def _get_end_index(self) -> Any:
        return super()._get_end_index() + 1


HOOKED = [Same, Mirrored, Short, FromSecond, Strided]


@pytest.mark.parametrize("windows", [(0, 2, 1, False), (-2, 1, 2, True), (1, 2, 2, True)])
def test_a_subclass_that_says_the_same_gives_the_same(windows: Any) -> None:
    plain, same = Window(*windows, sentences()), Same(*windows, sentences())
    for _ in range(2):
        assert list(same) == list(plain)


def test_each_method_changes_what_is_produced() -> None:
    line = [0, 1, 2, 3, 4, 5]
    assert list(Mirrored(0, 1, 1, True, one(line))) == [([i], [5 - i]) for i in line]
    assert list(Short(0, 1, 1, True, one(line))) == [([i], [i]) for i in line[:4]]
    assert list(FromSecond(0, 1, 1, True, one(line))) == [([i], [i]) for i in line[1:]]
    assert list(Strided(0, 1, 1, True, one(line))) == [([i], [i]) for i in line[::2]]
    assert list(Bigrams(2, one(line))) == [([0, 1], 2), ([1, 2], 3), ([2, 3], 4)]


def test_the_methods_answer_for_the_index() -> None:
    window = Window(-1, 2, 3, False, sentences())
    window._set_index()
    assert (window.index, window._get_target_index(), window._get_end_index()) == (0, 1, 4)
    window.index = 4
    assert (window._get_target_index(), window._get_end_index()) == (5, 8)
    back = Window(-3, 2, 1, True, sentences())
    back._set_index()
    assert (back.index, back._get_target_index(), back._get_end_index()) == (3, 0, 5)


def test_windows_start_where_a_target_of_ones_own_fits() -> None:
    class Before(Window):
        def _get_target_index(self) -> Any:
            return self.index - 2

    stream = Before(None, 1, 1, True, one([0, 1, 2, 3]))  # type: ignore[arg-type]
    assert list(stream) == [([2], [0]), ([3], [1])]


def test_an_offset_of_ones_own_may_be_anything() -> None:
    assert list(Mirrored(None, 1, 1, True, one([0, 1, 2, 3, 4, 5])))[0] == ([0], [5])


@pytest.mark.parametrize("cls", HOOKED)
def test_it_is_resumed_anywhere(cls: Any) -> None:
    assert_resumes_everywhere(lambda: cls(1, 1, 1, True, sentences()), epochs=2)


@pytest.mark.parametrize("cls", HOOKED)
def test_it_is_called_in_order_one_pass_at_a_time(cls: Any) -> None:
    stream = cls(1, 1, 1, True, sentences())
    assert not elementwise(stream)
    first = stream.get_epoch_iterator()
    next(first)
    second = stream.get_epoch_iterator()
    with pytest.raises(IteratorInvalidatedError, match=f"displaced: {cls.__name__} keeps"):
        next(first)
    assert list(second)


def test_plain_windows_stay_independent() -> None:
    stream = Window(1, 1, 1, True, one([0, 1, 2, 3]))
    first = stream.get_epoch_iterator()
    next(first)
    assert len(list(stream.get_epoch_iterator())) == 3
    assert len(list(first)) == 2


@pytest.mark.parametrize("cls", HOOKED)
def test_get_data_and_pickles_go_on(cls: Any) -> None:
    expected = list(cls(1, 1, 1, True, sentences()))
    stream = cls(1, 1, 1, True, sentences())
    stream.get_epoch_iterator()
    assert [stream.get_data(), stream.get_data()] == expected[:2]
    iterator = cls(1, 1, 1, True, sentences()).get_epoch_iterator()
    next(iterator)
    assert list(pickle.loads(pickle.dumps(iterator))) == expected[1:]


def test_an_error_of_such_a_method_loses_nothing() -> None:
    class Failing(Window):
        fails = True

        def _get_end_index(self) -> Any:
            if self.fails and self.index == 2:
                self.fails = False
                raise OSError("now and then")
            return super()._get_end_index()

    iterator = Failing(0, 1, 1, True, one([0, 1, 2, 3])).get_epoch_iterator()
    got = [next(iterator), next(iterator)]
    with pytest.raises(OSError, match="now and then"):
        next(iterator)
    assert [*got, *iterator] == [([i], [i]) for i in range(4)]
