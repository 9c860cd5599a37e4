"""``fuel-convert``: makes HDF5 files from raw files.

The converters are in `fuel.converters`, and in the modules that the setting ``extra_converters``
names. Each writes into a staging directory beside the final place, so that a failure leaves what
was there before, whatever the converter does.
"""

from __future__ import annotations

import argparse
import inspect
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from fuel.bin import _common
from fuel.exceptions import MissingInputFiles

__all__ = ["CheckDirectoryAction", "main"]

_EXTENSIONS = (".hdf5", ".hdf", ".h5")

_EPILOG = (
    "A converter writes into a temporary directory (`DATASET.*.part`) inside the output directory; "
    "its files get their final places when it has succeeded."
)


class CheckDirectoryAction(argparse.Action):
    """Takes the name of a directory that must exist."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store the name, or end with an error if there is no such directory."""
        if not os.path.isdir(values):
            what = "is not a directory" if os.path.exists(values) else "does not exist"
            parser.exit(
                _common.USAGE,
                f"fuel-convert: error: the output directory {values} {what}; make it first, or "
                f"choose another with {option_string}\n",
            )
        setattr(namespace, self.dest, values)


def main(args: Sequence[str] | None = None) -> None:
    """Run ``fuel-convert``.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments; by default those of the process.

    Raises
    ------
    SystemExit
        With exit code 1 after a failure, 2 after wrong usage or if input files are missing.
    ValueError
        If ``args`` names a converter that an extra module has as well as this package.

    """
    _common.run("fuel-convert", _convert, args)


def _add_options(subparser: argparse.ArgumentParser, name: str) -> None:
    here = _common.working_directory()
    subparser.add_argument(
        "-d", "--directory", default=here, help="where the input files are (default: %(default)s)"
    )
    subparser.add_argument(
        "-o",
        "--output-directory",
        default=here,
        action=CheckDirectoryAction,
        help="where to save the converted data set (default: %(default)s)",
    )
    subparser.add_argument(
        "-r",
        "--output_filename",
        "--output-filename",
        default=None,
        help="name of the converted file (default: that of the converter)",
    )
    subparser.add_argument(
        "--no-clobber",
        action="store_true",
        help="refuse to replace a file that is there already",
    )


def _convert(arguments: list[str]) -> int:
    # Asked first: where the directory is gone, some versions of Python cannot even import NumPy.
    _common.working_directory()
    from fuel.converters import all_converters

    parser = _common.make_parser(
        "fuel-convert", "Convert the raw files of a data set to HDF5.", epilog=_EPILOG
    )
    parser.add_argument("--list", action="store_true", help="list the converters, and end")
    plugins = _common.find_plugins("converters", all_converters)
    functions = _common.add_plugins(
        parser, plugins, _add_options, "convert the {} data set", arguments
    )
    options = vars(parser.parse_args(arguments))
    options.pop("traceback")
    name = options.pop("which_")
    if options.pop("list"):
        print(plugins.listing())
        return 0
    name = _common.require_name(parser, name, plugins)
    filename = options.pop("output_filename")
    keep = options.pop("no_clobber")
    if filename is not None:
        options["output_directory"], options["output_filename"] = _place(
            options["output_directory"], filename
        )
    command = shlex.join(["fuel-convert", *arguments])
    try:
        if keep:
            _refuse_to_replace(functions[name], options)
        paths = _run(name, functions[name], options, command, keep)
    except MissingInputFiles as error:
        _report_missing(parser, error.filenames, options["directory"])
    except FileNotFoundError as error:
        folder, missing = os.path.split(os.fsdecode(error.filename or ""))
        if not missing or os.path.realpath(folder) != os.path.realpath(options["directory"]):
            raise
        _report_missing(parser, [missing], options["directory"])
    for path in paths:
        print(f"wrote {path}")
    return 0


