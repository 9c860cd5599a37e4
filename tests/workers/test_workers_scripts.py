"""Programs as people write them: without a guard, interrupted, killed; nothing is left behind."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(os, "pidfd_open"), reason="looks into /proc"
)


def _load(name: str) -> Any:
    key = f"workers_{name}"
    if key not in sys.modules:
        spec = importlib.util.spec_from_file_location(key, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module
        spec.loader.exec_module(module)
    return sys.modules[key]


Program = _load("_programs").Program
METHODS = [None, "forkserver", "spawn", "fork"]

#: Fit for a file, for standard input and for an interactive session.
SCRIPT = """\
print("top")

import enum, os, dataclasses
import numpy
from fuel.datasets import IndexableDataset
from fuel.schemes import SequentialExampleScheme
from fuel.streams import DataStream
from fuel.transformers import Mapping, Parallel

OFFSET = 100

class Color(enum.IntEnum):
    RED = 1

class Text(str):
    pass

@dataclasses.dataclass
class Point:
    x: int
    y: object

def helped(number):
    return number + OFFSET

class Step:
    def __init__(self, factor):
        self.factor = factor
    def __call__(self, data):
        number = int(data[0])
        point = Point(helped(number) * self.factor, numpy.full(2000, number))
        return point, Color.RED, Text("text"), os.getpid()

dataset = IndexableDataset({"n": numpy.arange(30)})

stream = DataStream(dataset, iteration_scheme=SequentialExampleScheme(30))

settings = dict(workers=2, kind="process", start_method=METHOD)

found = list(Parallel(Mapping(stream, Step(2), elementwise=True), **settings))

checks = [
    [item[0].x for item in found] == [(number + 100) * 2 for number in range(30)],
    all((item[0].y == number).all() for number, item in enumerate(found)),
    all(type(item[0]) is Point and item[1] is Color.RED for item in found),
    all(type(item[2]) is Text and item[2] == "text" for item in found),
    os.getpid() not in {item[3] for item in found}, len({item[3] for item in found}) <= 2,
]

print(checks)

"""


def _script(method: str | None) -> str:
    return SCRIPT.replace("METHOD", repr(method))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", ["file", "stdin", "interactive", "cell", "bare", "module", "set"])
def test_a_program_without_a_guard_runs_and_is_not_imported_by_its_workers(
    way: str, method: str | None, tmp_path: Path
) -> None:
    code = _script(method)
    path = tmp_path / "program.py"
    path.write_text(code)
    arguments = {
        "file": [str(path)],
        "stdin": ["-"],
        "interactive": ["-i", "-q"],
        # As notebooks do, whose cells are no files; and where not even a name is given.
        "cell": ["-c", "import sys; exec(sys.stdin.read(), {'__name__': '__main__'})"],
        "bare": ["-c", "import sys; exec(sys.stdin.read(), {})"],
        "module": ["-m", "program"],
        "set": [str(path)],
    }[way]
    if way == "set":
        path.write_text(
            "import multiprocessing\nmultiprocessing.set_start_method('spawn')\n" + code
        )
    with Program(arguments, tmp_path, PYTHONSTARTUP="") as program:
        given = code if way in ("stdin", "interactive", "cell", "bare") else ""
        printed, _ = program.process.communicate(given.encode(), timeout=90)
        complaints = program.complaints()
        if way == "interactive":
            assert "Error" not in complaints, complaints
        else:
            assert not complaints
        assert program.process.returncode == 0
        assert printed.decode().split("\n", 1) == ["top", "[True, True, True, True, True, True]\n"]
        assert program.nothing_is_left()


# -- killed -------------------------------------------------------------------------------------

LIVING = """
def step(data):
    return (int(data[0]), os.getpid())

def slow(data):
    os.write(1, b"working\\n")
    time.sleep(60)

def locks(data):
    import ctypes
    os.write(1, b"working\\n")
    ctypes.PyDLL(None).sleep(60)  # with the interpreter's lock
