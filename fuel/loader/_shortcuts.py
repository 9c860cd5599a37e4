"""Shorter ways: `eachobs`, a loader in passing; `close_dataloader_pool`, the end of its processes.

Not here: the loader (`_loader`), and processes (`fuel.workers`).
"""

from __future__ import annotations

from typing import Any

from fuel.loader._loader import DataLoader

__all__ = ["close_dataloader_pool", "eachobs"]


def eachobs(data: Any, batch_size: int | None = -1, **kwargs: Any) -> DataLoader:
    """Iterate over the observations of some data, one by one, in passing.

    Parameters
    ----------
    data : container, Dataset or stream
        As for `DataLoader`.
    batch_size : int, default -1
        As for `DataLoader`; by default there are no batches.
    **kwargs
        The other arguments of `DataLoader`.

    Returns
    -------
    DataLoader
        It.

    Examples
    --------
    >>> from fuel import eachobs
    >>> [(x, y) for x, y in eachobs(([1, 2, 3], ['a', 'b', 'c']))]
    [(1, 'a'), (2, 'b'), (3, 'c')]

    """
    return DataLoader(data, batch_size, **kwargs)


def close_dataloader_pool() -> None:
    """End the worker processes that are kept for loaders to come.

    They are started when a loader first needs them, kept for the next one, and end with this
    process by themselves.
    """
    from fuel.workers import close_workers

    close_workers()
