"""`MixtureStream`: the items of several streams, in proportion.

Whose turn it is: `_proportions`. The passes over the streams: `_several`. Not here: drawing single
examples of one dataset by weight (`fuel.schemes.WeightedScheme`).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fuel.exceptions import StateError
from fuel.plan import Cursor
from fuel.streams._again import Spot
from fuel.streams._over import OverStreams, count_below, goes_back, need_alike
from fuel.streams._proportions import Proportions, as_shares, first_beyond
from fuel.streams._several import SeveralCursor, told
from fuel.typing import JSON

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["MixtureStream"]

_STOPS = ("first", "all", "cycle", "never")
#: Of a longer mixture the number of items is not worked out; this many choices take a second.
_COUNTED = 1 << 20
#: Items that are passed over one by one rather than tried together again.
_FEW = 64


class MixtureStream(OverStreams):
    """The items of several streams of the same sources, in exact proportions.

    After any number of items, each stream has given its share of them, to less than one item.
    Nothing is drawn: with equal weights the streams take turns.

    Parameters
    ----------
    streams : sequence of AbstractDataStream
        The streams: of the same sources, all of examples or all of batches.
    weights : sequence of numbers
        One for each stream, in any unit. Integers and fractions are exact; a float stands for
        the fraction next to it whose denominator is at most a million (0.1 for a tenth).
    stop : {'first', 'all', 'cycle', 'never'}, optional
        When the epoch ends. ``'first'`` (default): when it is the turn of a stream that has no
        more. ``'all'``: when all have no more; one that has ended leaves, and the others go on in
        proportion among themselves, so that every item comes exactly once. ``'cycle'``: when all
        have come to their end once; one that has ended starts its next epoch (in a new order, if
        it has one), as often as needed. ``'never'``: so too, without end.
    schedule : dict, optional
        Other weights from some item of the epoch on: ``{item: weights}``.
    seed : int, optional
        Seed of the draws of the steps above. Default: that of the first stream.
    name, axis_labels
        As for `AbstractDataStream`; the labels default to those of the first stream.

    Attributes
    ----------
    data_streams, sources, stop
        The streams, their sources, and when it ends.
    weights : tuple of int
        The weights at the beginning of an epoch, as the smallest integers in proportion.
    schedule : dict
        The later ones, too.

    Raises
    ------
    TypeError
        If `streams` holds what is no stream.
    ValueError
        If there is no stream, or one of them twice; if they differ in their sources, or some
        produce examples and others batches; if the weights are not as many finite numbers that
        are not negative, or all are zero; if `stop` is none of the four.

    Notes
    -----
    The turns are those of R. Tijdeman's solution of the chairman assignment problem, in integers
    [1]_; their state is a number for each stream. When weights change, or a stream leaves, the
    proportions are exact from there on.

    The place of an item in the mixture is what steps above draw by: an example's ordinal is the
    number of the item; the examples of a batch have that of the batch, and are numbered in it.
    The draws of steps below are those that they have without the mixture.

    For a position that can be resumed with another batch size, or other ranks, mix streams of
    examples, and put `Batch` above: in a mixture of batches, batches are what is counted.

    References
    ----------
    .. [1] R. Tijdeman. "The chairman assignment problem". Discrete Mathematics 32, 1980.

    Examples
    --------
    >>> from fuel.datasets import IterableDataset
    >>> from fuel.streams import DataStream, MixtureStream
    >>> letters, digits = (DataStream(IterableDataset(items)) for items in ('abc', '1234567'))
    >>> ''.join(item for item, in MixtureStream([letters, digits], [1, 2]))
    '1a23b45c67'
    >>> ''.join(item for item, in MixtureStream([letters, digits], [1, 1], stop='cycle'))
    'a1b2c3a4b5c6a7b'

    """

    def __init__(
        self,
        streams: Any,
        weights: Any,
        *,
        stop: str = "first",
        schedule: Mapping[int, Any] | None = None,
        seed: int | None = None,
        name: str | None = None,
        axis_labels: Any = None,
    ) -> None:
        self.data_streams, sources, examples = need_alike("MixtureStream", streams)
        if stop not in _STOPS:
            raise ValueError(f"`stop` of MixtureStream must be one of {_STOPS}, got {stop!r:.80}")
        if axis_labels is None:
            labels = getattr(self.data_streams[0], "axis_labels", None)
            axis_labels = None if labels is None else dict(labels)
        super().__init__(axis_labels=axis_labels, name=name, seed=seed)
        self.sources: Any = sources
        self.produces_examples = examples
        self.stop = stop
        self.weights = tuple(as_shares(weights, len(self.data_streams)))
        self.schedule: dict[int, tuple[int, ...]] = {}
        for item, later in (schedule or {}).items():
            place = _item("the items of `schedule`", item)
            self.schedule[place] = tuple(as_shares(later, len(self.data_streams)))

    def set_weights(self, weights: Any, at: int | None = None) -> None:
        """Change the weights in the epoch that was started last.

        The change is part of saved positions: an iterator that is resumed mixes as this one goes
        on. The next epoch begins with the weights, and has the schedule, of the constructor.

        Parameters
        ----------
        weights : sequence of numbers
            As for the constructor.
        at : int, optional
            The number of the item, from 0, from which on they hold. Default: the next one. It
            counts the items of the mixture: examples, if it is a mixture of examples, of all
            ranks together.

        Raises
        ------
        ValueError
            If no epoch was started, or the item has been passed already.

        """
        live = self._live
        if not isinstance(live, _MixtureCursor):
            raise ValueError(
                "MixtureStream.set_weights changes the epoch that was started last, but none was "
                "started; give the weights, or a `schedule`, to the constructor"
            )
        shares = as_shares(weights, len(self.data_streams))
        live.change(live.count if at is None else _item("`at`", at), shares)

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        return _MixtureCursor(start, self)

    def _num_items(self) -> int | None:
        counts = [count_below(stream) for stream in self.data_streams]
        if self.stop == "never" or any(count is None for count in counts):
            return None
        known = [count for count in counts if count is not None]
        always = [all(column) for column in zip(self.weights, *self.schedule.values(), strict=True)]
        if self.stop == "all":
            return sum(known) if all(always) else None
        if self.schedule:
            return None
        if self.stop == "cycle" and not all(
            count for count, share in zip(known, self.weights, strict=True) if share
        ):
            return None  # it is an error
        first = first_beyond(self.weights, known, self.stop == "cycle", _COUNTED)
        return None if first < 0 else first - 1

    def _num_examples(self) -> int | None:
        return self._num_items() if self.produces_examples else None

    def _fingerprint(self) -> dict[str, JSON]:
        described: dict[str, JSON] = {"stop": self.stop, "weights": list(self.weights)}
        if self.schedule:
            described["schedule"] = [[at, list(self.schedule[at])] for at in sorted(self.schedule)]
        return described

    def _why_not_elementwise(self) -> str:
        return "takes turns among streams: runs in order, in this process"

    def _describe(self) -> str:
        return f"{type(self).__name__}({told(self)}, weights={self.weights}, stop={self.stop!r})"


class _MixtureCursor(SeveralCursor):
    """The pass of a `MixtureStream`.

    Attributes
    ----------
    choices : Proportions
        The turns since the weights changed last.
    changes : dict
        Weights from later items on.
    over : bool
        Whether the epoch has ended.

    """

    step: MixtureStream

    def __init__(self, start: Start, step: MixtureStream) -> None:
        super().__init__(start, step)
        self.changes = {at: list(shares) for at, shares in step.schedule.items()}
        self.shares = list(step.weights)
        self.choices = Proportions(self.shares)
        self.over = False

    def change(self, at: int, shares: list[int]) -> None:
        """Have other weights from an item on."""
        if at < self.count:
            raise ValueError(
                f"`at` is item {at}, but {self.count} items of the mixture have been passed; give "
                "the number of a later one"
            )
        self.changes[at] = shares

    def _turn(self) -> int:
        """Return whose turn it is; -1 at the end."""
        if self.count in self.changes:
            self.shares = self.changes.pop(self.count)
            self._settle()
        if self.over or not any(self.choices.shares):
            return -1
        return self.choices.peek()

    def _settle(self) -> None:
        """Begin to choose among the streams that are there, by the present weights."""
        shares = list(self.shares)
        if self.step.stop == "all":
            shares = [0 if end else share for share, end in zip(shares, self.ended, strict=True)]
        self.choices = Proportions(shares)

    def _ends(self, index: int) -> None:
        """Decide what happens now that a stream has ended whose turn it is."""
        stop = self.step.stop
        self.ended[index] = True
        if stop == "first":
            self.over = True
        elif stop == "all":
            self._settle()
        elif stop == "cycle" and all(
            end for end, share in zip(self.ended, self.shares, strict=True) if share
        ):
            self.over = True

    def _next(self, evaluate: bool) -> Any:
        """Deliver the next item, or pass over it."""
        while True:
            index = self._turn()
            if index < 0:
                raise StopIteration
            data, there = self._from(index, evaluate)
            if there:
                break
            self._ends(index)
            if self.over or self.step.stop == "all":
                continue
            self.begin_again(index)
            data, there = self._from(index, evaluate)
            if not there:
                raise ValueError(
                    f"MixtureStream cannot go on with {self.name(index)} again and again: it is "
                    "empty; leave it out, give it no weight, or use another `stop`"
                )
            break
        self.choices.take()
        self.context = self.place(index, self.count)
        self.count += 1
        return data

    def _from(self, index: int, evaluate: bool) -> tuple[Any, bool]:
        if not evaluate:
            return None, bool(self.passes[index].skip(1))
        try:
            return next(self.passes[index]), True
        except StopIteration:
            return None, False

    def produce(self, request: Any) -> Any:
        """Return the next item."""
        return self._next(True)

    def skip(self, count: int) -> int:
        """Pass over items: many at once, where the streams can go back from their ends."""
        passed, together = 0, count
        back = goes_back(self.step)
        while passed < count:
            together = min(together, count - passed)
            if back and together > _FEW:
                if self._skip_together(together):
                    passed += together
                else:
                    together //= 2
                continue
            for _ in range(min(_FEW, count - passed)):
                try:
                    self._next(False)
                except StopIteration:
                    return passed
                passed += 1
            together = count - passed
        return passed

    def _skip_together(self, count: int) -> bool:
        """Pass over items at once, if no stream ends and no weight changes on the way."""
        index = self._turn()
        if index < 0 or any(self.count < at < self.count + count for at in self.changes):
            return False
        spots = [
            Spot.of(one, stream)
            for one, stream in zip(self.passes, self.step.data_streams, strict=True)
        ]
        if any(isinstance(spot, StateError) for spot in spots):
            return False
        choices = self.choices.copy()
        last = choices.advance(count)
        each = [now - was for now, was in zip(choices.counts, self.choices.counts, strict=True)]
        for number, wanted in enumerate(each):
            if wanted and self.passes[number].skip(wanted) < wanted:
                for one, stream, spot in zip(
                    self.passes, self.step.data_streams, spots, strict=True
                ):
                    spot.reach(one, stream)  # type: ignore[union-attr]
                return False
        self.choices = choices
        self.count += count
        self.context = self.place(last, self.count - 1)
        return True

    def tell(self) -> JSON:
        """Describe the turns, the weights to come, and the place in each stream."""
        mark: dict[str, JSON] = {
            "items": self.count,
            "weights": list(self.shares),
            "since": self.choices.state(),
            "streams": [self.tell_one(index) for index in range(len(self.passes))],
        }
        if self.changes:
            mark["changes"] = [[at, list(self.changes[at])] for at in sorted(self.changes)]
        if self.over:
            mark["over"] = True
        return mark

    def seek(self, mark: JSON) -> None:
        """Go to a place described earlier."""
        for index, one in enumerate(mark["streams"]):
            self.seek_one(index, one)
        self.count = mark["items"]
        self.shares = list(mark["weights"])
        self.changes = {int(at): list(shares) for at, shares in mark.get("changes", [])}
        self.over = bool(mark.get("over"))
        self._settle()
        self.choices = Proportions(self.choices.shares, mark["since"])


def _item(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise ValueError(
            f"{what} must be the number of an item of the epoch, counted from 0, got {value!r:.80}"
        )
    return number
