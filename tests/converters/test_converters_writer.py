"""What goes into a writer comes out of `H5PYDataset`, and nothing is ever half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.converters._provenance import read_provenance
from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets import H5PYDataset
from fuel.exceptions import StorageError

SPECS = {
    "fixed": SourceSpec((2, 3), "int16", ("batch", "row", "column")),
    "ragged": SourceSpec((None, 2), "float32", ("batch", "time", "feature")),
    "text": SourceSpec((), "str"),
}


def example(number):
    return {
        "fixed": numpy.full((2, 3), number, "int16"),
        "ragged": numpy.full((number % 4, 2), number / 2, "float32"),
        "text": f"é{number}" * (number % 3),
    }


def batch(numbers):
    examples = [example(number) for number in numbers]
    return {
        "fixed": numpy.array([one["fixed"] for one in examples], "int16").reshape(-1, 2, 3),
        "ragged": [one["ragged"] for one in examples],
        "text": [one["text"] for one in examples],
    }


def read(path, split):
    dataset = H5PYDataset(path, (split,), load_in_memory=False)
    data = dict(zip(dataset.sources, dataset.get_data(None, slice(0, dataset.num_examples))))
    return dataset, data


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["train", "test"]), st.integers(0, 7)), max_size=8),
    st.sampled_from(["contiguous", "chunked"]),
    st.sampled_from([None, "gzip", "lzf"]),
    st.booleans(),
    st.sampled_from([None, 64]),
)
def test_what_is_written_is_read(tmp_path_factory, adds, layout, compression, known, chunk_bytes):
    path = str(tmp_path_factory.mktemp("writer") / "file.hdf5")
    expected: dict[str, list[int]] = {"train": [], "test": []}
    sizes = {name: sum(n for split, n in adds if split == name) for name in expected}
    count = 0
    with HDF5Writer(
        path,
        SPECS,
        sizes=sizes if known else None,
        splits=expected,
        layout=layout,
        compression=compression,
        chunk_bytes=chunk_bytes,
    ) as writer:
        for split, size in adds:
            numbers = range(count, count + size)
            if size == 1:
                writer.add_example(split, **example(count))
            else:
                writer.add(split, **batch(numbers))
            expected[split] += numbers
            count += size
        assert writer.num_examples == {name: len(numbers) for name, numbers in expected.items()}
    with h5py.File(path, "r") as h5file:
        stored = h5file["fixed"].chunks is None
        assert stored == (layout == "contiguous" and compression is None)
    for split, numbers in expected.items():
        if not numbers:
            assert H5PYDataset(path, (split,)).num_examples == 0
            continue
        dataset, data = read(path, split)
        wanted = batch(numbers)
        assert dataset.axis_labels["fixed"] == ("batch", "row", "column")
        assert dataset.axis_labels["ragged"] == ("batch", "time", "feature")
        numpy.testing.assert_array_equal(data["fixed"], wanted["fixed"])
        assert data["fixed"].dtype == numpy.int16
        for one, other in zip(data["ragged"], wanted["ragged"], strict=True):
            assert one.dtype == other.dtype
            numpy.testing.assert_array_equal(one, other)
        assert [text.decode() for text in data["text"]] == wanted["text"]


def test_splits_may_lack_sources(tmp_path):
    path = tmp_path / "file.hdf5"
    sources = {"x": SourceSpec((), "u1"), "y": SourceSpec((), "u1")}
    with HDF5Writer(path, sources, sizes={"train": 3, "test": 2}, absent={"test": ["y"]}) as writer:
        writer.add("train", x=[1, 2, 3], y=[4, 5, 6])
        writer.add("test", x=[7, 8])
        writer.comment("test", "x", "without targets")
        with pytest.raises(ValueError, match=r"must have the sources \('x',\), got \('x', 'y'\)"):
            writer.add("test", x=[1], y=[1])
    assert H5PYDataset(path, ("test",)).sources == ("x",)
    with h5py.File(path, "r") as h5file:
        assert h5file["y"].shape == (3,)
        assert b"without targets" in h5file.attrs["split"]["comment"]


WRONG = [
    ({"fixed": numpy.zeros((2, 2, 2))}, r"has examples of shape \(2, 3\), got a batch of shape"),
    ({"fixed": numpy.float32(1)}, "`add` takes a batch"),
    ({"fixed": numpy.full((1, 2, 3), 1.5)}, r"in which .*1.5.* is another number"),
    ({"fixed": numpy.full((1, 2, 3), 40000)}, "40000.* is another number"),
    ({"fixed": [["a" * 3] * 2]}, "got a batch of shape"),
    ({"ragged": [numpy.zeros((1, 3))]}, r"shape \(None, 2\), got \(1, 3\) for example 0"),
    ({"text": [3]}, "holds texts, got 3 for example 0"),
    ({"text": ["a\0"]}, "zero byte"),
    ({"other": [1]}, "must have some of the sources"),
    ({}, "must have some of the sources"),
]


@pytest.mark.parametrize("wrong, message", WRONG)
def test_what_does_not_fit_is_told_and_not_written(tmp_path, wrong, message):
    path = tmp_path / "file.hdf5"
    with HDF5Writer(path, SPECS) as writer:
        writer.add("train", **batch(range(3)))
        right = {name: values for name, values in batch([7]).items() if name not in wrong}
        with pytest.raises(ValueError, match=message):
            writer.add("train", **({**right, **wrong} if wrong else {}))
        writer.add("train", **batch([3]))
    assert H5PYDataset(path, ("train",)).num_examples == 4


def test_numbers_that_stay_what_they_are_may_have_another_type(tmp_path):
    path = tmp_path / "file.hdf5"
    with HDF5Writer(path, {"x": SourceSpec((), "float32")}) as writer:
        writer.add("train", x=[1, 2.5, numpy.nan])
        writer.add("train", x=numpy.array([3], "int64"))
    data = H5PYDataset(path, ("train",)).get_data(None, slice(0, 4))[0]
    numpy.testing.assert_array_equal(data, numpy.array([1, 2.5, numpy.nan, 3], "float32"))


def test_arrays_may_be_used_again_once_they_were_added(tmp_path):
    path = tmp_path / "file.hdf5"
    sources = {"x": SourceSpec((None,), "i4"), "y": SourceSpec((2,), "i4")}
    buffer = numpy.zeros(2, "i4")
    with HDF5Writer(path, sources) as writer:
        for number in range(4):
            buffer[:] = number
            writer.add_example("train", x=buffer, y=buffer)
    x, y = H5PYDataset(path, ("train",)).get_data(None, slice(0, 4))
    assert [one.tolist() for one in x] == y.tolist() == [[n, n] for n in range(4)]


@pytest.mark.parametrize(
    "value, dtype, fits",
    [
        (2**53 + 1, "f8", False),
        (2**53, "f8", True),
        (2**24 + 1, "f4", False),
        (2**64 - 1, "f8", False),
        (-(2**62), "f8", True),
    ],
)
def test_integers_become_floats_only_if_none_changes(tmp_path, value, dtype, fits):
    with HDF5Writer(tmp_path / "file.hdf5", {"x": SourceSpec((), dtype)}) as writer:
        values = numpy.array([value], "u8" if value > 0 else "i8")
        if fits:
            writer.add("train", x=values)
        else:
            with pytest.raises(ValueError, match="is another number"):
                writer.add("train", x=values)


def test_a_file_with_half_a_batch_is_never_finished(tmp_path):
    sources = {"x": SourceSpec((), "u1"), "y": SourceSpec((), "u1")}
    with (
        pytest.raises(StorageError, match="stored for some of its sources only"),
        HDF5Writer(tmp_path / "file.hdf5", sources, sizes={"train": 1}) as writer,
    ):
        with pytest.raises(ValueError, match="was to have 1 examples"):
            writer.add("train", x=[1, 2], y=[1, 2])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"sources": {}}, "at least one source"),
        ({"sources": {"x": 3}}, "described by a SourceSpec"),
        ({"sources": {"/x": SourceSpec((), "u1")}}, "without '/' at its ends"),
        ({"layout": "compact"}, "`layout` must be one of"),
        ({"compression": {"z": "gzip"}}, "names 'z', which is no source"),
        ({"chunk_bytes": 0}, "`chunk_bytes` must be positive"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        HDF5Writer(tmp_path / "file.hdf5", **{"sources": SPECS, **arguments})


@pytest.mark.parametrize(
    "shape, dtype, labels, message",
    [
        ((2,), "U5", None, "stores no elements"),
        ((2,), "O", None, "stores no elements"),
        ((-1,), "u1", None, "`shape` must hold sizes"),
        ((2,), "str", None, r"texts have the shape \(\)"),
        ((2,), "u1", ("batch",), "must name the 2 axes"),
    ],
)
def test_a_source_is_described_fully(shape, dtype, labels, message):
    with pytest.raises(ValueError, match=message):
        SourceSpec(shape, dtype, labels)


@pytest.mark.parametrize("added", [1, 3])
@pytest.mark.parametrize("spec", [SourceSpec((2,), "u1"), SourceSpec((None,), "u1")])
def test_sizes_are_held_to(tmp_path, added, spec):
    path = tmp_path / "file.hdf5"
    with (
        pytest.raises(ValueError, match="was to have"),
        HDF5Writer(path, {"x": spec}, sizes={"train": 2}) as writer,
    ):
        for _ in range(added):
            writer.add("train", x=numpy.zeros((1, 2), "u1"))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "file.hdf5"
    path.write_bytes(b"old")
    with pytest.raises(type(error)), HDF5Writer(path, SPECS) as writer:
        writer.add("train", **batch([1]))
        raise error
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file.hdf5"]


CHILD = """
    import sys, numpy
    from fuel.converters.writer import HDF5Writer, SourceSpec
    with HDF5Writer(sys.argv[1], {"x": SourceSpec((1000,), "f8")}) as writer:
        while True:
            writer.add("train", x=numpy.ones((50, 1000)))
            if sys.argv[2] == "kill":
                print("written", flush=True)
