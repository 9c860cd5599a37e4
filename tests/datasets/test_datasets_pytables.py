"""The laws of `PytablesDataset`."""

import gc
import pickle

import numpy
import pytest
import tables

from fuel.datasets.hdf5 import PytablesDataset
from fuel.exceptions import RequestError, StorageError
from fuel.typing import Spec


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "data.h5")
    with tables.open_file(name, "w") as file:
        group = file.create_group("/", "Data")
        file.create_array(group, "x", numpy.arange(40.0).reshape(20, 2))
        file.create_earray(group, "y", obj=numpy.arange(20))
        table = file.create_table(
            group, "records", {"a": tables.Int32Col(), "b": tables.Float64Col()}
        )
        table.append([(row, row / 2) for row in range(20)])
        ragged = file.create_vlarray(group, "ragged", tables.Int32Atom())
        for row in range(20):
            ragged.append(numpy.full(row % 4 + 1, row))
        other = file.create_group("/", "Other")
        file.create_array(other, "short", numpy.arange(5))
    return name


@pytest.fixture
def dataset(path):
    dataset = PytablesDataset(path, ("x", "y", "records", "ragged"), start=5, stop=15)
    yield dataset
    dataset.close_file()


@pytest.mark.parametrize(
    ("request_", "rows"),
    [
        (slice(0, 3), [5, 6, 7]),
        (slice(1, 9, 3), [6, 9, 12]),
        ([3, 0], [8, 5]),
        ([9, 9, 2, 0], [14, 14, 7, 5]),
        ([2, 3, 4], [7, 8, 9]),
        (numpy.array([7, 1]), [12, 6]),
        (range(9, 5, -2), [14, 12]),
    ],
)
def test_batches_count_from_start(dataset, request_, rows):
    data = dataset.get_data(request=request_)
    assert isinstance(data, tuple)
    x, y, records, ragged = data
    assert x.tolist() == [[2.0 * row, 2.0 * row + 1] for row in rows]
    assert y.tolist() == records["a"].tolist() == rows
    assert [list(item) for item in ragged] == [[row] * (row % 4 + 1) for row in rows]


def test_an_index_is_an_example(dataset):
    x, y, record, ragged = dataset.get_data(request=3)
    assert x.tolist() == [16.0, 17.0]
    assert y == 8
    assert record["b"] == 4.0
    assert ragged.tolist() == [8]


def test_requests_outside_are_refused(dataset):
    assert dataset.num_examples == 10
    for request in ([10], -1, [], slice(0, 11)):
        with pytest.raises(RequestError, match="has 10 examples"):
            dataset.get_data(request=request)
    for request in (None, "abc", 1.5):
        with pytest.raises(ValueError, match="request"):
            dataset.get_data(request=request)


def test_stop_is_that_of_the_first_node(path):
    dataset = PytablesDataset(path, ("y",))
    assert (dataset.start, dataset.stop, dataset.num_examples) == (0, 20, 20)
    assert list(dataset.example_iteration_scheme.get_request_iterator()) == list(range(20))
    dataset.close_file()


def test_sources_may_have_other_names_in_the_file(path):
    dataset = PytablesDataset(path, ("a", "b"), sources_in_file=("y", "x"), stop=3)
    assert dataset.sources == dataset.provides_sources == ("a", "b")
    assert dataset.get_data(request=[2])[0].tolist() == [2]
    dataset.close_file()
    other = PytablesDataset(path, ("short",), data_node="Other")
    assert other.num_examples == 5
    other.close_file()
    with pytest.raises(ValueError, match="one node for each source"):
        PytablesDataset(path, ("a", "b"), sources_in_file=("y",))


@pytest.mark.parametrize("bounds", [(-1, None), (0, 21), (7, 5)])
def test_bounds_must_lie_within_the_rows(path, bounds):
    with pytest.raises(ValueError, match="rows of every node"):
        PytablesDataset(path, ("x",), *bounds)


def test_specs_are_known_before_reading(dataset):
    specs = dataset.specs
    assert specs["x"] == Spec((2,), numpy.dtype("float64"))
    assert specs["y"] == Spec((), numpy.dtype("int64"))
    assert specs["ragged"] == Spec((None,), numpy.dtype("int32"))
    assert specs["records"].dtype.names == ("a", "b")
    assert "10 examples" in repr(dataset)


def test_it_pickles_without_its_file(dataset):
    pickled = pickle.dumps(dataset)
    again = pickle.loads(pickled)
    assert again.get_data(request=[3])[1].tolist() == [8]
    assert again.h5file is not dataset.h5file
    again.close_file()
    assert dataset.get_data(request=[3])[1].tolist() == [8]


def test_a_closed_file_is_opened_again(dataset):
    dataset.close_file()
    dataset.close_file()
    assert dataset.get_data(request=[0])[1].tolist() == [5]


def test_a_collected_dataset_closes_its_file(path):
    dataset = PytablesDataset(path, ("x",))
    h5file = dataset.h5file
    del dataset
    gc.collect()
    assert not h5file.isopen


def test_files_that_cannot_be_read_say_why(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        PytablesDataset(tmp_path / "missing.h5", ("x",))
    (tmp_path / "other.h5").write_bytes(b"not HDF5")
    with pytest.raises(StorageError, match="it is not an HDF5 file"):
        PytablesDataset(tmp_path / "other.h5", ("x",))
    with pytest.raises(StorageError, match="does not have the nodes"):
        PytablesDataset(path, ("z",))


@pytest.mark.parametrize("dtype", ["u1", ">i4", "f8", "bool", "S3", "c8"])
@pytest.mark.parametrize("kind", ["array", "carray", "compressed"])
def test_rows_in_any_order_are_those_in_order(tmp_path, dtype, kind):
    path = str(tmp_path / "any.h5")
    array = numpy.arange(120).reshape(40, 3) % 7
    array = array.astype("S3") if dtype == "S3" else array.astype(dtype)
    with tables.open_file(path, "w") as h5file:
        group = h5file.create_group("/", "Data")
        if kind == "array":
            h5file.create_array(group, "x", array)
        else:
            filters = tables.Filters(complevel=1 if kind == "compressed" else 0, complib="zlib")
            h5file.create_carray(group, "x", obj=array, filters=filters, chunkshape=(6, 2))
    dataset = PytablesDataset(path, ("x",), start=4)
    for request in ([3, 35, 3, 0], numpy.arange(36)[::-1], [7]):
        found = dataset.get_data(request=request)[0]
        # PyTables itself gives this machine's order of bytes or the file's, by its own rules.
        assert found.dtype == dataset.get_data(request=slice(0, 2))[0].dtype
        numpy.testing.assert_array_equal(found, array[4:][request])
        assert found.flags.writeable
    assert pickle.loads(pickle.dumps(dataset)).get_data(request=[3, 0])[0].shape == (2, 3)
    dataset.close_file()
