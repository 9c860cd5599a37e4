"""Where a file comes from: what made it, when, and from which inputs; told in its attributes."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

__all__ = ["Inputs", "read_provenance", "write_provenance"]

#: The attribute of the root group.
ATTRIBUTE = "fuel_provenance"

_BLOCK_BYTES = 1 << 20


class Inputs:
    """The raw files of a conversion; their checksums are computed beside it.

    Parameters
    ----------
    paths : iterable of path
        The files.

    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._paths = [os.fspath(path) for path in paths]
        self._found: list[dict[str, Any]] = []
        self._error: Exception | None = None
        self._given_up = threading.Event()
        self._thread: threading.Thread | None = None
        if self._paths:
            self._thread = threading.Thread(target=self._look, name="fuel-inputs", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        try:
            for path in self._paths:
                digest, size = hashlib.sha256(), 0
                with open(path, "rb") as file:
                    while block := file.read(_BLOCK_BYTES):
                        if self._given_up.is_set():
                            return
                        digest.update(block)
                        size += len(block)
                self._found.append(
                    {"name": os.path.basename(path), "size": size, "sha256": digest.hexdigest()}
                )
        except Exception as error:
            self._error = error

    def describe(self) -> list[dict[str, Any]]:
        """Wait for the checksums, and return name, size in bytes and SHA-256 of each file."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found

    def give_up(self) -> None:
        """Stop looking."""
        self._given_up.set()
        if self._thread is not None:
            self._thread.join()


def _when() -> str:
    """Return the time in ISO 8601; ``SOURCE_DATE_EPOCH`` sets it, for files that are repeatable."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(given) if given.isdecimal() else time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def write_provenance(h5file: Any, inputs: list[dict[str, Any]]) -> None:
    """Write where a file comes from into it.

    Parameters
    ----------
    h5file : h5py.File
        The file, open for writing.
    inputs : list of dict
        What `Inputs.describe` returned.

    """
    import h5py
    import numpy

    from fuel.version import version

    command = [os.path.basename(sys.argv[0]) if sys.argv else "", *sys.argv[1:]]
    h5file.attrs[ATTRIBUTE] = json.dumps(
        {
            "command": command,
            "created": _when(),
            "inputs": inputs,
            "versions": {
                "fuel": version,
                "h5py": h5py.version.version,
                "hdf5": h5py.version.hdf5_version,
                "numpy": numpy.__version__,
                "python": platform.python_version(),
            },
        },
        sort_keys=True,
    )


def read_provenance(h5file: Any) -> dict[str, Any] | None:
    """Read where a file comes from.

    Parameters
    ----------
    h5file : h5py.File
        An open file.

    Returns
    -------
    dict or None
        ``command``, a list of the command's name and arguments; ``created``, the time in ISO 8601;
        ``inputs``, a list of dicts with ``name``, ``size`` in bytes and ``sha256``; ``versions``.
        None where the file does not say it, or not in this form.

    """
    try:
        text = h5file.attrs[ATTRIBUTE]
        found = json.loads(text.decode() if isinstance(text, bytes) else text)
    except (KeyError, ValueError, OSError, AttributeError, TypeError):
        return None
    return found if isinstance(found, dict) else None
