"""What every transformer is: a stream that reads from another and changes what comes.

In this room: `Transformer` and its three kinds, and the check of axis labels. The transformers
themselves are in the neighbouring files, by subject.

A new transformer overrides ``transform_example`` and/or ``transform_batch`` (or, in the kinds
below, ``transform_any``, ``transform_source_example``, ``transform_source_batch`` or
``transform_any_source``). One that draws random numbers overrides `Transformer.apply`, which is
handed the context of the item. One that changes the number of items reads
``self.child_epoch_iterator`` in ``get_data``.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fuel.exceptions import AxisLabelsMismatchError, IteratorInvalidatedError
from fuel.iterator import DataIterator
from fuel.plan import Context, Cursor, MapCursor
from fuel.plan._given import over_given
from fuel.state import plain
from fuel.streams._base import AbstractDataStream
from fuel.transformers._checks import check_which, need_stream
from fuel.typing import JSON
from fuel.utils._overrides import is_ours, overridden

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = [
    "AgnosticSourcewiseTransformer",
    "AgnosticTransformer",
    "ExpectsAxisLabels",
    "SourcewiseTransformer",
    "Transformer",
]

log = logging.getLogger(__name__)

#: The methods that give `which_sources` its meaning; a user who overrides one may give another.
_CHOOSING = (
    "_apply_sourcewise_transformation",
    "transform_any",
    "transform_batch",
    "transform_example",
)


class Transformer(AbstractDataStream):
    """A stream that changes what comes out of another.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    produces_examples : bool, optional
        Whether the items are examples (else: batches). It may be left out where the class or an
        iteration scheme says so.
    **kwargs
        `iteration_scheme`, `axis_labels`, `name` and `seed` of `AbstractDataStream`.

    Attributes
    ----------
    data_stream : AbstractDataStream
        As given.
    child_epoch_iterator : iterator
        The items of the stream below, in the epoch started last.

    Notes
    -----
    `elementwise` is False unless a class says otherwise: set it to True in a subclass (or on an
    instance) whose items each depend on one item below and its context alone.

    """

    #: Whether each item is a pure function of one item below and its context.
    elementwise: bool = False
    #: What is read from the configuration for every item.
    _setting: Any = None

    def __init__(
        self, data_stream: Any, produces_examples: bool | None = None, **kwargs: Any
    ) -> None:
        if is_ours(type(self)):  # a user's class may set its stream up later
            need_stream(type(self).__name__, data_stream)
        super().__init__(**kwargs)
        if produces_examples is not None:
            self.produces_examples = produces_examples
        self.data_stream = data_stream

    @property
    def sources(self) -> Any:
        """Names of what an item holds, in order; those of the stream below unless set."""
        if "_sources" in self.__dict__:
            return self._sources
        return self.data_stream.sources

    @sources.setter
    def sources(self, value: Any) -> None:
        self._sources = value

    @property
    def child_epoch_iterator(self) -> Any:
        """The items of the stream below, in the epoch started last.

        Raises
        ------
        AttributeError
            Before an epoch was started.

        """
        given = self.__dict__.get("_child_epoch_iterator")
        if given is not None:
            return given
        passes = [] if self._live is None else self._live.children()
        if not passes:
            raise AttributeError(
                f"{type(self).__name__} has no 'child_epoch_iterator' before an epoch was started; "
                "call `get_epoch_iterator()` first"
            )
        return DataIterator.of_pass(self.data_stream, passes[0])

    @child_epoch_iterator.setter
    def child_epoch_iterator(self, iterator: Any) -> None:
        self.__dict__["_child_epoch_iterator"] = iterator

    def close(self) -> None:
        """Close the streams below."""
        if self._live is not None:
            self._live.close()
        self.data_stream.close()

    def reset(self) -> None:
        """Reset the streams below."""
        self.data_stream.reset()

    def next_epoch(self) -> None:
        """Get the streams below ready for the next epoch."""
        self.data_stream.next_epoch()

    def get_epoch_iterator(self, as_dict: bool = False) -> Any:
        """Start an epoch; see `AbstractDataStream.get_epoch_iterator`."""
        need_stream(type(self).__name__, self.data_stream)
        return super().get_epoch_iterator(as_dict=as_dict)

    def get_data(self, request: Any = None) -> Any:
        """Return the next item of the epoch started last.

        Parameters
        ----------
        request : object, optional
            The number of examples, for transformers with an iteration scheme; others take none.

        Returns
        -------
        tuple
            One entry a source.

        Raises
        ------
        ValueError
            If a request is given to a transformer that takes none, or missing where one is needed.
        StopIteration
            At the end of the epoch.

        """
        self._check_request(request)
        given = self.__dict__.get("_child_epoch_iterator")
        live = self._live
        if given is not None and (live is None or getattr(live, "given", None) is not given):
            live = over_given(self, given)
        if live is None:
            raise IteratorInvalidatedError(
                f"{type(self).__name__}.get_data was called before an epoch was started; call "
                "`get_epoch_iterator()` first"
            )
        return live.face(request)

    def _check_request(self, request: Any) -> None:
        """Refuse requests; transformers that take them override it."""
        if request is not None:
            raise ValueError(
                f"{type(self).__name__} takes no requests, got {request!r:.80}; give the iteration "
                "scheme to the DataStream below it"
            )

    # -- how an item is transformed -------------------------------------------------------------

    def apply(self, data: Any, context: Context) -> Any:
        """Transform one item.

        Parameters
        ----------
        data : tuple
            The item of the stream below, one entry a source.
        context : Context
            Its epoch and ordinals; hands out generators (``context.rng(self, index)``).

        Returns
        -------
        tuple
            The transformed item.

        """
        if self.produces_examples != self.data_stream.produces_examples:
            what = ("examples", "batches")
            ours, theirs = self.produces_examples, self.data_stream.produces_examples
            raise NotImplementedError(
                f"{type(self).__qualname__} produces {what[not ours]} but the stream below "
                f"({type(self.data_stream).__name__}) produces {what[not theirs]}; put Batch or "
                "Unpack between them, or override `get_data`"
            )
        if self.produces_examples:
            return self.transform_example(data)
        return self.transform_batch(data)

    def transform_example(self, example: Any) -> Any:
        """Transform one example.

        Parameters
        ----------
        example : tuple
            One entry a source.

        Returns
        -------
        tuple
            The transformed example.

        """
        raise NotImplementedError(
            f"{type(self).__qualname__} does not transform examples, but its stream produces "
            "examples; implement `transform_example`, or put Batch below it"
        )

    def transform_batch(self, batch: Any) -> Any:
        """Transform one batch.

        Parameters
        ----------
        batch : tuple
            One entry a source.

        Returns
        -------
        tuple
            The transformed batch.

        """
        raise NotImplementedError(
            f"{type(self).__qualname__} does not transform batches, but its stream produces "
            "batches; implement `transform_batch`, or put Unpack below it"
        )

    # -- what it offers to the plan -------------------------------------------------------------

    def _make_cursor(self, start: Start) -> Cursor:
        return MapCursor(start, self)

    def _effective_seed(self) -> int:
        if self._step_seed is not None:
            return self._step_seed
        below: int = self.data_stream._effective_seed()
        return below

    def _num_items(self) -> int | None:
        return _count(self.data_stream, "_num_items")

    def _num_examples(self) -> int | None:
        return _count(self.data_stream, "_num_examples")

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters shown in the repr and held in the fingerprint."""
        return {}

    def _fingerprint(self) -> dict[str, JSON]:
        return {name: plain(value) for name, value in self._parameters().items()}

    def _describe(self) -> str:
        parameters = "".join(f", {key}={value!r:.60}" for key, value in self._parameters().items())
        below = getattr(self.data_stream, "_describe", None)
        name = type(self.data_stream).__name__ if below is None else below()
        return f"{type(self).__name__}({name}{parameters})"


