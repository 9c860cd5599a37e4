"""The document around a position: format, versions, fingerprint and checksum.

A damaged document, one of a newer version and one of another pipeline are refused, each with an
exception of its own that says what was found.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import Any

import numpy

from fuel.exceptions import StateDamagedError, StateError, StateMismatchError, StateVersionError
from fuel.typing import JSON
from fuel.version import version

__all__ = [
    "FORMAT_VERSION",
    "check_state",
    "compare_fingerprints",
    "digest",
    "make_state",
    "plain",
]

#: Version of the layout of the document, raised whenever an older reader would misunderstand it.
FORMAT_VERSION = 1
_FORMAT = "fuel.state"


def _canonical(document: JSON) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _checksum(document: JSON) -> str:
    return hashlib.blake2b(_canonical(document), digest_size=8).hexdigest()


def digest(*parts: Any) -> str:
    """Return a short name for a value that is too large to be shown in a fingerprint.

    Parameters
    ----------
    *parts : bytes, str or array_like
        Arrays are digested with their type and shape.

    Returns
    -------
    str
        Sixteen hexadecimal digits of BLAKE2b.

    """
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, bytes):
            hashed.update(part)
        elif isinstance(part, str):
            hashed.update(part.encode())
        else:
            array = numpy.ascontiguousarray(part)
            hashed.update(f"{array.dtype.str}{array.shape}".encode())
            hashed.update(repr(array.tolist()).encode() if array.dtype.hasobject else array.data)
        hashed.update(b"\0")
    return hashed.hexdigest()


def plain(value: Any) -> JSON:
    """Return a parameter in a form that JSON can hold and a person can read.

    Parameters
    ----------
    value : object
        A number, a string, a type, an array, or nested lists, tuples and dicts of these.

    Returns
    -------
    JSON
        The value itself where JSON has it; arrays of more than 16 elements by digest; any other
        object by the name of its class.

    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else repr(value)
    if isinstance(value, numpy.generic):
        return plain(value.item())
    if isinstance(value, numpy.dtype):
        return value.str if value.names is None else str(value)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, numpy.ndarray):
        if value.size <= 16 and not value.dtype.hasobject:
            return {"dtype": value.dtype.str, "values": plain(value.tolist())}
        return {"dtype": value.dtype.str, "shape": list(value.shape), "digest": digest(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, complex):
        return repr(value)
    return type(value).__name__


def make_state(fingerprint: JSON, **content: JSON) -> dict[str, JSON]:
    """Wrap a position in a document that can be checked when it comes back.

    Parameters
    ----------
    fingerprint : JSON
        What the position is a position in.
    **content : JSON
        The position itself.

    Returns
    -------
    dict
        Plain JSON: ``json.loads(json.dumps(state)) == state``.

    """
    document: dict[str, JSON] = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "fuel": version,
        "numpy": numpy.__version__,
        "fingerprint": fingerprint,
        **content,
    }
    try:
        document = json.loads(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise StateError(
            f"the position cannot be written as plain JSON: {error}; a `state_dict()` method of "
            "a step must return numbers, strings, lists and dicts only"
        ) from error
    document["checksum"] = _checksum(document)
    return document


def check_state(state: JSON, fingerprint: JSON, *, draws: bool = False) -> dict[str, JSON]:
    """Check a document before anything in it is used.

    Parameters
    ----------
    state : JSON
        What `make_state` returned, possibly after a journey through a file.
    fingerprint : JSON
        The fingerprint of the pipeline that is to be positioned.
    draws : bool, optional
        Whether the pipeline hands NumPy generators to functions; then a difference in NumPy's
        version is worth a warning, since NumPy may change what a method draws.

    Returns
    -------
    dict
        The document.

    Raises
    ------
    StateDamagedError
        If it is not a document of ours, is incomplete, or its checksum does not fit.
    StateVersionError
        If a newer version of the package wrote it.
    StateMismatchError
        If the fingerprints differ; the message shows both sides of each difference.

    """
    if not isinstance(state, dict) or state.get("format") != _FORMAT:
        raise StateDamagedError(
            "this is not the state of an epoch iterator: expected a dict with "
            f"'format': {_FORMAT!r}, got {state!r:.100}"
        )
    found = state.get("version")
    if isinstance(found, int) and found > FORMAT_VERSION:
        raise StateVersionError(
            f"the state has format version {found} (written by fuel {state.get('fuel')}), but this "
            f"is fuel {version}, which reads versions up to {FORMAT_VERSION}; upgrade fuel"
        )
    rest = {key: value for key, value in state.items() if key != "checksum"}
    try:
        expected = _checksum(rest)
    except (TypeError, ValueError) as error:
        raise StateDamagedError(f"the state is not plain JSON: {error}") from error
    if state.get("checksum") != expected or found != FORMAT_VERSION:
        raise StateDamagedError(
            f"the state is damaged: its checksum is {state.get('checksum')!r}, its content has "
            f"{expected!r}; use an earlier checkpoint"
        )
    differences = compare_fingerprints(state["fingerprint"], json.loads(json.dumps(fingerprint)))
    if differences:
        raise StateMismatchError(
            "the state belongs to another pipeline; build the one that it was saved from, or "
            "start a new epoch:\n" + "\n".join(f"  - {line}" for line in differences)
        )
    if draws and state.get("numpy") != numpy.__version__:
        warnings.warn(
            f"the state was saved with NumPy {state.get('numpy')}, this is {numpy.__version__}; "
            "functions that draw through `rng` may draw other values",
            stacklevel=4,
        )
    return state


def compare_fingerprints(saved: JSON, present: JSON, path: str = "") -> list[str]:
    """List the differences between two fingerprints.

    Parameters
    ----------
    saved, present : JSON
        The two sides.
    path : str, optional
        What to call the place; used in the recursion.

    Returns
    -------
    list of str
        One line a difference, with both sides; empty where they are equal.

    """
    if isinstance(saved, dict) and isinstance(present, dict):
        lines: list[str] = []
        for key in [*saved, *(key for key in present if key not in saved)]:
            place = f"{path}.{key}" if path else str(key)
            if key not in saved:
                lines.append(f"{place}: saved without it, here {present[key]!r:.120}")
            elif key not in present:
                lines.append(f"{place}: saved {saved[key]!r:.120}, here it is missing")
            else:
                lines += compare_fingerprints(saved[key], present[key], place)
        return lines
    if (
        isinstance(saved, list)
        and isinstance(present, list)
        and len(saved) == len(present)
        and all(isinstance(item, dict) for item in saved + present)
    ):
        lines = []
        for number, (one, other) in enumerate(zip(saved, present, strict=True)):
            lines += compare_fingerprints(one, other, f"{path}[{number}]")
        return lines
    if saved != present and path.endswith("steps"):
        one, other = ([item.get("step") for item in side] for side in (saved, present))
        return [f"{path}: saved {one}, here {other}"]
    if saved != present:
        return [f"{path or 'fingerprint'}: saved {saved!r:.200}, here {present!r:.200}"]
    return []
