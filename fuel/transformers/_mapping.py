"""Transformers that call a user's function: `Mapping`, `Filter`; and `SortMapping`, one to call.

A function whose second positional parameter is named ``rng`` and has no default is handed a
generator addressed by the example. What is known of functions is in
`fuel.transformers._functions`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from fuel.plan import Context, Cursor
from fuel.transformers._base import Transformer
from fuel.transformers._checks import check_names, kind_below, labels_below
from fuel.transformers._functions import (
    check_function,
    function_name,
    need_function,
    takes_rng,
)
from fuel.typing import JSON
from fuel.utils._overrides import overridden

if TYPE_CHECKING:
    from fuel.plan import Start

__all__ = ["Filter", "Mapping", "SortMapping"]


class Mapping(Transformer):
    """Applies a function to every item.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    mapping : callable
        Takes an item (a tuple; with ``mapping_accepts=dict`` an ordered dict from source names)
        and returns the new item (a tuple; or a dict). If its second positional parameter is named
        ``rng`` and has no default, it is called as ``mapping(item, rng)`` with a
        `numpy.random.Generator` whose draws depend on the seed, the name of the step, the epoch
        and the ordinal of the example (for a batch: of its first example) alone.
    add_sources : tuple of str, optional
        If given, the sources below are kept and what the function returns is appended under these
        names.
    mapping_accepts : {list, dict}, optional
        The form of the function's argument. Default `list`: a tuple.
    elementwise : bool, optional
        True declares that each result depends on one item alone, so that it may be evaluated
        anywhere and in any order. It is implied for a function that takes ``rng``.
    **kwargs
        `axis_labels` (default: None, since the function may change the axes), `name`, `seed` (for
        a function that takes ``rng``; default: the stream's).

    Attributes
    ----------
    mapping, add_sources, mapping_accepts
        As given.

    Raises
    ------
    ValueError
        If `mapping_accepts` is neither `list` nor `dict`; if `seed` is given and the function
        does not take ``rng``; if the function holds a random generator although its items are to
        be independent.
    TypeError
        If `mapping` cannot be called, or `add_sources` is no collection of names.

    Notes
    -----
    A function that remembers something between calls (attributes, a closure, a generator) is
    resumed with what it remembers, as long as that can be written as plain JSON.

    Examples
    --------
    >>> import numpy
    >>> from fuel.datasets import IndexableDataset
    >>> from fuel.schemes import SequentialExampleScheme
    >>> from fuel.streams import DataStream
    >>> stream = DataStream(IndexableDataset({'x': numpy.arange(3)}),
    ...                     iteration_scheme=SequentialExampleScheme(3))
    >>> doubled = Mapping(stream, lambda data: (data[0] * 2,), add_sources=('twice',))
    >>> [tuple(map(int, item)) for item in doubled]
    [(0, 0), (1, 2), (2, 4)]

    """

    def __init__(
        self,
        data_stream: Any,
        mapping: Callable[..., Any],
        add_sources: Any = None,
        mapping_accepts: type = list,
        *,
        elementwise: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_stream, kind_below("Mapping", data_stream), **kwargs)
        if mapping_accepts not in (list, dict):
            raise ValueError(
                f"`mapping_accepts` of Mapping must be `list` or `dict`, got {mapping_accepts!r}; "
                "`list` hands a tuple to the function, `dict` a dict by source"
            )
        if mapping is not None or not overridden(self, "apply", "get_data"):
            need_function("Mapping", mapping)
        self._takes_rng = takes_rng(mapping)
        self._declared = elementwise
        check_function(
            "Mapping",
            mapping,
            self._step_seed,
            draws=self._takes_rng,
            elementwise=bool(elementwise),
        )
        self._hands_out_generators = self._takes_rng
        self.mapping = mapping
        if isinstance(add_sources, str):
            add_sources = (add_sources,)
        elif add_sources is not None:
            add_sources = check_names("Mapping", "add_sources", add_sources)
        self.add_sources = add_sources
        self.mapping_accepts = mapping_accepts

    @property
    def elementwise(self) -> bool:
        """Whether each item is a pure function of one item below and its context."""
        return self._takes_rng if self._declared is None else bool(self._declared)

    @elementwise.setter
    def elementwise(self, value: bool) -> None:
        check_function("Mapping", self.mapping, None, draws=False, elementwise=bool(value))
        self._declared = value

    @property  # type: ignore[misc]  # read only, since it follows from the arguments
    def sources(self) -> Any:
        """Names of what an item holds: those below, and those added."""
        below = self.data_stream.sources
        return (*below, *self.add_sources) if self.add_sources else below

    def apply(self, data: Any, context: Context) -> Any:
        """Apply the function to one item; see `Transformer.apply`."""
        argument = data
        if self.mapping_accepts is dict:
            argument = OrderedDict(zip(self.data_stream.sources, data, strict=False))
        if self._takes_rng:
            image = self.mapping(argument, context.rng(self))
        else:
            image = self.mapping(argument)
        if self.mapping_accepts is dict:
            image = self._in_order(image)
        if not self.add_sources:
            return image
        return (*data, *self._checked(image))

    def _in_order(self, image: Any) -> tuple[Any, ...]:
        """Return a dict's values in the order of the sources."""
        expected = tuple(self.add_sources or self.sources)
        if isinstance(image, (tuple, list)) and len(image) == len(expected):
            return tuple(image)
        try:
            return tuple([image[source] for source in expected])
        except (KeyError, TypeError, IndexError):
            came = list(image) if hasattr(image, "keys") else type(image).__name__
            raise ValueError(
                f"{function_name(self.mapping)} must return a dict with the keys "
                f"{list(expected)}, got {came}; give every source a value, or name what is added "
                "in `add_sources`"
            ) from None

    def _checked(self, image: Any) -> tuple[Any, ...]:
        """Return what is to be appended, one entry an added source."""
        expected = tuple(self.add_sources)
        if not isinstance(image, (tuple, list)) or len(image) != len(expected):
            came = type(image).__name__
            if isinstance(image, (tuple, list)):
                came = f"a {came} of {len(image)}"
            raise ValueError(
                f"{function_name(self.mapping)} must return a tuple with one entry for each added "
                f"source {expected}, got {came}; return for example `(value,)` for one source"
            )
        return tuple(image)

    def _default_name(self) -> str:
        return f"{type(self).__name__}({function_name(self.mapping)})"

    def _functions(self) -> list[Any]:
        return [] if self.elementwise else [self.mapping]

    def _why_not_elementwise(self) -> str:
        return (
            f"runs in order, in this process: {function_name(self.mapping)} does not take `rng`; "
            "say `Mapping(..., elementwise=True)` if each result depends on one item alone"
        )

    def _parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"mapping": function_name(self.mapping)}
        if self.add_sources:
            parameters["add_sources"] = tuple(self.add_sources)
        return parameters

    def _fingerprint(self) -> dict[str, JSON]:
        described = super()._fingerprint()
        # The function is in the name of the step, or the user chose another name for it.
        del described["mapping"]
        if self._takes_rng:
            described["seed"] = self._effective_seed()
        return described


