"""One law for all datasets with numbered examples: what NumPy would answer, or an error by name.

The same request goes to a file, to memory, to arrays, lists and PyTables, and to a model.
"""

import h5py
import numpy
import pytest
import tables
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.datasets import H5PYDataset, IndexableDataset
from fuel.datasets._requests import normalise
from fuel.datasets.hdf5 import PytablesDataset
from fuel.exceptions import RequestError

NUM_ROWS = 30
ROWS = {
    "contiguous": numpy.arange(10, 22),
    "scattered": numpy.array([1, 2, 3, 7, 11, 12, 20, 29]),
    "single": numpy.array([4]),
}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """For each part of the data: its rows, and every kind of dataset over it."""
    path = str(tmp_path_factory.mktemp("requests") / "data.hdf5")
    values = numpy.arange(NUM_ROWS * 2).reshape(NUM_ROWS, 2)
    with h5py.File(path, "w") as file:
        file["x"] = values
        file.create_dataset("compressed", data=values, chunks=(7, 2), compression="gzip")
        vlen = file.create_dataset("ragged", (NUM_ROWS,), dtype=h5py.vlen_dtype("int64"))
        for row in range(NUM_ROWS):
            vlen[row] = numpy.full(row % 3 + 1, row)
        splits = {}
        for name, rows in ROWS.items():
            file[f"rows_{name}"] = rows
            part = (0, 0, file[f"rows_{name}"].ref)
            splits[name] = dict.fromkeys(("x", "compressed", "ragged"), part)
        splits["contiguous"] = dict.fromkeys(("x", "compressed", "ragged"), (10, 22))
        file.attrs["split"] = H5PYDataset.create_split_array(splits)
    tables_path = path.replace("data", "tables")
    with tables.open_file(tables_path, "w") as file:
        file.create_array(file.create_group("/", "Data"), "x", values)
    answer = {}
    opened = []
    for name, rows in ROWS.items():
        answer[name] = (
            rows,
            [
                H5PYDataset(path, (name,)),
                H5PYDataset(path, (name,), load_in_memory=True),
                IndexableDataset(
                    {
                        "compressed": values[rows],
                        "ragged": [numpy.full(row % 3 + 1, row) for row in rows],
                        "x": values[rows].tolist(),
                    }
                ),
            ],
        )
    window = PytablesDataset(tables_path, ("x",), start=10, stop=22)
    answer["contiguous"][1].append(window)
    opened.append(window)
    yield answer
    for dataset in opened:
        dataset.close_file()


def values_of(rows):
    rows = numpy.asarray(rows)
    return numpy.stack([2 * rows, 2 * rows + 1], axis=-1)


def check(dataset, request, expected):
    """Hold one answer against the rows that it should consist of."""
    data = dataset.get_data(dataset.open(), request)
    dataset.close(None)
    assert isinstance(data, tuple)
    by_source = dict(zip(dataset.sources, data, strict=True))
    assert numpy.array_equal(by_source["x"], values_of(expected))
    if "ragged" in by_source:
        assert numpy.array_equal(by_source["compressed"], values_of(expected))
        ragged = by_source["ragged"]
        rows = [expected] if numpy.ndim(expected) == 0 else expected
        items = [ragged] if numpy.ndim(expected) == 0 else ragged
        assert [list(item) for item in items] == [[row] * (row % 3 + 1) for row in rows]


def as_asked(form, indices):
    if form == "array":
        return numpy.array(indices)
    if form == "short array":
        return numpy.array(indices, dtype="uint8")
    if form == "numpy list":
        return [numpy.int64(index) for index in indices]
    return {"list": list, "tuple": tuple}[form](indices)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_indices_in_any_order_and_form(datasets, data):
    name = data.draw(st.sampled_from(sorted(ROWS)))
    rows, members = datasets[name]
    indices = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=20))
    form = data.draw(st.sampled_from(["list", "tuple", "array", "short array", "numpy list"]))
    for dataset in members:
        check(dataset, as_asked(form, indices), rows[indices])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_slices_with_any_step(datasets, data):
    name = data.draw(st.sampled_from(sorted(ROWS)))
    rows, members = datasets[name]
    start = data.draw(st.none() | st.integers(0, len(rows) - 1))
    stop = data.draw(st.none() | st.integers((start or 0) + 1, len(rows)))
    step = data.draw(st.none() | st.integers(1, 15))
    for dataset in members:
        check(dataset, slice(start, stop, step), rows[start:stop:step])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_masks(datasets, data):
    name = data.draw(st.sampled_from(sorted(ROWS)))
    rows, members = datasets[name]
    size = len(rows)
    mask = data.draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    for dataset in members:
        check(dataset, mask, rows[mask])
        check(dataset, numpy.array(mask), rows[mask])


