"""Labels as vectors, and examples mixed with others: `OneHot`, `MixUp`, `CutMix`.

In this room: what needs to know which source holds the labels. Not here: rectangles that are
overwritten with a value (`fuel.transformers._erasing`).

How `MixUp` and `CutMix` draw: every example has a share of its own, drawn at its own address, so
that it is the same in every batch; it is mixed with the example behind it in the batch (the last
one with the first), so that whom it is mixed with is a matter of the batch.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.kernels.draws import integers, uniforms
from fuel.kernels.memory import empty
from fuel.plan import Context
from fuel.transformers._checks import check_integer, check_names, need_batches, sources_below
from fuel.transformers._colors import channel_axis
from fuel.transformers._labels import check_label_type, one_hot
from fuel.transformers._random import RandomTransformer
from fuel.transformers._ranges import check_number
from fuel.transformers._stacking import as_batch, is_ragged

__all__ = ["CutMix", "MixUp", "symmetric_beta"]

#: How many numbers of an array are added at once: few enough to stay in a processor's cache.
_CHUNK = 1 << 16


def symmetric_beta(bits: NDArray[numpy.uint64], alpha: float) -> NDArray[numpy.float64]:
    """Return draws from the beta distribution with two equal parameters.

    Parameters
    ----------
    bits : numpy.ndarray, shape (n, 2), dtype uint64
        Two draws of 64 bits for each.
    alpha : float
        Both parameters; positive.

    Returns
    -------
    numpy.ndarray, shape (n,), dtype float64
        Between 0 and 1, both included: with a small `alpha` most of the mass is so near to them
        that there is no number between.

    Notes
    -----
    Without rejection, so that every draw costs the same two numbers: if T has Student's
    distribution with 2 alpha degrees of freedom, ``1/2 + T / (2 sqrt(2 alpha + T^2))`` has the
    wanted one [1]_, and T is ``sqrt(2 alpha (U^(-1/alpha) - 1)) cos(2 pi V)`` for uniform U and
    V [2]_. The last digit is a matter of the platform's logarithm and cosine.

    References
    ----------
    .. [1] L. Devroye. "Random variate generation in one line of code". Winter Simulation
       Conference, 1996.
    .. [2] R. W. Bailey. "Polar generation of random variates with the t-distribution".
       Mathematics of Computation 62, 1994.

    """
    drawn = uniforms(bits)
    cosine = numpy.cos(2 * numpy.pi * drawn[:, 1])
    with numpy.errstate(over="ignore", divide="ignore"):
        # 1 - u lies in (0, 1], so that its logarithm is finite.
        square = numpy.expm1(-numpy.log1p(-drawn[:, 0]) / alpha) * cosine**2
        distance = 0.5 / numpy.sqrt(1 + 1 / square)
    found: NDArray[numpy.float64] = 0.5 + numpy.copysign(distance, cosine)
    return found


class _Mixing(RandomTransformer):
    """What `MixUp` and `CutMix` share: the share of each example, and the labels."""

    # Once more, for the methods below that change what comes out.
    elementwise = True

    def __init__(
        self,
        data_stream: Any,
        alpha: float = 1.0,
        labels: Any = "targets",
        num_classes: int | None = None,
        dtype: Any = "floatX",
        **kwargs: Any,
    ) -> None:
        name = type(self).__name__
        need_batches(name, data_stream)
        self.alpha = check_number(name, "alpha", alpha, 0.0)
        if self.alpha == 0.0:
            raise ValueError(
                f"`alpha` of {name} must be positive; leave the step out for no mixing"
            )
        labels = () if labels is None else (labels,) if isinstance(labels, str) else labels
        self.labels = tuple(check_names(name, "labels", labels))
        there = sources_below(name, data_stream)
        missing = [label for label in self.labels if label not in there]
        if missing:
            raise ValueError(
                f"{name} mixes the labels in {missing[0]!r}, but the stream below has the sources "
                f"{there}; name yours in `labels`, or give `labels=()` if there are none"
            )
        if num_classes is not None:
            num_classes = check_integer(name, "num_classes", num_classes)
            if num_classes < 1:
                raise ValueError(
                    f"`num_classes` of {name} must be at least 1, got {num_classes}; count the "
                    "classes"
                )
        self.num_classes = num_classes
        self.dtype = check_label_type(name, dtype)
        super().__init__(data_stream, **kwargs)
        if num_classes is not None and self.axis_labels and "axis_labels" not in kwargs:
            for label in self.labels:
                if self.axis_labels.get(label):
                    self.axis_labels[label] = (self.axis_labels[label][0], "class")

    def apply(self, data: Any, context: Context) -> Any:
        """Mix the examples of one batch, with the draws that belong to their addresses."""
        if self.data_stream.produces_examples:
            return super().apply(data, context)  # which says what is wrong
        sources = tuple(self.data_stream.sources)
        which = self.which_sources
        mixed = [
            place
            for place, source in enumerate(sources)
            if source not in self.labels and (which is None or source in which)
        ]
        result = list(data)
        arrays = [self._array(data[place], sources[place]) for place in mixed]
        size = len(data[0]) if data else 0
        bits = context.bits(self, self._draws, size)
        names = [sources[place] for place in mixed]
        shares, arrays = self._mix(arrays, names, symmetric_beta(bits[:, :2], self.alpha), bits)
        for place, array in zip(mixed, arrays, strict=True):
            result[place] = array
        for place, source in enumerate(sources):
            if source in self.labels:
                vectors = self._label_vectors(data[place], source, context)
                result[place] = _blend(vectors, shares)
        return tuple(result)

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Refuse: data and labels are mixed together."""
        raise NotImplementedError(
            f"{type(self).__name__} mixes all sources of a batch together; use `apply`, or iterate"
        )

    def _mix(
        self, arrays: list[Any], names: list[str], shares: Any, bits: NDArray[numpy.uint64]
    ) -> tuple[Any, list[Any]]:
        """Return the shares that labels are mixed with, and the mixed arrays."""
        raise NotImplementedError

    def _array(self, batch: Any, source_name: str) -> Any:
        array = as_batch(batch)
        if is_ragged(array):
            shapes = sorted({numpy.shape(example) for example in array})[:2]
            if len(shapes) == 1:  # an object array of what might have been an array
                return as_batch(list(array))
            raise ValueError(
                f"{type(self).__name__} needs examples of equal shapes, but source {source_name!r} "
                f"has {' and '.join(map(str, shapes))} in one batch; resize or crop them first"
            )
        return array

    def _label_vectors(self, batch: Any, source_name: str, context: Context) -> Any:
        """Return labels as floating-point numbers that can be mixed."""
        name, labels = type(self).__name__, self._array(batch, source_name)
        if labels.dtype.kind == "f":
            return labels
        if labels.dtype.kind not in "biu":
            raise TypeError(
                f"{name} needs labels that are numbers, but source {source_name!r} has the type "
                f"{labels.dtype}; name the source of the labels in `labels`"
            )
        if labels.ndim == 2 and labels.shape[1] > 1:
            if self.num_classes not in (None, labels.shape[1]):
                raise ValueError(
                    f"`num_classes` of {name} is {self.num_classes}, but the labels of source "
                    f"{source_name!r} are vectors of {labels.shape[1]}; leave `num_classes` out"
                )
            return labels.astype(self.dtype)
        if self.num_classes is None:
            raise ValueError(
                f"{name} cannot mix the class numbers of source {source_name!r} (type "
                f"{labels.dtype}, shape {labels.shape}); give `num_classes`, or put OneHot below"
            )
        return one_hot(name, labels, self.num_classes, self.dtype, source_name, context)

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"alpha": self.alpha, "labels": self.labels}
        if self.num_classes is not None:
            parameters["num_classes"] = self.num_classes
        return {**parameters, "dtype": str(self.dtype), **super()._parameters()}


