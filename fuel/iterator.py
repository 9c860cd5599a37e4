"""The epoch iterator: one pass over a stream, as tuples or dicts.

It adds nothing to the pass (`fuel.plan.Run`) but the dict form and the saved state. The original
form, ``DataIterator(data_stream, request_iterator)``, which calls the stream's ``get_data`` for
each request, works as it always did.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from fuel.exceptions import RequestError, StateError
from fuel.plan._chain import fingerprint, walk
from fuel.plan._run import Run, guarded
from fuel.plan._upcoming import is_upcoming, set_upcoming
from fuel.state import check_state, make_state
from fuel.typing import JSON

__all__ = ["DataIterator"]


class DataIterator:
    """Iterates over one epoch of a stream.

    Users get it from ``stream.get_epoch_iterator()``.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream; each item comes from its `get_data`.
    request_iterator : iterator, optional
        The requests, one an item; without it `get_data` is called without a request.
    as_dict : bool, optional
        Yield dicts from source names to data instead of tuples. Default False.

    Attributes
    ----------
    data_stream, request_iterator, as_dict
        As given.

    Notes
    -----
    Picklable at any point whenever the stream is; the copy goes on with the same next item. Not
    safe to share between threads.

    """

    _run: Run | None = None
    _pass: Any = None

    def __init__(
        self,
        data_stream: Any,
        request_iterator: Iterator[Any] | None = None,
        as_dict: bool = False,
    ) -> None:
        self.data_stream = data_stream
        self.request_iterator = request_iterator
        self.as_dict = as_dict

    @classmethod
    def of_pass(cls, data_stream: Any, one_pass: Any, as_dict: bool = False) -> DataIterator:
        """Return the iterator over a pass (a `Run`, or the `Cursor` of a step inside one).

        Parameters
        ----------
        data_stream : AbstractDataStream
            The stream passed over.
        one_pass : Run or Cursor
            Its pass.
        as_dict : bool, optional
            Yield dicts.

        Returns
        -------
        DataIterator
            The iterator.

        """
        iterator = cls(data_stream, None, as_dict)
        iterator._pass = one_pass
        if isinstance(one_pass, Run):
            iterator._run = one_pass
            iterator.request_iterator = one_pass.cursor.requests
        else:
            iterator.request_iterator = one_pass.requests
        return iterator

    def __iter__(self) -> DataIterator:
        return self

    def __next__(self) -> Any:
        if self._pass is not None:
            data = next(self._pass)
        elif self.request_iterator is not None:
            data = self.data_stream.get_data(next(self.request_iterator))
        else:
            data = self.data_stream.get_data()
        if self.as_dict:
            return dict(zip(self.data_stream.sources, data, strict=False))
        return data

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._run is not None:
            self.data_stream.__dict__["_latest_run"] = self._run

    def __del__(self) -> None:
        run = self._run
        # One that was never read may still be read through the step's own `get_data`.
        if run is not None and run.delivered:
            run.release()

    def close(self) -> None:
        """Release what the pass holds (worker processes, files); it cannot be used afterwards."""
        if self._run is not None:
            self._run.release()

    def skip(self, count: int) -> int:
        """Pass over items of the epoch.

        What is asked for by number is not fetched: that takes no time where the scheme can go to
        any place.

        Parameters
        ----------
        count : int
            How many, from 0 on.

        Returns
        -------
        int
            How many there were: fewer at the end of the epoch.

        Raises
        ------
        ValueError
            If `count` is negative or no integer.

        """
        return self._need_run("pass over items").skip(_whole("count", count))

    def seek(self, number: int) -> None:
        """Go to an item of the epoch, which is the next one to come.

        Parameters
        ----------
        number : int
            Which one, counted from 0. The number of items goes to the end.

        Raises
        ------
        RequestError
            If the epoch has fewer items; the iterator is at its end then.
        ValueError
            If `number` is negative or no integer.
        StateError
            If a step cannot be brought back to the beginning of the epoch, where that is needed.

        """
        run = self._need_run("go anywhere")
        number = _whole("number", number)
        if number < run.delivered or not run.counted:
            run.begin_again()
            self.request_iterator = run.cursor.requests
        left = number - run.delivered
        if run.skip(left) < left:
            raise RequestError(
                f"item {number} was asked for, but the epoch has {run.delivered}; items are "
                "counted from 0"
            )

    def state_dict(self) -> dict[str, JSON]:
        """Describe the place behind the item delivered last.

        Returns
        -------
        dict
            Plain JSON: numbers, strings, lists and dicts. It is loaded with `load_state_dict`, in
            any process, into an iterator of a pipeline built the same way.

        Raises
        ------
        StateError
            If a step cannot say where it is; the message names it and says what to do.

        """
        return describe(self.data_stream, self._need_run())

    def load_state_dict(self, state: JSON) -> None:
        """Go to the place described by `state_dict`.

        The rest of the epoch, and all later epochs of the stream, are those of the run that the
        state was saved in.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Raises
        ------
        StateMismatchError
            If it belongs to another pipeline; both sides are shown.
        StateVersionError, StateDamagedError
            If it was written by a newer version, or is not what was written.

        """
        run = self._need_run()
        load(self.data_stream, run, state)
        self.request_iterator = run.cursor.requests

    def _need_run(self, what: str = "say where it is") -> Run:
        if self._run is None:
            name = type(self.data_stream).__qualname__
            raise StateError(
                f"this iterator of {name} was built directly, as DataIterator(stream, requests), "
                f"and cannot {what}; return `super().get_epoch_iterator(as_dict)` from "
                f"{name}.get_epoch_iterator, or pickle the iterator"
            )
        return self._run


def _whole(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"`{name}` must be an integer from 0 on, got {value!r:.80}")
    return number


def describe(stream: Any, run: Run) -> dict[str, JSON]:
    """Write down where a run of a stream is; see `DataIterator.state_dict`."""
    return make_state(fingerprint(stream), epoch=run.epoch, **run.describe())


def checked(stream: Any, state: JSON) -> dict[str, JSON]:
    """Return a state after checking that it is whole and belongs to the stream."""
    draws = any(getattr(step, "_hands_out_generators", False) for step in walk(stream))
    return check_state(state, fingerprint(stream), draws=draws)


def load(stream: Any, run: Run, state: JSON) -> None:
    """Bring a run to the place that a state describes; see `DataIterator.load_state_dict`."""
    state = checked(stream, state)
    if is_upcoming(state):
        guarded(lambda: set_upcoming(stream, state))
        run.restart()
    else:
        guarded(lambda: run.restore(state))
