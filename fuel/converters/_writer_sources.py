"""One source as it is being written: what it may hold, and how its rows get into the file.

`SourceSpec` describes a source, `Sink` and its kinds write one. Splits, and the file as a whole,
are the work of `fuel.converters.writer`.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

__all__ = ["Options", "Sink", "SourceSpec", "sink_of"]

#: Chunks of about this size: reading one row at random from a compressed file decompresses all of
#: a chunk, and 128 KiB take 0.1 to 0.5 ms; below some 64 KiB the table of chunks and the calls cost
#: more than what is saved.
CHUNK_BYTES = 128 * 2**10
#: Rows of variable length are handed to HDF5 so many bytes at a time.
_BLOCK_BYTES = 16 * 2**20
_COPY_BYTES = 8 * 2**20

_STRINGS = ("bytes", "str")
_ZSTD = 32015


@dataclass(frozen=True)
class SourceSpec:
    """What the examples of a source look like.

    Attributes
    ----------
    shape : tuple of int or None
        The shape of one example; None for an axis whose length varies.
    dtype : numpy.dtype or str
        The type of its elements; ``'bytes'`` or ``'str'`` for texts of any length, whose shape is
        ``()``.
    axis_labels : tuple of str, optional
        A label for each axis of a batch, that of the examples first.

    Examples
    --------
    >>> from fuel.converters.writer import SourceSpec
    >>> SourceSpec((None, None, 3), "uint8", ("batch", "height", "width", "channel")).ragged
    True

    """

    shape: tuple[int | None, ...]
    dtype: Any
    axis_labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        shape = (self.shape,) if isinstance(self.shape, int) else tuple(self.shape)
        if any(size is not None and (int(size) != size or size < 0) for size in shape):
            raise ValueError(f"`shape` must hold sizes, or None where they vary, got {shape}")
        object.__setattr__(self, "shape", shape)
        if self.dtype not in _STRINGS:
            dtype = numpy.dtype(self.dtype)
            if dtype.hasobject or dtype.kind == "U":
                raise ValueError(
                    f"HDF5 stores no elements of type {dtype}; use 'str' or 'bytes' for texts, "
                    "numbers for anything else"
                )
            object.__setattr__(self, "dtype", dtype)
        elif shape:
            raise ValueError(f"texts have the shape (), got {shape}; use one source for each")
        labels = self.axis_labels
        if labels is not None and len(labels) != len(shape) + 1:
            raise ValueError(
                f"`axis_labels` must name the {len(shape) + 1} axes of a batch, got {labels}"
            )

    @property
    def ragged(self) -> bool:
        """bool: Whether examples have different shapes."""
        return None in self.shape

    @property
    def text(self) -> bool:
        """bool: Whether examples are texts."""
        return isinstance(self.dtype, str)


@dataclass(frozen=True)
class Options:
    """How a source is stored."""

    layout: str = "contiguous"
    chunk_bytes: int | None = None
    compression: str | None = None
    compression_level: int | None = None
    byte_shuffle: bool = False
    checksum: bool = False

    @property
    def chunked(self) -> bool:
        """bool: Whether it is stored in chunks."""
        return bool(
            self.layout == "chunked" or self.compression or self.byte_shuffle or self.checksum
        )

    def filters(self) -> dict[str, Any]:
        """Return the arguments that h5py takes."""
        options: dict[str, Any] = {}
        if self.compression == "zstd":
            try:
                import hdf5plugin  # noqa: F401 - registers the filter
            except ImportError:
                raise ValueError(
                    "compression 'zstd' needs a filter that is not installed; "
                    "`pip install hdf5plugin`"
                ) from None
            level = 3 if self.compression_level is None else self.compression_level
            options.update(compression=_ZSTD, compression_opts=(level,))
        elif self.compression is not None:
            options["compression"] = self.compression
            if self.compression_level is not None:
                options["compression_opts"] = self.compression_level
        if self.byte_shuffle:
            options["shuffle"] = True
        if self.checksum:
            options["fletcher32"] = True
        return options


class Sink:
    """A source that grows.

    Parameters
    ----------
    group : h5py.Group
        Where it is written.
    name : str
        Its name.
    spec : SourceSpec
        What its examples look like.
    options : Options
        How it is stored.
    total : int or None
        How many examples there will be, if that is known.

    Attributes
    ----------
    count : int
        How many there are by now.

    """

    def __init__(
        self, group: Any, name: str, spec: SourceSpec, options: Options, total: int | None
    ) -> None:
        self.group = group
        self.name = name
        self.spec = spec
        self.options = options
        self.total = total
        self.count = 0

    def checked(self, batch: Any) -> Any:
        """Return a batch in the form that `write` takes; ValueError if it does not fit."""
        raise NotImplementedError

    def write(self, batch: Any) -> None:
        """Append a batch."""
        raise NotImplementedError

    def finish(self) -> Any:
        """Write what is left, and return the dataset."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of everything."""

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"source {self.name!r} {what}")

    def _cast(self, values: NDArray[Any], which: str = "") -> NDArray[Any]:
        """Return values in the type of the source, if none of them changes."""
        dtype = self.spec.dtype
        if values.dtype == dtype:
            return values
        if values.dtype.hasobject or (values.dtype.kind in "US" and dtype.kind not in "S"):
            raise self._wrong(
                f"holds {dtype}, got {which}elements of type {values.dtype}; convert them first"
            )
        # NumPy calls it safe to make 64 bits of an integer the 53 of a floating-point number.
        wide = values.dtype.kind in "iu" and dtype.kind in "fc" and values.dtype.itemsize == 8
        if values.size and (wide or not numpy.can_cast(values.dtype, dtype, "safe")):
            with numpy.errstate(all="ignore"):
                cast = values.astype(dtype)
                same = (cast == values) | ((cast != cast) & (values != values))
                if values.dtype.kind in "iu" and dtype.kind == "f":
                    # NumPy compares as floating-point numbers, in which large neighbours are alike.
                    same &= (cast < 2.0**63) & (cast.astype(values.dtype) == values)
            if not bool(numpy.all(same)):
                example = values[~same].reshape(-1)[0] if values.ndim else values
                raise self._wrong(
                    f"holds {dtype}, in which {example!r} ({values.dtype}) is another number; "
                    "convert the values first, or declare another type"
                )
            return cast
        return values.astype(dtype)


