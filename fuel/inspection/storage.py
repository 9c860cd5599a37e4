"""How the sources of a file are stored, and whether that suits reading them in any order.

Nothing here reads data. Rows are read as `fuel.io.hdf5` does: contiguous data and chunks without a
filter are copied straight from the file, of chunks with a filter the whole chunk has to be undone
to get at one row. The filters' numbers are those of HDF5's registry.
"""

from __future__ import annotations

import math
from typing import Any

from fuel.inspection._words import count_in_words, size_in_words

__all__ = ["advice", "filters_in_words", "layout_in_words", "random_reading", "storage_of"]

_FILTERS = {
    1: "gzip",
    2: "byte shuffle",
    3: "checksum (fletcher32)",
    4: "szip",
    5: "n-bit",
    6: "scale-offset",
    305: "LZO",
    307: "bzip2",
    32000: "lzf",
    32001: "Blosc",
    32004: "LZ4",
    32008: "Bitshuffle",
    32013: "ZFP",
    32015: "Zstandard",
    32026: "Blosc2",
}
_NOT_COMPRESSING = frozenset({2, 3})
#: The filters whose first parameter is the level.
_LEVELS = frozenset({1, 32015})
#: Decompressing this much takes about as long as fetching a batch of small examples.
_LARGE_CHUNK = 2**20
#: Chunks of a single large row overhang its edges; that much is no fault.
_OVERHANG = 1.5
#: Pieces of a row beyond which copying them takes longer than the bytes.
_MANY_PIECES = 16
#: From here on gzip takes its time to write, and makes little difference in size.
_HIGH_LEVEL = 7


