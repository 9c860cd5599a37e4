"""What every stream is: epochs, axis labels, saved state, and the everyday surface.

Sources of data are in `fuel.streams._dataset` and `fuel.streams._remote`; how an epoch is
evaluated is in `fuel.plan`.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fuel.config_parser import config
from fuel.iterator import DataIterator, checked, describe
from fuel.plan import Cursor, Run, explain
from fuel.plan._asking import indices_of, item_of
from fuel.plan._chain import fingerprint
from fuel.plan._run import guarded
from fuel.plan._upcoming import is_upcoming, set_upcoming, upcoming
from fuel.schemes._base import num_requests, scheme_fingerprint
from fuel.state import make_state, plain
from fuel.typing import JSON
from fuel.utils._overrides import overridden

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["AbstractDataStream"]


class AbstractDataStream(ABC):
    """A stream of examples or batches, one epoch after the other.

    Parameters
    ----------
    iteration_scheme : IterationScheme, optional
        Makes the requests handed to `get_data`; None for a stream that needs none.
    axis_labels : dict, optional
        From source name to a tuple of axis labels, or to None.
    name : str, optional
        The name of this step, part of the address of its random draws. Default: the class.
    seed : int, optional
        Seed of the random draws of this step; on a source, of all steps above it that have none.
        Default: that of the stream below, and at the source ``config.default_seed``.

    Attributes
    ----------
    iteration_scheme : IterationScheme or None
        As given.
    axis_labels : dict or None
        As given.
    produces_examples : bool
        Whether the items are examples (else: batches).

    Notes
    -----
    Iterators of one stream are independent of each other. A stream pickles without open files,
    sockets, processes and passes. Streams are not safe to share between threads.

    """

    iteration_scheme: Any = None
    axis_labels: Any = None
    _step_name: str | None = None
    _step_seed: int | None = None
    _produces_examples: bool
    _latest_run: Run | None = None
    _pending_state: JSON = None
    _live: Any = None

    def __init__(
        self,
        iteration_scheme: Any = None,
        axis_labels: Any = None,
        *,
        name: str | None = None,
        seed: int | None = None,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"`name` must be a string, got {name!r:.80}; leave it out for none")
        if iteration_scheme is not None and (
            isinstance(iteration_scheme, type)
            or not hasattr(iteration_scheme, "get_request_iterator")
        ):
            raise TypeError(
                f"the iteration scheme of {type(self).__name__} must have `get_request_iterator`, "
                f"got {iteration_scheme!r:.80}; use one of fuel.schemes, such as "
                "SequentialScheme(examples, batch_size)"
            )
        self.iteration_scheme = iteration_scheme
        self.axis_labels = axis_labels
        if name is not None:
            self._step_name = name
        if seed is not None:
            self._step_seed = _checked_seed(seed)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        # A pass is pickled with its iterator, never with the stream.
        state.pop("_live", None)
        state.pop("_latest_run", None)
        return state

    @property
    def produces_examples(self) -> bool:
        """Whether the items are examples (else: batches)."""
        if self.iteration_scheme is not None:
            return bool(self.iteration_scheme.requests_examples)
        if "_produces_examples" not in self.__dict__:
            raise ValueError(
                f"cannot tell whether {type(self).__name__} produces examples or batches: it has "
                "no iteration scheme; set its `produces_examples`"
            )
        return self._produces_examples

    @produces_examples.setter
    def produces_examples(self, value: bool) -> None:
        if self.iteration_scheme is not None:
            raise ValueError(
                f"`produces_examples` of {type(self).__name__} follows from its iteration scheme "
                f"({type(self.iteration_scheme).__name__}) and cannot be set"
            )
        self._produces_examples = value

    # -- what a step offers to the plan ---------------------------------------------------------

    def _take_over(self, other: Any) -> None:  # noqa: B027
        """Take what cannot be copied from the copy of this stream that is not used any more."""

    def _make_cursor(self, start: Start) -> Cursor:
        """Return a new pass of this step."""
        raise NotImplementedError(
            f"{type(self).__qualname__} defines neither `get_data` nor a pass of its own"
        )

    def _fingerprint(self) -> dict[str, JSON]:
        """Describe the parameters that change values."""
        scheme = self.iteration_scheme
        return {} if scheme is None else {"order": plain(scheme_fingerprint(scheme))}

    def _effective_seed(self) -> int:
        """Return the seed of this step's draws."""
        if self._step_seed is not None:
            return self._step_seed
        return int(config.default_seed)

    def _num_items(self) -> int | None:
        """Return the number of items in an epoch, None where it is not known."""
        scheme = self.iteration_scheme
        return None if scheme is None else num_requests(scheme)

    def _num_examples(self) -> int | None:
        """Return the number of examples in an epoch, None where it is not known."""
        return None

    # -- the original surface -------------------------------------------------------------------

    def get_data(self, request: Any = None) -> Any:
        """Return one item.

        Parameters
        ----------
        request : object, optional
            What the iteration scheme asks for.

        Returns
        -------
        tuple
            One entry a source.

        """
        raise NotImplementedError(
            f"{type(self).__qualname__} does not say how data is fetched; implement `get_data`"
        )

    def reset(self) -> None:  # noqa: B027 - a stream without a state has nothing to do
        """Go back to the state of a new stream."""

    def close(self) -> None:  # noqa: B027
        """Release what the stream holds: files, sockets, processes."""

    def next_epoch(self) -> None:  # noqa: B027
        """Get ready for the next epoch."""

    @abstractmethod
    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        """Start an epoch.

        Parameters
        ----------
        as_dict : bool, optional
            Yield dicts from source names to data instead of tuples. Default False.

        Returns
        -------
        DataIterator
            Over one epoch; independent of earlier ones.

        """
        return self._start_epoch(as_dict)

    def iterate_epochs(self, as_dict: bool = False) -> Iterator[Any]:
        """Start epochs, one after the other, without end.

        Parameters
        ----------
        as_dict : bool, optional
            Yield dicts instead of tuples. Default False.

        Yields
        ------
        DataIterator
            The iterator of each epoch.

        """
        while True:
            yield self.get_epoch_iterator(as_dict=as_dict)

    def _start_epoch(self, as_dict: bool = False) -> DataIterator:
        pending = self._pending_state
        if pending is not None:
            run = guarded(lambda: Run(self, pending))
            self._pending_state = None
        else:
            run = Run(self)
        self._latest_run = run
        return DataIterator.of_pass(self, run, as_dict)

    # -- the everyday surface -------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        """Start an epoch: ``for item in stream`` is one."""
        iterator: Iterator[Any] = self.get_epoch_iterator()
        return iterator

    def __len__(self) -> int:
        """Return the number of items in an epoch.

        Raises
        ------
        TypeError
            Where it is not known before the epoch has run.

        """
        unknown = overridden(self, "get_data", "get_epoch_iterator", "_make_cursor")
        length = None if unknown else self._num_items()
        if length is None:
            raise TypeError(
                f"the number of items of {type(self).__name__} is not known before the epoch has "
                "run; count them while iterating"
            )
        return length

    def __bool__(self) -> bool:
        """Return True: a stream is not a container, and its length may be unknown."""
        return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def explain(self) -> str:
        """Say how the chain is evaluated.

        Returns
        -------
        str
            One line a step: its name, what it produces, and whether it can be evaluated for any
            example anywhere, or why not.

        """
        return explain(self)

    def state_dict(self) -> dict[str, JSON]:
        """Describe where the iterator started last is.

        Returns
        -------
        dict
            Plain JSON, equal to the ``state_dict()`` of that iterator; before the first epoch,
            the beginning of it.

        Raises
        ------
        StateError
            If a step cannot say where it is.

        """
        if self._pending_state is not None:
            pending: dict[str, JSON] = self._pending_state
            return pending
        if self._latest_run is not None:
            return describe(self, self._latest_run)
        return make_state(fingerprint(self), upcoming=upcoming(self))

    def load_state_dict(self, state: JSON) -> None:
        """Let the next epoch iterator go on from a saved state.

        The iterator started next continues the epoch in which the state was saved, and those
        after it are the epochs that would have followed.

        Parameters
        ----------
        state : dict
            What `state_dict` of a stream or of its iterator returned.

        Raises
        ------
        StateMismatchError
            If it belongs to another pipeline; both sides are shown.
        StateVersionError, StateDamagedError
            If it was written by a newer version, or is not what was written.

        """
        state = checked(self, state)
        self._latest_run = None
        if is_upcoming(state):
            self._pending_state = None
            guarded(lambda: set_upcoming(self, state))
        else:
            self._pending_state = state

    @property
    def steps_per_epoch(self) -> int:
        """Number of items in an epoch; the same as ``len(stream)``.

        Raises
        ------
        TypeError
            Where it is not known before the epoch has run.

        """
        return len(self)

    def batch_ids(self, number: int) -> Any:
        """Say which examples make up an item of the epoch that was started last.

        Parameters
        ----------
        number : int
            Which item, counted from 0.

        Returns
        -------
        list of int, or int
            The indices of the examples in a batch, or the index of the example. Before the first
            epoch, those of the first.

        Raises
        ------
        RequestError
            If the epoch has no such item.
        TypeError
            Where it cannot be told without running the epoch.

        Notes
        -----
        Takes no longer for a late item than for the first, where the scheme can go to any place.

        """
        return indices_of(self, number)

    def replay(self, state: JSON, number: int) -> Any:
        """Make an item of an earlier epoch again, with the draws it had.

        Parameters
        ----------
        state : dict
            What `state_dict` returned anywhere in the epoch.
        number : int
            Which item of the epoch, counted from 0.

        Returns
        -------
        tuple
            One entry a source, bit for bit what the epoch had, if the data is the same.

        Raises
        ------
        StateMismatchError
            If the state belongs to another pipeline.
        RequestError
            If the epoch has no such item.

        Notes
        -----
        Iterators of this stream, and its epochs to come, are not moved.

        """
        return item_of(self, checked(self, state), number)

    def _describe(self) -> str:
        """Return the part of the repr about this step and those below it."""
        return f"{type(self).__name__}()"

    def __repr__(self) -> str:
        sources = getattr(self, "sources", None)
        try:
            kind = "examples" if self.produces_examples else "batches"
        except ValueError:
            kind = "unknown items"
        return f"<{self._describe()}: {kind} of {sources}>"


def _checked_seed(seed: Any) -> int:
    try:
        if isinstance(seed, bool):
            raise TypeError
        return operator.index(seed)
    except TypeError:
        raise ValueError(
            f"`seed` must be an integer, got {seed!r:.80}; leave it out for the stream's seed"
        ) from None
