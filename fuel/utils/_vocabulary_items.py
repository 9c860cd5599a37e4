"""What a vocabulary asks of the tokens, numbers, counts and sizes that it is given.

Here is also which tokens of a text make up a vocabulary, and in which order.
"""

from __future__ import annotations

import hashlib
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["check_limits", "checked_counts", "chosen", "decoded", "digest_of", "in_order"]


def check_limits(min_count: int, max_size: int | None) -> None:
    """Refuse sizes that mean nothing.

    Parameters
    ----------
    min_count : int
        The smallest count of a token.
    max_size : int or None
        The largest number of tokens.

    Raises
    ------
    ValueError
        If one is no positive integer.

    """
    for name, value in (("min_count", min_count), ("max_size", max_size)):
        if value is not None and (type(value) is not int or value < 1):
            raise ValueError(
                f"`{name}` must be an integer from 1 on, got {value!r:.80}; leave it out for no "
                "limit"
            )


def in_order(tokens: Iterable[str] | Mapping[str, int]) -> tuple[str, ...]:
    """Return tokens in the order of their numbers.

    Parameters
    ----------
    tokens : iterable of str, or mapping
        The tokens in order, or with their numbers.

    Returns
    -------
    tuple of str
        All of them, plain strings.

    Raises
    ------
    ValueError
        If the numbers are not 0 to n - 1.
    TypeError
        If they are no tokens, or no numbers.

    """
    if isinstance(tokens, (str, bytes)):
        raise TypeError(
            f"a vocabulary is made of tokens, got the {type(tokens).__name__} {tokens!r:.40}; pass "
            "a list of them, or read a file with `Vocabulary.load`"
        )
    if isinstance(tokens, Mapping):
        pairs = sorted(_checked_numbers(tokens))
        for place, (number, token) in enumerate(pairs):
            if number > place:
                raise ValueError(
                    f"the numbers of a vocabulary must be 0 to {len(pairs) - 1}, each used once, "
                    f"got none with {place}; close the holes (TextFile takes any dict)"
                )
            if number < place:
                raise ValueError(
                    f"the numbers of a vocabulary must be 0 to {len(pairs) - 1}, each used once, "
                    f"got {number} for {token!r:.80} out of place; number them anew"
                )
        return tuple(token for _, token in pairs)
    if not isinstance(tokens, Iterable):
        raise TypeError(
            f"a vocabulary is made of tokens, got {tokens!r:.40}; pass a list of them, or a dict "
            "with their numbers"
        )
    return tuple(map(_plain, tokens))


def _checked_numbers(tokens: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    for token, number in tokens.items():
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise TypeError(
                f"the numbers of a vocabulary must be integers, got {number!r:.80} for "
                f"{token!r:.80}; map tokens to numbers, not the other way"
            )
        yield number.__index__(), _plain(token)


def _plain(token: object) -> str:
    """Return a token as a str, also where it is one of NumPy's."""
    if isinstance(token, str):
        return str(token)
    raise TypeError(
        f"the tokens of a vocabulary must be strings, got {token!r:.80}; decode bytes, and use "
        "str() for others"
    )


def checked_counts(counts: Mapping[str, int], tokens: Iterable[str]) -> dict[str, int]:
    """Return the counts of all tokens, 0 for those without.

    Parameters
    ----------
    counts : mapping from str to int
        Some counts.
    tokens : collection of str
        All tokens, in order.

    Returns
    -------
    dict
        In the order of the tokens.

    Raises
    ------
    ValueError
        If there is a count of another token, or one that is no integer from 0 on.

    """
    found = dict.fromkeys(tokens, 0)
    for token, count in counts.items():
        if token not in found:
            raise ValueError(
                f"`counts` must be of tokens of the vocabulary, got one of {token!r:.80}; leave "
                "it out, or add the token"
            )
        if isinstance(count, bool) or not hasattr(count, "__index__") or count < 0:
            raise ValueError(
                f"`counts` must be integers from 0 on, got {count!r:.80} for {token!r:.80}; "
                "convert it, for example with int()"
            )
        found[token] = count.__index__()
    return found


def chosen(
    counter: Counter[str],
    min_count: int,
    max_size: int | None,
    marks: Mapping[str, str | None],
) -> dict[str, int]:
    """Return the tokens that make up a vocabulary, in their order, with their counts.

    Parameters
    ----------
    counter : Counter
        How often each token was seen.
    min_count : int
        Rarer ones are left out.
    max_size : int or None
        How many there may be, marks included.
    marks : mapping
        The tokens that come first, in this order; None for none. What is left out is counted for
        the one named ``unknown``.

    Returns
    -------
    dict
        The marks; then the tokens by falling count, then by their code points.

    Raises
    ------
    ValueError
        If there is no room for the marks.
    TypeError
        If a token is no str.

    """
    for token in (*counter, *(mark for mark in marks.values() if mark is not None)):
        _plain(token)
    found = {mark: counter[mark] for mark in marks.values() if mark is not None}
    if max_size is not None and max_size < len(found):
        raise ValueError(
            f"`max_size` must leave room for the {len(found)} marks, got {max_size}; raise it, or "
            "leave marks out"
        )
    kept = [token for token, n in counter.items() if n >= min_count and token not in found]
    kept.sort(key=lambda token: (-counter[token], token))
    if max_size is not None:
        del kept[max_size - len(found) :]
    found.update((token, counter[token]) for token in kept)
    unknown = marks["unknown"]
    if unknown is not None:
        found[unknown] += sum(counter.values()) - sum(found.values())
    return found


def decoded(tokens: Sequence[str], ids: Any) -> list[str]:
    """Return the tokens of numbers.

    Parameters
    ----------
    tokens : sequence of str
        All tokens, in the order of their numbers.
    ids : iterable of int
        Numbers.

    Returns
    -------
    list of str
        The token of each.

    Raises
    ------
    IndexError
        If there is no token with a number.
    TypeError
        If they are no integers.

    """
    hint = "decode one sequence of integers at a time"
    if isinstance(ids, str) or not isinstance(ids, Iterable) or getattr(ids, "shape", None) == ():
        raise TypeError(f"the numbers of tokens must be an iterable, got {ids!r:.80}; {hint}")
    size, found = len(tokens), []
    for number in ids:
        try:
            index = operator.index(number)
        except TypeError:
            raise TypeError(
                f"the numbers of tokens are integers, got {number!r:.80}; {hint}"
            ) from None
        if not 0 <= index < size:
            raise IndexError(
                f"the numbers of tokens are 0 to {size - 1}, got {number!r}; decode with the "
                "vocabulary that encoded, and leave padding out"
            )
        found.append(tokens[index])
    return found


def digest_of(mapping: Mapping[str, int]) -> str:
    """Return a hexadecimal number of 32 digits that stands for tokens and their numbers.

    Parameters
    ----------
    mapping : mapping from str to int
        A vocabulary, or any dictionary.

    Returns
    -------
    str
        Of BLAKE2b over the items in the order of their numbers, whatever that of the mapping.

    """
    hasher = hashlib.blake2b(digest_size=16)
    items: Iterable[tuple[int, str]] = sorted((number, token) for token, number in mapping.items())
    for number, token in items:
        content = token.encode("utf-8", "surrogatepass")
        hasher.update(b"%d %d " % (number, len(content)))
        hasher.update(content)
    return hasher.hexdigest()
