"""What the commands share: exit codes, plain error lines, and the plug-ins of other packages.

Exit codes: 0 success, 1 failure, 2 wrong usage (missing input files included), 130 interrupted.
How commands talk is in `_manners`, what other packages offer in `_plugins`; both are reached
through this module.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from fuel.bin._manners import (
    FAILURE,
    INTERRUPTED,
    USAGE,
    UserError,
    add_option,
    default_manners,
    fail,
    is_quiet,
    is_verbose,
    make_parser,
    nearest,
    remark,
    say,
)
from fuel.bin._plugins import (
    NameConflictError,
    Plugins,
    add_plugins,
    chosen_name,
    find_plugins,
    require_name,
)
from fuel.exceptions import FuelError

__all__ = [
    "FAILURE",
    "INTERRUPTED",
    "USAGE",
    "NameConflictError",
    "Plugins",
    "UserError",
    "add_option",
    "add_plugins",
    "chosen_name",
    "fail",
    "find_plugins",
    "is_quiet",
    "is_verbose",
    "make_parser",
    "nearest",
    "plain",
    "remark",
    "require_name",
    "run",
    "say",
    "working_directory",
]

#: What the system answered, in the messages of HDF5: those of full disks are not even OSErrors.
_HDF5_REASON = re.compile(
    r"(filename = '(?P<file>[^']*)'.*?)?errno = \d+, error message = '(?P<what>[^']*)'", re.DOTALL
)


def run(prog: str, command: Callable[[list[str]], int | None], args: Sequence[str] | None) -> None:
    """Run a command, turning what a user can do wrong into one plain line and an exit code.

    Parameters
    ----------
    prog : str
        The name of the command.
    command : callable
        The command; it gets the list of arguments.
    args : sequence of str or None
        The arguments; None takes those of the process. A caller that gives them is a program, so
        errors that are nobody's mistake reach it as they are; the command line gets a line for
        these too.

    Raises
    ------
    SystemExit
        With an exit code other than 0 if the command failed.

    """
    arguments = list(sys.argv[1:] if args is None else args)
    if args is not None:
        _run(prog, command, arguments, raising=True)
        return
    # What h5py cannot close after a failure that is told anyway, it tells these, at length.
    hooks = sys.excepthook, sys.unraisablehook
    sys.excepthook = sys.unraisablehook = _say_nothing
    try:
        _run(prog, command, arguments, raising=False)
    except SystemExit as end:
        _end_with_files_that_cannot_be_closed(end.code)
        raise
    finally:
        sys.excepthook, sys.unraisablehook = hooks


def _say_nothing(*what: Any) -> None:
    """Take the place of a hook that prints."""


def _end_with_files_that_cannot_be_closed(code: Any) -> None:
    """End the process at once if HDF5 files are left open after a failure.

    Their disk is full, so HDF5 could not close them; it would try again when the interpreter
    ends, and bring it down.
    """
    h5py = sys.modules.get("h5py")
    if code and h5py is not None and h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else FAILURE)


def _run(
    prog: str, command: Callable[[list[str]], int | None], arguments: list[str], raising: bool
) -> None:
    """Do the work of `run`; ``raising`` lets errors that are nobody's mistake pass."""
    try:
        with default_manners(), warnings.catch_warnings():
            warnings.showwarning = functools.partial(_show_warning, prog)
            code = command(arguments)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        say(prog, "interrupted")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        _drop_standard_output()
        raise SystemExit(FAILURE) from None
    except UserError as error:
        fail(prog, str(error), error.code)
    except NameConflictError as error:
        if raising:
            raise
        fail(prog, f"{error}: {error.detail}")
    except (FuelError, OSError) as error:
        fail(prog, plain(error))
    except Exception as error:
        if raising:
            raise
        if "--traceback" in arguments:
            traceback.print_exc()
        elif _HDF5_REASON.search(str(error)):
            fail(prog, plain(error))
        fail(prog, f"{type(error).__name__}: {error} (`{prog} --traceback ...` shows where)")
    if code:
        raise SystemExit(code)


def _show_warning(prog: str, message: Warning | str, *rest: Any) -> None:
    """Show a warning as a line; where in the code it was issued is no help to a user."""
    say(prog, f"warning: {message}")


def plain(error: BaseException) -> str:
    """Say what an exception means, in one line."""
    text = " ".join(str(error).split())
    reason = _HDF5_REASON.search(text)
    if reason:
        place = f"{reason['file']}: " if reason["file"] else ""
        return f"{place}{reason['what']}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        name = error.filename if error.filename2 is None else error.filename2
        return f"{name or repr(name)}: {error.strerror}"
    return text or type(error).__name__


def _drop_standard_output() -> None:
    """Let the interpreter end quietly after the reader of our output (`head`) has gone."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass


def working_directory() -> str:
    """Return the working directory, which somebody may have removed."""
    try:
        return os.getcwd()
    except OSError as error:
        raise UserError("the working directory is gone; change to another one first") from error
