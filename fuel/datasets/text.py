"""`TextFile`: lines of text as lists of numbers.

How many words make up a vocabulary, and which, is the user's business; so is what becomes of the
lists (see `fuel.transformers`).
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import numpy

from fuel.datasets._dataset import Dataset
from fuel.exceptions import StorageError
from fuel.typing import JSON, Request, Spec
from fuel.utils._paths import DataFileNotFoundError
from fuel.utils.formats import open_

__all__ = ["TextFile"]


class TextFile(Dataset):
    r"""Reads text files, one example per line.

    Parameters
    ----------
    files : list of path
        The files, which are read one after the other. Names that end in ``.gz`` are decompressed.
    dictionary : dict or path
        Maps each token to an int. As a path: a JSON file with such a mapping, or a text file with
        one token per line, which maps it to the number of the line, from 0.
    bos_token, eos_token : str or None, optional
        The tokens that mark the beginning and the end of a line; none is added for None.
    unk_token : str or None, optional
        Stands for every token that is not in the dictionary. With None such a token is an error.
    level : {'word', 'character'}, optional
        What a token is: a word between white space, or a character (white space at the ends of
        a line is removed).
    preprocess : callable, optional
        Called with each line, its newline included, before it is taken apart; returns a str.
    encoding : str, optional
        The encoding of the files. The platform's by default, as for `open`.

    Raises
    ------
    ValueError
        If `level` is unknown, or a special token is not in the dictionary.
    fuel.exceptions.StorageError
        If `dictionary` is a path and cannot be read.

    Notes
    -----
    The only source is ``features``. A byte order mark at the beginning of a file is left out.
    Only one file is open at a time, none before the first line is asked for; a state can be
    pickled in the middle of a file and goes on at the next line, in another process too.

    Examples
    --------
    >>> import os, tempfile
    >>> from fuel.datasets import TextFile
    >>> directory = tempfile.TemporaryDirectory()
    >>> path = os.path.join(directory.name, 'lines.txt')
    >>> with open(path, 'w') as f:
    ...     _ = f.write('to be or\nnot to be\n')
    >>> words = {'<S>': 0, '</S>': 1, '<UNK>': 2, 'to': 3, 'be': 4}
    >>> dataset = TextFile([path], words)
    >>> state = dataset.open()
    >>> dataset.get_data(state)
    ([0, 3, 4, 2, 1],)
    >>> dataset.get_data(state)
    ([0, 2, 3, 4, 1],)
    >>> dataset.close(state)
    >>> directory.cleanup()

    """

    provides_sources = ("features",)
    example_iteration_scheme = None

    def __init__(
        self,
        files: Sequence[str | os.PathLike[str]],
        dictionary: Mapping[str, int] | str | os.PathLike[str],
        bos_token: str | None = "<S>",
        eos_token: str | None = "</S>",
        unk_token: str | None = "<UNK>",
        level: str = "word",
        preprocess: Callable[[str], str] | None = None,
        encoding: str | None = None,
    ) -> None:
        # One path is meant as one file, not as its letters.
        self.files: Any = [files] if isinstance(files, str | os.PathLike) else files
        if isinstance(dictionary, str | os.PathLike):
            dictionary = _read_dictionary(dictionary, encoding)
        self.dictionary = dictionary
        for name, token in (("bos", bos_token), ("eos", eos_token), ("unk", unk_token)):
            if token is not None and token not in dictionary:
                raise ValueError(
                    f"`{name}_token` must be in the dictionary, got {token!r}; add it, or pass "
                    f"{name}_token=None"
                )
        if level not in ("word", "character"):
            raise ValueError(f"`level` must be 'word' or 'character', got {level!r}")
        self.bos_token, self.eos_token, self.unk_token = bos_token, eos_token, unk_token
        self.level, self.preprocess, self.encoding = level, preprocess, encoding
        super().__init__()

    @property
    def specs(self) -> dict[str, Spec]:
        """dict: The one source holds lists of ints of any length."""
        return {"features": Spec((None,), numpy.dtype(numpy.int64))}

    def open(self) -> Any:
        """Start reading at the first line of the first file.

        Returns
        -------
        iterator of str
            The lines; it can be pickled.

        """
        return _Lines([os.fspath(path) for path in self.files], self.encoding)

    def close(self, state: Any) -> None:
        """Close the file that is being read.

        Parameters
        ----------
        state : iterator of str
            What `open` returned.

        """
        if isinstance(state, _Lines):
            state.close()

    def _get_from_dictionary(self, symbol: str) -> int:
        """Return the number of a token."""
        value = self.dictionary.get(symbol)
        if value is not None:
            return value
        if self.unk_token is None:
            raise KeyError(
                f"token {symbol!r} is not in the dictionary; add it, or name an `unk_token`"
            )
        return self.dictionary[self.unk_token]

    def get_data(self, state: Any = None, request: Request = None) -> tuple[list[int]]:
        """Fetch the next line.

        Parameters
        ----------
        state : iterator of str
            What `open` returned.
        request : None
            Lines come in their own order.

        Returns
        -------
        tuple of list of int
            The numbers of the line's tokens, in a tuple of one.

        Raises
        ------
        StopIteration
            After the last line of the last file.
        KeyError
            If a token is not in the dictionary and `unk_token` is None.
        ValueError
            If there is a request, or no state.
        fuel.exceptions.StorageError
            If a file cannot be read.

        """
        if request is not None:
            raise ValueError(
                f"{type(self).__name__} can only be read line by line, got the request "
                f"{request!r}; leave the request (or the stream's iteration scheme) out"
            )
        if state is None:
            raise ValueError(
                f"{type(self).__name__} needs a state to read on from, got None; pass what "
                "`open()` returned"
            )
        line = next(state)
        if self.preprocess is not None:
            line = self.preprocess(line)
            if line is None:
                raise TypeError("`preprocess` must return the line that it is to become, got None")
        tokens = line.split() if self.level == "word" else line.strip()
        data = [self._get_from_dictionary(token) for token in tokens]
        if self.bos_token is not None:
            data.insert(0, self.dictionary[self.bos_token])
        if self.eos_token is not None:
            data.append(self.dictionary[self.eos_token])
        return (data,)


class _Lines:
    """The lines of several files: an iterator that remembers where it is.

    Parameters
    ----------
    files : list of str
        Paths.
    encoding : str or None
        Of all of them.

    """

    def __init__(self, files: list[str], encoding: str | None) -> None:
        self.files, self.encoding = files, encoding
        self._file_index = 0
        self._line = 0
        # Where the next line starts, in the units of `tell` of a text file; None: count lines.
        self._offset: int | None = 0
        self._handle: IO[str] | None = None
        self._pid = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        while self._file_index < len(self.files):
            if self._handle is None or self._pid != os.getpid():
                self._open()
            assert self._handle is not None
            try:
                line = self._handle.readline()
            except UnicodeDecodeError as error:
                error.reason += (
                    f" (line {self._line + 1} of {self.files[self._file_index]!r}; name the "
                    "file's `encoding`)"
                )
                raise
            except (OSError, EOFError, zlib.error) as error:
                raise self._unreadable(error) from error
            if line:
                self._line += 1
                # The mark that some programs put before a text is no part of its first word.
                return line.removeprefix("\ufeff") if self._line == 1 else line
            self.close()
            self._file_index, self._line, self._offset = self._file_index + 1, 0, 0
        raise StopIteration

    def _unreadable(self, error: Exception) -> StorageError:
        path = self.files[self._file_index]
        kind = DataFileNotFoundError if isinstance(error, FileNotFoundError) else StorageError
        return kind(
            f"{path!r} cannot be read after line {self._line}: {error}; check that the file is "
            "there, complete and readable"
        )

    def _open(self) -> None:
        """Open the present file and go to the next line."""
        if self._handle is not None:
            # We are a forked child: the handle's place in the file is shared with the parent, who
            # moves it while we read.
            self._offset = None
            self._handle.close()
        try:
            handle = open_(self.files[self._file_index], "r", encoding=self.encoding)
            self._handle = handle
            if self._offset is None:
                for _ in range(self._line):
                    handle.readline()
            elif self._offset:
                handle.seek(self._offset)
        except (OSError, EOFError, zlib.error) as error:
            raise self._unreadable(error) from error
        self._pid = os.getpid()

    def _locate(self) -> int | None:
        if self._handle is None or self._pid != os.getpid():
            return self._offset if self._handle is None else None
        with contextlib.suppress(OSError):
            return self._handle.tell()
        return None

    def tell(self) -> JSON:
        """Return a mark of the present position, plain JSON: file, line, offset."""
        return [self._file_index, self._line, self._locate()]

    def seek(self, mark: JSON) -> None:
        """Go to a position.

        Parameters
        ----------
        mark : list
            What `tell` returned, perhaps in another process.

        """
        self.close()
        self._file_index, self._line, self._offset = mark

    def close(self) -> None:
        """Close the file; reading goes on at the same line if it is asked to."""
        if self._handle is not None:
            self._offset = self._locate()
            self._handle.close()
            self._handle = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_offset": self._locate()}
        state.update(_handle=None, _pid=0)
        return state


def _read_dictionary(path: str | os.PathLike[str], encoding: str | None) -> Mapping[str, int]:
    """Read a mapping from tokens to numbers out of a file."""
    name = os.fspath(path)
    try:
        with open_(name, "r", encoding=encoding) as file:
            text = file.read()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise StorageError(
            f"the dictionary {name!r} cannot be read: {error}; check the path and the encoding, or "
            "pass a dict"
        ) from error
    if name.removesuffix(".gz").endswith(".json") or text.lstrip().startswith("{"):
        try:
            mapping = json.loads(text)
        except ValueError as error:
            raise StorageError(f"the dictionary {name!r} is not valid JSON: {error}") from error
        if not isinstance(mapping, dict) or not all(type(n) is int for n in mapping.values()):
            raise StorageError(
                f"the dictionary {name!r} must hold one JSON object that maps tokens to ints"
            )
        return mapping
    return {line.rstrip("\r"): number for number, line in enumerate(text.rstrip("\n").split("\n"))}
