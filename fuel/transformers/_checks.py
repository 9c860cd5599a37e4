"""What transformers ask of their arguments when they are built.

Here: whether the stream below is one, whether it produces examples or batches, its sources, and
its axis labels as a copy that may be changed; and the checks of names, numbers and types that
several transformers take. Not here: the check of labels while data flows
(`fuel.transformers._base.ExpectsAxisLabels`), and that of functions
(`fuel.transformers._functions`).
"""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Collection, Iterable
from typing import Any

import numpy

__all__ = [
    "below",
    "check_dtype",
    "check_integer",
    "check_names",
    "check_which",
    "kind_below",
    "labels_below",
    "need_batches",
    "need_examples",
    "need_stream",
    "selects",
    "sources_below",
]


def need_stream(name: str, stream: Any) -> None:
    """Refuse what is no stream.

    Parameters
    ----------
    name : str
        The transformer.
    stream : object
        What it was given. Anything with `get_epoch_iterator` is a stream, and so is what has
        `sources` and `produces_examples`, for items can be taken from it by other means.

    Raises
    ------
    TypeError
        If it is none.

    """
    if not isinstance(stream, type) and (
        hasattr(stream, "get_epoch_iterator")
        or (hasattr(stream, "sources") and hasattr(stream, "produces_examples"))
    ):
        return
    if isinstance(stream, type):
        hint = "pass an instance, not the class"
    elif hasattr(stream, "get_data") and hasattr(stream, "open"):
        hint = "wrap the dataset, as in DataStream(dataset, iteration_scheme=...)"
    else:
        hint = "pass a DataStream over a dataset, or another transformer"
    raise TypeError(f"{name} needs a stream, got {stream!r:.80}; {hint}")


def kind_below(name: str, stream: Any) -> Any:
    """Return whether a stream produces examples.

    Parameters
    ----------
    name : str
        The transformer.
    stream : stream
        The stream below it.

    Returns
    -------
    bool
        Its `produces_examples`.

    Raises
    ------
    TypeError
        If it is no stream, or has no `produces_examples`.

    """
    need_stream(name, stream)
    try:
        return stream.produces_examples
    except AttributeError as error:
        raise TypeError(
            f"{name} needs a stream with `produces_examples`, got a {below(stream)} without "
            f"({error}); set it to True for examples, False for batches"
        ) from error


def sources_below(name: str, stream: Any) -> tuple[Any, ...]:
    """Return the names of the sources of a stream.

    Parameters
    ----------
    name : str
        The transformer.
    stream : stream
        The stream below it.

    Returns
    -------
    tuple of str
        Its `sources`.

    Raises
    ------
    TypeError
        If it is no stream, or has no `sources`.

    """
    need_stream(name, stream)
    sources = getattr(stream, "sources", None)
    if not isinstance(sources, Iterable):
        raise TypeError(
            f"{name} needs a stream that names its `sources`, got a {below(stream)} with "
            f"{sources!r:.80}; set them to a tuple of names"
        )
    return tuple(sources)


def check_names(name: str, argument: str, names: Any) -> Any:
    """Return the names of sources in a form that can be asked more than once.

    Parameters
    ----------
    name : str
        The transformer.
    argument : str
        What the names were given as.
    names : iterable of str
        The names.

    Returns
    -------
    collection of str
        As given; a tuple of what a one-shot iterator yields.

    Raises
    ------
    TypeError
        If they are no collection of names.

    """
    if not isinstance(names, Iterable) or isinstance(names, (bytes, bytearray)):
        raise TypeError(
            f"`{argument}` of {name} must be a tuple of names of sources, got {names!r:.80}; "
            "write for example `('features',)`"
        )
    if not isinstance(names, Collection):
        names = tuple(names)
    for one in names:
        try:
            hash(one)
        except TypeError:
            raise TypeError(
                f"`{argument}` of {name} must hold names of sources, got {one!r:.80} among them; "
                "use strings"
            ) from None
    return names