class FixedSink(Sink):
    """A source whose examples all have the same shape.

    A source of unknown length that is to lie in the file in one piece waits in a temporary file
    beside it until its length is known.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        spec = self.spec
        self._shape: tuple[int, ...] = tuple(int(size or 0) for size in spec.shape)
        self._row_bytes = max(1, math.prod(self._shape) * spec.dtype.itemsize)
        self._spool: Any = None
        self._dataset: Any = None
        if self.options.chunked:
            rows = (self.options.chunk_bytes or CHUNK_BYTES) // self._row_bytes
            if self.total:
                rows = min(rows, self.total)
            self._dataset = self.group.create_dataset(
                self.name,
                shape=(self.total or 0, *self._shape),
                maxshape=(self.total if self.total else None, *self._shape),
                dtype=spec.dtype,
                chunks=(max(1, rows), *(max(1, size) for size in self._shape)),
                **self.options.filters(),
            )
        elif self.total is not None:
            self._dataset = self._contiguous(self.total)
        else:
            folder, name = os.path.split(os.path.realpath(self.group.file.filename))
            # Where it has no name, nothing of it is left whatever happens.
            self._spool = tempfile.TemporaryFile(  # noqa: SIM115 - it lives as long as this
                dir=folder, prefix=f"{name}."
            )

    def _contiguous(self, count: int) -> Any:
        return self.group.create_dataset(
            self.name, shape=(count, *self._shape), dtype=self.spec.dtype
        )

    def checked(self, batch: Any) -> Any:
        values = numpy.asarray(batch)
        if values.ndim == 0 or values.shape[1:] != self._shape:
            raise self._wrong(
                f"has examples of shape {self._shape}, got {self._described(batch, values)}"
            )
        return self._cast(values)

    def _described(self, batch: Any, values: NDArray[Any]) -> str:
        if values.ndim:
            return f"a batch of shape {values.shape}, whose examples have {values.shape[1:]}"
        return f"{batch!r:.60}; `add` takes a batch, `add_example` one example"

    def write(self, batch: Any) -> None:
        stop = self.count + len(batch)
        if self._spool is not None:
            self._spool.write(numpy.ascontiguousarray(batch).data.cast("B") if batch.size else b"")
        else:
            if stop > len(self._dataset):
                if self.total is not None:
                    raise self._wrong(
                        f"was to have {self.total} examples, as `sizes` says, got more"
                    )
                self._dataset.resize(stop, axis=0)
            self._dataset[self.count : stop] = batch
        self.count = stop

    def finish(self) -> Any:
        if self._spool is not None:
            self._dataset = self._contiguous(self.count)
            self._spool.seek(0)
            rows = max(1, _COPY_BYTES // self._row_bytes)
            for start in range(0, self.count, rows):
                stop = min(start + rows, self.count)
                block = numpy.empty((stop - start, *self._shape), self.spec.dtype)
                if block.size:
                    self._spool.readinto(block.data.cast("B"))
                self._dataset[start:stop] = block
        elif self.total is not None and self.count != self.total:
            raise self._wrong(
                f"was to have {self.total} examples, as `sizes` says, got {self.count}"
            )
        return self._dataset

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()


class _Waiting(Sink):
    """A source whose rows are collected in blocks and appended to a dataset in chunks."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rows: list[Any] = []
        self._bytes = 0
        self._written = 0

    def _create(self, name: str, dtype: Any, shape: tuple[int, ...] = ()) -> Any:
        row_bytes = 16 if not shape else 8 * math.prod(shape)
        rows = (self.options.chunk_bytes or CHUNK_BYTES) // max(1, row_bytes)
        if self.total is not None and not self.options.chunked:
            return self.group.create_dataset(name, shape=(self.total, *shape), dtype=dtype)
        return self.group.create_dataset(
            name,
            shape=(0, *shape),
            maxshape=(None, *shape),
            dtype=dtype,
            chunks=(max(1, rows), *shape),
        )

    def _grow(self, dataset: Any, stop: int) -> None:
        if stop > len(dataset):
            if self.total is not None and not self.options.chunked:
                raise self._wrong(f"was to have {self.total} examples, as `sizes` says, got more")
            dataset.resize(stop, axis=0)

    def _put(self, dataset: Any, start: int, values: Any) -> None:
        self._grow(dataset, start + len(values))
        dataset[start : start + len(values)] = values

    def write(self, batch: Any) -> None:
        for example in batch:
            self._rows.append(example)
            self._bytes += self._size(example) + 64
            if self._bytes >= _BLOCK_BYTES:
                self._flush()
        self.count += len(batch)

    def _flush(self) -> None:
        raise NotImplementedError

    def _size(self, example: Any) -> int:
        raise NotImplementedError

    def _check_total(self) -> None:
        if self.total is not None and self.count != self.total:
            raise self._wrong(
                f"was to have {self.total} examples, as `sizes` says, got {self.count}"
            )


