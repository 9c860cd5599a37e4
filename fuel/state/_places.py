"""The places in a user's object where it may keep something between calls.

Attributes and slots; data attributes of its classes; closures, defaults and attributes of
functions, and the globals that they assign, draw from or change; what partials and bound methods
hold. A variable around a function that it only writes to is none (`fuel.state._writes`). How what
is found there is written down is in `fuel.state._values`.
"""

from __future__ import annotations

import collections
import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy

from fuel.state._generators import is_generator
from fuel.state._values import CONTAINERS, Shape, is_python, slots
from fuel.state._writes import only_written

__all__ = ["assign", "fields", "followed", "is_users", "remove"]

#: Longer containers are not looked into item by item.
_LARGEST = 64
_LEAVES = (type, types.ModuleType, str, bytes, bytearray, numpy.ndarray, numpy.generic, Shape)
_CHANGEABLE = (list, dict, set, collections.deque, bytearray, numpy.ndarray)


def followed(value: Any) -> bool:
    """Tell whether a value is an object whose own places are to be looked at."""
    if isinstance(value, (types.MethodType, types.FunctionType, functools.partial)):
        return True
    if isinstance(value, types.BuiltinMethodType):
        held = value.__self__
        return held is not None and not isinstance(held, (type, types.ModuleType))
    if type(value) in CONTAINERS:
        return 0 < len(value) <= _LARGEST and any(_needs_following(item) for item in _items(value))
    if isinstance(value, type):
        return is_python(value) and not _is_library(value.__module__)
    return _is_object(value)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "fuel"


def _is_object(value: Any) -> bool:
    if isinstance(value, (*_LEAVES, *CONTAINERS)) or is_generator(value):
        return False
    if hasattr(value, "__next__"):
        # An iterator is where its type says; ours and a user's keep that in attributes.
        return is_python(type(value)) and not _is_ours(type(value))
    return hasattr(value, "__dict__") or any(True for _ in slots(value))


def is_users(value: Any) -> bool:
    """Tell whether an object is of a class that a user wrote, outside any library."""
    return is_python(type(value)) and not _is_library(type(value).__module__)


def _needs_following(item: Any) -> bool:
    return is_generator(item) or (
        type(item) not in CONTAINERS
        and not isinstance(item, types.BuiltinFunctionType)
        and followed(item)
    )


def _items(container: Any) -> Any:
    return container.values() if isinstance(container, dict) else container


def fields(obj: Any, skip: frozenset[str] = frozenset()) -> Iterator[tuple[str, Any]]:
    """Yield the places in an object where memory may be kept.

    Parameters
    ----------
    obj : object
        Anything.
    skip : iterable of str, optional
        Attributes to leave out.

    Yields
    ------
    (str, object)
        The name of the place and what is there.

    """
    if isinstance(obj, (types.MethodType, types.BuiltinMethodType)):
        yield "__self__", obj.__self__
        if isinstance(obj, types.MethodType):
            yield "__func__", obj.__func__
        return
    if type(obj) in CONTAINERS:
        names: Any = obj if isinstance(obj, dict) else range(len(obj))
        yield from zip((f"[{name!r}]" for name in names), _items(obj), strict=False)
        yield "<items>", Shape(obj)
        return
    if isinstance(obj, functools.partial):
        yield "<func>", obj.func
        yield from ((f"<argument {number}>", item) for number, item in enumerate(obj.args))
        yield from ((f"<keyword {name}>", item) for name, item in obj.keywords.items())
    elif isinstance(obj, types.FunctionType):
        yield from _of_function(obj)
    elif isinstance(obj, type):
        yield from _of_classes(obj, skip)
        return
    for name, value in list(getattr(obj, "__dict__", {}).items()):
        if name not in skip and name != "__wrapped__":
            yield name, value
    yield from ((name, value) for name, value in slots(obj) if name not in skip)
    if not isinstance(obj, types.FunctionType):
        yield from _of_classes(obj, skip)


def _of_function(function: Any) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            if name != "__class__" and not only_written(function, name, cell.cell_contents):
                yield f"<closure {name}>", cell.cell_contents
        except ValueError:  # the cell is empty: the variable is not assigned yet
            continue
    for number, default in enumerate(function.__defaults__ or ()):
        yield f"<default {number}>", default
    for name, default in (function.__kwdefaults__ or {}).items():
        yield f"<default {name}>", default
    if _is_library(function.__module__):
        return
    chains, stored = _globals_used(function.__code__)
    module = function.__globals__.get("__name__")
    for chain in chains:
        name, value = chain[0], function.__globals__.get(chain[0])
        for attribute in chain[1:]:
            if not isinstance(value, types.ModuleType):
                break
            value = getattr(value, attribute, None)
            name = f"{name}.{attribute}"
        held = getattr(value, "__self__", None)
        if is_generator(held):
            yield f"<global {name}>", held
        elif "." not in name and (
            is_generator(value)
            or name in stored
            or isinstance(value, (*_CHANGEABLE, functools.partial))
            or (module is not None and _home(value) == module)
        ):
            yield f"<global {name}>", value