def _count(stream: Any, what: str) -> int | None:
    """Ask a stream for a number that only our own evaluation keeps true."""
    if overridden(stream, "get_data", "get_epoch_iterator", "_make_cursor"):
        return None
    count: int | None = getattr(stream, what, lambda: None)()
    return count


class AgnosticTransformer(Transformer, ABC):
    """A transformer that treats examples and batches alike.

    Parameters
    ----------
    data_stream, produces_examples, **kwargs
        As for `Transformer`.

    """

    @abstractmethod
    def transform_any(self, data: Any) -> Any:
        """Transform one item.

        Parameters
        ----------
        data : tuple
            An example or a batch, one entry a source.

        Returns
        -------
        tuple
            The transformed item.

        """

    def transform_example(self, example: Any) -> Any:
        """Transform one example by `transform_any`."""
        return self.transform_any(example)

    def transform_batch(self, batch: Any) -> Any:
        """Transform one batch by `transform_any`."""
        return self.transform_any(batch)


class SourcewiseTransformer(Transformer):
    """A transformer that treats each source by itself.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    produces_examples : bool
        Whether the items are examples (else: batches).
    which_sources : tuple of str, optional
        The sources to transform; the others pass unchanged. Default: all.
    **kwargs
        As for `Transformer`.

    """

    #: Whether `which_sources` has to name sources that there are.
    _asks_sources = False

    def __init__(
        self,
        data_stream: Any,
        produces_examples: bool | None,
        which_sources: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_stream, produces_examples, **kwargs)
        if which_sources is not None and not overridden(self, *_CHOOSING):
            asked = data_stream if self._asks_sources else None
            which_sources = check_which(type(self).__name__, "which_sources", which_sources, asked)
        self.which_sources = which_sources

    def _apply_sourcewise_transformation(
        self, data: Any, method: Callable[[Any, str], Any]
    ) -> tuple[Any, ...]:
        """Apply a method to the selected sources of an item."""
        which = self.which_sources
        return tuple(
            method(item, source) if which is None or source in which else item
            for source, item in zip(self.data_stream.sources, data, strict=False)
        )

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Transform one source of an example.

        Parameters
        ----------
        source_example : object
            The data of the source.
        source_name : str
            Its name.

        Returns
        -------
        object
            The transformed data.

        """
        raise NotImplementedError(
            f"{type(self).__qualname__} does not transform examples (source {source_name!r}); "
            "implement `transform_source_example`, or put Batch below it"
        )

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Transform one source of a batch.

        Parameters
        ----------
        source_batch : object
            The data of the source.
        source_name : str
            Its name.

        Returns
        -------
        object
            The transformed data.

        """
        raise NotImplementedError(
            f"{type(self).__qualname__} does not transform batches (source {source_name!r}); "
            "implement `transform_source_batch`, or put Unpack below it"
        )

    def transform_example(self, example: Any) -> Any:
        """Transform the selected sources of an example."""
        return self._apply_sourcewise_transformation(example, self.transform_source_example)

    def transform_batch(self, batch: Any) -> Any:
        """Transform the selected sources of a batch."""
        return self._apply_sourcewise_transformation(batch, self.transform_source_batch)

    def _parameters(self) -> dict[str, Any]:
        return {} if self.which_sources is None else {"which_sources": self.which_sources}


