"""Any request to any dataset: the right data, or an error that says what is wrong with it."""

from __future__ import annotations

import datetime
import decimal
import fractions
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from fuel.converters.base import fill_hdf5_file
from fuel.datasets import H5PYDataset, IndexableDataset
from fuel.datasets.hdf5 import PytablesDataset
from fuel.utils import Subset

N = 12
X = numpy.arange(N * 3).reshape(N, 3)
Y = numpy.arange(N)


class Index:
    """Something that Python takes for an integer."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def read_only(values: Any) -> Any:
    array = numpy.array(values)
    array.setflags(write=False)
    return array


MASK = numpy.isin(Y, [2, 5])
#: Requests and the examples that they name; a bare number is one example, not a batch.
GOOD: list[tuple[Any, Any]] = [
    (0, 0),
    (N - 1, N - 1),
    (numpy.int8(3), 3),
    (numpy.uint64(5), 5),
    (Index(4), 4),
    (numpy.array(3), 3),
    (read_only(3), 3),
    ([0], [0]),
    ([2, 1, 2], [2, 1, 2]),
    ([7] * 50, [7] * 50),
    ((1, 2), [1, 2]),
    (range(3), [0, 1, 2]),
    (range(5, 0, -1), [5, 4, 3, 2, 1]),
    (range(0, N, 3), [0, 3, 6, 9]),
    ([numpy.int64(1), 2], [1, 2]),
    ([numpy.array(1), numpy.array(2)], [1, 2]),
    (numpy.array([1, 2], "uint8"), [1, 2]),
    (numpy.array([1, 2], ">i4"), [1, 2]),
    (numpy.array([1], "uint64"), [1]),
    (numpy.array([4, 2], object), [4, 2]),
    (numpy.array([1, 2])[::-1], [2, 1]),
    (read_only([3, 1]), [3, 1]),
    (numpy.ma.array([3, 1]), [3, 1]),
    (MASK, [2, 5]),
    (MASK.tolist(), [2, 5]),
    (slice(None), list(range(N))),
    (slice(2, None), list(range(2, N))),
    (slice(None, 4), [0, 1, 2, 3]),
    (slice(0, N), list(range(N))),
    (slice(1, N, 5), [1, 6, 11]),
    (slice(numpy.int64(1), Index(3)), [1, 2]),
    (slice(0, numpy.array(3)), [0, 1, 2]),
    (slice(0, 3, 2**70), [0]),
]
BAD: list[Any] = [
    *(N, -1, 2**31, 2**63, 2**64, 10**30, -(2**63), -(10**30)),
    *(numpy.uint64(2**64 - 1), numpy.int64(-1), numpy.array(-3)),
    *(True, False, numpy.True_, numpy.array(True)),
    *(1.0, 1.5, numpy.float64(2), float("nan"), float("inf"), 1j, numpy.array(3.0)),
    *(None, "a", "3", "", b"x", object(), Ellipsis, numpy.array("x"), numpy.array(3, object)),
    *(decimal.Decimal(1), fractions.Fraction(3, 1), datetime.date(2000, 1, 1)),
    *({1, 2}, frozenset([1]), {}, {1: 2}, iter([1])),
    *([], (), range(0), numpy.array([]), numpy.array([], int), [[]]),
    *([N], [-1], [0, -1], [2**70], [1, 2**70], [2**63], [numpy.uint8(200)], range(10, N + 5)),
    *(range(-2, 2), numpy.array([2**64 - 1], "uint64"), numpy.array([2**70, 1], object)),
    *([1.0, 2.0], [1.5], ["a"], ["1"], [None], [numpy.float32(1)], numpy.array([1.0, 2.0])),
    *(numpy.array(["a"]), numpy.array([1.5, 2], object)),
    *([[0, 1]], [[0], [1]], [[0, 1], [2]], [1, [2]], [numpy.array([1])], numpy.array([[1, 2]])),
    *([True, False], [True, 2], [numpy.True_, 1], MASK[:-1], MASK & False),
    *(numpy.array(["2000-01-01"], "M8[D]"), numpy.array([1], "m8[s]")),
    *(numpy.array([1, 2], "i1").view([("f", "i1")]), numpy.ma.array([1, 2], mask=[0, 1])),
    *(slice(0, N + 1), slice(N, N + 1), slice(N, N), slice(3, 3), slice(4, 2), slice(-3, None)),
    *(slice(None, -1), slice(0, 5, -1), slice(5, 0, -1), slice(0, 5, 0), slice(0.0, 3.0)),
    *(slice("a"), slice([1], 2), slice(0, 3, 1.0), slice(0, 2**70), slice(2**70, None)),
]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same twelve examples in every kind of dataset; six kinds of HDF5."""
    import tables

    folder: Path = tmp_path_factory.mktemp("requests")
    plain, other, pytables = (str(folder / name) for name in ("a.hdf5", "b.hdf5", "t.h5"))
    with h5py.File(plain, "w") as file:
        fill_hdf5_file(file, (("train", "x", X), ("train", "y", Y)))
    with h5py.File(other, "w") as file:
        file["x"], file["y"] = numpy.vstack([X + 99, X]), numpy.hstack([Y + 99, Y])
        file["rows"] = numpy.arange(N, 2 * N)
        rows = (-1, -1, file["rows"].ref)
        splits = {"train": {"x": rows, "y": rows}}
        file.attrs["split"] = H5PYDataset.create_split_array(splits)
    with tables.open_file(pytables, "w") as file:
        group = file.create_group("/", "Data")
        file.create_array(group, "x", numpy.vstack([X[:2] - 99, X]))
        file.create_array(group, "y", numpy.hstack([Y[:2] - 99, Y]))
    made: dict[str, Any] = {
        "arrays": IndexableDataset({"x": X, "y": Y}),
        "lists": IndexableDataset({"x": list(X), "y": Y.tolist()}),
        "part": IndexableDataset(
            {"x": numpy.vstack([X[:2], X]), "y": numpy.hstack([Y[:2], Y])}, start=2
        ),
        "pytables": PytablesDataset(pytables, ("x", "y"), start=2),
    }
    for load in (False, True):
        where = "memory" if load else "disk"
        made[f"rows, {where}"] = H5PYDataset(plain, ("train",), load_in_memory=load)
        made[f"indices, {where}"] = H5PYDataset(other, ("train",), load_in_memory=load)
        made[f"subset, {where}"] = H5PYDataset(
            other, ("train",), subset=list(range(N)), load_in_memory=load
        )
    yield made
    made["pytables"].close_file()
    for dataset in made.values():
        dataset.close(None)


