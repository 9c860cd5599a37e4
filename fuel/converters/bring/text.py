"""Converts lines of text: ``fuel-convert text FILE...``.

Lines become lists of numbers by a vocabulary (`fuel.utils.vocabulary`), as
`fuel.datasets.TextFile` would read them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy
from numpy.typing import NDArray

from fuel.converters.bring import _common
from fuel.converters.writer import SourceSpec
from fuel.exceptions import ConfigurationError, StorageError
from fuel.utils._lines import Lines
from fuel.utils._tokenize import splitter
from fuel.utils.vocabulary import Vocabulary

__all__ = ["convert_text", "fill_subparser"]

#: Lines that are held at a time, and characters after which a batch ends early.
_LINES = 1024
_CHARACTERS = 2**20


class TextTable(_common.Table):
    """Lines of text files."""

    def __init__(
        self, inputs: Sequence[_common.Input], level: str, encoding: str, skip_blank: bool
    ) -> None:
        super().__init__()
        self._inputs = inputs
        self._encoding = encoding
        self._skip_blank = skip_blank
        self._level = level
        self._marks = True
        self.vocabulary: Vocabulary | None = None
        for found in inputs:
            count = sum(1 for _ in self._of(found))
            self.parts.append((found.label, count))
        self.num_examples = sum(count for _, count in self.parts)

    def _of(self, found: _common.Input) -> Iterator[tuple[str, str]]:
        """Yield the lines of a file, and where each is."""
        lines = Lines([found.path], self._encoding)
        try:
            for number, line in enumerate(lines, 1):
                if not (self._skip_blank and not line.strip()):
                    yield line, f"line {number} of {found.name}"
        except UnicodeError as error:
            raise StorageError(
                f"{found.name} is not text in the encoding {self._encoding}: {error}; name another "
                "with --encoding, for example latin-1"
            ) from error
        finally:
            lines.close()

    def lines(self, wanted: NDArray[numpy.bool_]) -> Iterator[tuple[str, str]]:
        """Yield some of the lines, and where each is."""
        every = (line for found in self._inputs for line in self._of(found))
        for place, line in enumerate(every):
            if wanted[place]:
                yield line

    def use(self, vocabulary: Vocabulary, marks: bool) -> None:
        """Take the numbers of a vocabulary."""
        self.vocabulary = vocabulary
        self._marks = marks
        dtype = "int32" if len(vocabulary) <= 2**31 else "int64"
        self.sources["features"] = SourceSpec((None,), dtype, ("batch", "time"))

    def batches(self, wanted: NDArray[numpy.bool_]) -> Iterator[dict[str, Any]]:
        """Yield some of the examples; see `Table`."""
        split = splitter(self._level)
        dtype = self.sources["features"].dtype
        vocabulary = self.vocabulary
        assert vocabulary is not None
        first = [] if vocabulary.begin_id is None or not self._marks else [vocabulary.begin_id]
        last = [] if vocabulary.end_id is None or not self._marks else [vocabulary.end_id]
        batch: list[NDArray[Any]] = []
        size = 0
        for line, place in self.lines(wanted):
            try:
                numbers = vocabulary.encode(split(line))
            except KeyError as error:
                raise StorageError(f"{place}: {error.args[0]}") from None
            batch.append(numpy.array([*first, *numbers, *last], dtype=dtype))
            size += len(line)
            if len(batch) == _LINES or size > _CHARACTERS:
                yield {"features": batch}
                batch, size = [], 0
        if batch:
            yield {"features": batch}

    def finish(self, h5file: Any) -> None:
        """Keep the vocabulary in the file."""
        import h5py

        assert self.vocabulary is not None
        tokens = iter(self.vocabulary.tokens)
        dataset = h5file.create_dataset(
            "vocabulary", (len(self.vocabulary),), dtype=h5py.string_dtype()
        )
        done = 0
        while part := list(islice(tokens, _LINES)):
            dataset[done : done + len(part)] = part
            done += len(part)
        for name, mark in self.vocabulary.marks.items():
            if mark is not None:
                dataset.attrs[name] = mark
        h5file["features"].attrs["vocabulary"] = dataset.ref


def convert_text(
    directory: str,
    output_directory: str,
    output_filename: str | None = None,
    *,
    files: Sequence[str],
    level: str = "word",
    vocabulary: str | None = None,
    vocabulary_size: int | None = None,
    vocabulary_split: str | None = None,
    min_count: int = 1,
    marks: bool = True,
    skip_blank: bool = False,
    encoding: str = "utf-8",
    split: str | Mapping[str, Any] | Sequence[str] | None = None,
    seed: int = 0,
    compression: str | None = None,
) -> tuple[str, ...]:
    """Convert text files, one example a line.

    The only source is ``features``: int32, of different lengths, with the axes batch and time. The
    vocabulary is kept in the file (the dataset ``vocabulary``, which is no source: the tokens in
    the order of their numbers, its marks as attributes) and beside it, as ``NAME.vocabulary.json``,
    which `Vocabulary.load` reads.

    Parameters
    ----------
    directory, output_directory, output_filename
        As for `fuel.converters.bring.tables.convert_csv`.
    files : sequence of str
        The files; ``NAME=FILE`` puts a file into the split ``NAME``. Compressed ones are read as
        they are.
    level : {'word', 'character'}, optional
        What a token is.
    vocabulary : str, optional
        A file with the vocabulary; by default one is built.
    vocabulary_size : int, optional
        How many tokens it has at most, the most frequent ones and the marks; by default all.
    vocabulary_split : str, optional
        The split whose lines are counted for it; by default all.
    min_count : int, optional
        Rarer tokens are left out of it.
    marks : bool, optional
        Whether each line is put between the marks of beginning and end, if the vocabulary has
        them.
    skip_blank : bool, optional
        Whether lines without text are left out.
    encoding : str, optional
        Of the files.
    split, seed
        How the examples are divided into splits; see the command's help.
    compression : str, optional
        ``'gzip'``, ``'lzf'`` or ``'zstd'``; examples of different lengths are never compressed.

    Returns
    -------
    tuple of str
        The path of the HDF5 file.

    Raises
    ------
    StorageError
        If a file cannot be read, or a token is not in the vocabulary, which has no mark for
        unknown ones; the message names the file and the line.

    """
    if vocabulary is not None and (vocabulary_size is not None or vocabulary_split is not None):
        raise ConfigurationError(
            "a vocabulary is either given or built: leave --vocabulary out, or what says how to "
            "build one"
        )
    inputs = _common.find_inputs(directory, files)
    name = _common.output_name(output_filename, [found.path for found in inputs])
    try:
        table = TextTable(inputs, level, encoding, skip_blank)
        division = _common.divided(table, split, seed, None, None)
        if vocabulary is not None:
            words = Vocabulary.load(os.path.join(directory, vocabulary))
        else:
            wanted = numpy.ones(table.num_examples, numpy.bool_)
            if vocabulary_split is not None:
                if vocabulary_split not in division.names:
                    raise ConfigurationError(
                        f"there is no split {vocabulary_split!r} to build the vocabulary from; "
                        f"there are {', '.join(division.names)}"
                    )
                wanted = division.of == division.names.index(vocabulary_split)
            words = Vocabulary.from_stream(
                (line for line, _ in table.lines(wanted)),
                level,
                min_count=min_count,
                max_size=vocabulary_size,
            )
    except (ValueError, LookupError) as error:
        if isinstance(error, StorageError):
            raise
        raise ConfigurationError(str(error)) from error
    table.use(words, marks)
    paths = _common.write_table(
        table,
        output_directory,
        name,
        inputs=[found.path for found in inputs],
        split=split,
        seed=seed,
        compression=compression,
    )
    words.save(f"{os.path.splitext(paths[0])[0]}.vocabulary.json")
    return paths


def fill_subparser(subparser: argparse.ArgumentParser) -> Callable[..., tuple[str, ...]]:
    """Set up the sub-command ``text`` of ``fuel-convert``; it returns `convert_text`.

    Parameters
    ----------
    subparser : argparse.ArgumentParser
        The parser of the sub-command.

    """
    add = subparser.add_argument
    add("files", nargs="+", metavar="[SPLIT=]FILE", help="a text file")
    add(
        "--level",
        choices=["word", "character"],
        default="word",
        help="what a token is (default: word)",
    )
    add("--vocabulary", metavar="FILE", help="the vocabulary (default: one is built)")
    add("--vocabulary-size", type=int, metavar="N", help="how many tokens it has at most")
    add("--vocabulary-split", metavar="NAME", help="the split to build it from (default: all)")
    add("--min-count", type=int, default=1, metavar="N", help="leave rarer tokens out of it")
    add(
        "--no-marks",
        dest="marks",
        action="store_false",
        help="no marks at the beginning and the end of a line",
    )
    add("--skip-blank", action="store_true", help="leave out lines without text")
    add("--encoding", default="utf-8", help="of the files (default: utf-8)")
    _common.add_split_options(subparser, None)
    _common.add_options(subparser)
    return convert_text
