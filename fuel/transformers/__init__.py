"""Transformers: streams that change what comes out of other streams.

========================  ==================================================================
``_base``                 `Transformer` and its kinds; `ExpectsAxisLabels`
``_mapping``              `Mapping`, `SortMapping`, `Filter`
``_elementwise``          `Flatten`, `ScaleAndShift`, `Cast`, `ForceFloatX`
``_batching``             `Batch`, `Unpack`
``_padding``              `Padding`
``_caching``              `Cache`
``_merging``              `Merge`
``_sources``              `Rename`, `FilterSources`
``_parallel``             `MultiProcessing`, `BackgroundProcess`
``_ahead``                a pass that runs in another process
``_checks``               what transformers ask of their arguments
``_functions``            what is known of a function that a user hands over
``_holding``              how passes that hold items are described
``_stacking``             one collection from several examples
``_tokens``               `Tokens`
``_totals``               how many batches come out
``sequences``             `Window`, `NGrams`
``text``                  `Tokens`, `Vocabulary`
``defaults``              recipes for datasets
========================  ==================================================================

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
    "Rename",
    "ScaleAndShift",
    "SortMapping",
    "SourcewiseTransformer",
    "Transformer",
    "Unpack",
    "config",
]
