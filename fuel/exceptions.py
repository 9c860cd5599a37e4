"""Every exception that the package raises on purpose, in one tree.

::

    FuelError
    ├── RequestError              a request names examples that are not there
    ├── IteratorInvalidatedError  an iterator was displaced by a later one of the same stream
    ├── WorkerError               a process working for us failed or died
    ├── TooManyFailuresError      more examples failed than was allowed
    ├── TransportError            a message or a frame is malformed
    │   └── ServerUnavailableError  no server within the time allowed
    ├── StateError                a saved position cannot be made or used
    │   ├── StateMismatchError    it belongs to another pipeline
    │   ├── StateVersionError     it was written by a newer version
    │   └── StateDamagedError     it is not what was written
    ├── StorageError              a data file is missing, locked, damaged or not understood
    ├── AxisLabelsMismatchError   the axes of a source are not those that are needed
    ├── ConfigurationError        a setting is missing or unusable
    ├── MissingInputFiles         files needed by a converter are not there
    └── NeedURLPrefix             a file has no public address

They are also of a standard type: RequestError is a ValueError and an IndexError;
IteratorInvalidatedError, WorkerError and TooManyFailuresError are RuntimeErrors; TransportError,
StateError and AxisLabelsMismatchError are ValueErrors; ServerUnavailableError is a
ConnectionError as well; StorageError is an OSError.

Catch the standard type to stay independent of this package, or ``FuelError`` to catch all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "AxisLabelsMismatchError",
    "ConfigurationError",
    "FuelError",
    "IteratorInvalidatedError",
    "MissingInputFiles",
    "NeedURLPrefix",
    "RequestError",
    "ServerUnavailableError",
    "StateDamagedError",
    "StateError",
    "StateMismatchError",
    "StateVersionError",
    "StorageError",
    "TooManyFailuresError",
    "TransportError",
    "WorkerError",
]


class FuelError(Exception):
    """Base of every exception raised on purpose by this package."""


class RequestError(FuelError, ValueError, IndexError):
    """A request asks for examples that a dataset does not have (negative, out of range, empty)."""


class IteratorInvalidatedError(FuelError, RuntimeError):
    """An epoch iterator cannot go on because a later one took over the same stateful step."""


class WorkerError(FuelError, RuntimeError):
    """A process that worked for this one failed or died."""


class TooManyFailuresError(FuelError, RuntimeError):
    """More examples could not be evaluated than the policy for failures allows."""


class TransportError(FuelError, ValueError):
    """Bytes that arrived over a socket or a pipe are not a well-formed message."""


class ServerUnavailableError(TransportError, ConnectionError):
    """No data server answered within the time allowed."""


class StateError(FuelError, ValueError):
    """A saved position cannot be made or used."""


class StateMismatchError(StateError):
    """A saved position belongs to another pipeline; the message shows both sides."""


class StateVersionError(StateError):
    """A saved position was written by a newer version of the package."""


class StateDamagedError(StateError):
    """A saved position is incomplete or was altered after it was written."""


class StorageError(FuelError, OSError):
    """A data file is missing, locked, truncated, damaged or not in the expected layout."""


class AxisLabelsMismatchError(FuelError, ValueError):
    """The axis labels of a source are not those that a transformer needs."""


class ConfigurationError(FuelError):
    """A setting is missing or has an unusable value."""


class MissingInputFiles(FuelError):
    """Files needed by a converter are not there.

    Parameters
    ----------
    message : str
        What the files are needed for.
    filenames : iterable of str
        The names of the missing files.

    Attributes
    ----------
    filenames : list of str
        The names of the missing files.

    """

    def __init__(self, message: str, filenames: Iterable[str]) -> None:
        self.filenames = list(filenames)
        super().__init__(message, self.filenames)


class NeedURLPrefix(FuelError):
    """A file has no public address, and no ``url_prefix`` was given to find it under."""
