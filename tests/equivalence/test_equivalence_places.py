"""Places that are found by counting are found as they were counted, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fuel import DataLoader
from fuel.datasets import Dataset
from fuel.exceptions import StateMismatchError
from fuel.schemes import ConstantScheme
from fuel.streams import DataStream
from fuel.transformers import Batch


class Counting(Dataset):
    """A dataset without numbered places, which remembers what it was asked."""

    provides_sources = ("x",)

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def get_data(self, state: Any = None, request: Any = None) -> Any:
        self.number += 1
        if self.number > 20:
            raise StopIteration
        return (self.number,)


def of_chain(size: int) -> Any:
    return Batch(DataStream(Counting()), ConstantScheme(size))


def of_loader(size: int) -> Any:
    return DataLoader(DataStream(Counting()), size)


@pytest.mark.parametrize("make", [of_chain, of_loader])
def test_a_place_that_only_counting_finds_is_refused_with_another_batch_size(make: Any) -> None:
    stream = make(4)
    iterator = iter(stream)
    next(iterator), next(iterator)
    state = json.loads(json.dumps(stream.state_dict()))
    same = make(4)
    same.load_state_dict(state)
    assert [item[0].tolist() for item in same][0] == [9, 10, 11, 12]
    other = make(3)
    with pytest.raises(StateMismatchError, match=r"\[4\], and here are \[3\]; resume with"):
        other.load_state_dict(state)
        next(iter(other))
