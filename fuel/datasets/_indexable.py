"""`IndexableDataset`: data in memory (or mapped into it) whose examples have numbers.

Which requests are legal is decided in ``_requests``; HDF5 files have their own class in ``hdf5``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from fuel.datasets._dataset import Dataset
from fuel.datasets._requests import Window, normalise, take, take_lent, take_vector
from fuel.datasets._specs import spec_of
from fuel.schemes._sequential import SequentialExampleScheme
from fuel.typing import Request, Sources, Spec

__all__ = ["IndexableDataset"]


class IndexableDataset(Dataset):
    """Creates a dataset from a set of indexable containers.

    Parameters
    ----------
    indexables : dict or indexable
        The data: a dict from names of sources to arrays, lists, memory maps, or other objects
        with ``__len__`` and ``__getitem__``; or one of these, which becomes the source
        ``'data'``. They are kept, not copied.
    start, stop : int, optional
        Use only the examples from `start` up to and without `stop`. All by default.
    copy : bool, optional
        With False, a request for examples that follow one another is answered by a read-only
        window on the array. By default what is handed out is the caller's own.
    **kwargs
        ``sources`` and ``axis_labels``, see `Dataset`.

    Attributes
    ----------
    indexables : list
        The containers of the chosen sources, in the order of `sources`, from `start` to `stop`.

    Raises
    ------
    ValueError
        If the containers have different lengths, or `start` and `stop` do not lie within them.

    Notes
    -----
    Every source can be read as an attribute: ``dataset.features`` is the container itself, from
    `start` to `stop`. `get_data` hands out arrays and lists that share nothing with it, so that a
    sentence may be changed in place; other objects (a dict, an image) are handed out as they are.
    Reading is safe from several threads if reading the containers is.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> dataset = IndexableDataset({'x': numpy.arange(10), 'y': list('abcdefghij')}, start=2)
    >>> dataset.num_examples
    8
    >>> dataset.get_data(request=[3, 0])
    (array([5, 2]), ['f', 'c'])
    >>> dataset.get_data(request=slice(0, 2))
    (array([2, 3]), ['c', 'd'])

    """

    # Of datasets that were pickled before there was a choice.
    copy = True

    def __init__(
        self,
        indexables: Any,
        start: int | None = None,
        stop: int | None = None,
        *,
        copy: bool = True,
        **kwargs: Any,
    ) -> None:
        self.copy = copy
        by_source = dict(indexables) if isinstance(indexables, Mapping) else {"data": indexables}
        if not by_source:
            raise ValueError("`indexables` must have at least one source, got an empty dict")
        self.provides_sources: Sources = tuple(by_source)
        super().__init__(**kwargs)
        for source, indexable in by_source.items():
            if (
                not hasattr(indexable, "__len__")
                or not hasattr(indexable, "__getitem__")
                or getattr(indexable, "shape", None) == ()
            ):
                raise ValueError(
                    f"`indexables` must have a length and be indexable, got "
                    f"{type(indexable).__name__} for source {source!r}; use `IterableDataset` for "
                    "data that can only be iterated over"
                )
        lengths = {source: len(indexable) for source, indexable in by_source.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"the indexables must have the same length, got {lengths}; cut them to the same "
                "number of examples"
            )
        length = next(iter(lengths.values()))
        self.start, self.stop = start, stop
        first, last = _bounds(start, stop, length)
        whole = (first, last) == (0, length)
        self.indexables = [
            by_source[source] if whole else _part(by_source[source], first, last)
            for source in self.sources
        ]
        self.example_iteration_scheme = SequentialExampleScheme(self.num_examples)

    def __getattr__(self, name: str) -> Any:
        # Only called for names that were not found. While an object is being unpickled none is
        # there yet, so nothing here may look up more than the names that exist by then.
        state = self.__dict__
        if not name.startswith("__") and ("indexables" in state or "_indexables" in state):
            sources = self.sources or ()
            if name in sources:
                return self.indexables[tuple(sources).index(name)]
            hint = f"; its sources are {tuple(sources)}"
        else:
            hint = ""
        if isinstance(getattr(type(self), name, None), property):
            # A property raised AttributeError and Python came here: the class knows the name.
            hint = f" yet{hint}"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    @property
    def num_examples(self) -> int:
        """int: The number of examples from `start` to `stop`."""
        indexables = self.indexables
        length = len(indexables[0])
        for indexable in indexables:
            if len(indexable) != length:
                lengths = sorted({len(indexable) for indexable in indexables})
                raise ValueError(
                    f"the indexables must have the same length, got {lengths}; one of them was "
                    "changed after the dataset was made"
                )
        return length

    @property
    def specs(self) -> dict[str, Spec]:
        """dict: Shape and type of one example of each source."""
        pairs = zip(self.sources, self.indexables, strict=False)
        return {source: spec_of(indexable) for source, indexable in pairs}

    def get_data(self, state: Any = None, request: Request = None) -> tuple[Any, ...]:
        """Fetch what a request names.

        Parameters
        ----------
        state : None
            There is none.
        request : int, slice, list, tuple, range or ndarray
            One index for an example; for a batch several indices in any order and with
            repetitions, a slice, or one bool for each example.

        Returns
        -------
        tuple
            One item per source, in the order of `sources`. A batch of an array is an array, one
            of a list is a list.

        Raises
        ------
        fuel.exceptions.RequestError
            If the request names examples that are not there, or none.
        ValueError
            If there is a state, no request, or one of an unsuitable type.

        """
        if state is not None or request is None:
            raise ValueError(
                f"{type(self).__name__} needs a request and no state, got state {state!r} and "
                f"request {request!r}; call `get_data(request=...)`, or give the stream an "
                "iteration scheme"
            )
        rows = normalise(request, self.num_examples, type(self).__name__)
        if not self.copy:
            return tuple([take_lent(indexable, rows) for indexable in self.indexables])
        return tuple([take(indexable, rows) for indexable in self.indexables])

    # -- what it offers to the plan -------------------------------------------------------------

    def _tables(self) -> list[Any]:
        """Return the container of each source, row i of which is example i."""
        return self.indexables if self.num_examples else []

    def _take(self, table: Any, rows: Any, borrow: bool = False) -> Any:
        """Answer a vector of indices from one of them."""
        if not self.copy:
            return take_lent(table, rows)
        return take_vector(table, rows, borrow)


def _bounds(start: int | None, stop: int | None, length: int) -> tuple[int, int]:
    """Return `start` and `stop` as numbers within the data."""
    try:
        first = 0 if start is None else operator.index(start)
        last = length if stop is None else operator.index(stop)
    except TypeError as error:
        raise TypeError(
            f"`start` and `stop` must be integers, got start={start!r} and stop={stop!r}"
        ) from error
    if not 0 <= first <= last <= length or (start is not None and first == length > 0):
        raise ValueError(
            f"`start` and `stop` must satisfy 0 <= start <= stop <= {length} and start < {length}, "
            f"got start={start!r} and stop={stop!r}; the data has {length} examples"
        )
    return first, last


def _part(indexable: Any, first: int, last: int) -> Any:
    """Return the rows from `first` to `last`, without copying where that is possible."""
    if type(indexable).__module__.partition(".")[0] == "h5py":
        return Window(indexable, first, last)
    try:
        part = indexable[first:last]
        if len(part) == last - first:
            return part
    except TypeError:
        pass
    return Window(indexable, first, last)