@pytest.mark.parametrize("name", sorted(ROWS))
def test_single_examples_and_ranges(datasets, name):
    rows, members = datasets[name]
    for dataset in members:
        for index in range(len(rows)):
            check(dataset, index, rows[index])
            check(dataset, numpy.int32(index), rows[index])
            check(dataset, range(index, len(rows), 2), rows[index::2])
        check(dataset, range(len(rows) - 1, -1, -1), rows[::-1])


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_not_there_is_refused_by_number(datasets, data):
    name = data.draw(st.sampled_from(sorted(ROWS)))
    rows, members = datasets[name]
    size = len(rows)
    wrong = data.draw(st.integers(-(2**70), -1) | st.integers(size, 2**70))
    inside = data.draw(st.lists(st.integers(0, size - 1), max_size=4))
    place = data.draw(st.integers(0, len(inside)))
    request = data.draw(
        st.sampled_from([wrong, [*inside[:place], wrong, *inside[place:]], range(wrong, wrong + 1)])
    )
    for dataset in members:
        with pytest.raises(RequestError, match=rf"has {size} examples, .*for example {wrong}\b"):
            dataset.get_data(None, request)


@pytest.mark.parametrize(
    "request_",
    [
        [],
        (),
        range(0),
        numpy.array([], dtype=int),
        [False] * 12,
        [True] * 11,
        [True] * 13,
        slice(-3, None),
        slice(0, -1),
        slice(3, 3),
        slice(5, 2),
        slice(0, 13),
        slice(12, None),
        slice(0, 12, 0),
        slice(11, 0, -1),
    ],
)
def test_empty_and_negative_requests_are_refused(datasets, request_):
    for dataset in datasets["contiguous"][1]:
        with pytest.raises(RequestError, match="has 12 examples"):
            dataset.get_data(None, request_)
        with pytest.raises(ValueError):
            dataset.get_data(None, request_)
        with pytest.raises(IndexError):
            dataset.get_data(None, request_)


@pytest.mark.parametrize(
    "request_",
    [
        True,
        numpy.bool_(True),
        1.0,
        "abc",
        b"ab",
        {0, 1},
        {0: 1},
        iter([0]),
        object(),
        [0.0, 1.0],
        numpy.array([0.0]),
        ["a"],
        [[0, 1], [2, 3]],
        [[0], [1, 2]],
        [None],
        [0, None],
        numpy.zeros((2, 2), int),
        numpy.array(1.5),
        slice(0.0, 3.0),
        slice("a", None),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_other_types_are_refused_by_name(datasets, request_):
    for dataset in datasets["contiguous"][1]:
        with pytest.raises(ValueError, match=r"cannot answer a request of type \w+: got"):
            dataset.get_data(None, request_)


def test_no_request_is_refused(datasets):
    for dataset in datasets["contiguous"][1]:
        with pytest.raises(ValueError, match="request"):
            dataset.get_data(None, None)


def test_unsorted_lists_go_to_h5py_as_they_are_on_demand(datasets):
    path = datasets["contiguous"][1][0].path
    dataset = H5PYDataset(path, ("scattered",), sources=("x",), sort_indices=False)
    assert numpy.array_equal(
        dataset.get_data(None, [0, 3, 5])[0], values_of(ROWS["scattered"][[0, 3, 5]])
    )
    for request in ([3, 1], [1, 1], numpy.array([5, 0])):
        with pytest.raises(TypeError):
            dataset.get_data(None, request)
    in_memory = H5PYDataset(
        path, ("scattered",), sources=("x",), sort_indices=False, load_in_memory=True
    )
    assert numpy.array_equal(in_memory.get_data(None, [3, 1])[0], values_of([7, 2]))
    dataset.close(None)


def test_batches_from_memory_belong_to_the_reader(datasets):
    dataset = datasets["contiguous"][1][1]
    for request in (slice(0, 4), [0, 1], 0, slice(None)):
        for item in dataset.get_data(None, request)[::2]:
            item[...] = -1
    check(dataset, slice(None), ROWS["contiguous"])


def test_a_normal_form_is_ready_for_numpy():
    assert normalise(numpy.array(3), 5) == 3
    assert type(normalise(numpy.uint8(3), 5)) is int
    assert normalise(slice(None), 5) == slice(0, 5, 1)
    assert normalise([1, 0], 5).dtype == numpy.int64
