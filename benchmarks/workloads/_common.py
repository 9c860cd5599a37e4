"""What several workloads share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

__all__ = ["index_batches"]


def index_batches(count: int, size: int, rng: Any) -> Iterator[Any]:
    """Yield the indices of the batches of one epoch in a new shuffled order."""
    order = rng.permutation(count)
    for start in range(0, count, size):
        yield numpy.ascontiguousarray(order[start : start + size])
