"""``fuel-download``: fetches raw files.

The downloaders are in `fuel.downloaders`, and in the modules that the setting
``extra_downloaders`` names. For small data sets whose files ship with the package those are taken
when asked for, or when the public address cannot be used; the output says so. What the options
``--jobs``, ``--url`` and ``--dry-run`` mean is done in `fuel.downloaders.base`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from fuel.bin import _common
from fuel.exceptions import NeedURLPrefix, StorageError
from fuel.manifests import MANIFESTS, Manifest
from fuel.utils import _progress

__all__ = ["main"]

#: Two connections keep one line busy; servers of data sets are not to be asked for many.
_JOBS, _MOST_JOBS = 2, 16

_EPILOG = (
    "A file grows as NAME.part beside its place. What an interrupted download left there is used "
    "by the next one."
)

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


def _add_last(subparser: argparse.ArgumentParser, name: str) -> None:
    """Add what every download can have, unless the downloader has such an option itself."""
    _common.add_option(
        subparser,
        "-j",
        "--jobs",
        dest="_jobs",
        type=_number_of_jobs,
        default=_JOBS,
        metavar="N",
        help=f"how many files to download at a time (default: {_JOBS})",
    )
    _common.add_option(
        subparser,
        "--url",
        dest="_addresses",
        type=_address,
        action="append",
        default=[],
        metavar="[NAME=]URL",
        help="another address of a file, or of the directory of the files if it ends in a slash; "
        "may be repeated, and is tried in that order; sizes and checksums are checked all the same",
    )
    _common.add_option(
        subparser,
        "-n",
        "--dry-run",
        dest="_dry_run",
        action="store_true",
        help="only say what would be downloaded: sizes, addresses, places",
    )


def _number_of_jobs(text: str) -> int:
    jobs = int(text) if text.isdigit() else 0
    if not 1 <= jobs <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {_MOST_JOBS}, got {text!r}")
    return jobs


def _address(text: str) -> tuple[str | None, str]:
    from fuel.downloaders._addresses import parse_address

    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _download(arguments: list[str]) -> int:
    # Asked first: where the directory is gone, some versions of Python cannot even import NumPy.
    _common.working_directory()
    from fuel.downloaders import all_downloaders
    from fuel.downloaders._addresses import AddressError
    from fuel.downloaders._settings import Rehearsed, Settings, using

    parser = _common.make_parser(
        "fuel-download", "Download the raw files of a data set, or delete them.", epilog=_EPILOG
    )
    parser.add_argument("--list", action="store_true", help="list the data sets, and end")
    plugins = _common.find_plugins("downloaders", all_downloaders)
    functions = _common.add_plugins(
        parser, plugins, _add_options, "download the {} data set", arguments, _add_last
    )
    options = vars(parser.parse_args(arguments))
    options.pop("traceback")
    name = options.pop("which_")
    if options.pop("list"):
        print(_listing(plugins))
        return 0
    name = _common.require_name(parser, name, plugins)
    bundled = options.pop("bundled", False)
    ours = plugins.modules[name] == plugins.built_in
    settings = Settings(
        jobs=options.pop("_jobs", 1),
        addresses=tuple(options.pop("_addresses", ())),
        dry_run=options.pop("_dry_run", False),
        quiet=_common.is_quiet(),
        reporting=True,
        tell=_common.remark,
        known={file.name: file for entry in _manifests(name) for file in entry.files if ours},
    )
    _check(name, functions[name], options, settings, ours)
    manifest = MANIFESTS.get(name)
    if not ours or not (manifest and manifest.packaged):
        manifest = None
    try:
        with using(settings):
            if manifest is None or options["clear"]:
                _fetch(functions[name], options)
            elif bundled:
                _take(manifest, options["directory"], "as asked", settings.dry_run)
            else:
                _fetch_or_take(manifest, functions[name], options)
    except NeedURLPrefix as error:
        parser.error(f"{error}\n\n{_PREFIX_HINT}")
    except AddressError as error:
        raise _common.UserError(str(error), _common.USAGE) from None
    except Rehearsed:
        return 0
    if settings.addresses and "addresses" not in settings.noticed and not bundled:
        _common.say(
            "fuel-download",
            f"warning: --url was of no use: the downloader of {name} finds its files by itself",
        )
    return 0


def _check(
    name: str, function: Callable[..., Any], options: dict[str, Any], settings: Any, ours: bool
) -> None:
    """Refuse what cannot be kept to."""
    from fuel.downloaders.base import default_downloader

    if settings.dry_run and options["clear"]:
        raise _common.UserError(
            "--dry-run says what would be downloaded; leave --clear out", _common.USAGE
        )
    if settings.dry_run and not ours and function is not default_downloader:
        raise _common.UserError(
            f"what the downloader of {name} would do is known to it alone; leave --dry-run out",
            _common.USAGE,
        )


def _manifests(name: str) -> list[Manifest]:
    """Return the entries of a data set: one for each of its variants."""
    return [entry for key, entry in MANIFESTS.items() if key == name or key.startswith(f"{name}_")]


def _listing(plugins: _common.Plugins) -> str:
    """Every data set with its size, whether it is packaged, and its title: a line each."""
    rows = []
    for name, module in plugins.modules.items():
        entries = _manifests(name) if module == plugins.built_in else []
        title = entries[0].title if entries else ""
        if len(entries) > 1:
            title = f"{title.partition(',')[0]} ({len(entries)} variants)"
        if module != plugins.built_in:
            title = f"(from {module})"
        files = {file.url or file.name: file for entry in entries for file in entry.files}
        sizes = [file.size for file in files.values()]
        known = [size for size in sizes if size is not None]
        size = _progress.bytes_text(sum(known)) if known and len(known) == len(sizes) else ""
        packaged = "packaged" if entries and all(entry.packaged for entry in entries) else ""
        rows.append((name, size, packaged, title))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return "\n".join(
        (f"  {row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:{widths[2]}}  {row[3]}").rstrip()
        for row in rows
    )


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


def _take(manifest: Manifest, directory: str, reason: str, dry_run: bool = False) -> None:
    from fuel.downloaders.packaged import take_packaged

    if dry_run:
        for name in manifest.filenames:
            print(f"{os.path.join(directory, name)}: a copy that ships with Fuel")
        return
    paths = take_packaged(manifest, directory)
    print(f"Took the files of {manifest.name} that ship with Fuel, {reason}:")
    for path in paths:
        print(f"  {path}")


if __name__ == "__main__":
    main()
