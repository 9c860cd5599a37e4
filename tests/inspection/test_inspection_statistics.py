"""Statistics equal those of the whole, whatever the parts, and count what belongs to a split."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.converters.writer import HDF5Writer, SourceSpec
from fuel.datasets.hdf5 import H5PYDataset
from fuel.inspection import _blocks, statistics
from fuel.inspection._moments import Classes, Moments


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "file.hdf5")


def moments_of(*parts):
    moments = Moments()
    for part in parts:
        moments.add(numpy.asarray(part))
    return moments.summary()


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 2.0**-1060])
def test_numbers_of_any_size_have_a_spread(scale: float) -> None:
    values = numpy.array([1.0, 2.0, 4.0, 9.0]) * scale
    found = moments_of(values[:1], values[1:3], values[3:])
    assert found["mean"] == pytest.approx(4.0 * scale, rel=1e-6)
    assert found["std"] == pytest.approx(numpy.std([1.0, 2.0, 4.0, 9.0]) * scale, rel=1e-6)


def test_small_numbers_may_come_before_large_ones() -> None:
    found = moments_of([1e-300, 2e-300], [0.0], [1e300, -1e300])
    assert found["std"] == pytest.approx(numpy.sqrt(2 / 5) * 1e300)
    assert found["min"] == -1e300
    assert moments_of([1.7e308, -1.7e308])["std"] == pytest.approx(1.7e308)


def test_whole_numbers_stay_whole() -> None:
    found = moments_of(numpy.array([2**64 - 1, 0], "u8"), numpy.array([2**63], "u8"))
    assert (found["min"], found["max"]) == (0, 2**64 - 1)
    assert type(found["max"]) is int
    assert moments_of([True, False, True])["mean"] == pytest.approx(2 / 3)


def test_magnitudes_stand_for_complex_numbers() -> None:
    found = moments_of([3 + 4j, complex("nan"), complex("inf")])
    assert (found["max"], found["nan"], found["inf"], found["count"]) == (5.0, 1, 1, 1)


whole_numbers = st.lists(st.integers(-5, 5), max_size=60)


@settings(max_examples=100, deadline=None)
@given(whole_numbers, st.lists(st.integers(0, 59), max_size=20), st.integers(1, 17))
def test_classes_are_counted_as_if_all_were_in_memory(values, chosen, step) -> None:
    array = numpy.array(values, dtype="i2")
    chosen = sorted({row for row in chosen if row < len(array)})
    bits = numpy.zeros(len(array), dtype=bool)
    bits[chosen] = True
    rows = {"first": slice(0, 20), "chosen": numpy.packbits(bits, bitorder="little")}
    classes = Classes(rows)
    for start in range(0, len(array), step):
        classes.add(start, array[start : start + step])
    found = classes.summary()
    for split, part in (("first", array[:20]), ("chosen", array[chosen])):
        labels, counts = numpy.unique(part, return_counts=True)
        assert found[split] == {str(k): int(n) for k, n in zip(labels, counts)}


@pytest.mark.parametrize("block_bytes", [64, 1000, 8 * 2**20])
@pytest.mark.parametrize("options", [{}, {"chunks": (3, 2, 5)}, {"chunks": (7, 9, 10)}])
@pytest.mark.parametrize("slab_bytes", [300, 2**26])
def test_every_element_comes_once(place: str, monkeypatch, block_bytes, options, slab_bytes):
    monkeypatch.setattr(_blocks, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(_blocks, "_LARGE_SLAB", slab_bytes)
    values = numpy.random.default_rng(2).permutation(20 * 9 * 10).reshape(20, 9, 10)
    with h5py.File(place, "w") as h5file:
        h5file.create_dataset("x", data=values.astype("i4"), **options)
        h5file["one"] = 7
    found = statistics(place)["x"]["values"]
    assert (found["count"], found["min"], found["max"]) == (1800, 0, 1799)
    assert found["mean"] == pytest.approx(899.5)
    assert found["std"] == pytest.approx(values.std())


def test_texts_fields_and_ragged_examples(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        h5file["fixed"] = numpy.array([b"ab", b"c", b""])
        h5file["text"] = ["é", "abc"]
        kind = [("a", "i4"), ("b", [("c", "f8", (2,))]), ("s", "S2")]
        table = numpy.zeros(3, kind)
        table["a"] = [1, 2, 3]
        table["b"]["c"][0] = numpy.nan
        h5file["table"] = table
        ragged = h5file.create_dataset("ragged", (300,), dtype=h5py.vlen_dtype("i2"))
        for row in range(300):
            ragged[row] = numpy.full(row % 7, row)
    found = statistics(place)
    assert found["fixed"]["lengths"]["mean"] == 1.0
    assert found["text"]["lengths"]["max"] == 3 and found["text"]["lengths"]["min"] == 2
    assert found["table"]["fields"]["a"]["values"]["mean"] == 2.0
    assert found["table"]["fields"]["b.c"]["values"]["nan"] == 2
    assert found["ragged"]["lengths"]["count"] == 300
    assert found["ragged"]["values"]["max"] == 299
    json.dumps(found, allow_nan=False)


def test_classes_are_told_by_split_and_name(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        kind = h5py.enum_dtype({"cat": 0, "dog": 1}, "i1")
        h5file.create_dataset("y", data=[0, 1, 1, 0, 1], dtype=kind)
        h5file["many"] = numpy.arange(1500)
        h5file["chosen"] = numpy.array([4, 1, 1, 2])
        split = {"some": {"y": (-1, -1, h5file["chosen"].ref)}, "rest": {"y": (3, 9)}}
        h5file.attrs["split"] = H5PYDataset.create_split_array(split)
    found = statistics(place)
    assert found["y"]["classes"] == {"some": {"1": 3}, "rest": {"0": 1, "1": 1}}
    assert found["y"]["class_names"] == {"0": "cat", "1": "dog"}
    assert found["many"]["classes"] is None


def test_names_of_classes_that_are_equal_keep_them_apart(place: str) -> None:
    with HDF5Writer(place, {"y": SourceSpec((), "u1")}) as writer:
        writer.add("train", y=[0, 1, 1])
        writer.describe("y", {"class_names": ["same", "same"]})
    assert statistics(place)["y"]["classes"] == {"train": {"0": 1, "1": 2}}


def test_memory_does_not_grow_with_the_file(place: str, monkeypatch) -> None:
    monkeypatch.setattr(_blocks, "BLOCK_BYTES", 2**20)
    monkeypatch.setattr("fuel.inspection._statistics._CACHE_BYTES", 2**21)
    with h5py.File(place, "w") as h5file:
        h5file.create_dataset("x", (32, 2**20), "u1", chunks=(1, 2**20), compression="lzf")
        h5file["y"] = numpy.zeros(10**5, "u1")
        numbers = h5file.create_dataset("numbers", data=numpy.arange(10**5))
        split = {"all": {"y": (-1, -1, numbers.ref)}}
        h5file.attrs["split"] = H5PYDataset.create_split_array(split)
    statistics(place)  # what is loaded once is no part of it
    tracemalloc.start()
    try:
        assert statistics(place)["x"]["values"]["count"] == 2**25
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * 2**20


def test_a_source_that_cannot_be_read_does_not_hide_the_others(place: str) -> None:
    with h5py.File(place, "w") as h5file:
        h5file.create_dataset("bad", data=numpy.arange(5000.0), chunks=(5000,), compression="gzip")
        h5file["good"] = [1, 2]
        where = h5file["bad"].id.get_chunk_info(0)
    with open(place, "r+b") as file:
        file.seek(where.byte_offset)
        file.write(b"\xff" * where.size)
    found = statistics(place)
    assert "problem" in found["bad"] and "values" not in found["bad"]
    assert found["good"]["values"]["max"] == 2
