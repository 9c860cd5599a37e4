"""Arrays as a header and raw buffers.

The header is a list with one dict for each array, as the ``.npy`` format has it: ``descr`` (the
dtype), ``fortran_order`` and ``shape``. It is plain JSON; a buffer holds nothing but elements.
Nothing is pickled, and nothing that arrives is evaluated: a header is taken apart by hand, and
must agree with the real size of its buffer before memory is taken for the array.

Sockets are in `fuel.transport.sockets`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy

from fuel.exceptions import TransportError
from fuel.typing import JSON

__all__ = ["decode_arrays", "encode_arrays"]

#: Arrays handed out begin at a multiple of this many bytes, so that vector instructions and
#: other frameworks take them without a copy.
_ALIGNMENT = 64

#: NumPy 2 allows 64 axes; NumPy 1 allows 32 and refuses more by itself.
_MAX_AXES = 64

#: Structured types may be nested; nobody nests them deeper, and it bounds the recursion.
_MAX_NESTING = 16

#: A dtype without fields: byte order, kind, size in bytes (characters for U), unit of time.
_DTYPE = re.compile(
    r"[<>|=](?:[biufcSUV][0-9]{1,10}|[mM]8(?:\[(?:[1-9][0-9]{0,8})?[A-Za-z]{1,7}\])?)"
)

#: The kinds of dtype that hold plain elements.
_KINDS = "biufcmMSUV"

#: NumPy keeps the size of an element in a C int.
_MAX_ITEMSIZE = 2**31 - 1


def encode_arrays(arrays: Sequence[Any]) -> tuple[list[dict[str, JSON]], list[memoryview]]:
    """Turn arrays into a header and buffers.

    Parameters
    ----------
    arrays : sequence of array_like
        Any shapes, and any dtypes without Python objects.

    Returns
    -------
    headers : list of dict
        ``descr``, ``fortran_order`` and ``shape`` of each array; plain JSON.
    buffers : list of memoryview
        The elements of each, contiguous. A contiguous array is not copied.

    Raises
    ------
    TransportError
        If an item is not such an array. Nothing was sent then.

    Examples
    --------
    >>> headers, buffers = encode_arrays([numpy.arange(3, dtype="<i2")])
    >>> headers
    [{'descr': '<i2', 'fortran_order': False, 'shape': [3]}]
    >>> bytes(buffers[0])
    b'\\x00\\x00\\x01\\x00\\x02\\x00'

    """
    headers, buffers = [], []
    for number, item in enumerate(arrays):
        array = _as_array(item, number)
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        headers.append(
            {
                "descr": _describe(array.dtype, number),
                "fortran_order": bool(fortran),
                "shape": list(array.shape),
            }
        )
        flat = numpy.ascontiguousarray((array.T if fortran else array).reshape(-1))
        # As bytes: the buffer protocol knows neither times nor most structured types.
        raw = flat.view(numpy.uint8) if flat.nbytes else numpy.empty(0, numpy.uint8)
        buffers.append(raw.data)
    return headers, buffers


def decode_arrays(headers: JSON, buffers: Sequence[Any]) -> list[numpy.ndarray[Any, Any]]:
    """Turn a header and buffers back into arrays.

    Parameters
    ----------
    headers : JSON
        What `encode_arrays` returned, or anything else that came in its place.
    buffers : sequence of bytes-like
        The buffers.

    Returns
    -------
    list of numpy.ndarray
        Writable arrays that share memory with nothing, 64-byte aligned.

    Raises
    ------
    TransportError
        If the header is malformed or does not agree with the buffers.

    """
    if not isinstance(headers, list):
        raise TransportError(
            f"the header of a message must be a list of array headers, got {_short(headers)}; "
            f"the sender speaks another protocol"
        )
    if len(headers) != len(buffers):
        raise TransportError(
            f"the header of a message describes {len(headers)} arrays, but {len(buffers)} came "
            f"with it; the sender speaks another protocol"
        )
    # All are checked before the first is made.
    plans = [
        _check(header, memoryview(buffer).nbytes, number)
        for number, (header, buffer) in enumerate(zip(headers, buffers, strict=True))
    ]
    return [_make(*plan, buffer) for plan, buffer in zip(plans, buffers, strict=True)]


def _as_array(item: Any, number: int) -> numpy.ndarray[Any, Any]:
    if isinstance(item, numpy.ma.MaskedArray):
        raise TransportError(
            f"array {number} of a message is a masked array, whose mask would be lost; send its "
            f"data and its mask as two arrays"
        )
    try:
        array = numpy.asarray(item)
    except (ValueError, TypeError) as error:
        raise TransportError(
            f"item {number} of a message is no array and cannot be made one ({error}); pad "
            f"examples of different lengths first, for example with Padding"
        ) from error
    if array.dtype.hasobject:
        raise TransportError(
            f"array {number} of a message has dtype {array.dtype}, which holds Python objects; "
            f"only plain elements are sent: convert it, or pad examples of different lengths "
            f"first, for example with Padding"
        )
    return array


def _describe(dtype: numpy.dtype[Any], number: int) -> JSON:
    try:
        descr = _describe_part(dtype)
        if _parse(descr) != dtype:
            raise ValueError("its fields cannot be listed")
    except (ValueError, TypeError) as error:
        raise TransportError(
            f"array {number} of a message has dtype {dtype}, which cannot be described to the "
            f"receiver ({error}); convert it to a plain dtype"
        ) from error
    return descr


def _describe_part(dtype: numpy.dtype[Any]) -> JSON:
    """Describe a dtype as the ``.npy`` format does, or with offsets where that has no words."""
    if dtype.names is None:
        if dtype.kind not in _KINDS:
            raise ValueError("it is not a built-in type")
        return dtype.str
    fields = []
    for name in dtype.names:
        part, offset, *title = dtype.fields[name]  # type: ignore[index]
        base, shape = part.subdtype if part.subdtype is not None else (part, ())
        label = [title[0], name] if title else name
        fields.append((label, _describe_part(base), list(shape), offset, part.itemsize))
    descr: list[JSON] = []
    end = 0
    for label, base, shape, offset, size in fields:
        if offset < end or label == "":
            return {
                "names": [label for label, *_ in fields],
                "formats": [[base, shape] for _, base, shape, *_ in fields],
                "offsets": [offset for *_, offset, _ in fields],
                "itemsize": dtype.itemsize,
            }
        if offset > end:
            descr.append(["", f"|V{offset - end}"])
        descr.append([label, base, shape] if shape else [label, base])
        end = offset + size
    if dtype.itemsize > end:
        descr.append(["", f"|V{dtype.itemsize - end}"])
    return descr


def _check(header: JSON, size: int, number: int) -> tuple[numpy.dtype[Any], tuple[int, ...], bool]:
    """Return dtype, shape and order from one header, if it is sound and fits its buffer."""
    try:
        if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
            raise ValueError("it must have descr, fortran_order and shape, and nothing else")
        fortran, shape = header["fortran_order"], header["shape"]
        if not isinstance(fortran, bool):
            raise ValueError("fortran_order must be true or false")
        if not isinstance(shape, list) or len(shape) > _MAX_AXES:
            raise ValueError(f"shape must be a list of at most {_MAX_AXES} numbers")
        if any(type(length) is not int or length < 0 for length in shape):
            raise ValueError("shape must hold integers of 0 or more")
        dtype = _parse(header["descr"])
        if dtype.hasobject:
            raise ValueError("its dtype holds Python objects")
        expected = math.prod(shape) * dtype.itemsize  # Python's integers do not overflow
        if expected != size:
            raise ValueError(f"it describes {_amount(expected)}, but {size} bytes came")
        # No buffer bounds an array of elements without size, and NumPy cannot address more.
        if math.prod(length for length in shape if length) * max(dtype.itemsize, 1) >= 2**63:
            raise ValueError("no array can be that large")
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise TransportError(
            f"the header of array {number} of a message is malformed: {error}; got "
            f"{_short(header)}; the message was damaged, or the sender speaks another protocol"
        ) from error
    return dtype, tuple(shape), fortran


def _parse(descr: JSON, nesting: int = 0) -> numpy.dtype[Any]:
    """Return the dtype that a description stands for. NumPy is handed checked parts only."""
    if isinstance(descr, str):
        if not _DTYPE.fullmatch(descr):
            raise ValueError(f"{descr[:40]!r} is not the description of a plain dtype")
        return numpy.dtype(descr)
    if nesting >= _MAX_NESTING:
        raise ValueError("its dtype is nested too deep")
    if isinstance(descr, dict):
        return _parse_with_offsets(descr, nesting)
    if not isinstance(descr, list):
        raise ValueError("descr must be a text or a list of fields")
    labels, dtypes, offsets, offset = [], [], [], 0
    for field in descr:
        if not isinstance(field, list) or len(field) not in (2, 3):
            raise ValueError("a field must have a name, a dtype and perhaps a shape")
        dtype = _parse_field(field[1], field[2] if len(field) == 3 else [], nesting)
        # A field of bytes without a name is the padding of an aligned type.
        if not (field[0] == "" and dtype.names is None and dtype.kind == "V"):
            labels.append(field[0])
            dtypes.append(dtype)
            offsets.append(offset)
        offset += dtype.itemsize
        if offset > _MAX_ITEMSIZE:
            raise ValueError("its fields are larger than any dtype can be")
    return _structured(labels, dtypes, offsets, offset)


def _parse_with_offsets(descr: dict[str, JSON], nesting: int) -> numpy.dtype[Any]:
    if set(descr) != {"names", "formats", "offsets", "itemsize"}:
        raise ValueError("a dtype with offsets must have names, formats, offsets and itemsize")
    names, formats, offsets = descr["names"], descr["formats"], descr["offsets"]
    itemsize = descr["itemsize"]
    if any(not isinstance(part, list) for part in (names, formats, offsets)) or not (
        len(names) == len(formats) == len(offsets)
    ):
        raise ValueError("names, formats and offsets must be lists of one length")
    if any(
        type(part) is not int or not 0 <= part <= _MAX_ITEMSIZE for part in (itemsize, *offsets)
    ):
        raise ValueError("offsets and itemsize must be integers of 0 or more")
    if any(not isinstance(part, list) or len(part) != 2 for part in formats):
        raise ValueError("a format must be a dtype and a shape")
    dtypes = [_parse_field(base, shape, nesting) for base, shape in formats]
    for dtype, offset in zip(dtypes, offsets, strict=True):
        if offset + dtype.itemsize > itemsize:
            raise ValueError("a field lies outside of its dtype")
    return _structured(names, dtypes, offsets, itemsize)


def _parse_field(descr: JSON, shape: JSON, nesting: int) -> numpy.dtype[Any]:
    dtype = _parse(descr, nesting + 1)
    if not isinstance(shape, list) or len(shape) > _MAX_AXES:
        raise ValueError("the shape of a field must be a list of numbers")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError("the shape of a field must hold integers of 0 or more")
    # The longest product of the lengths that are not 0 must fit too: NumPy multiplies them.
    if math.prod(max(length, 1) for length in shape) * max(dtype.itemsize, 1) > _MAX_ITEMSIZE:
        raise ValueError("a field is larger than any dtype can be")
    return numpy.dtype((dtype, tuple(shape))) if shape else dtype


def _structured(
    labels: list[Any], dtypes: list[Any], offsets: list[int], itemsize: int
) -> numpy.dtype[Any]:
    names, titles = [], []
    for label in labels:
        title, name = label if isinstance(label, list) and len(label) == 2 else (None, label)
        if not isinstance(name, str) or not (title is None or isinstance(title, str)):
            raise ValueError("the name of a field must be a text, or a title and a text")
        names.append(name)
        titles.append(title)
    parts = {"names": names, "formats": dtypes, "offsets": offsets, "titles": titles}
    return numpy.dtype({**parts, "itemsize": itemsize})  # type: ignore[call-overload,no-any-return]


def _make(
    dtype: numpy.dtype[Any], shape: tuple[int, ...], fortran: bool, buffer: Any
) -> numpy.ndarray[Any, Any]:
    source = numpy.frombuffer(buffer, numpy.uint8) if len(buffer) else None
    size = 0 if source is None else source.size
    memory = numpy.empty(size + _ALIGNMENT, numpy.uint8)
    first = -memory.ctypes.data % _ALIGNMENT
    memory = memory[first : first + size]
    if source is not None:
        memory[:] = source
    try:
        array: numpy.ndarray[Any, Any] = numpy.ndarray(
            shape, dtype, memory, order="F" if fortran else "C"
        )
    except (ValueError, TypeError, MemoryError) as error:
        raise TransportError(
            f"an array of shape {shape} and dtype {dtype} came, which this NumPy cannot hold "
            f"({error}); send it in another shape"
        ) from error
    return array


def _amount(size: int) -> str:
    return f"{size} bytes" if size < 2**63 else "more bytes than can exist"


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # integers of thousands of digits, deep nesting
        text = f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."