"""

KILLED = {
    "before": "p = parallel(step)\nit = iter(p)\nprint('now', flush=True)\nsys.stdin.read()",
    "booting": "p = parallel(step)\nit = iter(p)\nprint('now', flush=True)\nnext(it)\n"
    "print('later', flush=True)\nsys.stdin.read()",
    "midway": "it = iter(parallel(step, 10**6))\nfor _ in range(50): next(it)\n"
    "print('now', flush=True)\nfor _ in it: pass",
    "idle": "list(parallel(step))\nprint('now', flush=True)\nsys.stdin.read()",
    "busy": "next(iter(parallel(slow)))",
    "locked": "next(iter(parallel(locks)))",
}


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("moment", list(KILLED))
def test_a_program_that_is_killed_leaves_no_process(
    moment: str, method: str, tmp_path: Path
) -> None:
    code = LIVING + KILLED[moment].replace(
        "parallel(", f"parallel(start_method={method!r}, function="
    )
    code = code.replace("function=step, 10**6", "function=step, rows=10**6")
    memory = _shared_memory()
    for _ in range(3 if moment == "booting" else 1):
        with Program.of(code, tmp_path) as program:
            assert program.line() in ("now", "working")
            program.process.kill()
            assert program.nothing_is_left(), program.others()
            assert not program.complaints()
    assert _shared_memory() <= memory


def _shared_memory() -> set[str]:
    return {entry.name for entry in Path("/dev/shm").iterdir() if entry.name.startswith("fuel")}


@pytest.mark.parametrize("method", METHODS[1:])
def test_neither_does_one_whose_pipes_a_forked_process_holds(method: str, tmp_path: Path) -> None:
    code = f"""{LIVING}
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
it = iter(parallel(step, 10**6, start_method={method!r}))
next(it)
pid = os.fork()
if not pid:
    signal.pause()
print(pid, flush=True)
for _ in it: pass
"""
    with Program.of(code, tmp_path) as program:
        child = int(program.line())
        program.process.kill()
        assert program.nothing_is_left(but={child}), program.others()
        assert program.others() == [child]


@pytest.mark.parametrize("to_all", [True, False])
@pytest.mark.parametrize(
    ("kind", "method"), [("thread", "spawn"), *(("process", method) for method in METHODS[1:])]
)
def test_ctrl_c_ends_a_program_that_waits_with_one_traceback(
    kind: str, method: str, to_all: bool, tmp_path: Path
) -> None:
    code = LIVING + f"for _ in parallel(slow, start_method={method!r}, kind={kind!r}): pass"
    with Program.of(code, tmp_path) as program:
        assert program.line() == "working"
        if to_all:
            os.killpg(program.process.pid, signal.SIGINT)
        else:
            program.process.send_signal(signal.SIGINT)
        program.process.communicate(timeout=10)
        complaints = program.complaints()
        assert program.process.returncode == -signal.SIGINT
        assert complaints.count("Traceback") == complaints.count("KeyboardInterrupt") == 1
        assert "Exception ignored" not in complaints
        assert program.nothing_is_left(1.0)


def test_a_session_goes_on_after_ctrl_c_wherever_it_came(tmp_path: Path) -> None:
    code = """
import threading
def step(data):
    return (int(data[0]), numpy.full(3000, int(data[0])), "x" * 50_000)

main = threading.main_thread().ident
done = threading.Event()
gate = threading.Event()

def interrupts():
    generator = numpy.random.default_rng(1)
    while not done.is_set():
        if gate.wait(0.1):
            done.wait(float(generator.random()) * 0.01)
            if gate.is_set():
                gate.clear()
                signal.pthread_kill(main, signal.SIGINT)

for kind in ("process", "thread"):
    total = 0
    while total < 25:
        thread = threading.Thread(target=interrupts)
        done.clear()
        thread.start()
        iterator = iter(parallel(step, 400, kind=kind, shared_memory_bytes=0))
        found, interrupted, following = [], 0, 0
        while True:
            try:
                if len(found) >= following:  # not before something has been achieved
                    following = len(found) + 10
                    gate.set()
                item = next(iterator)
                found.append(item[0])
                assert (item[1] == item[0]).all()
            except KeyboardInterrupt:
                interrupted += 1
            except StopIteration:
                break
        try:
            done.set()
            gate.clear()
            thread.join()
        except KeyboardInterrupt:
            thread.join()
        # The one at hand when the signal came may be lost, as with any iterator; no other is.
        lost = 400 - len(set(found))
        assert found == sorted(set(found)), found
        assert lost <= interrupted, (interrupted, lost)
        total += interrupted
    assert [item[0] for item in parallel(step, 50, kind=kind)] == list(range(50))