@functools.lru_cache(maxsize=1024)
def _is_library(module: str | None) -> bool:
    """Tell whether a module is installed, or ours: no place where a user keeps anything."""
    package = (module or "").partition(".")[0]
    if package in sys.stdlib_module_names or package == "fuel":
        return package != "__main__"
    path = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    return "site-packages" in path or "dist-packages" in path


def _home(value: Any) -> Any:
    """Return the module that a function, or the class of an object, was written in."""
    if isinstance(value, types.FunctionType):
        return value.__globals__.get("__name__")
    if isinstance(value, type):
        return value.__module__
    return getattr(type(value), "__module__", None)


@functools.lru_cache(maxsize=4096)
def _globals_used(code: types.CodeType) -> tuple[tuple[tuple[str, ...], ...], frozenset[str]]:
    """Return the dotted global names that a function mentions, and those that it assigns."""
    chains: dict[tuple[str, ...], None] = {}
    stored: set[str] = set()
    chain: list[str] = []
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain.append(str(step.argval))
            continue
        if chain:
            chains[tuple(chain)] = None
            chain = []
        if step.opname == "LOAD_GLOBAL":
            chain = [str(step.argval)]
        elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            stored.add(str(step.argval))
            chains[(str(step.argval),)] = None
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            others, assigned = _globals_used(inner)
            chains.update(dict.fromkeys(others))
            stored |= assigned
    return tuple(chains), frozenset(stored)


def _of_classes(obj: Any, skip: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """Yield the data and the functions of the classes that a user wrote."""
    kind = obj if isinstance(obj, type) else type(obj)
    own = {} if isinstance(obj, type) else getattr(obj, "__dict__", {})
    first = kind.__module__.partition(".")[0]
    for cls in kind.__mro__:
        package = cls.__module__.partition(".")[0]
        if package != first or _is_library(cls.__module__):
            continue
        for name, value in list(vars(cls).items()):
            value = getattr(value, "__func__", value)  # of class and static methods
            if isinstance(value, types.FunctionType):
                yield f"<method {cls.__name__}.{name}>", value
            elif isinstance(value, property):
                for part in (value.fget, value.fset):
                    if isinstance(part, types.FunctionType):
                        yield f"<property {cls.__name__}.{name}.{part.__name__}>", part
            elif _is_data(name, value) and name not in own and name not in skip:
                yield f"<class {cls.__name__}.{name}>", value


def _is_data(name: str, value: Any) -> bool:
    return not name.startswith(("__", "_abc_")) and not (
        isinstance(value, type) or hasattr(type(value), "__get__")
    )


def assign(obj: Any, name: str, value: Any) -> None:
    """Put a value into a place that `fields` yielded.

    Parameters
    ----------
    obj : object
        The holder.
    name : str
        The name of the place.
    value : object
        What is to be there.

    """
    kind, _, rest = name[1:-1].partition(" ")
    if name.startswith("<closure "):
        obj.__closure__[obj.__code__.co_freevars.index(rest)].cell_contents = value
    elif name.startswith("<default "):
        if rest.isdigit():
            defaults = list(obj.__defaults__)
            defaults[int(rest)] = value
            obj.__defaults__ = tuple(defaults)
        else:
            obj.__kwdefaults__[rest] = value
    elif name.startswith("<global "):
        obj.__globals__[rest] = value
    elif name.startswith("<class "):
        cls, attribute = _class_attribute(obj, rest)
        setattr(cls, attribute, value)
    elif isinstance(obj, functools.partial) and kind in ("argument", "keyword"):
        arguments, keywords = list(obj.args), dict(obj.keywords)
        if kind == "argument":
            arguments[int(rest)] = value
        else:
            keywords[rest] = value
        obj.__setstate__((obj.func, tuple(arguments), keywords, dict(obj.__dict__)))  # type: ignore[attr-defined]
    elif type(obj) in CONTAINERS:
        keys = {f"[{key!r}]": key for key in (obj if isinstance(obj, dict) else range(len(obj)))}
        obj[keys[name]] = value
    elif _is_slot(obj, name):
        object.__setattr__(obj, name, value)
    else:
        # Straight into the dictionary: a property or __setattr__ of the class may do more.
        obj.__dict__[name] = value


def remove(obj: Any, name: str) -> None:
    """Empty a place that `fields` yielded."""
    if name.startswith("<global "):
        obj.__globals__.pop(name[8:-1], None)
    elif name.startswith("<class "):
        cls, attribute = _class_attribute(obj, name[7:-1])
        if attribute in vars(cls):
            delattr(cls, attribute)
    elif _is_slot(obj, name):
        object.__delattr__(obj, name)
    else:
        getattr(obj, "__dict__", {}).pop(name, None)


def _is_slot(obj: Any, name: str) -> bool:
    return any(name == slot for slot, _ in slots(obj)) or (
        name not in getattr(obj, "__dict__", {})
        and isinstance(getattr(type(obj), name, None), types.MemberDescriptorType)
    )


def _class_attribute(obj: Any, dotted: str) -> tuple[type, str]:
    owner, _, attribute = dotted.partition(".")
    for cls in (obj if isinstance(obj, type) else type(obj)).__mro__:
        if cls.__name__ == owner and not _is_ours(cls):
            return cls, attribute
    return type(obj), attribute
