"""CSV files become typed sources; what is wrong is told with file and line, and leaves nothing."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.converters.bring.tables import convert_csv
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import ConfigurationError, StorageError


def convert(folder: Path, *files: str, **options: Any) -> str:
    return convert_csv(str(folder), str(folder), "out.hdf5", files=files, **options)[0]


def everything(path: str, split: str = "all") -> dict[str, Any]:
    dataset = H5PYDataset(path, (split,), load_in_memory=True)
    data = dataset.get_data(request=slice(0, dataset.num_examples))
    return dict(zip(dataset.sources, data, strict=True))


def classes(path: str, source: str) -> list[str]:
    with h5py.File(path) as file:
        return list(file[source].attrs["class_names"])


def write(folder: Path, text: str, name: str = "t.csv", encoding: str = "utf-8") -> None:
    (folder / name).write_bytes(text.encode(encoding))


def test_types_are_inferred(tmp_path: Path) -> None:
    write(
        tmp_path,
        "i,f,code,kind,words\n1,2.5,007,b,one\n-2,1e3,08,a,two\n+3,.5,9,b,three\n4,inf,1,a,four\n",
    )
    path = convert(tmp_path, "t.csv")
    found = everything(path)
    assert found["i"].dtype == numpy.int64 and found["i"].tolist() == [1, -2, 3, 4]
    assert found["f"].dtype == numpy.float64 and found["f"].tolist() == [2.5, 1e3, 0.5, numpy.inf]
    assert found["code"].tolist() == [b"007", b"08", b"9", b"1"]
    assert found["kind"].dtype == numpy.uint8 and found["kind"].tolist() == [1, 0, 1, 0]
    assert classes(path, "kind") == ["a", "b"]
    assert found["words"].tolist() == [b"one", b"two", b"three", b"four"]


def test_integers_that_no_type_holds_stay_exact(tmp_path: Path) -> None:
    write(tmp_path, f"n,big\n{2**63 - 1},{2**63}\n{-(2**63)},1\n")
    found = everything(convert(tmp_path, "t.csv"))
    assert found["n"].tolist() == [2**63 - 1, -(2**63)]
    assert found["big"].tolist() == [str(2**63).encode(), b"1"]


def test_features_and_target(tmp_path: Path) -> None:
    write(tmp_path, "x,name,y,z\n1,a,yes,2\n3,b,no,4\n5,c,yes,6\n")
    path = convert(tmp_path, "t.csv", features=True, target="y")
    found = everything(path)
    assert found["features"].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found["targets"].tolist() == [[1], [0], [1]] and classes(path, "targets") == [
        "no",
        "yes",
    ]
    with h5py.File(path) as file:
        assert list(file["features"].attrs["feature_names"]) == ["x", "z"]
    assert H5PYDataset(path, ("all",)).axis_labels["targets"] == ("batch", "index")


def test_quotes_newlines_delimiters_and_encodings(tmp_path: Path) -> None:
    write(tmp_path, 'a;b\n1;"x;\ny"\n2;"say ""é"""\n', encoding="latin-1")
    found = everything(convert(tmp_path, "t.csv", delimiter=";", encoding="latin-1"))
    assert [value.decode() for value in found["b"]] == ["x;\ny", 'say "é"']
    write(tmp_path, "\ufeffa\tb\r\n1\t2\r\n\r\n", name="t.tsv")
    assert everything(convert(tmp_path, "t.tsv"))["a"].tolist() == [1]


def test_several_files_compressed_ones_and_splits_by_file(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n2\n", "a.csv")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"a\n3\n"))
    assert everything(convert(tmp_path, "a.csv", "b.csv.gz"))["a"].tolist() == [1, 2, 3]
    path = convert(tmp_path, "test=b.csv.gz", "train=a.csv", split="train,test")
    assert everything(path, "train")["a"].tolist() == [1, 2]
    assert everything(path, "test")["a"].tolist() == [3]
    with h5py.File(path) as file:
        assert [row["split"] for row in file.attrs["split"]] == [b"train", b"test"]


def test_a_column_names_the_splits(tmp_path: Path) -> None:
    write(tmp_path, "a,set\n1,train\n2,test\n3,train\n")
    path = convert(tmp_path, "t.csv", split_by="set")
    assert everything(path, "train")["a"].tolist() == [1, 3]
    assert "set" not in everything(path, "test")


def test_splits_are_rows_in_a_stretch_and_in_the_order_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, "a,k\n" + "".join(f"{n},{n % 3}\n" for n in range(9000)))
    options = {"split": "train=0.6,test=0.4", "stratify": "k", "seed": 3}
    path = convert(tmp_path, "t.csv", **options)
    train, test = everything(path, "train"), everything(path, "test")
    assert sorted([*train["a"], *test["a"]]) == list(range(9000))
    assert (numpy.diff(train["a"]) > 0).all() and (numpy.diff(test["a"]) > 0).all()
    assert numpy.bincount(train["k"]).tolist() == [1800] * 3
    with h5py.File(path) as file:
        assert not any(file.attrs["split"]["indices"])
    first = everything(convert(tmp_path, "t.csv", **options), "train")
    assert numpy.array_equal(first["a"], train["a"])


