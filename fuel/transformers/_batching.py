"""From examples to batches and back: `Batch`, `Unpack`.

Cutting batches anew is in `fuel.transformers._caching`, padding in `fuel.transformers._padding`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from fuel.kernels.ragged import uniform
from fuel.plan import Context, Cursor
from fuel.schemes import BatchScheme
from fuel.schemes._base import is_custom
from fuel.schemes._sequential import ConstantRequests as OneSize
from fuel.transformers._base import Transformer, _count
from fuel.transformers._checks import labels_below, need_batches, need_examples
from fuel.transformers._holding import Below, RequestCursor, check_request, told
from fuel.transformers._stacking import stack, stack_own
from fuel.transformers._totals import batch_totals
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Batch", "Unpack"]


class Batch(Transformer):
    """Makes batches of examples.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of examples.
    iteration_scheme : BatchSizeScheme
        Says how many examples each batch has, for example ``ConstantScheme(32)``.
    strictness : {0, 1, 2}, optional
        What happens when fewer examples are left than were asked for: 0 (default) gives a short
        batch, 1 drops them, 2 raises a ValueError.
    **kwargs
        `axis_labels` (default: those below with ``'batch'`` in front), `name`.

    Attributes
    ----------
    strictness
        As given.

    Raises
    ------
    ValueError
        If the stream below produces batches, or the scheme does not ask for numbers of examples,
        or `strictness` is none of the three.

    Notes
    -----
    Each source becomes what ``numpy.asarray`` makes of its examples; where their shapes differ, a
    one-dimensional array of objects. A saved position counts examples: it can be resumed with
    another batch size.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.schemes import ConstantScheme
    >>> from fuel.streams import DataStream
    >>> words = DataStream(IterableDataset(['a', 'b', 'c']))
    >>> [batch[0].tolist() for batch in Batch(words, ConstantScheme(2))]
    [['a', 'b'], ['c']]

    """

    def __init__(
        self, data_stream: Any, iteration_scheme: Any, strictness: int = 0, **kwargs: Any
    ) -> None:
        need_examples("Batch", data_stream)
        if (
            isinstance(iteration_scheme, type)
            or not hasattr(iteration_scheme, "get_request_iterator")
            or iteration_scheme.requests_examples
        ):
            raise ValueError(
                "the iteration scheme of Batch must request batches, not individual examples, got "
                f"{told(iteration_scheme)}; use for example ConstantScheme(batch_size)"
            )
        if isinstance(iteration_scheme, BatchScheme) and not is_custom(iteration_scheme):
            raise ValueError(
                "the iteration scheme of Batch must ask for numbers of examples, but "
                f"{type(iteration_scheme).__name__} asks for lists of indices; use for example "
                f"ConstantScheme({iteration_scheme.batch_size})"
            )
        if strictness not in (0, 1, 2):
            raise ValueError(
                f"`strictness` of Batch must be 0 (give a short last batch), 1 (drop it) or 2 "
                f"(raise an error), got {strictness!r}"
            )
        labels = labels_below(data_stream)
        if labels is not None:
            for source, names in labels.items():
                labels[source] = None if names is None else ("batch", *names)
        kwargs.setdefault("axis_labels", labels)
        super().__init__(data_stream, iteration_scheme=iteration_scheme, **kwargs)
        self.strictness = strictness

    def _check_request(self, request: Any) -> None:
        check_request(type(self).__name__, request)

    #: The items below are examples, so many of which, in order, make one of its own.
    _groups_examples = True

    def _make_cursor(self, start: Start) -> Cursor:
        return _BatchCursor(start, self)

    def _num_items(self) -> int | None:
        return self._totals()[0]

    def _num_examples(self) -> int | None:
        return self._totals()[1]

    def _totals(self) -> tuple[int | None, int | None]:
        """Return the numbers of batches and of examples in an epoch."""
        there = _count(self.data_stream, "_num_items")
        return batch_totals(self.iteration_scheme, there, self.strictness)

    def _fingerprint(self) -> dict[str, JSON]:
        # Neither the batch size nor what becomes of a short last batch changes an example.
        return {}

    def _parameters(self) -> dict[str, Any]:
        scheme = self.iteration_scheme
        size = getattr(scheme, "batch_size", None)
        parameters: dict[str, Any] = {"iteration_scheme": type(scheme).__name__}
        if size is not None:
            parameters = {"batch_size": size}
        if self.strictness:
            parameters["strictness"] = self.strictness
        return parameters


class _BatchCursor(RequestCursor):
    """The pass of a `Batch`. It holds examples only after an error."""

    step: Batch

    def __init__(self, start: Start, step: Batch) -> None:
        super().__init__(start, step)
        self.examples: list[Any] = []
        self.contexts: list[Context] = []
        self.first: Any = None
        # Whether the step above only reads the batches, and hands none of their arrays on.
        self.borrow = False

    def produce(self, request: Any) -> Any:
        """Return a batch of so many examples."""
        count = check_request(type(self.step).__name__, request)
        child, examples, contexts = self.child, self.examples, self.contexts
        if not examples:
            batch = self._at_once(count)
            if batch is not None:
                return batch
            self.first = self.below.place()
        while len(examples) < count:
            try:
                example = next(child)
            except StopIteration:
                break
            examples.append(example)
            contexts.append(child.context)
        if len(examples) < count and self.step.strictness == 1:
            self.examples, self.contexts = [], []
            raise StopIteration
        if not examples:
            raise StopIteration
        if len(examples) < count and self.step.strictness == 2:
            self.refuse_short(count, len(examples))
        context, batch = Context.gather(contexts), self.put_together(examples)
        self.context, self.examples, self.contexts = context, [], []
        return batch

    def request(self) -> int:
        """Return how many examples the next batch has."""
        return check_request(type(self.step).__name__, next(self.requests))

    def forget(self) -> None:
        """Hold nothing, whatever went wrong before."""
        self.examples, self.contexts, self.unanswered = [], [], None

    def let_go(self) -> None:
        """Go back behind the batch delivered last, if examples of the next one are held."""
        if self.examples:
            self.below.go(self.first)
            self.forget()

    def skip(self, count: int) -> int:
        """Pass over batches, at once where all are of one size."""
        size = getattr(self.step.iteration_scheme, "batch_size", 0)
        if self.examples or self.unanswered is not None or type(self.requests) is not OneSize:
            return super().skip(count)
        if self.requests.bounded:
            return super().skip(count)
        there: int = self.child.skip(count * size)
        left = there % size
        if left and self.step.strictness == 2:
            self.refuse_short(size, left)
        passed: int = there // size + (1 if left and self.step.strictness == 0 else 0)
        if passed:  # else somebody who asks ahead may have made a request in vain
            self.requests.skip(passed)
            self.own = self.requests.tell()
        if passed and passed == count:
            last = left or size
            first = self.child.context.address()[0] - last + 1
            self.context = Context(
                self.child.epoch, first, last, self.child.context.draws, collected=True
            )
        return passed

    def refuse_short(self, count: int, left: int) -> None:
        """Raise the error of a last batch for which too few examples are left."""
        raise ValueError(
            f"{type(self.step).__name__} was asked for {count} examples, but only {left} are left "
            "and `strictness` is 2; ask for a number that divides the examples, or use strictness "
            "0 (a short last batch) or 1 (drop it)"
        )

    @staticmethod
    def put_together(examples: list[Any]) -> Any:
        """Return examples as a batch."""
        return tuple([stack(source) for source in zip(*examples, strict=False)])

    def _at_once(self, count: int) -> Any:
        """Return a batch fetched as one, None where examples can only be had one by one."""
        child = self.child
        found = child.block(count)
        if found is None:
            return None
        columns, first, size = found
        try:
            batch = tuple([self._stacked(column) for column in columns])
        except Exception:
            batch = None
        strictness = self.step.strictness if size < count else 0
        if batch is None or strictness == 2:
            child.back()  # one by one, it is told what is wrong
            return None
        child.passed(size, count)
        if strictness == 1:
            raise StopIteration
        self.context = Context(child.epoch, first, size, child.context.draws, collected=True)
        return batch

    def _stacked(self, column: Any) -> Any:
        """Return what `stack` makes of the examples of a source, in memory of its own."""
        if type(column) is numpy.ndarray:
            return column
        items = list(column)
        if self.borrow and uniform(items) is False:
            return items  # whoever borrows them goes over them one by one
        return stack_own(items, self.borrow)

    def tell_held(self) -> JSON:
        """Describe the place of the first example not delivered, and how many were fetched."""
        place = self.first if self.examples else self.below.place()
        return {"from": self.below.written(place), "fetched": len(self.examples)}

    def seek_held(self, mark: JSON) -> None:
        """Fetch again what was fetched and not delivered."""
        self.examples, self.contexts = [], []
        self.below.go(mark["from"])
        self.first = mark["from"]
        for _ in range(mark["fetched"]):
            self.examples.append(self.below.again())
            self.contexts.append(self.child.context)


class Unpack(Transformer):
    """Makes single examples of batches.

    Parameters
    ----------
    data_stream : AbstractDataStream
        A stream of batches.
    **kwargs
        `axis_labels` (default: those below without the first), `name`.

    Raises
    ------
    ValueError
        If the stream below produces examples.

    Notes
    -----
    A resumed pass fetches at most one batch again.

    """

    def __init__(self, data_stream: Any, **kwargs: Any) -> None:
        need_batches("Unpack", data_stream)
        labels = labels_below(data_stream)
        if labels is not None:
            for source, names in labels.items():
                labels[source] = None if names is None else tuple(names)[1:]
        kwargs.setdefault("axis_labels", labels)
        kwargs.setdefault("produces_examples", True)
        super().__init__(data_stream, **kwargs)

    def _make_cursor(self, start: Start) -> Cursor:
        return _UnpackCursor(start, self)

    def _num_items(self) -> int | None:
        return _count(self.data_stream, "_num_examples")


class _UnpackCursor(Cursor):
    """The pass of an `Unpack`: it holds the batch whose examples are being delivered."""

    child: Cursor

    def __init__(self, start: Start, step: Unpack) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)
        self.below = Below(self.child, step.data_stream)
        self.examples: list[Any] = []
        self.index = 0
        self.first: Any = None

    def produce(self, request: Any) -> Any:
        """Return the next example."""
        while self.index >= len(self.examples):
            self.first = self.below.place()
            self._hold(next(self.child))
        self.context = self.child.context.one(self.index)
        example = self.examples[self.index]
        self.index += 1
        if self.index == len(self.examples):
            self.examples, self.index = [], 0
        return example

    def _hold(self, batch: Any) -> None:
        self.examples, self.index = list(zip(*batch, strict=False)), 0

    def tell(self) -> JSON:
        """Describe the batch held and how much of it was delivered."""
        if not self.examples:
            return {"from": self.below.written(self.below.place()), "used": 0}
        return {"from": self.below.written(self.first), "used": self.index}

    def seek(self, mark: JSON) -> None:
        """Fetch the batch again, if one was held."""
        self.examples, self.index = [], 0
        self.below.go(mark["from"])
        if mark["used"]:
            self.first = mark["from"]
            self._hold(self.below.again())
            self.index = mark["used"]
