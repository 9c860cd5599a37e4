"""Protocols between the packages, and the names of the types that travel through a pipeline.

Neighbours see each other through these protocols: a stream knows a dataset only as
`DatasetLike`, so a class that never heard of `fuel.datasets.Dataset` can be streamed as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy

__all__ = [
    "JSON",
    "AxisLabels",
    "DatasetLike",
    "Request",
    "SchemeLike",
    "Sources",
    "Spec",
    "Stateful",
    "StreamLike",
]

#: What ``json.dumps`` takes and gives back unchanged.
JSON: TypeAlias = Any

#: Names of the columns of an example, in order.
Sources: TypeAlias = tuple[str, ...]

#: Names of the axes of each source; ``None`` where they are unknown.
AxisLabels: TypeAlias = Mapping[str, Sequence[str] | None]

#: What a scheme hands to a dataset: an index, several of them, a slice, a number of examples.
Request: TypeAlias = Any


class Spec(NamedTuple):
    """Shape and type of one example of a source.

    Attributes
    ----------
    shape : tuple of (int or None) or None
        The shape of one example; ``None`` in place of an axis whose length varies, ``None``
        alone where even the number of axes is unknown.
    dtype : numpy.dtype or None
        The type of its elements; ``None`` where the source holds Python objects.

    """

    shape: tuple[int | None, ...] | None
    dtype: numpy.dtype[Any] | None


@runtime_checkable
class SchemeLike(Protocol):
    """What decides which examples are visited, and in what order."""

    @property
    def requests_examples(self) -> bool:
        """Whether a request names one example (else: a batch)."""
        ...

    def get_request_iterator(self) -> Iterator[Request]:
        """Start one epoch of requests."""
        ...


@runtime_checkable
class DatasetLike(Protocol):
    """What a stream needs of a dataset, and no more."""

    axis_labels: Any
    sources: Any

    def open(self) -> Any:
        """Return a new state, or None."""
        ...

    def close(self, state: Any) -> None:
        """Release what `open` acquired."""
        ...

    def reset(self, state: Any) -> Any:
        """Return a state that is at the beginning again."""
        ...

    def next_epoch(self, state: Any) -> Any:
        """Return the state with which the next epoch starts."""
        ...

    def get_data(self, state: Any = None, request: Request = None) -> Any:
        """Fetch what the request names, one item per source."""
        ...


@runtime_checkable
class StreamLike(Protocol):
    """What a transformer needs of the stream below it."""

    sources: Any
    axis_labels: Any

    @property
    def produces_examples(self) -> bool:
        """Whether the items are examples (else: batches)."""
        ...

    def get_epoch_iterator(self, as_dict: bool = False) -> Iterator[Any]:
        """Start an epoch."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """An object that describes its own position in plain JSON."""

    def state_dict(self) -> JSON:
        """Describe the present state."""
        ...

    def load_state_dict(self, state: JSON) -> None:
        """Go back to a state described earlier."""
        ...
