"""What users' own objects remember between calls, found without their help.

A subclass written long ago may count its calls, keep a generator, or collect the last few items;
a function may close over a generator. None of them has a ``state_dict`` method. Such memory is
found by looking at every place where it may be (`fuel.state._places`) when the object is seen
first, and comparing later:

- what changed and can be written as plain JSON (numbers, strings, small arrays, lists, dicts,
  NumPy's generators) is part of the saved state; a list or generator that was changed is changed
  on loading, one that was replaced is replaced, so that others who refer to it see the same;
- what changed and cannot be written is an error that names the class and the attribute, because
  a state that silently left it out would resume to other data.

In class attributes and module globals, which other pipelines share, only generators are looked
for. A variable around a function that it only writes to, a log or a count, is left alone too. Not
seen: the memory of extension types that do not pickle, and of libraries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from fuel.exceptions import StateError, StateMismatchError
from fuel.state._generators import is_generator
from fuel.state._places import assign, fields, followed, remove
from fuel.state._values import CONTAINERS, decode, describe, is_opaque, refill
from fuel.typing import JSON

__all__ = ["Memory", "capture", "has_state_methods", "restore"]

#: How far attributes of attributes are followed.
_DEPTH = 8
_CHANGEABLE = (*CONTAINERS, bytearray, numpy.ndarray)
_SHARED = ("<class ", "<global ")


def has_state_methods(obj: Any) -> bool:
    """Tell whether an object describes its own state (``state_dict`` and ``load_state_dict``)."""
    return callable(getattr(obj, "state_dict", None)) and callable(
        getattr(obj, "load_state_dict", None)
    )


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
    only_generators : bool, optional
        Whether nothing but random generators counts as memory, for an object that may keep
        counts and caches without any effect on what it answers. Default False.

    """

    def __init__(
        self,
        obj: Any,
        skip: frozenset[str] = frozenset(),
        ignore: Callable[[Any], bool] = _nothing,
        methods: tuple[str, str] = ("state_dict", "load_state_dict"),
        only_generators: bool = False,
    ) -> None:
        self.skip = skip
        self.only_generators = only_generators
        self.ignore = ignore
        self.methods = methods
        #: The objects of the first look, to tell what was changed from what was replaced.
        self.objects: dict[tuple[str, ...], Any] = {}
        self.first = self._look(obj, self.objects)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "ignore": _nothing}

    def _walk(self, obj: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
        """Yield (path, holder, value) for every place of memory below an object."""
        seen = {id(obj)}
        stack: list[tuple[tuple[str, ...], Any]] = [((), obj)]
        while stack:
            path, holder = stack.pop()
            skip = self.skip if not path else frozenset()
            for name, value in fields(holder, skip):
                if self.ignore(value):
                    continue
                here = (*path, name)
                if followed(value) and len(here) < _DEPTH:
                    if id(value) not in seen:
                        seen.add(id(value))
                        stack.append((here, value))
                elif is_generator(value):
                    if id(value) not in seen:
                        seen.add(id(value))
                        yield here, holder, value
                elif self._counts(here) and (not callable(value) or len(here) >= _DEPTH):
                    yield here, holder, value

    def _counts(self, path: tuple[str, ...]) -> bool:
        """Tell whether what lies at a path is memory even if it is no generator."""
        # What all instances share, and what a module holds, belongs to more than this pipeline:
        # another one in the same process must not find it changed by a state that is loaded.
        return not (self.only_generators or any(name.startswith(_SHARED) for name in path))

    def _look(self, obj: Any, objects: dict[Any, Any] | None = None) -> dict[Any, JSON]:
        found = {}
        for path, _, value in self._walk(obj):
            found[path] = described = describe(value)
            changeable = isinstance(value, _CHANGEABLE) or is_generator(value)
            if objects is not None and changeable and not is_opaque(described):
                objects[path] = value
        return found

    def changes(self, obj: Any, *, generators: bool = False) -> dict[str, JSON]:
        """Describe what differs from the first look.

        Parameters
        ----------
        obj : object
            The object watched (or its copy in another process).
        generators : bool, optional
            Whether to describe random generators even where they have not drawn: one that was
            made without a seed is another one in another process. Default False.

        Returns
        -------
        dict
            Plain JSON by path, only of what changed.

        Raises
        ------
        StateError
            If something changed that plain JSON cannot hold.

        """
        objects: dict[tuple[str, ...], Any] = {}
        now = self._look(obj, objects)
        changed: dict[str, JSON] = {}
        replaced: dict[int, str] = {}
        for path, value in now.items():
            place, there = "/".join(path), objects.get(path)
            kept = there is self.objects.get(path)
            same = path in self.first and _equal(self.first[path], value)
            if same and kept and not (generators and is_generator(there)):
                continue
            if same and path not in self.objects:
                continue
            if is_opaque(value):
                name = ".".join(path)
                save, load = self.methods
                raise StateError(
                    f"{_class_of(obj)} keeps {name!r} ({value['type']}) between calls, which "
                    f"cannot be written as plain JSON; give the class `{save}()` and "
                    f"`{load}(state)` methods; declare `elementwise` where it does not change "
                    "what comes out (a cache, a log); or pickle the epoch iterator instead"
                )
            if there is not None and not kept:
                first = next(
                    (at for at, held in self.objects.items() if held is there),
                    None,
                )
                if first is not None or id(there) in replaced:
                    # Another name for something that is described elsewhere.
                    at = replaced[id(there)] if first is None else "/".join(first)
                    changed[place] = {"same": at, "first": first is not None}
                    continue
                replaced[id(there)] = place
                value = {"new": value}
            changed[place] = value
        self._refuse_shared(obj, {at: objects[at] for at in objects if "/".join(at) in changed})
        for path in self.first:
            if path not in now:
                changed["/".join(path)] = {"deleted": True}
        return changed

    def _refuse_shared(self, obj: Any, changed: dict[tuple[str, ...], Any]) -> None:
        """Refuse a container inside another that is kept under a second name as well."""
        owners = {id(value): ".".join(path) for path, value in changed.items()}
        for path, value in changed.items():
            for inner in _inside(value):
                other = owners.setdefault(id(inner), ".".join(path))
                if other != ".".join(path):
                    save, load = self.methods
                    raise StateError(
                        f"{_class_of(obj)} keeps one {type(inner).__name__} in both "
                        f"{'.'.join(path)!r} and {other!r}, which plain JSON cannot say; give the "
                        f"class `{save}()` and `{load}(state)` methods, or pickle the epoch "
                        "iterator instead"
                    )

    def apply(self, obj: Any, changes: dict[str, JSON]) -> None:
        """Bring an object into the state that `changes` described.

        Parameters
        ----------
        obj : object
            An object in any state.
        changes : dict
            What `changes` returned.

        Raises
        ------
        StateMismatchError
            If it cannot be brought there: what cannot be written has changed, or a place is
            missing.

        """
        target = {"/".join(path): value for path, value in self.first.items()}
        target.update(changes)
        objects = {"/".join(path): value for path, value in self.objects.items()}
        made: dict[str, Any] = {}
        present = self._present(obj)
        for path, wanted in target.items():
            if self._put(obj, path, wanted, present, objects, made):
                present = self._present(obj)
        for path, (holder, _) in present.items():
            if path not in target:
                remove(holder, path.rsplit("/", 1)[-1])

    def _present(self, obj: Any) -> dict[str, tuple[Any, Any]]:
        return {"/".join(path): (holder, value) for path, holder, value in self._walk(obj)}

    def _put(
        self,
        obj: Any,
        path: str,
        wanted: JSON,
        present: dict[str, tuple[Any, Any]],
        objects: dict[str, Any],
        made: dict[str, Any],
    ) -> bool:
        """Bring one place into a described state; tell whether anything was replaced."""
        there = path in present
        holder, value = present.get(path, (None, None))
        if is_opaque(wanted):
            if there and _equal(describe(value), wanted):
                return False
            raise StateMismatchError(
                f"{_class_of(obj)} keeps {path!r} ({wanted['type']}), which cannot be written as "
                "plain JSON and is not here what it was in the beginning; load the state into a "
                "pipeline built anew, before it is used"
            )
        name = path.rsplit("/", 1)[-1]
        original = objects.get(path)
        form = set(wanted) if isinstance(wanted, dict) else set()
        if "deleted" in form:
            if there:
                remove(holder, name)
            return there
        if not there:
            holder = self._holder(obj, path)
        if "same" in form:
            at = wanted["same"]
            new = objects.get(at) if wanted["first"] else made.get(at)
        elif "new" in form:
            new = decode(wanted["new"])
            made[path] = new
        elif original is not None and refill(original, wanted):
            new = original
        elif there and _equal(describe(value), wanted):
            return False
        else:
            new = decode(wanted)
        if there and new is value:
            return False
        assign(holder, name, new)
        return True

    def _holder(self, obj: Any, path: str) -> Any:
        for name in path.split("/")[:-1]:
            there = dict(fields(obj, frozenset()))
            if name not in there:
                raise StateMismatchError(
                    f"the state describes {path!r} of {_class_of(obj)}, which has no {name!r} "
                    "here; give the class `state_dict()` and `load_state_dict(state)` methods "
                    "(`step_state` and `load_step_state` for a stream), or pickle the iterator"
                )
            obj = there[name]
        return obj


def _equal(one: JSON, other: JSON) -> bool:
    # True and 1 are equal, and are not the same.
    return one == other and json.dumps(one) == json.dumps(other)


def _inside(value: Any) -> Iterator[Any]:
    """Yield the containers inside a container that can be changed."""
    if not isinstance(value, CONTAINERS):
        return
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, _CHANGEABLE):
            if not isinstance(item, (tuple, frozenset)):
                yield item
            yield from _inside(item)


def _class_of(obj: Any) -> str:
    return getattr(obj, "__name__", None) or type(obj).__name__


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
        "changes": {"/".join(path): value for path, value in look.items() if not is_opaque(value)}
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
    memory.apply(obj, captured["changes"])
