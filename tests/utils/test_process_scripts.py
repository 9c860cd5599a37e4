"""Child processes of whole programs: where they start from, and that none is left behind.

A child inherits its parent's standard output. Reading that to its end therefore waits for all of
them: a process that stays behind is a timeout here.
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

#: Without a guard: a child that imported this would start children of its own.
PROGRAM = """
from fuel.utils._process import ChildProcess

class Doubler:
    def __call__(self, x):
        return factor * x

factor = 2

def work(channel, function):
    while True:
        channel.send(function(channel.recv()))

child = ChildProcess(work, (Doubler(),))
child.send(21)
print("answer", child.recv(60), flush=True)
"""

needs_signals = pytest.mark.skipif(os.name == "nt", reason="these are signals of POSIX systems")


def environment():
    root = str(Path(fuel.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": root, "FUEL_KERNELS": "reference"}


def run(*arguments, **options):
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env=environment(),
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done


def started(tmp_path, program, **options):
    """Start a program and wait until its child has answered."""
    (tmp_path / "program.py").write_text(PROGRAM + program)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        **options,
    )
    assert process.stdout.readline() == "answer 42\n"
    return process


def test_a_script_needs_no_guard(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("program.py", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("answer 42\n", "")


def test_a_program_typed_at_the_prompt_works():
    # `python -i -` reads line by line, as at the prompt; classes and functions end by empty lines.
    typed = PROGRAM.replace("\nclass", "\n\nclass").replace("\n\nfactor", "\n\n\nfactor")
    done = run("-i", "-q", "-", input=typed.replace("\nchild =", "\n\nchild =") + "\n")
    assert "answer 42" in done.stdout


def test_a_program_without_a_file_works_as_in_a_notebook(tmp_path):
    # A notebook's main module has a name, no file, and no specification.
    runner = f"""
import sys, types
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
exec(compile({PROGRAM!r}, "<cell 1>", "exec"), main.__dict__)
"""
    assert run("-c", runner).stdout == "answer 42\n"


def test_a_sibling_module_of_the_script_is_found(tmp_path):
    (tmp_path / "sibling.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "program.py").write_text(
        PROGRAM.replace("Doubler()", "double").replace(
            "\nfrom", "\nfrom sibling import double\nfrom", 1
        )
    )
    assert run(str(tmp_path / "program.py")).stdout == "answer 42\n"


@pytest.mark.parametrize("ending", ["raise SystemExit(0)", "del child"])
def test_a_program_that_ends_takes_its_child_with_it(tmp_path, ending):
    process = started(tmp_path, ending)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (out, err, process.returncode) == ("", "", 0)


@needs_signals
def test_a_program_that_is_killed_takes_its_child_with_it(tmp_path):
    process = started(tmp_path, "import threading; threading.Event().wait()")
    process.kill()
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == -signal.SIGKILL


@needs_signals
def test_a_busy_child_of_a_killed_program_ends_even_if_a_fork_of_the_program_lives(tmp_path):
    # The fork holds the ends of all pipes; only the id of the parent tells that it is gone.
    program = """
import os, sys, threading
def spin(channel):
    channel.send("spinning")
    while True:
        pass
second = ChildProcess(spin)
second.recv(60)
if os.fork() == 0:
    os.close(1)
    os.close(2)
    sys.stdin.read()
    os._exit(0)
print("forked", flush=True)
threading.Event().wait()
"""
    process = started(tmp_path, program, stdin=subprocess.PIPE)
    assert process.stdout.readline() == "forked\n"
    process.kill()
    assert process.stdout.read() == ""  # the children are gone, the fork is not
    process.communicate(timeout=TIMEOUT)


@needs_signals
def test_ctrl_c_interrupts_the_program_and_ends_its_child_quietly(tmp_path):
    process = started(tmp_path, "child.recv()", start_new_session=True)
    os.killpg(process.pid, signal.SIGINT)  # the terminal sends it to the whole group
    out, err = process.communicate(timeout=TIMEOUT)
    assert out == ""
    assert err.count("Traceback") == 1  # the program's own
    assert err.rstrip().endswith("KeyboardInterrupt")


@needs_signals
def test_ctrl_c_while_the_child_starts_does_not_reach_it(tmp_path):
    program = """
import os, signal
signal.signal(signal.SIGINT, lambda *args: None)
third = ChildProcess(work, (Doubler(),))
os.killpg(0, signal.SIGINT)
third.send(4)
print("late", third.recv(60), flush=True)
"""
    process = started(tmp_path, program, start_new_session=True)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (out, err, process.returncode) == ("late 8\n", "", 0)
