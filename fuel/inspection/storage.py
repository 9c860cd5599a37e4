"""How the sources of a file are stored, and whether that suits reading them in any order."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["advice", "storage_of"]

_FILTERS = {
    1: "gzip",
    2: "byte shuffle",
    3: "checksum (fletcher32)",
    4: "szip",
    5: "n-bit",
    6: "scale-offset",
    32000: "lzf",
    32001: "Blosc",
    32004: "LZ4",
    32008: "Bitshuffle",
    32013: "ZFP",
    32015: "Zstandard",
    32026: "Blosc2",
}
_COMPRESSING = frozenset({1, 4, 5, 6, 32000, 32001, 32004, 32008, 32013, 32015, 32026})
#: Decompressing this much takes about as long as fetching a batch of small examples.
_LARGE_CHUNK = 2**20
#: Pieces of a row beyond which copying them takes longer than the bytes.
_MANY_PIECES = 16


def storage_of(dataset: Any) -> dict[str, Any]:
    """Describe how a dataset is stored.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.

    Returns
    -------
    dict
        ``layout`` (``contiguous``, ``chunked``, ``compact``, ``external``, ``virtual`` or
        ``empty``), ``chunks``, ``filters`` (in words), ``raw_bytes`` and ``stored_bytes`` (None
        where the elements lie elsewhere), ``ratio`` (how many times smaller it became).

    """
    import h5py

    properties = dataset.id.get_create_plist()
    names = {
        h5py.h5d.CONTIGUOUS: "contiguous",
        h5py.h5d.CHUNKED: "chunked",
        h5py.h5d.COMPACT: "compact",
        h5py.h5d.VIRTUAL: "virtual",
    }
    layout = names.get(properties.get_layout(), "unknown")
    if dataset.shape is None:
        layout = "empty"
    elif layout == "contiguous" and properties.get_external_count():
        layout = "external"
    codes = [properties.get_filter(number)[0] for number in range(properties.get_nfilters())]
    inside = not dataset.dtype.hasobject and layout not in ("virtual", "external", "empty")
    raw = int(dataset.size or 0) * dataset.dtype.itemsize if inside else None
    stored = int(dataset.id.get_storage_size()) if inside else None
    return {
        "layout": layout,
        "chunks": list(dataset.chunks) if dataset.chunks else None,
        "filters": [_FILTERS.get(code, f"filter {code}") for code in codes],
        "compressed": not _COMPRESSING.isdisjoint(codes) or any(c not in _FILTERS for c in codes),
        "raw_bytes": raw,
        "stored_bytes": stored,
        "ratio": round(raw / stored, 3) if raw and stored else None,
    }


def advice(dataset: Any, found: dict[str, Any]) -> str | None:
    """Say what is in the way of reading a dataset in any order.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.
    found : dict
        What `storage_of` returned.

    Returns
    -------
    str or None
        A sentence; None where nothing is.

    """
    if found["layout"] in ("virtual", "external"):
        return "its elements lie in other files, which HDF5 reads row by row"
    if found["layout"] != "chunked" or dataset.ndim == 0 or not dataset.size:
        return None
    chunk_bytes = math.prod(dataset.chunks) * dataset.dtype.itemsize
    row_bytes = math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
    pieces = math.prod(
        -(-size // part) for size, part in zip(dataset.shape[1:], dataset.chunks[1:], strict=True)
    )
    if found["compressed"] and chunk_bytes * pieces > max(_LARGE_CHUNK, row_bytes):
        times = chunk_bytes * pieces / max(row_bytes, 1)
        return (
            f"to read one example at random, {chunk_bytes * pieces:,} bytes are decompressed, "
            f"{times:,.0f} times as many as it has"
        )
    if pieces > _MANY_PIECES:
        return f"every example lies in {pieces} pieces"
    return None
