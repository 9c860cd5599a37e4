"""Steps that draw in the old way: from a generator that the user hands over, item after item.

In this room: `DrawsInOrder`, the base of the image transformers that take `rng`. Not here: what
they draw (their own files), and draws by address, which they use without `rng`
(`fuel.transformers._random`).
"""

from __future__ import annotations

from typing import Any

from fuel.plan import Context
from fuel.transformers._base import Transformer
from fuel.transformers._random import RandomTransformer
from fuel.typing import JSON

__all__ = ["DrawsInOrder"]


class _Held:
    """Holds a generator in one place, where the memory of steps finds it."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng


class DrawsInOrder(RandomTransformer):
    """A transformer that draws by address, or, given a generator, from it in order.

    A subclass names in ``_needs`` the methods of a generator that it calls (any one of them), and
    implements ``_one_in_order`` and ``_many_in_order`` beside ``_one`` and ``_many``.

    Parameters
    ----------
    data_stream : AbstractDataStream
        The stream below.
    rng : numpy.random.RandomState or numpy.random.Generator, optional
        A generator to draw from, item after item.
    **kwargs
        As for `RandomTransformer`.

    Raises
    ------
    TypeError
        If `rng` is no generator.
    ValueError
        If `seed` is given besides `rng`.

    """

    _asks_sources = False

    _needs: tuple[str, ...] = ()

    def __init__(self, data_stream: Any, rng: Any = None, **kwargs: Any) -> None:
        self._held = _Held(self._checked(rng))
        if rng is not None and kwargs.get("seed") is not None:
            raise ValueError(
                f"{type(self).__name__} was given both `rng` and `seed={kwargs['seed']!r:.40}`; "
                "leave `rng` out for draws that belong to each example, or `seed` for draws from "
                "the generator in order"
            )
        super().__init__(data_stream, **kwargs)

    def _checked(self, rng: Any) -> Any:
        if rng is not None and not any(callable(getattr(rng, name, None)) for name in self._needs):
            raise TypeError(
                f"`rng` of {type(self).__name__} must be a random generator, got {rng!r:.80}; "
                "give a numpy.random.RandomState, or `seed=` for a number"
            )
        return rng

    @property
    def rng(self) -> Any:
        """The generator drawn from in order; None where each example has its own draws."""
        return self._held.rng

    @rng.setter
    def rng(self, rng: Any) -> None:
        self._held.rng = self._checked(rng)

    @property
    def elementwise(self) -> bool:  # type: ignore[override]
        """Whether each item is a pure function of one item below and its context."""
        return self._held.rng is None

    def apply(self, data: Any, context: Context) -> Any:
        """Transform one item; see `Transformer.apply`."""
        if self.rng is None:
            return super().apply(data, context)
        return Transformer.apply(self, data, context)

    def transform_source_example(self, source_example: Any, source_name: str) -> Any:
        """Transform one source of an example: of the one being treated, else as if the first."""
        if self.rng is not None:
            return self._one_in_order(source_example, source_name, self.rng)
        return super().transform_source_example(source_example, source_name)

    def transform_source_batch(self, source_batch: Any, source_name: str) -> Any:
        """Transform one source of a batch: of the one being treated, else as if the first."""
        if self.rng is not None:
            return self._many_in_order(source_batch, source_name, self.rng)
        return super().transform_source_batch(source_batch, source_name)

    def _one_in_order(self, example: Any, source_name: str, rng: Any) -> Any:
        raise NotImplementedError(f"{type(self).__qualname__} does not implement `_one_in_order`")

    def _many_in_order(self, batch: Any, source_name: str, rng: Any) -> Any:
        raise NotImplementedError(f"{type(self).__qualname__} does not implement `_many_in_order`")

    def _functions(self) -> list[Any]:
        return [] if self.rng is None else [self._held]

    def _why_not_elementwise(self) -> str:
        return (
            f"runs in order, in this process: it draws from the {type(self.rng).__name__} given "
            "as `rng`, one item after another; leave `rng` out (and give `seed=`) for draws that "
            "belong to each example"
        )

    def _parameters(self) -> dict[str, Any]:
        if self.rng is None:
            return super()._parameters()
        return {**super()._parameters(), "rng": type(self.rng).__name__}

    def _fingerprint(self) -> dict[str, JSON]:
        described = super()._fingerprint()
        if self.rng is not None:
            described.pop("seed", None)
        return described
