"""Files that are missing, cut short, locked, or something else: errors that say what to do."""

import subprocess
import sys

import h5py
import numpy
import pytest

from fuel.datasets import H5PYDataset
from fuel.exceptions import StorageError


@pytest.fixture
def path(tmp_path):
    name = tmp_path / "data.hdf5"
    with h5py.File(name, "w") as file:
        file.create_dataset("x", data=numpy.arange(1000.0), chunks=(100,), compression="gzip")
        file.attrs["split"] = H5PYDataset.create_split_array({"train": {"x": (0, 1000)}})
    return name


def test_a_missing_file(tmp_path):
    for error in (StorageError, FileNotFoundError, OSError):
        with pytest.raises(error, match=r"missing\.hdf5' cannot be opened: there is no such file"):
            H5PYDataset(tmp_path / "missing.hdf5", ("train",))


def test_a_directory(tmp_path):
    with pytest.raises(StorageError, match="it is a directory"):
        H5PYDataset(tmp_path, ("train",))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no HDF5 at all"])
def test_something_else(tmp_path, content):
    name = tmp_path / "other.hdf5"
    name.write_bytes(content)
    with pytest.raises(StorageError, match=rf"not an HDF5 file .*and has {len(content)} bytes"):
        H5PYDataset(name, ("train",))


@pytest.mark.parametrize("load", [False, True])
def test_a_truncated_file(path, load):
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(StorageError, match=r"data\.hdf5' cannot be opened: the file is truncated"):
        H5PYDataset(path, ("train",), load_in_memory=load)


def test_damaged_data(path):
    with h5py.File(path, "r") as file:
        offset = file["x"].id.get_chunk_info(3).byte_offset
    content = bytearray(path.read_bytes())
    content[offset : offset + 40] = bytes(40)
    path.write_bytes(content)
    dataset = H5PYDataset(path, ("train",))
    with pytest.raises(StorageError, match="does not deliver the chunk of '/x'"):
        dataset.get_data(None, slice(300, 400))
    assert dataset.get_data(None, [5])[0] == 5
    dataset.close(None)
    with pytest.raises(StorageError, match="does not deliver the chunk"):
        H5PYDataset(path, ("train",), load_in_memory=True)


def test_a_file_that_is_being_written(path):
    program = (
        "import h5py, sys; f = h5py.File(sys.argv[1], 'a'); print('ready', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout.readline() == "ready\n"
        try:
            with pytest.raises(StorageError, match=r"open for writing elsewhere.*LOCKING=FALSE"):
                H5PYDataset(path, ("train",))
        finally:
            writer.communicate("done\n")
    assert H5PYDataset(path, ("train",)).num_examples == 1000


def rewrite(path, **parts):
    with h5py.File(path, "a") as file:
        for name, value in parts.pop("add", {}).items():
            file[name] = value
            parts["ref"] = file[name].ref
        part = (0, 0, parts["ref"]) if "ref" in parts else parts["bounds"]
        source = parts.get("source", "x")
        file.attrs["split"] = H5PYDataset.create_split_array({"train": {source: part}})


@pytest.mark.parametrize("bounds", [(0, 1001), (-1, 5), (6, 5)])
def test_a_split_that_goes_beyond_the_data(path, bounds):
    rewrite(path, bounds=bounds)
    with pytest.raises(StorageError, match=r"split 'train' of source 'x'.*has 1000 rows"):
        H5PYDataset(path, ("train",))


@pytest.mark.parametrize("rows", [[0, 1000], [-1, 3]])
def test_row_numbers_beyond_the_data(path, rows):
    rewrite(path, add={"rows": rows})
    with pytest.raises(StorageError, match="but the source has 1000 rows"):
        H5PYDataset(path, ("train",))


def test_row_numbers_that_are_no_integers(path):
    rewrite(path, add={"rows": [0.5, 1.5]})
    with pytest.raises(StorageError, match="row numbers must be integers"):
        H5PYDataset(path, ("train",))


def test_no_row_numbers_are_an_empty_split(path):
    rewrite(path, add={"rows": numpy.array([], dtype="int64")})
    assert H5PYDataset(path, ("train",)).num_examples == 0


def test_a_split_of_a_source_that_is_missing(path):
    rewrite(path, bounds=(0, 5), source="y")
    with pytest.raises(StorageError, match="refer to data that the file does not have"):
        H5PYDataset(path, ("train",))


@pytest.mark.parametrize("value", ["train", numpy.zeros(3), numpy.zeros(2, [("split", "S3")])])
def test_a_split_attribute_of_another_kind(path, value):
    with h5py.File(path, "a") as file:
        file.attrs["split"] = value
    with pytest.raises(StorageError, match="must be a one-dimensional array with the fields"):
        H5PYDataset(path, ("train",))


@pytest.mark.parametrize("signature", [b"HEAP", b"TREE", b"SNOD", b"GCOL"])
@pytest.mark.parametrize("in_memory", [False, True])
def test_damage_to_any_inner_structure_is_told_as_damage(tmp_path, signature, in_memory):
    path = tmp_path / "structures.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=numpy.arange(40.0).reshape(20, 2), chunks=(5, 2))
        file["x"].dims[0].label = "batch"
        parts = {"train": {"x": (0, 20)}}
        file.attrs["split"] = H5PYDataset.create_split_array(parts)
    content = path.read_bytes()
    assert signature in content
    path.write_bytes(content.replace(signature, b"\x00" * 4))
    with pytest.raises(StorageError, match=r"damaged|make it again"):
        H5PYDataset(path, ("train",), load_in_memory=in_memory).get_data(request=[3, 1])
    assert str(path) not in H5PYDataset._ref_counts


@pytest.mark.parametrize("request_", [[99, 1], [98, 99], 99, slice(40, 60), [1]])
def test_a_file_that_was_replaced_by_a_shorter_one_is_told(tmp_path, request_):
    for name, length in (("data.hdf5", 100), ("new.hdf5", 50)):
        with h5py.File(tmp_path / name, "w") as file:
            file["x"] = numpy.arange(length)
    dataset = H5PYDataset(tmp_path / "data.hdf5")
    (tmp_path / "new.hdf5").replace(tmp_path / "data.hdf5")
    handle = dataset.open()
    with pytest.raises(StorageError, match="fewer rows than it had.*make the dataset anew"):
        dataset.get_data(handle, request_)
    dataset.close(handle)
