"""``fuel-export``: writes what is in an HDF5 file as `.npz`, Parquet, tar archive or image files.

The work is done by `fuel.converters.export`; the other direction is ``fuel-convert``.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuel.bin import _common

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run ``fuel-export``.

    Parameters
    ----------
    args : sequence of str, optional
        The arguments; by default those of the process.

    Raises
    ------
    SystemExit
        With exit code 1 after a failure, 2 after wrong usage.

    """
    _common.run("fuel-export", _export, args)


def _export(arguments: list[str]) -> int:
    _common.working_directory()
    from fuel.converters.export import FORMATS, export

    parser = _common.make_parser(
        "fuel-export", "Write what is in an HDF5 file in another format.", epilog=_EPILOG
    )
    parser.add_argument("file", metavar="FILE", help="an HDF5 file")
    parser.add_argument("output", metavar="OUT", help="the file to write; for images a new folder")
    parser.add_argument("--to", choices=list(FORMATS), required=True, help="the format")
    parser.add_argument(
        "--split",
        dest="splits",
        type=_names,
        metavar="NAME,...",
        help="the splits to write (default: all)",
    )
    parser.add_argument(
        "--sources", type=_names, metavar="NAME,...", help="the sources to write (default: all)"
    )
    compression = parser.add_mutually_exclusive_group()
    compression.add_argument("--compress", action="store_true", default=None, help="compress")
    compression.add_argument(
        "--no-compress", dest="compress", action="store_false", help="do not compress"
    )
    options = vars(parser.parse_args(arguments))
    options.pop("traceback")
    print(f"wrote {export(options.pop('file'), output=options.pop('output'), **options)}")
    return 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


_EPILOG = (
    "With several splits, arrays are called SOURCE_SPLIT, Parquet has a column `split`, archives "
    "have members `split.txt`, and images are in a folder for each split."
)


if __name__ == "__main__":
    main()
