"""One batch out of several observations, and back: `batch`, `unbatch`, `batchseq`.

Not here: fetching a batch at once, which needs no stacking (``_access``); padding of a stream
(`fuel.transformers.Padding`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from fuel.kernels import memory
from fuel.observations._access import fetch, numobs
from fuel.observations._view import rebuild

__all__ = ["batch", "batchseq", "stack", "unbatch"]

_NUMBERS = "biufc"
_TIMES = "mM"


def batch(observations: Iterable[Any]) -> Any:
    """Stack observations along a new first axis.

    Parameters
    ----------
    observations : iterable
        Observations of one structure: arrays, numbers or lists of numbers; or tuples, named tuples
        or dicts of these, at any depth. At least one.

    Returns
    -------
    object
        In the structure of an observation. Arrays, and lists of numbers, of shape ``(...)`` become
        an array of shape ``(n, ...)``; numbers become a vector; anything else, such as texts, a
        list.

    Raises
    ------
    ValueError
        If there are none, or their structures or shapes differ. The message says where, which two
        observations, and how they differ.

    Notes
    -----
    The result shares nothing with the observations. Arrays of different types are stacked as the
    type that NumPy finds for them.

    Examples
    --------
    >>> from fuel.observations import batch
    >>> batch([[1, 2, 3], [4, 5, 6]])
    array([[1, 2, 3],
           [4, 5, 6]])
    >>> batch([{"a": [1, 2], "b": 3}, {"a": [5, 6], "b": 7}])
    {'a': array([[1, 2],
           [5, 6]]), 'b': array([3, 7])}

    """
    return stack(list(observations))


def unbatch(data: Any) -> list[Any]:
    """Return the observations of a batch, the reverse of `batch`.

    Parameters
    ----------
    data : container
        A batch: an array, whose first axis is the batch, a list, or a tuple, named tuple or dict
        of these.

    Returns
    -------
    list
        Its observations, in memory of their own.

    Raises
    ------
    ValueError
        If the parts have different lengths.
    TypeError
        If it is no container.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import unbatch
    >>> unbatch(numpy.array([[1, 2], [3, 4], [5, 6]]))
    [array([1, 2]), array([3, 4]), array([5, 6])]

    """
    return [fetch(data, place) for place in range(numobs(data))]


def batchseq(sequences: Iterable[Any], pad: Any = 0) -> list[Any]:
    """Turn several sequences into one, each entry of which is a batch.

    Parameters
    ----------
    sequences : iterable of sequences
        n sequences of any lengths: lists, or arrays of shape ``(length, ...)`` that agree in all
        but the length. At least one.
    pad : object, optional
        What is at the end of the shorter ones.

    Returns
    -------
    list
        As long as the longest sequence. Entry t is an array of shape ``(n, ...)`` with the entries
        t of all sequences; for sequences of anything but numbers, a list.

    Raises
    ------
    ValueError
        If there are no sequences, an entry of one has another shape, or `pad` would change in the
        sequences' type.

    Examples
    --------
    >>> from fuel.observations import batchseq
    >>> batchseq([[1, 2, 3], [4, 5]], 0)
    [array([1, 4]), array([2, 5]), array([3, 0])]
    >>> batchseq(["abc", "de"], "-")
    [['a', 'd'], ['b', 'e'], ['c', '-']]

    """
    given = list(sequences)
    if not given:
        raise ValueError("batchseq needs at least one sequence, got none")
    arrays = [_numeric(sequence, number) for number, sequence in enumerate(given)]
    if any(array is None for array in arrays):
        longest = max(map(len, given))
        return [
            [sequence[time] if time < len(sequence) else pad for sequence in given]
            for time in range(longest)
        ]
    # An empty list has neither a type nor a shape of its own.
    filled = {number: array for number, array in enumerate(arrays) if len(array)}
    if not filled:
        return []
    first, shape = next((number, array.shape[1:]) for number, array in filled.items())
    for number, array in filled.items():
        if array.shape[1:] != shape:
            raise ValueError(
                f"the entries of all sequences must have one shape, got {shape} in sequence "
                f"{first} and {array.shape[1:]} in sequence {number}; only the first axis is padded"
            )
    dtype = numpy.result_type(*[array.dtype for array in filled.values()])
    padded = numpy.empty((max(map(len, filled.values())), len(given), *shape), dtype)
    padded[...] = _padding(pad, dtype)
    for number, array in filled.items():
        padded[: len(array), number] = array
    return list(padded)


def stack(observations: Sequence[Any], numbers: Sequence[int] | None = None) -> Any:
    """Do what `batch` does, and call the observations by their numbers in messages.

    Parameters
    ----------
    observations : sequence
        Observations.
    numbers : sequence of int, optional
        What to call each. By default by their places.

    Returns
    -------
    object
        As `batch` returns.

    """
    if not observations:
        raise ValueError("a batch needs at least one observation, got none")
    return _stack(observations, range(len(observations)) if numbers is None else numbers, "")


def _stack(observations: Sequence[Any], numbers: Sequence[int], path: str) -> Any:
    first = observations[0]
    if isinstance(first, (tuple, Mapping)):
        keys = _keys(first)
        for other, number in zip(observations[1:], numbers[1:], strict=True):
            if isinstance(other, Mapping) != isinstance(first, Mapping) or (
                not isinstance(other, (tuple, Mapping)) or set(_keys(other)) != set(keys)
            ):
                raise ValueError(
                    f"observations must have one structure to be stacked{_at(path)}, got "
                    f"{_form(first)} in observation {numbers[0]} and {_form(other)} in observation "
                    f"{number}; use collate=False to keep them apart"
                )
        named = getattr(first, "_fields", None)
        steps = [f".{field}" for field in named] if named else [f"[{key!r}]" for key in keys]
        parts = [
            _stack([each[key] for each in observations], numbers, path + step)
            for key, step in zip(keys, steps, strict=True)
        ]
        return rebuild(first, parts)
    arrays = [_as_array(observation) for observation in observations]
    for observation, number in zip(observations, numbers, strict=True):
        if isinstance(observation, numpy.ma.MaskedArray) and numpy.ma.is_masked(observation):
            raise ValueError(
                f"observations to be stacked{_at(path)} must not have masked entries, which would "
                f"become values, got some in observation {number}; give the values and the mask as "
                "two containers, or fill them"
            )
    kinds = [array is None for array in arrays]
    if any(kinds):
        if not all(kinds):
            odd = kinds.index(not kinds[0])
            raise ValueError(_mixed(first, observations[odd], numbers[0], numbers[odd], path))
        return list(observations)
    shape = arrays[0].shape
    for array, number in zip(arrays, numbers, strict=True):
        if array.shape != shape:
            raise ValueError(
                f"observations must have one shape to be stacked{_at(path)}, got {shape} in "
                f"observation {numbers[0]} and {array.shape} in observation {number}; use "
                "`batchseq` or the transformer `Padding` to pad them, or collate=False to keep "
                "them apart"
            )
    dtype = numpy.result_type(*dict.fromkeys(array.dtype for array in arrays))
    out = memory.empty((len(arrays), *shape), dtype)
    numpy.stack(arrays, out=out)
    return out


def _keys(structure: Any) -> list[Any]:
    return list(structure) if isinstance(structure, Mapping) else list(range(len(structure)))


def _as_array(observation: Any) -> Any:
    """Return an observation as an array, None if it is to be an entry of a list."""
    if isinstance(observation, numpy.ndarray):
        return None if observation.dtype.hasobject else observation
    if isinstance(observation, (bool, int, float, complex, numpy.generic)):
        array = numpy.asarray(observation)
        return array if array.dtype.kind in _NUMBERS + _TIMES else None
    if isinstance(observation, list):
        try:
            array = numpy.asarray(observation)
        except ValueError:  # of unequal lengths inside
            return None
        return array if array.dtype.kind in _NUMBERS else None
    # Arrays of other libraries.
    if hasattr(observation, "__array__"):
        return _as_array(numpy.asarray(observation))
    return None


def _numeric(sequence: Any, number: int) -> Any:
    """Return a sequence as an array, None if it is one of other things than numbers."""
    if isinstance(sequence, (str, bytes)):
        return None
    if not hasattr(sequence, "__len__"):
        raise ValueError(
            f"batchseq needs sequences, got {sequence!r:.80} as number {number}; give lists or "
            "arrays"
        )
    if isinstance(sequence, numpy.ndarray):
        return sequence if sequence.dtype.kind in _NUMBERS else None
    if not len(sequence):
        return numpy.empty(0)
    try:
        array = numpy.asarray([*sequence])
    except ValueError:
        return None
    return array if array.dtype.kind in _NUMBERS else None


def _padding(pad: Any, dtype: numpy.dtype[Any]) -> Any:
    """Return what to pad with as a number of a type, which it has to fit."""
    given = numpy.asarray(pad)
    if given.ndim == 0 and given.dtype.kind in _NUMBERS:
        # Fractions are rounded as those of the sequences were; anything else is to stay the same.
        if dtype.kind == "c" or (dtype.kind == "f" and given.dtype.kind != "c"):
            return given.astype(dtype)
        with numpy.errstate(all="ignore"):
            if given.dtype.kind != "c" and given.astype(dtype) == given:
                return given.astype(dtype)
    raise ValueError(
        f"`pad` must be a number of the sequences' type, {dtype}, got {pad!r:.80}; cast the "
        "sequences"
    )


def _at(path: str) -> str:
    return f" at {path}" if path else ""


def _form(observation: Any) -> str:
    if isinstance(observation, Mapping):
        return f"a dict with the keys {list(observation)}"
    if isinstance(observation, tuple):
        return f"a tuple of {len(observation)}"
    return type(observation).__name__


def _mixed(first: Any, other: Any, one: int, two: int, path: str) -> str:
    return (
        f"observations must be of one kind to be stacked{_at(path)}, got {type(first).__name__} in "
        f"observation {one} and {type(other).__name__} in observation {two}; use collate=False to "
        "keep them apart"
    )
