"""Reads ``digitStruct.mat``: which boxes are around the digits of each picture of SVHN.

The file is of MATLAB 7.3, which is HDF5. An array of structures is a group with one dataset of
object references for each field; what these lead to is a dataset of character codes for a text, a
group for a structure, and a number as an array of one by one. Where a picture has one digit, the
fields of its structure are such numbers; where it has several, they are references to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.exceptions import StorageError

__all__ = ["FIELDS", "DigitStruct"]

#: What is told of each box, in the order of the columns of an array of boxes.
FIELDS = ("label", "height", "width", "left", "top")

#: What h5py raises for things that are not there, or not what they should be.
_DAMAGE = (KeyError, ValueError, TypeError, IndexError, AttributeError, OSError, RuntimeError)

#: No picture has more boxes, and no name more letters.
_MAX_VALUES = 1000

#: Of HDF5's cache of descriptions of objects, each of which is needed once. It counts what they
#: take in the file, and they take twenty times as much in memory: with its usual 32 MiB 600 MiB.
_CACHE_BYTES = 2**20


class DigitStruct:
    """The boxes of a split, to be used in a ``with`` block.

    Parameters
    ----------
    file : binary file object
        The MATLAB file.
    name : str
        What messages call it.
    advice : str
        What messages tell to do if it is damaged.

    Raises
    ------
    StorageError
        If it is no such file.

    """

    def __init__(self, file: IO[bytes], name: str, advice: str) -> None:
        import h5py

        self._name = name
        self._advice = advice
        try:
            self._file = h5py.File(file, "r")
        except _DAMAGE as error:
            raise self._damaged(f"it is no MATLAB 7.3 file, or is cut short ({error})") from error
        try:
            _bound_cache(self._file)
            self._names = self._file["digitStruct/name"][...].reshape(-1)
            self._boxes = self._file["digitStruct/bbox"][...].reshape(-1)
        except _DAMAGE as error:
            self._file.close()
            raise self._damaged(
                f"it has no `digitStruct` with the fields `name` and `bbox` ({error})"
            ) from error
        if len(self._names) != len(self._boxes):
            self._file.close()
            raise self._damaged(f"it has {len(self._names)} names, but {len(self._boxes)} boxes")

    def __enter__(self) -> DigitStruct:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._names)

    def _damaged(self, fact: str) -> StorageError:
        return StorageError(f"{self._name}: {fact}; {self._advice}")

    def __iter__(self) -> Iterator[tuple[str, NDArray[numpy.float64]]]:
        """Yield the name of each picture, and its boxes: float64 of shape (boxes, 5)."""
        for number, (name, boxes) in enumerate(zip(self._names, self._boxes), 1):
            try:
                found = self._text(name), self._table(boxes)
            except _DAMAGE as error:
                raise self._damaged(f"element {number} cannot be read ({error})") from error
            yield found

    # Below, h5py's lower interface: a split has millions of these objects, each of one number, and
    # what the upper one does around a read takes three times as long as the read.

    def _text(self, reference: Any) -> str:
        return "".join(map(chr, self._read(self._led_to(reference), "u4").tolist()))

    def _table(self, reference: Any) -> NDArray[numpy.float64]:
        import h5py

        group = self._led_to(reference)
        columns = [self._numbers(h5py.h5d.open(group, field.encode())) for field in FIELDS]
        if len({len(column) for column in columns}) != 1:
            counts = dict(zip(FIELDS, map(len, columns)))
            raise ValueError(f"the fields have different numbers of values: {counts}")
        return numpy.array(columns, dtype="float64").T

    def _numbers(self, dataset: Any) -> NDArray[numpy.float64]:
        import h5py

        if dataset.get_type().get_class() != h5py.h5t.REFERENCE:
            return self._read(dataset, "f8")
        references = self._read(dataset, h5py.ref_dtype)
        return numpy.array([self._read(self._led_to(one), "f8")[0] for one in references])

    def _led_to(self, reference: Any) -> Any:
        """Return what a reference leads to."""
        import h5py

        return h5py.h5r.dereference(reference, self._file.id)

    @staticmethod
    def _read(dataset: Any, dtype: Any) -> NDArray[Any]:
        """Return all values of a dataset in one row."""
        import h5py

        count = math.prod(dataset.shape)
        if count > _MAX_VALUES:
            raise ValueError(f"a field has {count} values")
        values = numpy.empty(dataset.shape, dtype)
        dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, values)
        return values.reshape(-1)


def _bound_cache(file: Any) -> None:
    """Keep the descriptions of all the objects out of the memory."""
    settings = file.id.get_mdc_config()
    settings.set_initial_size = True
    settings.initial_size = settings.max_size = _CACHE_BYTES
    settings.min_size = _CACHE_BYTES // 2
    file.id.set_mdc_config(settings)
