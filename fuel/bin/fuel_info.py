"""``fuel-info``: what is in an HDF5 file, and which settings are in force.

Looking at files is done by `fuel.inspection`, looking up settings by `fuel.config_parser`; the text
about files is in ``_info_text``.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
from collections.abc import Sequence
from typing import Any

from fuel.bin import _common
from fuel.bin._info_text import file_text, show, table
from fuel.config_parser import config, configuration_file
from fuel.exceptions import FuelError
from fuel.inspection._words import clean
from fuel.version import version

__all__ = ["describe_file", "main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run ``fuel-info``.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments; by default those of the process.

    Raises
    ------
    SystemExit
        With exit code 1 if the file is missing, damaged or no HDF5 file, 2 after wrong usage.

    """
    _common.run("fuel-info", _info, args)


def _info(arguments: list[str]) -> int:
    parser = _common.make_parser(
        "fuel-info", "Show how an HDF5 file was made and what is in it, or the settings of Fuel."
    )
    parser.add_argument("filename", nargs="?", help="an HDF5 file")
    parser.add_argument(
        "--config", action="store_true", help="show every setting, and where its value is from"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--stats", action="store_true", help="look at all of the data: ranges, means, classes"
    )
    parser.add_argument("--preview", metavar="PNG", help="draw some examples into this file")
    parser.add_argument("--html", metavar="HTML", help="write all of it into this page")
    parser.add_argument("--split", help="the split whose examples are drawn (default: the first)")
    parser.add_argument("--count", type=int, help="how many are drawn (default: as many as fit)")
    parser.add_argument(
        "--seed", type=int, help="draw examples at random, chosen by this, not spread evenly"
    )
    options = parser.parse_args(arguments)
    if (options.filename is None) != options.config:
        parser.error("name an HDF5 file, or ask for the settings with --config")
    if options.config:
        found = describe_settings()
        if options.json:
            print(json.dumps(found, indent=2, default=str))
        else:
            show(_settings_text(found))
        return 0
    _check_outputs(parser, options)
    return _show_file(options)


def _check_outputs(parser: Any, options: Any) -> None:
    """Refuse names of outputs that would destroy something, and options without effect."""
    for flag, name, endings in (
        ("--preview", options.preview, (".png",)),
        ("--html", options.html, (".html", ".htm")),
    ):
        if name is None:
            continue
        if not name.lower().endswith(endings):
            parser.error(f"{flag} needs the name of a file that ends in {endings[0]}, got {name!r}")
        folder = os.path.dirname(name) or os.curdir
        if not os.path.isdir(folder):
            parser.error(f"{flag} cannot write to {name}: there is no directory {folder}")
        if os.path.exists(options.filename) and os.path.exists(name):
            if os.path.samefile(options.filename, name):
                parser.error(f"{flag} would replace {name} itself; give another name")
    chosen = (options.split, options.count, options.seed)
    if options.preview is None and options.html is None and chosen != (None, None, None):
        parser.error("--split, --count and --seed choose what --preview and --html draw; add one")


def _show_file(options: Any) -> int:
    """Print what is known of a file, and write the picture and the page that were asked for."""
    found = describe_file(options.filename)
    if options.stats:
        from fuel.inspection import statistics

        found["statistics"] = statistics(options.filename)
    if options.json:
        print(json.dumps(found, indent=2, allow_nan=False))
    else:
        show(file_text(found))
    chosen = {"split": options.split, "count": options.count, "seed": options.seed}
    try:
        if options.preview is not None:
            from fuel.inspection import preview

            preview(options.filename, options.preview, **chosen)
        if options.html is not None:
            from fuel.inspection import html

            html(options.filename, options.html, stats=found.get("statistics", False), **chosen)
    except ValueError as error:
        raise _common.UserError(str(error), _common.USAGE) from error
    unread = [name for name, one in found.get("statistics", {}).items() if "problem" in one]
    if unread:
        raise _common.UserError(
            f"{options.filename}: not all could be read: {', '.join(map(clean, unread))}"
        )
    return 0


def describe_file(path: str) -> dict[str, Any]:
    """Say what is in an HDF5 file.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    dict
        See `fuel.inspection.describe`. Plain JSON.

    Raises
    ------
    OSError
        If the file is missing, cut short, damaged, or not HDF5.

    """
    from fuel.inspection import describe

    return describe(path)


def describe_settings() -> dict[str, Any]:
    """Say which settings are in force, and what the package runs on.

    Returns
    -------
    dict
        ``version``, ``configuration_file``, ``kernels`` (topic → ``"compiled"``, ``"reference"``,
        or what is wrong) and ``settings`` (name → value, origin, environment variable, error).

    """
    path = configuration_file()
    return {
        "version": version,
        "configuration_file": {"path": path, "exists": os.path.exists(path)},
        "kernels": _kernels(),
        "settings": {
            line.key: {
                "value": line.value,
                "origin": line.origin,
                "environment_variable": line.env_var,
                "error": line.error,
            }
            for line in config.describe()
        },
    }


def _kernels() -> dict[str, str]:
    import fuel.kernels
    from fuel.kernels._select import active

    problems = {}
    for module in pkgutil.iter_modules(fuel.kernels.__path__):
        if not module.name.startswith("_"):
            try:
                importlib.import_module(f"fuel.kernels.{module.name}")
            except FuelError as error:
                problems[module.name] = str(error)
    return {**active(), **problems}


def _settings_text(found: dict[str, Any]) -> str:
    file = found["configuration_file"]
    lines = [
        f"Fuel {found['version']}",
        "",
        f"Configuration file: {file['path']}{'' if file['exists'] else ' (there is none)'}",
        "",
        "Settings are",
        "",
        *table([_setting_row(name, line) for name, line in found["settings"].items()]),
        "",
        "Kernels are",
        "",
        *table([[topic, form] for topic, form in found["kernels"].items()] or [["none"]]),
        "",
    ]
    # A damaged file is the same error for every setting.
    for error in dict.fromkeys(line["error"] for line in found["settings"].values()):
        if error:
            lines += [f"Problem: {' '.join(error.split())}", ""]
    return "\n".join(lines)


def _setting_row(name: str, line: dict[str, Any]) -> list[str]:
    value = "(unusable)" if line["error"] else repr(line["value"])
    if not line["error"] and line["origin"] == "not set":
        value = "(not set)"
    hint = line["environment_variable"] or ""
    return [name, value, line["origin"], f"(variable {hint})" if hint else ""]


if __name__ == "__main__":
    main()
