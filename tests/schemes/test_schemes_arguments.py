"""What a scheme cannot work with is refused when it is built."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from fuel.schemes import (
    BatchScheme,
    ConcatenatedScheme,
    ConstantScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
    cross_validation,
)

BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "batch_size True": (lambda: ConstantScheme(True), ValueError, r"`batch_size` .*got True; use"),
    "batch_size '3'": (lambda: ConstantScheme("3"), ValueError, r"`batch_size` .*got '3'; use"),
    "sequential True": (lambda: SequentialScheme(3, True), ValueError, r"`batch_size` .*got True"),
    "examples True": (lambda: SequentialScheme(True, 1), TypeError, r"`examples` .*got True"),
    "num_examples": (lambda: ConstantScheme(2, "7"), TypeError, r"`num_examples` .*got '7'; leave"),
    "num_examples bool": (lambda: ConstantScheme(2, True), TypeError, r"`num_examples` .*got True"),
    "times float": (lambda: ConstantScheme(2, times=1.5), TypeError, r"`times` .*got 1\.5; leave"),
    "times -1": (lambda: ConstantScheme(2, times=-1), ValueError, r"`times` .*got -1; leave"),
    "rng 3": (lambda: ShuffledScheme(4, 2, rng=3), TypeError, r"`rng` of Shuff.*got 3; .*RandomS"),
    "rng of examples": (lambda: ShuffledExampleScheme(4, rng="r"), TypeError, r"`rng` .*got 'r'"),
    "schemes 3": (lambda: ConcatenatedScheme(3), TypeError, r"`schemes` must be a list .*got 3"),
    "schemes [3]": (lambda: ConcatenatedScheme([3]), TypeError, r"`schemes` must hold .*got 3 amo"),
    "one scheme": (lambda: ConcatenatedScheme(SequentialScheme(3, 2)), TypeError, "in a list"),
    "schemes []": (lambda: ConcatenatedScheme([]), ValueError, "no scheme"),
    "folds 'a'": (lambda: next(cross_validation(SequentialScheme, 4, "a")), TypeError, "`num_fol"),
    "fold class": (lambda: next(cross_validation(3, 4, 2)), TypeError, "`scheme_class` must be"),
    "folds 0": (lambda: next(cross_validation(SequentialScheme, 4, 0)), ValueError, "`num_folds`"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_refused_when_the_scheme_is_built(case: str) -> None:
    build, error, message = BAD[case]
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize(
    "rng", [numpy.random.RandomState(1), numpy.random.default_rng(1), random.Random(1), random]
)
def test_whatever_shuffles_is_taken(rng: Any) -> None:
    scheme = ShuffledScheme(5, 2, rng=rng)
    assert scheme.rng is rng
    assert sorted(index for batch in scheme.get_request_iterator() for index in batch) == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_a_users_scheme_may_give_arguments_its_own_meaning() -> None:
    class Own(ShuffledScheme):
        def get_request_iterator(self) -> Any:
            return iter([[self.rng]])

    assert list(Own(4, 2, rng=3).get_request_iterator()) == [[3]]

    class Sized(BatchScheme):
        def get_request_iterator(self) -> Any:
            return iter([self.batch_size])

    assert list(Sized(4, True).get_request_iterator()) == [True]


def test_integers_of_numpy_are_integers() -> None:
    two = numpy.int64(2)
    assert list(ConstantScheme(two, num_examples=numpy.int32(3)).get_request_iterator()) == [2, 1]
    assert list(SequentialExampleScheme(two).get_request_iterator()) == [0, 1]
    assert len(list(PermutedScheme(two, two, seed=1).get_request_iterator())) == 1
