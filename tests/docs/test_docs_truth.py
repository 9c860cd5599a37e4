"""What the hand-written pages list is what there is: rooms, settings, commands, links."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fuel.config_parser import config

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BY_HAND = [
    path
    for path in [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
    if "_build" not in path.parts
]


def read(*parts: str) -> str:
    return DOCS.joinpath(*parts).read_text(encoding="utf-8")


def test_the_map_shows_every_room_and_no_other() -> None:
    rooms = {path.stem for path in (ROOT / "fuel").glob("*.py") if path.stem[0] != "_"}
    rooms |= {path.parent.name for path in (ROOT / "fuel").glob("*/__init__.py")}
    table = [line for line in read("explanation", "architecture.md").splitlines() if "|" in line]
    shown = {name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[2])}
    assert shown == rooms - {"data"}


def test_the_settings_are_listed_with_their_variables() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \| (?:`(\w+)` )?\| ", read("reference", "configuration.md"))
    declared = {(entry.key, entry.env_var or "") for entry in config.describe()}
    assert set(rows) == declared


@pytest.mark.parametrize("command", ["convert", "download", "export", "info"])
def test_the_options_of_the_commands_are_listed(
    command: str, fresh_python: Callable[..., str]
) -> None:
    page = read("reference", "commands.md")
    part = page.partition(f"## fuel-{command}\n")[2].partition("\n## ")[0]
    listed = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", part))
    code = f"from fuel.bin.fuel_{command} import main; import sys; main(sys.argv[1:])"
    code = f"try:\n    {code}\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
    helped = fresh_python(code, "-h")
    if command in ("convert", "download"):
        helped += fresh_python(code, "digits", "-h")
    common = page.partition("## What they have in common\n")[2].partition("\n## ")[0]
    everywhere = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", common))
    offered = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", helped))
    assert everywhere <= offered
    assert listed - everywhere == offered - everywhere


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(path: Path) -> None:
    text = re.sub(r"(?ms)^\s*`{3,}.*?^\s*`{3,}", "", path.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text)
    missing = [
        target for target in targets if "://" not in target and not (path.parent / target).exists()
    ]
    assert missing == []


def test_the_quick_start_has_a_tutorial() -> None:
    tutorials = [path.read_text(encoding="utf-8") for path in DOCS.glob("tutorials/*.md")]
    assert any("examples/quickstart.py" in text for text in tutorials)
