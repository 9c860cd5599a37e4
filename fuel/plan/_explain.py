"""The plan of a chain as text: what it is made of and what can be evaluated anywhere."""

from __future__ import annotations

from typing import Any

from fuel.plan._chain import children, elementwise, prefix, step_names, walk
from fuel.plan._parts import find_parts, members, reasons
from fuel.utils._overrides import is_ours

__all__ = ["explain"]


def _why_not(step: Any) -> str:
    reason = getattr(step, "_why_not_elementwise", None)
    if reason is not None and is_ours(type(step)):
        return str(reason()) if callable(reason) else str(reason)
    if not is_ours(type(step)):
        return (
            "runs in order, in this process: the class does not say `elementwise = True` "
            "(declare it if each item depends on that item alone)"
        )
    return "changes the number of items: runs in order, in this process"


def explain(stream: Any) -> str:
    """Describe how a chain is evaluated.

    Parameters
    ----------
    stream : stream
        The top of a chain.

    Returns
    -------
    str
        One line a step, from the top down to the source.

    """
    names = step_names(stream)
    source, ahead, _ = prefix(stream)
    anywhere = {id(step) for step in ahead}
    together = {id(step) for step in _fused(source, ahead)}
    joined = _joined(stream, together)
    parts = find_parts(stream)
    inside = {id(step) for part in parts for step in members(part)}
    given = {id(step) for part in parts if part.given for step in part.steps}
    why = reasons(stream)
    lines: list[str] = []

    def visit(step: Any, depth: int) -> None:
        if not children(step):
            note = f"source: {getattr(step, '_describe_source', lambda: type(step).__name__)()}"
            if id(step) in why:
                note = f"{note}; read in order, in this process: {why[id(step)]}"
        elif hasattr(step, "_who_evaluates"):
            note = "changes nothing"
        elif id(step) in anywhere:
            note = "elementwise: can be evaluated for any example, anywhere"
            if id(step) in together:
                note = f"{note}; fused with the source"
            elif id(step) in joined:
                note = f"{note}; in one pass with its neighbours"
        elif elementwise(step):
            note = "elementwise, but above a step that is not: "
            if id(step) in given:
                note += "its items can be handed to workers"
            elif id(step) in inside:
                note = "elementwise: can be evaluated for any batch, anywhere"
            else:
                note += f"runs in order, in this process ({why.get(id(step), 'with that step')})"
            if id(step) in joined:
                note = f"{note}; in one pass with its neighbours"
        elif id(step) in inside:
            note = "makes batches of the examples: can be evaluated for any batch, anywhere"
        else:
            note = _why_not(step)
        kind = "examples" if _produces_examples(step) else "batches"
        lines.append(f"{'  ' * depth}{names[id(step)]} -> {kind}  [{note}]")
        for child in children(step):
            visit(child, depth + 1)

    visit(stream, 0)
    count = len(ahead)
    above = {0: " is", 1: " and the elementwise step above it are"}.get(
        count, f" and the {count} elementwise steps above it are"
    )
    fused = ", ".join(names[id(step)] for step in ahead if id(step) in together) or "nothing"
    if together:
        fused = f"{fused}, in one pass over the rows of {names[id(source)]}"
    elif joined:
        fused = "nothing with the source"
    who = [step._who_evaluates() for step in walk(stream) if hasattr(step, "_who_evaluates")]
    executor = ", ".join(who) or "serial"
    lines.append(
        f"{names[id(source)]}{above} a function of the ordinal; executor: {executor}; "
        f"fused: {fused}"
    )
    for step in walk(stream):
        if hasattr(step, "_who_evaluates"):
            lines += _evaluated(step, names)
    return "\n".join(lines)


def _evaluated(step: Any, names: dict[int, str]) -> list[str]:
    """Say what the workers of a step evaluate, and what they do not."""
    lines: list[str] = []
    inside: set[int] = set()
    for part in step._parts():
        steps = members(part)
        inside.update(map(id, steps))
        told = ", ".join(names[id(one)] for one in steps)
        given = f", given the items of {names[id(part.source)]}" if part.given else ""
        lines.append(f"{names[id(step)]}: {step._who_evaluates()} evaluate {told}{given}")
    left = [one for one in walk(step.data_stream) if id(one) not in inside]
    if left:
        told = ", ".join(names[id(one)] for one in left)
        lines.append(f"{names[id(step)]}: in this process, in order: {told}")
    return lines


def _joined(stream: Any, fused: set[int]) -> set[int]:
    """Return which steps are done together with the one below or above, but not with the source."""
    from fuel.plan._joining import fusible

    found: set[int] = set()
    for step in walk(stream):
        below = children(step)
        if len(below) != 1 or not children(below[0]):
            continue
        pair = (step, below[0])
        if all(id(one) not in fused and elementwise(one) and fusible(one) for one in pair):
            found.update(map(id, pair))
    return found


def _fused(source: Any, steps: list[Any]) -> list[Any]:
    from fuel.plan._fusion import foreseen

    return foreseen(source, steps)


def _produces_examples(step: Any) -> bool:
    try:
        return bool(step.produces_examples)
    except ValueError:
        return True
