"""Toy data sets: points drawn from formulas, for trying things out without any file."""

from __future__ import annotations

import numbers
from typing import Any

import numpy

from fuel.config_parser import config
from fuel.datasets._indexable import IndexableDataset

__all__ = ["Spiral", "SwissRoll"]


def _check(name: str, value: Any, least: int) -> None:
    if not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"`{name}` must be an integer from {least} on, got {value!r}")


class Spiral(IndexableDataset):
    r"""Points on the arms of a two-dimensional spiral.

    With :math:`p` drawn uniformly from [0, `cycles`) and the class :math:`c` from 0 to
    `classes` - 1, a point lies at radius :math:`(2 p + 1) / 3` and angle
    :math:`2 \pi (p + c / classes)`, measured from the second axis.

    Parameters
    ----------
    num_examples : int, optional
        The number of points.
    classes : int, optional
        The number of arms.
    cycles : float, optional
        How often each arm turns.
    noise : float, optional
        Standard deviation of normal noise that is added to the coordinates.
    seed : int, optional
        Seed of the draws; ``config.default_seed`` by default.
    **kwargs
        See `IndexableDataset`.

    Notes
    -----
    The sources are ``features`` (float32, shape (examples, 2)), ``position`` (float64, the draw
    :math:`p`) and ``label`` (int, the arm).

    Examples
    --------
    >>> from fuel.datasets.toy import Spiral
    >>> dataset = Spiral(num_examples=100, classes=3, seed=1)
    >>> features, position, label = dataset.get_data(request=slice(0, 5))
    >>> features.shape, label.shape
    ((5, 2), (5,))

    """

    def __init__(
        self,
        num_examples: int = 1000,
        classes: int = 1,
        cycles: float = 1.0,
        noise: float = 0.0,
        *,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        _check("num_examples", num_examples, 0)
        _check("classes", classes, 1)
        rng = numpy.random.RandomState(config.default_seed if seed is None else seed)
        self.classes, self.cycles, self.noise = classes, cycles, noise
        position = rng.uniform(0, cycles, size=num_examples)
        label = rng.randint(0, classes, size=num_examples)
        radius = (2 * position + 1) / 3.0
        angle = 2 * numpy.pi * position + 2 * numpy.pi * label / classes
        features = numpy.empty((num_examples, 2), dtype=numpy.float32)
        features[:, 0] = radius * numpy.sin(angle)
        features[:, 1] = radius * numpy.cos(angle)
        # Drawn even where it is multiplied by zero: the points of one seed differ by it alone.
        features += noise * rng.normal(size=features.shape)
        super().__init__({"features": features, "position": position, "label": label}, **kwargs)


class SwissRoll(IndexableDataset):
    r"""Points on a plane rolled up in three dimensions.

    With :math:`p` drawn uniformly from [0, 1) and :math:`z` from [-1, 1), a point lies at radius
    :math:`(1 + 2 p) / 3`, angle :math:`1.5 \pi (1 + 2 p)` and height :math:`z`.

    Parameters
    ----------
    num_examples : int, optional
        The number of points.
    noise : float, optional
        Standard deviation of normal noise that is added to the coordinates.
    seed : int, optional
        Seed of the draws; ``config.default_seed`` by default.
    **kwargs
        See `IndexableDataset`.

    Notes
    -----
    The sources are ``features`` (float32, shape (examples, 3)) and ``position`` (float32, shape
    (examples, 2)): the draws :math:`(p, z)`, which are the coordinates on the unrolled plane.

    Examples
    --------
    >>> from fuel.datasets.toy import SwissRoll
    >>> dataset = SwissRoll(num_examples=100, seed=1)
    >>> [data.shape for data in dataset.get_data(request=slice(0, 5))]
    [(5, 3), (5, 2)]

    """

    def __init__(
        self,
        num_examples: int = 1000,
        noise: float = 0.0,
        *,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        _check("num_examples", num_examples, 0)
        rng = numpy.random.RandomState(config.default_seed if seed is None else seed)
        self.noise = noise
        position = rng.uniform(0.0, 1.0, size=num_examples)
        height = rng.uniform(-1.0, 1.0, size=num_examples)
        radius = (1 + 2 * position) / 3.0
        angle = 1.5 * numpy.pi * (1 + 2 * position)
        features = numpy.empty((num_examples, 3), dtype=numpy.float32)
        features[:, 0] = radius * numpy.cos(angle)
        features[:, 1] = radius * numpy.sin(angle)
        features[:, 2] = height
        features += noise * rng.normal(size=features.shape)
        plane = numpy.stack([position, height], axis=1).astype(numpy.float32)
        super().__init__({"features": features, "position": plane}, **kwargs)
