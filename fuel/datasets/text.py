"""`TextFile`: lines of text as lists of numbers.

Which words make up a vocabulary is told by `fuel.utils.vocabulary`, how files are read by
`fuel.utils._lines`; what becomes of the lists is in `fuel.transformers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy

from fuel.datasets._dataset import Dataset
from fuel.exceptions import StorageError
from fuel.typing import Request, Spec
from fuel.utils._lines import Lines, text_encoding
from fuel.utils._vocabulary_files import EncodingError
from fuel.utils.vocabulary import Vocabulary, lookup_of

__all__ = ["TextFile"]


class TextFile(Dataset):
    r"""Reads text files, one example per line.

    Parameters
    ----------
    files : list of path
        The files, which are read one after the other. Names that end in ``.gz``, ``.bz2``,
        ``.xz``, ``.lzma`` or (from Python 3.14 on) ``.zst`` are decompressed.
    dictionary : mapping or path
        Maps each token to an int: a dict, or a `fuel.utils.vocabulary.Vocabulary`. As a path: a
        file that `Vocabulary.load` reads, such as a list of words, one a line, each of which maps
        to the number of its line, from 0. Such a file is UTF-8, or in `encoding`.
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
    TypeError
        If `files` are no paths, `dictionary` is no mapping, or `preprocess` no function.
    LookupError
        If there is no such encoding, or it is none of text.
    fuel.exceptions.StorageError
        If `dictionary` is a path and cannot be read.

    Notes
    -----
    The only source is ``features``. Lines end in ``"\n"``, ``"\r\n"`` or ``"\r"``, as for
    `open`. A byte order mark at the beginning of a file is left out. Only one file is open at a
    time, none before the first line is asked for.

    Memory holds some 64 KiB of text, or one line where that is longer, whatever the size of the
    files.

    A state can be pickled in the middle of a file and goes on at the next line, in another process
    too. The place is saved as the number of the file, of the line, and of the byte where it
    begins. Plain files are entered there at once. Compressed files have no inner entrances: they
    are decompressed up to the place, in bounded memory, without looking at the text. So are files
    in encodings whose newlines cannot be told from single bytes (UTF-7, ISO-2022, EBCDIC); UTF-16
    and UTF-32 are entered at once. A file that has been changed so that no line begins at the
    place is refused.

    A line with an error in it (an unknown token, a wrong byte) raises; the next call goes on
    behind it, while a state saved meanwhile is still that behind the last line delivered. A line
    that was interrupted (Ctrl-C) comes again.

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
        self.files: Any = _checked_files(files)
        if isinstance(dictionary, str | os.PathLike):
            dictionary = _read_dictionary(dictionary, encoding)
        if not hasattr(dictionary, "get") or not hasattr(dictionary, "__contains__"):
            raise TypeError(
                f"`dictionary` must map tokens to numbers, got {dictionary!r:.80}; pass a "
                "Vocabulary, a dict or the name of a file"
            )
        self.dictionary = dictionary
        for name, token in (("bos", bos_token), ("eos", eos_token), ("unk", unk_token)):
            if token is not None and (not isinstance(token, Hashable) or token not in dictionary):
                raise ValueError(
                    f"`{name}_token` must be in the dictionary, got {token!r}; add it, or pass "
                    f"{name}_token=None"
                )
        if level not in ("word", "character"):
            raise ValueError(f"`level` must be 'word' or 'character', got {level!r}")
        self.bos_token, self.eos_token, self.unk_token = bos_token, eos_token, unk_token
        self.level, self.preprocess, self.encoding = level, preprocess, encoding
        if preprocess is not None and not callable(preprocess):
            raise TypeError(
                f"`preprocess` must be a function from a line to a str, got {preprocess!r:.80}; "
                "pass for example str.lower"
            )
        if encoding is not None:
            text_encoding(encoding)
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
        return Lines(self.files, self.encoding)

    def close(self, state: Any) -> None:
        """Close the file that is being read.

        Parameters
        ----------
        state : iterator of str
            What `open` returned.

        """
        if isinstance(state, Lines):
            state.close()

    def _get_from_dictionary(self, symbol: str) -> int:
        """Return the number of a token."""
        return self._look_up([symbol], "")[0]

    def _look_up(self, tokens: Sequence[str], place: str) -> list[int]:
        """Return the numbers of tokens; the place is for the message."""
        get = lookup_of(self.dictionary)
        if self.unk_token is not None:
            return list(map(get, tokens, repeat(self.dictionary[self.unk_token])))
        found = list(map(get, tokens))
        if None in found:
            raise KeyError(
                f"token {tokens[found.index(None)]!r} is not in the dictionary{place}; add it, or "
                "name an `unk_token`"
            )
        return found

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
        if not isinstance(state, Lines):  # a subclass may open something else
            return (self._numbers(next(state), None),)
        line, before = "", state.before
        try:
            line = next(state)
            data = self._numbers(line, state)
            if state.rejected:
                state.accept()
            return (data,)
        except Exception:
            # A line that was not delivered: a state that is saved now comes back to it.
            if line:
                state.reject()
            raise
        except BaseException:
            # Nothing is wrong with the line: somebody interrupted, perhaps before it was asked for.
            if state.before is not before:
                state.take_back()
            raise

    def _numbers(self, line: str, state: Lines | None) -> list[int]:
        """Return the numbers of a line's tokens, with the marks."""
        if self.preprocess is not None:
            line = self.preprocess(line)
            if not isinstance(line, str):
                raise TypeError(
                    "`preprocess` must return the line that it is to become, a str, got "
                    f"{line!r:.80}; return the changed line"
                )
        tokens = line.split() if self.level == "word" else line.strip()
        if type(self)._get_from_dictionary is not TextFile._get_from_dictionary:
            data = [self._get_from_dictionary(token) for token in tokens]
        elif self.unk_token is None and state is not None:
            data = self._look_up(tokens, f" ({state.place})")
        else:
            data = self._look_up(tokens, "")
        if self.bos_token is not None:
            data.insert(0, self.dictionary[self.bos_token])
        if self.eos_token is not None:
            data.append(self.dictionary[self.eos_token])
        return data


def _checked_files(files: Any) -> Any:
    """Return the files as given, but one path as a list of it."""
    if isinstance(files, str | bytes | os.PathLike):
        return [files]  # one path is meant as one file, not as its letters
    if not isinstance(files, Iterable):
        raise TypeError(
            f"`files` must be a list of paths, got {files!r:.80}; name the files to read"
        )
    files = files if isinstance(files, Sequence) else list(files)
    for path in files:
        if not isinstance(path, str | bytes | os.PathLike):
            raise TypeError(
                f"`files` must be a list of paths, got {path!r:.80} among them; name the files to "
                "read"
            )
    return files


def _read_dictionary(path: str | os.PathLike[str], encoding: str | None) -> Vocabulary:
    """Read a vocabulary: UTF-8 as such, anything else in the encoding of the text."""
    name = os.fspath(path)
    try:
        try:
            return Vocabulary.load(name)
        except EncodingError:
            if encoding is None:
                raise
            return Vocabulary.load(name, encoding=encoding)
    except StorageError as error:
        raise type(error)(
            f"the dictionary {name!r} cannot be read: {error}; or pass a dict"
        ) from error
