"""Numbers, names and types of elements as people read them."""

from __future__ import annotations

from typing import Any

import numpy

__all__ = ["clean", "count_in_words", "number", "size_in_words", "type_in_words"]


def clean(text: str | bytes) -> str:
    """Make a text from a file safe to print in one line.

    Parameters
    ----------
    text : str or bytes
        Anything; names in files may hold bytes that are no text, and what moves the cursor.

    Returns
    -------
    str
        The text, with what cannot be printed written as an escape sequence.

    Examples
    --------
    >>> print(clean("a\\x1b[31mb\\nc"))
    a\\x1b[31mb\\nc

    """
    if isinstance(text, str):
        text = text.encode("utf8", "surrogateescape")
    text = text.decode("utf8", "backslashreplace")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def size_in_words(size: float | None) -> str:
    """Return a number of bytes with a unit.

    Parameters
    ----------
    size : float or None
        The number.

    Returns
    -------
    str
        In powers of 1024; nothing for None.

    Examples
    --------
    >>> size_in_words(512), size_in_words(3 * 2**20)
    ('512 B', '3.0 MiB')

    """
    if size is None:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"


def count_in_words(count: int, thing: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count_in_words(1, "file"), count_in_words(12000, "file")
    ('1 file', '12,000 files')

    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def number(value: float | None) -> str:
    """Return a number in at most six digits, whole ones in full; nothing for None."""
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def type_in_words(dtype: Any) -> str:
    """Return what the elements of a dataset are.

    Parameters
    ----------
    dtype : numpy.dtype or None
        The type as h5py tells it; None for one that NumPy has nothing like.

    Returns
    -------
    str
        ``float64, big-endian``, ``text of 4 bytes``, ``enum of int8 (cat, dog)`` and the like.

    """
    import h5py

    if dtype is None:
        return "of a type that NumPy does not have"
    text = h5py.check_string_dtype(dtype)
    if text is not None:
        return "text" if text.length is None else f"text of {count_in_words(text.length, 'byte')}"
    element = h5py.check_vlen_dtype(dtype)
    if element is not None:
        return f"{type_in_words(numpy.dtype(element))}, variable length"
    names = h5py.check_enum_dtype(dtype)
    if names is not None:
        shown = [clean(name) for name in list(names)[:6]] + ["..."] * (len(names) > 6)
        return f"enum of {dtype.name} ({', '.join(shown)})"
    reference = h5py.check_ref_dtype(dtype)
    if reference is not None:
        region = reference is h5py.RegionReference
        return "references to parts of datasets" if region else "references"
    if dtype.names is not None:
        fields = [f"{clean(name)}: {type_in_words(dtype[name])}" for name in dtype.names]
        return "{" + ", ".join(fields) + "}"
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{type_in_words(base)} ({' x '.join(map(str, shape))})"
    if dtype.kind == "V":
        return f"opaque, {count_in_words(dtype.itemsize, 'byte')}"
    if dtype.kind == "O":
        return "objects"
    big = dtype.byteorder == ">" and dtype.itemsize > 1
    return f"{dtype.name}{', big-endian' if big else ''}"
