"""`check_pipeline`: the laws of streams, checked on a pipeline as it is."""

from __future__ import annotations

import json
from typing import Any

from fuel.testing._child import _by_value
from fuel.testing._compare import assert_same_items, canonical

__all__ = ["check_pipeline"]


def _copies(stream: Any) -> Any:
    import pickle

    data = _by_value(stream)
    return lambda: pickle.loads(data)


def _take(iterator: Any, count: int) -> list[Any]:
    found = []
    for item in iterator:
        found.append(canonical(item))
        if len(found) == count:
            break
    return found


def check_pipeline(stream: Any, *, max_items: int = 32, places: int = 5) -> None:
    """Check a pipeline: determinism, independence, length, pickling and resuming.

    The stream itself is not touched: its copies are.

    Parameters
    ----------
    stream : AbstractDataStream
        The pipeline, before its first epoch.
    max_items : int, optional
        How far into an epoch to look. Default 32.
    places : int, optional
        At how many places to interrupt. Default 5.

    Raises
    ------
    AssertionError
        If a law does not hold; the message says which, and where.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import ShuffledScheme
    >>> from fuel.streams import DataStream
    >>> from fuel.testing import check_pipeline
    >>> dataset = IndexableDataset({'x': numpy.arange(10)})
    >>> check_pipeline(DataStream(dataset, iteration_scheme=ShuffledScheme(10, 3)))

    """
    copy = _copies(stream)
    one, other = copy(), copy()
    reference = _take(one.get_epoch_iterator(), max_items)
    assert_same_items(
        _take(other.get_epoch_iterator(), max_items), reference, "two copies of the pipeline"
    )
    complete = len(reference) < max_items
    if complete:
        try:
            length = len(other)
        except TypeError:
            length = len(reference)
        if length != len(reference):
            raise AssertionError(
                f"len(stream) is {length}, but an epoch has {len(reference)} items"
            )
    for item, sources in ((item, tuple(stream.sources)) for item in reference[:1]):
        if item[0] != "tuple" or len(item[1]) != len(sources):
            raise AssertionError(f"an item is not a tuple with one entry for each of {sources}")
    step = max(1, len(reference) // max(1, places))
    for place in range(0, len(reference) + 1, step):
        interrupted = copy()
        iterator = interrupted.get_epoch_iterator()
        _take_exactly(iterator, place)
        state = json.loads(json.dumps(iterator.state_dict()))
        resumed = copy()
        resumed.load_state_dict(state)
        rest = _take(resumed.get_epoch_iterator(), max_items - place) if place < max_items else []
        assert_same_items(rest, reference[place:], f"resumed after {place} items:")
        again, unpickled = _copies((interrupted, iterator))()
        rest = _take(unpickled, max_items - place) if place < max_items else []
        assert_same_items(rest, reference[place:], f"unpickled after {place} items:")
        for used in (interrupted, resumed, again):
            used.close()
    for used in (one, other):
        used.close()


def _take_exactly(iterator: Any, count: int) -> None:
    for _ in range(count):
        next(iterator)
