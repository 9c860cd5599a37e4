"""From passes to results: medians, ratios, tables."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from harness.conductor import Outcome
from harness.registry import BEST_PEER, Workload

__all__ = ["FORM", "columns", "machine", "rows_of", "summary", "table"]

#: The form of the JSON files; another one gets another number.
FORM = 1

Column = tuple[str, Callable[[dict[str, Any]], str]]
_NAMES: tuple[Column, ...] = (
    ("kind", lambda row: row["kind"]),
    ("contender", lambda row: row["contender"]),
)
_SPEED: tuple[Column, ...] = (
    ("per second", lambda row: f"{row['per_second']:,.0f}"),
    ("MB/s", lambda row: f"{row['mb_per_second']:,.0f}"),
)
_TIME: tuple[Column, ...] = (("ms", lambda row: _number(row["seconds"] * 1e3)),)
_COMPARED: tuple[Column, ...] = (
    ("of limit", lambda row: _ratio(row["of_limit"])),
    ("x best peer", lambda row: _ratio(row["of_best_peer"])),
)
_EFFORT: tuple[Column, ...] = (
    ("CPU s", lambda row: f"{row['processor_seconds']:.3f}"),
    ("CPU us each", lambda row: _number(_each(row))),
)
_REST: tuple[Column, ...] = (
    ("peak MB", lambda row: f"{row['peak_mb']:,.0f}"),
    ("spread", lambda row: f"{row['spread']:.0%}"),
)


def columns(result: dict[str, Any]) -> list[Column]:
    """Return the columns of a workload's tables: heading, and how a row is shown in it."""
    timed = result.get("timed", False)
    own = dict.fromkeys(name for row in result["rows"] for name in row.get("extra", ()))
    more = [(name, _shower(name)) for name in own]
    parts = (_NAMES, _TIME if timed else _SPEED, _COMPARED, more, () if timed else _EFFORT, _REST)
    return [column for part in parts for column in part]


