"""Resume at every place: the rest of the epoch and those after it are the uninterrupted run's."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

from fuel.testing._child import _by_value, continue_elsewhere, run_epochs
from fuel.testing._compare import assert_same_items, canonical

__all__ = ["assert_resumes_everywhere"]


def assert_resumes_everywhere(
    make_stream: Callable[[], Any],
    *,
    epochs: int = 2,
    start_epochs: tuple[int, ...] = (0, 1),
    new_process: bool = True,
    pickles: bool = True,
    state_dicts: bool = True,
    max_state_bytes: int | None = None,
) -> None:
    """Check that a pipeline goes on from every place of a short epoch.

    After k items, for every k from none to all and once more behind the end, the epoch iterator
    is pickled and its state is taken. Continued (in a new process, from a pipeline built anew),
    the rest of the epoch and the epochs after it must equal the uninterrupted run bit for bit.

    Parameters
    ----------
    make_stream : callable
        Builds the pipeline, the same each time. It travels to the new process by value, with
        everything that its module defines.
    epochs : int, optional
        How many epochs after the interrupted one are compared. Default 2.
    start_epochs : tuple of int, optional
        The epochs that are interrupted. Default: the first and the second.
    new_process : bool, optional
        Whether to continue in a new process. Default True; False is faster.
    pickles, state_dicts : bool, optional
        Which of the two ways are checked. Default both.
    max_state_bytes : int, optional
        Largest size of a state as JSON.

    Raises
    ------
    AssertionError
        If anything differs; the message says at which place, and how.

    """
    last = max(start_epochs) + epochs + 1
    uninterrupted = make_stream()
    reference = [
        [canonical(item) for item in uninterrupted.get_epoch_iterator()] for _ in range(last)
    ]
    uninterrupted.close()
    jobs: list[tuple[str, Any]] = []
    labels: list[tuple[int, int, str]] = []
    for start in start_epochs:
        stream = make_stream()
        for _ in range(start):
            for _ in stream.get_epoch_iterator():
                pass
        iterator = stream.get_epoch_iterator()
        total = len(reference[start])
        for place in range(total + 2):
            # The place behind the last item is visited before and after StopIteration.
            if place:
                item = next(iterator, None)
                if place <= total:
                    assert_same_items([item], [reference[start][place - 1]], f"epoch {start}")
            delivered = min(place, total)
            where = (start, delivered)
            if state_dicts:
                state = iterator.state_dict()
                text = json.dumps(state)
                if json.loads(text) != state:
                    raise AssertionError(f"the state after {where} is not plain JSON: {state!r}")
                if stream.state_dict() != state:
                    raise AssertionError(f"stream and iterator differ in their state at {where}")
                if max_state_bytes is not None and len(text) > max_state_bytes:
                    raise AssertionError(
                        f"the state after {where} has {len(text)} bytes, more than "
                        f"{max_state_bytes}: {text[:500]}"
                    )
                jobs += [("iterator", json.loads(text)), ("stream", json.loads(text))]
                labels += [(*where, "iterator.load_state_dict"), (*where, "stream.load_state_dict")]
            if pickles:
                dump = _by_value if new_process else pickle.dumps
                jobs.append(("pickle", dump((stream, iterator))))
                labels.append((*where, "pickle"))
        stream.close()
    if new_process:
        found = continue_elsewhere(make_stream, jobs, epochs)
    else:
        found = [_continue_here(make_stream, kind, content, epochs) for kind, content in jobs]
    for (start, delivered, way), runs in zip(labels, found, strict=True):
        for number, items in enumerate(runs):
            expected = reference[start + number]
            if number == 0:
                expected = expected[delivered:]
            assert_same_items(
                items,
                expected,
                f"epoch {start + number}, continued by {way} after {delivered} items of epoch "
                f"{start}:",
            )


def _continue_here(make_stream: Callable[[], Any], kind: str, content: Any, epochs: int) -> Any:
    if kind == "pickle":
        stream, iterator = pickle.loads(content)
    else:
        stream = make_stream()
        if kind == "stream":
            stream.load_state_dict(content)
            iterator = stream.get_epoch_iterator()
        else:
            iterator = stream.get_epoch_iterator()
            iterator.load_state_dict(content)
    try:
        return run_epochs(stream, iterator, epochs)
    finally:
        stream.close()