def storage_of(dataset: Any, elements: int | None = None) -> dict[str, Any]:
    """Describe how a dataset is stored.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.
    elements : int, optional
        How many elements its examples of variable length have together, if that is known.

    Returns
    -------
    dict
        ``layout`` (``contiguous``, ``chunked``, ``compact``, ``external``, ``virtual`` or
        ``empty``), ``chunks``, ``filters`` (dicts of ``id``, ``name`` and ``level``),
        ``compressed``, ``raw_bytes`` and ``stored_bytes`` (None where the elements lie elsewhere,
        and nobody says how many), ``ratio`` (how many times smaller it became), and ``files``,
        the names of other files that hold the elements.

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
    filters = [_filter(properties.get_filter(n)) for n in range(properties.get_nfilters())]
    raw, stored = _sizes(dataset, layout, elements)
    return {
        "layout": layout,
        "chunks": list(dataset.chunks) if dataset.chunks else None,
        "filters": filters,
        "compressed": any(one["id"] not in _NOT_COMPRESSING for one in filters),
        "raw_bytes": raw,
        "stored_bytes": stored,
        "ratio": round(raw / stored, 3) if raw and stored else None,
        "files": _other_files(properties, layout),
    }


def _filter(found: tuple[int, int, tuple[int, ...], bytes]) -> dict[str, Any]:
    code, _, values, _ = found
    return {
        "id": int(code),
        "name": _FILTERS.get(code, f"filter {code}"),
        "level": int(values[0]) if code in _LEVELS and values else None,
    }


def _sizes(dataset: Any, layout: str, elements: int | None) -> tuple[int | None, int | None]:
    """Return what the elements take in memory, and what they take in the file."""
    import h5py

    if layout in ("virtual", "external", "empty"):
        return None, None
    kind = dataset.id.get_type()
    count = math.prod(dataset.shape)
    stored = int(dataset.id.get_storage_size())
    if isinstance(kind, h5py.h5t.TypeVlenID):
        # A reference of 16 bytes to each example, and the examples in the heap.
        if elements is None:
            return None, None
        inside = elements * int(kind.get_super().get_size())
        return inside, stored + inside
    if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
        return None, None
    return count * int(kind.get_size()), stored


def _other_files(properties: Any, layout: str) -> list[str]:
    if layout == "external":
        count = properties.get_external_count()
        found = [properties.get_external(number)[0] for number in range(count)]
    elif layout == "virtual":
        count = properties.get_virtual_count()
        found = [properties.get_virtual_filename(number) for number in range(count)]
    else:
        return []
    names = [name.decode("utf8", "replace") if isinstance(name, bytes) else name for name in found]
    return list(dict.fromkeys(names))


def layout_in_words(found: dict[str, Any]) -> str:
    """Return how a dataset is laid out.

    Parameters
    ----------
    found : dict
        What `storage_of` returned.

    Returns
    -------
    str
        A few words.

    """
    if found["chunks"]:
        return f"chunks of {' x '.join(map(str, found['chunks']))}"
    if found["files"]:
        names = found["files"]
        told = names[0] if len(names) == 1 else f"{len(names)} files"
        return f"{found['layout']}, in {told}"
    return str(found["layout"])


def filters_in_words(found: dict[str, Any]) -> str:
    """Return the filters of a dataset, with their levels, in the order in which they work.

    Parameters
    ----------
    found : dict
        What `storage_of` returned.

    Returns
    -------
    str
        ``byte shuffle, gzip level 4``, or nothing.

    """
    return ", ".join(
        one["name"] if one["level"] is None else f"{one['name']} level {one['level']}"
        for one in found["filters"]
    )


def random_reading(dataset: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Tell what it costs to read one row at random.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.
    found : dict
        What `storage_of` returned.

    Returns
    -------
    dict
        ``suitable``; ``row_bytes`` and ``read_bytes``, how large a row is and how much has to be
        read or decompressed for it, and their ``ratio`` (None where that cannot be told);
        ``pieces``, in how many chunks a row lies; ``reason``, what is in the way; ``remarks``,
        what else there is to know.

    """
    answer: dict[str, Any] = {
        "suitable": True,
        "row_bytes": None,
        "read_bytes": None,
        "ratio": None,
        "pieces": 1,
        "reason": None,
        "remarks": _remarks(dataset, found),
    }
    if found["layout"] in ("virtual", "external"):
        answer["suitable"] = False
        answer["reason"] = "its elements lie in other files, which HDF5 reads row by row"
        return answer
    if not dataset.shape or not math.prod(dataset.shape):
        return answer
    itemsize = int(dataset.id.get_type().get_size())
    row_bytes = math.prod(dataset.shape[1:]) * itemsize
    answer["row_bytes"] = answer["read_bytes"] = row_bytes
    answer["ratio"] = 1.0
    if found["layout"] != "chunked":
        return answer
    chunk_bytes = math.prod(dataset.chunks) * itemsize
    pieces = math.prod(
        -(-size // part) for size, part in zip(dataset.shape[1:], dataset.chunks[1:], strict=True)
    )
    answer["pieces"] = pieces
    if found["filters"]:
        needed = chunk_bytes * pieces
        answer["read_bytes"], answer["ratio"] = needed, round(needed / row_bytes, 3)
        if needed > max(_LARGE_CHUNK, _OVERHANG * row_bytes):
            answer["suitable"] = False
            verb = "decompressed" if found["compressed"] else "read"
            answer["reason"] = (
                f"to read one example at random, {needed:,} bytes are {verb}, "
                f"{needed / row_bytes:,.0f} times as many as it has"
            )
    if answer["suitable"] and pieces > _MANY_PIECES:
        answer["suitable"] = False
        answer["reason"] = f"every example lies in {pieces:,} pieces"
    return answer


def _remarks(dataset: Any, found: dict[str, Any]) -> list[str]:
    import h5py

    remarks = []
    kind = dataset.id.get_type()
    apart = isinstance(kind, h5py.h5t.TypeVlenID) or (
        isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
    )
    if apart and found["compressed"]:
        remarks.append(
            "its elements have variable length, so they lie in the file's heap and "
            f"{filters_in_words(found)} does not reach them, only the references to them"
        )
    for one in found["filters"]:
        if one["id"] == 1 and (one["level"] or 0) >= _HIGH_LEVEL and not apart:
            remarks.append(
                f"gzip level {one['level']} takes long to write, and is read no faster and little "
                "smaller than level 4"
            )
        if one["id"] not in _FILTERS:
            remarks.append(f"filter {one['id']} is not known here; HDF5 needs a plug-in to read it")
    if found["layout"] == "chunked" and dataset.shape and dataset.size:
        user_block = int(dataset.file.userblock_size)
        if user_block:
            remarks.append(
                f"the file begins with a user block of {size_in_words(user_block)}, so chunks are "
                "read through HDF5, not from the mapped file"
            )
        if found["stored_bytes"] == 0:
            told = count_in_words(len(dataset), "row")
            remarks.append(f"none of its {told} were written yet; all read as the fill value")
    return remarks


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
    reason: str | None = random_reading(dataset, found)["reason"]
    return reason
