"""The laws of `Dataset`: sources, states, default transformers."""

import pickle
import subprocess
import sys

import numpy
import pytest

import fuel.datasets
from fuel.datasets import Dataset, IndexableDataset
from fuel.typing import DatasetLike, Spec


class Numbers(Dataset):
    provides_sources = ("a", "b", "c")

    def get_data(self, state=None, request=None):
        return self.filter_sources((1, 2, 3))


class Wrapped:
    def __init__(self, stream, *args, **kwargs):
        self.stream, self.args, self.kwargs = stream, args, kwargs


def test_sources_default_to_all_that_are_provided():
    assert Numbers().sources == ("a", "b", "c")


def test_chosen_sources_are_kept_in_order_as_a_tuple():
    assert Numbers(sources=["c", "a"]).sources == ("c", "a")


@pytest.mark.parametrize("sources", [(), ("d",), ("a", "d"), "a", ""])
def test_sources_must_be_some_of_those_provided(sources):
    with pytest.raises(ValueError, match=r"unable to provide requested sources.*'a', 'b', 'c'"):
        Numbers(sources=sources)


def test_a_class_must_say_what_it_provides():
    class Nothing(Dataset):
        def get_data(self, state=None, request=None):
            raise NotImplementedError

    with pytest.raises(ValueError, match="Nothing does not say which sources"):
        Nothing()


def test_get_data_is_abstract():
    with pytest.raises(TypeError):
        Dataset()


def test_filter_sources_keeps_the_provided_order():
    assert Numbers(sources=("c", "a")).get_data() == (1, 3)


def test_sources_may_be_a_class_attribute():
    class Fewer(Numbers):
        sources = ("b",)

    assert Fewer().sources == ("b",)
    assert Fewer().get_data() == (2,)
    assert Fewer(sources=("c",)).sources == ("c",)


def test_sources_can_be_set_afterwards():
    dataset = Numbers()
    dataset.sources = ["b"]
    assert dataset.sources == ("b",)
    assert dataset.get_data() == (2,)
    with pytest.raises(ValueError, match=r"write \('b',\)"):
        dataset.sources = "b"


def test_axis_labels_are_kept_as_given():
    labels = {"a": ("batch", "x")}
    assert Numbers(axis_labels=labels).axis_labels is labels


def test_a_subclass_that_never_calls_init_works():
    class Bare(Dataset):
        provides_sources = ("x",)
        example_iteration_scheme = None

        def __init__(self):
            pass

        def get_data(self, state=None, request=None):
            return ([request],)

    dataset = Bare()
    assert dataset.sources == ("x",)
    assert dataset.axis_labels is None
    assert dataset.open() is None
    assert dataset.reset(None) is None
    assert dataset.get_data(None, 3) == ([3],)
    assert dataset.specs == {"x": Spec(None, None)}
    assert "Bare" in repr(dataset)
    assert isinstance(dataset, DatasetLike)


def test_a_scheme_is_missing_until_it_is_set():
    dataset = Numbers()
    with pytest.raises(AttributeError, match="Numbers has no example iteration scheme"):
        _ = dataset.example_iteration_scheme
    dataset.example_iteration_scheme = "scheme"
    assert dataset.example_iteration_scheme == "scheme"


@pytest.mark.parametrize("value", [None, "scheme"])
def test_a_scheme_may_be_a_private_class_attribute(value):
    class WithScheme(Numbers):
        _example_iteration_scheme = value

    assert WithScheme().example_iteration_scheme == value


def test_default_transformers_wrap_in_order():
    class WithDefaults(Numbers):
        default_transformers = ((Wrapped, [1], {"x": 2}), (Wrapped, [], {}))

    outer = WithDefaults().apply_default_transformers("stream")
    assert outer.args == ()
    assert outer.stream.args == (1,)
    assert outer.stream.kwargs == {"x": 2}
    assert outer.stream.stream == "stream"
    assert Numbers().apply_default_transformers("stream") == "stream"


def test_reset_closes_and_opens_and_next_epoch_resets():
    calls = []

    class Stateful(Numbers):
        def open(self):
            calls.append("open")
            return len(calls)

        def close(self, state):
            calls.append(("close", state))

    dataset = Stateful()
    state = dataset.open()
    state = dataset.reset(state)
    dataset.next_epoch(state)
    assert calls == ["open", ("close", 1), "open", ("close", 3), "open"]


def test_get_example_stream_uses_the_example_scheme():
    dataset = IndexableDataset(numpy.arange(3))
    assert list(dataset.get_example_stream().get_epoch_iterator()) == [(0,), (1,), (2,)]


def test_repr_shows_class_sources_examples_and_shapes():
    dataset = IndexableDataset({"x": numpy.zeros((8, 2, 3), "float32"), "y": list("abcdefgh")})
    assert repr(dataset) == ("<IndexableDataset: 8 examples; sources: x (2, 3) float32, y>")


def test_repr_never_raises():
    class Broken(Numbers):
        @property
        def num_examples(self):
            raise OSError("gone")

    assert repr(Broken()).startswith("<Broken: unknown number of examples")
    assert "Numbers" in repr(Numbers.__new__(Numbers))


def test_the_face_names_what_it_has():
    for name in ("Dataset", "H5PYDataset", "IndexableDataset", "IterableDataset", "TextFile"):
        assert name in fuel.datasets.__all__
        assert name in dir(fuel.datasets)
        assert getattr(fuel.datasets, name).__name__ == name
    with pytest.raises(AttributeError, match=r"no attribute 'Nonsense'"):
        _ = fuel.datasets.Nonsense


def test_importing_datasets_in_memory_loads_no_file_library():
    program = (
        "import sys; from fuel.datasets import IndexableDataset, Dataset, TextFile\n"
        "import fuel.datasets.toy\n"
        "print([m for m in ('h5py', 'tables', 'zmq', 'PIL', 'scipy', 'requests') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_importing_the_hdf5_classes_loads_no_file_library():
    program = (
        "import sys, fuel.datasets.hdf5; print('h5py' in sys.modules, 'tables' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False False"


def test_datasets_pickle():
    dataset = Numbers(sources=("b",))
    assert pickle.loads(pickle.dumps(dataset)).get_data() == (2,)
