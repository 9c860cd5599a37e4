"""What a step does to the arrays of a source, in words that a kernel understands.

In this room: the operations that steps offer, so that a run of steps can be handed to one kernel
call. ``step._operations(source, dtype, shape)`` returns a tuple of them for a source of a type and
a shape of one example (each None where it is not known): an empty one for a source that the step
leaves alone, and None where the step cannot be put so. Not here:
how they are joined (`fuel.plan._fusion`), and the steps, whose own methods stay the meaning: an
operation that is not fused is not used.

Two kinds: *arithmetic* acts on every element alike, *geometry* says where elements come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "Add",
    "CastTo",
    "CropTo",
    "Decode",
    "Divide",
    "Flatten",
    "Flip",
    "Multiply",
    "Operation",
    "ToLayout",
]


@dataclass(frozen=True)
class Multiply:
    """``x * operand``.

    Parameters
    ----------
    operand : number or numpy.ndarray
        As the expression has it: a number of Python's does not decide the type of the result.

    """

    operand: Any


@dataclass(frozen=True)
class Add:
    """``x + operand``.

    Parameters
    ----------
    operand : number or numpy.ndarray
        As for `Multiply`.

    """

    operand: Any


@dataclass(frozen=True)
class Divide:
    """``x / operand``.

    Parameters
    ----------
    operand : number or numpy.ndarray
        As for `Multiply`.

    """

    operand: Any


@dataclass(frozen=True)
class CastTo:
    """``numpy.asarray(x, dtype)``.

    Parameters
    ----------
    dtype : str or numpy.dtype
        The type.

    """

    dtype: Any


@dataclass(frozen=True)
class Flatten:
    """A vector of every example."""


@dataclass(frozen=True)
class CropTo:
    """A window of every image.

    Parameters
    ----------
    window : tuple of int
        Height and width.
    place : callable
        Takes (context, heights, widths), the sizes as int64 vectors with an entry an image, and
        returns the offsets of the windows from the top and from the left, as int64 vectors. It
        raises what the step raises for an image that is too small.
    layout : {'CHW', 'HWC', 'HW'}
        The order of the axes of an image.

    """

    window: tuple[int, int]
    place: Callable[[Any, Any, Any], tuple[Any, Any]]
    layout: str


@dataclass(frozen=True)
class Decode:
    """Images of files, with their channels first.

    Parameters
    ----------
    color_mode : {'RGB', 'L'}
        What they are converted to.
    max_pixels : int or None
        The largest number of pixels of an image.
    name : str
        The source, for messages.

    """

    color_mode: str
    max_pixels: int | None
    name: str


@dataclass(frozen=True)
class Flip:
    """A mirror image of some images.

    Parameters
    ----------
    axis : {'height', 'width'}
        Which axis runs backwards.
    choose : callable
        Takes (context, size) and returns one bool an image.
    layout : {'CHW', 'HWC', 'HW'}
        The order of the axes of an image.

    """

    axis: str
    choose: Callable[[Any, int], Any]
    layout: str


@dataclass(frozen=True)
class ToLayout:
    """Another order of the axes of an image.

    Parameters
    ----------
    layout : {'CHW', 'HWC'}
        The order of channel, height and width that results.
    before : {'CHW', 'HWC'}
        The order that there is.

    """

    layout: str
    before: str


Operation: TypeAlias = (
    "Add | CastTo | CropTo | Decode | Divide | Flatten | Flip | Multiply | ToLayout"
)
