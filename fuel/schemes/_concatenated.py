"""Several orders, one after the other.

In this module: `ConcatenatedScheme` and its requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fuel.exceptions import StateDamagedError, StateMismatchError
from fuel.schemes._base import (
    IterationScheme,
    RequestIterator,
    num_examples,
    num_requests,
    order_state,
    own_requests,
    scheme_fingerprint,
    set_order_state,
    start_requests,
)
from fuel.typing import JSON, Request

__all__ = ["ConcatenatedScheme"]


class ConcatenatedScheme(IterationScheme):
    """The requests of several schemes, one scheme after the other.

    Parameters
    ----------
    schemes : list of IterationScheme
        The schemes, all requesting examples or all requesting batches. A scheme may occur
        several times: each occurrence is an epoch of its own.

    Attributes
    ----------
    schemes : list of IterationScheme
        The schemes as they were given.

    Raises
    ------
    ValueError
        If some schemes request examples and others batches, or there is no scheme.
    TypeError
        If `schemes` holds what is no scheme.

    Notes
    -----
    All schemes are started when an epoch starts, in the order in which they were given.

    Examples
    --------
    >>> from fuel.schemes import ConcatenatedScheme, SequentialScheme
    >>> scheme = ConcatenatedScheme([SequentialScheme(3, 2), SequentialScheme([7, 8], 2)])
    >>> list(scheme.get_request_iterator())
    [[0, 1], [2], [7, 8]]

    """

    def __init__(self, schemes: Iterable[IterationScheme]) -> None:
        if not isinstance(schemes, Iterable):
            raise TypeError(
                f"`schemes` must be a list of iteration schemes, got {schemes!r:.80}; put even a "
                "single scheme in a list"
            )
        self.schemes = schemes if isinstance(schemes, (list, tuple)) else list(schemes)
        for scheme in self.schemes:
            if not hasattr(scheme, "requests_examples"):
                raise TypeError(
                    f"`schemes` must hold iteration schemes, got {scheme!r:.80} among them; use "
                    "those of fuel.schemes, such as SequentialScheme(examples, batch_size)"
                )
        kinds = [bool(scheme.requests_examples) for scheme in self.schemes]
        if len(set(kinds)) != 1:
            names = [type(scheme).__name__ for scheme in self.schemes]
            came = [f"{name} ({_KINDS[k]})" for name, k in zip(names, kinds, strict=True)]
            raise ValueError(
                "`schemes` must all request examples or all request batches, got "
                f"{', '.join(came) or 'no scheme'}"
            )

    @property
    def requests_examples(self) -> bool:  # type: ignore[override]
        """Whether a request names a single example (else: a batch)."""
        return self.schemes[0].requests_examples

    def get_request_iterator(self) -> RequestIterator:
        """Start an epoch of every scheme.

        Returns
        -------
        RequestIterator
            The requests of all of them.

        """
        return ConcatenatedRequests([own_requests(scheme) for scheme in self.schemes])

    def _start(self, epoch: int) -> RequestIterator:
        # A scheme that occurs m times goes through m epochs of its own in one of ours, so that
        # an order that depends on nothing but the number of the epoch is new each time.
        identities = [id(scheme) for scheme in self.schemes]
        parts = []
        for place, scheme in enumerate(self.schemes):
            count = identities.count(id(scheme))
            before = identities[:place].count(id(scheme))
            parts.append(start_requests(scheme, epoch * count + before))
        return ConcatenatedRequests(parts)

    def _order_state(self) -> JSON:
        # Taken before any part is started, so that what an earlier part will consume of
        # something they share is not yet gone; the second occurrence of a scheme adds nothing.
        identities = [id(scheme) for scheme in self.schemes]
        states = [
            order_state(scheme) if identities.index(id(scheme)) == place else None
            for place, scheme in enumerate(self.schemes)
        ]
        return None if all(state is None for state in states) else states

    def _set_order_state(self, state: JSON) -> None:
        if state is None:
            state = [None] * len(self.schemes)
        if not isinstance(state, list) or len(state) != len(self.schemes):
            came = f"{len(state)} parts" if isinstance(state, list) else type(state).__name__
            raise StateDamagedError(
                f"the state of a ConcatenatedScheme has one part for each of its "
                f"{len(self.schemes)} schemes, got {came}; use the state as it was written"
            )
        identities = [id(scheme) for scheme in self.schemes]
        for place, (scheme, part) in enumerate(zip(self.schemes, state, strict=True)):
            if identities.index(id(scheme)) == place:
                set_order_state(scheme, part)

    def _fingerprint(self) -> dict[str, JSON]:
        return {
            "kind": "concatenated",
            "examples": self._num_examples(),
            "parts": [scheme_fingerprint(scheme) for scheme in self.schemes],
        }

    def _num_requests(self) -> int | None:
        return _total([num_requests(scheme) for scheme in self.schemes])

    def _num_examples(self) -> int | None:
        return _total([num_examples(scheme) for scheme in self.schemes])


class ConcatenatedRequests(RequestIterator):
    """The requests of several iterators, one after the other.

    Parameters
    ----------
    parts : list of RequestIterator
        The iterators.

    """

    def __init__(self, parts: list[RequestIterator]) -> None:
        self._parts = parts
        self._beginnings = [part.tell() for part in parts]
        self._index = 0
        self._before = 0  # examples requested by the parts that have ended

    @property
    def position(self) -> int:  # type: ignore[override]
        """How many examples were requested so far."""
        if self._index == len(self._parts):
            return self._before
        return self._before + self._parts[self._index].position

    def __next__(self) -> Request:
        while self._index < len(self._parts):
            part = self._parts[self._index]
            try:
                return next(part)
            except StopIteration:
                self._before += part.position
                self._index += 1
        raise StopIteration

    def tell(self) -> JSON:
        """Return the number of the scheme, and the place in it."""
        if self._index == len(self._parts):
            return [self._index, None]
        return [self._index, self._parts[self._index].tell()]

    def seek(self, mark: JSON) -> None:
        """Go to a place, at once where the schemes can."""
        try:
            index, inner = mark
        except (TypeError, ValueError):
            index = inner = None
        if type(index) is not int or index < 0:
            raise StateDamagedError(
                "the place in a ConcatenatedScheme is saved as the number of a scheme and the "
                f"place in it, got {mark!r}; use the state as it was written"
            )
        if index > len(self._parts):
            raise StateMismatchError(
                f"the saved place is in scheme {index} of a ConcatenatedScheme, which has "
                f"{len(self._parts)}; rebuild the scheme that the state is from"
            )
        self._before = 0
        for part in self._parts[:index]:
            part.exhaust()
            self._before += part.position
        self._index = index
        if index < len(self._parts):
            self._parts[index].seek(inner)
        for part, beginning in list(zip(self._parts, self._beginnings, strict=True))[index + 1 :]:
            if part.tell() != beginning:
                part.seek(beginning)


_KINDS = {True: "examples", False: "batches"}


def _total(counts: list[Any]) -> int | None:
    """Return the sum of known counts."""
    return None if None in counts else sum(counts)
