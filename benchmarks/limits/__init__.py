"""Loops in C that say what the hardware allows, compiled when they are used.

The flags are those of the package's kernels: no contraction of a product and a sum, no
instructions that a baseline processor lacks, unless a contender asks for them by name. `ctypes`
lets go of the interpreter's lock for the time of a call.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["address", "compile_and_load"]

_HERE = Path(__file__).resolve().parent
_FLAGS = ("-O3", "-ffp-contract=off", "-shared", "-fPIC")
_TYPES = {"p": ctypes.c_void_p, "n": ctypes.c_int64, "d": ctypes.c_double, "i": ctypes.c_int}
# The parameters of each function, a letter each.
_FUNCTIONS = {
    "arrays": {
        "gather": "pppnnpp",
        "normalise_double": "ppnnddp",
        "normalise_float": "ppnnnppp",
        "pad_flat": "pppnnpp",
        "pad_list": "ppnnpp",
    },
    "jpeg": {"window": "pnddiip"},
    "store": {"gather_rows": "ppnnp", "lzf": "pnpn"},
}


def compile_and_load(name: str, folder: Path, *more: str) -> ctypes.CDLL:
    """Return the library made of ``<name>.c``.

    Raises OSError where there is no C compiler, or subprocess.CalledProcessError where it fails.
    """
    source = _HERE / f"{name}.c"
    compiler = os.environ.get("CC", "cc")
    flags = (*_FLAGS, *more)
    tag = hashlib.sha256(source.read_bytes() + repr((compiler, flags)).encode()).hexdigest()[:12]
    path = folder / "limits" / f"{name}-{tag}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.part")
        # Libraries come behind what needs them.
        last = [flag for flag in flags if flag.startswith("-l")]
        first = [flag for flag in flags if not flag.startswith("-l")]
        subprocess.run([compiler, *first, str(source), "-o", str(beside), *last], check=True)
        beside.replace(path)
    library = ctypes.CDLL(str(path))
    for function, letters in _FUNCTIONS[name].items():
        getattr(library, function).argtypes = [_TYPES[letter] for letter in letters]
        getattr(library, function).restype = ctypes.c_int64
    return library


def address(array: Any) -> int:
    """Return where the elements of an array begin."""
    return int(array.ctypes.data)
