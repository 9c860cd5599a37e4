"""From arguments to a chain: pure, and everything in it can be printed and pickled.

In this room: `Plan`, which finds out what the data is and builds the stream that a loader iterates
over. Not here: the arguments themselves (`_arguments`), the steps (`_steps`, `_repeat`), where an
iterator is (`_iterator`).

What is built, from the source up, where the examples have numbers::

    DataStream in batches [-> Combine]                       errors are raised
    DataStream of examples -> Observe -> Batch -> Combine    examples that fail are left out, so
                                                             that batches are filled with others
    DataStream of examples [-> Observe]                      single observations

and over a stream, whose examples come in its own order::

    [Unpack ->] [Observe ->] [Repeat ->] Batch [-> Combine]

(single observations are batches of one, so that a place is the same with any batches; only the
batches of a stream, as they are, have no `Batch`),
with `Parallel` on top (over a stream of several epochs: below `Repeat`) where workers are wanted.
"""

from __future__ import annotations

from typing import Any

from fuel.loader._arguments import Arguments
from fuel.loader._container import BufferedStream, ContainerDataset
from fuel.loader._order import BatchOrder, ExampleOrder
from fuel.loader._repeat import Repeat
from fuel.loader._steps import Combine, Observe, PerObservation
from fuel.loader._structure import Structure
from fuel.observations import numobs
from fuel.observations._access import is_numeric
from fuel.observations._view import describe
from fuel.plan._chain import fingerprint, walk
from fuel.plan._parts import asked_by_number
from fuel.schemes import ConstantScheme
from fuel.streams._dataset import DataStream
from fuel.transformers._batching import Batch, Unpack
from fuel.transformers._functions import function_name
from fuel.typing import JSON

__all__ = ["Plan"]


