"""What one example of a container looks like: its shape and its type.

Containers in memory only; files describe themselves in ``_h5_layout``, ``_pytables``, ``text``.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy

from fuel.typing import Spec

__all__ = ["spec_of"]

#: So many items of a list are looked at: about a millisecond. Where there are more, all axes are
#: taken to vary, since a later item might.
_LOOK_AT = 10_000


def spec_of(container: Any) -> Spec:
    """Describe one example of a container.

    Parameters
    ----------
    container : object
        An array, a sequence, or anything else.

    Returns
    -------
    Spec
        ``Spec(None, None)`` where nothing can be told without consuming something.

    """
    shape, dtype = getattr(container, "shape", None), getattr(container, "dtype", None)
    if isinstance(shape, tuple) and isinstance(dtype, numpy.dtype) and shape:
        if dtype.kind != "O":
            return Spec(tuple(int(size) for size in shape[1:]), dtype)
        if isinstance(container, numpy.ndarray) and len(shape) == 1:
            return _common(map(_spec_of_item, container[:_LOOK_AT]), len(container) <= _LOOK_AT)
        return Spec(None, None)
    if isinstance(container, range):
        return Spec((), numpy.dtype(numpy.int64))
    if isinstance(container, list | tuple):
        return _common(map(_spec_of_item, container[:_LOOK_AT]), len(container) <= _LOOK_AT)
    return Spec(None, None)


def _spec_of_item(item: Any) -> Spec:
    if isinstance(item, numpy.ndarray | numpy.generic):
        return Spec(item.shape, None if item.dtype.kind == "O" else item.dtype)
    if isinstance(item, numbers.Number):
        dtype = numpy.asarray(item).dtype
        return Spec((), None if dtype.kind == "O" else dtype)
    if isinstance(item, list | tuple):
        inner = _common(map(_spec_of_item, item), True)
        return Spec(None if inner.shape is None else (len(item), *inner.shape), inner.dtype)
    return Spec(None, None)


def _common(specs: Iterable[Spec], complete: bool) -> Spec:
    """Return what holds for all of the specs; if they are not all, no axis is certain."""
    specs = list(specs)
    if not specs:
        return Spec(None, None)
    first = specs[0]
    dtype = first.dtype if all(spec.dtype == first.dtype for spec in specs) else None
    shapes = [spec.shape for spec in specs if spec.shape is not None]
    if len(shapes) < len(specs) or len({len(shape) for shape in shapes}) > 1:
        return Spec(None, dtype)
    axes = (set(sizes) for sizes in zip(*shapes, strict=True))
    return Spec(
        tuple(sizes.pop() if complete and len(sizes) == 1 else None for sizes in axes), dtype
    )
