"""What transformers ask of the stream below them when they are built.

Here: whether it produces examples or batches, and its axis labels as a copy that may be changed.
Not here: the check of labels while data flows (`fuel.transformers._base.ExpectsAxisLabels`).
"""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["below", "labels_below", "need_batches", "need_examples"]


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
    if stream.produces_examples:
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
    if not stream.produces_examples:
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
