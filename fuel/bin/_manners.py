"""How the commands talk: exit codes, lines, colours, what ``--quiet`` and ``--verbose`` mean.

Also the parser that all commands use. Running a command and judging its errors is in `_common`,
data sets of other packages are in `_plugins`, the scripts for shells in `_completion`.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

from fuel.bin._completion import SHELLS, completion_script
from fuel.utils import _progress
from fuel.version import version

__all__ = [
    "FAILURE",
    "INTERRUPTED",
    "USAGE",
    "Parser",
    "UserError",
    "add_manners",
    "add_option",
    "default_manners",
    "fail",
    "is_quiet",
    "is_verbose",
    "make_parser",
    "nearest",
    "remark",
    "say",
]

FAILURE = 1
USAGE = 2
INTERRUPTED = 130

_EXIT_CODES = (
    "Exit codes: 0 all went well; 1 it failed (no network, a full disk, a damaged file); 2 the "
    "command was not understood, or input files are missing; 130 interrupted by Ctrl-C."
)

_QUIET, _NORMAL, _VERBOSE = -1, 0, 1
_level: ContextVar[int] = ContextVar("fuel_command_level", default=_NORMAL)

_COLOURS = {"error:": "\x1b[1;31m", "warning:": "\x1b[1;33m"}


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


def _colourful(stream: Any) -> bool:
    """Tell whether colours are welcome (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", lambda: False)())


def say(prog: str, message: str) -> None:
    """Print a line on the standard error output."""
    word, space, rest = message.partition(" ")
    if word in _COLOURS and _colourful(sys.stderr):
        message = f"{_COLOURS[word]}{word}\x1b[0m{space}{rest}"
    print(f"{prog}: {message}", file=sys.stderr, flush=True)


def fail(prog: str, message: str, code: int = FAILURE) -> NoReturn:
    """Print an error line and end the program."""
    sys.stdout.flush()
    say(prog, f"error: {message}")
    raise SystemExit(code)


def is_quiet() -> bool:
    """Tell whether the user asked for results and errors only."""
    return _level.get() == _QUIET


def is_verbose() -> bool:
    """Tell whether the user wants to know what happens on the way."""
    return _level.get() == _VERBOSE


def remark(text: str) -> None:
    """Print a line about what happens on the way, if the user wants to know."""
    if is_verbose():
        from tqdm import tqdm

        with tqdm.external_write_mode(file=sys.stderr):
            print(text, file=sys.stderr, flush=True)


@contextmanager
def default_manners() -> Iterator[None]:
    """Have one run of a command leave nothing of its manners to the next."""
    level, hidden = _level.set(_NORMAL), _progress.hidden.set(False)
    try:
        yield
    finally:
        _level.reset(level)
        _progress.hidden.reset(hidden)


class _Manner(argparse.Action):
    """``--quiet`` or ``--verbose``: changes the manners, and leaves nothing among the options."""

    def __call__(self, *arguments: Any, **options: Any) -> None:
        _level.set(self.const)
        _progress.hidden.set(self.const == _QUIET)


class _Completion(argparse.Action):
    """Prints a script for a shell, and ends the program."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        sys.stdout.write(completion_script(values, parser))
        parser.exit()


class _Paragraphs(argparse.HelpFormatter):
    """Keeps the paragraphs of an epilogue apart."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n\n".join(fill(part, width, indent) for part in text.split("\n\n"))


class Parser(argparse.ArgumentParser):
    """A parser that suggests what was meant."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error line, and end the program."""
        found = re.fullmatch(r"unrecognized arguments: (--[\w-]+).*", message, re.DOTALL)
        if found:
            message += nearest(found[1], self._options())
        self.print_usage(sys.stderr)
        fail(self.prog, message, USAGE)

    def _options(self) -> set[str]:
        found = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    found |= set(parser._option_string_actions)
        return found


def nearest(word: str, words: Iterable[str]) -> str:
    """Return ``"; did you mean X?"`` for the most similar words, or nothing."""
    plain: dict[str, str] = {}
    for each in words:
        plain.setdefault(re.sub(r"[\W_]", "", each).lower(), each)
    found = difflib.get_close_matches(re.sub(r"[\W_]", "", word).lower(), plain, n=2)
    return f"; did you mean {' or '.join(plain[each] for each in found)}?" if found else ""


def add_option(parser: argparse.ArgumentParser, *flags: str, **options: Any) -> None:
    """Add an option under those of its names that nobody has taken."""
    free = [flag for flag in flags if flag not in parser._option_string_actions]
    if any(flag.startswith("--") for flag in free):
        parser.add_argument(*free, **options)


def add_manners(parser: argparse.ArgumentParser) -> None:
    """Add the options that may be given before and after the name of a data set."""
    nothing: dict[str, Any] = {"dest": argparse.SUPPRESS, "default": argparse.SUPPRESS}
    add_option(
        parser,
        "-q",
        "--quiet",
        action=_Manner,
        nargs=0,
        const=_QUIET,
        help="print results and errors only",
        **nothing,
    )
    add_option(
        parser,
        "-v",
        "--verbose",
        action=_Manner,
        nargs=0,
        const=_VERBOSE,
        help="say what happens on the way",
        **nothing,
    )
    add_option(
        parser,
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show where an unexpected error happened",
    )


def make_parser(prog: str, description: str, **options: Any) -> argparse.ArgumentParser:
    """Make the parser of a command, with the options that all commands have.

    Parameters
    ----------
    prog : str
        The name of the command.
    description : str
        What it does.
    **options
        For `argparse.ArgumentParser`. The exit codes are added to an ``epilog``.

    Returns
    -------
    argparse.ArgumentParser
        Of these options only ``traceback`` is among those that it parses; `is_quiet` and
        `is_verbose` tell the others.

    """
    options["epilog"] = "\n\n".join(filter(None, (options.get("epilog"), _EXIT_CODES)))
    options.setdefault("formatter_class", _Paragraphs)
    parser = Parser(prog=prog, description=description, **options)
    parser.add_argument("--version", action="version", version=f"{prog} {version}")
    parser.set_defaults(traceback=False)
    add_manners(parser)
    parser.add_argument(
        "--completion",
        choices=SHELLS,
        action=_Completion,
        dest=argparse.SUPPRESS,
        default=argparse.SUPPRESS,
        help="print a script that makes a shell complete this command",
    )
    return parser
