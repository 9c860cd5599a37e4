"""What is done to sequences: windows, batches by length, packed rows, chunks of time.

Padding is `fuel.transformers.Padding`.
"""

from __future__ import annotations

from fuel.transformers._bucketing import BucketByLength
from fuel.transformers._packing import Pack
from fuel.transformers._segments import Segments
from fuel.transformers._windows import NGrams, Window

__all__ = ["BucketByLength", "NGrams", "Pack", "Segments", "Window"]
