"""Values that users' objects remember, as plain JSON that keeps their types, and back.

Also in this room: a mark for what JSON cannot hold (`describe` says so), which differs when such
a value has changed. Where memory is looked for is in `fuel.state._places`.
"""

from __future__ import annotations

import collections
import inspect
import io
import json
import pickle
import random
import types
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from fuel.exceptions import StateError, StateMismatchError
from fuel.state._envelope import digest
from fuel.state._generators import generator_state, is_generator, set_generator_state
from fuel.typing import JSON

__all__ = ["CONTAINERS", "Shape", "decode", "describe", "is_opaque", "is_python", "refill", "slots"]

#: Arrays up to this many elements are written out; larger ones count as not describable.
_LARGEST_ARRAY = 256
#: Longer containers are compared by digest: walking them would cost more than the epoch.
_LARGEST_CONTAINER = 2048
#: Longest description of one attribute, in characters of JSON.
_LONGEST = 65536
#: Larger arrays, in bytes, are compared by shape and type alone.
_LARGEST_DIGEST = 1 << 26
#: How far the contents of what cannot be written are followed.
_DEPTH = 8
_PRIMITIVE = (type(None), bool, int, float, str)
_MAPPINGS = (dict, collections.OrderedDict, collections.Counter)
_FACTORIES = {None: None, int: "int", float: "float", list: "list", dict: "dict", set: "set"}
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)


class Shape:
    """Stands for a container whose items are looked at one by one: what kinds they are."""

    def __init__(self, container: Any) -> None:
        if isinstance(container, dict):
            items = [(repr(key), type(value)) for key, value in container.items()]
        else:
            items = [("", type(value)) for value in container]
        self.kinds = [f"{name}:{kind.__qualname__}" for name, kind in items]
        self.type = type(container).__qualname__


class _Opaque(Exception):
    """A value that plain JSON cannot hold."""