def _report_missing(
    parser: argparse.ArgumentParser, filenames: Iterable[str], directory: str
) -> NoReturn:
    lines = "\n".join(f"   * {missing}" for missing in filenames)
    remark = ""
    if not os.path.isdir(directory):
        remark = ", which is no directory"
    else:
        try:
            os.stat(os.path.join(directory, os.curdir))
        except OSError:
            remark = ", which may not be entered"
    parser.error(
        f"The following required files were not found:\n{lines}\n\n"
        f"Did you forget to run fuel-download?\n\nThey were looked for in {directory}{remark}."
    )


def _place(directory: str, filename: str) -> tuple[str, str]:
    """Complete the name of an output; a directory in it is put where it belongs."""
    folder, name = os.path.split(filename)
    if name in ("", os.curdir, os.pardir):
        raise _common.UserError(
            f"-r must name the converted file, got {filename!r}; -o names the directory",
            _common.USAGE,
        )
    filename = name if name.endswith(_EXTENSIONS) else name + ".hdf5"
    directory = os.path.join(directory, folder)
    if not os.path.isdir(directory):
        raise _common.UserError(
            f"the output directory {directory} does not exist; make it first", _common.USAGE
        )
    return directory, filename


def _refuse_to_replace(converter: Callable[..., Any], options: dict[str, Any]) -> None:
    """Look, before any work is done, whether the output is there already."""
    name = options.get("output_filename") or options.get("output")
    if name is None:
        try:
            name = inspect.signature(converter).parameters["output_filename"].default
        except (KeyError, TypeError, ValueError):
            return  # its name is known when it has been written
    if isinstance(name, str):
        _refuse(os.path.join(options["output_directory"], name))


def _refuse(path: str) -> None:
    if os.path.lexists(path):
        raise _common.UserError(
            f"{path} exists already, and --no-clobber forbids to replace it; give another name "
            "with -r, or leave --no-clobber out",
            _common.USAGE,
        )


def _run(
    name: str,
    converter: Callable[..., Any],
    options: dict[str, Any],
    command: str,
    keep: bool = False,
) -> list[str]:
    """Convert, tag the files, and put them in their places; return the places."""
    if "output_filename" in options and not _takes(converter, "output_filename"):
        raise _common.UserError(
            f"the converter of {name} names its own output; leave -r out", _common.USAGE
        )
    final = options["output_directory"]
    place: AbstractContextManager[str]
    if getattr(converter, "in_place", False):
        place = nullcontext(final)
    else:
        from fuel.converters.base import staging_directory

        place = staging_directory(final, name)
    with place as directory:
        returned = converter(**{**options, "output_directory": directory})
        if isinstance(returned, (str, os.PathLike)):
            returned = (returned,)
        paths = _paths(name, returned)
        for path in paths:
            _tag(name, path, command)
        places = [_final(path, directory, final) for path in paths]
        for found in places if keep and directory != final else ():
            _refuse(found)
        return places


def _takes(function: Callable[..., Any], parameter: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return parameter in parameters or any(
        found.kind is found.VAR_KEYWORD for found in parameters.values()
    )


def _paths(name: str, returned: Iterable[Any] | None) -> list[str]:
    try:
        return [os.fspath(path) for path in returned or ()]
    except TypeError:
        raise _common.UserError(
            f"the converter of {name} must return a tuple of the paths that it wrote, got "
            f"{returned!r:.100}"
        ) from None


def _final(path: str, staging: str, final: str) -> str:
    """Return the place that a file of the staging directory gets."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(staging))
    outside = relative.split(os.sep)[0] == os.pardir
    return path if outside else os.path.join(final, relative)


def _tag(name: str, path: str, command: str) -> None:
    """Write into a file how it was made."""
    import h5py
    import numpy

    from fuel.converters import __version__ as converters_version
    from fuel.datasets.hdf5 import H5PYDataset

    if not os.path.isfile(path):
        raise _common.UserError(f"the converter of {name} did not write {path}, as it says it did")
    tags = {
        "h5py_interface_version": H5PYDataset.interface_version,
        "fuel_convert_version": converters_version,
        "fuel_convert_command": command,
    }
    with h5py.File(path, "a") as h5file:
        for key, value in tags.items():
            # Programs expect bytes back; h5py returns str for anything but this type.
            h5file.attrs[key] = numpy.bytes_(value.encode("utf8"))


if __name__ == "__main__":
    main()
