"""How downloads are to be made, for the downloaders that have no arguments for it.

The functions of data sets take what the original's took; ``fuel-download`` wants more (several
files at once, other addresses, a rehearsal). It says so with `using`, around the call, and
`default_downloader` looks here. `Run` is what the files of one call have in common: stopping
together, and hosts that are known to be silent. Making requests is in `_transfer`.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from fuel.manifests import DataFile

__all__ = ["Rehearsed", "Run", "Settings", "Stopped", "current", "current_run", "running", "using"]


def _say_nothing(text: str) -> None:
    """Take a remark that nobody asked for."""


@dataclass(frozen=True)
class Settings:
    """How downloads are to be made.

    Attributes
    ----------
    jobs : int
        How many files are fetched at a time.
    addresses : tuple of (str or None, str)
        Addresses to use in place of the known ones: the name of a file, or None to have it found
        by the address, and the address.
    dry_run : bool
        Say what would be fetched, and raise `Rehearsed`.
    quiet : bool
        No heading; bars are hidden by `fuel.utils._progress`.
    reporting : bool
        Print a line for each file that is whole.
    tell : callable
        Takes remarks on what happens on the way.
    known : mapping of str to DataFile
        What is known of the files of the data set, by name, where their addresses do not tell.
    noticed : set of str
        Which of these had an effect that the user should know to be missing: ``"addresses"``.

    """

    jobs: int = 1
    addresses: tuple[tuple[str | None, str], ...] = ()
    dry_run: bool = False
    quiet: bool = False
    reporting: bool = False
    tell: Callable[[str], None] = _say_nothing
    known: Mapping[str, DataFile] = field(default_factory=dict)
    noticed: set[str] = field(default_factory=set)


class Rehearsed(Exception):
    """A rehearsal has said all there is to say; nothing may be done after it."""


class Stopped(BaseException):
    """The other files of this call were given up, and this one with them."""


class Run:
    """What the files of one call have in common. Safe to share between threads.

    Parameters
    ----------
    several : bool, optional
        Whether threads use it.

    Attributes
    ----------
    silent_hosts : set of str
        Those that did not answer: they are not given a second chance for every file.

    """

    def __init__(self, several: bool = False) -> None:
        self.silent_hosts: set[str] = set()
        self._parts: set[Any] = set()
        self._several = several
        self._stopped = threading.Event()
        self._responses: set[Any] = set()
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise `Stopped` if the call was given up."""
        if self._stopped.is_set():
            raise Stopped

    def add(self, part: Any) -> None:
        """Note that a file grows."""
        with self._lock:
            self._parts.add(part)

    def remove(self, part: Any) -> None:
        """Note that a file does not grow any more."""
        with self._lock:
            self._parts.discard(part)

    def growing(self) -> list[Any]:
        """Return the files that grow at the moment."""
        with self._lock:
            return list(self._parts)

    def wait(self, seconds: float) -> None:
        """Wait before another attempt, or until the call is given up."""
        if not self._several:
            time.sleep(seconds)  # unlike a lock's, this waiting ends at Ctrl-C on every system
        else:
            self._stopped.wait(seconds)
        self.check()

    @contextmanager
    def reading(self, response: Any) -> Iterator[None]:
        """Have `stop` end the reading of a response in a block."""
        with self._lock:
            self._responses.add(response)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._responses.discard(response)

    def stop(self) -> None:
        """Give the call up: whoever waits for bytes gets none any more."""
        self._stopped.set()
        with self._lock:
            responses = list(self._responses)
        for response in responses:
            try:
                response.raw.connection.sock.shutdown(socket.SHUT_RDWR)
            except (AttributeError, OSError):
                try:  # the connection has passed its socket on to the response
                    response.raw.shutdown()
                except (AttributeError, OSError, ValueError, RuntimeError):
                    pass  # the reader notices at its next chunk, or after its time limit


_settings: ContextVar[Settings] = ContextVar("fuel_download_settings")
_run: ContextVar[Run] = ContextVar("fuel_download_run")


def current() -> Settings:
    """Return the settings in force."""
    return _settings.get(None) or Settings()


@contextmanager
def using(settings: Settings) -> Iterator[None]:
    """Have the downloads in a block use some settings."""
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def current_run() -> Run:
    """Return what the files of this call share; something new outside of one."""
    return _run.get(None) or Run()


@contextmanager
def running(run: Run) -> Iterator[None]:
    """Have the downloads in a block share a `Run`."""
    token = _run.set(run)
    try:
        yield
    finally:
        _run.reset(token)