class RaggedSink(_Waiting):
    """A source whose examples have different shapes: flattened, with their shapes beside them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        import h5py

        if self.options.compression or self.options.byte_shuffle or self.options.checksum:
            raise self._wrong(
                "has examples of different shapes, which HDF5 keeps outside of what it compresses "
                "and checks; leave the filters out for it, or pad the examples"
            )
        axes = len(self.spec.shape)
        self._dataset = self._create(self.name, h5py.vlen_dtype(self.spec.dtype))
        self._shapes = self._create(f"{self.name}_shapes", numpy.int32, (axes,))

    def checked(self, batch: Any) -> Any:
        return [self._one(example, place) for place, example in enumerate(batch)]

    def _one(self, example: Any, place: int) -> NDArray[Any]:
        if isinstance(example, bytes | bytearray) and self.spec.dtype.itemsize == 1:
            example = numpy.frombuffer(example, self.spec.dtype)
        values = numpy.asarray(example)
        expected = self.spec.shape
        if values.ndim != len(expected) or any(
            want is not None and want != got
            for want, got in zip(expected, values.shape, strict=True)
        ):
            raise self._wrong(
                f"has examples of shape {expected}, got {values.shape} for example {place} of the "
                "batch"
            )
        # It waits in memory, while its owner may use the array for the next example.
        return numpy.array(self._cast(values, f"in example {place} "), copy=True)

    def _size(self, example: Any) -> int:
        return int(example.nbytes)

    def _flush(self) -> None:
        import h5py

        count = len(self._rows)
        if not count:
            return
        # The type tells h5py that each element is an array; it would stack them if it could.
        flat = numpy.empty(count, dtype=self._dataset.dtype)
        for place, example in enumerate(self._rows):
            flat[place] = example.reshape(-1)
        self._grow(self._dataset, self._written + count)
        space = self._dataset.id.get_space()
        space.select_hyperslab((self._written,), (count,))
        self._dataset.id.write(h5py.h5s.create_simple((count,)), space, flat)
        shapes = numpy.array([example.shape for example in self._rows], dtype=numpy.int32)
        self._put(self._shapes, self._written, shapes)
        self._written += count
        self._rows, self._bytes = [], 0

    def finish(self) -> Any:
        self._flush()
        self._check_total()
        labels = self.spec.axis_labels
        names = [f"axis_{axis}" for axis in range(len(self.spec.shape))]
        named = self.group.create_dataset(
            f"{self.name}_shape_labels",
            data=numpy.array(list(labels[1:]) if labels else names, dtype="S"),
        )
        for scale, label in ((self._shapes, "shapes"), (named, "shape_labels")):
            scale.make_scale(label)
            self._dataset.dims[0].attach_scale(scale)
        return self._dataset


class TextSink(_Waiting):
    """A source of texts."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        import h5py

        encoding = "utf-8" if self.spec.dtype == "str" else "ascii"
        self._dataset = self._create(self.name, h5py.string_dtype(encoding))

    def checked(self, batch: Any) -> Any:
        texts = list(batch)
        for place, text in enumerate(texts):
            if not isinstance(text, str | bytes):
                raise self._wrong(f"holds texts, got {text!r:.60} for example {place} of the batch")
            if b"\0" in text if isinstance(text, bytes) else "\0" in text:
                raise self._wrong(
                    f"cannot hold a text with a zero byte in it (example {place} of the batch); "
                    "store bytes as SourceSpec((None,), 'uint8')"
                )
        return texts

    def _size(self, example: Any) -> int:
        return len(example)

    def _flush(self) -> None:
        if self._rows:
            self._put(self._dataset, self._written, self._rows)
        self._written += len(self._rows)
        self._rows, self._bytes = [], 0

    def finish(self) -> Any:
        self._flush()
        self._check_total()
        return self._dataset


def sink_of(group: Any, name: str, spec: SourceSpec, options: Options, total: int | None) -> Sink:
    """Return what writes a source; the arguments are those of `Sink`."""
    kind: type[Sink] = TextSink if spec.text else RaggedSink if spec.ragged else FixedSink
    return kind(group, name, spec, options, total)


def labels_of(spec: SourceSpec) -> Sequence[str]:
    """Return the labels of the dataset's own axes."""
    labels = spec.axis_labels or ()
    return labels[:1] if spec.ragged else labels
