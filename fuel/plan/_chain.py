"""The steps below a stream: in order, with their names, and what is known of them."""

from __future__ import annotations

from typing import Any

from fuel.state import is_generator
from fuel.typing import JSON
from fuel.utils._overrides import declares, is_ours, overridden

__all__ = [
    "BEHAVIOUR",
    "children",
    "elementwise",
    "fingerprint",
    "prefix",
    "step_label",
    "step_names",
    "walk",
]

#: The methods in which the behaviour of a step lies: overriding one ends what its base declared.
BEHAVIOUR = (
    "apply",
    "get_data",
    "get_epoch_iterator",
    "transform_example",
    "transform_batch",
    "transform_any",
    "transform_source_example",
    "transform_source_batch",
    "transform_any_source",
    "_apply_sourcewise_transformation",
)


def children(stream: Any) -> list[Any]:
    """Return the streams that a stream reads from."""
    many = getattr(stream, "data_streams", None)
    if isinstance(many, (list, tuple)):
        return list(many)
    one = getattr(stream, "data_stream", None)
    return [] if one is None else [one]


def walk(stream: Any) -> list[Any]:
    """Return a stream and all below it, sources first.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    list of stream
        Each stream once, every one after those that it reads from.

    """
    found: list[Any] = []
    seen: set[int] = set()

    def visit(one: Any) -> None:
        if id(one) in seen:
            return
        seen.add(id(one))
        for child in children(one):
            visit(child)
        found.append(one)

    visit(stream)
    return found


def step_label(step: Any) -> str:
    """Return the name of a step before its occurrences are counted."""
    given = getattr(step, "_step_name", None)
    if given:
        return str(given)
    default = getattr(step, "_default_name", None)
    return str(default()) if default is not None else type(step).__name__


def step_names(stream: Any) -> dict[int, str]:
    """Name every step of a chain.

    A step is called by the name its user gave, else by its class (with the function's name for a
    mapping), and from the second of that name on by its occurrence, counted from the source. A
    step inserted elsewhere under another name changes no name.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    dict
        Names by ``id`` of the step.

    """
    counts: dict[str, int] = {}
    names: dict[int, str] = {}
    for step in walk(stream):
        label = step_label(step)
        counts[label] = counts.get(label, 0) + 1
        names[id(step)] = label if counts[label] == 1 else f"{label}#{counts[label]}"
    return names


def elementwise(step: Any) -> bool:
    """Tell whether a step is declared to be a pure function of one item and its context.

    Parameters
    ----------
    step : stream
        A step; a source is none.

    Returns
    -------
    bool
        True where the step, or the class that wrote its behaviour, says ``elementwise = True``.

    Raises
    ------
    ValueError
        If a user's step says so while it holds a generator: draws from it would depend on the
        order of evaluation.

    """
    if not children(step) or not declares(step, "elementwise", BEHAVIOUR):
        return False
    if not is_ours(type(step)):
        for name, value in vars(step).items():
            if is_generator(value):
                raise ValueError(
                    f"{type(step).__qualname__} declares `elementwise = True` but holds a "
                    f"{type(value).__name__} in {name!r}, whose draws depend on the order of "
                    "evaluation; draw from `context.rng(self)` in `apply`, or declare nothing"
                )
    return True


def prefix(stream: Any) -> tuple[Any, list[Any], list[Any]]:
    """Split a chain into source, elementwise prefix and the rest.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    source : stream
        The stream that reads from no other (of several, the one that is first).
    steps : list of stream
        The elementwise steps right above it.
    rest : list of stream
        Everything after them.

    """
    chain = walk(stream)
    source, above = chain[0], chain[1:]
    count = 0
    while count < len(above) and elementwise(above[count]) and len(children(above[count])) == 1:
        count += 1
    if any(not children(step) for step in above):
        count = 0
    return source, above[:count], above[count:]


def fingerprint(stream: Any) -> JSON:
    """Describe what a position in a chain depends on.

    Covered: the sources, the number of examples, the order, and the steps by name with the
    parameters that change values. Not covered: batch sizes, and steps that only carry.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    JSON
        A dict that a person can read.

    """
    names = step_names(stream)
    steps: list[JSON] = []
    added: set[str] = set()
    for step in walk(stream):
        if getattr(step, "_transparent", False) and not overridden(step, *BEHAVIOUR):
            # Of what only carries, it is not covered either what it says of its items.
            below = [name for child in children(step) for name in child.sources or ()]
            added.update(set(step.sources or ()).difference(below))
            continue
        describe = getattr(step, "_fingerprint", None)
        steps.append({"step": names[id(step)], **(describe() if describe is not None else {})})
    sources = [name for name in getattr(stream, "sources", None) or () if name not in added]
    return {"sources": sources, "steps": steps}
