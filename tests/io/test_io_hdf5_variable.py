"""Elements of variable length are those that h5py gives, however they are stored."""

from __future__ import annotations

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.exceptions import StorageError
from fuel.io.hdf5._selection import SelectedRows
from fuel.io.hdf5._variable import VariableRows
from fuel.io.hdf5.store import Store

BASES = ["u1", "<i2", ">f4", "i8"]
TEXT = h5py.string_dtype("utf-8")


def same(one, other):
    assert len(one) == len(other)
    for mine, theirs in zip(one, other, strict=True):
        assert type(mine) is type(theirs)
        if isinstance(mine, numpy.ndarray):
            assert mine.dtype == theirs.dtype and mine.flags.writeable
            numpy.testing.assert_array_equal(mine, theirs)
        else:
            assert mine == theirs


def write(path, base, elements, never=0, **options):
    count = len(elements) + never
    options = dict(options)
    block = options.pop("userblock_size", 0)
    libver = options.pop("libver", "earliest")
    if "chunks" in options:
        options["maxshape"] = (None,)
    with h5py.File(path, "w", userblock_size=block, libver=libver) as h5file:
        dtype = TEXT if base is None else h5py.vlen_dtype(numpy.dtype(base))
        dataset = h5file.create_dataset("x", shape=(count,), dtype=dtype, **options)
        for place, element in enumerate(elements):
            dataset[place] = element


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_elements_are_those_of_h5py(tmp_path_factory, data):
    draw = data.draw
    base = draw(st.sampled_from([*BASES, None]))
    lengths = draw(st.lists(st.sampled_from([0, 1, 7, 300, 5000]), min_size=1, max_size=12))
    if base is None:
        elements = ["é" * length for length in lengths]
    else:
        elements = [numpy.arange(length).astype(base) for length in lengths]
    options = draw(
        st.sampled_from(
            [
                {},
                {"chunks": (4,)},
                {"chunks": (3,), "compression": "gzip"},
                {"userblock_size": 512},
                {"userblock_size": 512, "chunks": (4,)},
                {"libver": "latest"},
            ]
        )
    )
    path = str(tmp_path_factory.mktemp("variable") / "file.hdf5")
    write(path, base, elements, draw(st.integers(0, 3)), **options)
    with h5py.File(path, "r") as h5file:
        expected = h5file["x"][...]
        rows = Store(h5file, path).rows("x")
        count = len(expected)
        request = numpy.array(draw(st.lists(st.integers(0, count - 1), min_size=1)))
        same(rows.take(request), expected[request])
        same(rows.take(slice(0, count, 1)), expected)
        same([rows.take(int(request[0]))], expected[request[:1]])


@pytest.mark.parametrize(
    "options, kind",
    [
        ({}, VariableRows),
        ({"chunks": (4,)}, VariableRows),
        ({"chunks": (4,), "userblock_size": 512}, SelectedRows),
    ],
)
def test_each_layout_has_its_way(tmp_path, options, kind):
    path = str(tmp_path / "file.hdf5")
    write(path, "u1", [numpy.arange(5, dtype="u1")], **options)
    with h5py.File(path, "r") as h5file:
        assert type(Store(h5file, path).rows("x")) is kind


def test_tables_of_texts_are_left_to_h5py(tmp_path):
    path = str(tmp_path / "file.hdf5")
    with h5py.File(path, "w") as h5file:
        h5file.create_dataset("x", data=[["a", "bb"], ["c", ""]], dtype=TEXT)
    with h5py.File(path, "r") as h5file:
        rows = Store(h5file, path).rows("x")
        assert type(rows) is SelectedRows
        assert rows.take(numpy.array([1])).tolist() == [[b"c", b""]]


def test_a_damaged_heap_is_told_by_h5py(tmp_path):
    path = tmp_path / "file.hdf5"
    write(str(path), "u1", [numpy.arange(90, dtype="u1"), numpy.arange(9, dtype="u1")])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"GCOL", b"COLD"))
    with h5py.File(path, "r") as h5file, pytest.raises(StorageError, match="does not deliver"):
        Store(h5file, str(path)).rows("x").take(numpy.array([0, 1]))
