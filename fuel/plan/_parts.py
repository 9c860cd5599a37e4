"""Which parts of a chain can be evaluated anywhere, and a copy of a part that can be sent there.

In this room: `find_parts`, which divides a chain, `reasons`, which says why the rest runs in order,
and `detached`, which copies the steps of a part without their passes and their order. Not here: how
a part is evaluated (`fuel.plan._evaluation`), and who asks for what (`fuel.plan._schedule`).
"""

from __future__ import annotations

import copy
import dis
import types
from typing import Any, NamedTuple

from fuel.plan import _memory
from fuel.plan._chain import BEHAVIOUR, children, elementwise, walk
from fuel.schemes._base import IterationScheme
from fuel.utils._overrides import declares, is_ours, overridden

__all__ = [
    "GivenScheme",
    "Part",
    "asked_by_number",
    "detached",
    "find_parts",
    "members",
    "reasons",
    "uses_only_ours",
]

#: Attributes of a step that belong to its epochs, not to what it does.
_OF_EPOCHS = (
    "_child_epoch_iterator",
    "_fresh_state",
    "_idle",
    "_latest_run",
    "_live",
    "_memory",
    "_next_epoch",
    "_pending_state",
)


class Part(NamedTuple):
    """A part of a chain that is a function of what is asked for.

    Attributes
    ----------
    top : stream
        Its uppermost step.
    source : stream
        What is below it: a source whose examples are asked for by number, or, where `given` is
        true, any stream, whose items are read in order and handed on.
    steps : list of stream
        The elementwise steps above the source, lowest first.
    group : stream or None
        The step that makes batches of the examples, if there is one.
    above : list of stream
        The elementwise steps above that one, lowest first.
    given : bool
        Whether the items of `source` are handed on, instead of their numbers.

    """

    top: Any
    source: Any
    steps: list[Any]
    group: Any
    above: list[Any]
    given: bool


class GivenScheme(IterationScheme):
    """Stands for the order of a source whose requests come from elsewhere.

    Parameters
    ----------
    requests_examples : bool
        Whether a request names a single example.

    """

    def __init__(self, requests_examples: bool) -> None:
        self.requests_examples = requests_examples

    def get_request_iterator(self) -> Any:
        """Refuse: there is no order here."""
        raise NotImplementedError("requests are handed to this source one by one")


def find_parts(stream: Any) -> list[Part]:
    """Divide a chain.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    list of Part
        The largest parts that can be evaluated anywhere, sources first. No two share a step.

    """
    found: dict[int, Part] = {}
    pending: dict[int, Part] = {}
    for step in walk(stream):
        below = children(step)
        part = _source_part(step) if not below else _extended(step, below, pending)
        for child in below:
            done = pending.pop(id(child), None)
            if done is not None and part is None:
                found[id(child)] = done
        if part is not None:
            pending[id(step)] = part
    found.update(pending)
    return [part for part in found.values() if not part.given or part.steps]


def _extended(step: Any, below: list[Any], pending: dict[int, Part]) -> Part | None:
    """Return the part below with one step more, or one that begins with the step."""
    if len(below) != 1 or overridden(step, "get_data", "get_epoch_iterator", "_make_cursor"):
        return None
    part = pending.get(id(below[0]))
    if _groups(step):
        if part is None or part.given or part.group is not None:
            return None
        if not part.source.produces_examples:
            return None
        return part._replace(top=step, group=step)
    if not elementwise(step):
        return None
    if part is None:
        if not _may_run_ahead(below[0]):
            return None
        return Part(step, below[0], [step], None, [], True)
    if part.group is not None:
        return part._replace(top=step, above=[*part.above, step])
    return part._replace(top=step, steps=[*part.steps, step])


def _groups(step: Any) -> bool:
    """Tell whether a step makes batches of the examples below it, in order."""
    behaviour = (*BEHAVIOUR, "_make_cursor")
    return is_ours(type(step)) and declares(step, "_groups_examples", behaviour)


def _source_part(step: Any) -> Part | None:
    return Part(step, step, [], None, [], False) if asked_by_number(step) else None


def asked_by_number(step: Any) -> bool:
    """Tell whether a source can be asked for its examples in any order.

    Parameters
    ----------
    step : stream
        A stream that reads from no other.

    Returns
    -------
    bool
        True for a dataset without a state that a scheme asks for examples, none of whose parts
        remembers what it was asked before.

    """
    return (
        hasattr(step, "dataset")
        and getattr(step, "iteration_scheme", None) is not None
        and getattr(step, "data_state", None) is None
        and not overridden(step, "get_data", "get_epoch_iterator", "_make_cursor", "_begin_pass")
        and _may_run_ahead(step)
    )