"""


def child(path, what, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(path), what],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_cleans_up(tmp_path):
    path = tmp_path / "file.hdf5"
    path.write_bytes(b"old")
    process = child(path, "kill")
    for _ in range(3):
        assert process.stdout.readline() == "written\n"
    process.kill()
    process.communicate()
    assert path.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) > 1
    with HDF5Writer(path, SPECS) as writer:
        writer.add("train", **batch([1]))
    assert os.listdir(tmp_path) == ["file.hdf5"]
    assert H5PYDataset(path, ("train",)).num_examples == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit to the size of files")
def test_a_full_disk_is_told_with_what_was_needed(tmp_path):
    import resource

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))

    path = tmp_path / "file.hdf5"
    path.write_bytes(b"old")
    process = child(path, "fill", preexec_fn=limit)
    _, errors = process.communicate(timeout=60)
    assert "StorageError" in errors and "there is no room left" in errors, errors
    assert "bytes of data were to be stored so far" in errors and "bytes are free" in errors
    assert path.read_bytes() == b"old"


def test_a_file_tells_where_it_comes_from(tmp_path, monkeypatch):
    raw = tmp_path / "raw.bin"
    raw.write_bytes(b"abc")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setattr(sys, "argv", ["/somewhere/fuel-convert", "mine"])
    contents = []
    for name in ("a.hdf5", "b.hdf5"):
        with HDF5Writer(tmp_path / name, SPECS, inputs=[raw], attributes={"k": 3}) as writer:
            writer.add("train", **batch(range(5)))
        contents.append((tmp_path / name).read_bytes())
    with h5py.File(tmp_path / "a.hdf5", "r") as h5file:
        found = read_provenance(h5file)
        assert h5file.attrs["k"] == 3
    assert found["command"] == ["fuel-convert", "mine"]
    assert found["created"] == "1970-01-01T00:00:00Z"
    assert found["inputs"] == [
        {
            "name": "raw.bin",
            "size": 3,
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        }
    ]
    assert set(found["versions"]) == {"fuel", "h5py", "hdf5", "numpy", "python"}
    assert contents[0] == contents[1]


def test_an_input_that_is_not_there_is_an_error(tmp_path):
    with (
        pytest.raises((StorageError, OSError), match="missing"),
        HDF5Writer(tmp_path / "a.hdf5", SPECS, inputs=[tmp_path / "missing"]) as writer,
    ):
        writer.add("train", **batch([1]))
    assert os.listdir(tmp_path) == []


def test_a_writer_is_used_once_and_in_a_block(tmp_path):
    writer = HDF5Writer(tmp_path / "a.hdf5", SPECS)
    with pytest.raises(ValueError, match="use it in a `with` block"):
        writer.add("train", **batch([1]))
    with writer:
        pass
    with pytest.raises(ValueError, match="used already"), writer:
        pass


def test_ragged_sources_cannot_be_compressed(tmp_path):
    with (
        pytest.raises(ValueError, match="HDF5 keeps outside of what it compresses"),
        HDF5Writer(tmp_path / "a.hdf5", SPECS, compression={"ragged": "gzip"}),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_zstd_is_read_again(tmp_path):
    pytest.importorskip("hdf5plugin", reason="the filter has no wheel for this platform")
    path = tmp_path / "a.hdf5"
    with HDF5Writer(path, {"x": SourceSpec((8,), "i4")}, compression="zstd") as writer:
        writer.add("train", x=numpy.arange(80).reshape(10, 8))
    assert H5PYDataset(path, ("train",)).get_data(None, [9, 2])[0][:, 0].tolist() == [72, 16]
