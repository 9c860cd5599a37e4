"""Where something went wrong: step, source, ordinal, example and worker, as a note to the error.

In this room: `evaluated`, which evaluates a unit and keeps errors as outcomes, each with such a
note. Not here: what becomes of an error (`fuel.workers._failures`).
"""

from __future__ import annotations

from typing import Any

import numpy

from fuel.plan._chain import step_names
from fuel.plan._evaluation import Evaluator, Unit
from fuel.workers._base import Failed

__all__ = ["evaluated", "note"]

#: How many indices of a batch are listed.
_LISTED = 8


def evaluated(evaluator: Evaluator, unit: Unit, origin: str) -> list[Any]:
    """Evaluate a unit.

    Parameters
    ----------
    evaluator : Evaluator
        That of its part.
    unit : Unit
        What is wanted.
    origin : str
        The worker in words; "" for the process of the consumer.

    Returns
    -------
    list
        For each item the item, or a `Failed` whose error says where it went wrong.

    """
    outcomes: list[Any] = []
    for index, outcome in enumerate(evaluator.items(unit)):
        if isinstance(outcome, BaseException):
            note(outcome, _where(evaluator, unit, index, outcome, origin))
            outcome = Failed(outcome)
        outcomes.append(outcome)
    return outcomes


def note(error: BaseException, text: str) -> None:
    """Add a note to an error; Python shows it below the traceback from 3.11 on."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        error.__dict__.setdefault("__notes__", []).append(text)


def _where(evaluator: Evaluator, unit: Unit, index: int, error: BaseException, origin: str) -> str:
    step, source = _culprit(evaluator, error)
    words = [f"raised in step {step!r}" if step else "raised"]
    if source:
        words.append(f"for source {source!r}")
    words.append(_which(evaluator, unit, index))
    words.append(f"of epoch {unit.epoch}")
    if origin:
        words.append(f"by {origin}")
    return " ".join(words)


def _which(evaluator: Evaluator, unit: Unit, index: int) -> str:
    if evaluator.part.given:
        context = unit.asked[index][1]
        return f"at ordinal {context.address()[0]}"
    if unit.group == 0 and evaluator.part.group is not None:
        source = evaluator._below_group()[0].source
    else:
        source = evaluator.whole.source
    requests = source.requests
    if requests.examples:
        # In a batch, examples are fetched one by one as soon as something goes wrong.
        place = requests.position - 1 if unit.group else unit.first + index
        number = place - unit.first
        asked = requests.asked
        shown = f" (example {_plain(asked[number])})" if 0 <= number < len(asked) else ""
        return f"at ordinal {place}{shown}"
    request = requests.asked[index] if index < len(requests.asked) else None
    first = requests.places[index] if index < len(requests.places) else unit.first
    return f"in the batch that begins at ordinal {first}{_listed(request)}"


def _listed(request: Any) -> str:
    if not isinstance(request, (list, tuple, numpy.ndarray)) or not len(request):
        return ""
    shown = ", ".join(str(_plain(index)) for index in request[:_LISTED])
    more = f", ... {len(request)} in all" if len(request) > _LISTED else ""
    return f" (examples {shown}{more})"


def _plain(index: Any) -> Any:
    return index.item() if isinstance(index, numpy.generic) else index


def _culprit(evaluator: Evaluator, error: BaseException) -> tuple[str, str]:
    """Return the name of the step that was at work, and the source, as the traceback has them."""
    names = dict(evaluator.draws._named)  # type: ignore[attr-defined]
    part = evaluator.part
    by_dataset = {}
    if not part.given:
        by_dataset[id(part.source.dataset)] = part.source
    step = source = ""
    trace = error.__traceback__
    while trace is not None:
        variables = trace.tb_frame.f_locals
        owner = variables.get("self")
        if owner is not None:
            owner = by_dataset.get(id(owner), owner)
            if id(owner) in names:
                step = names[id(owner)]
                source = ""
        for name in ("source_name", "source"):
            value = variables.get(name)
            if step and isinstance(value, str) and value in (part.top.sources or ()):
                source = value
        trace = trace.tb_next
    if not step and not part.given:
        # A run of kernels, or the pass itself: all that is known is the bottom.
        step = step_names(part.source)[id(part.source)]
    return step, source