def slots(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object keeps in the slots of its classes."""
    for cls in type(obj).__mro__:
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else tuple(names):
            if name in ("__dict__", "__weakref__"):
                continue
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{cls.__name__.lstrip('_')}{name}"
            try:
                yield name, getattr(obj, name)
            except AttributeError:  # nothing was assigned yet
                continue


def _encode(value: Any, depth: int = 0) -> JSON:
    """Return a value as JSON that keeps its Python type; raise `_Opaque` where there is none."""
    kind = type(value)
    if kind in _PRIMITIVE:
        return value if kind is not float else {"float": value.hex()}
    if depth > 16 or (isinstance(value, CONTAINERS) and len(value) > _LARGEST_CONTAINER):
        raise _Opaque
    if is_generator(value):
        return generator_state(value)
    if isinstance(value, numpy.generic) and not value.dtype.hasobject:
        return _encode_array(numpy.asarray(value), "scalar")
    if kind is numpy.ndarray and value.size <= _LARGEST_ARRAY and not value.dtype.hasobject:
        return _encode_array(value, "array")
    if kind in (bytes, bytearray) and len(value) <= _LARGEST_CONTAINER:
        return {kind.__name__: value.decode("latin-1")}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind in (list, tuple, set, frozenset):
        items = sorted(value, key=repr) if kind in (set, frozenset) else value
        return {kind.__name__: [_encode(item, depth + 1) for item in items]}
    if kind is collections.deque:
        return {"deque": [_encode(item, depth + 1) for item in value], "maxlen": value.maxlen}
    if kind in _MAPPINGS:
        return {kind.__name__: _pairs(value, depth)}
    if kind is collections.defaultdict and value.default_factory in _FACTORIES:
        factory = _FACTORIES[value.default_factory]
        return {"defaultdict": _pairs(value, depth), "factory": factory}
    raise _Opaque


def _pairs(value: Any, depth: int) -> JSON:
    return [[_encode(k, depth + 1), _encode(v, depth + 1)] for k, v in value.items()]


def _encode_array(value: numpy.ndarray, kind: str) -> JSON:
    if value.dtype.kind not in "biufcSUmM" or value.dtype.itemsize > 16 * 256:
        raise _Opaque
    if value.dtype.kind in "fc" and value.dtype.itemsize > (8 if value.dtype.kind == "f" else 16):
        raise _Opaque  # a long double is more than a float can say
    if value.dtype.kind in "mM":
        flat = value.astype("i8").ravel().tolist()
    elif value.dtype.kind == "f":
        flat = [float(item).hex() for item in value.ravel()]
    elif value.dtype.kind == "c":
        flat = [[float(c.real).hex(), float(c.imag).hex()] for c in value.ravel()]
    elif value.dtype.kind == "S":
        flat = [item.decode("latin-1") for item in value.ravel().tolist()]
    else:
        flat = value.ravel().tolist()
    return {kind: flat, "dtype": value.dtype.str, "shape": list(value.shape)}


_MAKE: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def decode(value: JSON) -> Any:
    """Return the value that a description stands for.

    Parameters
    ----------
    value : JSON
        What `describe` returned, for a value that can be written.

    Returns
    -------
    object
        An equal value of the same type.

    """
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float.fromhex(value["float"])
    if "generator" in value:
        return _decode_generator(value)
    for kind in ("scalar", "array"):
        if kind in value:
            return _decode_array(value, kind)
    if "bytes" in value:
        return value["bytes"].encode("latin-1")
    if "bytearray" in value:
        return bytearray(value["bytearray"].encode("latin-1"))
    if "complex" in value:
        return complex(*map(float.fromhex, value["complex"]))
    if "deque" in value:
        return collections.deque([decode(item) for item in value["deque"]], value["maxlen"])
    for kind, make in _MAKE.items():
        if kind in value:
            return make([decode(item) for item in value[kind]])
    for cls in _MAPPINGS:
        if cls.__name__ in value:
            return cls({decode(k): decode(v) for k, v in value[cls.__name__]})
    if "defaultdict" in value:
        factory = {name: made for made, name in _FACTORIES.items()}[value["factory"]]
        pairs = {decode(k): decode(v) for k, v in value["defaultdict"]}
        return collections.defaultdict(factory, pairs)
    raise StateMismatchError(
        f"a saved attribute cannot be read: {value!r:.80}; use the state as it was written"
    )


def _decode_generator(value: JSON) -> Any:
    inner = value["state"]
    if value["generator"] == "RandomState":
        rng: Any = numpy.random.RandomState()
    elif value["generator"] == "random.Random":
        rng = random.Random()
    else:
        bit_generator = getattr(numpy.random, inner["bit_generator"])
        rng = numpy.random.Generator(bit_generator())
    set_generator_state(rng, value)
    return rng


def _decode_array(value: JSON, kind: str) -> Any:
    dtype = numpy.dtype(value["dtype"])
    items = value[kind]
    if dtype.kind == "f":
        items = [float.fromhex(item) for item in items]
    elif dtype.kind == "c":
        items = [complex(*map(float.fromhex, item)) for item in items]
    elif dtype.kind == "S":
        items = [item.encode("latin-1") for item in items]
    array = numpy.array(items, dtype="i8" if dtype.kind in "mM" else dtype)
    array = array.astype(dtype).reshape(value["shape"])
    return array[()] if kind == "scalar" else array


def refill(target: Any, wanted: JSON) -> bool:
    """Give an object new contents without replacing it: others may refer to it.

    Parameters
    ----------
    target : object
        A generator, a container or an array.
    wanted : JSON
        The description of the contents.

    Returns
    -------
    bool
        False where it cannot be done.

    """
    if is_generator(target):
        set_generator_state(target, wanted)
        return True
    value = decode(wanted)
    if type(value) is not type(target):
        return False
    if isinstance(target, numpy.ndarray):
        same = target.shape == value.shape and target.dtype == value.dtype
        if not same or not target.flags.writeable:
            return False
        target[...] = value
    elif isinstance(target, (list, bytearray)):
        target[:] = value
    elif isinstance(target, collections.deque):
        if target.maxlen != value.maxlen:
            return False
        target.clear()
        target.extend(value)
    elif isinstance(target, (dict, set)):
        target.clear()
        target.update(value)
    else:
        return False
    return True


def describe(value: Any) -> JSON:
    """Return a value as plain JSON, or a mark that differs when the value has changed.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    JSON
        Plain JSON for `decode`; ``{"opaque": mark, "type": name}`` where there is none.

    """
    if isinstance(value, Shape):
        return {"opaque": value.kinds, "type": value.type}
    try:
        encoded = _encode(value)
        if type(value) in _PRIMITIVE or len(json.dumps(encoded)) <= _LONGEST:
            return encoded
    except _Opaque:
        pass
    return {"opaque": _mark(value, 0, set()), "type": type(value).__qualname__}


def is_opaque(described: JSON) -> bool:
    """Tell whether a description is a mark."""
    return isinstance(described, dict) and "opaque" in described


def _count() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


#: Marks for what cannot be compared: each differs from every other.
_unlike_any_other = _count()


def _mark(value: Any, depth: int, above: set[int]) -> JSON:
    kind = type(value).__qualname__
    if depth > _DEPTH or id(value) in above:
        return kind
    if isinstance(value, _PRIMITIVE):
        return [kind, repr(value)] if type(value) not in _PRIMITIVE else repr(value)
    if is_generator(value):
        return digest(json.dumps(generator_state(value)))
    if type(value) is numpy.ndarray and not value.dtype.hasobject:
        if value.nbytes > _LARGEST_DIGEST:
            return [kind, value.dtype.str, list(value.shape)]
        # Told apart from what it was, not from what somebody might forge: speed matters more.
        flat = numpy.ascontiguousarray(value).reshape(-1).view("u1")
        return [value.dtype.str, list(value.shape), zlib.crc32(flat)]  # type: ignore[arg-type]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return digest(bytes(value))
    if isinstance(value, types.GeneratorType):
        # A generator that has not begun remembers nothing yet; where it stands later is unknown.
        fresh = inspect.getgeneratorstate(value) == inspect.GEN_CREATED
        return "a generator, not started" if fresh else next(_unlike_any_other)
    if isinstance(value, io.IOBase) and not isinstance(value, (io.StringIO, io.BytesIO)):
        return _mark_file(value, kind)
    above = above | {id(value)}
    if isinstance(value, CONTAINERS):
        return [kind, _mark_items(value, depth, above), _mark_attributes(value, depth, above)]
    if isinstance(value, (types.ModuleType, type, types.FunctionType)):
        return kind
    tell = _place_of_ours(value)
    if tell is not None:
        return tell
    if is_python(type(value)):
        return [kind, _mark_attributes(value, depth, above)]
    try:
        return digest(pickle.dumps(value, protocol=5))
    except Exception:  # whatever a foreign object raises when it is pickled
        return next(_unlike_any_other) if hasattr(value, "__next__") else kind


def _mark_file(value: Any, kind: str) -> JSON:
    try:
        return [kind, None if value.closed or not value.seekable() else value.tell()]
    except (OSError, ValueError):  # a text file that is being iterated over does not say
        return next(_unlike_any_other)


def _mark_items(value: Any, depth: int, above: set[int]) -> JSON:
    if len(value) > _LARGEST_CONTAINER:
        return [len(value), _digest_of_many(value)]
    if isinstance(value, dict):
        pairs = value.items()
        return [[_mark(k, depth + 1, above), _mark(v, depth + 1, above)] for k, v in pairs]
    items = [_mark(item, depth + 1, above) for item in value]
    return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items


def _mark_attributes(value: Any, depth: int, above: set[int]) -> JSON:
    there = [*getattr(value, "__dict__", {}).items(), *slots(value)]
    return [[str(name), _mark(item, depth + 1, above)] for name, item in there]


def is_python(cls: type) -> bool:
    """Tell whether all that an object of a class holds is in its attributes and slots."""
    # A class made by a class statement is on the heap and can be changed.
    return all(base is object or base.__flags__ >> 8 & 3 == 2 for base in cls.__mro__)


def _place_of_ours(value: Any) -> JSON:
    """Return where an iterator of this package stands, None for anything else."""
    if not hasattr(value, "__next__") or not type(value).__module__.startswith("fuel."):
        return None
    try:
        tell = value.state_dict if hasattr(value, "state_dict") else value.tell
        return digest(json.dumps(tell()))
    except (StateError, AttributeError):
        return next(_unlike_any_other)


def _digest_of_many(value: Any) -> str:
    try:
        return digest(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return digest(pickle.dumps(value, protocol=5))
    except Exception:  # whatever a foreign object raises when it is pickled
        return "items that cannot be compared"
