"""Taking text apart: what a token is, and where lines and sequences of tokens come from.

Which numbers tokens have is in `fuel.utils.vocabulary`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy

from fuel.utils._lines import text_encoding

__all__ = ["Level", "as_tokens", "sequences_of", "splitter", "tokens_of"]

#: What a token is: 'word', 'character', or a function from a str to tokens.
Level: TypeAlias = str | Callable[[str], Iterable[str]]


def splitter(level: Level) -> Callable[[str], Iterable[str]]:
    """Return the function that takes a line apart.

    Parameters
    ----------
    level : {'word', 'character'} or callable
        At white space; into characters, without the white space at the ends of the line; or the
        function itself.

    Returns
    -------
    callable
        From a str to an iterable of str.

    Raises
    ------
    ValueError
        If there is no such level.

    """
    if level == "word":
        return str.split
    if level == "character":
        return str.strip  # what is left of the line is its characters
    if callable(level):
        return level
    raise ValueError(
        f"`level` must be 'word' or 'character', got {level!r:.80}; or pass a function that takes "
        "a str and returns its tokens"
    )


def as_tokens(tokens: Any, what: str = "tokens") -> list[str] | tuple[str, ...] | str:
    """Return a sequence of tokens.

    Parameters
    ----------
    tokens : iterable of str
        The tokens.
    what : str, optional
        What they are, for messages.

    Returns
    -------
    list, tuple or str
        The same.

    Raises
    ------
    TypeError
        If they are none: what is no str would be unknown, whatever it is.

    """
    if isinstance(tokens, str):
        return tokens
    if not isinstance(tokens, Iterable):
        raise TypeError(f"{what} must be an iterable of str, got {tokens!r:.60}; pass a list")
    found = tokens if isinstance(tokens, (list, tuple)) else list(tokens)
    try:
        "".join(found)  # the quickest way to look at each
    except TypeError:
        wrong = next(token for token in found if not isinstance(token, str))
        raise TypeError(
            f"{what} must be strings, got {wrong!r:.60} among them; decode "
            "bytes, use str() for others, and leave out or fill in what is missing"
        ) from None
    return found


def tokens_of(
    text: Any,
    split: Callable[[str], Iterable[str]],
    preprocess: Callable[[str], str] | None,
    encoding: str,
) -> Iterable[str]:
    """Return the tokens of one example.

    Parameters
    ----------
    text : str, bytes or sequence of str
        A line; or tokens, which are returned as they are.
    split : callable
        From a str to tokens.
    preprocess : callable or None
        From a str to a str.
    encoding : str
        Of bytes.

    Returns
    -------
    iterable of str
        The tokens.

    Raises
    ------
    TypeError
        If it is no text, or one of the functions returned none.
    UnicodeDecodeError
        If bytes are in another encoding.

    """
    if isinstance(text, numpy.ndarray) and not text.ndim:
        text = text.item()
    if isinstance(text, (bytes, bytearray)):
        try:
            text = text.decode(encoding)
        except UnicodeDecodeError as error:
            error.reason += "; name the `encoding` of the text"
            raise
    if isinstance(text, str):
        if preprocess is not None:
            text = preprocess(text)
            if not isinstance(text, str):
                raise TypeError(
                    "`preprocess` must return the line that it is to become, a str, got "
                    f"{text!r:.80}; return the changed text"
                )
        if split is str.split or split is str.strip:
            return split(text)
        tokens = split(text)
        if tokens is None or not isinstance(tokens, Iterable):
            raise TypeError(
                f"a function given as `level` must return tokens, got {tokens!r:.60}; return them"
            )
        return as_tokens(tokens, "what a function given as `level` returns")
    if isinstance(text, numpy.ndarray) and text.ndim == 1 and text.dtype.kind in "OU":
        text = text.tolist()
    if isinstance(text, (list, tuple)) and (not text or isinstance(text[0], str)):
        return as_tokens(text, "the tokens of a sequence")
    kind = f"{type(text).__name__} {text!r:.60}"
    if isinstance(text, numpy.ndarray):
        kind = f"an array of {text.dtype} of shape {text.shape}"
    raise TypeError(
        f"text must be a str, bytes or a sequence of tokens, got {kind}; choose the sources that "
        "hold text, and batches or examples as they come"
    )


def sequences_of(
    stream: Any,
    split: Callable[[str], Iterable[str]],
    source: str | None,
    preprocess: Callable[[str], str] | None,
    encoding: str,
) -> Iterator[Iterable[str]]:
    """Yield the tokens of every example, of a stream or of anything that yields text.

    Parameters
    ----------
    stream : stream or iterable
        One epoch of it is read.
    split, preprocess, encoding
        As for `tokens_of`.
    source : str or None
        Which of several sources of a stream.

    Yields
    ------
    iterable of str
        The tokens of one example.

    Raises
    ------
    TypeError
        If there is nothing to read.
    ValueError
        If the stream has no such source, or several of which none is named.

    """
    if isinstance(stream, (str, bytes, os.PathLike)):
        raise TypeError(
            f"text is counted in a stream or in an iterable of lines, got {stream!r:.60}; to read "
            "a file of that name use `Vocabulary.from_files`"
        )
    text_encoding(encoding)
    if not hasattr(stream, "get_epoch_iterator"):
        if source is not None:
            raise ValueError(
                f"`source` names a source of a stream, got {source!r} for an iterable of lines; "
                "leave it out"
            )
        if not isinstance(stream, Iterable):
            raise TypeError(
                f"text is counted in a stream or in an iterable of lines, got {stream!r:.60}; wrap "
                "a dataset, as in DataStream(dataset, iteration_scheme=...)"
            )
        for text in stream:
            yield tokens_of(text, split, preprocess, encoding)
        return
    sources = tuple(stream.sources)
    if source is None and len(sources) == 1:
        source = sources[0]
    if source not in sources:
        raise ValueError(
            f"`source` must name one of the stream's sources {sources}, got {source!r}; name the "
            "one that holds the text"
        )
    column = sources.index(source)
    for item in stream.get_epoch_iterator():
        for text in [item[column]] if stream.produces_examples else item[column]:
            yield tokens_of(text, split, preprocess, encoding)
