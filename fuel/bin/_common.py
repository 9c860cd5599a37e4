"""What the commands share: exit codes, plain error lines, and the plug-ins of other packages.

Exit codes: 0 success, 1 failure, 2 wrong usage (missing input files included), 130 interrupted.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import importlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from fuel.config_parser import config
from fuel.exceptions import ConfigurationError, FuelError
from fuel.version import version

__all__ = ["NameConflictError", "Plugins", "UserError", "add_plugins", "make_parser", "run"]

#: What the system answered, in the messages of HDF5: those of full disks are not even OSErrors.
_HDF5_REASON = re.compile(
    r"(filename = '(?P<file>[^']*)'.*?)?errno = \d+, error message = '(?P<what>[^']*)'", re.DOTALL
)

FAILURE = 1
USAGE = 2
INTERRUPTED = 130


class UserError(Exception):
    """Something that the user can mend; its text is shown without a traceback.

    Parameters
    ----------
    message : str
        The text.
    code : int, optional
        The exit code.

    """

    def __init__(self, message: str, code: int = FAILURE) -> None:
        super().__init__(message)
        self.code = code


class NameConflictError(ValueError):
    """A plug-in has the name of a built-in one (programs expect this text and a ValueError).

    Parameters
    ----------
    message : str
        The text.
    detail : str
        Which names, from which modules, and what to do.

    """

    def __init__(self, message: str, detail: str) -> None:
        super().__init__(message)
        self.detail = detail


def say(prog: str, message: str) -> None:
    """Print a line on the standard error output."""
    print(f"{prog}: {message}", file=sys.stderr, flush=True)


def fail(prog: str, message: str, code: int = FAILURE) -> NoReturn:
    """Print an error line and end the program."""
    sys.stdout.flush()
    say(prog, f"error: {message}")
    raise SystemExit(code)


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
        with warnings.catch_warnings():
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


def make_parser(prog: str, description: str, **options: Any) -> argparse.ArgumentParser:
    """Make the parser of a command, with the options that all commands have."""
    parser = argparse.ArgumentParser(prog=prog, description=description, **options)
    parser.add_argument("--version", action="version", version=f"{prog} {version}")
    parser.add_argument(
        "--traceback", action="store_true", help="show where an unexpected error happened"
    )
    return parser


@dataclass
class Plugins:
    """The converters or downloaders at hand.

    Attributes
    ----------
    kind : str
        ``"converters"`` or ``"downloaders"``.
    functions : dict
        Name → function that fills the parser of its sub-command.
    modules : dict
        Name → the module that it comes from.
    broken : dict
        Module named in the settings → why it cannot be used.
    conflicts : dict
        Name that was there already → the module that has it too.

    """

    kind: str
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)

    @property
    def built_in(self) -> str:
        """The name of the built-in module."""
        return f"fuel.{self.kind}"

    def listing(self) -> str:
        """Every name with the module it comes from, a line each."""
        width = max(map(len, self.functions), default=0)
        lines = []
        for name, module in self.modules.items():
            origin = "" if module == self.built_in else f"  (from {module})"
            lines.append(f"  {name:{width}}{origin}".rstrip())
        return "\n".join(lines)

    def conflict_message(self, name: str) -> str:
        """Say what kind of conflict there is."""
        other = f"built-in {self.kind}" if self.modules[name] == self.built_in else "each other"
        return f"extra {self.kind} conflict in name with {other}"

    def problems(self) -> list[str]:
        """What is wrong with the settings, a line each."""
        return [
            f"extra {self.kind} module {module!r} cannot be used: {reason}"
            for module, reason in self.broken.items()
        ] + [
            f"{self.conflict_message(name)}: {self.conflict_detail(name)}"
            for name in self.conflicts
        ]

    def conflict_detail(self, name: str) -> str:
        """Say which modules have a name."""
        return (
            f"{name!r} is in {self.conflicts[name]} and in {self.modules[name]}; rename it there, "
            f"or take the module out of `extra_{self.kind}`"
        )

    def check(self, name: str) -> None:
        """Make sure that a name means one thing."""
        if name in self.conflicts:
            raise NameConflictError(self.conflict_message(name), self.conflict_detail(name))
        if name not in self.functions and self.broken:
            raise UserError(
                f"there is no {name!r} among the {self.kind} that could be loaded; "
                + "; ".join(self.problems()),
                USAGE,
            )


def find_plugins(kind: str, built_in: Sequence[tuple[str, Callable[[Any], Any]]]) -> Plugins:
    """Collect the built-in converters or downloaders, and those that the settings name."""
    plugins = Plugins(kind)
    for name, function in built_in:
        plugins.functions[name] = function
        plugins.modules[name] = plugins.built_in
    for module in _extra_modules(f"extra_{kind}"):
        try:
            pairs = [
                (str(name), function)
                for name, function in getattr(importlib.import_module(module), f"all_{kind}")
            ]
        except Exception as error:  # whatever somebody else's module does
            plugins.broken[module] = f"{type(error).__name__}: {error}"
            continue
        for name, function in pairs:
            if name in plugins.functions:
                plugins.conflicts[name] = module
            else:
                plugins.functions[name] = function
                plugins.modules[name] = module
    return plugins


def _extra_modules(setting: str) -> list[str]:
    modules = getattr(config, setting)
    if isinstance(modules, str):
        modules = modules.split()
    if not all(isinstance(module, str) for module in modules):
        raise ConfigurationError(
            f"{setting} must be a list of names of modules, got {modules!r} "
            f"(from {config.origin(setting)})"
        )
    return [module for module in modules if module]


def chosen_name(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> str | None:
    """Return the sub-command in a list of arguments: the first one that is not an option."""
    return next((argument for argument in arguments if not argument.startswith("-")), None)


def add_plugins(
    parser: argparse.ArgumentParser,
    plugins: Plugins,
    add_options: Callable[[argparse.ArgumentParser, str], None],
    help_text: str,
    arguments: Sequence[str],
) -> dict[str, Callable[..., Any]]:
    """Give a parser one sub-command for every plug-in.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the command.
    plugins : Plugins
        What there is.
    add_options : callable
        Adds the options that all sub-commands have; gets the sub-parser and the name.
    help_text : str
        The help of a sub-command; ``{}`` stands for its name.
    arguments : sequence of str
        The arguments, to know which problems concern the user.

    Returns
    -------
    dict
        Name → the function to call.

    """
    name = chosen_name(parser, arguments)
    if name is not None:
        plugins.check(name)
    for problem in plugins.problems():
        say(parser.prog, f"warning: {problem}")
    subparsers = parser.add_subparsers(metavar="DATASET", dest="which_")
    functions = {}
    for plugin, fill_subparser in plugins.functions.items():
        subparser = subparsers.add_parser(plugin, help=help_text.format(plugin))
        add_options(subparser, plugin)
        try:
            functions[plugin] = fill_subparser(subparser)
        except Exception as error:
            if plugin != name:
                continue
            raise UserError(
                f"{plugin!r} of {plugins.modules[plugin]} cannot be used: "
                f"{type(error).__name__}: {error}"
            ) from error
    return functions


def require_name(parser: argparse.ArgumentParser, name: str | None, plugins: Plugins) -> str:
    """Return the sub-command, or end with the usage and the list of what there is."""
    if name is not None:
        return name
    parser.print_usage(sys.stderr)
    fail(
        parser.prog,
        f"name a data set, one of\n{plugins.listing()}\n"
        f"(`{parser.prog} DATASET -h` tells its options)",
        USAGE,
    )
