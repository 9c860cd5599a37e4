"""What happens to observations on their way into a batch: `Observe` and `Combine`.

In this room: the two elementwise steps with which a loader's chain ends. `Observe` turns an example
into an observation in the data's form and applies the user's function; `Combine` does the same for
a whole batch that was fetched at once, and then collates. Not here: which of them a chain has
(`fuel.loader._plan`), and stacking (`fuel.observations`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from fuel.loader._callables import called, check_callable
from fuel.loader._container import splits
from fuel.loader._order import first_epoch
from fuel.loader._structure import Structure, observations_of
from fuel.observations._stacking import stack
from fuel.observations._view import rebuild
from fuel.plan import Context
from fuel.transformers._base import Transformer
from fuel.transformers._functions import function_name, takes_rng
from fuel.workers._blame import note

__all__ = ["Combine", "Observe", "PerObservation"]


class PerObservation:
    """The user's function of one observation.

    Parameters
    ----------
    function : callable
        ``f(observation)``, or ``f(observation, rng)``.
    scheme : BatchOrder, ExampleOrder or None
        The order of the runs, where it is known.

    Raises
    ------
    TypeError
        If it cannot be called with an observation.
    ValueError
        If it holds a random generator: what that draws depends on the order of evaluation.

    """

    def __init__(self, function: Callable[..., Any], scheme: Any = None) -> None:
        if not callable(function):
            raise TypeError(
                f"`transform` must be a function of one observation, got {function!r:.80}; write "
                "`f(observation)` or `f(observation, rng)`"
            )
        self.takes_rng = takes_rng(function)
        check_callable("transform", function, 2 if self.takes_rng else 1)
        self.function = function
        self.scheme = scheme

    def __call__(self, observation: Any, context: Context, index: int, step: Any) -> Any:
        """Apply the function.

        Parameters
        ----------
        observation : object
            In the form of the data.
        context : Context
            That of the example, or of the batch that it is in.
        index : int
            Its place in the batch.
        step : stream
            The step that draws.

        Returns
        -------
        object
            What the function returns.

        """
        try:
            if self.takes_rng:
                return called(self.function, observation, self._place(context, index).rng(step))
            return called(self.function, observation)
        except Exception as error:
            note(error, self._whose(context, index))
            raise

    def _place(self, context: Context, index: int) -> Context:
        """Return the place of an example in its epoch, of which a run may have several."""
        scheme = self.scheme
        ordinal, number = context.address(index)
        epoch = context.epoch
        if scheme is not None and scheme.epochs != 1:
            turn, ordinal = divmod(ordinal, scheme.examples)
            epoch = first_epoch(epoch, scheme.epochs) + turn
        return Context(epoch, ordinal, None, context.draws, numbers=number or None)

    def _whose(self, context: Context, index: int) -> str:
        name = function_name(self.function)
        place = self._place(context, index)
        where = f"epoch {place.epoch}, ordinal {place.address()[0]}"
        if self.scheme is not None:
            example = self.scheme.order(context.epoch).at([context.address(index)[0]])[0]
            where = f"example {example}, {where}"
        return f"raised by the transform {name} for {where}"


class _LoaderStep(Transformer):
    """What the two steps have in common: they draw under one name, and their items are opaque."""

    _hands_out_generators = False

    def __init__(
        self,
        data_stream: Any,
        produces_examples: bool,
        structure: Structure,
        function: PerObservation | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_stream, produces_examples, name="transform", **kwargs)
        self.structure = structure
        if function is not None:
            # Under this name the plan looks for users' code in a step.
            self.function = function
            self._hands_out_generators = function.takes_rng
        self.sources = ("item",)
        self.axis_labels = None

    def _parameters(self) -> dict[str, Any]:
        function = self.__dict__.get("function")
        return {} if function is None else {"function": function_name(function.function)}

    def _fingerprint(self) -> dict[str, Any]:
        described: dict[str, Any] = self._parameters()
        if self._hands_out_generators:
            described["seed"] = self._effective_seed()
        return described


class _Opaque:
    """Holds an observation, so that making a batch of several does not look into them."""

    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.content = content

    def __getstate__(self) -> Any:
        return (self.content,)

    def __setstate__(self, state: Any) -> None:
        (self.content,) = state


class Observe(_LoaderStep):
    """Turns an example into an observation.

    Parameters
    ----------
    data_stream : stream
        A stream of examples.
    structure : Structure
        The form of an observation.
    function : PerObservation or None
        What is applied to it.
    opaque : bool
        Whether a batch will be made of them.

    """

    elementwise = True

    def __init__(
        self,
        data_stream: Any,
        structure: Structure,
        function: PerObservation | None,
        opaque: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_stream, True, structure, function, **kwargs)
        self.opaque = opaque

    def apply(self, data: Any, context: Context) -> Any:
        """Turn one example into an observation; see `Transformer.apply`."""
        function = self.__dict__.get("function")
        if function is None:
            observation = data
        else:
            observation = function(self.structure.pack(data), context, 0, self)
        return (_Opaque(observation) if self.opaque else observation,)


class Combine(_LoaderStep):
    """Makes the user's batch: observations, the function of each, and collation.

    Parameters
    ----------
    data_stream : stream
        A stream of batches.
    structure : Structure
        The form of an observation.
    function : PerObservation or None
        What is applied to each, where that has not been done.
    collate : None, bool or callable
        False gives the list of observations, True stacks them, a function is called with the
        list; None puts together what a request for the whole batch would have given.
    scheme : BatchOrder, ExampleOrder or None
        The order of the runs, where it is known.
    parts : list, optional
        With None for `collate`: the containers of the sources, the columns of whose observations
        are below.
    opaque : bool, optional
        Whether the observations come from `Observe`.
    observed : bool, optional
        Whether `Observe` has given them the form of the data.

    """

    elementwise = True

    def __init__(
        self,
        data_stream: Any,
        structure: Structure,
        function: PerObservation | None,
        collate: Any,
        scheme: Any = None,
        parts: list[Any] | None = None,
        *,
        opaque: bool = False,
        observed: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(data_stream, False, structure, function, **kwargs)
        if collate not in (None, False, True):
            check_callable("collate", collate, 1)
            self.collate_function = collate
            collate = "function"
        self.collate = collate
        self.scheme = scheme
        self.joins = None if parts is None else [_joining(part) for part in parts]
        self.opaque = opaque
        self.observed = observed

    def apply(self, data: Any, context: Context) -> Any:
        """Make one batch; see `Transformer.apply`."""
        observations: Any
        if self.opaque:
            observations = [held.content for held in data[0]]
        else:
            observations = list(zip(*map(observations_of, data), strict=True))
        if self.collate is None and self.joins is not None:
            columns = zip(*observations, strict=True)
            return (
                self.structure.pack(
                    tuple([join(list(each)) for join, each in zip(self.joins, columns)])
                ),
            )
        if not self.observed:
            pack = self.structure.pack
            if not self.structure.is_plain:
                observations = [pack(columns) for columns in observations]
            function = self.__dict__.get("function")
            if function is not None:
                observations = [
                    function(observation, context, index, self)
                    for index, observation in enumerate(observations)
                ]
        if self.collate is False:
            return (observations,)
        if self.collate == "function":
            return (called(self.collate_function, observations),)
        return (self._stacked(observations, context),)

    def _stacked(self, observations: list[Any], context: Context) -> Any:
        try:
            return stack(observations)
        except ValueError:
            if self.scheme is None:
                raise
        # Again, with the numbers that the examples have in the data.
        ordinals = [context.address(index)[0] for index in range(len(observations))]
        return stack(observations, self.scheme.order(context.epoch).at(ordinals).tolist())


def _joining(part: Any) -> Callable[[list[Any]], Any]:
    """Return what makes of observations what a request for several would have given."""
    if isinstance(part, (tuple, Mapping)):
        return _Structured(part)
    if isinstance(part, numpy.ndarray) or (splits(part) and hasattr(part, "dtype")):
        return _Array(part)
    return stack if hasattr(part, "_fetch") else list


class _Structured:
    """Puts the columns of a structure together again, each in its own way."""

    def __init__(self, form: Any) -> None:
        parts = list(form.values() if isinstance(form, Mapping) else form)
        self.joins = [_joining(part) for part in parts]
        self.form = rebuild(form, [None] * len(parts))

    def __call__(self, rows: list[Any]) -> Any:
        each = [row.values() if isinstance(row, Mapping) else row for row in rows]
        columns = zip(*each, strict=True)
        return rebuild(self.form, [join(list(column)) for join, column in zip(self.joins, columns)])


class _Array:
    """Puts rows of an array, or of an HDF5 dataset, together again."""

    def __init__(self, part: Any) -> None:
        self.dtype, self.flat = part.dtype, part.ndim == 1
        # Rows of a matrix, or of an array with a mask, make up another one: that is made of this.
        plain = not isinstance(part, numpy.ndarray) or type(part) in (numpy.ndarray, numpy.memmap)
        self.row = None if plain else part[:1].copy()

    def __call__(self, rows: list[Any]) -> Any:
        if self.row is not None:
            array = self.row[numpy.zeros(len(rows), dtype=int)]
        elif self.flat and self.dtype == object:
            # Not what NumPy makes of a list, for the objects may be arrays.
            return numpy.fromiter(rows, dtype=object, count=len(rows))
        else:
            array = numpy.empty((len(rows), *numpy.shape(rows[0])), self.dtype)
        for index, row in enumerate(rows):
            array[index] = row
        return array
