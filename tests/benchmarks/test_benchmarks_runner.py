"""The runner of the benchmarks: what it writes, and that every chain of ours does its work.

Nothing here is about speed.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("harness", "limits", "workloads")


@pytest.fixture(scope="module")
def bench():
    """The modules of the benchmarks, which are no package, and gone again afterwards."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        rooms = ("conductor", "environments", "pages", "plot", "registry", "report")
        yield SimpleNamespace(
            **{room: importlib.import_module(f"harness.{room}") for room in rooms}
        )
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
        for name in [name for name in sys.modules if name.split(".")[0] in TOPS]:
            del sys.modules[name]


@pytest.fixture
def result(bench):
    """The results of a made-up workload."""
    workload = bench.registry.Workload("W1", "nothing & less", "examples")
    outcomes = []
    for name, kind, seconds in (
        ("the bound", "limit", (1.0, 2.0, 1.0)),
        ("ours", "fuel", (2.0, 4.0, 2.0)),
        ("theirs", "peer", (8.0, 16.0, 4.0)),
        ("others", "peer", (40.0, 40.0, 40.0)),
        ("broken", "peer", ()),
    ):
        workload.contender(name, kind)(lambda work: None)
        outcome = bench.conductor.Outcome(workload.contenders[-1], versions={"numpy": "2.0"})
        outcome.passes = [
            {"seconds": one, "processor_seconds": one, "examples": 80, "bytes": 160}
            for one in seconds
        ]
        outcome.skipped = "" if seconds else "no such thing"
        outcomes.append(outcome)
    workload.goals = [
        bench.registry.Goal("ours", "the bound", 0.9),
        bench.registry.Goal("ours", bench.registry.BEST_PEER, 2.0),
        bench.registry.Goal("ours", "broken", 2.0),
    ]
    return bench.report.summary(workload, outcomes, rounds=3, quick=False)


def test_one_command_measures_and_writes_what_it_says(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, str(ROOT / "benchmarks" / "run.py"), "w1", "--quick"),
            *("--peers", "none", "--only", "NumPy, x|Fuel, DataStream and Shuffled"),
            *("--data", str(tmp_path / "data"), "--results", str(tmp_path / "results")),
        ],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "results" / "w1.json").read_text())
    assert found["form"] == 1 and found["workload"] == "W1" and found["quick"]
    assert set(found["machine"]) == {"date", "processor", "processors", "system"}
    assert set(found["versions"]["fuel"]) >= {"python", "numpy"}
    assert found["skipped"] == []
    rows = {row["kind"]: row for row in found["rows"]}
    assert set(rows) == {"fuel", "hand"}
    for row in rows.values():
        assert row["per_second"] > 0 and row["seconds"] > 0 and len(row["rates"]) == 1
        assert row["of_best_peer"] is None and row["of_limit"] is None
        assert row["peak_mb"] >= 0 and row["processor_seconds"] >= 0 and row["spread"] == 0
    (goal,) = [goal for goal in found["goals"] if goal["found"] is not None]
    assert goal["wanted"] == 0.8 and goal["met"] == (goal["found"] >= 0.8)
    assert "NumPy, x[i] and y[i]" in done.stdout and "of limit" in done.stdout
    ElementTree.parse(tmp_path / "results" / "w1.svg")
    assert list((tmp_path / "results" / "logs").iterdir())


def test_a_contender_that_fails_is_left_out_with_its_reason(bench, tmp_path):
    workload = bench.registry.load("w1")
    wanted = [workload.find("", "torch DataLoader"), workload.find("", "NumPy, x[i] and y[i]")]
    if importlib.util.find_spec("torch") is not None:
        wanted[0] = workload.find("", "tf.data, slices")
    settings = bench.conductor.Settings(
        *(tmp_path / "data", tmp_path), rounds=1, threads=1, quick=True, at_least_s=0, patience_s=60
    )
    said = []
    found = bench.conductor.conduct(
        workload, [(one, sys.executable) for one in wanted], settings, said.append
    )
    assert "is not installed" in found[0].skipped and not found[0].passes
    assert not found[1].skipped and len(found[1].passes) == 1
    assert any("is not installed" in line for line in said)


def test_ratios_are_medians_of_what_was_measured_in_one_round(result):
    rows = {row["contender"]: row for row in result["rows"]}
    assert [row["contender"] for row in result["rows"]] == ["the bound", "ours", "theirs", "others"]
    assert rows["ours"]["per_second"] == 40
    assert rows["ours"]["of_limit"] == 0.5
    assert rows["ours"]["of_best_peer"] == 4.0 and rows["theirs"]["of_best_peer"] == 1.0
    assert rows["theirs"]["spread"] == pytest.approx(1.5)
    assert [(goal["which"], goal["found"], goal["met"]) for goal in result["goals"]] == [
        ("the bound", 0.5, False),
        ("theirs", 4.0, True),
        ("", None, None),
    ]
    assert [one["reason"] for one in result["skipped"]] == ["no such thing"]
    json.dumps(result)


