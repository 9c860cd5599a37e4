"""Several streams side by side: `Merge`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fuel.exceptions import IteratorInvalidatedError
from fuel.iterator import DataIterator
from fuel.plan import Cursor, Start
from fuel.plan._foreign import NeedsReplay
from fuel.plan._start import described
from fuel.streams._base import AbstractDataStream
from fuel.transformers._base import _count
from fuel.transformers._checks import check_names, kind_below, sources_below
from fuel.typing import JSON

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Merge"]

_POLICIES = ("shortest", "strict", "longest", "cycle")


class Merge(AbstractDataStream):
    """Puts the items of several streams side by side.

    Parameters
    ----------
    data_streams : sequence of AbstractDataStream
        The streams: all of examples, or all of batches.
    sources : sequence of str
        The names of all sources, stream by stream.
    axis_labels : dict, optional
        The axis labels. Default: None.
    on_unequal : {'shortest', 'strict', 'longest', 'cycle'}, optional
        What happens when a stream ends before others. ``'shortest'`` (default): the epoch ends.
        ``'strict'``: a ValueError that says which ended where. ``'longest'``: the epoch goes on
        to the end of the longest; the sources of streams that have ended are None. ``'cycle'``:
        so too, but a stream that has ended starts its next epoch (in a new order, if it has one),
        as often as needed.
    name, seed
        As for `AbstractDataStream`; the seed defaults to that of the first stream.

    Attributes
    ----------
    data_streams, sources
        As given.
    child_epoch_iterators : list of iterator
        The items of the streams, in the epoch started last.

    Raises
    ------
    ValueError
        If there is no stream; if some produce examples and others batches; if the number of names
        is not that of all sources; if `on_unequal` is none of the four.
    TypeError
        If `data_streams` holds what is no stream, or `sources` is no sequence of names.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream
    >>> letters, numbers = (DataStream(IterableDataset(items)) for items in ('ab', [1, 2, 3]))
    >>> list(Merge((letters, numbers), ('letter', 'number')))
    [('a', 1), ('b', 2)]
    >>> list(Merge((letters, numbers), ('letter', 'number'), on_unequal='cycle'))
    [('a', 1), ('b', 2), ('a', 3)]

    """

    sources: Any

    def __init__(
        self,
        data_streams: Sequence[Any],
        sources: Any,
        axis_labels: Any = None,
        *,
        on_unequal: str = "shortest",
        name: str | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(iteration_scheme=None, axis_labels=axis_labels, name=name, seed=seed)
        if (
            not isinstance(data_streams, Iterable)
            or isinstance(data_streams, (str, bytes))
            or hasattr(data_streams, "get_epoch_iterator")
        ):
            raise TypeError(
                f"Merge needs a list or tuple of streams, got {data_streams!r:.80}; put even a "
                "single stream in a list"
            )
        streams = data_streams if isinstance(data_streams, (list, tuple)) else tuple(data_streams)
        if not streams:
            raise ValueError("Merge needs at least one stream, got none")
        kinds = {bool(kind_below("Merge", stream)) for stream in streams}
        if len(kinds) > 1:
            told = ", ".join(
                f"{type(stream).__name__} ({'examples' if stream.produces_examples else 'batches'})"
                for stream in streams
            )
            raise ValueError(
                "Merge needs streams that all produce examples, or all produce batches, got "
                f"{told}; put Batch or Unpack above some of them"
            )
        there = [source for stream in streams for source in sources_below("Merge", stream)]
        sources = check_names("Merge", "sources", sources)
        if len(sources) != len(there):
            raise ValueError(
                f"Merge needs one name for each of the {len(there)} sources {there}, got "
                f"{len(sources)}: {tuple(sources)}"
            )
        if on_unequal not in _POLICIES:
            raise ValueError(
                f"`on_unequal` of Merge must be one of {_POLICIES}, got {on_unequal!r}"
            )
        self.produces_examples = kinds.pop()
        self.data_streams = streams
        self.sources = sources
        self.on_unequal = on_unequal

    @property
    def child_epoch_iterators(self) -> list[Any]:
        """The items of the streams, in the epoch started last.

        Raises
        ------
        AttributeError
            Before an epoch was started.

        """
        given: list[Any] | None = self.__dict__.get("child_epoch_iterators")
        if given is not None:
            return given
        if self._live is None:
            raise AttributeError(
                f"{type(self).__name__} has no 'child_epoch_iterators' before an epoch was "
                "started; call `get_epoch_iterator()` first"
            )
        passes = zip(self.data_streams, self._live.children(), strict=True)
        return [DataIterator.of_pass(stream, one) for stream, one in passes]

    @child_epoch_iterators.setter
    def child_epoch_iterators(self, iterators: list[Any]) -> None:
        self.__dict__["child_epoch_iterators"] = iterators

    def close(self) -> None:
        """Close all streams."""
        if self._live is not None:
            self._live.close()
        for stream in self.data_streams:
            stream.close()

    def reset(self) -> None:
        """Reset all streams."""
        for stream in self.data_streams:
            stream.reset()

    def next_epoch(self) -> None:
        """Get all streams ready for the next epoch."""
        for stream in self.data_streams:
            stream.next_epoch()

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        """Start an epoch; see `AbstractDataStream.get_epoch_iterator`."""
        return super().get_epoch_iterator(as_dict=as_dict)

    def get_data(self, request: Any = None) -> Any:
        """Return the next item of the epoch started last.

        Parameters
        ----------
        request : None
            Merge takes no requests.

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
        given = self.__dict__.get("child_epoch_iterators")
        if given is not None:
            # Somebody started the streams himself, and goes on with their items.
            items = [next(iterator) for iterator in given]
            return tuple([data for item in items for data in item])
        if self._live is None:
            raise IteratorInvalidatedError(
                f"{type(self).__name__}.get_data was called before an epoch was started; call "
                "`get_epoch_iterator()` first"
            )
        return self._live.face(None)

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        return _MergeCursor(start, self)

    def _effective_seed(self) -> int:
        if self._step_seed is not None:
            return self._step_seed
        first: int = self.data_streams[0]._effective_seed()
        return first

    def _num_items(self) -> int | None:
        return self._total("_num_items")

    def _num_examples(self) -> int | None:
        if not self.produces_examples:
            return None
        return self._total("_num_items")

    def _total(self, what: str) -> int | None:
        known = [_count(stream, what) for stream in self.data_streams]
        counts = [count for count in known if count is not None]
        if len(counts) < len(known):
            return None
        if self.on_unequal == "strict" and len(set(counts)) > 1:
            return None
        return min(counts) if self.on_unequal == "shortest" else max(counts)

    def _fingerprint(self) -> dict[str, JSON]:
        return {"sources": list(self.sources), "on_unequal": self.on_unequal}

    def _why_not_elementwise(self) -> str:
        return "puts streams side by side: runs in order, in this process"

    def _describe(self) -> str:
        parts = [
            stream._describe() if hasattr(stream, "_describe") else type(stream).__name__
            for stream in self.data_streams
        ]
        if self.on_unequal != "shortest":
            parts.append(f"on_unequal={self.on_unequal!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


class _MergeCursor(Cursor):
    """The pass of a `Merge`: the passes of its streams, and who of them has ended.

    Attributes
    ----------
    passes : list of Cursor
        The present pass of each stream.
    origins : list
        For a stream that started another epoch, what that began from; else None.
    rounds : list of int
        How many further epochs each stream has started.
    ended : list of bool
        Which streams have come to the end of an epoch.
    fetched : dict
        What was fetched of the next item, by stream: left there by an error in a later stream.

    """

    step: Merge

    def __init__(self, start: Start, step: Merge) -> None:
        self.passes: list[Any] = [start.child(stream) for stream in step.data_streams]
        super().__init__(start, step)
        self.epoch = self.passes[0].epoch
        count = len(self.passes)
        self.origins: list[JSON] = [None] * count
        self.rounds = [0] * count
        self.first_epochs = [one.epoch for one in self.passes]
        self.ended = [False] * count
        self.fetched: dict[int, Any] = {}
        self.count = 0

    def produce(self, request: Any) -> Any:
        """Return the next item of each stream, side by side."""
        policy = self.step.on_unequal
        stopped: list[int] = []
        for index in range(len(self.passes)):
            if not self._over() and not self._fetch(index):
                stopped.append(index)
        if self._over():
            # What was fetched beside the end belongs to no item; the epoch stays at its end.
            self.fetched = {}
            raise StopIteration
        if stopped and policy == "strict":
            raise ValueError(self._unequal(stopped))
        if policy == "cycle":
            for index in stopped:
                self._begin_again(index)
        item: list[Any] = []
        for index, stream in enumerate(self.step.data_streams):
            nothing = (None,) * len(stream.sources)
            item += self.fetched.get(index, nothing)
        self.fetched = {}
        self.count += 1
        self.context = self._leader().context
        return tuple(item)

    def _over(self) -> bool:
        """Tell whether the epoch has ended."""
        return any(self.ended) if self.step.on_unequal == "shortest" else all(self.ended)

    def _fetch(self, index: int) -> bool:
        """Fetch from one stream; tell whether there was anything."""
        if index in self.fetched:
            return True
        if self.ended[index] and self.step.on_unequal != "cycle":
            return False
        try:
            self.fetched[index] = next(self.passes[index])
        except StopIteration:
            self.ended[index] = True
            return False
        return True

    def _begin_again(self, index: int) -> None:
        """Start the next epoch of a stream that has ended."""
        self.rounds[index] += 1
        self._open(index, None)
        try:
            self.fetched[index] = next(self.passes[index])
        except StopIteration:
            raise ValueError(
                f"Merge cannot go on with stream {index} ({self._name(index)}) again and again: "
                "it is empty; leave it out, or use another `on_unequal`"
            ) from None

    def _open(self, index: int, origin: JSON) -> None:
        # Closed first, so that the source knows that nobody reads the old pass any more.
        self.passes[index].close()
        # An epoch of its own within this one, whatever other iterators of the stream do.
        epoch = self.first_epochs[index] + (self.rounds[index] << 32)
        start = Start(self.context.draws, origin, epoch)  # type: ignore[arg-type]
        self.passes[index] = start.child(self.step.data_streams[index])
        self.origins[index] = start.origin

    def _leader(self) -> Any:
        """Return the pass that tells where the item stands: the first that has not ended yet."""
        for index, one in enumerate(self.passes):
            if not self.ended[index]:
                return one
        return self.passes[0]

    def _name(self, index: int) -> str:
        return type(self.step.data_streams[index]).__name__

    def _unequal(self, stopped: list[int]) -> str:
        told = [
            f"stream {index} ({self._name(index)}) "
            + (f"ended after {self.count} items" if index in stopped else "has more")
            for index in range(len(self.passes))
        ]
        return (
            f"the streams of Merge are of unequal lengths: {', '.join(told)}; use streams of one "
            "length, or on_unequal='shortest', 'longest' or 'cycle'"
        )

    def tell(self) -> JSON:
        """Describe the place in each stream."""
        if self.fetched:
            raise NeedsReplay("an error came between the streams of a Merge")
        streams: list[JSON] = []
        state = zip(self.passes, self.origins, self.rounds, self.ended, strict=True)
        for one, origin, round_number, ended in state:
            mark: dict[str, JSON] = {"at": one.tell()}
            if origin is not None:
                mark["origin"] = described(origin)
                mark["round"] = round_number
            if ended:
                mark["ended"] = True
            streams.append(mark)
        return {"items": self.count, "streams": streams}

    def seek(self, mark: JSON) -> None:
        """Go to a place described earlier."""
        self.count, self.fetched = mark["items"], {}
        for index, one in enumerate(mark["streams"]):
            if "origin" in one:
                self.rounds[index] = one["round"]
                self._open(index, one["origin"])
            self.passes[index].seek(one["at"])
            self.ended[index] = bool(one.get("ended"))

    def children(self) -> list[Any]:
        """Return the passes of the streams."""
        return self.passes
