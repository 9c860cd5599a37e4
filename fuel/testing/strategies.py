"""Hypothesis strategies for datasets, requests and schemes.

They need the package ``hypothesis``, which the extra ``test`` installs.
"""

from __future__ import annotations

from typing import Any

import numpy
from hypothesis import strategies as st

from fuel.datasets import IndexableDataset
from fuel.schemes import (
    PermutedExampleScheme,
    PermutedScheme,
    SequentialExampleScheme,
    SequentialScheme,
    ShuffledExampleScheme,
    ShuffledScheme,
)

__all__ = ["arrays", "batch_schemes", "datasets", "dtypes", "example_schemes", "requests"]

#: Types of elements that every part of the package carries.
dtypes = st.sampled_from(
    ["bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", ">i4", ">f8"]
)


@st.composite
def arrays(draw: st.DrawFn, examples: int) -> Any:
    """Draw an array of a number of examples.

    Parameters
    ----------
    draw : callable
        Given by Hypothesis.
    examples : int
        Length of the first axis.

    Returns
    -------
    numpy.ndarray
        Of any of `dtypes`, with up to three more axes (possibly empty ones).

    """
    shape = (examples, *draw(st.lists(st.integers(0, 3), max_size=3)))
    seed = draw(st.integers(0, 2**32 - 1))
    values = numpy.random.RandomState(seed).randint(0, 100, size=shape)
    return values.astype(draw(dtypes))


@st.composite
def datasets(draw: st.DrawFn, min_examples: int = 1, max_examples: int = 12) -> Any:
    """Draw an `IndexableDataset` of one to three sources."""
    examples = draw(st.integers(min_examples, max_examples))
    names = draw(st.lists(st.sampled_from("abcxyz"), min_size=1, max_size=3, unique=True))
    return IndexableDataset({name: draw(arrays(examples)) for name in names})


def requests(examples: int) -> st.SearchStrategy[Any]:
    """Return a strategy of requests into a number of examples: indices, lists, slices, arrays."""
    index = st.integers(0, examples - 1)
    some = st.lists(index, min_size=1, max_size=2 * examples)
    bounds = st.tuples(index, index).map(sorted)
    return st.one_of(
        index,
        some,
        some.map(lambda indices: numpy.array(indices, dtype=numpy.int64)),
        bounds.map(lambda pair: slice(pair[0], pair[1] + 1)),
    )


def example_schemes(examples: int) -> st.SearchStrategy[Any]:
    """Return a strategy of schemes that request single examples."""
    seeds = st.integers(0, 2**32 - 1)
    return st.one_of(
        st.builds(SequentialExampleScheme, st.just(examples)),
        seeds.map(lambda seed: ShuffledExampleScheme(examples, rng=numpy.random.RandomState(seed))),
        seeds.map(lambda seed: PermutedExampleScheme(examples, seed=seed)),
    )


def batch_schemes(examples: int) -> st.SearchStrategy[Any]:
    """Return a strategy of schemes that request batches."""
    size = st.integers(1, examples + 1)
    seeds = st.integers(0, 2**32 - 1)
    return st.one_of(
        st.builds(SequentialScheme, st.just(examples), size),
        st.tuples(size, seeds).map(
            lambda pair: ShuffledScheme(examples, pair[0], rng=numpy.random.RandomState(pair[1]))
        ),
        st.tuples(size, seeds, st.booleans()).map(
            lambda three: PermutedScheme(examples, three[0], seed=three[1], partial=three[2])
        ),
    )
