"""The converters and downloaders at hand: built-in ones, and those of other packages.

How the commands talk is in `_manners`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuel.bin._manners import USAGE, UserError, add_manners, fail, nearest, say
from fuel.config_parser import config
from fuel.exceptions import ConfigurationError

__all__ = [
    "NameConflictError",
    "Plugins",
    "add_plugins",
    "chosen_name",
    "find_plugins",
    "require_name",
]


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
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            return argument
        action = parser._option_string_actions.get(argument)
        if action is not None and action.nargs is None:
            next(rest, None)  # its value
    return None


def add_plugins(
    parser: argparse.ArgumentParser,
    plugins: Plugins,
    add_options: Callable[[argparse.ArgumentParser, str], None],
    help_text: str,
    arguments: Sequence[str],
    add_last: Callable[[argparse.ArgumentParser, str], None] | None = None,
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
    add_last : callable, optional
        Adds options that give way to those of the plug-in (see `add_option`).

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
        if add_last is not None:
            add_last(subparser, plugin)
        add_manners(subparser)
    if name is not None and name not in plugins.functions:
        parser.error(
            f"argument DATASET: invalid choice: {name!r}{nearest(name, plugins.functions)} "
            f"(`{parser.prog} --list` shows what there is)"
        )
    return functions


def require_name(parser: argparse.ArgumentParser, name: str | None, plugins: Plugins) -> str:
    """Return the sub-command, or end with the usage and the list of what there is."""
    if name is None:
        parser.print_usage(sys.stderr)
        fail(
            parser.prog,
            f"name a data set, one of\n{plugins.listing()}\n"
            f"(`{parser.prog} DATASET -h` tells its options)",
            USAGE,
        )
    return name
