"""Writing data sets of any size as HDF5 files: `HDF5Writer`, which every converter uses.

Examples or batches go in, split by split or mixed; what comes out is the layout that
`fuel.datasets.hdf5` reads, under its final name only when it is whole. How single sources are
stored is in ``_writer_sources``, what is told about where a file comes from in ``_provenance``.
For arrays that are in memory `fuel.converters.base.fill_hdf5_file` is enough.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import numpy

from fuel.converters._output import atomic_output
from fuel.converters._provenance import Inputs, write_provenance
from fuel.converters._writer_sources import Options, Sink, SourceSpec, labels_of, sink_of
from fuel.exceptions import StorageError

__all__ = ["HDF5Writer", "SourceSpec"]

_COMPRESSIONS = (None, "gzip", "lzf", "zstd")
#: Where row numbers of splits whose examples are mixed are kept.
_ROWS = "split_rows"


class _Split:
    """What is known of a split."""

    def __init__(self, sources: tuple[str, ...] | None = None) -> None:
        #: The sources that it has; None until the first batch says it.
        self.sources = sources
        self.count = 0
        #: Stretches of rows, for each source.
        self.parts: dict[str, list[tuple[int, int]]] = {}
        self.comments: dict[str, str] = {}


class HDF5Writer:
    """Writes a data set, batch by batch.

    Parameters
    ----------
    path : path
        The file; an older one of that name is replaced when the new one is whole.
    sources : dict of str to SourceSpec
        What there is.
    sizes : dict of str to int, or int, optional
        How many examples each split will have, or all of them together. What is stored in one
        piece then gets its place at once; otherwise it is written twice, first into a temporary
        file without a name.
    absent : dict of str to tuple of str, optional
        For splits in `sizes` the sources that they lack.
    splits : iterable of str, optional
        The names of the splits, in their order; others are refused then. By default they are
        noted as they come.
    layout : {'contiguous', 'chunked'} or dict, optional
        In one piece, which is read fastest in any order, or in chunks; for all sources, or for
        some of them by name. Compressed sources are always in chunks.
    chunk_bytes : int, optional
        About how large a chunk is; by default 128 KiB, and at least one example.
    compression : {None, 'gzip', 'lzf', 'zstd'} or dict, optional
        A filter; ``'zstd'`` needs `hdf5plugin`.
    compression_level : int, optional
        For gzip 0 to 9, for zstd 1 to 22.
    byte_shuffle : bool, optional
        Whether bytes of equal weight are put side by side, which helps compression.
    checksum : bool, optional
        Whether each chunk gets a checksum, that is looked at when it is read.
    inputs : iterable of path, optional
        The raw files, whose names, sizes and SHA-256 are noted.
    attributes : dict, optional
        More attributes of the file.

    Attributes
    ----------
    path : str
        The file.
    num_examples : dict of str to int
        How many examples each split has by now.

    Raises
    ------
    ValueError
        If an option is unknown, or what is added does not fit.
    fuel.exceptions.StorageError
        If the file cannot be written; of a full disk the message says how much was needed.

    Notes
    -----
    To be used in a ``with`` block: when that ends with an error, and when the process is killed,
    nothing has changed under the name of the file. The memory that is used depends on the batches,
    not on the number of examples. A writer is for one thread at a time.

    Texts and examples of different shapes (`SourceSpec`) are stored outside of chunks by HDF5, so
    filters do not reach them.

    Examples
    --------
    >>> import numpy
    >>> from fuel.converters.writer import HDF5Writer, SourceSpec
    >>> from fuel.datasets import H5PYDataset
    >>> sources = {"x": SourceSpec((2,), "float32"), "y": SourceSpec((), "uint8")}
    >>> with HDF5Writer("points.hdf5", sources) as writer:
    ...     writer.add("train", x=numpy.zeros((3, 2), "float32"), y=[0, 1, 2])
    ...     writer.add_example("test", x=[0.5, 0.25], y=1)
    >>> H5PYDataset("points.hdf5", ("test",)).get_data(request=[0])
    (array([[0.5 , 0.25]], dtype=float32), array([1], dtype=uint8))

    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        sources: Mapping[str, SourceSpec],
        *,
        sizes: Mapping[str, int] | int | None = None,
        absent: Mapping[str, Iterable[str]] | None = None,
        splits: Iterable[str] | None = None,
        layout: str | Mapping[str, str] = "contiguous",
        chunk_bytes: int | None = None,
        compression: str | Mapping[str, str | None] | None = None,
        compression_level: int | None = None,
        byte_shuffle: bool = False,
        checksum: bool = False,
        inputs: Iterable[str | os.PathLike[str]] = (),
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.specs = _checked_sources(sources)
        layouts = _for_each(self.specs, "layout", layout, ("contiguous", "chunked"), "contiguous")
        filters = _for_each(self.specs, "compression", compression, _COMPRESSIONS, None)
        if chunk_bytes is not None and chunk_bytes < 1:
            raise ValueError(f"`chunk_bytes` must be positive, got {chunk_bytes}")
        self._options = {}
        for name, spec in self.specs.items():
            bare = spec.ragged or spec.text
            self._options[name] = Options(
                layout=layouts[name],
                chunk_bytes=chunk_bytes,
                # Filters that were not asked for by the name of the source pass it by.
                compression=None
                if bare and not isinstance(compression, Mapping)
                else filters[name],
                compression_level=None if bare else compression_level,
                byte_shuffle=byte_shuffle and not bare,
                checksum=checksum and not bare,
            )
        self._sizes = sizes
        self._absent = {name: tuple(lacks) for name, lacks in (absent or {}).items()}
        self._fixed_splits = splits is not None
        self._splits: dict[str, _Split] = {name: _Split() for name in splits or ()}
        self._input_paths = tuple(inputs)
        self._attributes = dict(attributes or {})
        self._described: dict[str, dict[str, Any]] = {}
        self._references: dict[Any, Any] = {}
        self._failed = False
        self._output: AbstractContextManager[str] | None = None
        self._h5file: Any = None
        self._sinks: dict[str, Sink] = {}
        self._inputs: Inputs | None = None

    def __enter__(self) -> HDF5Writer:
        import h5py

        if self._output is not None:
            raise ValueError(f"the writer of {self.path!r} was used already; make a new one")
        self._output = atomic_output(self.path)
        self._part = self._output.__enter__()
        try:
            self._h5file = h5py.File(self._part, "w")
            for name, spec in self.specs.items():
                self._sinks[name] = sink_of(
                    self._h5file, name, spec, self._options[name], self._total(name)
                )
            self._inputs = Inputs(self._input_paths)
        except BaseException as error:
            self._abandon(error)
            raise
        return self

    def _total(self, name: str) -> int | None:
        """Return how many examples a source will have, if that is known."""
        if self._sizes is None:
            return None
        if isinstance(self._sizes, Mapping):
            return sum(
                size
                for split, size in self._sizes.items()
                if name not in self._absent.get(split, ())
            )
        return int(self._sizes)

    @property
    def num_examples(self) -> dict[str, int]:
        """dict: How many examples each split has by now."""
        return {name: split.count for name, split in self._splits.items()}

    def add(self, split: str | None, /, **batch: Any) -> None:
        """Append a batch to a split.

        Parameters
        ----------
        split : str or None
            The split; None for all examples of a file that has no splits.
        **batch : array or list
            For each source of the split its examples, as many of each: an array whose first axis
            is that of the examples, or a list. Every batch of a split has the same sources.

        Raises
        ------
        ValueError
            If it does not fit: an unknown source or split, another shape, a number that the type
            of the source does not have, different numbers of examples. Nothing is written then.
        fuel.exceptions.StorageError
            If the file cannot be written.

        """
        entry = self._entry(split, batch)
        try:
            checked = {name: self._sinks[name].checked(values) for name, values in batch.items()}
        except ValueError as error:
            raise ValueError(f"split {split!r}: {error}") from None
        counts = {name: len(values) for name, values in checked.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(
                f"split {split!r}: the sources of a batch must have the same number of examples, "
                f"got {counts}"
            )
        count = next(iter(counts.values()))
        try:
            for name, values in checked.items():
                sink = self._sinks[name]
                first = sink.count
                sink.write(values)
                _extend(entry.parts.setdefault(name, []), first, first + count)
        except BaseException as error:
            self._failed = True  # some sources have the batch, others have not
            if isinstance(error, OSError | RuntimeError):
                raise self._full(error) from error
            raise
        entry.count += count

    def add_example(self, split: str | None, /, **example: Any) -> None:
        """Append one example to a split; see `add`."""
        self.add(split, **{name: _batch_of(value) for name, value in example.items()})

    def comment(self, split: str, source: str, text: str) -> None:
        """Say something about what a split has of a source; it is kept in the file.

        Parameters
        ----------
        split, source : str
            Of which part.
        text : str
            The comment.

        """
        if source not in self.specs:
            raise ValueError(f"there is no source {source!r}; there are {list(self.specs)}")
        self._split(split).comments[source] = text

    def describe(self, source: str, attributes: Mapping[str, Any]) -> None:
        """Give a source attributes of its own, beside its axis labels.

        Parameters
        ----------
        source : str
            The source.
        attributes : dict
            Names and values that HDF5 can store.

        """
        if source not in self.specs:
            raise ValueError(f"there is no source {source!r}; there are {list(self.specs)}")
        self._described.setdefault(source, {}).update(attributes)

    def _split(self, name: str | None) -> _Split:
        if (name is None and any(self._splits)) or (name and "" in self._splits):
            raise ValueError(
                f"a file has splits or none, got the split {name!r} beside {list(self._splits)}"
            )
        name = "" if name is None else name
        if name not in self._splits:
            if self._fixed_splits:
                raise ValueError(f"there is no split {name!r}; there are {list(self._splits)}")
            if not isinstance(name, str):
                raise ValueError(f"the name of a split must be a text, got {name!r}")
            self._splits[name] = _Split()
        return self._splits[name]

    def _entry(self, split: str | None, batch: Mapping[str, Any]) -> _Split:
        if self._h5file is None:
            raise ValueError(f"the writer of {self.path!r} is not open; use it in a `with` block")
        unknown = [name for name in batch if name not in self.specs]
        if unknown or not batch:
            raise ValueError(
                f"a batch must have some of the sources {list(self.specs)}, got {list(batch)}"
            )
        entry = self._split(split)
        names = tuple(name for name in self.specs if name in batch)
        if entry.sources is None:
            entry.sources = names
        elif entry.sources != names:
            raise ValueError(
                f"every batch of split {split!r} must have the sources {entry.sources}, got {names}"
            )
        return entry

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._abandon(error)
            return
        try:
            self._finish()
        except (OSError, RuntimeError) as failure:
            told = failure if isinstance(failure, StorageError) else self._full(failure)
            self._abandon(told)
            raise told from failure
        except BaseException as failure:
            self._abandon(failure)
            raise
        assert self._output is not None
        self._output.__exit__(None, None, None)

    def _finish(self) -> None:
        if self._failed:
            raise StorageError(
                f"{self.path!r} is not written: a batch was stored for some of its sources only, "
                "because writing it failed; write the file anew"
            )
        from fuel.datasets.hdf5 import H5PYDataset

        for name, sink in self._sinks.items():
            dataset = sink.finish()
            for axis, label in enumerate(labels_of(self.specs[name])):
                dataset.dims[axis].label = label
        self._check_sizes()
        parts: dict[str, dict[str, tuple[Any, ...]]] = {}
        for name, split in self._splits.items():
            parts[name] = {}
            for source in self.specs if split.sources is None else split.sources:
                comment = split.comments.get(source)
                parts[name][source] = (*self._rows(name, source, split), comment)
        for source, attributes in self._described.items():
            for key, value in attributes.items():
                self._h5file[source].attrs[key] = value
        if any(parts):
            self._h5file.attrs["split"] = H5PYDataset.create_split_array(parts)
        for key, value in self._attributes.items():
            self._h5file.attrs[key] = value
        assert self._inputs is not None
        write_provenance(self._h5file, self._inputs.describe())
        self._close()

    def _check_sizes(self) -> None:
        if isinstance(self._sizes, Mapping):
            wanted = {name: int(size) for name, size in self._sizes.items() if size}
            found = {name: size for name, size in self.num_examples.items() if size}
            if wanted != found:
                raise ValueError(
                    f"{self.path!r} was to have {wanted} examples, as `sizes` says, got {found}"
                )

    def _rows(self, name: str, source: str, split: _Split) -> tuple[int, int, Any]:
        """Return the rows of a source that belong to a split: first, last, reference."""
        parts = split.parts.get(source, [])
        if len(parts) <= 1:
            first, last = parts[0] if parts else (0, 0)
            return first, last, None
        rows = numpy.concatenate([numpy.arange(*part) for part in parts])
        # Sources that were always added together have the same rows.
        key = name, tuple(parts)
        if key not in self._references:
            place = f"{_ROWS}/{len(self._references)}"
            self._references[key] = self._h5file.create_dataset(place, data=rows).ref
        return int(rows[0]), int(rows[-1]) + 1, self._references[key]

    def _close(self) -> None:
        for sink in self._sinks.values():
            sink.close()
        if self._h5file is not None:
            self._h5file.close()
            self._h5file = None

    def _abandon(self, error: BaseException) -> None:
        """Leave everything as it was."""
        if self._inputs is not None:
            self._inputs.give_up()
        try:
            self._close()
        except (OSError, RuntimeError):
            self._h5file = None
        assert self._output is not None
        self._output.__exit__(type(error), error, error.__traceback__)

    def _full(self, error: Exception) -> Exception:
        """Return the error to raise where writing failed."""
        text = str(error)
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        if not full and not any(
            f"errno = {number}," in text for number in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        ):
            if isinstance(error, StorageError):
                return error
            return StorageError(f"{self.path!r} cannot be written: {error}")
        folder = os.path.dirname(os.path.realpath(self.path))
        free = shutil.disk_usage(folder).free
        written = sum(self._written(name) for name in self._sinks)
        return StorageError(
            f"{self.path!r} cannot be written: there is no room left; {written:,} bytes of data "
            f"were to be stored so far, and {free:,} bytes are free in {folder!r}: make room, or "
            "give another directory"
        )

    def _written(self, name: str) -> int:
        spec, sink = self.specs[name], self._sinks[name]
        if spec.text or spec.ragged:
            return 16 * sink.count
        return (
            int(numpy.prod([int(size or 0) for size in spec.shape]))
            * int(spec.dtype.itemsize)
            * (sink.total or sink.count)
        )


def _extend(parts: list[tuple[int, int]], first: int, last: int) -> None:
    """Append a stretch of rows, joined to the one before where it goes on."""
    if first == last:
        return
    if parts and parts[-1][1] == first:
        parts[-1] = (parts[-1][0], last)
    else:
        parts.append((first, last))


def _batch_of(value: Any) -> Any:
    """Return a batch of one example."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return numpy.expand_dims(value, 0)
    return [value]


def _checked_sources(sources: Mapping[str, SourceSpec]) -> dict[str, SourceSpec]:
    if not sources:
        raise ValueError("there must be at least one source, got none")
    for name, spec in sources.items():
        if not isinstance(name, str) or not name or name == _ROWS or name.strip("/") != name:
            raise ValueError(
                f"the name of a source must be a text without '/' at its ends, got {name!r}"
            )
        if not isinstance(spec, SourceSpec):
            raise ValueError(f"source {name!r} must be described by a SourceSpec, got {spec!r:.80}")
    return dict(sources)


def _for_each(
    specs: Mapping[str, SourceSpec], argument: str, given: Any, legal: Any, default: Any
) -> dict[str, Any]:
    """Return an option for each source."""
    by_name = dict(given) if isinstance(given, Mapping) else dict.fromkeys(specs, given)
    for name, value in by_name.items():
        if name not in specs:
            raise ValueError(f"`{argument}` names {name!r}, which is no source")
        if value not in legal:
            raise ValueError(f"`{argument}` must be one of {legal}, got {value!r}")
    return {name: by_name.get(name, default) for name in specs}
