"""Where the channels of an image are.

In this room: `layout_of`, which reads the axis labels of a source, and `ChannelsFirst`, the check
of the original transformers, which take images with the channels first alone. Images are arrays
of three axes (or two, without channels); with channels first unless the labels say otherwise, as
in all data sets of the original framework.
"""

from __future__ import annotations

from typing import Any

from fuel.exceptions import AxisLabelsMismatchError
from fuel.transformers._base import ExpectsAxisLabels

__all__ = ["ChannelsFirst", "layout_of"]

_LAYOUTS = {
    ("channel", "height", "width"): "CHW",
    ("height", "width", "channel"): "HWC",
    ("height", "width"): "HW",
}


def layout_of(stream: Any, source: str) -> str:
    """Return the layout of the images of a source.

    Parameters
    ----------
    stream : stream
        The stream whose items hold the images.
    source : str
        The source.

    Returns
    -------
    str
        ``"CHW"``, ``"HWC"`` or ``"HW"``; ``"CHW"`` where the stream says nothing.

    Raises
    ------
    AxisLabelsMismatchError
        If the labels name other axes.

    """
    labels = getattr(stream, "axis_labels", None)
    names = None if not labels else labels.get(source)
    if not names:
        return "CHW"
    axes = tuple(names)
    if not stream.produces_examples and axes[:1] == ("batch",):
        axes = axes[1:]
    found = _LAYOUTS.get(axes)
    if found is None:
        raise AxisLabelsMismatchError(
            f"source {source!r} has the axes {tuple(names)}, which are not those of images; use "
            "('batch', 'channel', 'height', 'width') or ('batch', 'height', 'width', 'channel'), "
            "without 'batch' for examples, or leave the source out of `which_sources`"
        )
    return found


class ChannelsFirst(ExpectsAxisLabels):
    """Mixin of transformers that take images of the shape ``(channel, height, width)`` alone."""

    data_stream: Any

    def _check_labels(self, batch: bool, source: str) -> None:
        """Check the axis labels of a source, once; unknown ones give a warning in the log."""
        expected: tuple[str, ...] = ("channel", "height", "width")
        labels = getattr(self.data_stream, "axis_labels", None) or {}
        self.verify_axis_labels(
            ("batch", *expected) if batch else expected, labels.get(source), source
        )