def check_which(name: str, argument: str, names: Any, stream: Any = None) -> Any:
    """Return names that sources are looked up in.

    Parameters
    ----------
    name : str
        The transformer.
    argument : str
        What the names were given as.
    names : container of str, or str
        The names: in a string, those of all sources that it contains.
    stream : stream, optional
        If given, all names have to be sources of this stream, and a string is one name. The
        original's transformers do not ask: recipes name sources that may have been left out.

    Returns
    -------
    container of str
        As given; a tuple of what a one-shot iterator yields.

    Raises
    ------
    TypeError
        If nothing can be looked up in it.
    ValueError
        If a name is no source of the stream.

    """
    if stream is not None and (isinstance(names, str) or hasattr(names, "__iter__")):
        names = (names,) if isinstance(names, str) else check_names(name, argument, names)
        there = sources_below(name, stream)
        unknown = [one for one in names if one not in there]
        if unknown:
            raise ValueError(
                f"`{argument}` of {name} names {unknown[0]!r}, but the {below(stream)} below has "
                f"the sources {there}; correct the name"
            )
        return names
    if isinstance(names, str) or (
        hasattr(names, "__contains__") and not hasattr(names, "__iter__")
    ):
        return names
    return check_names(name, argument, names)


def check_integer(name: str, argument: str, value: Any) -> int:
    """Return a number as an int.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    value : int
        The number.

    Returns
    -------
    int
        The same.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If no size or index can be so large.

    """
    if isinstance(value, (bool, numpy.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"`{argument}` of {name} must be an integer, got {value!r:.80}")
    try:
        number = operator.index(value)
    except TypeError:  # an array of several
        raise TypeError(f"`{argument}` of {name} must be an integer, got {value!r:.80}") from None
    if abs(number) > sys.maxsize:
        raise ValueError(
            f"`{argument}` of {name} must be an integer of 64 bits, got one of "
            f"{number.bit_length()}; sizes and places are not that large"
        )
    return number


def check_dtype(name: str, argument: str, dtype: Any) -> None:
    """Refuse what is no data type.

    Parameters
    ----------
    name : str
        Whose argument it is.
    argument : str
        Its name.
    dtype : str or numpy.dtype
        What was given.

    Raises
    ------
    TypeError
        If NumPy knows no such type.

    """
    try:
        numpy.dtype(dtype)
    except (TypeError, ValueError, KeyError, SyntaxError) as error:
        raise TypeError(
            f"`{argument}` of {name} must be a data type, got {dtype!r:.80} ({error}); use a name "
            "that numpy.dtype knows, such as 'float32'"
        ) from error


def selects(step: Any, source: str) -> bool:
    """Tell whether a step transforms a source, and does not just let it pass.

    Parameters
    ----------
    step : SourcewiseTransformer
        The step.
    source : str
        A source of the stream below it.

    Returns
    -------
    bool
        True without `which_sources`, and for those in it.

    """
    return step.which_sources is None or source in step.which_sources


def below(stream: Any) -> str:
    """Return how messages call the stream below."""
    return type(stream).__name__


def need_batches(name: str, stream: Any) -> None:
    """Refuse a stream of examples.

    Parameters
    ----------
    name : str
        The transformer.
    stream : stream
        The stream below it.

    Raises
    ------
    ValueError
        If the stream produces examples.

    """
    if kind_below(name, stream):
        raise ValueError(
            f"{name} needs batches of {_names(stream)}, but the {below(stream)} below it produces "
            "examples; put Batch between them, or give the stream a batch scheme"
        )


def need_examples(name: str, stream: Any) -> None:
    """Refuse a stream of batches.

    Parameters
    ----------
    name : str
        The transformer.
    stream : stream
        The stream below it.

    Raises
    ------
    ValueError
        If the stream produces batches.

    """
    if not kind_below(name, stream):
        raise ValueError(
            f"{name} needs examples of {_names(stream)}, but the {below(stream)} below it produces "
            "batches; put Unpack between them, or give the stream an example scheme"
        )


def _names(stream: Any) -> str:
    return ", ".join(map(repr, getattr(stream, "sources", None) or ())) or "no sources"


def labels_below(stream: Any) -> Any:
    """Return the axis labels of a stream as a copy, None if it has none.

    Parameters
    ----------
    stream : stream
        The stream below.

    Returns
    -------
    dict or None
        Of the same type; changing it leaves the stream's alone.

    """
    labels = getattr(stream, "axis_labels", None)
    return None if labels is None else copy.copy(labels)
