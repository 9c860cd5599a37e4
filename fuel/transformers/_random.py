"""Transformers that draw: each example gets its own bits, by its address.

In this room: `RandomTransformer`, the base of the built-in steps that draw. What an example is
given depends on the seed, the name of the step, the epoch and the ordinal alone, so that batch
sizes, workers and interruptions change nothing. Not here: what is done with the bits (the files by
subject), and how they are made (`fuel.kernels.draws`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.plan import Context
from fuel.transformers._base import SourcewiseTransformer
from fuel.transformers._checks import kind_below, labels_below
from fuel.transformers._stacking import object_array
from fuel.typing import JSON
from fuel.utils._overrides import overridden

__all__ = ["RandomTransformer", "each_example", "is_hooked", "treated", "treating"]

#: The methods that a user's subclass may override, as in any `SourcewiseTransformer`.
_HOOKS = (
    "_apply_sourcewise_transformation",
    "transform_batch",
    "transform_example",
    "transform_source_batch",
    "transform_source_example",
)

#: The step that is treating an item in this thread, and the item's context.
_treated: ContextVar[tuple[Any, Context] | None] = ContextVar("_treated", default=None)


def is_hooked(step: Any) -> bool:
    """Tell whether a user's subclass overrides a method that is given no context.

    Parameters
    ----------
    step : SourcewiseTransformer
        The step.

    Returns
    -------
    bool
        True if its items have to go through the methods that may be overridden.

    """
    return overridden(step, *_HOOKS)


@contextmanager
def treating(step: Any, context: Context) -> Iterator[None]:
    """Let the methods of a step that are given no context know it; see `treated`.

    Parameters
    ----------
    step : SourcewiseTransformer
        The step.
    context : Context
        That of the item that it treats meanwhile, in this thread.

    """
    token = _treated.set((step, context))
    try:
        yield
    finally:
        _treated.reset(token)


def treated(step: Any) -> Context | None:
    """Return the context of the item that this thread treats, None outside of `treating`."""
    found = _treated.get()
    return found[1] if found is not None and found[0] is step else None


class RandomTransformer(SourcewiseTransformer):
    """A transformer that draws for every example by itself.

    A subclass says in ``_draws`` how many draws of 64 bits an example takes, and implements
    ``_one``; ``_many`` too where a whole array can be treated at once.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    which_sources : tuple of str, optional
        The sources to transform; the others pass unchanged. Default: all. All chosen sources of
        an example share its draws: an image and its mask are cropped alike.
    **kwargs
        `seed` (default: that of the stream below), `name`, `axis_labels` (default: kept).

    """

    elementwise = True
    _asks_sources = True

    #: How many draws of 64 bits an example takes.
    _draws = 1

    def __init__(self, data_stream: Any, which_sources: Any = None, **kwargs: Any) -> None:
        examples = kwargs.pop("produces_examples", None)
        if examples is None:
            examples = kind_below(type(self).__name__, data_stream)
        kwargs.setdefault("axis_labels", labels_below(data_stream))
        super().__init__(data_stream, examples, which_sources, **kwargs)

    def apply(self, data: Any, context: Context) -> Any:
        """Transform one item, with the draws that belong to its address."""
        if self.produces_examples != self.data_stream.produces_examples:
            return super().apply(data, context)  # which says what is wrong
        if is_hooked(self):
            with treating(self, context):
                return super().apply(data, context)
        if self.produces_examples:
            bits = context.bits(self, self._draws)
            return self._apply_sourcewise_transformation(
                data, lambda example, source: self._one(example, source, bits)
            )
        drawn: dict[int, NDArray[numpy.uint64]] = {}

        def many(batch: Any, source: str) -> Any:
            size = len(batch)
            if size not in drawn:
                drawn[size] = context.bits(self, self._draws, size)
            return self._many(batch, source, drawn[size])

        return self._apply_sourcewise_transformation(data, many)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Transform one source of an example: of the one being treated, else as if the first."""
        context = treated(self) or Context(0)
        return self._one(source_example, source_name, context.bits(self, self._draws))

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Transform one source of a batch: of the one being treated, else as if the first."""
        size = len(source_batch)
        context = treated(self) or Context(0, 0, size)
        return self._many(source_batch, source_name, context.bits(self, self._draws, size))

    def _one(self, example: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        """Transform one source of one example; `bits` has the shape ``(_draws,)``."""
        raise NotImplementedError(f"{type(self).__qualname__} does not implement `_one`")

    def _many(self, batch: Any, source_name: str, bits: NDArray[numpy.uint64]) -> Any:
        """Transform one source of a batch; `bits` has the shape ``(n, _draws)``."""
        return each_example(batch, lambda one, index: self._one(one, source_name, bits[index]))

    def _fingerprint(self) -> dict[str, JSON]:
        # Another seed draws other values, so a saved position of it is one of another pipeline.
        return {**super()._fingerprint(), "seed": self._effective_seed()}


def each_example(batch: Any, function: Callable[[Any, int], Any]) -> Any:
    """Apply a function to every example of a batch, and keep the kind of batch.

    Parameters
    ----------
    batch : list, tuple or numpy.ndarray
        The examples.
    function : callable
        Takes an example and its place in the batch.

    Returns
    -------
    list or numpy.ndarray
        A list of a list or tuple, an object array of an object array, else the results stacked.

    """
    results = [function(example, index) for index, example in enumerate(batch)]
    if isinstance(batch, numpy.ndarray):
        if batch.dtype == object:
            return object_array(results)
        if results:
            return numpy.stack(results)
        return batch.copy()
    return results
