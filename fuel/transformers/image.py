"""Transformers of images.

====================  ==========================================================================
``_decoding``         `ImagesFromBytes`
``_cropping``         `RandomFixedSizeCrop`, `CenterCrop`
``_resized_crop``     `RandomResizedCrop`
``_resizing``         `MinimumImageDimensions`, `Resize`, `Pad`
``_geometry``         `RandomHorizontalFlip`, `RandomVerticalFlip`, `Random2DRotation`, `Transpose`
``_color``            `Normalize`, `ColorJitter`, `RandomGrayscale`
``_erasing``          `RandomErasing`
``_mixing``           `MixUp`, `CutMix`
``_labels``           `OneHot`
====================  ==========================================================================

An image has its channels first, ``(channel, height, width)``, or last where the axis labels say so;
`Transpose` changes that. A batch is one array of images of one size, or a list or an object array
of images of any sizes.
"""

from __future__ import annotations

from fuel.transformers._color import ColorJitter, Normalize, RandomGrayscale
from fuel.transformers._cropping import CenterCrop, RandomFixedSizeCrop
from fuel.transformers._decoding import ImagesFromBytes
from fuel.transformers._erasing import RandomErasing
from fuel.transformers._geometry import (
    Random2DRotation,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Transpose,
)
from fuel.transformers._labels import OneHot
from fuel.transformers._mixing import CutMix, MixUp
from fuel.transformers._resized_crop import RandomResizedCrop
from fuel.transformers._resizing import MinimumImageDimensions, Pad, Resize

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "CutMix",
    "ImagesFromBytes",
    "MinimumImageDimensions",
    "MixUp",
    "Normalize",
    "OneHot",
    "Pad",
    "Random2DRotation",
    "RandomErasing",
    "RandomFixedSizeCrop",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "Transpose",
]
