"""A chain of steps, taken apart: source, elementwise prefix, and the rest.

A source and the elementwise steps right above it are a function from *ordinal* (an example's
place in the epoch's order) to data. This package is the one piece of code that knows it; the
epoch iterator runs on it.

- `fuel.plan._chain`: the steps of a stream, their names, and what is elementwise;
- `fuel.plan._context`: what travels beside the data (epoch, ordinals) and hands out generators;
- `fuel.plan._cursor`: one pass of one step, and the steps that change no counts;
- `fuel.plan._source`: one pass over a dataset;
- `fuel.plan._operations`: what a step does, in words that a kernel understands;
- `fuel.plan._fusion`, `_kernels`, `_decoding`: a source and the steps above it as one kernel call;
- `fuel.plan._foreign`, `_given`: steps that users wrote the old way;
- `fuel.plan._memory`: what users' steps remember between calls;
- `fuel.plan._start`, `_run`: one epoch of a whole chain: started, positioned, described, resumed;
- `fuel.plan._parts`, `_evaluation`, `_schedule`: what can be evaluated elsewhere, how, and in
  what order;
- `fuel.plan._asking`: single items of an epoch;
- `fuel.plan._upcoming`: what the next epoch of a chain will start from;
- `fuel.plan._explain`: the plan as text.

Steps are known here only by what they offer (``_make_cursor``, ``apply``, ``elementwise``); the
steps themselves are in `fuel.streams` and `fuel.transformers`.
"""

from __future__ import annotations

from fuel.plan._chain import elementwise, fingerprint, prefix, step_names, walk
from fuel.plan._context import Context, Draws
from fuel.plan._cursor import Cursor, MapCursor, PassedOn
from fuel.plan._explain import explain
from fuel.plan._run import Run
from fuel.plan._source import SourceCursor
from fuel.plan._start import Start

__all__ = [
    "Context",
    "Cursor",
    "Draws",
    "MapCursor",
    "PassedOn",
    "Run",
    "SourceCursor",
    "Start",
    "elementwise",
    "explain",
    "fingerprint",
    "prefix",
    "step_names",
    "walk",
]
