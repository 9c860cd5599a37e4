"""Writing Parquet files, a group of rows for each batch (needs PyArrow, the extra ``arrow``).

What is read is told in ``_export_read``; the way back is `fuel.converters.bring.parquet`.
"""

from __future__ import annotations

import json
from typing import Any

import numpy

from fuel.converters._export_read import Source, Stored, text_of
from fuel.exceptions import ConfigurationError, StorageError

__all__ = ["write_parquet"]

#: Rows of small examples are gathered: groups of rows cost some hundred bytes each.
_GROUP_BYTES = 32 * 2**20


def _import() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigurationError(
            f"this needs PyArrow, which cannot be imported ({error}); install it with "
            "`pip install fuel[arrow]`, or `pip install pyarrow`"
        ) from error
    return pyarrow


def _type(arrow: Any, source: Source) -> Any:
    """Return the type of Arrow for a source."""
    if source.dtype is None:
        return arrow.string()
    if source.encoded:
        return arrow.large_binary()
    if source.dtype.kind == "S" and source.shape == ():
        return arrow.binary(source.dtype.itemsize)
    if source.dtype.kind not in "biuf" or 0 in source.shape:
        raise StorageError(
            f"source {source.name!r} has examples of shape {source.shape} and type {source.dtype}, "
            "for which Parquet has no column; choose others with --sources"
        )
    kind = arrow.from_numpy_dtype(source.dtype)
    for size in reversed(source.shape):
        kind = arrow.list_(kind) if size is None else arrow.list_(kind, size)
    return kind


def _column(arrow: Any, source: Source, kind: Any, values: Any) -> Any:
    if source.text:
        return arrow.array([text_of(value) for value in values], kind)
    if source.encoded:
        return arrow.array([value.tobytes() for value in values], kind)
    assert source.dtype is not None
    if source.dtype.kind == "S":
        width = source.dtype.itemsize
        return arrow.array([bytes(value).ljust(width, b"\0") for value in values], kind)
    native = source.dtype.newbyteorder("=")
    if not source.ragged:
        array = arrow.array(numpy.ascontiguousarray(values, native).reshape(-1))
        for size in reversed(source.shape):
            array = arrow.FixedSizeListArray.from_arrays(array, size)
        return array
    return _ragged(arrow, source, values, native)


def _ragged(arrow: Any, source: Source, values: Any, dtype: Any) -> Any:
    """Nest the elements of arrays of different shapes, from the inside."""
    shapes = numpy.array([value.shape for value in values], numpy.int64)
    flat = [numpy.ascontiguousarray(value, dtype).reshape(-1) for value in values]
    array = arrow.array(numpy.concatenate(flat) if flat else numpy.empty(0, dtype))
    for depth in reversed(range(shapes.shape[1])):
        size = source.shape[depth]
        if size is not None:
            array = arrow.FixedSizeListArray.from_arrays(array, size)
            continue
        # An axis of length 0 leaves the axes behind it without any list.
        counts = numpy.prod(shapes[:, :depth], axis=1, dtype=numpy.int64)
        lengths = numpy.repeat(shapes[:, depth], counts)
        offsets = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
        array = arrow.ListArray.from_arrays(arrow.array(offsets), array)
    return array


def write_parquet(stored: Stored, path: str, compress: bool) -> None:
    """Write a Parquet file.

    Parameters
    ----------
    stored : Stored
        What to write. Of several splits all rows are written, with a column ``split``.
    path : str
        The file.
    compress : bool
        Whether to compress (with zstd).

    Raises
    ------
    StorageError
        If a source has no form in Parquet.

    """
    arrow = _import()
    fields = []
    for source in stored.sources:
        metadata = None
        if source.class_names is not None:
            metadata = {"class_names": json.dumps(source.class_names)}
        fields.append(arrow.field(source.name, _type(arrow, source), metadata=metadata))
    several = len(stored.parts) > 1
    if several:
        if any(source.name == "split" for source in stored.sources):
            raise StorageError(
                "a source is called 'split', as the column of the splits is to be; export one "
                "split at a time, or leave the source out with --sources"
            )
        fields.append(arrow.field("split", arrow.string()))
    schema = arrow.schema(fields)
    writer = arrow.parquet.ParquetWriter(path, schema, compression="zstd" if compress else "none")
    with writer:
        for part in stored.parts:
            waiting: list[Any] = []
            size = 0
            for batch in stored.batches(part):
                columns = [
                    _column(arrow, source, field.type, batch[source.name])
                    for source, field in zip(stored.sources, schema)
                ]
                if several:
                    columns.append(arrow.array([part.name] * len(columns[0]), arrow.string()))
                waiting.append(arrow.record_batch(columns, schema=schema))
                size += waiting[-1].nbytes
                if size > _GROUP_BYTES:
                    writer.write_table(arrow.Table.from_batches(waiting, schema))
                    waiting, size = [], 0
            if waiting:
                writer.write_table(arrow.Table.from_batches(waiting, schema))
