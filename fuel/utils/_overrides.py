"""Who wrote a method: this package, or a user's subclass?

Behaviour that we wrote may be evaluated by our own faster or resumable means; behaviour that a
user wrote must be called the way it always was. These functions tell the two apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["declares", "defining_class", "is_ours", "overridden"]


def is_ours(cls: type) -> bool:
    """Tell whether a class belongs to this package.

    Parameters
    ----------
    cls : type
        Any class.

    Returns
    -------
    bool
        True if it was defined in a module of the package.

    """
    module = getattr(cls, "__module__", "") or ""
    return module == "fuel" or module.startswith("fuel.")


def defining_class(obj: Any, name: str) -> type | None:
    """Return the class that an attribute of an object comes from.

    Parameters
    ----------
    obj : object
        An instance.
    name : str
        The name of a method or of a class attribute.

    Returns
    -------
    type or None
        The first class in the method resolution order that defines it.

    """
    for cls in type(obj).__mro__:
        if name in cls.__dict__:
            return cls
    return None


def overridden(obj: Any, *names: str) -> bool:
    """Tell whether a class outside the package, or the instance, defines one of the methods.

    So does who replaces a method of one of our classes by a function of his own.

    Parameters
    ----------
    obj : object
        An instance.
    *names : str
        Names of methods.

    Returns
    -------
    bool
        True if any of them was not written by this package (a name that nobody defines does
        not count).

    """
    instance = getattr(obj, "__dict__", {})
    for name in names:
        if name in instance:
            return True
        cls = defining_class(obj, name)
        if cls is not None and (not is_ours(cls) or _patched(cls.__dict__[name])):
            return True
    return False


def _patched(attribute: Any) -> bool:
    """Tell whether a function in a class of ours was put there by somebody else."""
    function = getattr(attribute, "__func__", getattr(attribute, "fget", attribute))
    module = getattr(function, "__module__", None)
    return isinstance(module, str) and module != "fuel" and not module.startswith("fuel.")


def declares(obj: Any, flag: str, behaviour: Iterable[str]) -> bool:
    """Tell whether an object declares a property of its behaviour, and the declaration holds.

    A declaration speaks for the class that makes it and for those below it that leave the
    behaviour alone: a subclass that overrides a method has to declare again.

    Parameters
    ----------
    obj : object
        An instance.
    flag : str
        The name of the declaring attribute, for example ``"elementwise"``.
    behaviour : iterable of str
        The methods that the declaration is about.

    Returns
    -------
    bool
        The value declared, or False where an override came after the declaration.

    """
    if flag in getattr(obj, "__dict__", {}):
        return bool(obj.__dict__[flag])
    behaviour = tuple(behaviour)
    for cls in type(obj).__mro__:
        if flag in cls.__dict__:
            value = cls.__dict__[flag]
            return bool(value.__get__(obj, type(obj)) if hasattr(value, "__get__") else value)
        if any(name in cls.__dict__ for name in behaviour):
            return False
    return False
