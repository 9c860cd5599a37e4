"""Which variables around a function it only writes to: logs, and counts of its calls.

What a function never reads cannot change what it returns, so it is no memory of the function; it
is somebody's who looks at it later, and is not to be turned back. Where memory is looked for is in
`fuel.state._places`.
"""

from __future__ import annotations

import collections
import dis
import functools
import types
from typing import Any

__all__ = ["only_written"]

#: Of these types it is known what their methods and operators do.
_KNOWN = frozenset(
    {int, float, list, dict, set, collections.deque, collections.Counter, collections.OrderedDict}
)
#: Methods that return nothing.
_WRITES = frozenset({"add", "append", "appendleft", "extend", "extendleft", "insert", "update"})
_NOISE = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN", "PRECALL"})


def only_written(function: types.FunctionType, name: str, value: Any) -> bool:
    """Tell whether a function only writes to a variable of a function around it.

    Parameters
    ----------
    function : function
        The function.
    name : str
        The name of the variable.
    value : object
        What the variable holds.

    Returns
    -------
    bool
        False if it reads the variable, or may do so.

    """
    return type(value) in _KNOWN and name in _only_written(function.__code__)


@functools.lru_cache(maxsize=4096)
def _only_written(code: types.CodeType) -> frozenset[str]:
    if not code.co_freevars:
        return frozenset()
    steps = [step for step in dis.get_instructions(code) if step.opname not in _NOISE]
    read: set[str] = set()
    for at, step in enumerate(steps):
        if not any(part in step.opname for part in ("DEREF", "CLOSURE", "FAST")):
            continue
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if step.opname == "STORE_DEREF" or (
            step.opname == "LOAD_DEREF" and _is_write(step.argval, steps[at + 1 : at + 10])
        ):
            continue
        read.update(name for name in names if isinstance(name, str))
    return frozenset(code.co_freevars) - read


def _is_write(name: str, following: list[dis.Instruction]) -> bool:
    """Tell whether a variable that was loaded is changed next, and its value forgotten."""
    operations = [_kind(step) for step in following]
    if operations[:1] == ["method"]:  # name.append(...)
        return following[0].argval in _WRITES
    if operations[:3] == ["constant", "operate", "STORE_DEREF"]:  # name += 1
        return bool(following[2].argval == name)
    # name["key"] += 1: what is operated on goes back to where it was taken from. Variable and key
    # are copied at once, or one after the other from Python 3.11 on.
    kinds = "".join(f"{kind} " for kind in operations if kind != "order")
    kinds = kinds.replace("copy copy ", "copy ")
    return kinds.startswith("constant copy subscript constant operate STORE_SUBSCR ")


def _kind(step: dis.Instruction) -> str:
    name = step.opname
    if name == "LOAD_METHOD" or (name == "LOAD_ATTR" and "NULL" in step.argrepr):
        return "method"
    if name in ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL"):
        return "constant"
    if name == "BINARY_SUBSCR" or (name == "BINARY_OP" and step.argrepr == "[]"):
        return "subscript"
    if name == "DUP_TOP_TWO" or (name == "COPY" and step.arg == 2):
        return "copy"
    if name in ("SWAP", "ROT_THREE"):
        return "order"
    if name == "BINARY_OP" or name.startswith("INPLACE_"):
        return "operate" if name != "BINARY_OP" or step.argrepr.endswith("=") else name
    return name
