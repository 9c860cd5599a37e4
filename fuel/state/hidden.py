"""What users' own objects remember between calls, found without their help.

A subclass written long ago may count its calls, keep a generator, or collect the last few items;
a function may close over a generator. None of them has a ``state_dict`` method. Such memory is
found by looking at the attributes of the object (and at the closure, the defaults and the global
generators of its functions) when it is seen first, and comparing later:

- what changed and can be written as plain JSON (numbers, strings, small arrays, lists, dicts,
  NumPy's generators) is part of the saved state;
- what changed and cannot be written is an error that names the class and the attribute, because
  a state that silently left it out would resume to other data.

Not seen: the memory of NumPy's global generator, of extension types, and of modules.
"""

from __future__ import annotations

import collections
import inspect
import io
import json
import pickle
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from fuel.exceptions import StateError, StateMismatchError
from fuel.state._envelope import digest
from fuel.state._generators import generator_state, is_generator, set_generator_state
from fuel.typing import JSON

__all__ = ["Memory", "capture", "has_state_methods", "restore"]

#: Arrays up to this many elements are written out; larger ones count as not describable.
_LARGEST_ARRAY = 256
#: Longer containers are compared by digest: walking them would cost more than the epoch.
_LARGEST_CONTAINER = 2048
#: Longest description of one attribute, in characters of JSON.
_LONGEST = 65536
#: How far attributes of attributes are followed.
_DEPTH = 4
#: Larger arrays, in bytes, are compared by shape and type alone.
_LARGEST_DIGEST = 1 << 26
_PRIMITIVE = (type(None), bool, int, float, str)
_CONTAINER_TYPES = (list, tuple, dict, set, frozenset, collections.deque)
_MAPPINGS = (dict, collections.OrderedDict, collections.Counter)


def _count() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


class _Opaque(Exception):
    """A value that plain JSON cannot hold."""


def _encode(value: Any, depth: int = 0) -> JSON:
    """Return a value as JSON that keeps its Python type; raise `_Opaque` where there is none."""
    if depth > 16:
        raise _Opaque
    if isinstance(value, _CONTAINER_TYPES) and len(value) > _LARGEST_CONTAINER:
        raise _Opaque
    if type(value) in _PRIMITIVE:
        return value if not isinstance(value, float) else {"float": value.hex()}
    if is_generator(value):
        return generator_state(value)
    if isinstance(value, numpy.generic) and not value.dtype.hasobject:
        return _encode_array(numpy.asarray(value), "scalar")
    if type(value) is numpy.ndarray and value.size <= _LARGEST_ARRAY and not value.dtype.hasobject:
        return _encode_array(value, "array")
    for kind in (list, tuple, set, frozenset, collections.deque):
        if type(value) is kind:
            items = sorted(value, key=repr) if kind in (set, frozenset) else value
            return {kind.__name__: [_encode(item, depth + 1) for item in items]}
    if type(value) in _MAPPINGS:
        pairs = [[_encode(k, depth + 1), _encode(v, depth + 1)] for k, v in value.items()]
        return {type(value).__name__: pairs}
    raise _Opaque


def _encode_array(value: numpy.ndarray, kind: str) -> JSON:
    if value.dtype.kind not in "biufSUmM":
        raise _Opaque
    if value.dtype.kind in "mM":
        flat = value.astype("i8").ravel().tolist()
    elif value.dtype.kind == "f":
        flat = [float(item).hex() for item in value.ravel()]
    elif value.dtype.kind == "S":
        flat = [item.decode("latin-1") for item in value.ravel().tolist()]
    else:
        flat = value.ravel().tolist()
    return {kind: flat, "dtype": value.dtype.str, "shape": list(value.shape)}


_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
}


def _decode(value: JSON) -> Any:
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float.fromhex(value["float"])
    if "generator" in value:
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
    for kind in ("scalar", "array"):
        if kind in value:
            dtype = numpy.dtype(value["dtype"])
            items = value[kind]
            if dtype.kind == "f":
                items = [float.fromhex(item) for item in items]
            elif dtype.kind == "S":
                items = [item.encode("latin-1") for item in items]
            array = numpy.array(items, dtype="i8" if dtype.kind in "mM" else dtype)
            array = array.astype(dtype).reshape(value["shape"])
            return array[()] if kind == "scalar" else array
    for kind, make in _CONTAINERS.items():
        if kind in value:
            return make([_decode(item) for item in value[kind]])
    for cls in _MAPPINGS:
        if cls.__name__ in value:
            return cls({_decode(k): _decode(v) for k, v in value[cls.__name__]})
    raise StateMismatchError(f"a saved attribute cannot be read: {value!r:.80}")


def has_state_methods(obj: Any) -> bool:
    """Tell whether an object describes its own state (``state_dict`` and ``load_state_dict``)."""
    return callable(getattr(obj, "state_dict", None)) and callable(
        getattr(obj, "load_state_dict", None)
    )


