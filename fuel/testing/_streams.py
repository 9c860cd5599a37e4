"""The suite that every stream and transformer must pass."""

from __future__ import annotations

import pickle
from typing import Any

from fuel.testing._compare import assert_same_items, canonical
from fuel.testing._pipeline import check_pipeline
from fuel.testing._resume import assert_resumes_everywhere

__all__ = ["StreamContract"]


class StreamContract:
    """Laws of streams. Subclass it, override `make_stream`, and let pytest collect the subclass.

    The pipeline should have a short epoch (some ten items).

    Attributes
    ----------
    new_process : bool
        Whether the resumed runs are in a new process. Default True.
    independent : bool
        Whether two iterators may be used side by side. Default True; False for a class that
        keeps its place on itself.
    max_state_bytes : int or None
        Largest size of a saved state. Default 2048; None for no limit (a legacy generator).
    start_epochs : tuple of int
        The epochs that are interrupted. Default the first and the second.

    """

    new_process = True
    independent = True
    max_state_bytes: int | None = 2048
    start_epochs: tuple[int, ...] = (0, 1)

    def make_stream(self) -> Any:
        """Return a new pipeline, the same each time (override)."""
        raise NotImplementedError

    def test_it_resumes_everywhere(self) -> None:
        assert_resumes_everywhere(
            self.make_stream,
            new_process=self.new_process,
            max_state_bytes=self.max_state_bytes,
            start_epochs=self.start_epochs,
        )

    def test_check_pipeline_finds_nothing(self) -> None:
        stream = self.make_stream()
        check_pipeline(stream)
        stream.close()

    def test_two_iterators_do_not_disturb_each_other(self) -> None:
        if not self.independent:
            return
        stream = self.make_stream()
        first = [canonical(item) for item in stream.get_epoch_iterator()]
        second = [canonical(item) for item in stream.get_epoch_iterator()]
        stream.close()
        stream = self.make_stream()
        one, other = stream.get_epoch_iterator(), stream.get_epoch_iterator()
        found_one, found_other = [], []
        for place in range(max(len(first), len(second))):
            if place < len(first):
                found_one.append(canonical(next(one)))
            if place < len(second):
                found_other.append(canonical(next(other)))
        assert next(one, None) is None
        assert next(other, None) is None
        assert_same_items(found_one, first, "the first of two iterators")
        assert_same_items(found_other, second, "the second of two iterators")
        stream.close()

    def test_items_have_one_entry_a_source(self) -> None:
        stream = self.make_stream()
        for item in stream.get_epoch_iterator():
            assert isinstance(item, tuple)
            assert len(item) == len(stream.sources)
        stream.close()

    def test_dicts_hold_the_same_as_tuples(self) -> None:
        one, other = self.make_stream(), self.make_stream()
        dicts = list(one.get_epoch_iterator(as_dict=True))
        for found, item in zip(dicts, other.get_epoch_iterator(), strict=True):
            assert list(found) == list(other.sources)
            assert_same_items(list(found.values()), list(item))
        one.close()
        other.close()

    def test_a_loop_over_the_stream_is_an_epoch(self) -> None:
        one, other = self.make_stream(), self.make_stream()
        assert_same_items(list(one), list(other.get_epoch_iterator()))
        one.close()
        other.close()

    def test_its_length_is_exact_where_it_is_known(self) -> None:
        stream = self.make_stream()
        try:
            length = len(stream)
        except TypeError:
            length = None
        count = sum(1 for _ in stream)
        assert length is None or length == count
        stream.close()

    def test_a_pickled_stream_starts_the_same_epochs(self) -> None:
        stream = self.make_stream()
        copy = pickle.loads(pickle.dumps(stream))
        for _ in range(2):
            assert_same_items(list(copy), list(stream))
        stream.close()
        copy.close()

    def test_repr_and_explain_name_the_step(self) -> None:
        stream = self.make_stream()
        assert type(stream).__name__ in repr(stream)
        assert type(stream).__name__ in stream.explain()
        stream.close()

    def test_it_closes_twice_and_works_in_a_with_block(self) -> None:
        with self.make_stream() as stream:
            count = sum(1 for _ in stream)
        stream.close()
        assert sum(1 for _ in self.make_stream()) == count

    def test_labels_name_sources_it_has(self) -> None:
        stream = self.make_stream()
        if stream.axis_labels is not None:
            for labels in stream.axis_labels.values():
                assert labels is None or all(isinstance(label, str) for label in labels)
        stream.close()
