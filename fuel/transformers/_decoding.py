"""Encoded images, as files hold them, to arrays: `ImagesFromBytes`.

Not here: the decoders and what they promise (`fuel.kernels.jpeg`), and the way from arrays of
bytes to `bytes` (`fuel.transformers.defaults.ToBytes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuel.kernels import jpeg
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

__all__ = ["ImagesFromBytes"]


class ImagesFromBytes(SourcewiseTransformer):
    """Decodes images: JPEG, PNG, and every other format that Pillow reads.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below; its chosen sources are `bytes`, or batches of them.
    color_mode : str or None, optional
        A mode of Pillow to convert to: RGB by default, ``'L'`` for grey, ``'RGBA'``, ... None keeps
        the mode of the file.
    scale : {None, 'fast'}, optional
        With ``'fast'`` JPEG files are decoded to a smaller size, the smallest multiple of an eighth
        of theirs that covers `minimum_shape`, which is faster. The pixels are close to those of a
        resized image, but not the same. Other files keep their size.
    minimum_shape : tuple of int, optional
        (height, width) that a scaled image must have at least; needed with `scale`.
    apply_orientation : bool, optional
        Whether to turn an image the way Exif says it is to be looked at. By default it is left as
        it is stored, but for TIFF files, which Pillow always turns.
    max_pixels : int, optional
        The largest number of pixels of an image. By default Pillow's limit: it warns above
        ``PIL.Image.MAX_IMAGE_PIXELS``, and refuses twice as many. For larger images raise that
        too: what Pillow decodes (as all but usual JPEG files) has to be within its limit as well.
    **kwargs
        `which_sources` (default: all), `axis_labels` (default: batch, channel, height and width for
        the chosen sources), `name`.

    Attributes
    ----------
    color_mode, scale, minimum_shape, apply_orientation, max_pixels
        As given.

    Raises
    ------
    ValueError
        If an argument has a value that it cannot have, or `scale` needs another decoder than there
        is.
    TypeError
        If `max_pixels` or `minimum_shape` are no integers.

    Notes
    -----
    An example becomes an array of shape (channels, height, width), and a batch a list of them;
    images without channels get an axis of length 1. The type is uint8, but for a few modes that
    `color_mode` None may keep. Of an animation the first frame is taken. Batches are decoded in
    threads.

    What is no image raises `PIL.UnidentifiedImageError` and a truncated or corrupt file `OSError`
    (of which the former is a kind); an image of too many pixels raises
    `PIL.Image.DecompressionBombError`. A note on the exception says which image of which source it
    was. Anything but `bytes` raises `TypeError`.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> file = io.BytesIO()
    >>> Image.new('RGB', (6, 4)).save(file, 'PNG')
    >>> files = IndexableDataset({'image': [file.getvalue()] * 2})
    >>> for images, in ImagesFromBytes(DataStream(files, iteration_scheme=SequentialScheme(2, 2))):
    ...     print([image.shape for image in images])
    [(3, 4, 6), (3, 4, 6)]

    """

    elementwise = True

    def __init__(
        self,
        data_stream: Any,
        color_mode: str | None = "RGB",
        *,
        scale: str | None = None,
        minimum_shape: tuple[int, int] | None = None,
        apply_orientation: bool = False,
        max_pixels: int | None = None,
        **kwargs: Any,
    ) -> None:
        self.color_mode = _check_mode(color_mode)
        self.scale = scale
        self.minimum_shape = _check_scale(scale, minimum_shape)
        self.apply_orientation = bool(apply_orientation)
        self.max_pixels = _check_pixels(max_pixels)
        examples = kwargs.setdefault("produces_examples", kind_below(_NAME, data_stream))
        which = kwargs.get("which_sources")
        if which is not None:
            kwargs["which_sources"] = which = check_which(_NAME, "which_sources", which)
        kwargs.setdefault("axis_labels", self._make_axis_labels(data_stream, which, examples))
        super().__init__(data_stream, **kwargs)

    def _make_axis_labels(
        self, data_stream: Any, which_sources: Any, produces_examples: bool
    ) -> dict[str, Any]:
        labels = labels_below(data_stream) or {}
        axes = ("channel", "height", "width")
        for source in sources_below(_NAME, data_stream):
            if which_sources is None or source in which_sources:
                labels[source] = axes if produces_examples else ("batch", *axes)
            else:
                labels.setdefault(source, None)
        return labels

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Decode one image."""
        return self._decode([source_example], source_name)[0]

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Decode the images of a batch, in threads; the list has their order."""
        return self._decode(source_batch, source_name)

    def _operations(self, source: str, dtype: Any, shape: Any) -> Any:
        if not selects(self, source):
            return ()
        if self.color_mode not in ("RGB", "L") or self.scale or self.apply_orientation:
            return None
        return (operations.Decode(self.color_mode, self.max_pixels, source),)

    def _decode(self, images: Sequence[Any], source_name: str) -> list[Any]:
        return jpeg.decode_many(
            images,
            self.color_mode,
            minimum_shape=self.minimum_shape,
            apply_orientation=self.apply_orientation,
            max_pixels=self.max_pixels,
            name=source_name,
        )

    def _parameters(self) -> dict[str, Any]:
        # Not `max_pixels`, which changes no value; and nothing about what was not asked for, so
        # that a state does not depend on options that came later.
        parameters: dict[str, Any] = {"color_mode": self.color_mode}
        if self.scale is not None:
            parameters.update(scale=self.scale, minimum_shape=self.minimum_shape)
        if self.apply_orientation:
            parameters["apply_orientation"] = True
        return {**parameters, **super()._parameters()}


_NAME = ImagesFromBytes.__name__


def _check_mode(color_mode: Any) -> Any:
    if color_mode is None:
        return None
    from PIL import ImageMode

    try:
        ImageMode.getmode(color_mode)
    except (KeyError, TypeError):
        raise ValueError(
            f"`color_mode` of {_NAME} must be a mode of Pillow or None, got {color_mode!r:.80}; "
            "use 'RGB', 'L' or 'RGBA', for example"
        ) from None
    return color_mode


def _check_scale(scale: Any, minimum_shape: Any) -> tuple[int, int] | None:
    if scale not in (None, "fast"):
        raise ValueError(
            f"`scale` of {_NAME} must be None or 'fast', got {scale!r:.80}; leave it out to decode "
            "images at their full size"
        )
    if (scale is None) != (minimum_shape is None):
        raise ValueError(
            f"`scale` and `minimum_shape` of {_NAME} must be given together, got {scale!r} and "
            f"{minimum_shape!r:.80}; say scale='fast', minimum_shape=(height, width)"
        )
    if minimum_shape is None:
        return None
    sides = tuple(minimum_shape) if isinstance(minimum_shape, (tuple, list)) else ()
    if len(sides) != 2:
        raise ValueError(
            f"`minimum_shape` of {_NAME} must be (height, width), got {minimum_shape!r:.80}; give "
            "two integers"
        )
    height, width = (check_integer(_NAME, "minimum_shape", side) for side in sides)
    if height < 1 or width < 1:
        raise ValueError(
            f"`minimum_shape` of {_NAME} must be positive, got {minimum_shape!r:.80}; give the "
            "size that later steps need"
        )
    if not jpeg.can_scale():
        raise ValueError(
            f"`scale='fast'` of {_NAME} needs the backend 'compiled' or 'simplejpeg' for JPEG "
            f"files, got {jpeg.backend()!r}; install fuel[jpeg], or build the package where the "
            "headers of libjpeg-turbo are"
        )
    return height, width


def _check_pixels(max_pixels: Any) -> int | None:
    if max_pixels is None:
        return None
    number = check_integer(_NAME, "max_pixels", max_pixels)
    if number < 1:
        raise ValueError(
            f"`max_pixels` of {_NAME} must be positive, got {number}; leave it out for Pillow's "
            "limit"
        )
    return number
