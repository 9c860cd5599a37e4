"""The functions that converters are made of."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy
import pytest

from fuel.converters.base import (
    MissingInputFiles,
    check_exists,
    fill_hdf5_file,
    label_axes,
    progress_bar,
)
from fuel.datasets.hdf5 import H5PYDataset

TRAIN = numpy.arange(12, dtype="float32").reshape(4, 3)
TEST = 100 + numpy.arange(6, dtype="float32").reshape(2, 3)
LABELS = numpy.arange(4, dtype="uint8")[:, None]


def written(path: Path, data: object) -> Path:
    with h5py.File(path, "w") as h5file:
        fill_hdf5_file(h5file, data)  # type: ignore[arg-type]
    return path


def test_sources_are_joined_and_splits_recorded(tmp_path: Path) -> None:
    data = (
        ("train", "features", TRAIN),
        ("train", "targets", LABELS),
        ("test", "features", TEST, "unlabelled"),
    )
    path = written(tmp_path / "x.hdf5", data)
    with h5py.File(path, "r") as h5file:
        numpy.testing.assert_array_equal(h5file["features"][...], numpy.vstack([TRAIN, TEST]))
        assert h5file["features"].dtype == TRAIN.dtype
        assert h5file["targets"].shape == (4, 1)
        split = h5file.attrs["split"]
        assert {
            row["comment"] for row in split if row["split"] == b"test" and row["available"]
        } == {b"unlabelled"}
        assert [row["available"] for row in split if row["source"] == b"targets"] == [True, False]
    test = H5PYDataset(str(path), which_sets=("test",), load_in_memory=True)
    assert test.provides_sources == ("features",)
    (values,) = test.get_data(None, slice(0, 2))
    numpy.testing.assert_array_equal(values, TEST)


def test_lists_are_taken_as_arrays(tmp_path: Path) -> None:
    path = written(tmp_path / "x.hdf5", [["all", "x", [[1, 2], [3, 4]]]])
    with h5py.File(path, "r") as h5file:
        assert h5file["x"][...].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "data, message",
    [
        (
            (("train", "features", TRAIN), ("train", "targets", LABELS[:3])),
            "'train' must have the same number of examples, got 4 in 'features', 3 in 'targets'",
        ),
        (
            (("train", "x", TRAIN), ("test", "x", TEST.astype("float64"))),
            "same type, got float32 in 'train', float64 in 'test'",
        ),
        (
            (("train", "x", TRAIN), ("test", "x", TEST[:, :2])),
            r"same shape, got \(3,\) in 'train', \(2,\) in 'test'",
        ),
        ((("train", "x", TRAIN), ("train", "x", TRAIN)), "'train' is given twice"),
        ((), "no data"),
    ],
)
def test_inconsistent_data_is_refused_before_anything_is_written(
    tmp_path: Path, data: object, message: str
) -> None:
    with h5py.File(tmp_path / "x.hdf5", "w") as h5file:
        with pytest.raises(ValueError, match=message):
            fill_hdf5_file(h5file, data)  # type: ignore[arg-type]
        assert list(h5file) == []


def test_axes_are_labelled(tmp_path: Path) -> None:
    path = written(tmp_path / "x.hdf5", (("all", "x", TRAIN),))
    with h5py.File(path, "a") as h5file:
        label_axes(h5file["x"], "batch", "feature")
    assert H5PYDataset(str(path), ("all",)).axis_labels == {"x": ("batch", "feature")}


def test_check_exists_names_every_missing_file(tmp_path: Path) -> None:
    @check_exists(required_files=["here", "missing", "folder"])
    def convert(directory: str, output_directory: str, extra: int = 0) -> tuple[object, ...]:
        """Convert."""
        return directory, output_directory, extra

    (tmp_path / "here").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(MissingInputFiles) as caught:
        convert(directory=str(tmp_path), output_directory="out")
    assert caught.value.filenames == ["missing", "folder"]
    assert caught.value.args[0] == "Required files missing"
    (tmp_path / "missing").touch()
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").touch()
    assert convert(str(tmp_path), "out", extra=3) == (str(tmp_path), "out", 3)
    assert (convert.__name__, convert.__doc__) == ("convert", "Convert.")


def test_a_progress_bar_is_told_how_far_the_work_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with progress_bar("numbers", 10, prefix="Counting") as bar:
        for value in (0, 4, 10):
            bar.update(value)
        assert bar.value == 10
    shown = capsys.readouterr().out
    assert "Counting numbers" in shown and "10/10" in shown and "100%" in shown


def test_a_log_file_gets_no_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("numbers", None) as bar:
        bar.update(3)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""
