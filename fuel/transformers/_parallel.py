"""Streams that are produced in another process while this one works.

How a pass runs ahead in the other process is in `fuel.transformers._ahead`, how the process is
started and ended in `fuel.utils._process`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from fuel.plan import Cursor
from fuel.transformers._ahead import AheadCursor, run_ahead
from fuel.transformers._base import Transformer
from fuel.transformers._checks import kind_below
from fuel.utils._process import ChildProcess, assigned_settings

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["BackgroundProcess", "MultiProcessing"]

#: How many items may be ready where 0 was asked for, which once meant that there was no bound.
_DEFAULT_STORE = 100


class MultiProcessing(Transformer):
    """Produces the items of a stream in another process, ahead of this one.

    Nothing else changes: the items, their order, the random draws, the epochs, saved states and
    exceptions are those of the stream below.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream to run in the other process. It must be picklable with cloudpickle; lambdas,
        closures and what the main module defines are.
    max_store : int, default 100
        How many items may be ready before they are asked for. They take up the memory of the
        other process. 0 leaves the number to the transformer: the default.
    **kwargs
        As for `Transformer`; `axis_labels` defaults to a copy of those of the stream below.

    Attributes
    ----------
    max_store : int
        As given.

    Raises
    ------
    ValueError
        If `max_store` is negative or no integer.
    TypeError
        If `data_stream` is no stream.

    Notes
    -----
    The process starts with the first item, serves all epochs, and ends with `close`, with garbage
    collection, and with this process, however that ends. The script needs no
    ``if __name__ == "__main__"``.

    The copy of the stream in the other process is made at the start of each epoch, so that
    changes made here between epochs count; a stream that holds its data in memory sends it each
    time. What users' steps remember from item to item (counters, generators, small arrays) is
    brought back with each item, as if they had run here; a list or number around a function that
    it only writes to stays there.

    An exception of the stream is raised here with its type, and with the traceback of the other
    process as its cause. If the other process dies, `fuel.exceptions.WorkerError` says how; the
    next item then comes from a new process.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> from fuel.transformers import Mapping, MultiProcessing
    >>> stream = Mapping(DataStream(IterableDataset([1, 2, 3])), lambda data: (data[0] ** 2,))
    >>> with MultiProcessing(stream) as parallel:
    ...     print(list(parallel.get_epoch_iterator()))
    [(1,), (4,), (9,)]

    """

    #: It changes no values, so saved states are those of the stream below.
    _transparent = True
    _idle: tuple[ChildProcess, Any] | None = None

    def __init__(self, data_stream: Any, max_store: int = 100, **kwargs: Any) -> None:
        if isinstance(max_store, bool) or not hasattr(max_store, "__index__") or max_store < 0:
            raise ValueError(
                f"`max_store` must be a positive integer, got {max_store!r:.80}; it is the number "
                f"of items that may be ready before they are asked for (0: {_DEFAULT_STORE})"
            )
        labels = getattr(data_stream, "axis_labels", None)
        kwargs.setdefault("axis_labels", None if labels is None else dict(labels))
        super().__init__(data_stream, kind_below("MultiProcessing", data_stream), **kwargs)
        self.max_store = max_store.__index__()

    def _bound(self) -> int:
        """Return how many items may be ready."""
        return self.max_store or _DEFAULT_STORE

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_idle", None)
        return state

    def close(self) -> None:
        """End the other process and close the stream below."""
        self._dismiss()
        super().close()

    def _make_cursor(self, start: Start) -> Cursor:
        return AheadCursor(start, self)

    # -- the other process, for the pass --------------------------------------------------------

    def _process_name(self) -> str:
        return f"{type(self).__name__} over {type(self.data_stream).__name__}"

    def _worker(self, work: Any) -> ChildProcess:
        """Give a pass to the process of an earlier epoch, or to a new one."""
        idle, self._idle = self._idle, None
        if idle is not None:
            worker, surroundings = idle
            if worker.alive and surroundings == _surroundings():
                try:
                    worker.send(("work", work))
                    worker.recv()
                    return worker
                except BaseException as error:
                    worker.close()
                    if not isinstance(error, Exception):
                        raise
                    # Whatever the old process cannot do; if a new one cannot either, it says so.
            worker.close()
        worker = ChildProcess(run_ahead, (work,), name=self._process_name())
        try:
            worker.recv()
        except BaseException:
            worker.close()
            raise
        return worker

    def _keep(self, worker: ChildProcess) -> None:
        """Take back the process of a pass that has ended."""
        self._dismiss()
        self._idle = (worker, _surroundings())

    def _dismiss(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None:
            idle[0].close()


def _surroundings() -> Any:
    """Return what a process was started with, and would not notice if it changed."""
    try:
        directory = os.getcwd()
    except OSError:  # it was removed
        directory = None
    return assigned_settings(), list(sys.path), directory


class BackgroundProcess:
    """Produces the items of a stream, epoch after epoch, in another process.

    `MultiProcessing` is the same as a stream; use this where a plain source of items is wanted.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream.
    max_batches : int
        How many items may be ready before they are asked for; 0 as for `MultiProcessing`.

    Attributes
    ----------
    data_stream, max_batches
        As given.

    Notes
    -----
    One thread at a time may use it.

    """

    def __init__(self, data_stream: Any, max_batches: int) -> None:
        self.data_stream = data_stream
        self.max_batches = max_batches
        self._stream = MultiProcessing(data_stream, max_batches)
        self._epoch: Any = None

    def main(self) -> None:
        """Start an epoch in the other process, if none is running. `get_next_data` does it too."""
        if self._epoch is None:
            self._epoch = self._stream.get_epoch_iterator()

    def get_next_data(self) -> Any:
        """Return the next item.

        Returns
        -------
        tuple
            One entry a source.

        Raises
        ------
        StopIteration
            At the end of each epoch; the call after it begins the next one.

        """
        self.main()
        try:
            return next(self._epoch)
        except StopIteration:
            self._epoch = None
            raise

    def close(self) -> None:
        """End the other process and close the stream."""
        self._epoch = None
        self._stream.close()
