"""`IterableDataset`: data that can only be walked through from the beginning.

The walk itself is an object of its own (`imap`), which can be pickled, told apart from others and
moved to a position. Data that can be indexed is better served by ``_indexable``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy

from fuel.datasets._dataset import Dataset
from fuel.datasets._specs import spec_of
from fuel.typing import Request, Sources, Spec
from fuel.utils._owning import own

__all__ = ["IterableDataset"]

#: Exactly these are walked by index, so that going to a position costs nothing. Subclasses may
#: give `__iter__` a meaning of its own, and are asked for an iterator.
_INDEXED = (list, tuple, range, str, bytes, numpy.ndarray)


class IterableDataset(Dataset):
    """Creates a dataset from a set of iterables.

    Parameters
    ----------
    iterables : dict or iterable
        The data: a dict from names of sources to iterables, or one iterable, which then becomes
        the source ``'data'``. Each epoch calls ``iter`` on them again; something that can be
        walked only once (a generator) is empty from the second epoch on.
    **kwargs
        ``sources`` and ``axis_labels``, see `Dataset`.

    Attributes
    ----------
    iterables : list
        The iterables of the chosen sources, in the order of `sources`.

    Raises
    ------
    ValueError
        If something given cannot be iterated over, or their lengths are known and differ.

    Notes
    -----
    Any number of states can be open at once, in one thread or several. Items that are NumPy
    arrays are handed out as copies.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> dataset = IterableDataset({'letter': 'abc', 'code': [97, 98, 99]})
    >>> state = dataset.open()
    >>> dataset.get_data(state)
    ('a', 97)
    >>> dataset.get_data(state)
    ('b', 98)
    >>> dataset.close(state)

    """

    example_iteration_scheme = None

    def __init__(self, iterables: Any, **kwargs: Any) -> None:
        by_source = dict(iterables) if isinstance(iterables, Mapping) else {"data": iterables}
        if not by_source:
            raise ValueError("`iterables` must have at least one source, got an empty dict")
        self.provides_sources: Sources = tuple(by_source)
        super().__init__(**kwargs)
        for source, iterable in by_source.items():
            if getattr(iterable, "shape", None) == () or not (
                isinstance(iterable, Iterable) or hasattr(iterable, "__getitem__")
            ):
                raise ValueError(
                    f"`iterables` must be iterable, got {type(iterable).__name__} for source "
                    f"{source!r}; give a list, an array, or an object with `__iter__`"
                )
        lengths = {name: len(it) for name, it in by_source.items() if hasattr(it, "__len__")}
        if len(lengths) == len(by_source) and len(set(lengths.values())) > 1:
            raise ValueError(
                f"the iterables must have the same length, got {lengths}; cut them to the same "
                "number of examples"
            )
        self.iterables = [by_source[source] for source in self.sources]

    @property
    def num_examples(self) -> int | float:
        """int or float: The number of examples; nan where an iterable does not know its length."""
        lengths = [len(it) if hasattr(it, "__len__") else None for it in self.iterables]
        known = [length for length in lengths if length is not None]
        return known[0] if len(known) == len(lengths) else float("nan")

    @property
    def specs(self) -> dict[str, Spec]:
        """dict: Shape and type of one example of each source, unknown for one-shot iterators."""
        pairs = zip(self.sources, self.iterables, strict=False)
        return {source: spec_of(iterable) for source, iterable in pairs}

    def open(self) -> imap:
        """Start a walk.

        Returns
        -------
        imap
            An iterator over examples, picklable if the data is.

        """
        return imap(self.iterables)

    def get_data(self, state: Any = None, request: Request = None) -> tuple[Any, ...]:
        """Fetch the next example.

        Parameters
        ----------
        state : imap
            What `open` returned.
        request : None
            The order is that of the iterables: there is nothing to ask for.

        Returns
        -------
        tuple
            One item per source, in the order of `sources`.

        Raises
        ------
        StopIteration
            At the end.
        ValueError
            If there is no state, or there is a request.

        """
        if request is not None:
            raise ValueError(
                f"{type(self).__name__} can only be read in its own order, got the request "
                f"{request!r}; leave the request (or the stream's iteration scheme) out, or use "
                "`IndexableDataset`"
            )
        if state is None:
            raise ValueError(
                f"{type(self).__name__} needs a state to read on from, got None; pass what "
                "`open()` returned"
            )
        return tuple(next(state))


class imap:
    """A walk over several iterables at once, as far as the shortest of them goes.

    Parameters
    ----------
    iterables : list of iterable
        What to walk over. Kept, not copied.

    Attributes
    ----------
    position : int
        The number of examples delivered so far.

    """

    def __init__(self, iterables: list[Any]) -> None:
        self.iterables = iterables
        self.position = 0
        # None stands for an iterable that is walked by index.
        self.iterators: list[Iterator[Any] | None] = []
        self._start()

    def _start(self) -> None:
        self.position = 0
        self.iterators = [None if type(it) in _INDEXED else iter(it) for it in self.iterables]

    def __iter__(self) -> imap:
        return self

    def __next__(self) -> tuple[Any, ...]:
        example = []
        for iterable, iterator in zip(self.iterables, self.iterators, strict=True):
            if iterator is not None:
                example.append(own(next(iterator)))
            elif self.position < len(iterable):
                example.append(own(iterable[self.position]))
            else:
                raise StopIteration
        self.position += 1
        return tuple(example)

    def tell(self) -> int:
        """Return a mark of the present position, plain JSON."""
        return self.position

    def seek(self, mark: int) -> None:
        """Go to a position.

        Parameters
        ----------
        mark : int
            What `tell` returned, perhaps in another process. Costs nothing for builtin sequences
            and arrays; anything else is walked to it, from the beginning if it lies behind.

        """
        if mark < self.position:
            self._start()
        for iterator in self.iterators:
            if iterator is not None:
                for _ in range(mark - self.position):
                    if next(iterator, self) is self:
                        break
        self.position = mark
