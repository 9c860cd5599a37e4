"""Images mirrored and turned, and their axes exchanged.

`RandomHorizontalFlip`, `RandomVerticalFlip`, `Random2DRotation`, `Transpose`. Which images are
mirrored is decided by one small method for a whole batch at once. Not here: windows cut out of
images (`fuel.transformers._cropping`), other sizes (`fuel.transformers._resizing`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import AxisLabelsMismatchError
from fuel.kernels import crop, draws, threads
from fuel.plan import _operations as operations
from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import (
    check_integer,
    check_which,
    kind_below,
    labels_below,
    selects,
    sources_below,
)
from fuel.transformers._image_axes import ChannelsFirst, layout_of
from fuel.transformers._images import image_of, is_dense, map_images, moved, owned, spatial
from fuel.transformers._pillow import ROTATIONS, check_filter, rotate
from fuel.transformers._random import RandomTransformer
from fuel.transformers._sequential import DrawsInOrder

__all__ = ["Random2DRotation", "RandomHorizontalFlip", "RandomVerticalFlip", "Transpose"]


#: Bytes of an image from which on a kernel is quicker than NumPy (between 12 and 40 thousand,
#: measured with uint8 images).
_WORTH_A_CALL = 1 << 14


class _RandomFlip(RandomTransformer):
    """Mirrors some images along one axis.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    p : float, optional
        The probability.
    **kwargs
        As for `RandomTransformer`.

    """

    #: Which axis runs backwards: ``"width"`` or ``"height"``.
    _axis = "width"

    def __init__(self, data_stream: Any, p: float = 0.5, **kwargs: Any) -> None:
        number = isinstance(p, (int, float, numpy.integer, numpy.floating))
        if not number or isinstance(p, bool) or not 0 <= p <= 1:
            raise ValueError(
                f"`p` of {type(self).__name__} must be a probability from 0 to 1, got {p!r:.80}; "
                "use 0.5 to mirror every second image"
            )
        self.p = float(p)
        super().__init__(data_stream, **kwargs)

    def _chosen(self, bits: NDArray[numpy.uint64]) -> NDArray[numpy.bool_]:
        """Return which images are mirrored; `bits` has the shape ``(n, 1)``."""
        chosen: NDArray[numpy.bool_] = draws.uniforms(bits[:, 0]) < self.p
        return chosen

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()

        def choose(context: Any, size: int) -> NDArray[numpy.bool_]:
            return self._chosen(context.bits(self, self._draws, size))

        return (operations.Flip(self._axis, choose, layout_of(self.data_stream, source)),)

    def _mirrored(self, image: Any, layout: str) -> Any:
        # For a small image the call of the kernel costs more than it saves.
        if image.nbytes < _WORTH_A_CALL:
            return owned(numpy.flip(image, _axis_number(self._axis, layout)))
        return moved(image, layout, **{f"flip_{self._axis}": True})

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        layout = layout_of(self.data_stream, source_name)
        image, layout = image_of(type(self).__name__, example, layout, source_name)
        return self._mirrored(image, layout) if self._chosen(bits[None])[0] else image

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        layout = layout_of(self.data_stream, source_name)
        name = type(self).__name__
        chosen = self._chosen(bits)
        if is_dense(batch):
            layout = "HW" if batch.ndim == 3 else layout
            image_of(name, numpy.empty(batch.shape[1:], "u1"), layout, source_name)
            nowhere = numpy.zeros(len(batch), dtype=numpy.int64)
            window = spatial(batch.shape, layout)
            options: Any = {f"flip_{self._axis}": chosen, "threads": threads.limit()}
            images = numpy.asarray(batch)  # of a subclass, as a single image is
            return crop.crop(images, None, nowhere, nowhere, window, layout=layout, **options)

        def each(image: Any, index: int) -> Any:
            image, axes = image_of(name, image, layout, source_name)
            return self._mirrored(image, axes) if chosen[index] else image

        return map_images(batch, each)

    def _parameters(self) -> dict[str, Any]:
        return {"p": self.p, **super()._parameters()}


def _axis_number(axis: str, layout: str) -> int:
    """Return which axis is the height or the width, counted from the end."""
    return {"height": -2, "width": -1}[axis] - (layout == "HWC")


class RandomHorizontalFlip(_RandomFlip):
    """Mirrors images left to right, each with a probability.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    p : float, optional
        The probability. Default 0.5.
    **kwargs
        `which_sources` (default: all), `seed` (default: the stream's), `name`, `axis_labels`
        (default: kept).

    Attributes
    ----------
    p : float
        As given.

    Raises
    ------
    ValueError
        If `p` is no probability; while items are produced, if a chosen source holds no images.

    Notes
    -----
    Whether an image is mirrored depends on the seed, the name of the step, the epoch and the
    ordinal of the example alone; chosen sources of an example are mirrored together. Channels
    first or last by the axis labels; also images without channels, and pixels of any type. An array
    of images stays an array, a list a list, an object array an object array.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialExampleScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset({'x': numpy.arange(3).reshape(1, 1, 1, 3)})
    >>> stream = DataStream(images, iteration_scheme=SequentialExampleScheme(1))
    >>> [x.tolist() for x, in RandomHorizontalFlip(stream, p=1)]
    [[[[2, 1, 0]]]]

    """

    _axis = "width"


class RandomVerticalFlip(_RandomFlip):
    """Mirrors images upside down, each with a probability.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    p : float, optional
        The probability. Default 0.5.
    **kwargs
        As for `RandomHorizontalFlip`, which is like it in all else.

    Attributes
    ----------
    p : float
        As given.

    Raises
    ------
    ValueError
        If `p` is no probability; while items are produced, if a chosen source holds no images.

    """

    _axis = "height"


class Random2DRotation(DrawsInOrder, ChannelsFirst):
    """Turns each image around its centre by an angle that is drawn.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below; of images of the shape ``(channel, height, width)``.
    maximum_rotation : float, optional
        The largest angle in either direction, in radians. Default pi.
    resample : {'nearest', 'bilinear', 'bicubic'}, optional
        The filter. Default ``'nearest'``.
    rng : numpy.random.RandomState, optional
        A generator to draw from in order. Default: every example has its own draws.
    **kwargs
        `which_sources` (default: all), `seed` (default: the stream's), `name`, `axis_labels`
        (default: kept).

    Attributes
    ----------
    maximum_rotation, resample, rng
        As given.

    Raises
    ------
    ValueError
        If `maximum_rotation` is not above 0 and at most pi, or there is no filter of that name; if
        `rng` and `seed` are both given; while items are produced, if a batch holds anything else
        than images of three axes.
    TypeError
        If `rng` is no generator; while items are produced, if a filter other than ``'nearest'``
        meets pixels that are no numbers.
    AxisLabelsMismatchError
        While items are produced, if the labels name other axes. Without labels the images are
        taken to have their channels first, with a warning in the log.

    Notes
    -----
    Images keep their size and type; where there is nothing to turn in, pixels are zero. The pixels
    are those of Pillow's ``Image.rotate``. An array of images stays an array, a list a list, an
    object array an object array.

    Without `rng` the angle depends on the seed, the name of the step, the epoch and the ordinal of
    the example alone, and chosen sources are turned alike. With `rng` the step runs in order, as
    the original did: a batch takes one vector of ``uniform`` from it, an example one number;
    source after source.

    """

    _draws = 1
    _needs = ("uniform",)

    def __init__(
        self,
        data_stream: Any,
        maximum_rotation: float = math.pi,
        resample: Any = "nearest",
        *,
        rng: Any = None,
        **kwargs: Any,
    ) -> None:
        number = isinstance(maximum_rotation, (int, float, numpy.integer, numpy.floating))
        if not number or not 0 < maximum_rotation <= math.pi:
            raise ValueError(
                "`maximum_rotation` of Random2DRotation must be an angle in radians, above 0 and "
                f"at most pi, got {maximum_rotation!r:.80}; convert degrees with math.radians"
            )
        self.maximum_rotation = maximum_rotation
        self.resample = check_filter("Random2DRotation", "resample", resample, ROTATIONS)
        super().__init__(data_stream, rng, **kwargs)

    @property
    def _degrees(self) -> float:
        return float(numpy.rad2deg(self.maximum_rotation))

    def _angles(self, bits: NDArray[numpy.uint64]) -> NDArray[numpy.float64]:
        """Return the angles in degrees; `bits` has the shape ``(n, 1)``."""
        angles: NDArray[numpy.float64] = (2 * draws.uniforms(bits[:, 0]) - 1) * self._degrees
        return angles

    def _turned(self, example: Any, angle: float, source: str) -> Any:
        image = numpy.asarray(example)
        if image.ndim != 3 or image.dtype == object:
            raise ValueError(
                f"Random2DRotation needs images of the shape (channel, height, width), got source "
                f"{source!r} with the shape {image.shape} and the type {image.dtype}; choose the "
                "sources that hold images with `which_sources=`"
            )
        return rotate(image, float(angle), self.resample, "CHW")

    def _turned_all(self, batch: Any, angles: Any, source: str) -> Any:
        if isinstance(batch, numpy.ndarray) and batch.dtype != object and batch.ndim != 4:
            raise ValueError(
                "Random2DRotation needs batches of the shape (batch, channel, height, width), or "
                f"lists of images, got source {source!r} with the shape {batch.shape}; choose the "
                "sources that hold images with `which_sources=`"
            )
        return map_images(
            batch,
            lambda image, index: self._turned(image, angles[index], source),
            batch.shape[1:] if isinstance(batch, numpy.ndarray) else None,
        )

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        self._check_labels(False, source_name)
        return self._turned(example, self._angles(bits[None])[0], source_name)

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        self._check_labels(True, source_name)
        return self._turned_all(batch, self._angles(bits), source_name)

    def _one_in_order(self, example: Any, source_name: str, rng: Any) -> Any:
        self._check_labels(False, source_name)
        return self._turned(example, rng.uniform(-self._degrees, self._degrees), source_name)

    def _many_in_order(self, batch: Any, source_name: str, rng: Any) -> Any:
        self._check_labels(True, source_name)
        angles = rng.uniform(-self._degrees, self._degrees, len(batch))
        return self._turned_all(batch, angles, source_name)

    def _parameters(self) -> dict[str, Any]:
        return {
            "maximum_rotation": self.maximum_rotation,
            "resample": self.resample,
            **super()._parameters(),
        }


#: The permutations that a kernel knows, from which layout and to which.
_LAYOUTS: dict[tuple[int, ...], tuple[str, str]] = {
    (2, 0, 1): ("HWC", "CHW"),
    (1, 2, 0): ("CHW", "HWC"),
}


class Transpose(SourcewiseTransformer):
    """Exchanges the axes of every example.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    axes : str or tuple of int
        ``'CHW'`` or ``'HWC'``: how images shall be laid out, from whatever the axis labels say; or
        a permutation of the axes of an example, as `numpy.transpose` takes it, without the batch.
    **kwargs
        `which_sources` (default: all), `name`, `axis_labels` (default: those below, exchanged
        likewise).

    Attributes
    ----------
    axes : str or tuple of int
        As given.

    Raises
    ------
    ValueError
        If `axes` is neither a layout nor a permutation; if a layout is asked for and the axes
        of a source are not known; while items are produced, if an example has another number of
        axes.
    AxisLabelsMismatchError
        If a layout is asked for and the labels of a source are not those of images with channels.

    Notes
    -----
    Arrays come out in C order. An array stays an array, a list a list, an object array an object
    array.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> images = IndexableDataset(
    ...     {'x': numpy.zeros((4, 8, 9, 3))},
    ...     axis_labels={'x': ('batch', 'height', 'width', 'channel')})
    >>> stream = Transpose(DataStream(images, iteration_scheme=SequentialScheme(4, 4)), 'CHW')
    >>> stream.axis_labels['x'], [x.shape for x, in stream]
    (('batch', 'channel', 'height', 'width'), [(4, 3, 8, 9)])

    """

    _asks_sources = True
    elementwise = True

    def __init__(self, data_stream: Any, axes: Any, **kwargs: Any) -> None:
        examples = kwargs.pop("produces_examples", None)
        if examples is None:
            examples = kind_below("Transpose", data_stream)
        self.axes = _checked_axes(axes)
        which = kwargs.get("which_sources")
        if which is not None:
            kwargs["which_sources"] = which = check_which(
                "Transpose", "which_sources", which, data_stream
            )
        chosen = [
            one for one in sources_below("Transpose", data_stream) if which is None or one in which
        ]
        self._permutations = {one: self._permutation(data_stream, one) for one in chosen}
        labels = labels_below(data_stream)
        if labels:
            for source in chosen:
                if labels.get(source):
                    labels[source] = self._exchanged(labels[source], source, examples)
        kwargs.setdefault("axis_labels", labels)
        super().__init__(data_stream, examples, **kwargs)

    def _permutation(self, stream: Any, source: str) -> tuple[int, ...]:
        """Return the permutation of the axes of an example of a source."""
        if not isinstance(self.axes, str):
            return tuple(self.axes)
        if not (getattr(stream, "axis_labels", None) or {}).get(source):
            raise ValueError(
                f"Transpose cannot bring source {source!r} to {self.axes!r}, for its axis labels "
                "are not known; give the permutation, such as axes=(2, 0, 1) from 'HWC' to 'CHW', "
                "or give the stream `axis_labels`"
            )
        layout = layout_of(stream, source)
        if layout == "HW":
            raise AxisLabelsMismatchError(
                f"Transpose cannot bring source {source!r} to {self.axes!r}, for its images have "
                "the axes ('height', 'width') and no channels; leave it out of `which_sources`"
            )
        return tuple(layout.index(axis) for axis in self.axes)

    def _exchanged(self, labels: Any, source: str, examples: bool) -> tuple[Any, ...]:
        permutation = self._permutations[source]
        first, rest = ((), labels) if examples else (labels[:1], labels[1:])
        if len(rest) != len(permutation):
            raise ValueError(
                f"`axes` of Transpose must be a permutation of the {len(rest)} axes of source "
                f"{source!r} {tuple(rest)}, got {self.axes}; leave the axis of the batch out"
            )
        return (*first, *(rest[axis] for axis in permutation))

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Exchange the axes of one example."""
        return self._exchange(source_example, source_name, 0)

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Exchange the axes of every example of a batch."""
        if isinstance(source_batch, numpy.ndarray) and source_batch.dtype != object:
            return self._exchange(source_batch, source_name, 1)
        return map_images(source_batch, lambda one, _: self._exchange(one, source_name, 0))

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()
        if self._permutations[source] == (2, 0, 1):
            return (operations.ToLayout("CHW", before="HWC"),)
        if self._permutations[source] == (1, 2, 0):
            return (operations.ToLayout("HWC", before="CHW"),)
        return None

    def _exchange(self, data: Any, source: str, before: int) -> Any:
        array = numpy.asarray(data)
        permutation = self._permutations[source]
        if array.ndim != before + len(permutation):
            raise ValueError(
                f"Transpose needs examples of {len(permutation)} axes, got one of source "
                f"{source!r} with the shape {array.shape[before:]}; give `axes` for that shape, or "
                "choose other sources with `which_sources=`"
            )
        layouts = _LAYOUTS.get(permutation)
        if layouts is not None and array.nbytes >= _WORTH_A_CALL:
            layout, wanted = layouts
            if not before:
                return moved(array, layout, to_layout=wanted)
            nowhere = numpy.zeros(len(array), dtype=numpy.int64)
            window, many = spatial(array.shape, layout), threads.limit()
            return crop.crop(
                array, None, nowhere, nowhere, window, layout=layout, to_layout=wanted, threads=many
            )
        order = (*range(before), *(before + axis for axis in permutation))
        return owned(array.transpose(order))

    def _parameters(self) -> dict[str, Any]:
        return {"axes": self.axes, **super()._parameters()}


def _checked_axes(axes: Any) -> Any:
    """Return a layout, or a permutation as a tuple of numbers from 0."""
    if isinstance(axes, str) and axes in ("CHW", "HWC"):
        return axes
    if not isinstance(axes, str) and hasattr(axes, "__len__"):
        numbers = [check_integer("Transpose", "axes", axis) for axis in axes]
        numbers = [axis + len(numbers) if axis < 0 else axis for axis in numbers]
        if numbers and sorted(numbers) == list(range(len(numbers))):
            return tuple(numbers)
    raise ValueError(
        f"`axes` of Transpose must be 'CHW', 'HWC' or a permutation of the axes of an example, got "
        f"{axes!r:.80}; give for example (2, 0, 1)"
    )
