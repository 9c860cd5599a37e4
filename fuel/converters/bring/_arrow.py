"""Columns of Arrow as sources: which type becomes what, and the conversion of batches to arrays.

Where the columns come from is told in `fuel.converters.bring.parquet` and
`fuel.converters.bring.huggingface`. PyArrow is imported by the functions that need it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.writer import SourceSpec
from fuel.exceptions import ConfigurationError, StorageError

__all__ = ["ArrowFile", "ArrowTable", "Field", "import_arrow"]


def import_arrow() -> Any:
    """Import PyArrow, or say how to get it."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigurationError(
            f"this needs PyArrow, which cannot be imported ({error}); install it with "
            "`pip install fuel[arrow]`, or `pip install pyarrow`"
        ) from error
    return pyarrow


@dataclass(frozen=True)
class ArrowFile:
    """Where columns come from.

    Attributes
    ----------
    name : str
        What it is called in messages.
    label : str or None
        The split that it belongs to.
    batches : callable
        Yields its record batches, from the beginning.

    """

    name: str
    label: str | None
    batches: Callable[[], Iterator[Any]]


@dataclass(frozen=True)
class Field:
    """How a column becomes a source.

    Attributes
    ----------
    name : str
        The column; ``a.b`` is the field ``b`` of the column ``a``.
    kind : {'number', 'text', 'bytes', 'fixed', 'nested'}
        What it holds.
    spec : SourceSpec
        The source.
    dims : tuple of (int or None)
        Sizes of the lists in lists of a nested one.
    cast : object
        The type of Arrow that the values are turned into first, or None.

    """

    name: str
    kind: str
    spec: SourceSpec
    dims: tuple[int | None, ...] = ()
    cast: Any = None


def field_of(name: str, kind: Any) -> Field:
    """Describe a column by its type.

    Raises
    ------
    StorageError
        If HDF5 has nothing for that type.

    """
    types = import_arrow().types
    if types.is_dictionary(kind):
        return field_of(name, kind.value_type)
    if (
        types.is_string(kind)
        or types.is_large_string(kind)
        or getattr(types, "is_string_view", lambda _: False)(kind)
    ):
        return Field(name, "text", SourceSpec((), "str", ("batch",)))
    if (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or getattr(types, "is_binary_view", lambda _: False)(kind)
    ):
        return Field(name, "bytes", SourceSpec((None,), "uint8", ("batch", "byte")))
    if types.is_fixed_size_binary(kind):
        return Field(name, "fixed", SourceSpec((), f"S{kind.byte_width}", ("batch",)))
    dims: list[int | None] = []
    value = kind
    while types.is_list(value) or types.is_large_list(value) or types.is_fixed_size_list(value):
        dims.append(value.list_size if types.is_fixed_size_list(value) else None)
        value = value.value_type
    dtype, cast = _number(name, kind, value)
    if not dims:
        return Field(name, "number", SourceSpec((), dtype, ("batch",)), cast=cast)
    return Field(name, "nested", SourceSpec(tuple(dims), dtype), tuple(dims), cast)


def _number(name: str, kind: Any, value: Any) -> tuple[str, Any]:
    """Return the type of NumPy for one of Arrow, and what it has to be cast to before."""
    arrow = import_arrow()
    types = arrow.types
    if types.is_boolean(value) or types.is_integer(value) or types.is_floating(value):
        return str(numpy.dtype(value.to_pandas_dtype())), None
    if types.is_decimal(value):
        return "float64", arrow.float64()
    if types.is_timestamp(value) or types.is_duration(value) or types.is_date64(value):
        return "int64", arrow.int64()
    if types.is_time64(value):
        return "int64", arrow.int64()
    if types.is_date32(value) or types.is_time32(value):
        return "int32", arrow.int32()
    raise StorageError(
        f"column {name!r} holds {kind}, which no source can hold; leave it out with --columns"
    )


def class_names_of(field: Any) -> list[str] | None:
    """Return the names of classes that were noted with a column, or None."""
    try:
        names = json.loads((field.metadata or {})[b"class_names"])
    except (KeyError, ValueError):
        return None
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    return None