def _followed(value: Any) -> bool:
    """Whether an attribute is an object whose own attributes are to be looked at."""
    return (
        hasattr(value, "__dict__")
        and type(value) not in _MAPPINGS
        and not hasattr(value, "__next__")
        and not isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType))
    )


def _fields(obj: Any, skip: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Yield the places in an object where memory may be kept."""
    if isinstance(obj, types.MethodType):
        yield "__self__", obj.__self__
        return
    if isinstance(obj, types.FunctionType):
        names = obj.__code__.co_freevars
        for name, cell in zip(names, obj.__closure__ or (), strict=False):
            try:
                yield f"<closure {name}>", cell.cell_contents
            except ValueError:  # the cell is empty: the variable is not assigned yet
                continue
        for number, default in enumerate(obj.__defaults__ or ()):
            yield f"<default {number}>", default
        for name in obj.__code__.co_names:
            if is_generator(obj.__globals__.get(name)):
                yield f"<global {name}>", obj.__globals__[name]
        return
    for name, value in list(getattr(obj, "__dict__", {}).items()):
        if name not in skip:
            yield name, value


def _assign(obj: Any, name: str, value: Any) -> None:
    if name.startswith("<closure "):
        index = obj.__code__.co_freevars.index(name[9:-1])
        obj.__closure__[index].cell_contents = value
    elif name.startswith("<default "):
        defaults = list(obj.__defaults__)
        defaults[int(name[9:-1])] = value
        obj.__defaults__ = tuple(defaults)
    else:
        # Straight into the dictionary: a property or __setattr__ of the class may do more.
        obj.__dict__[name] = value


def _nothing(value: Any) -> bool:
    return False


class Memory:
    """Watches one object: what it looked like first, and what has changed since.

    Parameters
    ----------
    obj : object
        The object, in its first state.
    skip : iterable of str, optional
        Attributes that are looked after elsewhere.
    ignore : callable, optional
        ``ignore(value)`` is true for values that are not part of the memory of this object.
    methods : tuple of str, optional
        The methods to suggest to the author of a class whose memory cannot be described.

    """

    def __init__(
        self,
        obj: Any,
        skip: frozenset[str] = frozenset(),
        ignore: Callable[[Any], bool] = _nothing,
        methods: tuple[str, str] = ("state_dict", "load_state_dict"),
    ) -> None:
        self.skip = skip
        self.ignore = ignore
        self.methods = methods
        self.first = self._look(obj)

    def _walk(self, obj: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
        """Yield (path, holder, value) for every place of memory below an object."""
        seen = {id(obj)}
        stack: list[tuple[tuple[str, ...], Any]] = [((), obj)]
        while stack:
            path, holder = stack.pop()
            skip = self.skip if not path else frozenset()
            for name, value in _fields(holder, skip):
                if self.ignore(value):
                    continue
                here = (*path, name)
                if _followed(value) and not is_generator(value):
                    if id(value) not in seen and len(here) < _DEPTH:
                        seen.add(id(value))
                        stack.append((here, value))
                elif not isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
                    yield here, holder, value

    def _look(self, obj: Any) -> dict[tuple[str, ...], JSON]:
        found = {}
        for path, _, value in self._walk(obj):
            found[path] = _describe(value)
        return found

    def changes(self, obj: Any) -> dict[str, JSON]:
        """Describe what differs from the first look.

        Parameters
        ----------
        obj : object
            The object watched (or its copy in another process).

        Returns
        -------
        dict
            Plain JSON by path, only of what changed.

        Raises
        ------
        StateError
            If something changed that plain JSON cannot hold.

        """
        now = self._look(obj)
        changed: dict[str, JSON] = {}
        for path, value in now.items():
            if path in self.first and self.first[path] == value:
                continue
            if isinstance(value, dict) and "opaque" in value:
                name = ".".join(path)
                save, load = self.methods
                raise StateError(
                    f"{_class_of(obj)} keeps {name!r} ({value['type']}) between calls, which "
                    f"cannot be written as plain JSON; give the class `{save}()` and "
                    f"`{load}(state)` methods, or pickle the epoch iterator instead"
                )
            changed["/".join(path)] = value
        for path in self.first:
            if path not in now:
                changed["/".join(path)] = {"deleted": True}
        return changed

    def apply(self, obj: Any, changes: dict[str, JSON]) -> None:
        """Bring an object into the state that `changes` described.

        Parameters
        ----------
        obj : object
            An object in any state.
        changes : dict
            What `changes` returned.

        """
        target = {"/".join(path): value for path, value in self.first.items()}
        target.update(changes)
        present = {"/".join(path): (holder, value) for path, holder, value in self._walk(obj)}
        for path, wanted in target.items():
            holder, value = present.get(path, (None, None))
            if path in present and _describe(value) == wanted:
                continue
            if isinstance(wanted, dict) and "opaque" in wanted:
                continue
            if holder is None:
                holder = self._holder(obj, path)
            name = path.rsplit("/", 1)[-1]
            if isinstance(wanted, dict) and wanted.get("deleted"):
                getattr(holder, "__dict__", {}).pop(name, None)
            elif path in present and is_generator(value):
                set_generator_state(value, wanted)  # in place: others may share it
            else:
                _assign(holder, name, _decode(wanted))
        for path, (holder, _) in present.items():
            if path not in target:
                getattr(holder, "__dict__", {}).pop(path.rsplit("/", 1)[-1], None)

    def _holder(self, obj: Any, path: str) -> Any:
        for name in path.split("/")[:-1]:
            fields = dict(_fields(obj, frozenset()))
            if name not in fields:
                raise StateMismatchError(
                    f"the state describes {path!r} of {_class_of(obj)}, which has no {name!r} here"
                )
            obj = fields[name]
        return obj


def _class_of(obj: Any) -> str:
    return getattr(obj, "__name__", None) or type(obj).__name__


def _describe(value: Any) -> JSON:
    try:
        encoded = _encode(value)
        if isinstance(value, _PRIMITIVE) or len(json.dumps(encoded)) <= _LONGEST:
            return encoded
    except _Opaque:
        pass
    return {"opaque": _mark(value), "type": type(value).__qualname__}


def _mark(value: Any, depth: int = 0) -> JSON:
    """Return something that differs when a value that cannot be written has changed."""
    kind = type(value).__qualname__
    if depth > 8:
        return kind
    if isinstance(value, numpy.ndarray):
        if value.dtype.hasobject or value.nbytes > _LARGEST_DIGEST:
            return [kind, value.dtype.str, list(value.shape)]
        return digest(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return digest(bytes(value))
    if isinstance(value, _CONTAINER_TYPES) and len(value) > _LARGEST_CONTAINER:
        return [kind, len(value), _digest_of_many(value)]
    if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        return [kind, [_mark(item, depth + 1) for item in value]]
    if isinstance(value, dict):
        return [kind, [[_mark(k, depth + 1), _mark(v, depth + 1)] for k, v in value.items()]]
    if isinstance(value, types.GeneratorType):
        # A generator that has not begun remembers nothing yet; where it stands later is unknown.
        fresh = inspect.getgeneratorstate(value) == inspect.GEN_CREATED
        return "a generator, not started" if fresh else next(_unlike_any_other)
    if isinstance(value, _PRIMITIVE):
        return repr(value)
    if isinstance(value, io.IOBase):
        return [kind, None if value.closed or not value.seekable() else value.tell()]
    if not hasattr(value, "__dict__") or hasattr(value, "__next__"):
        try:
            return digest(pickle.dumps(value, protocol=5))
        except Exception:  # whatever a foreign object raises when it is pickled
            return next(_unlike_any_other) if hasattr(value, "__next__") else kind
    return kind


def _digest_of_many(value: Any) -> str:
    try:
        return digest(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return digest(pickle.dumps(value, protocol=5))
    except Exception:  # whatever a foreign object raises when it is pickled
        return "items that cannot be compared"


#: Marks for what cannot be compared: each differs from every other.
_unlike_any_other = _count()


def capture(obj: Any, memory: Memory | None = None) -> JSON:
    """Describe what an object remembers now.

    Parameters
    ----------
    obj : object
        An object with or without ``state_dict``.
    memory : Memory, optional
        Its first look; without one everything that can be described is.

    Returns
    -------
    JSON
        What `restore` takes.

    Raises
    ------
    StateError
        If it remembers something that cannot be written as plain JSON.

    """
    if has_state_methods(obj):
        return {"own": obj.state_dict()}
    if memory is not None:
        return {"changes": memory.changes(obj)}
    look = Memory(obj)._look(obj)
    return {
        "changes": {
            "/".join(path): value
            for path, value in look.items()
            if not (isinstance(value, dict) and "opaque" in value)
        }
    }


def restore(obj: Any, captured: JSON, memory: Memory | None = None) -> None:
    """Bring an object into a state captured earlier.

    Parameters
    ----------
    obj : object
        The object.
    captured : JSON
        What `capture` returned.
    memory : Memory, optional
        Its first look, if one was used when capturing.

    """
    if "own" in captured:
        obj.load_state_dict(captured["own"])
        return
    if memory is None:
        memory = Memory(obj)
        memory.first = {}
        present = {"/".join(path): value for path, _, value in memory._walk(obj)}
        memory.first = {tuple(path.split("/")): _describe(value) for path, value in present.items()}
    memory.apply(obj, captured["changes"])
