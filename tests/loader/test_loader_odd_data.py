"""Data that is unusual: the same batches on every way to them, or a reason for none."""

from __future__ import annotations

import array
import collections
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

import fuel
from fuel import DataLoader
from fuel.observations import batch, numobs


def same(one: Any, other: Any) -> bool:
    """Whether two items have the same types, structure and values, masks and all."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, numpy.ma.MaskedArray):
        return one.dtype == other.dtype and one.tolist() == other.tolist()
    if isinstance(one, numpy.ndarray):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and same(one.tolist(), other.tolist())
    return repr(one) == repr(other)


def of_arrays(*arrays: Any) -> Any:
    """An array whose elements are arrays."""
    return numpy.fromiter(arrays, dtype=object, count=len(arrays))


RECORDS = numpy.array([(1, 2.0), (3, 4.0), (5, 6.0)], dtype=[("a", "i4"), ("b", "f8")])
ODD: dict[str, Any] = {
    "one observation": numpy.ones((1, 2)),
    "an axis without entries": numpy.zeros((3, 0, 2)),
    "masked": numpy.ma.array([[1, 2], [3, 4], [5, 6]], mask=[[0, 1], [0, 0], [1, 0]]),
    "masked vector": numpy.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "records": RECORDS,
    "records with attributes": RECORDS.view(numpy.recarray),
    "objects": numpy.array([1, "a", None], dtype=object),
    "arrays in an array": of_arrays(numpy.arange(2), numpy.arange(2), numpy.arange(2)),
    "unequal arrays in an array": of_arrays(*map(numpy.arange, range(3))),
    "a table of objects": numpy.array([[1, "a"], [2, "b"], [3, "c"]], dtype=object),
    "times": numpy.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]"),
    "other byte order": numpy.arange(3, dtype=">i4"),
    "backwards": numpy.arange(5)[::-1],
    "fortran order": numpy.asfortranarray(numpy.arange(6).reshape(3, 2)),
    "spread out": numpy.broadcast_to(numpy.arange(2), (3, 2)),
    "bytes in a list": [b"a", b"", b"ccc"],
    "an array of the standard library": array.array("i", [1, 2, 3]),
    "a queue": collections.deque("abc"),
    "a memory view": memoryview(b"abc"),
    "nested": {"x": (numpy.arange(3), [4, 5, 6]), "y": {"z": numpy.ones((3, 1)), "w": list("abc")}},
    "dicts": [{"a": 1}, {"a": 2}, {"a": 3}],
    "keys that are no texts": {0: [1, 2, 3], "0": [3, 4, 5], ("a", 1): [6, 7, 8]},
    "an ordered dict": collections.OrderedDict(a=[1, 2, 3]),
}
WAYS: list[dict[str, Any]] = [
    {"parallel": 2},
    {"num_workers": 1},
    {"on_error": "skip"},
    {"on_error": "replace", "num_workers": 1},
]


@pytest.mark.parametrize("shape", [{}, {"collate": False}, {"batch_size": -1}], ids=str)
@pytest.mark.parametrize("kind", ODD)
def test_odd_data_comes_out_alike_whoever_loads_it(kind: str, shape: dict[str, Any]) -> None:
    for shuffle in (False, True):
        arguments = {"batch_size": 2, "shuffle": shuffle, "seed": 1, **shape}
        expected = list(DataLoader(ODD[kind], **arguments))
        for way in WAYS:
            with DataLoader(ODD[kind], **arguments, **way) as loader:
                assert same(list(loader), expected), way


def test_data_in_hdf5_comes_out_alike_whatever_is_done_about_failures(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "data.hdf5", "w") as file:
        file["numbers"] = numpy.arange(6).reshape(3, 2)
        file["texts"] = ["a", "b", "c"]
        ragged = file.create_dataset("ragged", (3,), dtype=h5py.vlen_dtype("i4"))
        for number in range(3):
            ragged[number] = numpy.arange(2)
        for name in ("numbers", "texts", "ragged"):
            expected = list(DataLoader(file[name], 2))
            assert same(list(DataLoader(file[name], 2, on_error="skip")), expected)
            assert same(list(DataLoader({"x": file[name]}, 3))[0]["x"], file[name][:])


class Frame:
    """What asks by label and by column, as those of pandas do."""

    columns = ("a",)
    iloc = None

    def __len__(self) -> int:
        return 3

    def __getitem__(self, key: Any) -> Any:
        return {"a": [1, 2, 3]}[key]


class OnlyAtOnce:
    """What cannot be asked for one observation."""

    def __len__(self) -> int:
        return 3

    def __getitems__(self, indices: list[int]) -> list[int]:
        return indices


class TooFew(OnlyAtOnce):
    """What forgets one."""

    def __getitem__(self, index: int) -> int:
        return index

    def __getitems__(self, indices: list[int]) -> list[int]:
        return indices[1:]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (numpy.array(3), "an array with a first axis"),
        ({1, 2}, r"`sorted\(data\)`"),
        ({"a": (x for x in "abc")}, "make a list of it"),
        (Frame(), "`data.to_numpy"),
        ({"x": Frame()}, "by label"),
        (OnlyAtOnce(), "asked for with `__getitem__`"),
        ([1, 2].__len__, "an array with a first axis"),
    ],
    ids=lambda x: str(x)[:20],
)
def test_what_is_no_container_is_refused_with_what_to_give_instead(data: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        DataLoader(data, 2)


@pytest.mark.parametrize("collate", [False, True])
def test_a_container_that_answers_with_too_few_observations_is_an_error(collate: bool) -> None:
    with pytest.raises(ValueError, match="TooFew.__getitems__ was asked for 2 observations"):
        list(DataLoader(TooFew(), 2, collate=collate))


def test_entries_that_are_masked_out_are_not_stacked_as_values() -> None:
    masked = ODD["masked"]
    with pytest.raises(ValueError, match=r"masked entries.* in observation 0; give the values"):
        list(DataLoader(masked, 2, collate=True))
    with pytest.raises(ValueError, match=r"masked entries.* in observation 1"):
        batch([numpy.float64(1), numpy.ma.masked])
    assert batch(list(numpy.ma.array([[1, 2], [3, 4]]))).tolist() == [[1, 2], [3, 4]]


def test_no_data_starts_no_worker(fresh_python: Callable[..., str]) -> None:
    code = """
import os, numpy
from fuel import DataLoader
for data in ([], numpy.zeros((0, 3)), {"x": []}):
    with DataLoader(data, 2, num_workers=2, num_epochs=3) as loader:
        assert list(loader) == [] and len(loader) == 0
found = [int(one) for one in os.listdir("/proc") if one.isdigit()] if os.path.isdir("/proc") else []
def parent(pid):
    try:
        return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    except OSError:
        return 0
assert not [pid for pid in found if parent(pid) == os.getpid()]
"""
    fresh_python(code)
    assert numobs([]) == 0 and fuel.DataLoader([])