def _may_run_ahead(stream: Any) -> bool:
    """Tell whether a stream may be read ahead of what is delivered: nothing in it remembers."""
    return not any(
        not (watched.part.startswith(("dataset", "data")) and watched.only_generators)
        and not _keeps_nothing(watched.obj)
        for watched in _memory.watched(stream)
    ) and not any(_holds_generator(step) for step in walk(stream))


def _keeps_nothing(function: Any) -> bool:
    """Tell whether a function has nowhere to keep anything that a position would have to hold."""
    if type(function) is not types.FunctionType:
        return False
    kept = (
        function.__closure__,
        function.__defaults__,
        function.__kwdefaults__,
        function.__dict__,
    )
    # What it may write: a global variable, or an attribute of itself, by its name.
    writes = any(one.opname == "STORE_GLOBAL" for one in dis.get_instructions(function))
    return not any(kept) and not writes and function.__name__ not in function.__code__.co_names


def _holds_generator(step: Any) -> bool:
    """Tell whether a dataset of a user's draws from a generator that it holds."""
    from fuel.state import is_generator

    dataset = getattr(step, "dataset", None)
    if dataset is None or is_ours(type(dataset)):
        return False
    return any(is_generator(value) for value in getattr(dataset, "__dict__", {}).values())


def reasons(stream: Any) -> dict[int, str]:
    """Say why steps run in order, in the consumer's process.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    dict
        From ``id`` of a step to a sentence, for the steps that are in no part.

    """
    inside = {id(step) for part in find_parts(stream) for step in members(part)}
    found: dict[int, str] = {}
    for step in walk(stream):
        if id(step) in inside:
            continue
        below = children(step)
        if below and elementwise(step):
            found[id(step)] = (
                "stands above steps that remember something from item to item, which must not run "
                "ahead of what was delivered"
            )
        elif not below and getattr(step, "data_state", None) is not None:
            found[id(step)] = f"a {type(step.dataset).__name__} is read in its own order"
        elif not below and getattr(step, "iteration_scheme", None) is None:
            found[id(step)] = "has no iteration scheme that asks for examples by number"
        elif not below:
            found[id(step)] = "remembers something from request to request"
    return found


def members(part: Part) -> list[Any]:
    """Return the steps of a part, lowest first."""
    own = [] if part.given else [part.source]
    group = [] if part.group is None else [part.group]
    return [*own, *part.steps, *group, *part.above]


def uses_only_ours(part: Part) -> bool:
    """Tell whether no code of a user's runs when a part is evaluated."""
    for step in members(part):
        if not is_ours(type(step)) or any(
            hasattr(step, name) for name in ("mapping", "predicate", "function")
        ):
            return False
        dataset = getattr(step, "dataset", None)
        if dataset is not None and not is_ours(type(dataset)):
            return False
        if any(not _known(one) for one in getattr(dataset, "indexables", None) or ()):
            return False
    return not part.given


def _known(indexable: Any) -> bool:
    return type(indexable).__module__.partition(".")[0] in ("builtins", "fuel", "h5py", "numpy")


def detached(part: Part) -> tuple[Part, dict[int, Any]]:
    """Copy the steps of a part, without their passes and without the order of the source.

    Parameters
    ----------
    part : Part
        The part.

    Returns
    -------
    part : Part
        Of copies of the steps, which share with them what they hold.
    originals : dict
        From ``id`` of a copy to the step that it is a copy of.

    """
    originals: dict[int, Any] = {}

    def bare(step: Any, below: Any) -> Any:
        twin = _copied(step)
        for name in _OF_EPOCHS:
            twin.__dict__.pop(name, None)
        if below is not None:
            twin.__dict__["data_stream"] = below
        originals[id(twin)] = step
        return twin

    if part.given:
        source: Any = _Items(part.source)
        originals[id(source)] = part.source
    else:
        source = bare(part.source, None)
        source.__dict__["iteration_scheme"] = GivenScheme(bool(part.source.produces_examples))
    top = source
    steps: list[Any] = []
    for step in part.steps:
        top = bare(step, top)
        steps.append(top)
    group = None
    if part.group is not None:
        group = top = bare(part.group, top)
    above: list[Any] = []
    for step in part.above:
        top = bare(step, top)
        above.append(top)
    return Part(top, source, steps, group, above, part.given), originals


def _copied(step: Any) -> Any:
    try:
        return copy.copy(step)
    except Exception:  # it says how it is pickled, and cannot be here
        twin = object.__new__(type(step))
        twin.__dict__.update(step.__dict__)
        return twin


class _Items:
    """Stands for a stream whose items are handed on: what the steps above ask about it."""

    def __init__(self, stream: Any) -> None:
        self.sources = tuple(stream.sources)
        self.produces_examples = bool(stream.produces_examples)
        self.axis_labels = getattr(stream, "axis_labels", None)
        self.iteration_scheme = None
        self._seed = int(stream._effective_seed()) if hasattr(stream, "_effective_seed") else 0

    def _effective_seed(self) -> int:
        return self._seed