class ArrowTable(_common.Table):
    """Record batches of several files with the same columns.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns.
    files : sequence of ArrowFile
        Where they come from.
    columns : sequence of str or None
        The columns to store; None for all.
    apart : str or None
        The column that only names splits.
    missing : {'error', 'nan', 'drop'}
        What to do where a value is missing.
    encoded : sequence of str, optional
        Columns that hold files, as ``bytes`` or at a ``path``.
    counts : sequence of int, optional
        How many rows each file has, where that is known.

    """

    def __init__(
        self,
        schema: Any,
        files: Sequence[ArrowFile],
        *,
        columns: Sequence[str] | None,
        apart: str | None,
        missing: str,
        encoded: Sequence[str] = (),
        counts: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        if missing not in ("error", "nan", "drop"):
            raise ConfigurationError(f"--missing must be error, nan or drop, got {missing!r}")
        self._files = files
        self._missing = missing
        self._encoded = encoded
        self._keep: NDArray[numpy.bool_] | None = None
        self._schema = self._flat(schema.empty_table()).schema
        names = self._schema.names
        for name in [*(columns or ()), *([apart] if apart else [])]:
            self._check_name(name)
        chosen = [name for name in names if columns is None or name in columns]
        self._fields: dict[str, Field] = {}
        for name in chosen:
            if name != apart:
                field = field_of(name, self._schema.field(name).type)
                source = _common.source_name(name, self._fields)
                self._fields[source] = field
                classes = class_names_of(self._schema.field(name))
                if classes is not None:
                    self.attributes[source] = {"class_names": classes}
        if counts is None or missing != "error":
            counts = self._scan()
        self.sources = {source: field.spec for source, field in self._fields.items()}
        self.parts = [(file.label, count) for file, count in zip(files, counts, strict=True)]
        self.num_examples = sum(counts)

    def _check_name(self, name: str) -> None:
        if name not in self._schema.names:
            raise StorageError(
                f"{self._files[0].name} has no column {name!r}; it has "
                f"{', '.join(self._schema.names)[:300]}"
            )

    def _flat(self, table: Any) -> Any:
        """Take structures apart, and keep the bytes of files only."""
        arrow = import_arrow()
        for name in self._encoded:
            place = table.schema.get_field_index(name)
            files = [_bytes_of(value, name) for value in table.column(name).to_pylist()]
            table = table.set_column(place, name, arrow.array(files, arrow.large_binary()))
        while any(arrow.types.is_struct(field.type) for field in table.schema):
            table = table.flatten()
        if len(set(table.schema.names)) < len(table.schema.names):
            raise StorageError(
                f"several columns have the same name among {', '.join(table.schema.names)[:300]}; "
                "rename them"
            )
        return table

    def _pieces(self) -> Iterator[tuple[int, int, Any]]:
        """Yield the number of a file, the number of a row in it, and the rows from there on."""
        arrow = import_arrow()
        for number, file in enumerate(self._files):
            done = 0
            try:
                for batch in file.batches():
                    yield number, done, self._flat(arrow.Table.from_batches([batch]))
                    done += batch.num_rows
            except arrow.ArrowException as error:
                raise StorageError(
                    f"{file.name} cannot be read after row {done}: "
                    f"{' '.join(str(error).split())[:200]}; it is damaged, write it again"
                ) from error

    def _scan(self) -> list[int]:
        """Count the rows, and find out where values are missing."""
        counts = [0] * len(self._files)
        keep: list[NDArray[numpy.bool_]] = []
        lacking: set[str] = set()
        for number, _, table in self._pieces():
            whole = numpy.ones(table.num_rows, numpy.bool_)
            if self._missing != "error":
                for source, field in self._fields.items():
                    column = table.column(field.name)
                    if column.null_count:
                        lacking.add(source)
                        whole &= column.is_valid().to_numpy().astype(numpy.bool_)
            if self._missing == "drop":
                keep.append(whole)
                counts[number] += int(whole.sum())
            else:
                counts[number] += table.num_rows
        if keep and not all(map(numpy.all, keep)):
            self._keep = numpy.concatenate(keep)
        if self._missing == "nan":
            for source in lacking:
                field = self._fields[source]
                if field.kind == "number" and field.spec.dtype.kind not in "fc":
                    spec = SourceSpec((), "float64", ("batch",))
                    self._fields[source] = Field(field.name, "number", spec, cast=field.cast)
        return counts

    def batches(self, wanted: NDArray[numpy.bool_]) -> Iterator[dict[str, Any]]:
        """Yield some of the examples; see `Table`."""
        done = seen = 0
        for number, first, table in self._pieces():
            count = table.num_rows
            places = numpy.arange(count)
            if self._keep is not None:
                places = places[self._keep[seen : seen + count]]
            seen += count
            here = wanted[done : done + len(places)]
            done += len(places)
            places = places[here]
            if not len(places):
                continue
            if len(places) < count:
                table = table.take(places)
            yield {
                source: self._converted(table.column(field.name), field, number, first, places)
                for source, field in self._fields.items()
            }

    def _converted(
        self, column: Any, field: Field, number: int, first: int, places: NDArray[Any]
    ) -> Any:
        def where(place: int) -> str:
            return f"row {first + int(places[place])} of {self._files[number].name}"

        array = column.combine_chunks()
        if isinstance(array, import_arrow().ChunkedArray):
            array = array.chunk(0) if array.num_chunks else import_arrow().array([], array.type)
        if import_arrow().types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if array.null_count and self._missing != "nan":
            place = int(numpy.flatnonzero(~array.is_valid().to_numpy(zero_copy_only=False))[0])
            raise StorageError(
                f"{where(place)} has no value in column {field.name!r}; fill it in, store NaN with "
                "--missing nan, or leave such rows out with --missing drop"
            )
        return converted(array, field, where)

    def values(self, column: str) -> Iterator[Sequence[Any]]:
        """Yield the values of a column; see `Table`."""
        if column not in self._schema.names and column in self._fields:
            column = self._fields[column].name
        self._check_name(column)
        seen = 0
        for number, _, table in self._pieces():
            found = table.column(column).to_pylist()
            if self._keep is not None:
                whole = self._keep[seen : seen + len(found)]
                seen += len(found)
                found = [value for value, kept in zip(found, whole, strict=True) if kept]
            if any(value is None or isinstance(value, list) for value in found):
                raise StorageError(
                    f"column {column!r} of {self._files[number].name} must have one value in each "
                    "row, and some have none or several; name another"
                )
            yield found


def _bytes_of(value: Mapping[str, Any] | None, name: str) -> bytes | None:
    """Return the bytes of a file that a column holds, or reads from a path."""
    if value is None:
        return None
    data = value.get("bytes")
    if isinstance(data, bytes):
        return data
    path = value.get("path")
    raise StorageError(
        f"column {name!r} holds no bytes, only the path {path!r}; save the data set with the files "
        "in it (`embed_table_storage`, or `save_to_disk` of a newer version of datasets)"
    )


def converted(array: Any, field: Field, where: Callable[[int], str]) -> Any:
    """Turn a column into what a source takes: an array, or a list of arrays or texts."""
    if field.kind == "text":
        return [value or "" for value in array.to_pylist()]
    if field.kind == "bytes":
        return [numpy.frombuffer(value or b"", numpy.uint8) for value in array.to_pylist()]
    if field.kind == "fixed":
        return numpy.array([value or b"" for value in array.to_pylist()], field.spec.dtype)
    if field.kind == "nested":
        return _nested(array, field, where)
    if field.cast is not None:
        array = _cast(array, field)
    numbers = array.to_numpy(zero_copy_only=False)
    if array.null_count:
        # Integers with gaps come as float64 with NaN, booleans as objects.
        numbers = numpy.array([numpy.nan if v is None else v for v in numbers.tolist()])
    return numbers.astype(field.spec.dtype)


def _cast(array: Any, field: Field) -> Any:
    arrow = import_arrow()
    try:
        return array.cast(field.cast, safe=not arrow.types.is_decimal(array.type))
    except arrow.ArrowInvalid as error:
        raise StorageError(f"column {field.name!r} cannot be stored as numbers: {error}") from error


def _nested(array: Any, field: Field, where: Callable[[int], str]) -> Any:
    """Turn lists, or lists of lists, into arrays; those within one row must be equally long."""
    rows = len(array)
    shapes = numpy.zeros((rows, len(field.dims)), numpy.int64)
    # Where the elements of each row begin at the present depth.
    bounds = numpy.arange(rows + 1)
    if array.null_count:
        array = _without_nulls(array, field)
    for depth, size in enumerate(field.dims):
        if array.null_count:
            missing = numpy.flatnonzero(~array.is_valid().to_numpy(zero_copy_only=False))[0]
            raise _hole(where(int(numpy.searchsorted(bounds, missing, "right")) - 1), field)
        if size is None:
            lengths = array.value_lengths().to_numpy(zero_copy_only=False).astype(numpy.int64)
        else:
            lengths = numpy.full(len(array), size, numpy.int64)
        counts = numpy.diff(bounds)
        filled = counts > 0
        common = numpy.zeros(rows, numpy.int64)
        common[filled] = lengths[bounds[:-1][filled]]
        if size is not None:
            common[:] = size
        different = numpy.flatnonzero(numpy.repeat(common, counts) != lengths)
        if len(different):
            row = int(numpy.searchsorted(bounds, different[0], "right")) - 1
            raise StorageError(
                f"{where(row)} has lists of different lengths within column {field.name!r}, which "
                "is no array; leave the column out with --columns, or pad it"
            )
        shapes[:, depth] = common
        bounds = numpy.concatenate([[0], numpy.cumsum(lengths)])[bounds]
        array = array.flatten()
    if field.cast is not None:
        array = _cast(array, field)
    if array.null_count and field.spec.dtype.kind != "f":
        missing = numpy.flatnonzero(~array.is_valid().to_numpy(zero_copy_only=False))[0]
        raise _hole(where(int(numpy.searchsorted(bounds, missing, "right")) - 1), field)
    values = array.to_numpy(zero_copy_only=False).astype(field.spec.dtype, copy=False)
    if None not in field.dims:
        return values.reshape(rows, *(size or 0 for size in field.dims))
    return [
        values[start:stop].reshape(shape)
        for start, stop, shape in zip(bounds[:-1], bounds[1:], shapes.tolist(), strict=True)
    ]


def _hole(where: str, field: Field) -> StorageError:
    return StorageError(
        f"{where} has a list with a missing value in column {field.name!r}; fill it in, or leave "
        "the column out with --columns"
    )


def _without_nulls(array: Any, field: Field) -> Any:
    """Replace missing lists by empty ones, which only lists of any length have."""
    if field.dims[0] is not None:
        raise StorageError(
            f"column {field.name!r} lacks lists of fixed length, for which nothing can be stored; "
            "leave such rows out with --missing drop"
        )
    return import_arrow().array(
        [[] if value is None else value for value in array.to_pylist()], array.type
    )
