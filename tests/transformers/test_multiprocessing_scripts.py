"""MultiProcessing in whole programs: wherever they come from, and however they end.

The process that produces inherits the program's standard output, so reading that to its end waits
for it too: one that stays behind is a timeout here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fuel

TIMEOUT = 60

#: Without the compiled kernels, so that nothing is said about missing ones.
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(fuel.__file__).parent.parent),
    "FUEL_KERNELS": "reference",
}

#: No guard, a lambda, a class and a global variable of the main module.
PROGRAM = """
import numpy
from fuel.datasets import IterableDataset
from fuel.streams import DataStream
from fuel.transformers import Mapping, MultiProcessing, Transformer

class Add(Transformer):
    def transform_example(self, example):
        return tuple(offset + part for part in example)

offset = 100
stream = Add(DataStream(IterableDataset(list(range(6)))), True)
stream = MultiProcessing(Mapping(stream, lambda data: (2 * data[0],)), 2)
iterator = stream.get_epoch_iterator()
print(next(iterator), next(iterator), flush=True)
"""
FIRST = "(200,) (202,)\n"
REST = "print([number for number, in iterator], flush=True)\n"

needs_signals = pytest.mark.skipif(os.name == "nt", reason="these are signals of POSIX systems")


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-W", "error", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        **options,
    )


def finish(process, typed=None):
    out, err = process.communicate(typed, timeout=TIMEOUT)
    return out, err, process.returncode


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_script_without_a_guard_works_under_every_start_method(tmp_path, method):
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        method = "spawn"  # the only one that Windows has
    head = f"import multiprocessing\nmultiprocessing.set_start_method({method!r})\n"
    (tmp_path / "program.py").write_text(head + PROGRAM + REST)
    assert finish(start(str(tmp_path / "program.py"))) == (FIRST + "[204, 206, 208, 210]\n", "", 0)


def test_a_program_from_standard_input_works():
    process = start("-", stdin=subprocess.PIPE)
    assert finish(process, PROGRAM + REST) == (FIRST + "[204, 206, 208, 210]\n", "", 0)


def test_a_notebook_works():
    runner = f"""
import sys, types
sys.modules["__main__"] = main = types.ModuleType("__main__")
for cell in {[PROGRAM, REST]!r}:
    exec(compile(cell, "<cell>", "exec"), main.__dict__)
"""
    assert finish(start("-c", runner)) == (FIRST + "[204, 206, 208, 210]\n", "", 0)


def test_ending_in_the_middle_of_an_epoch_leaves_nothing_behind(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert finish(start(str(tmp_path / "program.py"))) == (FIRST, "", 0)


@needs_signals
def test_killing_the_program_leaves_nothing_behind(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM + "import threading; threading.Event().wait()")
    process = start(str(tmp_path / "program.py"))
    assert process.stdout.readline() == FIRST
    process.kill()
    assert finish(process) == ("", "", -signal.SIGKILL)


@needs_signals
def test_ctrl_c_while_waiting_for_an_item_leaves_nothing_behind(tmp_path):
    program = """
import threading
stream = Mapping(DataStream(IterableDataset([1])), lambda data: threading.Event().wait())
print("waiting", flush=True)
next(iter(MultiProcessing(stream)))
"""
    (tmp_path / "program.py").write_text(PROGRAM + program)
    process = start(str(tmp_path / "program.py"), start_new_session=True)
    assert process.stdout.readline() == FIRST
    assert process.stdout.readline() == "waiting\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err, _ = finish(process)
    assert out == ""
    assert err.count("Traceback") == 1
    assert err.rstrip().endswith("KeyboardInterrupt")