def name(value):
    """A short name of a case, without addresses: it is the same in every process."""
    return repr(value).partition(" at 0x")[0][:40]


@pytest.mark.parametrize(("request_", "named"), GOOD, ids=name)
def test_good_requests_get_their_examples(datasets: Any, request_: Any, named: Any) -> None:
    for name, dataset in datasets.items():
        x, y = dataset.get_data(None, request_)
        assert numpy.array_equal(x, X[named]), name
        assert numpy.array_equal(y, Y[named]), name
        if name != "lists":
            assert isinstance(x, numpy.ndarray)
            assert isinstance(y, numpy.integer if isinstance(named, int) else numpy.ndarray)


@pytest.mark.parametrize("request_", BAD, ids=name)
def test_bad_requests_are_refused_with_a_reason(datasets: Any, request_: Any) -> None:
    for name, dataset in datasets.items():
        with pytest.raises((ValueError, TypeError)) as caught:
            dataset.get_data(None, request_)
        assert len(str(caught.value)) > 40, name
        assert "examples" in str(caught.value) or "request" in str(caught.value), name


@pytest.mark.parametrize("part", [slice(0, N), [0, 2, 4, 7], slice(3, 9), []], ids=repr)
@pytest.mark.parametrize("request_", [*BAD, *(good for good, _ in GOOD)], ids=name)
def test_subsets_give_what_numpy_gives_or_refuse(part: Any, request_: Any) -> None:
    subset = Subset(part, N)
    within = Y[subset.get_list_representation()]
    for data, sort in ((Y * 10, False), (Y * 10, True), ((Y * 10).tolist(), False)):
        try:
            found = subset.index_within_subset(data, request_, sort_indices=sort)
        except (ValueError, TypeError) as error:
            assert len(str(error)) > 25
            continue
        assert part != []
        key = list(request_) if isinstance(request_, (tuple, range)) else request_
        assert numpy.array_equal(found, 10 * within[key])


