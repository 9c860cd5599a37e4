"""CIFAR-10 and CIFAR-100: pickles of Python 2 in an archive, byte by byte, and hostile ones."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fuel.converters import _restricted_pickle, cifar10, cifar100
from fuel.converters.base import MissingInputFiles
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import StorageError

MARKED: list[str] = []


def text(value: str) -> bytes:
    """A string as the pickle module of Python 2 writes it."""
    raw = value.encode("latin-1")
    return (
        b"U" + bytes([len(raw)]) + raw
        if len(raw) < 256
        else b"T" + struct.pack("<i", len(raw)) + raw
    )


def numbers(values: list[int]) -> bytes:
    return b"](" + b"".join(b"K" + bytes([value]) for value in values) + b"e"


def array(values: numpy.ndarray, module: str = "numpy.core.multiarray") -> bytes:
    """A uint8 matrix in the words of Python 2, protocol 2."""
    rows, columns = values.shape
    return (
        b"c" + module.encode() + b"\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
        + b"M" + struct.pack("<H", rows) + b"M" + struct.pack("<H", columns) + b"\x86"
        + b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        + b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + b"T" + struct.pack("<i", values.size) + values.tobytes() + b"tb"
    )  # fmt: skip


def batch(data: bytes, **entries: bytes) -> bytes:
    parts = b"".join(text(key) + value for key, value in entries.items())
    return b"\x80\x02}q\x01(" + text("data") + data + parts + b"u."


def pixels(seed: int, count: int) -> numpy.ndarray:
    return numpy.random.default_rng(seed).integers(0, 256, (count, 3072), "u1")


def pack(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


BATCHES = {**{f"data_batch_{number}": number for number in range(1, 6)}, "test_batch": 6}


def ten(module: str = "numpy.core.multiarray") -> dict[str, bytes]:
    files = {"cifar-10-batches-py/readme.html": b"<html>", "cifar-10-batches-py/batches.meta": b"x"}
    # The order of the published archive.
    for name in ("data_batch_4", "test_batch", *(f"data_batch_{n}" for n in (3, 5, 1, 2))):
        seed = BATCHES[name]
        files[f"cifar-10-batches-py/{name}"] = batch(
            array(pixels(seed, 4), module),
            batch_label=text(name),
            labels=numbers([seed, 0, 9, seed]),
            filenames=b"](" + text("a_s_000001.png") + text("\xe9.png") + b"e",
        )
    return files


def hundred() -> dict[str, bytes]:
    return {
        f"cifar-100-python/{name}": batch(
            array(pixels(seed, count)),
            fine_labels=numbers([99 - n for n in range(count)]),
            coarse_labels=numbers([19 - n for n in range(count)]),
        )
        for name, seed, count in (("test", 2, 3), ("train", 1, 5))
    }


TEN, HUNDRED = cifar10.DISTRIBUTION_FILE, cifar100.DISTRIBUTION_FILE


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_batches_come_in_the_order_of_their_numbers(module: str, tmp_path: Path) -> None:
    pack(tmp_path / TEN, ten(module))
    paths = cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
    assert paths == (str(tmp_path / "cifar10.hdf5"),)
    with h5py.File(paths[0], "r") as h5file:
        assert set(h5file) == {"features", "targets"}
        assert h5file["targets"][:, 0].tolist() == [
            label for seed in range(1, 7) for label in (seed, 0, 9, seed)
        ]
        assert H5PYDataset.get_axis_labels(h5file) == {
            "features": ("batch", "channel", "height", "width"),
            "targets": ("batch", "index"),
        }
    for split, seeds in (("train", range(1, 6)), ("test", [6])):
        dataset = H5PYDataset(paths[0], (split,), load_in_memory=True)
        features, targets = dataset.get_data(None, slice(0, dataset.num_examples))
        assert (features.dtype, targets.dtype) == ("u1", "u1")
        expected = numpy.concatenate([pixels(seed, 4) for seed in seeds])
        numpy.testing.assert_array_equal(features, expected.reshape(-1, 3, 32, 32))


def test_cifar100_has_two_kinds_of_labels(tmp_path: Path) -> None:
    pack(tmp_path / HUNDRED, hundred())
    paths = cifar100.convert_cifar100(str(tmp_path), str(tmp_path))
    assert paths == (str(tmp_path / "cifar100.hdf5"),)
    dataset = H5PYDataset(paths[0], ("train",), load_in_memory=True)
    assert dataset.sources == ("coarse_labels", "features", "fine_labels")
    coarse, features, fine = dataset.get_data(None, slice(0, 5))
    assert coarse[:, 0].tolist() == [19, 18, 17, 16, 15]
    assert fine[:, 0].tolist() == [99, 98, 97, 96, 95]
    numpy.testing.assert_array_equal(features.reshape(5, -1), pixels(1, 5))
    assert H5PYDataset(paths[0], ("test",)).num_examples == 3


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_archives_written_again_by_python_3_are_read(protocol: int, tmp_path: Path) -> None:
    for keys in (str, str.encode):
        files = {
            f"cifar-10-batches-py/{name}": pickle.dumps(
                {keys("data"): pixels(seed, 4), keys("labels"): numpy.array([seed, 0, 9, seed])},
                protocol,
            )
            for name, seed in BATCHES.items()
        }
        pack(tmp_path / TEN, files)
        (path,) = cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
        with h5py.File(path, "r") as h5file:
            numpy.testing.assert_array_equal(h5file["features"][-4:].reshape(4, -1), pixels(6, 4))


@pytest.mark.parametrize(
    "convert, name", [(cifar10.convert_cifar10, TEN), (cifar100.convert_cifar100, HUNDRED)]
)
def test_a_missing_archive_is_named(convert: Callable[..., Any], name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingInputFiles) as caught:
        convert(str(tmp_path), str(tmp_path))
    assert caught.value.filenames == [name]


def mark() -> None:
    MARKED.append("run")


class Hostile:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


DAMAGE: dict[str, tuple[bytes, str]] = {
    "runs a program": (b"cos\nsystem\n(S'touch RUN'\ntR.", r"wants to run 'os\.system'"),
    "runs posix": (b"cposix\nsystem\nU\x09touch RUN\x85R.", r"wants to run 'posix\.system'"),
    "evaluates": (pickle.dumps(Hostile(eval, "1")), r"wants to run '(builtins|__builtin__)\.eval'"),
    "runs this module": (pickle.dumps(Hostile(mark), 2), r"test_converters_cifar\.mark"),
    "runs by a stacked name": (b"\x80\x04\x8c\x02os\x8c\x06system\x93U\x01x\x85R.", r"os\.system"),
    "runs a method of numpy": (b"cnumpy\nfromfile\nU\x01x\x85R.", r"numpy\.fromfile"),
    "makes an instance": (b"(ios\nsystem\n.", r"os\.system"),
    "gets an attribute": (b"\x80\x04\x8c\x05numpy\x8c\x0ddtype.__new__\x93.", r"dtype\.__new__"),
    "an extension": (b"\x80\x02\x82\x01.", "extension 1"),
    "an outer object": (b"Px\n.", "object outside of it"),
    "objects": (pickle.dumps({"data": numpy.array([None])}, 2), r"elements of type 'O8'"),
    "a record": (pickle.dumps(numpy.zeros(2, "i4,f4"), 2), r"elements of type 'V8'"),
    "a date": (pickle.dumps(numpy.zeros(2, "M8[s]"), 2), r"elements of type 'M8'"),
    "changes a function": (b"cnumpy\nndarray\n}b.", "change a function"),
    "a function as a value": (b"cnumpy\nndarray\n.", "a function as a value"),
    "makes an array itself": (b"cnumpy\nndarray\nK\x05\x85R.", "unknown way"),
    "an array without content": (b"cnumpy.core.multiarray\n_reconstruct\n)R.", "without content"),
    "fewer bytes than elements": (
        batch(array(pixels(1, 4)).replace(b"M\x04\x00", b"M\xff\xff")), "bytes for an array"
    ),
    "a dict that holds itself": (b"}q\x00U\x01ah\x00s.", "containers in each other"),
    "a list that holds itself": (b"]q\x00h\x00a.", "containers in each other"),
    "cut short": (batch(array(pixels(1, 4)))[:-500], "cut short"),
    "a length out of this world": (b"\x80\x04\x8d" + b"\xff" * 7 + b"\x7f.", "cut short"),
    "nothing": (b"", "cut short"),
    "noise": (b"\xff" * 50, "not a readable pickle"),
    "a page": (b"<html>not found</html>", "not a readable pickle"),
    "a list": (b"].", "should hold a dict, not a list"),
    "an empty dict": (b"}.", "lacks the entries data, labels"),
    "no matrix": (batch(b"K\x01", labels=numbers([1])), "its data should be uint8"),
    "floats": (pickle.dumps({"data": numpy.zeros((1, 3072)), "labels": [1]}, 2), "float64"),
    "another width": (batch(array(pixels(1, 2)[:, :3000]), labels=numbers([1, 2])), r"\(2, 3000\)"),
    "fewer labels": (batch(array(pixels(1, 4)), labels=numbers([1, 2])), "4 images, but 2 labels"),
    "labels out of range": (batch(array(pixels(1, 1)), labels=numbers([10])), "but one is 10"),
    "labels that are none": (batch(array(pixels(1, 1)), labels=text("a")), "whole numbers"),
    "labels that are texts": (batch(array(pixels(1, 1)), labels=b"](" + text("a") + b"e"), "whole"),
}  # fmt: skip


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_a_pickle_that_is_no_batch_is_refused_and_nothing_is_run(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content, message = DAMAGE[damage]
    pack(tmp_path / TEN, {**ten(), "cifar-10-batches-py/data_batch_3": content})
    with pytest.raises(StorageError, match=message) as caught:
        cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
    assert f"data_batch_3 in {tmp_path / TEN}" in str(caught.value)
    assert "fuel-download cifar10" in str(caught.value)
    assert os.listdir(tmp_path) == [TEN]
    assert MARKED == []


def test_the_standard_reader_would_have_run_it() -> None:
    pickle.loads(pickle.dumps(Hostile(mark)))
    assert MARKED == ["run"]
    MARKED.clear()


def test_a_place_in_the_memo_takes_no_memory() -> None:
    # Seven bytes for which the reader in C reserves gigabytes.
    content = b"\x80\x02]r\xff\xff\xff\x7f."
    assert _restricted_pickle.load(io.BytesIO(content), "x", "", max_read_bytes=10) == []


def test_endless_steps_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_restricted_pickle, "MAX_READS", 1000)
    for content in (b"]" * 5000, b"\x80\x04\x95" + struct.pack("<Q", 5000) + b"]" * 5000):
        with pytest.raises(StorageError, match="more than 1000 steps"):
            _restricted_pickle.load(io.BytesIO(content), "x", "", max_read_bytes=10000)


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    files = ten()
    del files["cifar-10-batches-py/data_batch_2"], files["cifar-10-batches-py/test_batch"]
    pack(tmp_path / TEN, files)
    with pytest.raises(
        StorageError,
        match=r"lacks cifar-10-batches-py/data_batch_2, cifar-10-batches-py/test_batch",
    ):
        cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
    pack(tmp_path / TEN, {})
    with pytest.raises(StorageError, match=r"lacks cifar-10-batches-py/data_batch_1"):
        cifar10.convert_cifar10(str(tmp_path), str(tmp_path))


def test_more_files_are_passed_over_but_none_comes_twice(tmp_path: Path) -> None:
    path = pack(tmp_path / TEN, {**ten(), "cifar-10-batches-py/data_batch_6": b"", "x": b""})
    assert cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
    with tarfile.open(path, "w:gz") as archive:
        for _ in range(2):
            for name, content in ten().items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    with pytest.raises(StorageError, match=r"holds cifar-10-batches-py/.* twice"):
        cifar10.convert_cifar10(str(tmp_path), str(tmp_path))


def test_a_damaged_archive_leaves_the_old_output(tmp_path: Path) -> None:
    path = pack(tmp_path / TEN, ten())
    whole = path.read_bytes()
    (output,) = cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
    before = Path(output).read_bytes()
    inside = gzip.decompress(whole)
    for content, message in (
        (whole[: len(whole) // 2], "cut short"),
        (whole[:-4], "cut short"),
        (gzip.compress(inside[: len(inside) // 1024 * 512]), "cut short"),
        (whole[:-8] + b"1234" + whole[-4:], "damaged"),
        (b"<html>Not found</html>", "it is a web page"),
        (b"", "it is empty"),
    ):
        path.write_bytes(content)
        with pytest.raises(StorageError, match=message) as caught:
            cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
        assert TEN in str(caught.value)
        assert Path(output).read_bytes() == before
        assert sorted(os.listdir(tmp_path)) == [TEN, "cifar10.hdf5"]


def test_a_path_out_of_the_folder_and_a_bomb_are_refused(tmp_path: Path) -> None:
    pack(tmp_path / TEN, {**ten(), "../cifar-10-batches-py/data_batch_1": b""})
    with pytest.raises(StorageError, match="leads out of the directory"):
        cifar10.convert_cifar10(str(tmp_path), str(tmp_path))
    pack(tmp_path / TEN, {**ten(), "cifar-10-batches-py/big": b"\0" * ((1 << 28) + 1)})
    with pytest.raises(StorageError, match=r"268435457 bytes, more than the 268435456"):
        cifar10.convert_cifar10(str(tmp_path), str(tmp_path))


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(max_codepoint=255))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.text(max_size=3) | st.integers() | st.binary(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(max_examples=40)
@given(PLAIN, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    content = pickle.dumps(value, protocol)
    found = _restricted_pickle.load(io.BytesIO(content), "x", "", max_read_bytes=len(content))
    assert found == value
    assert type(found) is type(value)


@settings(max_examples=40)
@given(
    hnp.arrays(
        hnp.integer_dtypes() | hnp.unsigned_integer_dtypes() | hnp.floating_dtypes(sizes=(16, 64))
        | hnp.boolean_dtypes() | hnp.byte_string_dtypes() | hnp.unicode_string_dtypes(),
        hnp.array_shapes(min_dims=0, min_side=0),
    ),
    st.integers(0, pickle.HIGHEST_PROTOCOL),
    st.booleans(),
)  # fmt: skip
def test_arrays_come_back(value: numpy.ndarray, protocol: int, fortran: bool) -> None:
    if fortran:
        value = numpy.asfortranarray(value)
    content = pickle.dumps([value], protocol)
    (found,) = _restricted_pickle.load(io.BytesIO(content), "x", "", max_read_bytes=len(content))
    assert found.dtype == value.dtype
    numpy.testing.assert_array_equal(found, value)


def test_scalars_of_numpy_come_back() -> None:
    content = pickle.dumps([numpy.float32(1.5), numpy.int64(-3), numpy.bool_(True)], 2)
    found = _restricted_pickle.load(io.BytesIO(content), "x", "", max_read_bytes=len(content))
    assert found == [1.5, -3, True]
    assert [value.dtype.str for value in found] == ["<f4", "<i8", "|b1"]
