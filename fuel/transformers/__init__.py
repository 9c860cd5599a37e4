"""Transformers: streams that change what comes out of other streams.

=====================================  ==========================================================
``_base``                              `Transformer` and its kinds; `ExpectsAxisLabels`
``_random``                            `RandomTransformer`, base of the steps that draw
``_sequential``                        steps that draw in the old way, from a generator given
``_mapping``                           `Mapping`, `SortMapping`, `Filter`
``_elementwise``                       `Flatten`, `ScaleAndShift`, `Cast`, `ForceFloatX`
``_batching``                          `Batch`, `Unpack`
``_padding``                           `Padding`
``_caching``                           `Cache`
``_merging``                           `Merge`
``_sources``                           `Rename`, `FilterSources`
``_parallel``                          `MultiProcessing`, `BackgroundProcess`
``_ahead``                             a pass that runs in another process
``image``                              the face of what is done to images, and of mixing:
``_decoding``                          `ImagesFromBytes`
``_cropping``                          `RandomFixedSizeCrop`, `CenterCrop`
``_resized_crop``                      `RandomResizedCrop`
``_resizing``                          `MinimumImageDimensions`, `Resize`, `Pad`
``_geometry``                          flips, `Random2DRotation`, `Transpose`
``_color``                             `Normalize`, `ColorJitter`, `RandomGrayscale`
``_erasing``                           `RandomErasing`
``_mixing``                            `OneHot`, `MixUp`, `CutMix`
``_image``                             `window_batch_bchw`, at its original address
``_images``, ``_image_axes``           what an image is, and where its channels are
``_pillow``, ``_colors``, ``_labels``  arithmetic of resizing, of colours, of labels
``sequences``                          the face of what is done to sequences:
``_windows``                           `Window`, `NGrams`
``_bucketing``, ``_buckets``           `BucketByLength` and its passes
``_packing``, ``_packed_rows``         `Pack` and its passes
``_segments``                          `Segments`
``text``                               the face of `Tokens` (in ``_tokens``) and `Vocabulary`
``timeseries``                         the face of what is done to recordings:
``_sliding``                           `SlidingWindows`
``_timeseries``                        `AddNoise`, `TimeMask`, `FrequencyMask`
``_resampling``                        `Resample`
``_time_axes``                         where time and frequency are
``defaults``                           recipes for datasets
``_checks``, ``_ranges``               what transformers ask of their arguments
``_functions``                         what is known of a function that a user hands over
``_holding``, ``_fetched``             how passes that hold items are described
``_stacking``                          one collection from several examples
``_totals``                            how many batches come out
=====================================  ==========================================================

How they are evaluated is in `fuel.plan`.
"""

from __future__ import annotations

from fuel.config_parser import config
from fuel.schemes import BatchSizeScheme
from fuel.transformers._base import (
    AgnosticSourcewiseTransformer,
    AgnosticTransformer,
    ExpectsAxisLabels,
    SourcewiseTransformer,
    Transformer,
)
from fuel.transformers._batching import Batch, Unpack
from fuel.transformers._caching import Cache
from fuel.transformers._elementwise import Cast, Flatten, ForceFloatX, ScaleAndShift
from fuel.transformers._in_parallel import Parallel
from fuel.transformers._mapping import Filter, Mapping, SortMapping
from fuel.transformers._merging import Merge
from fuel.transformers._padding import Padding
from fuel.transformers._parallel import BackgroundProcess, MultiProcessing
from fuel.transformers._sources import FilterSources, Rename

__all__ = [
    "AgnosticSourcewiseTransformer",
    "AgnosticTransformer",
    "BackgroundProcess",
    "Batch",
    "BatchSizeScheme",
    "Cache",
    "Cast",
    "ExpectsAxisLabels",
    "Filter",
    "FilterSources",
    "Flatten",
    "ForceFloatX",
    "Mapping",
    "Merge",
    "MultiProcessing",
    "Padding",
    "Parallel",
    "Rename",
    "ScaleAndShift",
    "SortMapping",
    "SourcewiseTransformer",
    "Transformer",
    "Unpack",
    "config",
]
