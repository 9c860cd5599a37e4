"""Reads ``digitStruct.mat``: which boxes are around the digits of each picture of SVHN.

The file is of MATLAB 7.3, which is HDF5. An array of structures is a group with one dataset of
object references for each field; what these lead to is a dataset of character codes for a text, a
group for a structure, and a number as an array of one by one. Where a picture has one digit, the
fields of its structure are such numbers; where it has several, they are references to them.
"""

from __future__ import annotations

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

    def _text(self, reference: Any) -> str:
        return "".join(map(chr, self._file[reference][...].reshape(-1).tolist()))

    def _table(self, reference: Any) -> NDArray[numpy.float64]:
        group = self._file[reference]
        columns = [self._numbers(group[field]) for field in FIELDS]
        if len({len(column) for column in columns}) != 1:
            counts = dict(zip(FIELDS, map(len, columns)))
            raise ValueError(f"the fields have different numbers of values: {counts}")
        return numpy.array(columns, dtype="float64").T

    def _numbers(self, dataset: Any) -> list[float]:
        values = dataset[...].reshape(-1)
        if values.dtype != object:
            return [float(value) for value in values]
        return [float(self._file[reference][...].reshape(-1)[0]) for reference in values]
