"""What users' steps, functions and datasets remember between calls, by the name of the step.

Our own steps keep nothing on themselves, and a function that takes ``rng`` promises that it does
not; anything else that a user wrote may remember, so it is watched from its first use on.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from fuel.plan._chain import elementwise, step_names, walk
from fuel.state._places import is_users
from fuel.state.hidden import Memory
from fuel.typing import JSON
from fuel.utils._overrides import is_ours, overridden

__all__ = ["capture", "remembers", "restore", "watch"]

#: What belongs to a step of a chain.
_PARTS = ("iteration_scheme", "dataset")
#: Where the classes of passes live.
_MACHINERY = ("fuel.plan", "fuel.state", "fuel.rng", "fuel.transformers")
#: What a dataset holds of somebody else's making; each is looked at by itself.
_HELD = ("indexables", "iterables")
#: Attributes of streams that the plan looks after itself.
_PLUMBING = frozenset(
    {
        "_child_epoch_iterator",
        "_fresh_state",
        "_live",
        "_memory",
        "_next_epoch",
        "_pending_state",
        "_produces_examples",
        "axis_labels",
        "child_epoch_iterator",
        "child_epoch_iterators",
        "data_state",
        "data_stream",
        "data_streams",
        "dataset",
        "iteration_scheme",
        "_sources",
    }
)


class _Elsewhere:
    """Tells, for a step, what else is looked after: its chain, and the passes over it."""

    def __init__(self, owner: Any) -> None:
        self._owner = weakref.ref(owner)
        below = walk(owner)
        parts = [getattr(step, part, None) for step in below for part in _PARTS]
        self._chain = {id(one) for one in [*below, *parts] if one is not None}

    def __call__(self, value: Any) -> bool:
        if id(value) in self._chain:
            return True
        owner = self._owner()
        if hasattr(value, "get_epoch_iterator"):
            return any(step is owner for step in walk(value))
        if not is_ours(type(value)):
            return False
        if not hasattr(value, "data_stream"):
            # Passes and the like; but a scheme, or the state of a dataset, is somebody's own.
            return type(value).__module__.startswith(_MACHINERY)
        if any(step is owner for step in walk(value.data_stream)):
            return True
        return getattr(value, "_run", None) is None and id(value.data_stream) in self._chain


class _Watched(NamedTuple):
    """Something below a stream that may remember, and the step that keeps its first look."""

    key: str
    owner: Any
    part: str
    obj: Any
    skip: frozenset[str]
    only_generators: bool = False

    def memory(self) -> Memory:
        """Return the first look, taken now if there is none."""
        kept = self.owner.__dict__.setdefault("_memory", {})
        elsewhere = _Elsewhere(self.owner)
        if self.part not in kept:
            kept[self.part] = Memory(
                self.obj, self.skip, elsewhere, _names(self.obj), self.only_generators
            )
        found: Memory = kept[self.part]
        found.ignore = elsewhere
        return found


def watched(stream: Any) -> list[_Watched]:
    found: list[_Watched] = []
    names = step_names(stream)
    for step in walk(stream):
        name = names[id(step)]
        if not is_ours(type(step)) and not elementwise(step):
            found.append(_Watched(name, step, "", step, _PLUMBING))
        for number, function in enumerate(getattr(step, "_functions", list)()):
            part = f"function{number or ''}"
            found.append(_Watched(f"{name}/{part}", step, part, function, frozenset()))
        dataset = getattr(step, "dataset", None)
        if dataset is not None:
            found += _of_dataset(name, step, dataset)
    return found


def _of_dataset(name: str, step: Any, dataset: Any) -> list[_Watched]:
    found: list[_Watched] = []
    # What a dataset answers depends on the request, however much it counts or keeps at hand:
    # only what it draws is memory. Without requests it can only be going on from something.
    numbered = getattr(step, "iteration_scheme", None) is not None
    if not is_ours(type(dataset)):
        skip = frozenset({"axis_labels", "_sources", *_HELD})
        found.append(_Watched(f"{name}/dataset", step, "dataset", dataset, skip, numbered))
    held = [(kind, one) for kind in _HELD for one in _listed(dataset, kind)]
    for number, (kind, one) in enumerate(held):
        if is_users(one):
            part = f"data{number or ''}"
            only = kind == "indexables"
            found.append(_Watched(f"{name}/{part}", step, part, one, frozenset(), only))
    return found


def _listed(dataset: Any, name: str) -> list[Any]:
    there = getattr(dataset, "__dict__", {}).get(name)
    return list(there) if isinstance(there, (list, tuple)) else []


def _names(obj: Any) -> tuple[str, str]:
    # The `state_dict()` of a stream is about its whole chain.
    if hasattr(obj, "get_epoch_iterator"):
        return ("step_state", "load_step_state")
    return ("state_dict", "load_state_dict")


def _own_methods(obj: Any) -> tuple[Any, Any] | None:
    """Return the methods with which a user's object describes its own state, if it has them."""
    names = _names(obj)
    if not overridden(obj, *names):
        return None
    save, load = (getattr(obj, name, None) for name in names)
    return (save, load) if callable(save) and callable(load) else None


def remembers(stream: Any) -> bool:
    """Tell whether anything below a stream is watched, so that it may remember something.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    bool
        False where every step, function and dataset is known to remember nothing.

    """
    return bool(watched(stream))


def watch(stream: Any) -> None:
    """Take the first look at everything below a stream that may remember something.

    Parameters
    ----------
    stream : stream
        The top of a chain, about to start an epoch.

    """
    for one in watched(stream):
        one.memory()


def capture(stream: Any) -> dict[str, JSON]:
    """Describe what everything below a stream remembers now.

    Parameters
    ----------
    stream : stream
        The top of a chain that was watched.

    Returns
    -------
    dict
        By name; what is as it was first is left out.

    Raises
    ------
    StateError
        If something changed that plain JSON cannot hold.

    """
    found: dict[str, JSON] = {}
    for one in watched(stream):
        own = _own_methods(one.obj)
        if own is not None:
            found[one.key] = {"own": own[0]()}
            continue
        changes = one.memory().changes(one.obj, generators=True)
        if changes:
            found[one.key] = {"changes": changes}
    return found


def restore(stream: Any, captured: dict[str, JSON]) -> None:
    """Bring everything below a stream into the state captured.

    Parameters
    ----------
    stream : stream
        The top of a chain.
    captured : dict
        What `capture` returned.

    """
    for one in watched(stream):
        saved = captured.get(one.key, {})
        own = _own_methods(one.obj)
        if own is not None:
            if "own" in saved:
                own[1](saved["own"])
            continue
        one.memory().apply(one.obj, saved.get("changes", {}))
