"""What is no dataset, or no iteration scheme, is refused when the stream is built."""

from __future__ import annotations

import pytest

from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialScheme
from fuel.streams import DataStream


@pytest.mark.parametrize("bad", [None, 3, "data", [1, 2], {"x": [1]}])
def test_what_is_no_dataset_is_refused(bad):
    with pytest.raises(TypeError, match=r"DataStream needs a dataset, got .*IndexableDataset"):
        DataStream(bad)


@pytest.mark.parametrize("bad", [3, "data", [1, 2], SequentialScheme])
def test_what_is_no_scheme_is_refused(bad):
    with pytest.raises(TypeError, match=r"must have `get_request_iterator`, got .*fuel\.schemes"):
        DataStream(IndexableDataset([1, 2]), iteration_scheme=bad)
