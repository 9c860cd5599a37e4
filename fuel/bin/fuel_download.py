"""``fuel-download``: fetches raw files.

The downloaders are in `fuel.downloaders`, and in the modules that the setting
``extra_downloaders`` names. For small data sets whose files ship with the package those are taken
when asked for, or when the public address cannot be used; the output says so.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from fuel.bin import _common
from fuel.exceptions import NeedURLPrefix, StorageError
from fuel.manifests import MANIFESTS, Manifest

__all__ = ["main"]

_PREFIX_HINT = (
    "Some of the files of this data set have no public address: whoever provides them gives access "
    "to registered users.\n\nGive the address of the directory that holds them with -P "
    "(--url-prefix), ending in a slash, or download them by hand into the directory of -d."
)


def main(args: Sequence[str] | None = None) -> None:
    """Run ``fuel-download``.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments; by default those of the process.

    Raises
    ------
    SystemExit
        With exit code 1 after a failure, 2 after wrong usage.
    ValueError
        If ``args`` names a downloader that an extra module has as well as this package.

    """
    _common.run("fuel-download", _download, args)


def _add_options(subparser: argparse.ArgumentParser, name: str) -> None:
    subparser.add_argument(
        "-d",
        "--directory",
        default=_common.working_directory(),
        help="where to save the files (default: %(default)s)",
    )
    subparser.add_argument(
        "--clear", action="store_true", help="delete the files instead of downloading them"
    )
    if name in MANIFESTS and MANIFESTS[name].packaged:
        subparser.add_argument(
            "--bundled",
            action="store_true",
            help="take the files that ship with Fuel, without the network",
        )


def _download(arguments: list[str]) -> int:
    # Asked first: where the directory is gone, some versions of Python cannot even import NumPy.
    _common.working_directory()
    from fuel.downloaders import all_downloaders

    parser = _common.make_parser(
        "fuel-download", "Download the raw files of a data set, or delete them."
    )
    parser.add_argument("--list", action="store_true", help="list the downloaders, and end")
    plugins = _common.find_plugins("downloaders", all_downloaders)
    functions = _common.add_plugins(
        parser, plugins, _add_options, "download the {} data set", arguments
    )
    options = vars(parser.parse_args(arguments))
    options.pop("traceback")
    name = options.pop("which_")
    if options.pop("list"):
        print(plugins.listing())
        return 0
    name = _common.require_name(parser, name, plugins)
    bundled = options.pop("bundled", False)
    manifest = MANIFESTS.get(name)
    if plugins.modules[name] != plugins.built_in or not (manifest and manifest.packaged):
        manifest = None
    try:
        if manifest is None or options["clear"]:
            _fetch(functions[name], options)
        elif bundled:
            _take(manifest, options["directory"], "as asked")
        else:
            _fetch_or_take(manifest, functions[name], options)
    except NeedURLPrefix as error:
        parser.error(f"{error}\n\n{_PREFIX_HINT}")
    return 0


def _fetch(function: Callable[..., Any], options: dict[str, Any]) -> None:
    from requests.exceptions import RequestException

    from fuel.downloaders._transfer import describe_failure

    try:
        function(**options)
    except RequestException as error:
        known = [getattr(part, "url", None) for part in (error.request, error.response)]
        address = next(filter(None, known), "the server")
        raise _common.UserError(describe_failure(address, error)) from error


def _fetch_or_take(
    manifest: Manifest, function: Callable[..., Any], options: dict[str, Any]
) -> None:
    """Download; take the packaged files where that does not give the right ones."""
    from fuel.downloaders.packaged import check_file

    directory = options["directory"]
    try:
        _fetch(function, options)
        paths = [os.path.join(directory, name) for name in manifest.filenames]
        remarks = []
        for file, path in zip(manifest.files, paths):
            try:
                remarks.append(check_file(file, path))
            except StorageError:
                os.remove(path)
                raise
        for remark in filter(None, remarks):
            print(f"Note: {remark}.")
    except (_common.UserError, StorageError) as error:
        _take(manifest, directory, f"because the download failed ({_common.plain(error)})")


def _take(manifest: Manifest, directory: str, reason: str) -> None:
    from fuel.downloaders.packaged import take_packaged

    paths = take_packaged(manifest, directory)
    print(f"Took the files of {manifest.name} that ship with Fuel, {reason}:")
    for path in paths:
        print(f"  {path}")


if __name__ == "__main__":
    main()
