"""Recordings and other sequences over time: windows, noise, masks, sampling rates.

- `fuel.transformers._sliding`: `SlidingWindows`, examples cut from long sequences;
- `fuel.transformers._timeseries`: `AddNoise`, `TimeMask`, `FrequencyMask`;
- `fuel.transformers._resampling`: `Resample`.

Windows of words and n-grams are in `fuel.transformers.sequences`.
"""

from __future__ import annotations

from fuel.transformers._resampling import Resample
from fuel.transformers._sliding import SlidingWindows
from fuel.transformers._timeseries import AddNoise, FrequencyMask, TimeMask

__all__ = ["AddNoise", "FrequencyMask", "Resample", "SlidingWindows", "TimeMask"]
