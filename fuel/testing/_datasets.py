"""The suite that every dataset must pass."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest

from fuel.exceptions import RequestError
from fuel.testing._compare import assert_same_items, canonical

__all__ = ["DatasetContract"]


class DatasetContract:
    """Laws of datasets. Subclass it, override `make_dataset`, and let pytest collect the subclass.

    Attributes
    ----------
    indexable : bool
        Whether the dataset takes requests (indices, lists, slices). Default True; False for one
        that yields its examples in its own order.

    """

    indexable = True

    def make_dataset(self) -> Any:
        """Return a new dataset with at least four examples (override)."""
        raise NotImplementedError

    def _read(self, dataset: Any) -> list[Any]:
        state = dataset.open()
        found = []
        try:
            if self.indexable:
                found = [dataset.get_data(state, index) for index in range(dataset.num_examples)]
            else:
                while True:
                    try:
                        found.append(dataset.get_data(state))
                    except StopIteration:
                        break
        finally:
            dataset.close(state)
        return found

    def test_sources_are_among_those_provided(self) -> None:
        dataset = self.make_dataset()
        assert isinstance(dataset.sources, tuple)
        assert set(dataset.sources) <= set(dataset.provides_sources)

    def test_an_example_has_one_entry_a_source(self) -> None:
        dataset = self.make_dataset()
        for example in self._read(dataset):
            assert isinstance(example, tuple)
            assert len(example) == len(dataset.sources)

    def test_reading_twice_gives_the_same(self) -> None:
        dataset = self.make_dataset()
        assert_same_items(self._read(dataset), self._read(dataset), "the second reading")

    def test_two_states_do_not_disturb_each_other(self) -> None:
        dataset = self.make_dataset()
        expected = self._read(dataset)
        one, other = dataset.open(), dataset.open()
        found_one, found_other = [], []
        for index in range(len(expected)):
            request = index if self.indexable else None
            found_one.append(dataset.get_data(one, request))
            found_other.append(dataset.get_data(other, request))
        dataset.close(one)
        dataset.close(other)
        assert_same_items(found_one, expected)
        assert_same_items(found_other, expected)

    def test_a_pickled_dataset_reads_the_same(self) -> None:
        dataset = self.make_dataset()
        expected = self._read(dataset)
        assert_same_items(self._read(pickle.loads(pickle.dumps(dataset))), expected)

    def test_the_specs_describe_the_examples(self) -> None:
        dataset = self.make_dataset()
        specs = dataset.specs
        assert set(specs) == set(dataset.sources)
        for example in self._read(dataset):
            for source, value in zip(dataset.sources, example, strict=True):
                spec = specs[source]
                if spec.dtype is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
                    assert value.dtype == spec.dtype
                if spec.shape is not None:
                    shape = numpy.shape(value)
                    assert len(shape) == len(spec.shape)
                    for found, expected in zip(shape, spec.shape, strict=True):
                        assert expected is None or found == expected

    def test_the_repr_names_the_class_and_the_sources(self) -> None:
        dataset = self.make_dataset()
        assert type(dataset).__name__ in repr(dataset)
        for source in dataset.sources:
            assert source in repr(dataset)

    def test_what_is_handed_out_belongs_to_the_caller(self) -> None:
        dataset = self.make_dataset()
        before = [canonical(example) for example in self._read(dataset)]
        for example in self._read(dataset):
            for value in example:
                if isinstance(value, numpy.ndarray) and not value.dtype.hasobject:
                    assert value.flags.writeable
                    value[...] = numpy.zeros((), value.dtype)
        if self.indexable:
            state = dataset.open()
            for value in dataset.get_data(state, slice(0, 2)):
                if isinstance(value, numpy.ndarray) and not value.dtype.hasobject:
                    value[...] = numpy.zeros((), value.dtype)
            dataset.close(state)
        assert_same_items(self._read(dataset), before, "the data after a batch was overwritten")

    def test_its_example_stream_visits_every_example(self) -> None:
        dataset = self.make_dataset()
        if not self.indexable:
            from fuel.streams import DataStream

            stream: Any = DataStream(dataset)
        else:
            stream = dataset.get_example_stream()
        assert_same_items(list(stream.get_epoch_iterator()), self._read(dataset))
        stream.close()

    def test_requests_that_name_nothing_are_refused(self) -> None:
        if not self.indexable:
            with pytest.raises(ValueError):
                dataset = self.make_dataset()
                dataset.get_data(dataset.open(), [0])
            return
        dataset = self.make_dataset()
        state = dataset.open()
        size = dataset.num_examples
        for request in (-1, size, [0, size], [-1], [], slice(0, size + 1)):
            with pytest.raises(RequestError):
                dataset.get_data(state, request)
        dataset.close(state)

    def test_a_list_a_slice_and_single_requests_agree(self) -> None:
        if not self.indexable:
            return
        dataset = self.make_dataset()
        state = dataset.open()
        singles = [dataset.get_data(state, index) for index in (1, 2)]
        for request in ([1, 2], slice(1, 3), numpy.array([1, 2])):
            batch = dataset.get_data(state, request)
            for place, example in enumerate(singles):
                found = tuple(column[place] for column in batch)
                assert_same_items([found], [example], f"request {request!r}")
        dataset.close(state)
