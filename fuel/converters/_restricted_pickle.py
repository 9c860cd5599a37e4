"""Reading pickles that came from elsewhere: arrays, plain containers, texts and numbers only.

A pickle is a program, and the ordinary reader runs whatever it names. This one runs nothing: the
few names that NumPy's arrays need stand for functions of this module, and any other ends the
reading. Pickles of Python 2 are understood.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from fuel.converters._raw import damaged
from fuel.exceptions import StorageError

__all__ = ["load"]

#: How many reads one pickle may take; each step takes at least one, and adds little to memory.
MAX_READS = 20_000_000

# Containers in containers; a list that holds itself would have no end.
_MAX_DEPTH = 16

_PLAIN = re.compile(r"[<>|=]?(b1?|[iu][1248]|f[248]|c(8|16)|[SUa][0-9]+)")


def load(file: IO[bytes], name: str, advice: str, *, max_read_bytes: int) -> Any:
    """Read one object from a pickle.

    Parameters
    ----------
    file : binary file object
        The pickle, read forwards.
    name : str
        What messages call it.
    advice : str
        What messages tell to do if it is not accepted.
    max_read_bytes : int
        The most that may be asked of ``file`` at a time, such as its size.

    Returns
    -------
    object
        Lists, tuples, dicts, sets, `str`, `bytes`, numbers, bool, None, NumPy arrays and scalars
        of plain types. A `str` of Python 2 becomes a `str` of the characters 0 to 255.

    Raises
    ------
    StorageError
        If it is damaged, or holds or names anything else, which is told. Nothing of what it names
        is imported or called.

    Notes
    -----
    What the standard library's documentation calls restricting globals, with two differences.
    First, not even NumPy's own functions are called, as they trust what they are given (sizes,
    flags, types of Python objects). Second, the reader is the one in Python, as the one in C
    reserves memory for whatever place in its memo a pickle of a few bytes names.

    Examples
    --------
    >>> import io
    >>> load(io.BytesIO(pickle.dumps({"a": [1]})), "x", "get it again", max_read_bytes=100)
    {'a': [1]}

    """
    try:
        return _plain(_Reader(_Counted(file, max_read_bytes)).load(), 0)
    except _Refused as error:
        raise damaged(name, f"this pickle is not accepted: {error}", advice) from None
    except StorageError:
        raise
    except Exception as error:  # a program of nonsense fails in any way
        cut = isinstance(error, EOFError) or "truncated" in str(error)
        fact = "the pickle is cut short" if cut else f"it is not a readable pickle ({error!r:.200})"
        raise damaged(name, fact, advice) from error


class _Refused(Exception):
    """A pickle wants what is not given to it."""


class _Counted:
    """A file of which only so much can be asked, and so often."""

    def __init__(self, file: IO[bytes], max_read_bytes: int) -> None:
        self._file = file
        self._max_read_bytes = max_read_bytes
        self._left = MAX_READS

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _Refused(f"it takes more than {MAX_READS} steps")

    def read(self, size: int) -> bytes:
        self._count()
        if not 0 <= size <= self._max_read_bytes:
            raise EOFError(f"{size} bytes are announced")
        return self._file.read(size)

    def readline(self) -> bytes:
        self._count()
        return self._file.readline(self._max_read_bytes)


# The private name is that of the reader in Python, which is there wherever Python is.
class _Reader(pickle._Unpickler):
    """Gives a pickle stand-ins for the names that arrays need, and refuses all others."""

    def __init__(self, file: _Counted) -> None:
        super().__init__(file, encoding="latin-1")

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module.replace("numpy._core.", "numpy.core."), name]
        except KeyError:
            raise _Refused(f"it wants to run {f'{module}.{name}'!r:.200}") from None

    def persistent_load(self, pid: Any) -> Any:
        raise _Refused(f"it refers to an object outside of it, {pid!r:.50}")

    def get_extension(self, code: int) -> None:
        raise _Refused(f"it wants to run the extension {code}")

    def load_frame(self) -> None:
        # Frames only say what to read ahead. Unframed, all that is read is counted.
        self.read(8)  # type: ignore[attr-defined]

    dispatch = {
        **pickle._Unpickler.dispatch,
        pickle.FRAME[0]: load_frame,  # type: ignore[dict-item]
    }


class _Function:
    """A stand-in for a function or class: it can be called, and nothing else."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __setstate__(self, state: Any) -> None:
        raise _Refused("it wants to change a function")


