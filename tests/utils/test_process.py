"""A child process: what crosses to it and back, how it ends, and how that is told."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import traceback
import types

import numpy
import pytest

from fuel.config_parser import config
from fuel.exceptions import WorkerError
from fuel.utils._process import ChildProcess

TIMEOUT = 30.0


class AwkwardError(Exception):
    """Pickles, and fails to unpickle: its ``__init__`` does not take its ``args``."""

    def __init__(self, place: str, number: int) -> None:
        super().__init__(f"{place} has {number}")
        self.place = place


def echo(channel):
    while True:
        channel.send(channel.recv())


def answer(channel, function, *args):
    channel.send(function(*args))


def call(function, *args):
    """Return what a function returns in a child."""
    child = ChildProcess(answer, (function, *args))
    try:
        return child.recv(TIMEOUT)
    finally:
        child.close()


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_objects_cross_in_both_directions():
    child = ChildProcess(echo)
    for value in [None, 7, "text", {"a": (1, 2)}, b"x" * 1_000_000]:
        child.send(value)
        assert child.recv(TIMEOUT) == value
    array = numpy.arange(12.0).reshape(3, 4)
    child.send(array)
    copy = child.recv(TIMEOUT)
    numpy.testing.assert_array_equal(copy, array)
    assert copy.flags.writeable
    child.close()


def test_lambdas_and_closures_cross_with_their_variables():
    number = 5
    assert call(lambda: (lambda x: x * number)(8)) == 40
    returned = call(lambda: lambda x: x + number)
    assert returned(1) == 6


def test_a_module_that_the_child_cannot_import_travels_by_value():
    module = types.ModuleType("fuel_test_unimportable")
    exec("class Thing:\n    value = 3\n\ndef get():\n    return Thing().value", module.__dict__)
    sys.modules[module.__name__] = module
    try:
        assert call(module.get) == 3
        assert type(call(module.Thing)) is module.Thing  # and back: not a copy of the class
    finally:
        del sys.modules[module.__name__]


def test_the_child_is_in_our_surroundings_but_not_in_our_main_module(monkeypatch, tmp_path):
    (tmp_path / "fuel_test_sibling.py").write_text("VALUE = 11\n")
    for name in ("pickle", "signal", "multiprocessing", "random"):
        # The current directory must not hide the standard library while the child starts.
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "argv", ["program", "--option"])

    def look():
        import fuel_test_sibling

        main = sys.modules["__main__"]
        assert (main.__name__, hasattr(main, "__file__")) == ("__main__", False)
        return fuel_test_sibling.VALUE, os.getcwd(), sys.argv, sys.stdin.read()

    assert call(look) == (11, os.getcwd(), ["program", "--option"], "")


def test_assigned_settings_and_the_global_generators_are_copied_as_a_fork_would():
    numpy.random.seed(3)
    random.seed(3)
    with config.override(default_seed=77):
        drawn = call(lambda: (config.default_seed, numpy.random.random(), random.random()))
    assert drawn == (77, numpy.random.random(), random.random())


def test_an_exception_arrives_with_its_type_and_the_traceback_of_the_child():
    def inner():
        raise KeyError("the key")

    with pytest.raises(KeyError, match="the key") as caught:
        call(lambda: inner())
    text = "".join(traceback.format_exception(caught.value))
    assert "in inner" in text
    assert 'raise KeyError("the key")' in text
    assert "test_process.py" in text
    assert "worker process" in text


def test_an_exception_of_our_own_class_is_that_class():
    with pytest.raises(AwkwardError, match="shelf has 3") as caught:
        call(lambda: (_ for _ in ()).throw(AwkwardError("shelf", 3)))
    assert caught.value.place == "shelf"


def test_an_exception_that_cannot_be_pickled_arrives_as_text():
    def fail():
        raise ValueError("held a lock", threading.Lock())

    with pytest.raises(WorkerError, match="ValueError") as caught:
        call(fail)
    assert "held a lock" in str(caught.value.__cause__)


def test_an_exception_that_cannot_even_be_printed_arrives():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError

        __repr__ = __str__

    def fail():
        raise Silent(threading.Lock())

    with pytest.raises(WorkerError, match="Silent"):
        call(fail)


def test_calling_sys_exit_in_the_child_is_told():
    with pytest.raises(SystemExit) as caught:
        call(lambda: sys.exit(4))
    assert caught.value.code == 4


def test_after_a_failure_the_child_says_so_again():
    child = ChildProcess(answer, (lambda: 1 / 0,))
    with pytest.raises(ZeroDivisionError):
        child.recv(TIMEOUT)
    child.send("ignored")
    with pytest.raises(WorkerError, match="raised before"):
        child.recv(TIMEOUT)
    child.close()


def test_a_function_that_returned_is_the_end():
    child = ChildProcess(answer, (lambda: 9,))
    assert child.recv(TIMEOUT) == 9
    for _ in range(2):
        with pytest.raises(EOFError):
            child.recv(TIMEOUT)
    assert child.join(TIMEOUT)
    assert child.exitcode == 0
    child.close()


def test_what_cannot_be_pickled_is_refused_before_a_process_starts():
    with pytest.raises(TypeError, match="__getstate__"):
        ChildProcess(answer, (threading.Lock(),))
    child = ChildProcess(echo)
    with pytest.raises(TypeError, match="pickled"):
        child.send(threading.Lock())
    child.send(1)  # and the channel is still in order
    assert child.recv(TIMEOUT) == 1
    child.close()


def test_an_exit_status_is_named():
    child = ChildProcess(lambda channel: os._exit(13), name="tester")
    with pytest.raises(WorkerError, match=rf"{child.pid} \(tester\) exited with code 13"):
        child.recv(TIMEOUT)
    child.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to end a process with")
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGTERM"])
def test_a_signal_is_named(name, capfd):
    number = getattr(signal, name)
    child = ChildProcess(lambda channel: os.kill(os.getpid(), number))
    with pytest.raises(WorkerError, match=rf"ended by signal {int(number)} \({name}\)"):
        child.recv(TIMEOUT)
    child.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to end a process with")
def test_a_child_killed_from_outside_is_noticed_while_waiting():
    child = ChildProcess(echo)
    child.send(0)
    assert child.recv(TIMEOUT) == 0
    killer = threading.Timer(0.05, os.kill, (child.pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(WorkerError, match="SIGKILL"):
        child.recv(TIMEOUT)
    killer.join()
    child.close()


def test_what_was_sent_before_the_death_is_received_first():
    def work(channel):
        for number in range(5):
            channel.send(number)
        os._exit(1)

    child = ChildProcess(work)
    assert [child.recv(TIMEOUT) for _ in range(5)] == list(range(5))
    with pytest.raises(WorkerError):
        child.recv(TIMEOUT)
    child.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_child_that_is_held_open_by_its_own_child_is_still_found_dead():
    def report(channel):
        pid = os.fork()
        if pid == 0:
            threading.Event().wait(TIMEOUT)
            os._exit(0)
        channel.send(pid)
        channel.recv()
        os._exit(5)

    child = ChildProcess(report)
    grandchild = child.recv(TIMEOUT)
    try:
        child.send("go")
        with pytest.raises(WorkerError, match="code 5"):
            child.recv(TIMEOUT)
    finally:
        os.kill(grandchild, signal.SIGKILL)
    child.close()


def test_waiting_can_be_bounded():
    child = ChildProcess(echo)
    with pytest.raises(TimeoutError):
        child.recv(0.01)
    assert not child.poll(0.0)
    child.send("x")
    assert child.poll(TIMEOUT)
    assert child.recv(TIMEOUT) == "x"
    child.close()


def test_close_ends_the_process_twice_over():
    child = ChildProcess(echo)
    child.send(1)
    child.recv(TIMEOUT)
    child.close()
    child.close()
    assert child.closed
    assert not child.alive
    assert is_gone(child.pid)
    with pytest.raises(WorkerError, match="was closed"):
        child.recv()


def test_close_ends_a_process_that_does_not_listen():
    def deaf(channel):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        channel.send("deaf")
        threading.Event().wait()

    child = ChildProcess(deaf)
    assert child.recv(TIMEOUT) == "deaf"
    child.close()
    assert is_gone(child.pid)


def test_garbage_collection_ends_the_process():
    child = ChildProcess(echo)
    child.send(1)
    child.recv(TIMEOUT)
    pid = child.pid
    del child
    gc.collect()
    assert is_gone(pid)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_cannot_use_the_child_and_does_not_end_it():
    child = ChildProcess(echo)
    child.send(1)
    assert child.recv(TIMEOUT) == 1
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child.recv(1)
        except WorkerError as error:
            os.write(write, str(error).encode())
        child.close()
        os._exit(0)
    os.close(write)
    assert os.waitpid(pid, 0)[1] == 0
    assert b"belongs to process" in os.read(read, 1000)
    os.close(read)
    child.send(2)
    assert child.recv(TIMEOUT) == 2
    child.close()


def test_what_the_child_prints_is_seen(capfd):
    call(lambda: print("printed over there"))
    assert "printed over there" in capfd.readouterr().out