def test_tables_pictures_and_pages_show_everything(bench, result):
    text = bench.report.table(result)
    for part in ("the bound", "left out: broken (no such thing)", "MISSED: ours is 0.50 of"):
        assert part in text
    root = ElementTree.fromstring(bench.plot.picture(result))
    assert sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}rect")) == 1 + 4 + 4
    page = "before\n<!-- W1: written by benchmarks/run.py -->\nold\n<!-- end of W1 -->\nafter\n"
    once = bench.pages.insert(page, result)
    assert once.startswith("before\n") and once.endswith("\nafter\n") and "old" not in once
    assert (
        "| fuel | **ours** | 40 |" in once and "| ours to best peer (theirs) | 2 | 4.00 |" in once
    )
    assert bench.pages.insert(once, result) == once
    with pytest.raises(ValueError, match="the page has no place for W1"):
        bench.pages.insert("nothing", result)


def test_times_and_numbers_of_contenders_are_shown_beside_their_bounds(bench):
    registry = bench.registry
    workload = registry.Workload("W8", "resuming", "resumes", timed=True)
    outcomes = []
    for name, kind, seconds, size in (("ours", "fuel", 0.002, 500), ("theirs", "peer", 0.3, 7e6)):
        workload.contender(name, kind)(lambda work: None)
        outcome = bench.conductor.Outcome(workload.contenders[-1], versions={"numpy": "2.0"})
        shared = {"seconds": seconds, "processor_seconds": 0.0, "examples": 1, "bytes": 0}
        outcome.passes = [{**shared, "extra": {"state bytes": size}}] * 3
        outcomes.append(outcome)
    bound = registry.Bound
    workload.bounds = [bound("ours", "ms", 10.0), bound("ours", "state bytes", 100.0)]
    result = bench.report.summary(workload, outcomes, rounds=3, quick=False)
    assert [(one["found"], one["met"]) for one in result["bounds"]] == [(2.0, True), (500, False)]
    text = bench.report.table(result)
    assert "per second" not in text and "reached: ours has 2 ms, wanted at most 10" in text
    assert "MISSED: ours has 500 state bytes" in text
    section = bench.pages.section(result)
    assert "| peer | theirs | 300 |" in section and "| 7,000,000 |" in section
    assert "| ours, state bytes | 100 | 500 |" in section
    assert "300 ms" in bench.plot.picture(result)


def test_a_contender_may_measure_itself(bench, tmp_path):
    child = importlib.import_module("harness.child")
    found = child._one_pass(lambda: (3, 5, {"seconds": 0.25, "state bytes": 7.0}), 0.0)
    assert found["seconds"] == 0.25 and found["extra"] == {"state bytes": 7.0}
    assert found["examples"] == 3 and found["bytes"] == 5
    assert child._one_pass(lambda: (3, 5), 0.0)["extra"] == {}


def test_the_page_has_a_place_for_every_workload(bench, result):
    page = bench.pages.PAGE.read_text(encoding="utf-8")
    for name in bench.registry.WORKLOADS:
        assert bench.pages.insert(page, {**result, "workload": name.upper()}) != page


def test_workloads_are_complete(bench):
    lanes = {"", *bench.environments.LANES}
    for name in bench.registry.WORKLOADS:
        workload = bench.registry.load(name)
        known = [(one.case, one.name) for one in workload.contenders]
        assert len(set(known)) == len(known)
        assert {one.kind for one in workload.contenders} == set(bench.registry.KINDS)
        assert {one.lane for one in workload.contenders} <= lanes
        for goal in workload.goals:
            # Where a goal has no case, the names alone say which contenders are meant.
            names = [one for case, one in known if goal.case in ("", case)]
            assert names.count(goal.contender) == 1
            assert goal.against == bench.registry.BEST_PEER or names.count(goal.against) == 1
        for bound in workload.bounds:
            assert (bound.case, bound.contender) in known
    with pytest.raises(ValueError, match="no workload 'w0'; there are w1"):
        bench.registry.load("w0")


@pytest.mark.parametrize("name", ["w1", "w2", "w6"])
def test_our_chains_deliver_what_is_written_by_hand(bench, name, tmp_path):
    workload = bench.registry.load(name)
    work = bench.registry.Work(tmp_path, quick=True, threads=2)
    workload.prepare(work)
    delivered: dict[str, set[tuple[int, int]]] = {}
    for one in workload.contenders:
        if one.lane == "" and one.kind in ("fuel", "hand"):
            run = one.build(work)
            # Sequences are padded to the longest of their batch: their bytes depend on the order.
            found = {(count, 0 if name == "w6" else size) for count, size in (run(), run())}
            delivered.setdefault(one.case, set()).update(found)
    assert delivered and all(len(found) == 1 for found in delivered.values())