def test_every_type_of_hdf5_reads_alike_from_disk_and_memory(tmp_path: Path) -> None:
    path = str(tmp_path / "types.hdf5")
    images = [numpy.full((i % 3, i + 1), i, "uint8") for i in range(N)]
    records = numpy.zeros(N, [("a", "i4"), ("b", "f8", (2,))])
    records["a"] = Y
    with h5py.File(path, "w") as file:
        ragged = file.create_dataset("ragged", (N,), dtype=h5py.vlen_dtype("uint8"))
        flat = file.create_dataset("flat", (N,), dtype=h5py.vlen_dtype("int32"))
        for i, image in enumerate(images):
            ragged[i], flat[i] = image.ravel(), numpy.arange(i)
        for name, scale in (
            ("shapes", numpy.array([image.shape for image in images])),
            ("shape_labels", numpy.array([b"height", b"width"])),
        ):
            file[f"ragged_{name}"] = scale
            file[f"ragged_{name}"].make_scale(name)
            ragged.dims[0].attach_scale(file[f"ragged_{name}"])
        texts = [f"x{i}" for i in range(N)]
        file.create_dataset("texts", data=texts, dtype=h5py.string_dtype())
        file["records"], file["bytes"] = records, numpy.array([b"ab", b"c"] * (N // 2))
        file["empty"], file["complex"] = numpy.zeros((N, 0)), Y * 1j
        file["half"], file["bools"] = Y.astype("float16"), Y % 2 == 0
        names = ("ragged", "flat", "texts", "records", "bytes", "empty", "complex", "half", "bools")
        file["some"] = numpy.array([1, 2, 4, 8])
        some = (0, 0, file["some"].ref)
        file.attrs["split"] = H5PYDataset.create_split_array(
            {"all": dict.fromkeys(names, (0, N)), "some": dict.fromkeys(names, some)}
        )
    for split in ("all", "some"):
        disk, memory = (H5PYDataset(path, (split,), load_in_memory=load) for load in (False, True))
        for request_ in (0, 3, [3, 0], [1, 1, 0], slice(None), slice(0, 3, 2), numpy.array([2, 0])):
            pairs = zip(disk.get_data(None, request_), memory.get_data(None, request_), strict=True)
            for name, (one, other) in zip(disk.sources, pairs, strict=True):
                _assert_alike(one, other, name)
        # What was handed out is the caller's: changing it changes nothing else.
        for source, array in zip(memory.sources, memory.get_data(None, [0, 1]), strict=True):
            for item in array if source in ("ragged", "flat") else [array]:
                item[...] = numpy.zeros((), item.dtype)
        pairs = zip(disk.get_data(None, [0, 1]), memory.get_data(None, [0, 1]), strict=True)
        for name, (one, other) in zip(disk.sources, pairs, strict=True):
            _assert_alike(one, other, name)
        disk.close(None)


def _assert_alike(one: Any, other: Any, name: str) -> None:
    assert type(one) is type(other), name
    if isinstance(one, numpy.ndarray):
        assert one.dtype == other.dtype, name
        assert one.shape == other.shape, name
        assert one.flags.writeable, name
        assert other.flags.writeable, name
        if one.dtype == object:
            for first, second in zip(one, other, strict=True):
                _assert_alike(first, second, name)
            return
    assert numpy.array_equal(one, other), name
