"""Writing `.npz` files array by array, piece by piece.

What is read is told in ``_export_read``.
"""

from __future__ import annotations

import zipfile
from typing import Any

import numpy

from fuel.converters._export_read import Part, Source, Stored, text_of
from fuel.exceptions import StorageError

__all__ = ["write_npz"]

#: The oldest time that a zip archive can note: the same data gives the same file.
_TIME = (1980, 1, 1, 0, 0, 0)


def write_npz(stored: Stored, path: str, compress: bool) -> None:
    """Write an ``.npz`` file that `numpy.load` reads.

    Parameters
    ----------
    stored : Stored
        What to write. The arrays are called by their sources; those of several splits get the
        name of the split, too: ``features_train``.
    path : str
        The file.
    compress : bool
        Whether to compress.

    Raises
    ------
    StorageError
        If examples differ in shape, for which the format has pickles only.

    """
    ragged = [source.name for source in stored.sources if source.ragged]
    if ragged:
        raise StorageError(
            f"the examples of {', '.join(ragged)} have different shapes, which .npz holds only as "
            "pickles; choose other sources with --sources, or another format, for example parquet"
        )
    names = {
        (source.name, part.name): source.name
        if len(stored.parts) == 1
        else f"{source.name}_{part.name}"
        for source in stored.sources
        for part in stored.parts
    }
    if len(set(names.values())) < len(names):
        raise StorageError(
            f"two arrays would have the same name among {', '.join(sorted(names.values()))}; "
            "export one split at a time"
        )
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for source in stored.sources:
            for part in stored.parts:
                entry = zipfile.ZipInfo(f"{names[source.name, part.name]}.npy", _TIME)
                entry.compress_type = method
                with archive.open(entry, "w", force_zip64=True) as file:
                    _write_array(stored, source, part, file)


def _write_array(stored: Stored, source: Source, part: Part, file: Any) -> None:
    dtype = source.dtype
    if dtype is None:
        width = 1
        for batch in stored.batches(part, [source.name]):
            for value in batch[source.name]:
                text = text_of(value)
                width = max(width, len(text))
                if text.endswith("\0"):
                    raise StorageError(
                        f"source {source.name!r} has a text that ends in a zero character, which "
                        "arrays of texts lose; choose another format"
                    )
        dtype = numpy.dtype(f"U{width}")
    shape = (part.num_examples, *source.shape)
    form = numpy.lib.format
    form.write_array_header_2_0(
        file, {"descr": form.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    )
    for batch in stored.batches(part, [source.name]):
        values = batch[source.name]
        if source.text:
            values = [text_of(value) for value in values]
        file.write(numpy.ascontiguousarray(values, dtype=dtype).tobytes())
