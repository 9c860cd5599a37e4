"""`Parallel`: a chain whose parts are evaluated by several workers, in the order of one.

How a pass is evaluated is in `fuel.workers`, which parts of a chain can be in `fuel.plan`. Another
process for a whole chain, in order, is `MultiProcessing` in `fuel.transformers._parallel`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy

from fuel.plan import Cursor, PassedOn
from fuel.plan._chain import walk
from fuel.plan._parts import find_parts
from fuel.transformers._base import Transformer
from fuel.transformers._checks import kind_below
from fuel.utils._limits import usable_cpus
from fuel.workers._crew import Crew, Settings
from fuel.workers._engine import ExecutorCursor
from fuel.workers._failures import FailurePolicy, FailureReport, as_policy

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Parallel"]

_KINDS = ("auto", "process", "serial", "thread")
_METHODS = (None, "forkserver", "spawn", "fork")


class Parallel(Transformer):
    """Evaluates what is below it with several workers.

    Items, order, random draws, epochs, saved positions and errors are those of the stream below,
    whatever the number and the kind of workers.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The chain. Its parts that are functions of what is asked for (a dataset read by number and
        the elementwise steps above it, the making of batches, and the elementwise steps above
        that) are evaluated by the workers; the rest runs in this process, in order.
        ``stream.explain()`` says which is which, and why.
    workers : int, optional
        How many. 0 evaluates everything in this process, when it is asked for. Default: as many
        as the processors that this process may use, less one for the consumer, but at least one.
    kind : {'auto', 'process', 'thread', 'serial'}, default 'auto'
        Threads copy nothing, and suit steps that spend their time outside the interpreter (our
        kernels, decoders, files, networks). Processes suit Python code. ``'auto'`` measures the
        first items and chooses; it says so on the logger ``fuel.workers``, at debug level.
    prefetch : int, optional
        How many items may be evaluated ahead of the one delivered last; they take up memory.
        Default, for each worker: two batches, or 16 where they are small (at most 1 MiB) and
        quickly made, or 32 examples.
    ordered : bool, default True
        With False items come as they are done, each exactly once.
    on_error : {'raise', 'skip', 'replace'}, callable or FailurePolicy, default 'raise'
        What to do about items that cannot be evaluated; see `fuel.workers.FailurePolicy`. With
        anything but ``'raise'`` examples are evaluated one by one where batches are made of them,
        so that batches are filled with the examples after one that is left out.
    restarts : int, default 3
        When a worker dies, another one takes its place, and what it held is evaluated again. This
        is how often that may happen over the same examples; then `WorkerError` is raised.
    stall_timeout_s : float, optional
        When nothing was done for so many seconds while the consumer waits, the Python stacks of
        all workers are written to the logger ``fuel.workers``. Default: 120. None never does.
    start_method : {'forkserver', 'spawn', 'fork'}, optional
        How processes are started. Default: 'forkserver', and 'spawn' where there is none.
        Whichever it is, the main module of the program is not imported.
    shared_memory_bytes : int, optional
        How much shared memory each worker process may use for what it sends; 0 for none. Default:
        up to 4 GiB, but no more than its share of half of what is free. Nothing is taken before
        it is used.
    **kwargs
        `axis_labels` (default: a copy of those below), `name`.

    Attributes
    ----------
    workers, kind, prefetch, ordered, restarts, stall_timeout_s, start_method
        As given, or the default.
    on_error : FailurePolicy
        What to do about failures.

    Raises
    ------
    TypeError
        If `data_stream` is no stream. At the first item: if a part cannot be sent to a process;
        the message names the attribute that cannot be pickled.
    ValueError
        If an argument is none of what is listed.

    Notes
    -----
    Workers start with the first item that needs them, and an epoch without items starts none.
    Processes are kept from epoch to epoch, and for the next `Parallel`; they end with
    `fuel.close_workers`, and with this process, however that ends. In-memory arrays, and long
    lists of texts or bytes, are placed in shared memory once for all of them, read-only.

    Not safe to share between threads.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialExampleScheme, ConstantScheme
    >>> from fuel.streams import DataStream
    >>> from fuel.transformers import Batch, Mapping, Parallel
    >>> def squared(data):
    ...     return (data[0] ** 2,)
    >>> examples = DataStream(IndexableDataset(numpy.arange(6)),
    ...                       iteration_scheme=SequentialExampleScheme(6))
    >>> stream = Batch(Mapping(examples, squared, elementwise=True), ConstantScheme(3))
    >>> with Parallel(stream, workers=2, kind='thread') as parallel:
    ...     [batch[0].tolist() for batch in parallel]
    [[0, 1, 4], [9, 16, 25]]

    """

    #: It changes no values, so saved states are those of the stream below.
    _transparent = True
    _crew: Crew | None = None

    def __init__(
        self,
        data_stream: Any,
        workers: int | None = None,
        kind: str = "auto",
        prefetch: int | None = None,
        ordered: bool = True,
        on_error: Any = "raise",
        restarts: int = 3,
        stall_timeout_s: float | None = 120.0,
        start_method: str | None = None,
        shared_memory_bytes: int | None = None,
        **kwargs: Any,
    ) -> None:
        labels = getattr(data_stream, "axis_labels", None)
        kwargs.setdefault("axis_labels", None if labels is None else dict(labels))
        super().__init__(data_stream, kind_below("Parallel", data_stream), **kwargs)
        if kind not in _KINDS:
            raise ValueError(
                f"`kind` must be one of {', '.join(map(repr, _KINDS))}, got {kind!r:.80}"
            )
        if start_method not in _METHODS:
            raise ValueError(
                "`start_method` must be 'forkserver', 'spawn', 'fork' or None (the first that "
                f"this system has), got {start_method!r:.80}"
            )
        self.workers = (
            max(1, usable_cpus() - 1) if workers is None else _count("workers", workers, 0)
        )
        self.kind = kind
        self.prefetch = None if prefetch is None else _count("prefetch", prefetch, 1)
        if not isinstance(ordered, (bool, numpy.bool_)):
            raise TypeError(f"`ordered` must be True or False, got {ordered!r:.80}")
        self.ordered = bool(ordered)
        self.on_error: FailurePolicy = as_policy(on_error)
        self.restarts = _count("restarts", restarts, 0)
        if stall_timeout_s is not None and not _is_positive(stall_timeout_s):
            raise ValueError(
                f"`stall_timeout_s` must be a positive number of seconds, got {stall_timeout_s!r}; "
                "None switches the watch off"
            )
        self.stall_timeout_s = stall_timeout_s
        self.start_method = start_method
        self.shared_memory_bytes = (
            None
            if shared_memory_bytes is None
            else _count("shared_memory_bytes", shared_memory_bytes, 0)
        )
        self._reports: list[FailureReport] = []

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_crew", None)
        state["_reports"] = []
        return state

    @property
    def failures(self) -> FailureReport:
        """What could not be evaluated in the epoch started last, and what was done about it."""
        if len(self._reports) == 1:
            return self._reports[0]
        listed = [failure for report in self._reports for failure in report.failures]
        return FailureReport(sum(report.count for report in self._reports), listed)

    @property
    def _skips_examples(self) -> bool:
        return self.on_error.may_skip

    def _settings(self) -> Settings:
        kind = "serial" if self.workers == 0 else self.kind
        return Settings(
            kind,
            max(1, self.workers),
            self.prefetch,
            self.ordered,
            self.on_error,
            self.restarts,
            self.stall_timeout_s,
            self.start_method,
            self.shared_memory_bytes,
        )

    def _who_evaluates(self) -> str:
        settings = self._settings()
        if settings.kind == "serial":
            return "serial"
        kind = {"auto": "", "process": "process ", "thread": "thread "}[settings.kind]
        chosen = " of the kind that suits" if settings.kind == "auto" else ""
        return f"{settings.workers} {kind}worker{'s' * (settings.workers > 1)}{chosen}"

    def close(self) -> None:
        """Let the workers go, and close the stream below."""
        super().close()
        if self._crew is not None:
            self._crew.close()

    def _make_cursor(self, start: Start) -> Cursor:
        self._reports = []
        settings = self._settings()
        if settings.kind == "serial" and self.on_error.action == "raise":
            return PassedOn(start, self)
        purpose = f"{type(self).__name__} over {type(self.data_stream).__name__}"
        crew = Crew(settings, start.draws.stream if start.draws else self, purpose)
        self._crew = crew
        for part in self._parts():
            crew.parts.append(part)
            start.carry(part.top, _Carrier(part, crew, len(crew.parts) - 1, self))
        return PassedOn(start, self)

    def _parts(self) -> list[Any]:
        """Return the parts that the workers of this step evaluate."""
        elsewhere: set[int] = set()
        for step in walk(self.data_stream):
            if hasattr(step, "_worker") or (isinstance(step, Parallel) and step is not self):
                elsewhere.update(id(one) for one in walk(step.data_stream))
        parts = [part for part in find_parts(self.data_stream) if id(part.top) not in elsewhere]
        if self.on_error.action != "raise":
            # Batches are made here, of the examples that are left.
            parts = [
                part
                if part.group is None
                else part._replace(top=part.group.data_stream, group=None, above=[])
                for part in parts
            ]
        return parts


class _Carrier:
    """Puts the workers in the place of the pass of a part."""

    def __init__(self, part: Any, crew: Crew, number: int, step: Parallel) -> None:
        self.part, self.crew, self.number, self.step = part, crew, number, step

    def __call__(self, cursor: Cursor) -> Cursor:
        executor = ExecutorCursor(self.part, cursor, self.crew, self.number)
        self.step._reports.append(executor.failures.report)
        return executor


def _is_positive(value: Any) -> bool:
    number = isinstance(value, (int, float, numpy.number)) and not isinstance(value, bool)
    return bool(number and value > 0)


def _count(name: str, value: Any, least: int) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(
            f"`{name}` must be an integer from {least} on, got {value!r:.80}"
            + ("; 0 evaluates everything in this process" if name == "workers" else "")
        )
    return number
