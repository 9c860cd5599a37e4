"""The tables of `docs/benchmarks.md`, between marks that stay where they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from harness.registry import BEST_PEER
from harness.report import columns, rows_of

__all__ = ["PAGE", "insert", "section"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


def section(result: dict[str, Any]) -> str:
    """Return what the page says about the results of a workload."""
    where = result["machine"]
    lines = [
        f"Measured {where['date']} on {where['processors']} cores ({where['processor']}, "
        f"{where['system']}), medians of {result['rounds']} rounds"
        + ("." if result.get("timed") else f"; the unit is {result['unit']} a second."),
    ]
    shown = columns(result)
    for case, rows in rows_of(result):
        lines += ["", f"*{case}*"] if case else []
        lines += ["", "| " + " | ".join(head for head, _ in shown) + " |"]
        lines.append("|" + " --- |" * 2 + " ---: |" * (len(shown) - 2))
        for row in rows:
            cells = [show(row) for _, show in shown]
            if row["kind"] == "fuel":
                cells[1] = f"**{cells[1]}**"
            lines.append("| " + " | ".join(cells) + " |")
    goals = [goal for goal in result["goals"] if goal["found"] is not None]
    if goals:
        lines += ["", "| ratio | wanted | found |", "| --- | ---: | ---: |"]
        for goal in goals:
            which = f" ({goal['which']})" if goal["against"] == BEST_PEER else ""
            case = f"{goal['case']}: " if goal.get("case") else ""
            lines.append(
                f"| {case}{goal['contender']} to {goal['against']}{which} | {goal['wanted']:g} | "
                f"{goal['found']:.2f} |"
            )
    bounds = result.get("bounds", [])
    if bounds:
        lines += ["", "| number | at most | found |", "| --- | ---: | ---: |"]
        for bound in bounds:
            case = f"{bound['case']}: " if bound["case"] else ""
            lines.append(
                f"| {case}{bound['contender']}, {bound['quantity']} | {bound['most']:g} | "
                f"{bound['found']:.3g} |"
            )
    for one in result["skipped"]:
        lines += ["", f"Left out: {one['contender']} ({one['reason']})."]
    versions: dict[str, str] = {}
    for lane in result["versions"].values():
        for name, version in lane.items():
            versions.setdefault(name, version)
    lines += ["", "Versions: " + ", ".join(f"{k} {v}" for k, v in sorted(versions.items())) + "."]
    return "\n".join(lines)


def insert(page: str, result: dict[str, Any]) -> str:
    """Return the page with the results of a workload in their place."""
    name = result["workload"]
    begin, end = f"<!-- {name}: written by benchmarks/run.py -->", f"<!-- end of {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no place for {name}: it must hold {begin!r} and {end!r}")
    return pattern.sub(lambda _: f"{begin}\n\n{section(result)}\n\n{end}", page)
