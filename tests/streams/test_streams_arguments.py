"""What is no dataset, or no iteration scheme, is refused when the stream is built."""

from __future__ import annotations

import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import ConstantScheme, SequentialScheme
from fuel.streams import DataStream


@pytest.mark.parametrize("bad", [None, 3, "data", [1, 2], {"x": [1]}])
def test_what_is_no_dataset_is_refused(bad):
    with pytest.raises(TypeError, match=r"DataStream needs a dataset, got .*IndexableDataset"):
        DataStream(bad)


@pytest.mark.parametrize("bad", [3, "data", [1, 2], SequentialScheme])
def test_what_is_no_scheme_is_refused(bad):
    with pytest.raises(TypeError, match=r"must have `get_request_iterator`, got .*fuel\.schemes"):
        DataStream(IndexableDataset([1, 2]), iteration_scheme=bad)


def test_numbers_of_examples_are_not_taken_for_indices():
    with pytest.raises(ValueError, match=r"asks for numbers of examples; use for example Sequen"):
        DataStream(IndexableDataset([1, 2]), iteration_scheme=ConstantScheme(1))

    class Counted(IndexableDataset):
        def get_data(self, state=None, request=None):
            return ([7] * request,)

    stream = DataStream(Counted([1, 2]), iteration_scheme=ConstantScheme(2, times=1))
    assert list(stream) == [([7, 7],)]
