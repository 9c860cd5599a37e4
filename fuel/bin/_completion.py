"""Scripts that make shells complete a command, made from its `argparse` parser.

The data sets that the settings name at that moment are in them: after a change of the settings
make them anew.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["SHELLS", "completion_script"]

#: The shells that there are scripts for.
SHELLS = ("bash", "fish", "zsh")

_PLAIN = re.compile(r"[\w.+-]+")


@dataclass(frozen=True)
class _Argument:
    """An option or an argument in a place of its own.

    ``kind`` says what it takes: ``"nothing"``, ``"choices"``, ``"directory"``, ``"file"``, or
    ``"other"`` where nothing can be offered.
    """

    flags: tuple[str, ...]
    kind: str
    choices: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class _Command:
    """A command, or one of its sub-commands."""

    name: str
    text: str
    arguments: tuple[_Argument, ...]

    @property
    def options(self) -> Iterator[_Argument]:
        return (argument for argument in self.arguments if argument.flags)

    @property
    def words(self) -> list[str]:
        """What may stand where no option is meant, as far as it is known."""
        return [word for found in self.arguments if not found.flags for word in found.choices]


def completion_script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Write the script that makes a shell complete a command.

    Parameters
    ----------
    shell : {'bash', 'fish', 'zsh'}
        The shell.
    parser : argparse.ArgumentParser
        The parser of the command, its sub-commands included.

    Returns
    -------
    str
        The script; the shell has to read it (``source``).

    """
    main = _command(parser.prog, "", parser)
    subcommands = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {found.dest: found.help or "" for found in action._choices_actions}
            for name, subparser in action.choices.items():
                if _PLAIN.fullmatch(name):
                    subcommands.append(_command(name, texts.get(name, ""), subparser))
    write = {"bash": _bash, "fish": _fish, "zsh": _zsh}[shell]
    return "\n".join(write(parser.prog, main, subcommands)) + "\n"


def _command(name: str, text: str, parser: argparse.ArgumentParser) -> _Command:
    return _Command(
        name,
        text,
        tuple(
            _argument(action)
            for action in parser._actions
            if not isinstance(action, argparse._SubParsersAction)
        ),
    )


def _argument(action: argparse.Action) -> _Argument:
    choices = tuple(str(choice) for choice in action.choices or ())
    where = f"{action.dest} {' '.join(action.option_strings)} {action.metavar or ''}".lower()
    if action.nargs == 0:
        kind = "nothing"
    elif choices:
        kind = "choices"
    elif "director" in where or "folder" in where:
        kind = "directory"
    elif action.type not in (None, str) or re.search(r"url|prefix|seed|split|source", where):
        kind = "other"
    else:
        kind = "file"
    text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    text = re.sub(r"\s*\([^()]*%\(default\)s[^()]*\)|%\(\w+\)\w", "", text).replace("%%", "%")
    flags = tuple(flag for flag in action.option_strings if _PLAIN.fullmatch(flag))
    return _Argument(flags, kind, tuple(filter(_PLAIN.fullmatch, choices)), text)


def _function(prog: str) -> str:
    return "_" + re.sub(r"\W", "_", prog)


def _values(commands: list[tuple[str, _Command]]) -> Iterator[tuple[str, _Argument]]:
    """Yield what can stand before a value, as ``NAME:FLAG`` patterns, and the option."""
    for key, command in commands:
        for option in command.options:
            if option.kind != "nothing":
                yield "|".join(f'"{key}:{flag}"' for flag in option.flags), option


def _bash(prog: str, main: _Command, subcommands: list[_Command]) -> Iterator[str]:
    commands = [("", main), *((found.name, found) for found in subcommands)]
    names = [found.name for found in subcommands]
    function = _function(prog)
    offers = {
        "directory": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")',
        "file": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")',
        "other": "COMPREPLY=()",
    }
    yield f"# Completion of {prog} for bash: put it into ~/.bashrc, or"
    yield f"#   source <({prog} --completion bash)"
    yield f"{function}() {{"
    yield '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    local command="" words="" word'
    if names:
        yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
        yield f'        case "$word" in {"|".join(names)}) command="$word"; break ;; esac'
        yield "    done"
    yield '    case "$command:$prev" in'
    for pattern, option in _values(commands):
        words = shlex.quote(" ".join(option.choices))
        offer = offers.get(option.kind, f'mapfile -t COMPREPLY < <(compgen -W {words} -- "$cur")')
        yield f"        {pattern}) {offer}; return ;;"
    yield "    esac"
    yield '    case "$command" in'
    for key, command in commands:
        flags = [flag for option in command.options for flag in option.flags]
        words = " ".join([*flags, *command.words, *(names if not key else ())])
        yield f'        "{key}") words={shlex.quote(words)} ;;'
    yield "    esac"
    yield '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")'
    yield "}"
    yield f"complete -o bashdefault -o default -F {function} {prog}"


