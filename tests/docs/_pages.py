"""Finds the Python blocks of a Markdown page and runs them in order, as one program.

A block that holds ``>>>`` is checked as a session at the prompt; any other is run as it is. All
blocks of a page share their names, and the page is `__main__` while it runs, so what works on the
page works for a reader. A block that cannot run says why in a comment just above it::

    <!-- not run: needs a downloaded file -->

Blocks inside lists or notes may be indented. Shell sessions are looked at elsewhere.
"""

from __future__ import annotations

import doctest
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent>[ ]*)(?P<mark>`{3,}|~{3,}|:{3,})[ ]*(?P<info>[^`]*)$")
REASON = re.compile(r"^\s*(?:<!--|%)\s*not run:\s*(?P<reason>.*?)\s*(?:-->)?\s*$")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, its first line, why it is not run (or None)."""

    language: str
    text: str
    line: int
    reason: str | None


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, those within directives (notes, tabs) included."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        number += 1
        if opening is None or not opening["info"].strip():
            continue
        words = opening["info"].strip().split()
        directive = words[0].startswith("{")
        language = words[0].strip("{}")
        if directive and language in {"code-block", "code", "doctest"}:
            language = words[1] if len(words) > 1 else "python"
        elif directive and language not in {"eval-rst", "toctree", "include", "literalinclude"}:
            continue  # a note or the like: what it holds is part of the page
        start = number
        closing = re.compile(rf"^[ ]*{re.escape(opening['mark'])}{opening['mark'][0]}*\s*$")
        while number < len(lines) and not closing.match(lines[number]):
            number += 1
        body = lines[start:number]
        while body and re.match(r"^\s*:[\w-]+:", body[0]):  # options of a directive
            body.pop(0)
            start += 1
        number += 1
        yield Block(
            language=language,
            text=textwrap.dedent("\n".join(body)) + "\n",
            line=start + 1,
            reason=reason_above(lines, start - 1),
        )


def reason_above(lines: list[str], fence: int) -> str | None:
    """The reason given in the last line above the fence that is not blank."""
    above = [line for line in lines[:fence] if line.strip()]
    given = REASON.match(above[-1]) if above else None
    return given["reason"] if given else None


def python_blocks(text: str) -> list[Block]:
    """The blocks of a page that are Python."""
    return [block for block in blocks(text) if block.language in {"python", "pycon", "py"}]


def run_page(path: Path, text: str) -> list[str]:
    """Run every Python block; what went wrong, as text with the line on the page."""
    page = types.ModuleType("__main__")
    page.__dict__["__file__"] = str(path)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = page
    try:
        return [
            problem
            for block in python_blocks(text)
            if block.reason is None
            for problem in run_block(path, block, page.__dict__)
        ]
    finally:
        sys.modules["__main__"] = before


def run_block(path: Path, block: Block, names: dict[str, object]) -> Iterator[str]:
    """Run one block in ``names``."""
    if ">>>" not in block.text:
        # Blank lines in front make the line numbers of a traceback those of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), names)
        return
    parser = doctest.DocTestParser()
    session = parser.get_doctest(block.text, names, path.name, str(path), block.line - 1)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    failures = runner.run(session, out=said.append, clear_globs=False).failed
    names.update(session.globs)
    if failures:
        yield "".join(said)
