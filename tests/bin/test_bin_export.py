"""``fuel-convert`` and ``fuel-export`` are each other's way back; nothing half-written is left."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from fuel.bin import fuel_convert, fuel_export
from fuel.converters.export import export
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import ConfigurationError, StorageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(path: str | os.PathLike[str], split: str = "all") -> dict[str, Any]:
    dataset = H5PYDataset(os.fspath(path), (split,), load_in_memory=True)
    data = dataset.get_data(request=slice(0, dataset.num_examples))
    return dict(zip(dataset.sources, data, strict=True))


def same(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    if one.dtype.kind != "O":
        return one.dtype == other.dtype and numpy.array_equal(
            one, other, equal_nan=one.dtype.kind == "f"
        )
    return all(
        a == b if isinstance(a, bytes) else a.dtype == b.dtype and numpy.array_equal(a, b)
        for a, b in zip(one, other, strict=True)
    )


def assert_same(one: str, other: str, splits: tuple[str, ...]) -> None:
    for split in splits:
        left, right = everything(one, split), everything(other, split)
        assert sorted(left) == sorted(right)
        assert [name for name in left if not same(left[name], right[name])] == []


def convert(*arguments: str) -> None:
    fuel_convert.main(list(arguments))


def mixed(path: str, train: int = 7, test: int = 3) -> None:
    """A file with a source of each kind, in two splits."""
    sources = {
        "grid": SourceSpec((2, 3), "float32"),
        "label": SourceSpec((1,), "uint8"),
        "number": SourceSpec((), "int64"),
        "flag": SourceSpec((), "bool"),
        "text": SourceSpec((), "str"),
        "fixed": SourceSpec((), "S4"),
        "bytes": SourceSpec((None,), "uint8"),
        "list": SourceSpec((None,), "float64"),
        "maps": SourceSpec((None, 2, None), "int16"),
    }
    rng = numpy.random.default_rng(train)
    with HDF5Writer(path, sources) as writer:
        for split, count in (("train", train), ("test", test)):
            writer.add(
                split,
                grid=rng.random((count, 2, 3), "float32"),
                label=rng.integers(9, size=(count, 1), dtype="uint8"),
                number=rng.integers(-9, 9, size=count),
                flag=rng.random(count) < 0.5,
                text=[f"näme {n}" for n in range(count)],
                fixed=numpy.array([b"%d" % n for n in range(count)]),
                bytes=[rng.bytes(n) for n in range(count)],
                list=[rng.random(n) for n in range(count)],
                maps=[
                    rng.integers(99, size=(n % 3 + 1, 2, n % 4), dtype="int16")
                    for n in range(count)
                ],
            )


def test_parquet_and_back(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuel.converters._export_read.BATCH_BYTES", 300)  # many small batches
    mixed("a.hdf5")
    fuel_export.main(["a.hdf5", "--to", "parquet", "a.parquet"])
    convert("parquet", "a.parquet", "--split-by", "split", "-r", "b.hdf5")
    assert_same("a.hdf5", "b.hdf5", ("train", "test"))
    one = export("b.hdf5", "parquet", "again.parquet")
    # The order of sources is that of the alphabet; the same data gives the same bytes.
    assert Path(one).read_bytes() == Path("a.parquet").read_bytes()


def test_webdataset_and_back(here: Path) -> None:
    mixed("a.hdf5")
    names = "bytes,grid,label,list,maps,number,text"
    fuel_export.main(["a.hdf5", "--to", "webdataset", "a.tar.gz", "--sources", names])
    convert("webdataset", "a.tar.gz", "--split-by", "split", "-r", "b.hdf5")
    for split in ("train", "test"):
        left, right = everything("a.hdf5", split), everything("b.hdf5", split)
        assert sorted([*names.split(","), "key"]) == sorted(right)
        assert [name for name in names.split(",") if not same(left[name], right[name])] == []
    fuel_export.main(["b.hdf5", "--to", "webdataset", "c.tar.gz"])
    assert Path("c.tar.gz").read_bytes() == Path("a.tar.gz").read_bytes()


def test_npz_and_back_with_splits(here: Path) -> None:
    mixed("a.hdf5")
    names = ["fixed", "flag", "grid", "label", "number", "text"]
    with pytest.raises(StorageError, match="bytes, list, maps have different shapes.*parquet"):
        export("a.hdf5", "npz", "a.npz")
    assert not Path("a.npz").exists()
    export("a.hdf5", "npz", "a.npz", sources=names, compress=True)
    convert("npz", "a.npz", "--split-suffixes", "train,test", "-r", "b.hdf5")
    for split in ("train", "test"):
        left, right = everything("a.hdf5", split), everything("b.hdf5", split)
        assert [name for name in names if not same(left[name], right[name])] == []


@given(
    st.integers(1, 12).flatmap(
        lambda count: st.dictionaries(
            st.text("abcdefgh_ ö", min_size=1, max_size=6).filter(lambda t: t.strip() == t),
            arrays.arrays(
                st.one_of(
                    arrays.integer_dtypes(),
                    arrays.unsigned_integer_dtypes(),
                    arrays.floating_dtypes(endianness="="),
                    arrays.boolean_dtypes(),
                ),
                arrays.array_shapes(max_dims=2, max_side=3).map(lambda shape: (count, *shape)),
            ),
            min_size=1,
            max_size=3,
        )
    )
)
@settings(max_examples=25, deadline=None)
def test_npz_to_hdf5_to_npz_is_equal(
    tmp_path_factory: pytest.TempPathFactory, given_arrays: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("npz")
    with open(folder / "a.npz", "wb") as file:
        numpy.savez(file, **given_arrays)
    convert("npz", "a.npz", "-d", str(folder), "-o", str(folder))
    export(folder / "a.hdf5", "npz", folder / "b.npz")
    with numpy.load(folder / "b.npz", allow_pickle=False) as found:
        assert sorted(found) == sorted(given_arrays)
        for name, values in given_arrays.items():
            assert found[name].dtype == values.dtype.newbyteorder("=")
            assert numpy.array_equal(found[name], values, equal_nan=values.dtype.kind == "f")


def png(seed: int, kind: str = "PNG") -> bytes:
    pixels = numpy.random.default_rng(seed).integers(256, size=(6, 8, 3), dtype="uint8")
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def tree(folder: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def test_images_and_back(here: Path) -> None:
    for number, name in enumerate(("cat/1.png", "cat/deep/1.png", "dög x/a.b.jpg", "dög x/2.png")):
        Path("pets", name).parent.mkdir(parents=True, exist_ok=True)
        Path("pets", name).write_bytes(png(number, "JPEG" if name.endswith("jpg") else "PNG"))
    convert("images", "pets")
    fuel_export.main(["pets.hdf5", "--to", "images", "back"])
    assert tree("back") == tree("pets")
    convert("images", "pets", "--split", "a=0.5,b=0.5", "-r", "split.hdf5")
    fuel_export.main(["split.hdf5", "--to", "images", "halves"])
    convert("images", "halves", "--split-folders", "-r", "again.hdf5")
    for split in ("a", "b"):
        one, two = everything("split.hdf5", split), everything("again.hdf5", split)
        assert same(one["targets"], two["targets"])
        assert same(one["encoded_images"], two["encoded_images"])


def test_decoded_images_become_png(here: Path) -> None:
    pixels = numpy.random.default_rng(0).integers(256, size=(4, 3, 6, 8), dtype="uint8")
    sources = {
        "features": SourceSpec((3, 6, 8), "uint8", ("batch", "channel", "height", "width")),
        "targets": SourceSpec((1,), "uint8"),
    }
    with HDF5Writer("a.hdf5", sources) as writer:
        writer.add("all", features=pixels, targets=[[3], [0], [3], [1]])
    export("a.hdf5", "images", "out")
    assert sorted(tree("out")) == ["0/000001.png", "1/000003.png", "3/000000.png", "3/000002.png"]
    for name in tree("out"):
        found = numpy.asarray(Image.open(Path("out", name))).transpose(2, 0, 1)
        assert numpy.array_equal(found, pixels[int(Path(name).stem)])


def test_names_in_a_file_never_lead_out_of_the_folder(here: Path) -> None:
    sources = {
        "encoded_images": SourceSpec((None,), "uint8"),
        "filenames": SourceSpec((), "str"),
        "targets": SourceSpec((1,), "uint8"),
    }
    names = ["../../evil.png", "/etc/evil.png", "C:\\evil.png", "con.png", "..", "same.png"]
    with HDF5Writer("a.hdf5", sources) as writer:
        writer.add(
            "all",
            encoded_images=[png(number) for number in range(6)],
            filenames=names,
            targets=[[0]] * 6,
        )
    with h5py.File("a.hdf5", "a") as file:
        file["targets"].attrs["class_names"] = numpy.array(["../up"], h5py.string_dtype())
    export("a.hdf5", "images", "out")
    assert sorted(os.listdir(here)) == ["a.hdf5", "out"]
    assert os.listdir("out") == ["_up"] and len(tree("out")) == 6
    with HDF5Writer("k.hdf5", {"key": SourceSpec((), "str"), "n": SourceSpec((), "int64")}) as w:
        w.add("all", key=["../../x"], n=[1])
    with pytest.raises(StorageError, match="the key '../../x' is no name for a member"):
        export("k.hdf5", "webdataset", "k.tar")
    export("k.hdf5", "webdataset", "k.tar", sources=["n"])
    with tarfile.open("k.tar") as tar:
        assert tar.getnames() == ["000000.n.cls"]


def test_splits_and_sources_are_chosen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mixed("a.hdf5")
    arguments = ["--to", "npz", "out.npz", "--sources", "number", "--split", "test"]
    fuel_export.main(["a.hdf5", *arguments])
    assert capsys.readouterr().out == f"wrote {here / 'out.npz'}\n"
    with numpy.load("out.npz") as found:
        assert list(found) == ["number"] and len(found["number"]) == 3
    # Rows that are given by number, and a file that has no splits at all.
    with h5py.File("a.hdf5", "a") as file:
        file["rows"] = numpy.array([8, 1])
        part = {"number": (0, 0, file["rows"].ref)}
        file.attrs["split"] = H5PYDataset.create_split_array({"odd": part})
        numbers = file["number"][...]
    export("a.hdf5", "npz", "out.npz")
    with numpy.load("out.npz") as found:
        assert found["number"].tolist() == numbers[[1, 8]].tolist()  # as the dataset has it
    with h5py.File("plain.hdf5", "w") as file:
        file["x"] = [1, 2]
    export("plain.hdf5", "npz", "out.npz")
    with numpy.load("out.npz") as found:
        assert found["x"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere.hdf5", "--to", "npz", "x"], 1, "there is no file nowhere.hdf5"),
        (["text", "--to", "npz", "x"], 1, "text is not an HDF5 file"),
        (["a.hdf5", "--to", "npz", "x", "--split", "no"], 1, "has no split 'no'; its splits are"),
        (["a.hdf5", "--to", "npz", "x", "--sources", "no"], 1, "'no'"),
        (["a.hdf5", "--to", "npz", "no/x", "--sources", "grid"], 1, "there is no folder"),
        (["a.hdf5", "--to", "npz", "a.hdf5", "--sources", "grid"], 1, "name another output"),
        (["a.hdf5", "--to", "images", "x"], 1, "is no image of a known format"),
        (["a.hdf5", "--to", "images", "full", "--sources", "bytes"], 1, "full exists already"),
        (["a.hdf5", "--to", "zip", "x"], 2, "invalid choice: 'zip'"),
        (["a.hdf5", "x"], 2, "required: --to"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    mixed("a.hdf5")
    Path("text").write_text("hello")
    Path("full").mkdir()
    Path("full", "x").touch()
    with pytest.raises(SystemExit) as end:
        fuel_export.main(arguments)
    assert end.value.code == code
    error = capsys.readouterr().err
    assert said in error and error.splitlines()[-1].startswith("fuel-export: error:")
    assert sorted(os.listdir(here)) == ["a.hdf5", "full", "text"]


def test_an_export_that_fails_leaves_the_older_file(here: Path) -> None:
    with HDF5Writer("a.hdf5", {"text": SourceSpec((), "str")}) as writer:
        writer.add("all", text=["fine"] * 40 + [b"\xff"])
    for to in ("npz", "parquet", "webdataset"):
        Path("out").write_text("older")
        with pytest.raises(StorageError, match="is not UTF-8"):
            export("a.hdf5", to, "out")
        assert Path("out").read_text() == "older"
    with pytest.raises(ConfigurationError, match="there is no format 'zip'; there are npz"):
        export("a.hdf5", "zip", "out")
    assert sorted(os.listdir(here)) == ["a.hdf5", "out"]


FULL = """
import resource, signal, sys
from fuel.bin import fuel_export
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sys.argv[1:] = ["a.hdf5", "--to", sys.argv[1], "out", "--no-compress"]
fuel_export.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot limit the size of files")
@pytest.mark.parametrize("to", ["npz", "parquet", "webdataset"])
def test_a_full_disk_is_told_and_leaves_the_older_file(here: Path, to: str) -> None:
    with HDF5Writer("a.hdf5", {"x": SourceSpec((1000,), "float64")}) as writer:
        writer.add("all", x=numpy.random.default_rng(0).random((100, 1000)))
    Path("out").write_text("older")
    done = subprocess.run(
        [sys.executable, "-c", FULL, to], timeout=100, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert f"{here / 'out'} cannot be written: " in done.stderr
    assert "bytes are free in" in done.stderr and len(done.stderr.splitlines()) == 1
    assert Path("out").read_text() == "older"
    assert sorted(os.listdir(here)) == ["a.hdf5", "out"]


KILLED = """
import os, signal, sys
from fuel.bin import fuel_convert, fuel_export
import fuel.converters._export_read as read, fuel.converters.bring._common as common
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "export":
    read.text_of = die
    import fuel.converters._export_parquet as module
    module.text_of = die
    fuel_export.main(["a.hdf5", "--to", "parquet", "out"])
else:
    common._annotate = die
    fuel_convert.main(["npz", "a.npz", "-r", "out.hdf5"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
@pytest.mark.parametrize("what", ["export", "convert"])
def test_after_a_kill_the_older_file_is_whole_and_the_next_run_cleans_up(
    here: Path, what: str
) -> None:
    mixed("a.hdf5")
    numpy.savez("a.npz", x=numpy.arange(4))
    old = Path("out" if what == "export" else "out.hdf5")
    old.write_text("older")
    done = subprocess.run([sys.executable, "-c", KILLED, what], timeout=100)
    assert done.returncode == -signal.SIGKILL
    assert old.read_text() == "older"
    assert [name for name in os.listdir(here) if name.endswith(".part")] != []
    if what == "export":
        export("a.hdf5", "parquet", "out")
    else:
        convert("npz", "a.npz", "-r", "out.hdf5")
    assert sorted(os.listdir(here)) == sorted(["a.hdf5", "a.npz", old.name])


def test_the_command_line_converts_relative_to_the_directory(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("raw").mkdir()
    Path("raw", "t.csv").write_text("a,b\n1,x\n2,y\n")
    convert("csv", "t.csv", "-d", "raw")
    assert capsys.readouterr().out == f"wrote {here / 't.hdf5'}\n"
    with h5py.File("t.hdf5") as file:
        assert file.attrs["fuel_convert_command"] == b"fuel-convert csv t.csv -d raw"
    with pytest.raises(SystemExit) as end:
        convert("csv", "t.csv", "-d", "raw", "--split", "train=0.5,test=0.6")
    assert end.value.code == 2
    assert "must sum to 1" in capsys.readouterr().err
    Path("words.txt").write_text("to be\n")
    convert("text", "words.txt")
    assert sorted(os.listdir(here)) == [
        "raw",
        "t.hdf5",
        "words.hdf5",
        "words.txt",
        "words.vocabulary.json",
    ]
