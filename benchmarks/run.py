"""How fast the everyday chains are, beside other frameworks and beside what the hardware allows.

One command measures everything::

    python benchmarks/run.py

It makes virtual environments for the other frameworks (in ``.venv-benchmarks``; the first time
this downloads about 3 GB), starts each contender in a process of its own, lets all of them make
passes in turns, prints a table for each workload and leaves results as JSON and a picture in
``benchmarks/results``. ``--peers none`` needs no environments and no network; ``--write-docs``
puts the tables into ``docs/benchmarks.md``; ``--from FILE`` does so from earlier results.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness import environments, pages
from harness.conductor import Settings, conduct
from harness.plot import picture
from harness.registry import WORKLOADS, Contender, Workload, load
from harness.report import summary, table

ROOT = Path(__file__).resolve().parents[1]
# Which environments belong to a choice of peers.
PEERS = {"none": (), "torch": ("torch",), "all": ("torch", "tensorflow", "dali")}


def say(text: str) -> None:
    """Tell how far it is, beside the tables."""
    print(f"# {text}", file=sys.stderr, flush=True)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help="default: all")
    parser.add_argument("--peers", choices=PEERS, default="all", help="which frameworks")
    parser.add_argument("--only", default="", help="parts of contenders' names, separated by |")
    parser.add_argument("--rounds", type=int, default=7, help="passes of each contender")
    parser.add_argument("--threads", type=int, default=2, help="threads, or workers, of each")
    parser.add_argument("--pass-s", type=float, default=0.3, help="a pass lasts at least so long")
    parser.add_argument("--patience-s", type=float, default=300.0, help="the longest wait")
    parser.add_argument("--quick", action="store_true", help="little data, one round: a test")
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "benchmarks")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--write-docs", action="store_true", help="renew docs/benchmarks.md")
    parser.add_argument(
        "--from", dest="earlier", type=Path, nargs="*", help="results to show again"
    )
    options = parser.parse_args(arguments)
    try:
        options.workloads = [load(name) for name in options.workloads]
    except ValueError as error:
        parser.error(str(error))
    return options


def measure(workload: Workload, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one workload."""
    lanes = {"": sys.executable}
    lanes.update({lane: environments.interpreter(lane, say) for lane in PEERS[options.peers]})
    names = [part for part in options.only.split("|") if part]
    wanted: list[tuple[Contender, str]] = [
        (contender, lanes[contender.lane])
        for contender in workload.contenders
        if contender.lane in lanes and (not names or any(part in contender.name for part in names))
    ]
    options.data.mkdir(parents=True, exist_ok=True)
    logs = options.results / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        data=options.data,
        logs=logs,
        rounds=1 if options.quick else options.rounds,
        threads=options.threads,
        quick=options.quick,
        at_least_s=0.0 if options.quick else options.pass_s,
        patience_s=options.patience_s,
    )
    outcomes = conduct(workload, wanted, settings, say)
    return summary(workload, outcomes, settings.rounds, options.quick)


def main(arguments: list[str] | None = None) -> int:
    """Measure, or read; print, and write what was asked for."""
    python = environments.own_interpreter(say)
    if python != sys.executable:
        command = [python, __file__, *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(command).returncode
    options = parse(arguments)
    if options.earlier is not None:
        results = [json.loads(path.read_text(encoding="utf-8")) for path in options.earlier]
    else:
        results = []
        for workload in options.workloads:
            result = measure(workload, options)
            stem = options.results / workload.name.lower()
            stem.with_suffix(".json").write_text(json.dumps(result, indent=1), encoding="utf-8")
            stem.with_suffix(".svg").write_text(picture(result), encoding="utf-8")
            results.append(result)
    for result in results:
        print(table(result), end="\n\n", flush=True)
    if options.write_docs:
        page = pages.PAGE.read_text(encoding="utf-8")
        for result in results:
            page = pages.insert(page, result)
        pages.PAGE.write_text(page, encoding="utf-8")
    return 0 if all(result["rows"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
