"""`Vocabulary`: the tokens of a language and their numbers.

Built from texts with counts, or read from a file; `fuel.datasets.TextFile` and
`fuel.transformers.text.Tokens` look tokens up in it. The form of its files is in
`fuel.utils._vocabulary_files`, what is asked of tokens and numbers in `_vocabulary_items`, how a
line is taken apart in `_tokenize`.
"""

from __future__ import annotations

import enum
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from types import MappingProxyType
from typing import Any

from fuel.utils import _vocabulary_files as files
from fuel.utils._lines import Lines
from fuel.utils._tokenize import Level, as_tokens, sequences_of, splitter
from fuel.utils._vocabulary_items import (
    check_limits,
    checked_counts,
    chosen,
    decoded,
    digest_of,
    in_order,
)

__all__ = ["Vocabulary"]


class Usual(enum.Enum):
    """Stands for a mark of the usual name, if there is such a token."""

    MARK = "usual"

    def __repr__(self) -> str:
        return "<the usual>"


USUAL = Usual.MARK

#: How marks are called unless they are given another name.
USUAL_MARKS = {"pad": "<PAD>", "begin": "<S>", "end": "</S>", "unknown": "<UNK>"}


class Vocabulary(Mapping[str, int]):
    """Tokens and their numbers, from 0 on: a mapping that cannot be changed.

    It can be given wherever a dict from tokens to numbers can, and it knows the way back, which
    tokens are marks, and how often each token was counted.

    Parameters
    ----------
    tokens : iterable of str, or mapping
        The tokens in the order of their numbers; or a mapping from tokens to the numbers 0 to
        n - 1, each used once.
    counts : mapping, optional
        How often each token was seen; 0 for those that are missing.
    unknown, begin, end, pad : str or None, optional
        Tokens that stand for one that is not in the vocabulary, for the beginning and for the end
        of a sequence, and for nothing at all (padding). By default the usual names, ``<UNK>``,
        ``<S>``, ``</S>`` and ``<PAD>``, where they are among the tokens; None for no such mark.

    Attributes
    ----------
    unknown, begin, end, pad : str or None
        The marks.

    Raises
    ------
    ValueError
        If a token occurs twice, numbers are missing, or a mark is not among the tokens.
    TypeError
        If a token is no str, or a number no int.

    Notes
    -----
    Safe to use from several threads. Two vocabularies are equal if they have the same tokens in
    the same order and the same marks, whatever their counts; one equals a dict with the same
    items. Like a dict it has no hash.

    Examples
    --------
    >>> vocabulary = Vocabulary.from_stream(["to be or not to be", "to do is to be"])
    >>> vocabulary.tokens
    ('<S>', '</S>', '<UNK>', 'to', 'be', 'do', 'is', 'not', 'or')
    >>> vocabulary['be'], vocabulary.counts['be']
    (4, 3)
    >>> vocabulary.encode(["to", "err", "is"])
    [3, 2, 6]
    >>> vocabulary.decode([3, 2, 6])
    ['to', '<UNK>', 'is']

    """

    def __init__(
        self,
        tokens: Iterable[str] | Mapping[str, int],
        *,
        counts: Mapping[str, int] | None = None,
        unknown: str | Usual | None = USUAL,
        begin: str | Usual | None = USUAL,
        end: str | Usual | None = USUAL,
        pad: str | Usual | None = USUAL,
    ) -> None:
        self._tokens = in_order(tokens)
        self._ids = {token: number for number, token in enumerate(self._tokens)}
        if len(self._ids) != len(self._tokens):
            twice = [token for token, count in Counter(self._tokens).items() if count > 1]
            raise ValueError(
                f"each token must occur once in a vocabulary, got {twice[0]!r:.80} and "
                f"{len(twice) - 1} other tokens more often; leave the repetitions out"
            )
        self._counts: dict[str, int] | None = None
        if counts is not None:
            self._counts = checked_counts(counts, self._ids)
        marks = {"unknown": unknown, "begin": begin, "end": end, "pad": pad}
        for name, mark in marks.items():
            if isinstance(mark, Usual):
                usual = USUAL_MARKS[name]
                marks[name] = usual if usual in self._ids else None
            elif mark is not None and not (isinstance(mark, str) and mark in self._ids):
                raise ValueError(
                    f"`{name}` must be one of the tokens, got {mark!r:.80}; add it to them, or "
                    f"pass {name}=None"
                )
        self._marks: dict[str, str | None] = marks  # type: ignore[assignment]
        self._digest: str | None = None

    # -- making one -------------------------------------------------------------------------------

    @classmethod
    def from_stream(
        cls,
        stream: Any,
        level: Level = "word",
        *,
        source: str | None = None,
        preprocess: Callable[[str], str] | None = None,
        encoding: str = "utf-8",
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = "<UNK>",
        begin: str | None = "<S>",
        end: str | None = "</S>",
        pad: str | None = None,
    ) -> Vocabulary:
        """Count the tokens of a stream, or of anything that yields lines.

        Parameters
        ----------
        stream : stream or iterable
            A stream of examples or batches, of which one epoch is read (which counts as its next
            one); or an iterable, such as an open file. What it yields are lines (str, or bytes),
            or sequences of tokens.
        level : {'word', 'character'} or callable, optional
            How a line is taken apart: at white space; into characters, without the white space at
            its ends; or by a function from a str to tokens.
        source : str, optional
            The source of the stream to count; needed where it has several.
        preprocess : callable, optional
            Called with each line before it is taken apart.
        encoding : str, optional
            Of bytes.
        min_count : int, optional
            Rarer tokens are left out.
        max_size : int, optional
            The largest number of tokens to have, marks included: the most frequent are kept.
        unknown, begin, end, pad : str or None, optional
            Marks, which come first, in the order pad, begin, end, unknown; None for none.

        Returns
        -------
        Vocabulary
            The marks, then the tokens by falling count, those of one count by their code points:
            the same on every machine. What was left out is counted for the unknown mark.

        Raises
        ------
        TypeError
            If what comes is neither a line nor a sequence of tokens.
        ValueError
            If an argument is not possible; if the stream has several sources and `source` is
            None.

        Notes
        -----
        Memory holds a count for each different token.

        """
        check_limits(min_count, max_size)
        counter: Counter[str] = Counter()
        for tokens in sequences_of(stream, splitter(level), source, preprocess, encoding):
            counter.update(tokens)
        marks = {"pad": pad, "begin": begin, "end": end, "unknown": unknown}
        counts = chosen(counter, min_count, max_size, marks)
        return cls(list(counts), counts=counts, **marks)

    @classmethod
    def from_files(
        cls,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        level: Level = "word",
        *,
        encoding: str | None = None,
        **options: Any,
    ) -> Vocabulary:
        """Count the tokens in text files, compressed or not.

        Parameters
        ----------
        paths : path or iterable of path
            The files, read line by line; those whose names end in ``.gz``, ``.bz2`` or ``.xz`` are
            decompressed.
        level : {'word', 'character'} or callable, optional
            As for `from_stream`.
        encoding : str, optional
            Of the files; that of the platform by default, as for `fuel.datasets.TextFile`.
        **options
            What else `from_stream` takes.

        Returns
        -------
        Vocabulary
            As by `from_stream`.

        Raises
        ------
        fuel.exceptions.StorageError
            If a file cannot be read.

        """
        names = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        lines = Lines(names, encoding)
        try:
            return cls.from_stream(lines, level, **options)
        finally:
            lines.close()

    # -- the mapping ------------------------------------------------------------------------------

    def __getitem__(self, token: str) -> int:
        return self._ids[token]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def get(self, token: str, default: Any = None) -> Any:
        """Return the number of a token, or the default.

        Parameters
        ----------
        token : str
            A token.
        default : object, optional
            What to return for one that is not in the vocabulary.

        Returns
        -------
        int or object
            The number, or `default`.

        """
        return self._ids.get(token, default)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vocabulary):
            return self._tokens == other._tokens and self._marks == other._marks
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        marks = "".join(f", {name}={mark!r:.40}" for name, mark in self._marks.items() if mark)
        return f"<Vocabulary: {len(self)} tokens{marks}>"

    # -- what it knows ----------------------------------------------------------------------------

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, in the order of their numbers."""
        return self._tokens

    @property
    def counts(self) -> Mapping[str, int] | None:
        """How often each token was seen; None where that is not known."""
        return None if self._counts is None else MappingProxyType(self._counts)

    @property
    def unknown(self) -> str | None:
        """The token that stands for those that are not in the vocabulary."""
        return self._marks["unknown"]

    @property
    def begin(self) -> str | None:
        """The token that marks the beginning of a sequence."""
        return self._marks["begin"]

    @property
    def end(self) -> str | None:
        """The token that marks the end of a sequence."""
        return self._marks["end"]

    @property
    def pad(self) -> str | None:
        """The token that stands for padding."""
        return self._marks["pad"]

    @property
    def marks(self) -> Mapping[str, str | None]:
        """The marks by what they are for: ``unknown``, ``begin``, ``end``, ``pad``."""
        return MappingProxyType(self._marks)

    def _number(self, name: str) -> int | None:
        mark = self._marks[name]
        return None if mark is None else self._ids[mark]

    @property
    def unknown_id(self) -> int | None:
        """The number of the unknown mark, None without one."""
        return self._number("unknown")

    @property
    def begin_id(self) -> int | None:
        """The number of the mark of a beginning, None without one."""
        return self._number("begin")

    @property
    def end_id(self) -> int | None:
        """The number of the mark of an end, None without one."""
        return self._number("end")

    @property
    def pad_id(self) -> int | None:
        """The number of the mark of padding, None without one."""
        return self._number("pad")

    @property
    def digest(self) -> str:
        """A hexadecimal number of 32 digits that stands for the tokens in their order."""
        if self._digest is None:
            self._digest = digest_of(self)
        return self._digest

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the numbers of tokens.

        Parameters
        ----------
        tokens : iterable of str
            The tokens. A str is taken as its characters.

        Returns
        -------
        list of int
            The number of each; that of the unknown mark for one that is not in the vocabulary.

        Raises
        ------
        KeyError
            If a token is not in the vocabulary and there is no unknown mark.
        TypeError
            If a token is no str.

        """
        tokens, unknown = as_tokens(tokens), self._number("unknown")
        if unknown is not None:
            return list(map(self._ids.get, tokens, repeat(unknown)))  # type: ignore[arg-type]
        try:
            return list(map(self._ids.__getitem__, tokens))
        except KeyError as error:
            raise KeyError(
                f"token {error.args[0]!r:.80} is not in the vocabulary, which has no unknown mark; "
                "add it, or name an `unknown` token"
            ) from None

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of numbers.

        Parameters
        ----------
        ids : iterable of int
            The numbers, for example an array of them.

        Returns
        -------
        list of str
            The token of each.

        Raises
        ------
        IndexError
            If there is no token with a number.
        TypeError
            If one is no integer.

        """
        return decoded(self._tokens, ids)

    # -- files ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        r"""Write the vocabulary to a file, which is whole or not there.

        Parameters
        ----------
        path : path
            The file; one that is there already is replaced. It is compressed if its name ends in
            ``.gz``, ``.bz2`` or ``.xz``.
        format : {'text', 'json'}, optional
            By default JSON for names that end in ``.json`` (before the ending of a compressed
            file), else text.

        Raises
        ------
        fuel.exceptions.StorageError
            If the file cannot be written.
        ValueError
            If there is no such format, or JSON cannot hold a token (half characters).

        Notes
        -----
        Text is UTF-8: one token a line, so that the number of the line, from 0, is that of the
        token; then, where there are counts, a tab and the count. A third column says what cannot
        be seen: which tokens are marks, if they have unusual names (``unknown``, ``begin``,
        ``end``, ``pad``; ``plain`` where a usual name is no mark), and ``escaped`` where the token
        is written with backslashes, as in a Python string.

        """
        name = os.fspath(path)
        kind = files.kind_of(name, format) or "text"
        files.write(name, kind, self._tokens, self._counts, self._marks, USUAL_MARKS)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        format: str | None = None,
        encoding: str | None = None,
    ) -> Vocabulary:
        """Read a vocabulary from a file.

        Parameters
        ----------
        path : path
            A file that `save` wrote; a list of words, one a line, perhaps with a tab and a count
            behind each; or JSON: an object that maps tokens to numbers. Decompressed as by
            `from_files`.
        format : {'text', 'json'}, optional
            By default JSON for names that end in ``.json`` and for content that begins like
            JSON with strings in it, else text.
        encoding : str, optional
            Default UTF-8, with or without a byte order mark, or UTF-16 or UTF-32 with one.

        Returns
        -------
        Vocabulary
            With the marks that the file names, else those with the usual names.

        Raises
        ------
        fuel.exceptions.StorageError
            If the file cannot be read, or holds no vocabulary.

        Notes
        -----
        Nothing in the file is ever run: pickles are refused.

        """
        name = os.fspath(path)
        found = files.read(name, format, encoding)
        try:
            return cls(found.tokens, counts=found.counts, **found.marks)
        except (TypeError, ValueError) as error:
            raise files.damaged(name, str(error)) from error


def marks_of(dictionary: Mapping[str, int]) -> dict[str, str | None]:
    """Return the marks of a dictionary: those of a vocabulary, else those with usual names."""
    if isinstance(dictionary, Vocabulary):
        return dict(dictionary._marks)
    return {name: mark if mark in dictionary else None for name, mark in USUAL_MARKS.items()}


def lookup_of(dictionary: Mapping[str, int]) -> Callable[..., Any]:
    """Return the quickest ``get(token, default)`` of a dictionary."""
    return dictionary._ids.get if isinstance(dictionary, Vocabulary) else dictionary.get
