"""Parquet files, and data sets that were saved on disk, become typed sources."""

from __future__ import annotations

import datetime
import decimal
import json
import os
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy
import pyarrow
import pyarrow.parquet
import pytest

from fuel.converters.bring.huggingface import convert_huggingface
from fuel.converters.bring.parquet import convert_parquet
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import ConfigurationError, StorageError


def everything(path: str, split: str = "all") -> dict[str, Any]:
    dataset = H5PYDataset(path, (split,), load_in_memory=True)
    data = dataset.get_data(request=slice(0, dataset.num_examples))
    return dict(zip(dataset.sources, data, strict=True))


def parquet(folder: Path, table: Any, **options: Any) -> str:
    if table is not None:
        pyarrow.parquet.write_table(table, folder / "t.parquet", row_group_size=2)
    files = options.pop("files", ["t.parquet"])
    return convert_parquet(str(folder), str(folder), "out.hdf5", files=files, **options)[0]


def plain(values: Any) -> list[Any]:
    return [value.tolist() for value in values]


def test_every_type_that_has_a_form(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "i": pyarrow.array([1, 2, 3], pyarrow.int8()),
            "f": pyarrow.array([1.5, 2.5, 3.5], pyarrow.float32()),
            "b": [True, False, True],
            "s": ["a", "ö", ""],
            "d": pyarrow.array(["u", "v", "u"]).dictionary_encode(),
            "raw": [b"\0\1", b"", b"\2"],
            "four": pyarrow.array([b"1234", b"5\0\0\0", b"abcd"], pyarrow.binary(4)),
            "list": [[1], [], [2, 3]],
            "grid": [[[1, 2], [3, 4]], [], [[5]]],
            "pair": pyarrow.array([[1, 2], [3, 4], [5, 6]], pyarrow.list_(pyarrow.uint16(), 2)),
            "pairs": pyarrow.array(
                [[[1, 2]], [], [[3, 4], [5, 6]]], pyarrow.list_(pyarrow.list_(pyarrow.int32(), 2))
            ),
            "st": [{"x": 1, "in": {"y": "q"}}] * 3,
            "day": pyarrow.array([datetime.date(1970, 1, 2)] * 3),
            "at": pyarrow.array([1, 2, 3], pyarrow.timestamp("ms")),
            "money": [decimal.Decimal("1.25")] * 3,
        }
    )
    found = everything(parquet(tmp_path, table))
    assert found["i"].dtype == numpy.int8 and found["f"].dtype == numpy.float32
    assert found["b"].tolist() == [True, False, True] and found["b"].dtype == bool
    assert found["s"].tolist() == [b"a", "ö".encode(), b""]
    assert found["d"].tolist() == [b"u", b"v", b"u"]
    assert plain(found["raw"]) == [[0, 1], [], [2]] and found["raw"][0].dtype == numpy.uint8
    assert found["four"].tolist() == [b"1234", b"5", b"abcd"]
    assert plain(found["list"]) == [[1], [], [2, 3]]
    assert plain(found["grid"]) == [[[1, 2], [3, 4]], [], [[5]]]
    assert found["grid"][1].shape == (0, 0)
    assert found["pair"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found["pair"].dtype == numpy.uint16
    assert plain(found["pairs"]) == [[[1, 2]], [], [[3, 4], [5, 6]]]
    assert found["pairs"][1].shape == (0, 2)
    assert found["st.x"].tolist() == [1, 1, 1] and found["st.in.y"].tolist() == [b"q"] * 3
    assert found["day"].tolist() == [1, 1, 1] and found["at"].tolist() == [1, 2, 3]
    assert found["money"].tolist() == [1.25] * 3


def test_missing_values(tmp_path: Path) -> None:
    table = pyarrow.table({"a": [1, None, 3], "s": ["x", "y", None], "l": [[1], [2], [3, 4]]})
    with pytest.raises(StorageError, match="row 1 of t.parquet has no value in column 'a'"):
        parquet(tmp_path, table)
    found = everything(parquet(tmp_path, table, missing="nan"))
    assert numpy.array_equal(found["a"], [1, numpy.nan, 3], equal_nan=True)
    assert found["s"].tolist() == [b"x", b"y", b""]
    assert everything(parquet(tmp_path, table, missing="drop"))["a"].tolist() == [1]
    path = parquet(tmp_path, table, missing="drop", columns=["s", "l"])
    assert plain(everything(path)["l"]) == [[1], [2]]
    holed = pyarrow.table({"l": [[1], [2, None]]})
    with pytest.raises(StorageError, match="row 1 of t.parquet has a list with a missing value"):
        parquet(tmp_path, holed)


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        ({"m": [[("k", 1)]]}, {}, "column 'm' holds map"),
        ({"l": [["a"]]}, {}, "column 'l' holds list<.*string>"),
        ({"g": [[[1], [2, 3]]]}, {}, "row 0 of t.parquet has lists of different lengths"),
        ({"a": [1]}, {"columns": ["b"]}, "t.parquet has no column 'b'; it has a"),
        ({"a": [1]}, {"split_by": "b"}, "has no column 'b'"),
        ({"a": [1], "l": [[1]]}, {"split_by": "l"}, "must have one value in each row"),
        ({"a": pyarrow.array([], pyarrow.int8())}, {}, "has no examples"),
        ({"a": pyarrow.nulls(2)}, {}, "column 'a' holds null"),
    ],
)
def test_what_has_no_form_is_refused(
    tmp_path: Path, table: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    kinds = {"m": pyarrow.map_(pyarrow.string(), pyarrow.int8())}
    columns = {
        name: pyarrow.array(v, kinds.get(name)) if isinstance(v, list) else v
        for name, v in table.items()
    }
    with pytest.raises(StorageError, match=said):
        parquet(tmp_path, pyarrow.table(columns), **options)
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_splits_and_damage(tmp_path: Path) -> None:
    table = pyarrow.table({"a": list(range(100)), "k": [n % 4 for n in range(100)]})
    path = parquet(tmp_path, table, split="x=0.5,y=0.5", stratify="k", columns=["a", "k"])
    assert numpy.bincount(everything(path, "x")["k"]).sum() == 50
    pyarrow.parquet.write_table(table.slice(0, 10), tmp_path / "u.parquet")
    path = parquet(tmp_path, None, files=["train=t.parquet", "test=u.parquet"])
    assert len(everything(path, "train")["a"]) == 100 and len(everything(path, "test")["a"]) == 10
    path = parquet(tmp_path, None, split_by="k")
    assert everything(path, "3")["a"].tolist() == list(range(3, 100, 4))
    other = pyarrow.table({"b": [1]})
    pyarrow.parquet.write_table(other, tmp_path / "u.parquet")
    with pytest.raises(StorageError, match="u.parquet has other columns than t.parquet"):
        parquet(tmp_path, None, files=["t.parquet", "u.parquet"])
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole[:-20])
    with pytest.raises(StorageError, match="t.parquet cannot be read as Parquet"):
        parquet(tmp_path, None)


