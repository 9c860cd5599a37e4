"""The suite that every iteration scheme must pass."""

from __future__ import annotations

import json
import pickle
from typing import Any

from fuel.schemes._base import (
    num_requests,
    order_state,
    scheme_fingerprint,
    set_order_state,
    start_requests,
)
from fuel.state import plain
from fuel.testing._compare import canonical

__all__ = ["SchemeContract"]


class SchemeContract:
    """Laws of schemes. Subclass it, override `make_scheme`, and let pytest collect the subclass.

    Attributes
    ----------
    at_most : int
        How many requests of an epoch are looked at (endless schemes have no end). Default 50.

    """

    at_most = 50

    def make_scheme(self) -> Any:
        """Return a new scheme, the same each time (override)."""
        raise NotImplementedError

    def _requests(self, iterator: Any) -> list[Any]:
        found = []
        for request in iterator:
            found.append(canonical(request))
            if len(found) == self.at_most:
                break
        return found

    def test_it_says_whether_it_requests_examples(self) -> None:
        assert isinstance(self.make_scheme().requests_examples, bool)

    def test_equal_schemes_make_equal_requests(self) -> None:
        one, other = self.make_scheme(), self.make_scheme()
        for _ in range(3):
            expected = self._requests(one.get_request_iterator())
            assert self._requests(other.get_request_iterator()) == expected

    def test_a_pickled_request_iterator_goes_on(self) -> None:
        expected = self._requests(self.make_scheme().get_request_iterator())
        iterator = self.make_scheme().get_request_iterator()
        for place in range(len(expected)):
            copy = pickle.loads(pickle.dumps(iterator))
            rest = self._requests(copy)
            assert rest[: len(expected) - place] == expected[place:]
            next(iterator)

    def test_a_pickled_scheme_goes_on_with_the_next_epoch(self) -> None:
        scheme = self.make_scheme()
        self._requests(scheme.get_request_iterator())
        copy = pickle.loads(pickle.dumps(scheme))
        assert self._requests(copy.get_request_iterator()) == self._requests(
            scheme.get_request_iterator()
        )

    def test_every_place_can_be_gone_to_again(self) -> None:
        for epoch in (0, 1):
            scheme = self.make_scheme()
            for earlier in range(epoch):
                self._requests(start_requests(scheme, earlier))
            begin = json.loads(json.dumps(order_state(scheme)))
            iterator = start_requests(scheme, epoch)
            expected = self._requests(iterator)
            again = self.make_scheme()
            set_order_state(again, begin)
            iterator = start_requests(again, epoch)
            for place in range(len(expected)):
                mark = json.loads(json.dumps(iterator.tell()))
                resumed = self.make_scheme()
                set_order_state(resumed, begin)
                requests = start_requests(resumed, epoch)
                requests.seek(mark)
                assert requests.position == iterator.position
                rest = self._requests(requests)
                assert rest[: len(expected) - place] == expected[place:]
                next(iterator)

    def test_the_number_of_requests_is_exact_where_it_is_known(self) -> None:
        scheme = self.make_scheme()
        known = num_requests(scheme)
        if known is not None and known < self.at_most:
            assert len(self._requests(scheme.get_request_iterator())) == known

    def test_the_fingerprint_is_plain_json_and_the_same_for_equal_schemes(self) -> None:
        one, other = (plain(scheme_fingerprint(self.make_scheme())) for _ in range(2))
        assert one == other == json.loads(json.dumps(one))
