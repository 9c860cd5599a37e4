"""Attributes that are loaded when needed and are left out of pickles.

`do_not_pickle_attributes` marks attributes, such as file handles and data read into memory, that
an object gets back from its ``load`` method. How a position in a stream is saved is in
`fuel.state`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["do_not_pickle_attributes", "lazy_property_factory"]

_Class = TypeVar("_Class", bound=type)

#: Marks a ``__getstate__`` as installed here, and holds the names that it leaves out.
_MARK = "_fuel_lazy_attributes"


def lazy_property_factory(
    lazy_property: str,
) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """Make the two functions of a property that is loaded when it is first read.

    Parameters
    ----------
    lazy_property : str
        Its name. The value is kept in an attribute of that name after an underscore.

    Returns
    -------
    getter, setter : callable
        The getter calls ``load()`` where there is no value yet, and raises ValueError if there
        still is none afterwards.

    """
    attribute = "_" + lazy_property

    def getter(self: Any) -> Any:
        # Past a class's own __getattr__, which may need the attribute that is being loaded.
        try:
            return object.__getattribute__(self, attribute)
        except AttributeError:
            pass
        self.load()
        try:
            return object.__getattribute__(self, attribute)
        except AttributeError:
            raise ValueError(
                f"{lazy_property} wasn't loaded: {type(self).__name__}.load() must assign "
                f"`self.{lazy_property}`"
            ) from None

    def setter(self: Any, value: Any) -> None:
        setattr(self, attribute, value)

    return getter, setter


def _default_state(self: Any) -> Any:
    """Return what pickle would save by itself, in a form that can be changed."""
    # From Python 3.11 on, `object` has the method, and it knows about slots.
    method = getattr(object, "__getstate__", None)
    return method(self) if method is not None else self.__dict__


def _own_getstate(cls: type) -> Any:
    """Return the ``__getstate__`` that somebody wrote for a class, or None."""
    for base in cls.__mro__:
        if base is not object and "__getstate__" in base.__dict__:
            return base.__dict__["__getstate__"]
    return None


def _make_getstate(names: tuple[str, ...]) -> Callable[[Any], Any]:
    def __getstate__(self: Any) -> Any:
        state = _default_state(self)
        attributes, rest = (state[0], state[1:]) if isinstance(state, tuple) else (state, ())
        kept = dict(attributes or {})
        slots = dict(rest[0]) if rest else None
        for name in names:
            value = kept.pop("_" + name, None)
            if slots is not None:
                value = slots.pop("_" + name, value)
            if isinstance(value, Iterator):
                raise ValueError(
                    f"an iterator cannot be loaded again where it stopped, but "
                    f"`{type(self).__name__}.{name}` is one: {value!r:.200}; keep what it was "
                    f"made from instead"
                )
        return kept if slots is None else (kept, slots)

    setattr(__getstate__, _MARK, names)
    return __getstate__


def do_not_pickle_attributes(*lazy_properties: str) -> Callable[[_Class], _Class]:
    """Decorate a class some of whose attributes are loaded again instead of pickled.

    Each becomes a property. Reading it before it was assigned calls the object's ``load()``,
    which must assign it. Pickling and copying leave the values out, so that an open file or
    gigabytes of data do not get into a checkpoint.

    Parameters
    ----------
    *lazy_properties : str
        The names of the attributes. A value is kept under its name after an underscore.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ValueError
        By the decorator: if the class has no ``load``. By pickling: if the value of such an
        attribute is an iterator. By reading: if ``load`` did not assign the attribute.

    Notes
    -----
    A class that defines ``__getstate__`` itself, or inherits it from one that does, keeps it.
    A subclass may be decorated again and leaves out the attributes of both.

    If two threads read an attribute for the first time at once, ``load`` may run twice.

    Examples
    --------
    >>> import pickle
    >>> @do_not_pickle_attributes("squares")
    ... class Table:
    ...     def load(self):
    ...         self.squares = [i * i for i in range(5)]
    >>> table = Table()
    >>> table.squares
    [0, 1, 4, 9, 16]
    >>> "_squares" in table.__getstate__()
    False

    """

    def wrap_class(cls: _Class) -> _Class:
        if not hasattr(cls, "load"):
            raise ValueError(
                f"{cls.__name__} must have a method `load` that assigns "
                f"{', '.join(lazy_properties)}; nothing else could bring them back"
            )
        for name in lazy_properties:
            doc = f"Loaded when it is read first, and never pickled ({name})."
            setattr(cls, name, property(*lazy_property_factory(name), doc=doc))
        present = _own_getstate(cls)
        if present is None or hasattr(present, _MARK):
            names = dict.fromkeys((*getattr(present, _MARK, ()), *lazy_properties))
            target: Any = cls  # from Python 3.11 on, the method has a type of its own
            target.__getstate__ = _make_getstate(tuple(names))
        return cls

    return wrap_class
