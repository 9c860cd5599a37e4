"""DataStream: a dataset visited in the order of an iteration scheme."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fuel.plan import Cursor, SourceCursor
from fuel.schemes._base import BatchSizeScheme, num_examples, scheme_fingerprint
from fuel.state import plain
from fuel.streams._base import AbstractDataStream
from fuel.typing import JSON
from fuel.utils._overrides import overridden

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["DataStream"]


class DataStream(AbstractDataStream):
    """Streams a dataset.

    Parameters
    ----------
    dataset : Dataset
        What is read; anything with `sources`, `axis_labels`, `open`, `close`, `reset`,
        `next_epoch` and `get_data`.
    **kwargs
        `iteration_scheme` (default None: the dataset yields its examples in its own order),
        `axis_labels` (default: a copy of the dataset's; the ``'batch'`` label is left out of
        those of a stream of examples), `name`, `seed`.

    Attributes
    ----------
    dataset : Dataset
        As given.
    data_state : object
        The dataset's state in the latest epoch; None for datasets that need none.

    Raises
    ------
    TypeError
        If `dataset` is no dataset, or `axis_labels` is no dict.
    ValueError
        If a dataset of numbered examples is given a scheme that asks for numbers of examples.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialScheme
    >>> from fuel.streams import DataStream
    >>> dataset = IndexableDataset({'x': numpy.arange(5)})
    >>> stream = DataStream(dataset, iteration_scheme=SequentialScheme(5, 2))
    >>> len(stream)
    3
    >>> for x, in stream:
    ...     print(x.tolist())
    [0, 1]
    [2, 3]
    [4]

    """

    data_state: Any = None

    def __init__(self, dataset: Any, **kwargs: Any) -> None:
        if not hasattr(dataset, "get_data") or not hasattr(dataset, "open"):
            raise TypeError(
                f"{type(self).__name__} needs a dataset, got {dataset!r:.80}; wrap arrays or lists "
                "in an IndexableDataset, iterables in an IterableDataset"
            )
        labels = kwargs.pop("axis_labels", None)
        super().__init__(**kwargs)
        scheme = self.iteration_scheme
        if (
            isinstance(scheme, BatchSizeScheme)
            and hasattr(dataset, "_take")
            and not overridden(dataset, "get_data")
        ):
            # The number would be taken for the index of one example, again and again.
            raise ValueError(
                f"{type(self).__name__} over a {type(dataset).__name__} needs a scheme that names "
                f"examples, got a {type(scheme).__name__}, which asks for numbers of examples; use "
                "for example SequentialScheme(examples, batch_size), or put Batch with this scheme "
                "above a stream of examples"
            )
        if labels is None:
            labels = getattr(dataset, "axis_labels", None)
        if labels is not None and not hasattr(labels, "items"):
            raise TypeError(
                f"`axis_labels` of {type(self).__name__} must be a dict from sources to tuples of "
                f"labels, got {labels!r:.80}; write for example "
                "{'images': ('batch', 'channel', 'height', 'width')}"
            )
        labels = None if labels is None else dict(labels)
        self.dataset = dataset
        if self.iteration_scheme is None:
            self.produces_examples = True
        if labels and self.produces_examples:
            for source, names in labels.items():
                if names:
                    labels[source] = tuple(name for name in names if name != "batch")
        self.axis_labels = labels
        self._open()

    @property
    def sources(self) -> Any:
        """Names of what an item holds, in order; those of the dataset unless set."""
        if "_sources" in self.__dict__:
            return self._sources
        return self.dataset.sources

    @sources.setter
    def sources(self, value: Any) -> None:
        self._sources = value

    def _open(self) -> None:
        self.data_state = self.dataset.open()
        self._opened = True
        self._fresh_state = True

    def close(self) -> None:
        """Close the dataset's state; a later epoch opens a new one."""
        if self._opened:
            self._opened = False
            self.dataset.close(self.data_state)

    def reset(self) -> None:
        """Go back to the beginning of the dataset."""
        self.data_state = self.dataset.reset(self.data_state)
        self._opened = True
        self._fresh_state = True

    def next_epoch(self) -> None:
        """Get a state for the next epoch from the dataset."""
        self.data_state = self.dataset.next_epoch(self.data_state)
        self._opened = True

    def get_data(self, request: Any = None) -> Any:
        """Fetch from the dataset what a request names.

        Parameters
        ----------
        request : object, optional
            An index, several of them, a slice, or a number of examples, as the dataset takes it.

        Returns
        -------
        tuple
            One entry a source.

        """
        return self.dataset.get_data(self.data_state, request)

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        """Start an epoch; see `AbstractDataStream.get_epoch_iterator`."""
        return super().get_epoch_iterator(as_dict=as_dict)

    @classmethod
    def default_stream(cls, dataset: Any, **kwargs: Any) -> Any:
        """Stream a dataset through the transformers that it recommends.

        Parameters
        ----------
        dataset : Dataset
            A dataset with `apply_default_transformers`.
        **kwargs
            As for the constructor.

        Returns
        -------
        AbstractDataStream
            The stream, wrapped in the dataset's default transformers.

        """
        return dataset.apply_default_transformers(cls(dataset, **kwargs))

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        return SourceCursor(start, self)

    def _begin_pass(self) -> Any:
        """Return the dataset's state for a new pass."""
        if not self._opened:
            self._open()
        if self._fresh_state:
            self._fresh_state = False
            return self.data_state
        earlier = self._live
        if self.data_state is not None and not getattr(earlier, "finished", True):
            # The earlier pass may still be read: it keeps its state, this one gets another.
            self.data_state = self.dataset.open()
        else:
            self.next_epoch()
        return self.data_state

    def _end_pass(self, cursor: SourceCursor) -> None:
        """Close the state of a pass, unless the stream goes on with it."""
        cursor.finished = True
        if cursor.state is not None and cursor.state is not self.data_state:
            self.dataset.close(cursor.state)

    def _fingerprint(self) -> dict[str, JSON]:
        scheme = self.iteration_scheme
        order = "as read" if scheme is None else plain(scheme_fingerprint(scheme))
        return {"sources": list(self.sources), "examples": self._dataset_size(), "order": order}

    def _dataset_size(self) -> int | None:
        size = getattr(self.dataset, "num_examples", None)
        if size is None or isinstance(size, bool) or (isinstance(size, float) and math.isnan(size)):
            return None
        try:
            return int(size)
        except (TypeError, ValueError, OverflowError):
            return None

    def _num_items(self) -> int | None:
        if self.iteration_scheme is None:
            size = self._dataset_size()
            return size if not overridden(self.dataset, "get_data", "open") else None
        return super()._num_items()

    def _num_examples(self) -> int | None:
        if self.iteration_scheme is None:
            return self._num_items()
        return num_examples(self.iteration_scheme)

    def _describe_source(self) -> str:
        scheme = self.iteration_scheme
        order = "in its own order" if scheme is None else type(scheme).__name__
        return f"{type(self.dataset).__name__}, {order}"

    def _describe(self) -> str:
        scheme = self.iteration_scheme
        order = "" if scheme is None else f", {type(scheme).__name__}"
        written = any("__repr__" in vars(cls) for cls in type(self.dataset).__mro__[:-1])
        dataset = repr(self.dataset) if written else type(self.dataset).__name__
        return f"{type(self).__name__}({dataset}{order})"