class AgnosticSourcewiseTransformer(AgnosticTransformer, SourcewiseTransformer, ABC):
    """A transformer that treats each source by itself, in examples and batches alike.

    Parameters
    ----------
    data_stream, produces_examples, which_sources, **kwargs
        As for `SourcewiseTransformer`.

    """

    def transform_any(self, data: Any) -> Any:
        """Transform the selected sources of an item."""
        return self._apply_sourcewise_transformation(data, self.transform_any_source)

    @abstractmethod
    def transform_any_source(self, source_data: Any, source_name: str) -> Any:
        """Transform one source of an example or a batch.

        Parameters
        ----------
        source_data : object
            The data of the source.
        source_name : str
            Its name.

        Returns
        -------
        object
            The transformed data.

        """


class ExpectsAxisLabels:
    """Mixin of transformers that only understand certain axes."""

    def verify_axis_labels(self, expected: Any, actual: Any, source_name: str) -> None:
        """Check the axis labels of a source, once.

        Parameters
        ----------
        expected : tuple of str
            The labels needed.
        actual : tuple of str or None
            Those of the stream; None gives a warning in the log.
        source_name : str
            The source.

        Raises
        ------
        AxisLabelsMismatchError
            If they differ.

        """
        checked: set[str] = self.__dict__.setdefault("_checked_axis_labels", set())
        if source_name in checked:
            return
        name = type(self).__name__
        if actual is None:
            log.warning(
                "%s: the axis labels of source %r are not known; assuming %s",
                name,
                source_name,
                expected,
            )
        elif tuple(actual) != tuple(expected):
            raise AxisLabelsMismatchError(
                f"{name} expects the axis labels {tuple(expected)} for source {source_name!r}, got "
                f"{tuple(actual)}; transpose the data or give the stream the right `axis_labels`"
            )
        checked.add(source_name)