def test_without_pyarrow_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"pip install fuel\[arrow\]"):
        parquet(tmp_path, None)


def save(folder: Path, table: Any, features: dict[str, Any], files: int = 1) -> None:
    """What `save_to_disk` of the library datasets leaves."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{files:05}.arrow" for number in range(files)]
    step = -(-table.num_rows // files)
    for number, name in enumerate(names):
        with (
            pyarrow.OSFile(str(folder / name), "wb") as file,
            pyarrow.ipc.new_stream(file, table.schema) as stream,
        ):
            stream.write_table(table.slice(number * step, step))
    state = {"_data_files": [{"filename": name} for name in names], "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))


FEATURES = {
    "label": {"names": ["neg", "pos"], "_type": "ClassLabel"},
    "image": {"_type": "Image"},
    "text": {"dtype": "string", "_type": "Value"},
}


def examples(count: int) -> Any:
    return pyarrow.table(
        {
            "label": [n % 2 for n in range(count)],
            "image": [{"bytes": b"\x89PNG%d" % n, "path": None} for n in range(count)],
            "text": [f"t{n}" for n in range(count)],
        }
    )


def huggingface(folder: Path, **options: Any) -> str:
    return convert_huggingface(str(folder), str(folder), path="set", **options)[0]


def test_a_saved_data_set_with_splits(tmp_path: Path) -> None:
    save(tmp_path / "set" / "train", examples(5), FEATURES, files=2)
    save(tmp_path / "set" / "test", examples(2), FEATURES)
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    path = huggingface(tmp_path)
    assert os.path.basename(path) == "set.hdf5"
    train = everything(path, "train")
    assert train["label"].tolist() == [0, 1, 0, 1, 0]
    assert train["image"][3].tobytes() == b"\x89PNG3"
    assert everything(path, "test")["text"].tolist() == [b"t0", b"t1"]
    with h5py.File(path) as file:
        assert list(file["label"].attrs["class_names"]) == ["neg", "pos"]


def test_a_saved_data_set_without_splits_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    save(folder, examples(10), FEATURES)
    path = huggingface(tmp_path, split="a=0.5,b=0.5", stratify="label", columns=["label"])
    assert numpy.bincount(everything(path, "a")["label"]).sum() == 5
    os.remove(path)
    state = json.loads((folder / "state.json").read_text())
    data = folder / state["_data_files"][0]["filename"]
    whole = data.read_bytes()
    data.write_bytes(whole[:100])
    with pytest.raises(StorageError, match="save the data set again|damaged"):
        huggingface(tmp_path)
    data.write_bytes(whole)
    for changed, said in (
        ({"_data_files": [{"filename": "../../x.arrow"}]}, "lists no files of the folder"),
        ({"_data_files": []}, "lists no files of the folder"),
        ({"_data_files": [{"filename": "x.arrow"}]}, "lacks x.arrow"),
        ({**state, "_indices_files": [{"filename": "i.arrow"}]}, "flatten_indices"),
    ):
        (folder / "state.json").write_text(json.dumps(changed))
        with pytest.raises(StorageError, match=said):
            huggingface(tmp_path)
    (folder / "state.json").unlink()
    with pytest.raises(StorageError, match="there is no state.json in it; make it with"):
        huggingface(tmp_path)
    assert os.listdir(tmp_path) == ["set"]


def test_images_that_are_only_paths_are_refused(tmp_path: Path) -> None:
    table = pyarrow.table(
        {"image": [{"bytes": pyarrow.scalar(None, pyarrow.binary()), "path": "a"}]}
    )
    save(tmp_path / "set", table, FEATURES)
    with pytest.raises(StorageError, match="column 'image' holds no bytes, only the path 'a'"):
        huggingface(tmp_path)
