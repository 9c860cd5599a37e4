"""What `import fuel` costs beyond NumPy's own import, in milliseconds and in modules.

Every round starts three new interpreters, in an order that turns from round to round, so that
neither a warm disk cache nor a change of the processor's clock favours one: one imports only NumPy,
one imports NumPy and then Fuel, one imports NumPy and then nothing, twice the first, to show what
difference is noise. Medians over the rounds are reported, and medians of the differences within a
round::

    python benchmarks/import_time.py [--rounds 21] [--limit-ms 50]

With a limit, the exit code is 1 when the median difference exceeds it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

CLOCK = "import time; start = time.perf_counter(); "
PRINT = "; print(time.perf_counter() - start, len(__import__('sys').modules))"
PROGRAMS = {
    "numpy": CLOCK + "import numpy" + PRINT,
    "numpy again": CLOCK + "import numpy" + PRINT,
    "numpy, fuel": CLOCK + "import numpy; import fuel" + PRINT,
}


def measure(program: str) -> tuple[float, int]:
    """Milliseconds and the number of loaded modules of one new interpreter."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, modules = done.stdout.split()
    return 1000 * float(seconds), int(modules)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=21, help="interpreters of each kind")
    parser.add_argument("--limit-ms", type=float, help="exit with 1 above this difference")
    options = parser.parse_args(arguments)
    names = list(PROGRAMS)
    times: dict[str, list[float]] = {name: [] for name in names}
    modules: dict[str, int] = {}
    for name in names:  # once for the disk cache and the byte code
        measure(PROGRAMS[name])
    for number in range(options.rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            milliseconds, modules[name] = measure(PROGRAMS[name])
            times[name].append(milliseconds)
    print(f"{'program':14}{'median ms':>12}{'over numpy':>12}{'modules':>10}")
    difference = 0.0
    for name in names:
        pairs = zip(times[name], times["numpy"], strict=True)
        difference = statistics.median(left - right for left, right in pairs)
        median = statistics.median(times[name])
        print(f"{name:14}{median:12.1f}{difference:12.1f}{modules[name]:10}")
    return int(options.limit_ms is not None and difference > options.limit_ms)


if __name__ == "__main__":
    sys.exit(main())