MISSING = "a,b,c\n1,x,2\n2,,NA\n3,x,4\n"


def test_missing_values(tmp_path: Path) -> None:
    write(tmp_path, MISSING)
    with pytest.raises(StorageError, match=r"line 3 of t.csv has no value in column 'b'"):
        convert(tmp_path, "t.csv")
    found = everything(convert(tmp_path, "t.csv", missing="nan"))
    assert numpy.array_equal(found["c"], [2, numpy.nan, 4], equal_nan=True)
    assert found["b"].tolist() == [b"x", b"", b"x"] and found["a"].dtype == numpy.int64
    assert everything(convert(tmp_path, "t.csv", missing="drop"))["a"].tolist() == [1, 3]
    # Among texts, NA is one: Namibia.
    write(tmp_path, "country,n\nNA,1\nDE,?\n")
    with pytest.raises(StorageError, match="line 3 of t.csv has no value in column 'n'"):
        convert(tmp_path, "t.csv", missing_value=["?"])
    dropped = everything(convert(tmp_path, "t.csv", missing_value=["?"], missing="drop"))
    assert dropped["country"].tolist() == [b"NA"] and dropped["n"].tolist() == [1]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a,b\n1,2\n3\n", {}, "line 3 of t.csv has 1 fields where there are 2 columns"),
        ('a,b\n1,"x\n\n', {}, "line 2 of t.csv cannot be taken apart"),
        ('a,b\n1,"x"y\n', {}, "line 2 of t.csv cannot be taken apart"),
        ("1,2\n3,4\n", {}, "--no-header"),
        ("a,a\n1,2\n", {}, "several columns named a"),
        ("a,b\n1,2\n", {"target": "c"}, "has no column 'c'; it has a, b"),
        ("a,b\n1,2\n", {"columns": ["c"]}, "has no column 'c'"),
        ("a,b\n1,2\n", {"split_by": "c"}, "has no column 'c'"),
        ("a,b\n", {}, "has no examples"),
        ("", {}, "t.csv is empty"),
        ("a\nx\ny\nz\n", {"features": True}, "no column of numbers"),
        ("a/b,a_b\n1,2\n", {}, "two columns would become the source 'a_b'"),
        ("a\nx\0y\nz\nu\n", {}, "zero byte"),
    ],
)
def test_what_is_wrong_is_told_and_leaves_nothing(
    tmp_path: Path, text: str, options: dict[str, Any], said: str
) -> None:
    write(tmp_path, text)
    (tmp_path / "out.hdf5").write_bytes(b"older")
    with pytest.raises(StorageError, match=said.replace("(", r"\(")):
        convert(tmp_path, "t.csv", **options)
    assert sorted(os.listdir(tmp_path)) == ["out.hdf5", "t.csv"]
    assert (tmp_path / "out.hdf5").read_bytes() == b"older"


def test_files_with_other_columns_other_encodings_and_none_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n", "a.csv")
    write(tmp_path, "b\n1\n", "b.csv")
    with pytest.raises(StorageError, match=r"b.csv has the columns b, but a.csv has a"):
        convert(tmp_path, "a.csv", "b.csv")
    write(tmp_path, "a\né\n", "c.csv", "latin-1")
    with pytest.raises(StorageError, match="c.csv is not text in the encoding utf-8-sig.*latin-1"):
        convert(tmp_path, "c.csv")
    with pytest.raises(StorageError, match="nowhere.csv does not exist"):
        convert(tmp_path, "nowhere.csv")
    whole = gzip.compress(b"a\n" + os.urandom(9000).hex().encode() + b"\n" * 9)
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StorageError, match="cut.csv.gz cannot be read"):
        convert(tmp_path, "cut.csv.gz")


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a,s\n1,x\n2,y\n")
    for options, said in (
        ({"split": "x=0.5,y=0.5", "split_by": "s"}, "leave the fractions out"),
        ({"stratify": "a"}, "--stratify needs --split"),
        ({"split": "x,y"}, "nothing says which example belongs where"),
        ({"delimiter": ",,"}, "must be one character"),
        ({"encoding": "klingon"}, "must be one that Python knows"),
        ({"missing": "what"}, "must be error, nan or drop"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            convert(tmp_path, "t.csv", **options)
    with pytest.raises(ConfigurationError, match="either all files must say"):
        convert(tmp_path, "train=t.csv", "t.csv")


def test_the_file_tells_its_inputs(tmp_path: Path) -> None:
    write(tmp_path, "a\n1\n")
    with h5py.File(convert(tmp_path, "t.csv")) as file:
        inputs = json.loads(file.attrs["fuel_provenance"])["inputs"]
    assert [(entry["name"], entry["size"]) for entry in inputs] == [("t.csv", 4)]


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.floats(allow_nan=False),
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
                str.strip
            ),
        ),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=25, deadline=None)
def test_what_pythons_csv_writes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, float, str]]
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("i", "f", "t"), *rows])
    path = convert(folder, "t.csv", text=["t"])
    found = everything(path)
    assert found["i"].tolist() == [row[0] for row in rows]
    assert [float(value) for value in found["f"]] == [row[1] for row in rows]
    assert [value.decode() for value in found["t"]] == [row[2] for row in rows]
