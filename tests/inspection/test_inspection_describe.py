"""Any HDF5 file can be described, and what is wrong with one is a sentence."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import h5py
import numpy
import pytest
import tables

from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets.hdf5 import H5PYDataset
from fuel.exceptions import StorageError
from fuel.inspection import describe, statistics
from fuel.inspection._describe import sources_in
from fuel.inspection._shapes import spread
from fuel.inspection._words import clean, size_in_words
from fuel.inspection.storage import filters_in_words, layout_in_words, random_reading, storage_of


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "file.hdf5")


TYPES = {
    "bool": (numpy.array([True]), "bool"),
    "complex": (numpy.array([1j]), "complex128"),
    "big": (numpy.zeros(1, ">f4"), "float32, big-endian"),
    "pair": (numpy.zeros(1, [("a", "i4"), ("s", "S3")]), "{a: int32, s: text of 3 bytes}"),
    "fixed": (numpy.array([b"ab"]), "text of 2 bytes"),
    "text": (["a"], "text"),
    "enum": (
        numpy.zeros(1, h5py.enum_dtype({"cat": 0, "dog": 1}, "i1")),
        "enum of int8 (cat, dog)",
    ),
}


@pytest.mark.parametrize("name", list(TYPES))
def test_types_are_told_in_words(place: str, name: str) -> None:
    data, words = TYPES[name]
    with h5py.File(place, "w") as h5file:
        h5file[name] = data
    found = describe(place)["sources"][name]
    assert found["type"] == words
    assert found["labels"] == ({"cat": 0, "dog": 1} if name == "enum" else None)


def test_what_numpy_has_no_type_for_is_described_as_well(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        space = h5py.h5s.create_simple((3,))
        h5py.h5d.create(h5file.id, b"time", h5py.h5t.UNIX_D32LE, space)
        h5py.h5d.create(h5file.id, b"no\xfftext", h5py.h5t.NATIVE_INT8, space)
        h5file.create_dataset("refs", (2,), dtype=h5py.ref_dtype)
        h5file.create_dataset("parts", (2,), dtype=h5py.regionref_dtype)
        h5file["null"] = h5py.Empty("f4")
        h5file["one"] = 2.5
        h5file["type"] = numpy.dtype("f4")
        h5file["lost"] = h5py.SoftLink("/nowhere")
    sources = describe(place)["sources"]
    assert sorted(sources) == sorted(["time", "no\\xfftext", "refs", "parts", "null", "one"])
    assert (sources["time"]["dtype"], sources["time"]["shape"]) == (None, [3])
    assert sources["refs"]["type"] == "references"
    assert sources["null"]["storage"]["layout"] == "empty"
    found = statistics(place)
    assert found["one"]["values"]["mean"] == 2.5
    assert found["time"] == found["refs"] == found["null"] == {}
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("kind", ["compact", "contiguous", "chunked", "external", "virtual"])
def test_layouts_are_told(place: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(bytes(400))
    with h5py.File(place, "w") as h5file:
        if kind == "compact":
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            properties.set_layout(h5py.h5d.COMPACT)
            space = h5py.h5s.create_simple((10,))
            h5py.h5d.create(h5file.id, b"x", h5py.h5t.NATIVE_INT32, space, properties)
        elif kind == "external":
            raw = [(str(tmp_path / "raw"), 0, 400)]
            h5file.create_dataset("x", (10,), "f4", external=raw)
        elif kind == "virtual":
            layout = h5py.VirtualLayout((4,), "f4")
            layout[:2] = h5py.VirtualSource("a.h5", "x", shape=(2,))
            layout[2:] = h5py.VirtualSource("b.h5", "x", shape=(2,))
            h5file.create_virtual_dataset("x", layout)
        else:
            h5file.create_dataset("x", (10,), "f4", chunks=(5,) if kind == "chunked" else None)
    found = describe(place)
    stored = found["sources"]["x"]["storage"]
    assert stored["layout"] == kind
    elsewhere = kind in ("external", "virtual")
    assert bool(stored["files"]) == elsewhere
    assert found["sources"]["x"]["random_reading"]["suitable"] != elsewhere
    assert any("lie in other files" in text for text in found["advice"]) == elsewhere
    assert [("a.h5" in t or "b.h5" in t) for t in found["problems"]] == [True] * (
        2 if kind == "virtual" else 0
    )
    if kind == "virtual":
        assert layout_in_words(stored) == "virtual, in 2 files"


def test_random_reading_is_judged_by_what_a_row_costs(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x", "w") as h5file:

        def judged(shape, **options):
            name = f"d{len(h5file)}"
            dataset = h5file.create_dataset(name, shape, "u1", **options)
            return random_reading(dataset, storage_of(dataset))

        small = judged((5000, 100), chunks=(1000, 100), compression="gzip")
        assert (small["suitable"], small["row_bytes"], small["read_bytes"]) == (True, 100, 100_000)
        assert small["ratio"] == 1000
        large = judged((50_000, 100), chunks=(20_000, 100), compression="gzip")
        assert not large["suitable"] and "20,000 times as many" in large["reason"]
        assert judged((50_000, 100), chunks=(20_000, 100))["suitable"]
        # A large row in a chunk of its own costs what it is; a little overhang is no fault.
        assert judged((4, 2000, 2000), chunks=(1, 2000, 2000), compression="lzf")["suitable"]
        assert judged((4, 2000, 2000), chunks=(1, 512, 512), compression="lzf")["suitable"]
        assert not judged((4, 2000, 2000), chunks=(2, 2000, 2000), compression="lzf")["suitable"]
        checked = judged((50_000, 100), chunks=(20_000, 100), fletcher32=True)
        assert "bytes are read," in checked["reason"]
        assert judged((0, 5), chunks=(1, 5), compression="lzf", maxshape=(None, 5))["suitable"]


def test_filters_are_told_with_what_they_do_not_reach(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        options = {"compression": 9, "shuffle": True, "fletcher32": True}
        dataset = h5file.create_dataset("x", data=numpy.zeros((100, 10)), **options)
        words = filters_in_words(storage_of(dataset))
        assert words == "byte shuffle, gzip level 9, checksum (fletcher32)"
        h5file.create_dataset(
            "t", data=[b"a"] * 9, dtype=h5py.string_dtype(), chunks=(9,), compression="gzip"
        )
        h5file.create_dataset("later", (9, 2), "f4", chunks=(3, 2))
    said = "\n".join(describe(place)["remarks"])
    assert "source t: its elements have variable length" in said
    assert "source x: gzip level 9 takes long to write" in said
    assert "source later: none of its 9 rows were written yet" in said


def test_shapes_of_ragged_examples_are_told(place: str) -> None:
    spec = SourceSpec((None, None, 3), "f4", ("batch", "height", "width", "channel"))
    with HDF5Writer(place, {"x": spec}) as writer:
        for size in (2, 5, 3):
            writer.add_example("train", x=numpy.zeros((size, 4, 3), "f4"))
    found = describe(place)["sources"]["x"]
    assert found["axis_labels"] == ["batch", "height", "width", "channel"]
    assert found["sizes"] == [[2, 5], [4, 4], [3, 3]]
    assert found["shapes"]["elements"] == 120 and not found["shapes"]["sampled"]
    assert found["storage"]["raw_bytes"] == 480


def test_of_long_lists_of_shapes_a_part_is_read(place: str, monkeypatch) -> None:
    monkeypatch.setattr("fuel.inspection._shapes._ROWS", 640)
    with h5py.File(place, "w") as h5file:
        x = h5file.create_dataset("x", (10_000,), dtype=h5py.vlen_dtype("u1"))
        h5file["s"] = numpy.full((10_000, 2), 3)
        h5file["s"].make_scale("shapes")
        x.dims[0].attach_scale(h5file["s"])
        found = spread(x)
    assert found == {
        "min": [3, 3], "max": [3, 3], "mean": [3.0, 3.0], "elements": 90_000, "sampled": True,
    }  # fmt: skip


def test_splits_that_do_not_fit_are_problems(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        h5file["x"], h5file["y"] = numpy.zeros(5), numpy.zeros(5)
        h5file["chosen"] = [0, 3]
        h5file["gone"] = [1]
        parts = {
            "a": {"x": (0, 9), "y": (0, 5)},
            "b": {"x": (-1, -1, h5file["chosen"].ref, "few"), "z": (0, 1)},
            "c": {"y": (-1, -1, h5file["gone"].ref)},
        }
        h5file.attrs["split"] = H5PYDataset.create_split_array(parts)
        del h5file["gone"]
    found = describe(place)
    assert found["splits"]["b"]["x"] == {"indices": 2, "examples": 2, "comment": "few"}
    assert found["unavailable"] == {"a": ["z"], "b": ["y"], "c": ["x", "z"]}
    assert sorted(found["sources"]) == ["x", "y"]
    said = "\n".join(found["problems"])
    for part in (
        "split a of source x covers rows 0 to 9, but there are 5",
        "split a has unequal numbers of examples: 9 of x, 5 of y",
        "split b of source z refers to data that the file does not have",
        "split c of source y has no list of its rows",
    ):
        assert part in said
    json.dumps(found, allow_nan=False)


def test_an_attribute_split_of_another_kind_is_a_problem(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        h5file["x"] = numpy.zeros(5)
        h5file.attrs["split"] = "train"
    found = describe(place)
    assert found["splits"] == {} and "`split` attribute" in found["problems"][0]
    assert found["sources"]["x"]["shape"] == [5]


def test_files_of_pytables_are_read(place: str) -> None:
    class Row(tables.IsDescription):
        number = tables.Int32Col()
        when = tables.Time64Col()

    with tables.open_file(place, "w") as file:
        group = file.create_group("/", "deep")
        file.create_array(group, "numbers", numpy.arange(6))
        file.create_carray("/", "tiles", obj=numpy.zeros((5, 4)))
        file.create_vlarray("/", "ragged", tables.Int32Atom()).append([1, 2, 3])
        file.create_table("/", "table", Row)
    found = describe(place)
    assert found["format"] == "PyTables"
    assert set(found["sources"]) == {"deep/numbers", "tiles", "ragged", "table"}
    assert statistics(place)["ragged"]["lengths"]["max"] == 3


def test_a_file_without_datasets_is_a_file(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        h5file.create_group("a/b")
    found = describe(place)
    assert found["sources"] == {} and found["advice"] == []
    assert statistics(place) == {}


def test_a_user_block_is_told(place: str) -> None:
    with h5py.File(place, "w", userblock_size=512) as h5file:
        h5file.create_dataset("x", data=numpy.zeros((5, 2)), chunks=(1, 2))
    with open(place, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    found = describe(place)
    assert (found["user_block_bytes"], found["format"]) == (512, "MATLAB 7.3")
    assert "user block of 512 B" in found["remarks"][0]


def test_describing_reads_no_data(place: str) -> None:
    """A source of ten terabytes that nobody wrote is described at once."""
    with h5py.File(place, "w") as h5file:
        h5file.create_dataset("x", (10**7, 1000, 1000), "u1", chunks=(1, 100, 100))
    found = describe(place)["sources"]["x"]["storage"]
    assert (found["raw_bytes"], found["stored_bytes"]) == (10**13, 0)


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="there is no file"):
        describe(tmp_path / "none.hdf5")
    with pytest.raises(StorageError, match="is a directory"):
        describe(tmp_path)
    with pytest.raises(StorageError, match="there is no file"):
        describe("a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="is a device or a pipe"):
        describe(tmp_path / "pipe")


def test_a_file_that_may_not_be_read_is_told(place: str, monkeypatch) -> None:
    h5py.File(place, "w").close()

    def refuse(*arguments):
        raise PermissionError(errno.EACCES, "Permission denied", place)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(StorageError, match="may not be read: Permission denied"):
        describe(place)


@pytest.mark.parametrize("mark", [b"TREE", b"HEAP", b"SNOD", b"GCOL"])
def test_damage_inside_a_file_ends_in_a_description_or_a_sentence(place: str, mark: bytes) -> None:
    with HDF5Writer(place, {"x": SourceSpec((2,), "f4"), "t": SourceSpec((), "str")}) as writer:
        for number in range(5):
            writer.add_example("train", x=[number, 1], t=str(number))
    whole = Path(place).read_bytes()
    assert mark in whole
    told = []
    for place_of_mark in [k for k in range(len(whole)) if whole.startswith(mark, k)]:
        content = bytearray(whole)
        content[place_of_mark : place_of_mark + 4] = b"XXXX"
        Path(place).write_bytes(content)
        try:
            problems = describe(place)["problems"]
            json.dumps(problems, allow_nan=False)
            told += problems + [e["problem"] for e in statistics(place).values() if "problem" in e]
        except StorageError as error:
            assert place in str(error)
            told.append(str(error))
    assert told and not any("\n" in text for text in told)


def test_words() -> None:
    assert clean("a\x1b[2J\n\u202eb\udcff") == "a\\x1b[2J\\n\\u202eb\\xff"
    assert size_in_words(1023) == "1023 B" and size_in_words(5 * 2**50) == "5,120.0 TiB"


def test_a_source_behind_a_link_is_found_if_a_split_names_it(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        h5file["deep/x"] = numpy.zeros(3)
        h5file["x"] = h5py.SoftLink("/deep/x")
        split = {"all": {"x": (0, 3)}}
        h5file.attrs["split"] = H5PYDataset.create_split_array(split)
        assert list(sources_in(h5file)) == ["deep/x", "x"]
    assert describe(place)["problems"] == []