class SortMapping:
    """A function for `Mapping` that sorts the examples of a batch.

    Parameters
    ----------
    key : callable
        Takes an example (a tuple, one entry a source) and returns what to sort by.
    reverse : bool, optional
        Largest first. Default False.

    Raises
    ------
    TypeError
        If `key` cannot be called.

    Notes
    -----
    Stable, in both directions. Arrays stay arrays of the same type, other sources become lists.
    Picklable if the key is.

    Examples
    --------
    >>> SortMapping(key=lambda example: len(example[0]))((["ccc", "a", "bb"], [3, 1, 2]))
    (['a', 'bb', 'ccc'], [1, 2, 3])

    """

    def __init__(self, key: Callable[[Any], Any], reverse: bool = False) -> None:
        need_function("SortMapping", key)
        self.key = key
        self.reverse = reverse

    def __call__(self, batch: Any) -> tuple[Any, ...]:
        """Sort a batch.

        Parameters
        ----------
        batch : tuple
            One collection a source, all of one length.

        Returns
        -------
        tuple
            The same examples, sorted.

        """
        examples = list(zip(*batch, strict=False))
        keys = [self.key(example) for example in examples]
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=self.reverse)
        return tuple(
            source[numpy.array(order, dtype=numpy.intp)]
            if isinstance(source, numpy.ndarray)
            else [examples[index][number] for index in order]
            for number, source in enumerate(batch)
        )


class Filter(Transformer):
    """Keeps the items for which a function is true.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below; of examples, or of batches, which are kept or dropped whole.
    predicate : callable
        Takes an item (a tuple). If its second positional parameter is named ``rng`` and has no
        default, it is handed a generator, as by `Mapping`.
    **kwargs
        `axis_labels` (default: kept), `name`, `seed`.

    Attributes
    ----------
    predicate
        As given.

    Raises
    ------
    ValueError
        If `seed` is given and the function does not take ``rng``, or it takes it and holds a
        generator besides.
    TypeError
        If `predicate` cannot be called.

    """

    def __init__(self, data_stream: Any, predicate: Callable[..., Any], **kwargs: Any) -> None:
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, kind_below("Filter", data_stream), **kwargs)
        if predicate is not None or not overridden(self, "get_data"):
            need_function("Filter", predicate)
        self._takes_rng = takes_rng(predicate)
        check_function(
            "Filter", predicate, self._step_seed, draws=self._takes_rng, elementwise=False
        )
        self._hands_out_generators = self._takes_rng
        self.predicate = predicate

    def _make_cursor(self, start: Start) -> Cursor:
        return _FilterCursor(start, self)

    def _keeps(self, data: Any, context: Context) -> bool:
        if self._takes_rng:
            return bool(self.predicate(data, context.rng(self)))
        return bool(self.predicate(data))

    def _functions(self) -> list[Any]:
        return [] if self._takes_rng else [self.predicate]

    def _num_items(self) -> int | None:
        return None

    def _num_examples(self) -> int | None:
        return None

    def _parameters(self) -> dict[str, Any]:
        return {"predicate": function_name(self.predicate)}

    def _fingerprint(self) -> dict[str, JSON]:
        described = super()._fingerprint()
        if self._takes_rng:
            described["seed"] = self._effective_seed()
        return described


class _FilterCursor(Cursor):
    """The pass of a `Filter`: it holds nothing."""

    step: Filter
    child: Cursor

    def __init__(self, start: Start, step: Filter) -> None:
        self.child = start.child(step.data_stream)
        super().__init__(start, step)

    def produce(self, request: Any) -> Any:
        """Return the next item that is kept."""
        child = self.child
        while True:
            data = next(child)
            if self.step._keeps(data, child.context):
                self.context = child.context
                return data