def _zsh(prog: str, main: _Command, subcommands: list[_Command]) -> Iterator[str]:
    commands = [("", main), *((found.name, found) for found in subcommands)]
    function = _function(prog)

    def described(word: str, text: str) -> str:
        return shlex.quote(word.replace(":", "\\:") + (":" + text if text else ""))

    yield f"#compdef {prog}"
    yield f"# Completion of {prog} for zsh: put it into ~/.zshrc behind `compinit`, or"
    yield f"#   source <({prog} --completion zsh)"
    yield f"{function}() {{"
    yield '    local command="" word'
    yield "    local -a options names"
    if subcommands:
        yield '    for word in "${(@)words[2,CURRENT-1]}"; do'
        names = "|".join(found.name for found in subcommands)
        yield f'        case "$word" in ({names}) command="$word"; break ;; esac'
        yield "    done"
    yield '    case "$command:${words[CURRENT-1]}" in'
    for pattern, option in _values(commands):
        offers = {"directory": "_files -/", "file": "_files", "other": "_message value"}
        offer = offers.get(option.kind, f"compadd -- {' '.join(option.choices)}")
        yield f"        ({pattern}) {offer}; return ;;"
    yield "    esac"
    yield '    case "$command" in'
    for key, command in commands:
        options = " ".join(
            described(flag, option.text) for option in command.options for flag in option.flags
        )
        words = [described(word, "") for word in command.words]
        if not key:
            words += [described(found.name, found.text) for found in subcommands]
        yield f'        ("{key}") options=({options}); names=({" ".join(words)}) ;;'
    yield "    esac"
    yield '    if [[ "$PREFIX" == -* ]]; then _describe -o option options'
    yield "    elif (( ${#names} )); then _describe argument names"
    yield "    else _files; fi"
    yield "}"
    yield f'if [[ "${{funcstack[1]}}" == {function} ]]; then {function} "$@"'
    yield f"else compdef {function} {prog}; fi"


def _fish(prog: str, main: _Command, subcommands: list[_Command]) -> Iterator[str]:
    yield f"# Completion of {prog} for fish: {prog} --completion fish >"
    yield f"#   ~/.config/fish/completions/{prog}.fish"
    names = " ".join(found.name for found in subcommands)
    outside = f"not __fish_seen_subcommand_from {names}" if names else ""
    for found in subcommands:
        yield _fish_line(prog, outside, f"-f -a {found.name}", found.text)
    for command in (main, *subcommands):
        inside = "" if command is main else f"__fish_seen_subcommand_from {command.name}"
        condition = outside if command is main else inside
        if command.words:
            yield _fish_line(prog, condition, f"-f -a {_fish_quote(' '.join(command.words))}", "")
        for option in command.options:
            parts = []
            for flag in option.flags:
                kind = "l" if flag.startswith("--") else "s" if len(flag) == 2 else "o"
                parts.append(f"-{kind} {flag.lstrip('-')}")
            value = {
                "nothing": "",
                "directory": "-x -a '(__fish_complete_directories)'",
                "file": "-r -F",
                "other": "-x",
                "choices": f"-x -a {_fish_quote(' '.join(option.choices))}",
            }[option.kind]
            yield _fish_line(prog, condition, " ".join(filter(None, (*parts, value))), option.text)


def _fish_line(prog: str, condition: str, what: str, text: str) -> str:
    parts = [f"complete -c {prog}", f"-n {_fish_quote(condition)}" if condition else "", what]
    parts.append(f"-d {_fish_quote(text)}" if text else "")
    return " ".join(filter(None, parts))


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
