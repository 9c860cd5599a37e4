"""`DataLoader`: data in, batches out.

In this room: the user's surface, and which run comes next. Not here: checks of arguments
(`_arguments`), what is built of them (`_plan`), the items of a run (`_iterator`), and shorter ways
to a loader (`_shortcuts`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy
from numpy.typing import NDArray

from fuel.exceptions import RequestError
from fuel.loader._arguments import Arguments
from fuel.loader._iterator import LoaderIterator
from fuel.loader._other_names import refuse_unknown
from fuel.loader._places import loader_state, of_stream, read_state, to_stream
from fuel.loader._plan import Plan
from fuel.loader._replaying import rebuilt
from fuel.plan import explain
from fuel.typing import JSON

__all__ = ["DataLoader"]


class DataLoader:
    """Iterates over data in batches.

    Parameters
    ----------
    data : container, Dataset or stream
        An array (observations along the first axis), a list, anything with ``len`` and ``[]`` (and
        perhaps ``__getitems__(indices)`` for a whole batch at once), a view of `fuel.observations`;
        a tuple, named tuple or dict of these; a Fuel dataset; or a stream, whose examples come in
        its own order.
    batch_size : int, default 1
        Examples in a batch. A negative number gives single observations. None likewise, but of a
        stream of batches its batches as they are.
    shuffle : bool, default False
        Visit the observations in a new order in every epoch. The order depends on `seed` and the
        number of the epoch alone, and takes neither memory nor time to begin.
    partial : bool, default True
        Keep a last batch with fewer examples (elsewhere ``drop_last=False``).
    collate : {None, False, True} or callable, optional
        What a batch is. None (default): what asking for several observations at once gives, an
        array for an array, a list for a list. False: the list of observations. True: the
        observations stacked along a new first axis, recursively (`fuel.observations.batch`). A
        function: what it returns for the list of observations. With `transform`, None is True.
    parallel : bool or int, default False
        Load with so many threads of this process; True takes as many as usable processors.
    num_workers : int, default 0
        Load with so many processes. `parallel` and `num_workers` exclude each other.
    buffer : bool, default False
        Fetch arrays of numbers into the same memory again and again: an item is then valid until
        the next one is asked for. Not with `num_workers`; with `parallel`, and for what is no array
        in memory, items have memory of their own all the same.
    seed : int, optional
        Seed of the order and of the draws of `transform`. Default: ``config.default_seed`` (for a
        stream: that of the stream).
    transform : callable, optional
        ``f(observation)``, called for every observation before it is put into a batch. As
        ``f(observation, rng)`` it is handed a `numpy.random.Generator` whose draws depend on the
        seed, the epoch and the observation's place in it alone.
    num_epochs : int or None, default 1
        How many times one iteration goes through the data; None for no end. Batches run across the
        borders of epochs.
    prefetch : int, optional
        How many items workers may be ahead. Default: two batches for each worker.
    on_error : {'raise', 'skip', 'replace'}, callable or FailurePolicy, default 'raise'
        What to do about an observation that cannot be loaded; see `fuel.transformers.Parallel`.
        Batches are filled with those after one that was left out.
    ordered : bool, default True
        With False, and workers, batches come as they are done, each exactly once.
    restarts, stall_timeout_s, start_method, shared_memory_bytes
        As for `fuel.transformers.Parallel`.
    replay : bool, default False
        Whether every iteration is the first one again. By default the second goes on with the next
        epochs.
    as_dict : bool, default False
        Items of a dataset or a stream as dicts by source. Default: tuples.

    Attributes
    ----------
    failures : FailureReport or None
        What could not be loaded in the run started last.

    Raises
    ------
    TypeError
        If the data is none of these, or an argument of the wrong type.
    ValueError
        If an argument has no possible value, two exclude each other, or there would be no batch at
        all.

    Notes
    -----
    An item has the structure of the data: an array for an array, a tuple for a tuple, a dict for a
    dict, the same class for a named tuple, and for a dataset or a stream a tuple with one entry a
    source. Order, contents and draws are the same with any kind and number of workers. Arrays are
    the user's own, except with ``buffer=True``.

    A loader may have several iterators at a time. It pickles if the data and the functions do.
    Neither is safe to share between threads.

    Examples
    --------
    >>> import numpy
    >>> from fuel import DataLoader
    >>> data = {'data': numpy.arange(20.0).reshape(10, 2), 'label': list('abcdefghij')}
    >>> loader = DataLoader(data, batch_size=4)
    >>> [(batch['data'].shape, batch['label']) for batch in loader]
    [((4, 2), ['a', 'b', 'c', 'd']), ((4, 2), ['e', 'f', 'g', 'h']), ((2, 2), ['i', 'j'])]
    >>> [len(x) for x in DataLoader(numpy.arange(10), batch_size=4, shuffle=True, num_epochs=2)]
    [4, 4, 4, 4, 4]
    >>> list(DataLoader(['a', 'bb', 'ccc', 'dddd'], batch_size=2, collate=''.join))
    ['abb', 'cccdddd']

    """

    def __init__(
        self,
        data: Any,
        batch_size: int | None = 1,
        *,
        shuffle: bool = False,
        partial: bool = True,
        collate: bool | Callable[[list[Any]], Any] | None = None,
        parallel: bool | int = False,
        num_workers: int = 0,
        buffer: bool = False,
        seed: int | None = None,
        transform: Callable[..., Any] | None = None,
        num_epochs: int | None = 1,
        prefetch: int | None = None,
        on_error: Any = "raise",
        ordered: bool = True,
        restarts: int = 3,
        stall_timeout_s: float | None = 120.0,
        start_method: str | None = None,
        shared_memory_bytes: int | None = None,
        replay: bool = False,
        as_dict: bool = False,
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            refuse_unknown(unknown, [*(DataLoader.__init__.__kwdefaults__ or ()), "batch_size"])
        executor = {
            "prefetch": prefetch,
            "on_error": on_error,
            "ordered": ordered,
            "restarts": restarts,
            "stall_timeout_s": stall_timeout_s,
            "start_method": start_method,
            "shared_memory_bytes": shared_memory_bytes,
        }
        arguments = Arguments.checked(
            batch_size=batch_size,
            shuffle=shuffle,
            partial=partial,
            collate=collate,
            parallel=parallel,
            num_workers=num_workers,
            buffer=buffer,
            seed=seed,
            transform=transform,
            num_epochs=num_epochs,
            as_dict=as_dict,
            replay=replay,
            executor=executor,
        )
        self._plan = Plan(data, arguments)
        self._stream = self._plan.build()
        # What a loader that replays goes back to.
        self._beginning: JSON = None
        self._next_run = 0
        self._pending: JSON = None
        # The iterator whose place is that of the loader: a weak reference, and what it is known by.
        self._latest: Any = None
        self._token: Any = None
        # Where it was when it was let go.
        self._last_state: JSON = None

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        latest = self._iterator()
        if latest is not None:
            # Iterators are pickled by themselves, and report again when they are back.
            state["_last_state"] = latest.state_dict() if self._plan.by_place else None
        state["_latest"] = None
        return state

    # -- runs -----------------------------------------------------------------------------------

    def __iter__(self) -> LoaderIterator:
        """Start a run: ``for batch in loader`` is `num_epochs` epochs."""
        plan, pending = self._plan, self._pending
        replay = plan.arguments.replay
        if not plan.by_place:
            if pending is None and replay:
                if self._beginning is None:
                    self._beginning = self._stream.state_dict()
                self._stream.load_state_dict(self._beginning)
            items = self._stream.get_epoch_iterator()
            iterator = LoaderIterator(self, items, items._run.epoch)
        else:
            run = pending["run"] if pending is not None else 0 if replay else self._next_run
            items = plan.begin_at(self._stream, run)
            iterator = LoaderIterator(self, items, run)
            if pending is not None:
                iterator._go(pending)
        self._pending = None
        self._started(iterator)
        return iterator

    def _started(self, iterator: LoaderIterator) -> None:
        """Take note of the iterator whose place is that of the loader."""
        self._token = iterator._token = object()
        self._next_run = iterator._run + 1
        self._returned(iterator)

    def _returned(self, iterator: LoaderIterator) -> None:
        """Know the latest iterator again, after both were pickled."""
        if iterator._token is self._token:
            self._latest = weakref.ref(iterator)
            self._last_state = None

    def _iterator(self) -> LoaderIterator | None:
        found: LoaderIterator | None = None if self._latest is None else self._latest()
        return found

    def _left(self, iterator: LoaderIterator) -> None:
        """Keep the place of an iterator that nobody reads any more."""
        if iterator._token is not self._token or not self._plan.by_place:
            return
        self._token = self._latest = None
        try:
            self._last_state = iterator.state_dict()
        except Exception:  # of a process that is ending, or a chain that is broken
            self._last_state = None

    # -- how many, and which --------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of items in a run.

        Raises
        ------
        TypeError
            Where it has no end, or nobody knows before it has run.

        """
        return self._counted(self._known_length())

    def _counted(self, number: int | None) -> int:
        if number is None:
            reason = "it is not known how many examples there are"
            if self._plan.arguments.num_epochs is None:
                reason = "num_epochs=None has no end; `steps_per_epoch` is the number for one epoch"
            elif self._plan.arguments.may_skip:
                reason = "examples may be left out"
            raise TypeError(f"the number of batches is not known: {reason}")
        return number

    def _known_length(self) -> int | None:
        if self._plan.scheme is not None:
            return self._plan.items()
        try:
            return len(self._stream)
        except TypeError:
            return None

    def __bool__(self) -> bool:
        """Return True: a loader is not a container, and its length may be unknown."""
        return True

    @property
    def steps_per_epoch(self) -> int:
        """How many items a run has; without an end, how many whole batches an epoch has.

        Raises
        ------
        TypeError
            Where nobody knows before it has run.

        """
        arguments, examples = self._plan.arguments, self._plan.examples
        if arguments.num_epochs is None and examples is not None and not arguments.may_skip:
            return examples // (arguments.batch_size or 1)
        return len(self)

    def batch_ids(self, number: int) -> NDArray[numpy.int64]:
        """Return which examples make up a batch, without loading anything.

        Parameters
        ----------
        number : int
            The number of the batch, in the run that is being iterated over (before the first
            iteration: that which comes next), from its beginning.

        Returns
        -------
        numpy.ndarray, shape (n,), dtype int64
            The indices of its examples in the data, in order. Examples that `on_error` leaves out
            or replaces are not known beforehand.

        Raises
        ------
        RequestError
            If there is no such batch. It is a ValueError and an IndexError.
        TypeError
            If the data is a stream that cannot tell.

        """
        plan = self._plan
        if plan.scheme is None:
            found: Any = self._stream.batch_ids(number)
            return numpy.atleast_1d(numpy.asarray(found, dtype=numpy.int64))
        order = plan.scheme.order(self._current_run())
        size = plan.arguments.batch_size or 1
        first = number * size
        count = min(size, order.count - first)
        if number < 0 or count < 1 or (count < size and not plan.arguments.partial):
            total = plan.items()
            has = "is endless" if total is None else f"has {total} batches"
            raise RequestError(f"the run {has}, got a request for batch {number}")
        ids: NDArray[numpy.int64] = order.block(first, count).copy()
        return ids

    def _current_run(self) -> int:
        latest = self._iterator()
        if latest is not None:
            return latest._run
        if self._pending is not None:
            return int(self._pending["run"])
        if self._last_state is not None and self._plan.by_place:
            return int(self._last_state["run"])
        return self._next_run

    def replay_batch(self, state: JSON, number: int) -> Any:
        """Rebuild one batch exactly as it was, without disturbing anything.

        Parameters
        ----------
        state : dict
            A state saved in the run that the batch was in, anywhere in it.
        number : int
            The number of the batch in that run, from its beginning, with the batch size of this
            loader.

        Returns
        -------
        object
            The batch.

        Raises
        ------
        RequestError
            If there is no such batch.
        StateError
            If the state does not belong to this loader.

        """
        plan = self._plan
        if not plan.by_place:
            return self._packed(self._stream.replay(to_stream(plan, self._stream, state), number))
        return rebuilt(plan, state, number)

    def _packed(self, data: Any) -> Any:
        if tuple(self._stream.sources) == ("item",):
            return data[0][0] if self._plan.one_by_one else data[0]
        return self._plan.structure.pack(data)

    # -- saved places ---------------------------------------------------------------------------

    def state_dict(self) -> dict[str, JSON]:
        """Describe where the iterator started last is: behind the batch delivered last.

        Returns
        -------
        dict
            Plain JSON. It can be loaded into a loader over the same data with another batch size,
            `collate`, and other workers.

        """
        latest = self._iterator()
        if latest is not None:
            return latest.state_dict()
        state: dict[str, JSON]
        if self._last_state is not None:
            state = self._last_state
            return state
        if not self._plan.by_place:
            return of_stream(self._plan, self._stream.state_dict())
        if self._pending is not None:
            state = self._pending
            return state
        run = 0 if self._plan.arguments.replay else self._next_run
        return loader_state(self._plan, run, 0, False)

    def load_state_dict(self, state: JSON) -> None:
        """Let the next iteration go on from a saved place, and those after it as they would have.

        Parameters
        ----------
        state : dict
            What `state_dict` of a loader or of its iterator returned.

        Raises
        ------
        StateMismatchError
            If it belongs to another loader; both sides are shown.
        StateVersionError, StateDamagedError
            If it was written by a newer version, or is not what was written.

        """
        if not self._plan.by_place:
            if self._beginning is None and self._plan.arguments.replay:
                self._beginning = self._stream.state_dict()
            state = to_stream(self._plan, self._stream, state)
            self._stream.load_state_dict(state)
            self._pending = {"run": state.get("epoch", 0)}
        else:
            self._pending = read_state(self._plan, state)
        self._latest = self._last_state = None

    # -- the rest -------------------------------------------------------------------------------

    @property
    def failures(self) -> Any:
        """What could not be loaded in the run started last; None where that is an error."""
        return getattr(self._stream, "failures", None)

    def explain(self) -> str:
        """Say how the batches are made.

        Returns
        -------
        str
            What the loader was asked for, and one line for each step of its chain.

        """
        return f"{self._plan.describe()}\n{explain(self._stream)}"

    def close(self) -> None:
        """Release what the loader holds: workers, files. It can be iterated over again."""
        latest = self._iterator()
        if latest is not None:
            latest.close()
        self._stream.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        number = self._known_length()
        return f"<{self._plan.describe()}: {'?' if number is None else number} batches>"
