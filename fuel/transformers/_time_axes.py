"""Where time, and where frequency, is in the sequences of a source.

In this room: `axis_of`, which reads the axis labels. Recordings are arrays with time first, unless
the labels or the user say otherwise. Not here: the axes of images
(`fuel.transformers._image_axes`).
"""

from __future__ import annotations

from typing import Any

from fuel.exceptions import AxisLabelsMismatchError
from fuel.transformers._checks import check_integer

__all__ = ["FREQUENCY", "TIME", "axis_of", "check_axis"]

#: Labels that mean the axis of time, and that of frequency; the first of each is ours.
TIME = ("time",)
FREQUENCY = ("frequency", "freq", "mel", "feature")


def check_axis(name: str, axis: Any) -> int | str | None:
    """Return an argument that names an axis.

    Parameters
    ----------
    name : str
        The transformer.
    axis : int, str or None
        What it was given.

    Returns
    -------
    int, str or None
        The same.

    Raises
    ------
    TypeError
        If it is something else.

    """
    return axis if axis is None or isinstance(axis, str) else check_integer(name, "axis", axis)


def axis_of(
    step: Any,
    source_name: str,
    ndim: int,
    axis: int | str | None,
    names: tuple[str, ...],
    default: int,
) -> int:
    """Return the number of an axis in the examples of a source.

    Parameters
    ----------
    step : Transformer
        The step that asks; the axis labels are those of the stream below it.
    source_name : str
        The source.
    ndim : int
        The number of axes of an example.
    axis : int, str or None
        What the user said: a number (of an example's axes, from the end if negative), a label, or
        nothing.
    names : tuple of str
        The labels to look for where the user said nothing.
    default : int
        The axis where there is none of them.

    Returns
    -------
    int
        From 0 to ``ndim - 1``.

    Raises
    ------
    AxisLabelsMismatchError
        If the user named a label that the source does not have.
    ValueError
        If an example has no such axis.

    """
    stream, title = step.data_stream, type(step).__name__
    all_labels = getattr(stream, "axis_labels", None)
    labels = tuple((all_labels or {}).get(source_name) or ())
    if labels and not stream.produces_examples:
        labels = labels[1:]
    if isinstance(axis, str):
        if axis not in labels:
            raise AxisLabelsMismatchError(
                f"{title} was given the axis {axis!r}, but the examples of source {source_name!r} "
                f"have the axis labels {labels}; give a number, or one of these"
            )
        axis = labels.index(axis)
    elif axis is None:
        known = [labels.index(name) for name in names if name in labels]
        axis = known[0] if known else default
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{title} needs axis {axis} of the examples of source {source_name!r}, but they have "
            f"{ndim} axes; say which by `axis`, or leave the source out of `which_sources`"
        )
    return axis % ndim
