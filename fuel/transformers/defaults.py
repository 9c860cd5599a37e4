"""Recipes that datasets recommend as their `default_transformers`, and what these are made of.

A recipe is a tuple of ``(transformer, arguments, keyword arguments)``.
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import check_which, kind_below, labels_below, sources_below
from fuel.transformers._decoding import ImagesFromBytes
from fuel.transformers._elementwise import Cast, ScaleAndShift
from fuel.transformers._stacking import as_batch

__all__ = ["ToBytes", "rgb_images_from_encoded_bytes", "uint8_pixels_to_floatX"]


def uint8_pixels_to_floatX(which_sources: Any) -> Any:
    """Return the recipe that brings pixels from 0 ... 255 to 0.0 ... 1.0 in ``config.floatX``.

    Parameters
    ----------
    which_sources : tuple of str
        The sources that hold images.

    Returns
    -------
    tuple of tuple
        A recipe.

    """
    return (
        (ScaleAndShift, [1 / 255.0, 0], {"which_sources": which_sources}),
        (Cast, ["floatX"], {"which_sources": which_sources}),
    )


def rgb_images_from_encoded_bytes(which_sources: Any) -> Any:
    """Return the recipe that decodes images which a dataset holds as arrays of bytes.

    Parameters
    ----------
    which_sources : tuple of str
        The sources that hold encoded images.

    Returns
    -------
    tuple of tuple
        A recipe: each image becomes an array (channel, height, width) of red, green and blue.

    """
    return (
        (ToBytes, [], {"which_sources": which_sources}),
        (ImagesFromBytes, [], {"which_sources": which_sources}),
    )


class ToBytes(SourcewiseTransformer):
    """Makes byte strings of arrays of bytes, as files hold encoded images.

    Parameters
    ----------
    stream : AbstractDataStream
        The stream below.
    **kwargs
        `which_sources` (default: all), `produces_examples` (default: as below), `axis_labels`
        (default: ``('batch', 'bytes')`` or ``('bytes',)`` for the chosen sources), `name`.

    Notes
    -----
    An example becomes `bytes`, a batch a list of them.

    """

    elementwise = True

    def __init__(self, stream: Any, **kwargs: Any) -> None:
        kwargs.setdefault("produces_examples", kind_below("ToBytes", stream))
        which = kwargs.get("which_sources")
        if which is not None:
            kwargs["which_sources"] = which = check_which("ToBytes", "which_sources", which)
        labels = labels_below(stream)
        labels = {} if labels is None else labels
        for source in sources_below("ToBytes", stream):
            if which is None or source in which:
                labels[source] = ("bytes",) if stream.produces_examples else ("batch", "bytes")
        kwargs.setdefault("axis_labels", labels)
        super().__init__(stream, **kwargs)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Return the bytes of an array."""
        if isinstance(source_example, bytes):
            return bytes(source_example)
        return numpy.asarray(source_example).tobytes()

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Return the bytes of each array, in a list."""
        return [self.transform_source_example(one, source_name) for one in as_batch(source_batch)]