def _blend(array: Any, shares: NDArray[numpy.float64]) -> Any:
    """Return ``share x + (1 - share) partner`` of an array of floating-point numbers."""
    if len(array) < 2:  # whose partner it is itself
        return array.copy()
    wide = (len(array),) + (1,) * (array.ndim - 1)
    dtype = array.dtype.newbyteorder("=")
    own = shares.astype(dtype).reshape(wide)
    others = (1 - shares).astype(dtype).reshape(wide)
    mixed = empty(array.shape, dtype)
    # A few rows at a time, so that what is added is still in the cache.
    rows = max(1, _CHUNK // max(1, mixed[:1].size))
    last = len(array) - 1
    for start in range(0, last, rows):
        stop = min(start + rows, last)
        numpy.multiply(array[start:stop], own[start:stop], out=mixed[start:stop])
        mixed[start:stop] += array[start + 1 : stop + 1] * others[start:stop]
    numpy.multiply(array[last:], own[last:], out=mixed[last:])
    mixed[last:] += array[:1] * others[last:]
    return mixed


class MixUp(_Mixing):
    """Blends every example of a batch, and its label, with another of the batch.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of batches.
    alpha : float, optional
        Parameter of the beta distribution that shares are drawn from: near 0, one of the two
        dominates; 1 (default): all shares alike; large: about half of each.
    labels : str or tuple of str, optional
        The sources that hold labels. Default ``'targets'``; ``()`` for none.
    num_classes : int, optional
        The number of classes, for labels that are class numbers; these become vectors.
    dtype : str or numpy.dtype, optional
        The type of labels that are given as integers. Default ``'floatX'``.
    **kwargs
        `which_sources` (what is blended besides the labels; default: all other sources), `seed`,
        `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    alpha : float
        As given.
    labels : tuple of str
        The sources that hold labels.
    num_classes : int or None
        As given.
    dtype : numpy.dtype
        The type of labels that are given as integers.

    Raises
    ------
    ValueError
        If the stream below produces examples; if `alpha` is not positive or a source of `labels`
        does not exist; while iterating, if examples differ in shape, class numbers come without
        `num_classes`, or one is out of range (its ordinal is named).
    TypeError
        While iterating, if data is not floating-point.

    Notes
    -----
    After H. Zhang, M. Cisse, Y. N. Dauphin, D. Lopez-Paz, "mixup: Beyond empirical risk
    minimization", ICLR 2018: ``x = s x_i + (1 - s) x_j``, and so the labels. Every example has a
    share s of its own, which depends on the seed, the epoch and its ordinal alone; j is the
    example behind i in the batch, for the last one the first. So another batch size changes only
    who is mixed with whom at the ends of batches. A batch of one stays as it is.

    Types are kept. Labels are mixed as they are if they are floating-point (vectors of
    probabilities, or numbers to regress on); integers of shape ``(n, classes)`` are cast, of
    shape ``(n,)`` or ``(n, 1)`` made into vectors.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> data = {'features': numpy.array([[0.], [1.]]), 'targets': numpy.array([0, 1])}
    >>> stream = DataStream(IndexableDataset(data), iteration_scheme=SequentialScheme(2, 2))
    >>> for features, targets in MixUp(stream, num_classes=2):
    ...     print(bool(numpy.allclose(features[:, 0], targets[:, 1])))
    True

    """

    _draws = 2

    def _mix(
        self, arrays: list[Any], names: list[str], shares: Any, bits: NDArray[numpy.uint64]
    ) -> tuple[Any, list[Any]]:
        for array, source_name in zip(arrays, names, strict=True):
            if array.dtype.kind not in "fc":
                raise TypeError(
                    f"MixUp needs floating-point data, but source {source_name!r} has the type "
                    f"{array.dtype}; put Cast below it, or name what to mix in `which_sources`"
                )
        return shares, [_blend(array, shares) for array in arrays]


class CutMix(_Mixing):
    """Pastes a rectangle of another image of the batch into every image, and mixes the labels.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of batches.
    alpha : float, optional
        Parameter of the beta distribution that shares are drawn from. Default 1.
    labels, num_classes, dtype, **kwargs
        As for `MixUp`; `which_sources` are the images (default: all sources but the labels).

    Attributes
    ----------
    alpha, labels, num_classes, dtype
        As for `MixUp`.

    Raises
    ------
    ValueError, TypeError
        As `MixUp`, for images of any type; and while iterating, if the images of several sources
        differ in height or width.

    Notes
    -----
    After S. Yun, D. Han, S. J. Oh, S. Chun, J. Choe, Y. Yoo, "CutMix: Regularization strategy to
    train strong classifiers with localizable features", ICCV 2019: the rectangle has
    ``sqrt(1 - s)`` of the image's height and width, its centre is any pixel, and what lies
    outside the image is cut off; the label's share is that of the pixels that are left of the
    image. Shares and partners are those of `MixUp`.

    All chosen sources get the same rectangle, so that masks stay with their images.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = numpy.zeros((2, 1, 8, 8))
    >>> images[1] = 1
    >>> data = {'features': images, 'targets': numpy.array([0, 1])}
    >>> stream = DataStream(IndexableDataset(data), iteration_scheme=SequentialScheme(2, 2))
    >>> for features, targets in CutMix(stream, num_classes=2):
    ...     print(bool(numpy.allclose(features.mean(axis=(1, 2, 3)), targets[:, 1])))
    True

    """

    _draws = 4

    def _mix(
        self, arrays: list[Any], names: list[str], shares: Any, bits: NDArray[numpy.uint64]
    ) -> tuple[Any, list[Any]]:
        views = []
        results = [array.copy() for array in arrays]
        for array, result, source_name in zip(arrays, results, names, strict=True):
            axis = channel_axis(self, source_name, array.ndim - 1)
            both = [array, result]
            views.append([one if axis != -1 else numpy.moveaxis(one, -1, 1) for one in both])
        sizes = {source.shape[-2:] for source, _ in views}
        if len(sizes) > 1:
            raise ValueError(
                f"CutMix needs images of one size in all sources, got {sorted(sizes)} (height, "
                f"width) in {names}; name those to mix in `which_sources`, or resize them"
            )
        height, width = sizes.pop() if sizes else (0, 0)
        if height * width == 0 or len(shares) < 2:
            return numpy.ones_like(shares), results
        tops, bottoms, lefts, rights = self._rectangles(shares, bits[:, 2:], height, width)
        partner = numpy.roll(numpy.arange(len(shares)), -1)
        for source, result in views:
            for index, other in enumerate(partner):
                rows = slice(tops[index], bottoms[index])
                columns = slice(lefts[index], rights[index])
                result[index][..., rows, columns] = source[other][..., rows, columns]
        pasted = (bottoms - tops) * (rights - lefts)
        return 1 - pasted / (height * width), results

    def _rectangles(
        self, shares: Any, bits: NDArray[numpy.uint64], height: int, width: int
    ) -> tuple[Any, Any, Any, Any]:
        """Return where the rectangles begin and end, from the top and from the left."""
        side = numpy.sqrt(1 - shares)
        found = []
        for column, extent in enumerate((height, width)):
            length = (extent * side).astype(numpy.int64)
            first = integers(bits[:, column], extent) - length // 2
            found += [numpy.clip(first, 0, extent), numpy.clip(first + length, 0, extent)]
        return found[0], found[1], found[2], found[3]