class _Dtype:
    """A stand-in for a type of elements."""

    __slots__ = ("dtype",)

    def __init__(self, name: Any, *flags: Any) -> None:
        if not isinstance(name, str) or _PLAIN.fullmatch(name) is None:
            raise _Refused(f"it has elements of type {name!r:.50}")
        self.dtype = numpy.dtype(name)

    def __setstate__(self, state: Any) -> None:
        _, order, subtype, names, fields, *_ = state
        if order not in ("<", ">", "=", "|") or (subtype, names, fields) != (None, None, None):
            raise _Refused("it has elements that have parts")
        if order in "<>":
            self.dtype = self.dtype.newbyteorder(order)


class _Array:
    """A stand-in for an array."""

    __slots__ = ("array", "scalar")

    def __init__(self, array: NDArray[Any] | None = None, scalar: bool = False) -> None:
        self.array = array
        self.scalar = scalar

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, content = state
        self.array = _array(content, dtype, shape, "F" if fortran else "C")


def _array(content: Any, dtype: Any, shape: Any, order: str) -> NDArray[Any]:
    if not isinstance(dtype, _Dtype):
        raise _Refused(f"it has elements of type {dtype!r:.50}")
    if isinstance(content, str):
        content = content.encode("latin-1")
    if not isinstance(content, (bytes, bytearray)):
        raise _Refused("it has an array of objects")
    lengths = tuple(shape)
    if not all(type(length) is int and length >= 0 for length in lengths) or order not in "CF":
        raise _Refused(f"it has an array of the shape {lengths!r:.50}")
    size = dtype.dtype.itemsize
    for length in lengths:
        size *= length
    if len(content) != size:
        raise _Refused(f"it has {len(content)} bytes for an array that needs {size}")
    if dtype.dtype.itemsize == 0:
        return numpy.zeros(lengths, dtype.dtype)
    array = numpy.frombuffer(content, dtype.dtype)
    return array.reshape(lengths, order="F" if order == "F" else "C")


def _frombuffer(content: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    return _Array(_array(content, dtype, shape, order))


def _scalar(dtype: Any, content: Any) -> _Array:
    return _Array(_array(content, dtype, (), "C"), scalar=True)


def _complex(real: Any, imaginary: Any) -> complex:
    if not (isinstance(real, float) and isinstance(imaginary, float)):
        raise _Refused("it has a complex number of other things than numbers")
    return complex(real, imaginary)


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    # How bytes are written by the protocols that have none.
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise _Refused("it wants to run '_codecs.encode' with what are no bytes")
    return text.encode("latin-1")


def _empty_bytes() -> bytes:
    return b""


def _nothing(*args: Any) -> Any:
    raise _Refused("it wants to make an array in an unknown way")


def _reconstruct(*args: Any) -> _Array:
    return _Array()


_ALLOWED: dict[tuple[str, str], _Function] = {
    ("numpy.core.multiarray", "_reconstruct"): _Function(_reconstruct),
    ("numpy.core.multiarray", "scalar"): _Function(_scalar),
    ("numpy.core.numeric", "_frombuffer"): _Function(_frombuffer),
    ("numpy", "ndarray"): _Function(_nothing),
    ("numpy", "dtype"): _Function(_Dtype),
    ("_codecs", "encode"): _Function(_encode),
    ("__builtin__", "bytes"): _Function(_empty_bytes),
    ("__builtin__", "complex"): _Function(_complex),
    ("builtins", "bytes"): _Function(_empty_bytes),
    ("builtins", "complex"): _Function(_complex),
}

_SIMPLE = (str, bytes, bytearray, int, float, complex, bool, type(None))


def _plain(value: Any, depth: int) -> Any:
    """Put arrays in the place of their stand-ins."""
    if isinstance(value, _SIMPLE):
        return value
    if depth > _MAX_DEPTH:
        raise _Refused(f"it has more than {_MAX_DEPTH} containers in each other")
    if isinstance(value, _Array):
        if value.array is None:
            raise _Refused("it has an array without content")
        return value.array[()] if value.scalar else value.array
    if isinstance(value, dict):
        return {_key(key): _plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value)(_all_plain(list(value), depth + 1))
    raise _Refused(f"it has a {type(value).__name__.lstrip('_').lower()} as a value")


def _all_plain(values: Sequence[Any], depth: int) -> list[Any]:
    return [_plain(value, depth) for value in values]


def _key(key: Any) -> Any:
    if not isinstance(key, _SIMPLE):
        raise _Refused(f"it has a key of type {type(key).__name__}")
    return key
