r"""The files of vocabularies: lists of words, with or without counts, and JSON.

A text file has one token a line, whose number is that of the line, and up to two more columns
after tabs: the count, and a list of remarks with commas between them. Remarks are ``escaped`` (the
token is written with backslashes), the name of a mark, and ``plain`` for a token that has the
usual name of a mark and is none. So no word list that other programs wrote is read in another
way than it was meant, backslashes included.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fuel.exceptions import StorageError
from fuel.utils._compressed import compression, errors, open_bytes, pack, unreadable
from fuel.utils._lines import text_encoding

__all__ = ["Content", "EncodingError", "damaged", "kind_of", "read", "write"]

_MARKS = ("unknown", "begin", "end", "pad")

#: What cannot stand in a line: ends of lines in any program's eyes, tabs, and what UTF-8 or the
#: beginning of a file do not allow.
_SPECIAL = re.compile("[\0\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029\ud800-\udfff\ufeff]")
#: In JSON two halves of a character are the character.
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_LONG = {short[1]: character for character, short in _SHORT.items()}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))", re.DOTALL)

#: How a JSON object begins; a list of words hardly does, and one of characters never.
_JSON = re.compile(r'\s*\{\s*"(?:[^"\\\n]|\\.)*"\s*:')

_BYTE_ORDER_MARKS = (
    # The longer ones first: one begins like the mark of UTF-16.
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


class Content(NamedTuple):
    """What is in a file: tokens, perhaps counts, and the marks that it names."""

    tokens: Any
    counts: dict[str, int] | None
    marks: dict[str, str | None]


class EncodingError(StorageError):
    """The text is in another encoding."""


def damaged(path: str, what: str) -> StorageError:
    """Return the error that says that a file holds no vocabulary.

    Parameters
    ----------
    path : str
        The file.
    what : str
        What is wrong with it, and what to do.

    Returns
    -------
    StorageError
        The error.

    """
    return StorageError(f"the vocabulary {path!r} cannot be used: {what}")


def kind_of(path: str, format: str | None) -> str | None:
    """Return the form of a file by its name.

    Parameters
    ----------
    path : str
        The file.
    format : {'text', 'json'} or None
        What the user said.

    Returns
    -------
    {'text', 'json'} or None
        None where the name does not tell.

    Raises
    ------
    ValueError
        If there is no such format.

    """
    if format not in (None, "text", "json"):
        raise ValueError(f"`format` must be 'text' or 'json', got {format!r}; or leave it out")
    if format is None:
        ending = compression(path)
        plain = path[: -len(ending)] if ending else path
        if plain.lower().endswith(".json"):
            return "json"
    return format


# -- writing --------------------------------------------------------------------------------------


def write(
    path: str,
    kind: str,
    tokens: Sequence[str],
    counts: Mapping[str, int] | None,
    marks: Mapping[str, str | None],
    usual: Mapping[str, str],
) -> None:
    """Write a vocabulary under another name, and rename it when it is whole.

    Parameters
    ----------
    path : str
        The file.
    kind : {'text', 'json'}
        Its form.
    tokens : sequence of str
        In the order of their numbers.
    counts : mapping or None
        Of each token.
    marks : mapping
        The token of each mark, or None.
    usual : mapping
        The usual name of each mark.

    Raises
    ------
    StorageError
        If it cannot be written.
    ValueError
        If JSON cannot hold a token.

    """
    if kind == "json":
        for token in tokens:
            if _PAIR.search(token):
                raise ValueError(
                    f"JSON cannot hold two halves of a character side by side, as in {token!r:.80};"
                    " save the vocabulary as text, which can, or leave the token out"
                )
        text = _json(tokens, counts, marks)
    else:
        text = "".join(_text_lines(tokens, counts, marks, usual))
    content = pack(path, text.encode())
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        # To give the new file its name would remove what others use: a device, a pipe.
        raise StorageError(
            f"the vocabulary cannot be written to {path!r}: there is something that is no file; "
            "give the name of a file"
        )
    part = f"{target}.{secrets.token_hex(4)}.part"
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException as error:
        try:
            os.remove(part)
        except OSError:
            pass
        if isinstance(error, OSError):
            raise StorageError(
                f"the vocabulary cannot be written to {path!r}: {error}; check that the directory "
                "exists, may be written to and has room"
            ) from error
        raise


def _json(
    tokens: Sequence[str], counts: Mapping[str, int] | None, marks: Mapping[str, str | None]
) -> str:
    parts = [f'"marks": {json.dumps(dict(marks))}']
    if counts is not None:
        parts.append(f'"counts": {json.dumps([counts[token] for token in tokens])}')
    # One token a line, so that people and version control can read it.
    listed = ",\n".join(map(json.dumps, tokens))
    parts.append(f'"tokens": [\n{listed}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _text_lines(
    tokens: Sequence[str],
    counts: Mapping[str, int] | None,
    marks: Mapping[str, str | None],
    usual: Mapping[str, str],
) -> list[str]:
    known = set(tokens)
    guessed = {name: mark if mark in known else None for name, mark in usual.items()}
    remarks: dict[str, list[str]] = {}
    if guessed != dict(marks):
        for name, mark in marks.items():
            if mark is not None:
                remarks.setdefault(mark, []).append(name)
        for mark in guessed.values():
            if mark is not None and mark not in remarks:
                remarks[mark] = ["plain"]

    def line(token: str, written: str) -> str:
        count = "" if counts is None else str(counts[token])
        said = remarks.get(token, [])
        # Alone in its line the empty token would be lost at the end of the file.
        if written != token or not (token or count):
            said = ["escaped", *said]
        columns = [written, count, ",".join(said)]
        return "\t".join(columns[: 3 if said else 2 if count else 1]) + "\n"

    lines = [line(token, _escaped(token) if _SPECIAL.search(token) else token) for token in tokens]
    first = tokens[0] if tokens else ""
    if first and _JSON.match("".join(lines)):
        # A backslash at the beginning, so that it is not taken for JSON.
        lines[0] = line(first, f"\\u{ord(first[0]):04x}{_escaped(first[1:])}")
    return lines


def _escaped(token: str) -> str:
    return re.sub(
        _SPECIAL.pattern + r"|\\",
        lambda found: _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}",
        token,
    )


# -- reading --------------------------------------------------------------------------------------


def read(path: str, format: str | None, encoding: str | None) -> Content:
    """Read a vocabulary.

    Parameters
    ----------
    path : str
        The file.
    format : {'text', 'json'} or None
        Its form; by default as its name or content tells.
    encoding : str or None
        Of the text; by default UTF-8, or what a byte order mark tells.

    Returns
    -------
    Content
        What is in it; that tokens are strings and occur once is not checked in JSON.

    Raises
    ------
    StorageError
        If it cannot be read, or is no vocabulary.

    """
    kind = kind_of(path, format)
    if encoding is not None:
        text_encoding(encoding)
    try:
        file = open_bytes(path)
        try:
            content = file.read()
        finally:
            file.close()
    except errors() as error:
        raise unreadable(path, "", error) from error
    text = _decoded(path, content, encoding)
    if kind is None:
        kind = "json" if _JSON.match(text) else "text"
    return _read_json(path, text) if kind == "json" else _read_text(path, text)


def _decoded(path: str, content: bytes, encoding: str | None) -> str:
    if content[:1] == b"\x80" and content[1:2] <= b"\x05" and content[-1:] == b".":
        raise damaged(
            path,
            "it looks like a pickle, which runs code when it is read; if you trust it, unpickle it "
            "yourself and pass the dict",
        )
    if encoding is None:
        found = [name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)]
        encoding = found[0] if found else "utf-8"
        if encoding.startswith("utf-8") and b"\0" in content:
            raise EncodingError(
                f"the vocabulary {path!r} cannot be used: there are zero bytes in it, so it is no "
                "UTF-8 text; name its `encoding`"
            )
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        line = content.count(b"\n", 0, getattr(error, "start", len(content))) + 1
        raise EncodingError(
            f"the vocabulary {path!r} cannot be used: line {line} is not in the encoding "
            f"{encoding} ({error}); name its `encoding`"
        ) from error


def _read_text(path: str, text: str) -> Content:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Lines without anything at the end of a list mean nothing.
    lines = text.rstrip("\n").split("\n") if text.strip("\n") else []
    counts: dict[str, int] = {}
    marks: dict[str, str | None] = {}
    told = False
    tokens: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        token, tab, rest = line.partition("\t")
        if tab:
            count, tab, remarks = rest.partition("\t")
            said = remarks.split(",") if tab else []
            if "escaped" in said:
                token = _unescaped(path, number, token)
                said.remove("escaped")
            if count:
                counts[token] = _count(path, number, count)
            for remark in said:
                told = True
                if remark in _MARKS and remark not in marks:
                    marks[remark] = token
                elif remark != "plain":
                    raise damaged(
                        path,
                        f"the third column of line {number} must name a mark, each once, or say "
                        f"'plain' or 'escaped', got {remark!r:.40}; keep one word a line, or a "
                        "word, a tab and a count",
                    )
        if token in tokens:
            raise damaged(
                path,
                f"line {number} holds {token!r:.80}, as line {tokens[token]} does; leave out one "
                "of them",
            )
        tokens[token] = number
    if not tokens:
        raise damaged(path, "it is empty; write one token a line")
    if told:
        marks = {name: marks.get(name) for name in _MARKS}
    return Content(list(tokens), counts or None, marks)


def _count(path: str, number: int, count: str) -> int:
    # More digits than anything has been counted to, and than Python reads.
    if count.isascii() and count.strip().isdigit() and len(count) <= 1000:
        return int(count)
    raise damaged(
        path,
        f"the second column of line {number} must be a count, got {count!r:.40}; keep the first "
        "column alone, or a word, a tab and a count",
    )


def _unescaped(path: str, number: int, token: str) -> str:
    def character(found: re.Match[str]) -> str:
        if found[1] is not None:
            return chr(int(found[1], 16))
        if found[2] not in _LONG or not found[2]:
            raise damaged(
                path,
                f"line {number} is said to be escaped, but {found[0]!r} means nothing; write "
                r"\n, \r, \t, \\ or \u and four digits",
            )
        return _LONG[found[2]]

    return _ESCAPE.sub(character, token)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"{key!r:.80} stands there twice; leave out one of them")
            seen.add(key)
    return found


def _read_json(path: str, text: str) -> Content:
    try:
        found = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise damaged(
            path,
            f"it is not valid JSON: {error}; mend it, or say format='text' if it is a list of "
            "words",
        ) from error
    if isinstance(found, dict) and isinstance(found.get("tokens"), list):
        tokens, counts, marks = found["tokens"], found.get("counts"), found.get("marks", {})
        if counts is not None and (not isinstance(counts, list) or len(counts) != len(tokens)):
            raise damaged(path, f"its `counts` must be a list of {len(tokens)}, one a token")
        if not isinstance(marks, dict) or not set(marks) <= set(_MARKS):
            raise damaged(path, f"its `marks` must map some of {_MARKS} to tokens, got {marks!r}")
        for token in tokens:
            if not isinstance(token, str):
                raise damaged(path, f"its `tokens` must be strings, got {token!r:.80}; quote it")
        numbered = None if counts is None else dict(zip(tokens, counts, strict=True))
        return Content(tokens, numbered, marks)
    if isinstance(found, dict) and all(type(number) is int for number in found.values()):
        return Content(found, None, {})
    raise damaged(
        path,
        "it must hold one JSON object that maps tokens to ints; write such a file, or one token a "
        "line",
    )
