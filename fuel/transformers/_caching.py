"""Batches cut anew: `Cache`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuel.plan import Context, Cursor
from fuel.plan._foreign import NeedsReplay
from fuel.schemes import BatchSizeScheme
from fuel.transformers._base import Transformer, _count
from fuel.transformers._checks import labels_below, need_stream
from fuel.transformers._holding import RequestCursor, check_request, told
from fuel.transformers._stacking import stack
from fuel.transformers._totals import batch_totals
from fuel.typing import JSON
from fuel.utils._overrides import overridden

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Cache"]


class Cache(Transformer):
    """Cuts batches of another size from those of a stream that reads in large portions.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of batches (or of portions: items whose sources are collections of one length).
    iteration_scheme : BatchSizeScheme
        Says how many examples each batch has, for example ``ConstantScheme(32)``.
    **kwargs
        `axis_labels` (default: kept), `name`.

    Attributes
    ----------
    cache : list of list
        The examples fetched and not delivered yet in the epoch started last, source by source.

    Raises
    ------
    ValueError
        If `iteration_scheme` is not a BatchSizeScheme.

    Notes
    -----
    As many batches are fetched as a request needs; only the last batch of an epoch can be short.
    An epoch starts with an empty cache. A resumed pass fetches again the batches that it held.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import ConstantScheme, SequentialScheme
    >>> from fuel.streams import DataStream
    >>> portions = DataStream(IndexableDataset({'x': numpy.arange(5)}),
    ...                       iteration_scheme=SequentialScheme(5, 3))
    >>> [x.tolist() for x, in Cache(portions, ConstantScheme(2))]
    [[0, 1], [2, 3], [4]]

    """

    def __init__(self, data_stream: Any, iteration_scheme: Any, **kwargs: Any) -> None:
        if not isinstance(iteration_scheme, BatchSizeScheme):
            raise ValueError(
                "the iteration scheme of Cache must be a BatchSizeScheme, got "
                f"{told(iteration_scheme)}; use for example ConstantScheme(batch_size)"
            )
        need_stream("Cache", data_stream)
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, iteration_scheme=iteration_scheme, **kwargs)

    @property
    def cache(self) -> list[list[Any]]:
        """The examples fetched and not delivered yet, source by source."""
        cursor = self._cursor()
        if cursor is not None:
            return cursor.cache
        # That of a subclass which fills and empties it by itself; a new epoch begins without it.
        live = self._live
        if live is not None and live.count == 0 and not hasattr(live, "began_empty"):
            live.began_empty = True
            self.__dict__.pop("_own_cache", None)
        own: list[list[Any]] = self.__dict__.setdefault("_own_cache", [])
        own += [[] for _ in self.sources[len(own) :]]
        return own

    @cache.setter
    def cache(self, cache: Any) -> None:
        held = [source if isinstance(source, list) else list(source) for source in cache]
        cursor = self._cursor()
        if cursor is None:
            self._own_cache = held
        else:
            cursor.cache = held

    def _cursor(self) -> _CacheCursor | None:
        # In a subclass with a `get_data` of its own, ours is the pass inside the subclass's.
        live = self._live
        found = live if isinstance(live, _CacheCursor) else getattr(live, "inner", None)
        return found if isinstance(found, _CacheCursor) else None

    def _cache(self) -> None:
        """Fetch one more batch of the stream below; a subclass may do it in another way."""
        cursor = self._cursor()
        if cursor is not None:
            cursor.fetch_batch()
            return
        for held, source in zip(self.cache, next(self.child_epoch_iterator), strict=False):
            held.extend(source)

    def _check_request(self, request: Any) -> None:
        check_request(type(self).__name__, request)

    def _make_cursor(self, start: Start) -> Cursor:
        if overridden(self, "_cache"):
            return _HookedCacheCursor(start, self)
        return _CacheCursor(start, self)

    def _num_items(self) -> int | None:
        return self._totals()[0]

    def _num_examples(self) -> int | None:
        return self._totals()[1]

    def _totals(self) -> tuple[int | None, int | None]:
        if self.data_stream.produces_examples:
            return None, None
        return batch_totals(self.iteration_scheme, _count(self.data_stream, "_num_examples"))

    def _fingerprint(self) -> dict[str, JSON]:
        return {}  # how batches are cut changes no example

    def _parameters(self) -> dict[str, Any]:
        scheme = self.iteration_scheme
        size = getattr(scheme, "batch_size", None)
        if size is None:
            return {"iteration_scheme": type(scheme).__name__}
        return {"batch_size": size}


class _CacheCursor(RequestCursor):
    """The pass of a `Cache`: it holds what was fetched and not delivered."""

    step: Cache

    def __init__(self, start: Start, step: Cache) -> None:
        super().__init__(start, step)
        self._empty()

    def _empty(self) -> None:
        self.cache: list[list[Any]] = [[] for _ in self.step.data_stream.sources]
        self.contexts: list[Context] = []
        # For each batch of which something is held: where it came from, and its size.
        self.batches: list[tuple[Any, int]] = []
        self.used = 0

    def fetch(self) -> None:
        """Fetch one more batch."""
        self.fetch_batch()

    def fetch_batch(self) -> None:
        """Fetch one more batch the way we do it."""
        self._hold(self.below.place(), next(self.child))

    def _hold(self, place: Any, batch: Any) -> None:
        batch = [list(source) for source in batch]
        size = min(map(len, batch), default=0)
        if not size:
            return
        context = self.child.context
        for held, source in zip(self.cache, batch, strict=False):
            held += source[:size]
        self.contexts += [context.one(index) for index in range(size)]
        self.batches.append((place, size))

    def produce(self, request: Any) -> Any:
        """Return a batch of so many examples."""
        count = check_request(type(self.step).__name__, request)
        while len(self.contexts) < count:
            try:
                self.fetch()
            except StopIteration:
                break
        if not self.contexts:
            raise StopIteration
        count = min(count, len(self.contexts))
        batch = tuple([stack(held[:count]) for held in self.cache])
        self.context = Context.gather(self.contexts[:count])
        self._drop(count)
        return batch

    def _drop(self, count: int) -> None:
        for held in self.cache:
            del held[:count]
        del self.contexts[:count]
        self.used += count
        while self.batches and self.used >= self.batches[0][1]:
            self.used -= self.batches.pop(0)[1]

    def tell_held(self) -> JSON:
        """Describe the batches held: where the first came from, how many, how much was used."""
        place = self.batches[0][0] if self.batches else self.below.place()
        return {
            "from": self.below.written(place),
            "batches": len(self.batches),
            "used": self.used,
        }

    def seek_held(self, mark: JSON) -> None:
        """Fetch the batches again."""
        self._empty()
        self.below.go(mark["from"])
        while len(self.batches) < mark["batches"]:
            self._hold(self.below.place(), self.below.again())
        self._drop(mark["used"])


class _HookedCacheCursor(_CacheCursor):
    """The pass of a subclass whose user wrote `_cache`: it adds what it likes, in any order."""

    def fetch(self) -> None:
        """Let the subclass fetch, and see what it has left in the cache."""
        self.step._cache()
        size = min(map(len, self.cache), default=0)
        del self.contexts[size:]
        there, context = len(self.contexts), self.child.context
        self.contexts += [context.one(index) for index in range(size - there)]

    def tell_held(self) -> JSON:
        """Say that nobody but the subclass knows where the examples held came from."""
        raise NeedsReplay(f"{type(self.step).__qualname__} fills its cache by itself")