class Plan:
    """What a loader does.

    Parameters
    ----------
    data : container, dataset or stream
        The data.
    arguments : Arguments
        Checked arguments.

    Attributes
    ----------
    structure : Structure
        The form of an item, where it has that of the data.
    examples : int or None
        How many examples there are, where they have numbers.
    scheme : BatchOrder, ExampleOrder or None
        The order of the runs, where the loader decides on it.
    by_place : bool
        Whether an item is a function of its place in that order, and of nothing else.

    """

    def __init__(self, data: Any, arguments: Arguments) -> None:
        self.data = data
        self.arguments = arguments
        self.is_stream = hasattr(data, "get_epoch_iterator")
        self.is_dataset = not self.is_stream and _is_dataset(data)
        self.examples: int | None = None
        self.scheme: Any = None
        self.by_place = False
        self._parts: list[Any] | None = None
        if self.is_stream or self.is_dataset:
            self.structure = Structure.of_sources(data.sources, arguments.as_dict)
            if self.is_dataset:
                self.examples = _numbered(data)
        else:
            _refuse_iterator(data)
            self.examples = numobs(data)
            self.structure, self._parts = Structure.of(data)
            if arguments.as_dict:
                raise ValueError(
                    f"`as_dict` is for datasets and streams, got data of type "
                    f"{type(data).__name__}; give a dict of containers to get dicts"
                )
        self._check()
        if self.examples is not None:
            self.scheme = self._order()
            self.by_place = asked_by_number(self._source())

    def _check(self) -> None:
        arguments, data = self.arguments, self.data
        if self.examples is None:
            if arguments.transform is not None and self._as_batches:
                raise ValueError(
                    f"`transform` is for single observations, but batch_size=None hands on the "
                    f"batches of the {type(data).__name__} as they are; give a `batch_size`"
                )
            for name in ("shuffle", "buffer"):
                if getattr(arguments, name):
                    raise ValueError(
                        f"`{name}=True` needs examples that can be asked for by number, got a "
                        f"{type(data).__name__}, which has its own order; "
                        + (
                            "give the stream a shuffled scheme, or the loader its dataset"
                            if self.is_stream
                            else "read it into a list first"
                        )
                    )
            return
        size, epochs = arguments.batch_size, arguments.num_epochs
        if size is None or arguments.partial or epochs is None:
            return
        if 0 < self.examples * epochs < size:
            times = "" if epochs == 1 else f", {self.examples * epochs} in {epochs} epochs"
            raise ValueError(
                f"`batch_size={size}` is larger than the data, which has {self.examples} examples"
                f"{times}: with partial=False there would be no batch at all; use a smaller "
                "`batch_size`, or partial=True for one short batch"
            )

    # -- the parts of the chain -----------------------------------------------------------------

    @property
    def _collate(self) -> Any:
        """What is left of `collate`: to stack rows of arrays is to take them at once."""
        arguments = self.arguments
        plain = (
            arguments.collate is True
            and arguments.transform is None
            and self._parts is not None
            and all(map(is_numeric, self._parts))
        )
        return None if plain else arguments.collate

    @property
    def _looks_inside(self) -> bool:
        """Whether batches have to be taken apart into observations."""
        return self.arguments.transform is not None or self._collate is not None

    def _function(self) -> PerObservation | None:
        transform = self.arguments.transform
        return None if transform is None else PerObservation(transform, self.scheme)

    def _by_example(self) -> bool:
        return self.arguments.batch_size is None or self.arguments.handles_errors

    def _order(self) -> Any:
        arguments = self.arguments
        seed = arguments.seed if arguments.shuffle else None
        assert self.examples is not None
        if self._by_example():
            return ExampleOrder(self.examples, arguments.num_epochs, seed)
        assert arguments.batch_size is not None
        return BatchOrder(
            self.examples, arguments.num_epochs, seed, arguments.batch_size, arguments.partial
        )

    def _source(self) -> Any:
        """Return the stream at the bottom of a chain with numbered examples."""
        arguments = self.arguments
        dataset = self.data
        if self._parts is not None:
            apart = self._looks_inside and not self._by_example()
            dataset = ContainerDataset(self.structure.sources, self._parts, apart)
        kind = BufferedStream if arguments.buffer and not arguments.needs_executor else DataStream
        return kind(dataset, iteration_scheme=self.scheme, seed=arguments.seed)

    def _given_stream(self) -> Any:
        return self.data if self.is_stream else DataStream(self.data, seed=self.arguments.seed)

    @property
    def _as_batches(self) -> bool:
        """Whether the batches of a stream are handed on as they are."""
        return (
            self.scheme is None
            and self.arguments.as_they_come
            and not self._given_stream().produces_examples
        )

    @property
    def one_by_one(self) -> bool:
        """Whether single observations come out of a stream, in lists of one."""
        return self.scheme is None and self.arguments.batch_size is None and not self._as_batches

    def _batched(self, stream: Any) -> Any:
        size: Any = self.arguments.batch_size or 1
        return Batch(stream, ConstantScheme(size), 0 if self.arguments.partial else 1)

    def _parallel(self, stream: Any, serial: bool) -> Any:
        arguments = self.arguments
        if not arguments.needs_executor or (serial and not arguments.handles_errors):
            return stream
        from fuel.transformers import Parallel

        workers = 0 if serial else arguments.threads or arguments.processes
        kind = "thread" if arguments.threads else "process"
        return Parallel(stream, workers=workers, kind=kind, **arguments.executor)

    def build(self, serial: bool = False) -> Any:
        """Build the chain.

        Parameters
        ----------
        serial : bool, optional
            Whether to do without workers. The items are the same.

        Returns
        -------
        stream
            Its items hold one source, ``'item'``, where that is what the user gets.

        """
        return self._numbered(serial) if self.scheme is not None else self._streamed(serial)

    def _numbered(self, serial: bool) -> Any:
        arguments, function = self.arguments, self._function()
        stream = self._source()
        structure, collate = self.structure, self._collate
        if arguments.batch_size is None:
            if function is not None:
                stream = Observe(stream, structure, function, False)
        elif not arguments.handles_errors:
            if self._looks_inside:
                collate = True if collate is None else collate
                stream = Combine(stream, structure, function, collate, self.scheme)
        elif self._parts is None and not self._looks_inside:
            stream = self._batched(stream)
        else:
            stream = self._batched(Observe(stream, structure, function, True))
            observed = function is not None
            stream = Combine(
                stream,
                structure,
                None,
                True if collate is None and observed else collate,
                self.scheme,
                self._parts,
                opaque=True,
                observed=observed,
            )
        return self._parallel(stream, serial)

    def _streamed(self, serial: bool) -> Any:
        arguments, function = self.arguments, self._function()
        size, epochs = arguments.batch_size, arguments.num_epochs
        stream = self._given_stream()
        looks_inside = self._looks_inside or self.one_by_one
        if not stream.produces_examples and not self._as_batches:
            stream = Unpack(stream)
        if looks_inside and not self._as_batches:
            seed = {"seed": arguments.seed} if arguments.seed_given else {}
            stream = Observe(stream, self.structure, function, True, **seed)
        if epochs != 1:
            stream = Repeat(self._parallel(stream, serial), epochs)
        if not self._as_batches:
            stream = self._batched(stream)
            if looks_inside:
                collate = True if arguments.collate is None else arguments.collate
                if size is None:
                    collate = False
                stream = Combine(
                    stream,
                    self.structure,
                    None,
                    collate,
                    opaque=True,
                    observed=function is not None,
                )
        return stream if epochs != 1 else self._parallel(stream, serial)

    # -- places in a run ------------------------------------------------------------------------

    def items(self) -> int | None:
        """Return how many items a run has, where they have numbers; None where nobody knows."""
        arguments = self.arguments
        if self.scheme is None or arguments.may_skip:
            return None
        total: int | None = self.scheme._num_examples()
        size = arguments.batch_size or 1
        if total is None:
            return None
        return -(-total // size) if arguments.partial else total // size

    def mark(self, position: int) -> JSON:
        """Return how the chain describes that so many examples were delivered."""
        if self.arguments.batch_size is None or not self.arguments.handles_errors:
            return position
        return {"own": position, "held": {"from": {"at": position}, "fetched": 0}}

    @staticmethod
    def position(mark: JSON) -> int | None:
        """Return how many examples were delivered, None where one number does not say it."""
        if isinstance(mark, dict) and mark.get("held", {}).get("fetched", 1) == 0:
            mark = mark["held"]["from"]["at"]
        return mark if type(mark) is int else None

    def begin_at(self, stream: Any, run: int) -> Any:
        """Start a run of a chain with numbered examples, by its number."""
        walk(stream)[0].__dict__["_next_epoch"] = run
        return stream.get_epoch_iterator()

    def fingerprint(self) -> JSON:
        """Describe what a place in a run depends on: never batches, workers, or collation."""
        found: dict[str, JSON] = {"sources": list(self.structure.sources)}
        stream: Any = None
        if self.scheme is not None:
            found["order"] = self.scheme._fingerprint()
        else:
            stream = self._given_stream()
            found |= {"data": fingerprint(stream), "epochs": self.arguments.num_epochs}
            if self._as_batches:
                found["items"] = "batches of the stream"
        transform = self.arguments.transform
        if transform is not None:
            found["transform"] = function_name(transform)
            if self.draws:
                given = stream is None or self.arguments.seed_given
                found["seed"] = self.arguments.seed if given else stream._effective_seed()
        return {"loader": found}

    @property
    def draws(self) -> bool:
        """Whether the transform draws random numbers."""
        function = self._function()
        return function is not None and function.takes_rng

    def describe(self) -> str:
        """Return the data and what is done to it, in a line."""
        arguments = self.arguments
        data = describe(self.data) if self._parts is not None else repr(self.data)
        words = [f"DataLoader({data}"]
        words.append(f"batch_size={-1 if arguments.batch_size is None else arguments.batch_size}")
        if arguments.shuffle:
            words.append(f"shuffle=True, seed={arguments.seed}")
        if not arguments.partial:
            words.append("partial=False")
        if arguments.collate is not None:
            named = arguments.collate
            words.append(f"collate={function_name(named) if callable(named) else named}")
        if arguments.transform is not None:
            words.append(f"transform={function_name(arguments.transform)}")
        if arguments.num_epochs != 1:
            words.append(f"num_epochs={arguments.num_epochs}")
        if arguments.threads:
            words.append(f"parallel={arguments.threads}")
        if arguments.processes:
            words.append(f"num_workers={arguments.processes}")
        if arguments.buffer:
            words.append("buffer=True")
        return ", ".join(words) + ")"


def _is_dataset(data: Any) -> bool:
    return hasattr(type(data), "get_data") and hasattr(data, "open") and hasattr(data, "sources")


def _numbered(dataset: Any) -> int | None:
    """Return how many examples a dataset has that answers requests for them; else None."""
    try:
        return numobs(dataset)
    except TypeError:
        return None


def _refuse_iterator(data: Any) -> None:
    if isinstance(data, (str, bytes)) or (hasattr(data, "__next__") and hasattr(data, "__iter__")):
        raise TypeError(
            f"a DataLoader needs a container, a dataset or a stream, got {data!r:.80}; make a list "
            "of it, or put an iterable into an IterableDataset"
        )
