"""A rewritten file holds what the old one held, stored otherwise."""

from __future__ import annotations

import os

import h5py
import numpy
import pytest

from fuel.bin.fuel_convert import main
from fuel.converters.repack import repack
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets import H5PYDataset
from fuel.exceptions import StorageError

SPECS = {
    "x": SourceSpec((3, 2), ">i2", ("batch", "row", "column")),
    "y": SourceSpec((), "u1", ("batch",)),
    "z": SourceSpec((None, 2), "f4", ("batch", "time", "feature")),
    "t": SourceSpec((), "str"),
}


def make(path, **options):
    with HDF5Writer(path, SPECS, attributes={"note": "hello"}, **options) as writer:
        writer.describe("y", {"class_names": ["a", "b"]})
        writer.comment("train", "y", "by hand")
        for number in range(30):
            split = "train" if number % 3 else "test"
            example = {
                "x": numpy.full((3, 2), number, ">i2"),
                "y": number % 2,
                "z": numpy.full((number % 4, 2), number, "f4"),
                "t": f"é{number}",
            }
            if split == "test":
                del example["y"]
            writer.add_example(split, **example)
    return str(path)


def contents(path, split):
    dataset = H5PYDataset(path, (split,), subset_order="given")
    data = dataset.get_data(None, slice(0, dataset.num_examples))
    return {
        name: [numpy.asarray(one).tolist() for one in values]
        for name, values in zip(dataset.sources, data, strict=True)
    }, dataset.axis_labels


@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}, {"layout": "chunked"}])
def test_what_was_there_is_there(tmp_path, options):
    old = make(tmp_path / "old.hdf5")
    new = repack(old, tmp_path / "new.hdf5", **options)
    for split in ("train", "test"):
        assert contents(new, split) == contents(old, split)
    with h5py.File(new, "r") as h5file:
        assert h5file["x"].dtype == ">i2"
        assert (h5file["x"].chunks is None) == (not options)
        assert h5file["x"].compression == options.get("compression")
        assert h5file.attrs["note"] == "hello"
        assert list(h5file["y"].attrs["class_names"]) == ["a", "b"]
        assert b"by hand" in h5file.attrs["split"]["comment"]
    assert sorted(os.listdir(tmp_path)) == ["new.hdf5", "old.hdf5"]


def test_a_file_may_be_rewritten_in_its_place(tmp_path):
    path = make(tmp_path / "old.hdf5", compression="gzip")
    before = contents(path, "train")
    repack(path, path)
    assert contents(path, "train") == before
    with h5py.File(path, "r") as h5file:
        assert h5file["x"].chunks is None


def test_a_plain_file_stays_one(tmp_path):
    with h5py.File(tmp_path / "old.hdf5", "w") as h5file:
        h5file.create_dataset("group/x", data=numpy.arange(12), chunks=(5,), compression="gzip")
    new = repack(tmp_path / "old.hdf5", tmp_path / "new.hdf5")
    with h5py.File(new, "r") as h5file:
        assert "split" not in h5file.attrs
        assert h5file["group/x"][...].tolist() == list(range(12))
        assert h5file["group/x"].chunks is None
    assert H5PYDataset(new).num_examples == 12


def test_splits_are_shuffled_on_request_and_repeatably(tmp_path):
    old = make(tmp_path / "old.hdf5")
    first = repack(old, tmp_path / "1.hdf5", shuffle_seed=3)
    second = repack(old, tmp_path / "2.hdf5", shuffle_seed=3)
    data, other = contents(first, "train")[0], contents(old, "train")[0]
    assert data == contents(second, "train")[0] != other
    assert sorted(data["t"]) == sorted(other["t"])
    # The sources of an example stay together.
    assert [f"é{x[0][0]}".encode() for x in data["x"]] == data["t"]


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("old.hdf5")
    main(["repack", "old.hdf5", "new.hdf5", "--compression", "lzf", "--chunk-bytes", "48"])
    assert "wrote" in capsys.readouterr().out
    with h5py.File("new.hdf5", "r") as h5file:
        assert h5file["x"].chunks == (4, 3, 2)
    assert contents("new.hdf5", "train") == contents("old.hdf5", "train")


def test_another_name_is_taken_and_a_missing_folder_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("old.hdf5")
    main(["repack", "old.hdf5", "new.hdf5", "-r", "other"])
    assert sorted(os.listdir()) == ["old.hdf5", "other.hdf5"]
    with pytest.raises(SystemExit):
        main(["repack", "old.hdf5", os.path.join("nowhere", "new.hdf5")])
    assert "does not exist; make it first" in capsys.readouterr().err


def test_what_cannot_be_rewritten_is_told(tmp_path):
    with h5py.File(tmp_path / "old.hdf5", "w") as h5file:
        h5file.create_dataset("r", data=[h5file.ref] * 3, dtype=h5py.ref_dtype)
    with pytest.raises(ValueError, match="source 'r'.*cannot be rewritten"):
        repack(tmp_path / "old.hdf5", tmp_path / "new.hdf5")
    with pytest.raises(StorageError, match="there is no such file"):
        repack(tmp_path / "missing.hdf5", tmp_path / "new.hdf5")
    assert os.listdir(tmp_path) == ["old.hdf5"]