def _shower(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda row: _number(row["extra"][name]) if name in row.get("extra", {}) else ""


def _each(row: dict[str, Any]) -> float:
    """The processor time of one example, in microseconds."""
    examples: float = row["per_second"] * row["seconds"]
    return float(row["processor_seconds"]) / examples * 1e6


def _number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def machine() -> dict[str, Any]:
    """Describe where and when this is measured."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
        name = models[0] if models else name
    except OSError:
        pass
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": name,
        "processors": len(affinity(0)) if affinity else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def summary(
    workload: Workload, outcomes: list[Outcome], rounds: int, quick: bool
) -> dict[str, Any]:
    """Return all results of a workload, ready for JSON."""
    measured = [outcome for outcome in outcomes if outcome.passes]
    rows = [_row(outcome) for outcome in measured]
    peers = {case: _fastest(rows, "peer", case) for case in {row["case"] for row in rows}}
    if workload.one_field:
        best = max(filter(None, peers.values()), key=lambda row: row["per_second"], default=None)
        peers = dict.fromkeys(peers, best)
    for row in rows:
        limit, peer = _fastest(rows, "limit", row["case"]), peers[row["case"]]
        row["of_limit"] = _relative(row, limit)
        row["of_best_peer"] = _relative(row, peer)
    rows.sort(key=lambda row: (row["case"], -row["per_second"]))
    versions: dict[str, dict[str, str]] = {}
    for outcome in measured:
        versions.setdefault(outcome.contender.lane or "fuel", outcome.versions)
    return {
        "form": FORM,
        "workload": workload.name,
        "title": workload.title,
        "unit": workload.unit,
        "timed": workload.timed,
        "quick": quick,
        "rounds": rounds,
        "machine": machine(),
        "versions": versions,
        "rows": rows,
        "skipped": [
            {
                "case": outcome.contender.case,
                "contender": outcome.contender.name,
                "kind": outcome.contender.kind,
                "reason": outcome.skipped,
            }
            for outcome in outcomes
            if outcome.skipped
        ],
        "goals": list(_goals(workload, rows, peers)),
        "bounds": list(_bounds(workload, rows)),
    }


def _row(outcome: Outcome) -> dict[str, Any]:
    seconds = [one["seconds"] for one in outcome.passes]
    median = statistics.median(seconds)
    last = outcome.passes[-1]
    return {
        "case": outcome.contender.case,
        "contender": outcome.contender.name,
        "kind": outcome.contender.kind,
        "per_second": last["examples"] / median,
        "mb_per_second": last["bytes"] / median / 1e6,
        "seconds": median,
        "processor_seconds": statistics.median(one["processor_seconds"] for one in outcome.passes),
        "peak_mb": outcome.peak_bytes / 1e6,
        "peak_over_data_mb": max(0, outcome.peak_bytes - outcome.data_bytes) / 1e6,
        "extra": {
            name: statistics.median(one["extra"][name] for one in outcome.passes)
            for name in last.get("extra", ())
        },
        "spread": (max(seconds) - min(seconds)) / median,
        "rates": [last["examples"] / one for one in seconds],
    }


def _fastest(rows: list[dict[str, Any]], kind: str, case: str) -> dict[str, Any] | None:
    found = [row for row in rows if row["kind"] == kind and row["case"] == case]
    return max(found, key=lambda row: row["per_second"], default=None)


def _relative(row: dict[str, Any], other: dict[str, Any] | None) -> float | None:
    """The ratio of two speeds: the median over the rounds, in which both were measured closely."""
    if other is None:
        return None
    pairs = zip(row["rates"], other["rates"], strict=False)
    return statistics.median(ours / theirs for ours, theirs in pairs)


def _goals(
    workload: Workload, rows: list[dict[str, Any]], peers: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for goal in workload.goals:
        named = {row["contender"]: row for row in rows if goal.case in ("", row["case"])}
        ours = named.get(goal.contender)
        if ours is None:
            continue
        against = peers[ours["case"]] if goal.against == BEST_PEER else named.get(goal.against)
        found = _relative(ours, against)
        yield {
            "case": goal.case,
            "contender": goal.contender,
            "against": goal.against,
            "which": against["contender"] if against else "",
            "wanted": goal.ratio,
            "found": found,
            "met": None if found is None else found >= goal.ratio,
        }


def _bounds(workload: Workload, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for bound in workload.bounds:
        named = {row["contender"]: row for row in rows if bound.case in ("", row["case"])}
        row = named.get(bound.contender)
        if row is None:
            continue
        numbers = {"ms": row["seconds"] * 1e3, **row["extra"]}
        found = numbers[bound.quantity]
        yield {
            "case": bound.case,
            "contender": bound.contender,
            "quantity": bound.quantity,
            "most": bound.most,
            "found": found,
            "met": found <= bound.most,
        }


def rows_of(result: dict[str, Any]) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    """Return the rows of each case."""
    for case in dict.fromkeys(row["case"] for row in result["rows"]):
        yield case, [row for row in result["rows"] if row["case"] == case]


def table(result: dict[str, Any]) -> str:
    """Return the results of a workload as text for a terminal."""
    lines = [f"{result['workload']}: {result['title']}; {result['unit']}"]
    shown = columns(result)
    for case, rows in rows_of(result):
        cells = [[head for head, _ in shown]]
        cells += [[show(row) for _, show in shown] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines += ["", f"  {case}"] if case else [""]
        for row in cells:
            texts = [
                text.ljust(width) if number < 2 else text.rjust(width)
                for number, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(texts).rstrip())
    lines += [f"  left out: {one['contender']} ({one['reason']})" for one in result["skipped"]]
    for goal in [] if result.get("quick") else result["goals"]:
        if goal["found"] is not None:
            which = f" ({goal['which']})" if goal["against"] == BEST_PEER else ""
            mark = "reached" if goal["met"] else "MISSED"
            case = f"{goal['case']}: " if goal.get("case") else ""
            lines.append(
                f"  {mark}: {case}{goal['contender']} is {goal['found']:.2f} of "
                f"{goal['against']}{which}, wanted {goal['wanted']:g}"
            )
    for bound in [] if result.get("quick") else result.get("bounds", []):
        mark = "reached" if bound["met"] else "MISSED"
        case = f"{bound['case']}: " if bound["case"] else ""
        lines.append(
            f"  {mark}: {case}{bound['contender']} has {_number(bound['found'])} "
            f"{bound['quantity']}, wanted at most {bound['most']:g}"
        )
    return "\n".join(lines)
