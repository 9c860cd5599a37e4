"""Single items of an epoch, without running it: which examples they are made of, and the item.

In this room: `indices_of`, which asks the order of an epoch, and `item_of`, which evaluates one
item of an epoch that a state describes. Neither moves any iterator, nor the epochs to come.
"""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy

from fuel.exceptions import RequestError
from fuel.plan import _memory, _upcoming
from fuel.plan._chain import children, walk
from fuel.plan._parts import find_parts
from fuel.plan._run import Run
from fuel.schemes._base import order_state, set_order_state, start_requests
from fuel.typing import JSON

__all__ = ["indices_of", "item_of"]


def indices_of(stream: Any, number: int) -> Any:
    """Return which examples make up an item of the epoch that was started last.

    Parameters
    ----------
    stream : stream
        The top of a chain.
    number : int
        Which item, from 0.

    Returns
    -------
    list of int, or int
        The indices of a batch, or that of an example, as the scheme asks for them.

    Raises
    ------
    RequestError
        If the epoch has no such item.
    TypeError
        If that cannot be told without running the epoch.

    """
    number = _number(number)
    step = stream
    while getattr(step, "_transparent", False) and len(children(step)) == 1:
        number = getattr(step, "_number_below", _same)(number)
        step = children(step)[0]
    part = next((one for one in find_parts(step) if one.top is step and not one.given), None)
    if part is None:
        raise TypeError(
            f"which examples make up an item of {type(stream).__name__} is only known where they "
            "are asked for by number and every step above makes one item of each, or batches; "
            "`explain()` says which step does not"
        )
    scheme = part.source.iteration_scheme
    requests = _requests(stream, part.source, scheme)
    size = 1
    if part.group is not None:
        size = getattr(part.group.iteration_scheme, "batch_size", 0)
        if not size:
            raise TypeError(
                f"the batches of {type(part.group).__name__} have no single size; run the epoch"
            )
    passed = requests.skip(number * size)
    found: list[Any] = []
    if passed == number * size:
        for _ in range(size):
            try:
                found.append(next(requests))
            except StopIteration:
                break
    short = part.group is not None and len(found) < size and part.group.strictness
    if not found or short:
        raise RequestError(
            f"item {number} was asked for, but the epoch of {type(stream).__name__} ends before "
            "it; items are counted from 0"
        )
    return found if part.group is not None else _plain(found[0])


def _same(number: int) -> int:
    return number


def _number(number: Any) -> int:
    try:
        if isinstance(number, bool):
            raise TypeError
        found = operator.index(number)
    except TypeError:
        found = -1
    if found < 0:
        raise RequestError(f"the number of an item must be an integer from 0 on, got {number!r}")
    return found


def _plain(request: Any) -> Any:
    return request.tolist() if isinstance(request, (numpy.ndarray, numpy.generic)) else request


def _requests(stream: Any, source: Any, scheme: Any) -> Any:
    """Start the requests of the present epoch once more, and leave the scheme as it is."""
    run = stream.__dict__.get("_latest_run")
    before = order_state(scheme)
    if run is None:
        epoch = int(source.__dict__.get("_next_epoch", 0))
    else:
        epoch = run.origin["epochs"][0]
        set_order_state(scheme, run.origin["orders"][0])
    try:
        return start_requests(scheme, epoch)
    finally:
        set_order_state(scheme, before)


def item_of(stream: Any, state: JSON, number: int) -> Any:
    """Return an item of the epoch in which a state was saved.

    Parameters
    ----------
    stream : stream
        The top of a chain.
    state : dict
        A checked state of it.
    number : int
        Which item, from 0.

    Returns
    -------
    tuple
        The item, as the epoch had it.

    Raises
    ------
    RequestError
        If the epoch has no such item.

    """
    number = _number(number)
    remembered = _memory.capture(stream) if _memory.remembers(stream) else None
    twin = _copied(stream)
    try:
        if _upcoming.is_upcoming(state):
            _upcoming.set_upcoming(twin, state)
            run = Run(twin)
        else:
            began = {"delivered": 0, "origin": state["origin"], "position": {"replay": 0}}
            run = Run(twin, began)
        try:
            if run.skip(number) == number:
                return next(run)
        except StopIteration:
            pass
        finally:
            run.release()
            for step in walk(twin):
                if step.__dict__.get("data_state") is not None:
                    step.close()  # what was opened for it
    finally:
        if remembered is not None:
            _memory.restore(stream, remembered)
    raise RequestError(
        f"item {number} was asked for, but the epoch of {type(stream).__name__} ends before it; "
        "items are counted from 0"
    )


def _copied(stream: Any) -> Any:
    """Return a chain of copies of the steps, whose orders and epochs are their own."""
    twins: dict[int, Any] = {}
    for step in walk(stream):
        twin = copy.copy(step)
        for name in ("_live", "_latest_run", "_pending_state", "_child_epoch_iterator", "_memory"):
            twin.__dict__.pop(name, None)
        if twin.__dict__.get("iteration_scheme") is not None:
            twin.__dict__["iteration_scheme"] = copy.deepcopy(step.iteration_scheme)
        if twin.__dict__.get("data_state") is not None:
            # What is read in order is read from the beginning, and by nobody else.
            twin.__dict__["_opened"] = False
        below = children(step)
        if "data_streams" in twin.__dict__:
            twin.__dict__["data_streams"] = type(step.data_streams)(
                [twins[id(one)] for one in below]
            )
        elif below:
            twin.__dict__["data_stream"] = twins[id(below[0])]
        twins[id(step)] = twin
    return twins[id(stream)]
