"""Streams over other streams: the face that those of this package have in common.

In this room: `OverStreams`, and questions to the streams below. Not here: what is done to the data
on its way (`fuel.transformers`), and what the streams do (the neighbouring files).
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from fuel.exceptions import IteratorInvalidatedError
from fuel.iterator import DataIterator
from fuel.plan._chain import children, elementwise, walk
from fuel.schemes import IterationScheme
from fuel.schemes._base import is_custom
from fuel.streams._base import AbstractDataStream
from fuel.utils._overrides import is_ours, overridden

__all__ = [
    "OverStreams",
    "batch_size_of",
    "count_below",
    "goes_back",
    "hides_sizes",
    "need_alike",
    "need_stream",
]


class OverStreams(AbstractDataStream):
    """A stream that hands on items of the streams below it.

    Parameters
    ----------
    **kwargs
        As for `AbstractDataStream`.

    Notes
    -----
    A subclass sets `data_stream` or `data_streams`, and makes the pass.

    """

    def _below(self) -> list[Any]:
        return children(self)

    def close(self) -> None:
        """Close the streams below."""
        if self._live is not None:
            self._live.close()
        for stream in self._below():
            stream.close()

    def reset(self) -> None:
        """Reset the streams below."""
        for stream in self._below():
            stream.reset()

    def next_epoch(self) -> None:
        """Get the streams below ready for the next epoch."""
        for stream in self._below():
            stream.next_epoch()

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        """Start an epoch; see `AbstractDataStream.get_epoch_iterator`."""
        return super().get_epoch_iterator(as_dict=as_dict)

    @property
    def child_epoch_iterators(self) -> list[Any]:
        """The items of the streams below, in the epoch started last.

        Raises
        ------
        AttributeError
            Before an epoch was started.

        """
        if self._live is None:
            raise AttributeError(
                f"{type(self).__name__} has no 'child_epoch_iterators' before an epoch was "
                "started; call `get_epoch_iterator()` first"
            )
        passes = zip(self._below(), self._live.children(), strict=True)
        return [DataIterator.of_pass(stream, one) for stream, one in passes]

    def get_data(self, request: Any = None) -> Any:
        """Return the next item of the epoch started last.

        Parameters
        ----------
        request : None
            Not allowed: the order is that of the streams below.

        Returns
        -------
        tuple
            One entry a source.

        Raises
        ------
        ValueError
            If a request is given.
        StopIteration
            At the end of the epoch.

        """
        if request is not None:
            raise ValueError(
                f"{type(self).__name__} takes no requests, got {request!r:.80}; give iteration "
                "schemes to the streams below it"
            )
        if self._live is None:
            raise IteratorInvalidatedError(
                f"{type(self).__name__}.get_data was called before an epoch was started; call "
                "`get_epoch_iterator()` first"
            )
        return self._live.face(None)

    # -- what it offers to the plan -------------------------------------------------------------

    def _effective_seed(self) -> int:
        if self._step_seed is not None:
            return self._step_seed
        first: int = self._below()[0]._effective_seed()
        return first


def need_stream(name: str, stream: Any) -> bool:
    """Return whether a stream produces examples, or say that it is no stream."""
    if isinstance(stream, type) or not hasattr(stream, "get_epoch_iterator"):
        raise TypeError(
            f"{name} needs a stream, got {stream!r:.80}; of a dataset make one with "
            "DataStream(dataset, iteration_scheme=...)"
        )
    return bool(stream.produces_examples)


def need_alike(name: str, streams: Any) -> tuple[list[Any], tuple[str, ...], bool]:
    """Check that streams have the same sources, and all produce examples, or all batches.

    Returns
    -------
    streams : list
        The streams.
    sources : tuple of str
        Their sources.
    examples : bool
        Whether they produce examples.

    """
    if (
        not isinstance(streams, Iterable)
        or isinstance(streams, (str, bytes))
        or hasattr(streams, "get_epoch_iterator")
    ):
        raise TypeError(
            f"{name} needs a list or tuple of streams, got {streams!r:.80}; put even a single "
            "stream in a list"
        )
    streams = list(streams)
    if not streams:
        raise ValueError(f"{name} needs at least one stream, got none")
    kinds = [need_stream(name, stream) for stream in streams]
    sources = [tuple(stream.sources) for stream in streams]
    for number, (kind, found) in enumerate(zip(kinds, sources, strict=True)):
        if kind != kinds[0]:
            words = ("batches", "examples")
            raise ValueError(
                f"{name} needs streams that all produce examples, or all produce batches; stream "
                f"0 produces {words[kinds[0]]} and stream {number} {words[kind]}; put Batch or "
                "Unpack above some of them"
            )
        if found != sources[0]:
            raise ValueError(
                f"{name} needs streams of the same sources in the same order; stream 0 has "
                f"{sources[0]} and stream {number} {found}; use Rename or FilterSources"
            )
    twice = len({id(stream) for stream in streams}) < len(streams)
    if twice:
        raise ValueError(
            f"{name} needs different streams, got one of them twice; build it anew for each place"
        )
    return streams, sources[0], kinds[0]


def count_below(stream: Any, what: str = "_num_items") -> int | None:
    """Ask a stream for a number that only our own evaluation keeps true."""
    if overridden(stream, "get_data", "get_epoch_iterator", "_make_cursor"):
        return None
    count: int | None = getattr(stream, what, lambda: None)()
    return count


def batch_size_of(stream: Any) -> int | None:
    """Return how many examples the batches of a stream are declared to have, None if unknown."""
    scheme = getattr(stream, "iteration_scheme", None)
    if scheme is not None:
        size = getattr(scheme, "batch_size", None)
        return int(size) if isinstance(size, Integral) else None
    sizes = {batch_size_of(below) for below in children(stream)}
    return sizes.pop() if len(sizes) == 1 else None


def hides_sizes(stream: Any) -> bool:
    """Tell whether users' code makes batches of a size that shows only in the batches."""
    for step in walk(stream):
        if overridden(step, "get_data", "get_epoch_iterator", "_make_cursor"):
            return True
        if not children(step) or step.produces_examples or elementwise(step):
            continue
        if not is_ours(type(step)) or getattr(step, "_functions", list)():
            return True
    return False


def goes_back(stream: Any) -> bool:
    """Tell whether the order below a stream is such that its passes can go back to a place."""
    for one in walk(stream):
        if overridden(one, "get_data", "get_epoch_iterator", "_make_cursor"):
            return False
        scheme = getattr(one, "iteration_scheme", None)
        if not children(one) and (not isinstance(scheme, IterationScheme) or is_custom(scheme)):
            return False
    return True