print("done")
"""
    with Program.of(code, tmp_path) as program:
        # What Python says of interrupts in the midst of collecting garbage is its own.
        printed, _ = program.process.communicate(timeout=100)
        assert printed.decode().strip() == "done", program.complaints()
        assert program.nothing_is_left()


# -- ended in other ways ------------------------------------------------------------------------

ENDS = {
    "break": "for item in parallel(step): break",
    "break and go on": "p = parallel(step)\nfor item in p: break\nassert len(list(p)) == 40",
    "live iterators": "p, q = parallel(step), parallel(step)\ni, j = iter(p), iter(q)\n"
    "next(i), next(j), next(i)",
    "del": "p = parallel(step)\ni = iter(p)\nnext(i)\ndel i\ndel p",
    "cycle": "import gc\np = parallel(step)\np.me = p\np.it = iter(p)\nnext(p.it)\n"
    "del p\ngc.collect()",
    "held by a module": "import fuel\nfuel.kept = iter(parallel(step))\nnext(fuel.kept)",
    "never begun": "i = iter(parallel(step))",
    "sys.exit": "i = iter(parallel(step))\nnext(i)\nsys.exit(0)",
    "busy": "i = iter(parallel(sleeps, 40, prefetch=8))\nnext(i)",
    "closed": "with parallel(step) as p:\n    i = iter(p)\n    next(i)",
    "arrays alive": "kept = [item[2] for item in parallel(step)]",
    "in a thread": "import threading\ndef run():\n    i = iter(parallel(step))\n    next(i)\n"
    "    kept.append(i)\nkept = []\nt = threading.Thread(target=run)\nt.start()\nt.join()",
    "close_workers": "import fuel\ni = iter(parallel(step))\nnext(i)\nfuel.close_workers()\n"
    "next(i)",
}


@pytest.mark.parametrize(
    ("how", "method"),
    [
        (how, method)
        for how in ENDS
        for method in (None, "spawn", "fork")
        # A program with threads is not forked.
        if (how, method) != ("in a thread", "fork")
    ],
)
def test_a_program_that_ends_leaves_nothing_and_says_nothing(
    how: str, method: str | None, tmp_path: Path
) -> None:
    code = f"""
def step(data):
    return (int(data[0]), os.getpid(), numpy.full(5000, int(data[0])))

def sleeps(data):
    if int(data[0]):
        time.sleep(60)
    return data

_parallel = parallel
def parallel(*given, **settings):
    return _parallel(*given, start_method={method!r}, **settings)

{ENDS[how]}
"""
    with Program.of(code, tmp_path) as program:
        program.result()
        assert program.nothing_is_left(0.5)


def test_an_exception_in_the_loop_is_all_that_is_seen(tmp_path: Path) -> None:
    code = LIVING + "for item in parallel(step):\n    raise LookupError('mine')"
    with Program.of(code, tmp_path) as program:
        program.process.communicate(timeout=60)
        complaints = program.complaints()
        assert program.process.returncode == 1
        assert complaints.count("Traceback") == 1 and complaints.endswith("LookupError: mine\n")
        assert program.nothing_is_left(0.5)


def test_many_busy_workers_are_waited_for_together(tmp_path: Path) -> None:
    code = f"""
{LIVING}
p = parallel(slow, workers=6, prefetch=12)
import threading
threading.Timer(0.0, lambda: None).start()
i = iter(p)
try:
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    signal.setitimer(signal.ITIMER_REAL, 3.0)
    next(i)
except TimeoutError:
    pass
began = time.monotonic()
import fuel
fuel.close_workers()
print(round(time.monotonic() - began, 1), flush=True)
"""
    with Program.of(code, tmp_path) as program:
        lines = program.result().split()
        assert lines.count("working") == 6
        assert float(lines[-1]) < 3.0


def test_two_programs_do_not_share_workers_or_servers(tmp_path: Path) -> None:
    code = (
        LIVING + "print(sorted({item[1] for item in parallel(step)}), flush=True)\nsys.stdin.read()"
    )
    with Program.of(code, tmp_path) as one, Program.of(code, tmp_path) as other:
        pids = [set(json.loads(program.line())) for program in (one, other)]
        assert not pids[0] & pids[1]
        one.process.kill()
        assert one.nothing_is_left()
        assert pids[1] <= set(other.others())
