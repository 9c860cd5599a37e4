"""How well an order mixes: `shuffle_quality`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from fuel.schemes._base import num_examples, order_state, set_order_state, start_requests

__all__ = ["ShuffleQuality", "shuffle_quality"]

# The default size of a batch, and the fewest batches that are looked at.
_BATCH = 256
_FEWEST = 32
# Of longer orders so many examples are looked at, in batches spread over the epoch.
_LOOKED_AT = 1 << 20


class ShuffleQuality(NamedTuple):
    """How well an order mixes.

    Attributes
    ----------
    quality : float
        From 0 to 1: the spread of a full shuffle divided by that of the order, at most 1.
    spread : float
        How much the mean position in storage varies from batch to batch, as a multiple of what
        it does after a full shuffle: 1 is as good as that.
    neighbours : float
        How often the next example is the one that is stored next: 1 for an order that is not
        shuffled.

    """

    quality: float
    spread: float
    neighbours: float


def shuffle_quality(order: Any, batch_size: int | None = None) -> ShuffleQuality:
    """Measure how well an order mixes what lies together.

    The measure is for the worst case: data that is sorted by what matters, such as the label. Of
    each batch the mean position of its examples in storage is taken. How much these means vary
    from batch to batch is compared with what they do in batches of a full shuffle, whose standard
    deviation is known: that of the positions, divided by the square root of the batch size (with
    the usual correction for drawing without replacement).

    Parameters
    ----------
    order : IterationScheme or array_like of int, shape (n,)
        A scheme that asks for indices, whose first epoch is looked at and which is left as it
        was; or the positions in storage, in the order in which they are visited.
    batch_size : int, optional
        How many consecutive examples make a batch. Default: the scheme's, if it has one; else
        256, or fewer if that makes fewer than 32 batches.

    Returns
    -------
    ShuffleQuality
        ``(quality, spread, neighbours)``.

    Raises
    ------
    ValueError
        If there are fewer than two whole batches, or the requests are not for integers.

    Notes
    -----
    The measure is a sample: of a full shuffle in ``m`` batches, `spread` differs from 1 by some
    ``1 / sqrt(2 * m)``. Of an order that can seek, at most 2**20 examples are looked at, spread
    evenly over the epoch; other orders are run to the end.

    Examples
    --------
    >>> from fuel.schemes import BlockShuffledScheme, PermutedScheme, SequentialScheme
    >>> from fuel.schemes import shuffle_quality
    >>> shuffle_quality(SequentialScheme(10000, 100)).quality < 0.15
    True
    >>> shuffle_quality(PermutedScheme(10000, 100, seed=1)).quality > 0.8
    True
    >>> shuffle_quality(BlockShuffledScheme(10000, 100, 100, window=8, seed=1)).quality < 0.5
    True

    """
    size = batch_size
    if hasattr(order, "get_request_iterator"):
        if size is None:
            size = getattr(order, "batch_size", None)
        batches, total = _of_scheme(order, size)
    else:
        whole = _integers(order)
        total = len(whole)
        size = _size(size, total)
        batches = whole[: total // size * size].reshape(-1, size)
    if len(batches) < 2:
        raise ValueError(
            f"two whole batches are needed to compare them, got {len(batches)} of "
            f"{batches.shape[1]} among {total} examples; use a smaller `batch_size`"
        )
    size = batches.shape[1]
    positions = batches.astype(numpy.float64)
    left = (total - size) / max(1, total - 1)
    expected = float(numpy.sqrt(positions.var() / size * left))
    measured = float(positions.mean(axis=1).std())
    neighbours = float((numpy.diff(batches, axis=1) == 1).mean()) if size > 1 else 0.0
    if expected == 0.0:  # one position again and again
        return ShuffleQuality(1.0, 1.0, neighbours)
    spread = measured / expected
    return ShuffleQuality(min(1.0, 1.0 / spread) if spread else 1.0, spread, neighbours)


def _of_scheme(scheme: Any, size: int | None) -> tuple[NDArray[numpy.int64], int]:
    """Return batches of the first epoch of a scheme, and how many examples it has."""
    before = order_state(scheme)
    try:
        requests = start_requests(scheme, 0)
        order = getattr(requests, "_order", None)
        total = num_examples(scheme)
        if order is not None and total is not None and total > _LOOKED_AT:
            size = _size(size, total)
            count = min(total // size, max(2, _LOOKED_AT // size))
            step = total // count
            found = numpy.stack([order.block(place * step, size) for place in range(count)])
            return found, total
        flat: list[Any] = []
        for request in requests:
            if isinstance(request, list):
                flat += request
            else:
                flat.append(request)
    finally:
        set_order_state(scheme, before)
    whole = _integers(flat)
    size = _size(size, len(whole))
    return whole[: len(whole) // size * size].reshape(-1, size), len(whole)


def _size(size: Any, total: int) -> int:
    if size is None:
        return max(1, min(_BATCH, total // _FEWEST))
    if isinstance(size, bool) or not hasattr(size, "__index__") or size < 1:
        raise ValueError(f"`batch_size` must be a positive integer, got {size!r:.80}")
    return int(size)


def _integers(order: Any) -> NDArray[numpy.int64]:
    found = numpy.asarray(order)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError(
            "the order must consist of integers, the positions in storage, got "
            f"shape {found.shape}, dtype {found.dtype}; give the positions of the examples"
        )
    return found.astype(numpy.int64)
