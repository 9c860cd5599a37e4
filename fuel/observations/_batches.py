"""A container of batches: `BatchView`.

Not here: what shuffles anew each epoch and fetches ahead (the loader), and batches of a stream
(`fuel.transformers.Batch`).
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

from fuel.observations._access import fetch, is_numeric, numbers_of, numobs
from fuel.observations._obsview import ObsView
from fuel.observations._stacking import stack
from fuel.observations._storing import store
from fuel.observations._view import View, describe

__all__ = ["BatchView"]


class BatchView(View):
    """The observations of a container in batches, each made when it is fetched.

    Parameters
    ----------
    data : container
        Any container.
    batch_size : int
        How many observations a batch has.
    partial : bool, optional
        Whether the observations that are left over make a last, smaller batch (elsewhere:
        ``drop_last=False``). Otherwise they are left out.
    collate : None, bool or callable, optional
        How a batch is made. None: ``getobs(data, indices)``, the quickest. False: the list of
        observations. True: `batch` of that list, which stacks arrays along a new first axis. A
        function: its result for that list.

    Attributes
    ----------
    data, batch_size, partial, collate
        As they were given.

    Raises
    ------
    ValueError
        If `batch_size` is not positive; or there would be no batch at all, because it is larger
        than the data and the last batch is to be left out. With `partial` there is one batch then,
        and a warning.
    TypeError
        If `data` is no container, or another argument of an unsuitable type.

    Warns
    -----
    UserWarning
        If `batch_size` is larger than the data.

    Notes
    -----
    Its observations are batches: ``len(view)`` is their number, ``view[i]`` is a batch, several
    indices give a list of batches. Pickles if data and `collate` do; safe from several threads if
    they are.

    Examples
    --------
    >>> import numpy
    >>> from fuel.observations import BatchView
    >>> data = {"x": numpy.zeros((10, 3)), "y": numpy.arange(10)}
    >>> for batch in BatchView(data, batch_size=4):
    ...     print(batch["x"].shape, batch["y"])
    (4, 3) [0 1 2 3]
    (4, 3) [4 5 6 7]
    (2, 3) [8 9]
    >>> BatchView(["a", "bb", "ccc", "dddd"], 2, collate="".join)[0]
    'abb'

    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        *,
        partial: bool = True,
        collate: bool | Callable[[list[Any]], Any] | None = None,
    ) -> None:
        count = numobs(data)
        if isinstance(batch_size, bool):
            raise TypeError(f"`batch_size` must be a positive integer, got {batch_size!r}")
        try:
            size = operator.index(batch_size)
        except TypeError:
            raise TypeError(
                f"`batch_size` must be a positive integer, got {batch_size!r}"
            ) from None
        if size < 1:
            raise ValueError(
                f"`batch_size` must be a positive integer, got {size}; iterate over the data "
                "itself for single observations"
            )
        if collate is not None and not isinstance(collate, bool) and not callable(collate):
            raise TypeError(
                f"`collate` must be None, False, True or a function, got {collate!r:.80}"
            )
        if 0 < count < size:
            if not partial:
                raise ValueError(
                    f"`batch_size` must not be larger than the data with partial=False, got {size} "
                    f"for {count} observations: there would be no batch; use partial=True or a "
                    "smaller batch"
                )
            warnings.warn(
                f"`batch_size` is {size}, but there are {count} observations: the only batch is "
                f"smaller; use batch_size={count} if that is what you want",
                stacklevel=2,
            )
        self.data, self.batch_size, self.partial = data, size, bool(partial)
        self.collate = collate

    def __len__(self) -> int:
        whole, left = divmod(numobs(self.data), self.batch_size)
        return whole + (self.partial and left > 0)

    def _fetch(self, rows: Any, out: Any = None) -> Any:
        if not isinstance(rows, int):
            return store([self._fetch(row) for row in numbers_of(rows)], out)
        first = rows * self.batch_size
        last = min(first + self.batch_size, numobs(self.data))
        together = self.collate is None or (self.collate is True and _stacks(self.data))
        if together:
            return fetch(self.data, slice(first, last, 1), out)
        observations = [fetch(self.data, place) for place in range(first, last)]
        if self.collate is False:
            return store(observations, out)
        if callable(self.collate):
            return store(self.collate(observations), out)
        return store(stack(observations, range(first, last)), out)

    def __repr__(self) -> str:
        how = "" if self.collate is None else f", collate={self.collate!r}"
        return (
            f"BatchView({describe(self.data)}, batch_size={self.batch_size}, "
            f"partial={self.partial}{how})"
        )


def _stacks(data: Any) -> bool:
    """Tell whether fetching at once gives what stacking would."""
    return is_numeric(data.data if isinstance(data, ObsView) else data)
