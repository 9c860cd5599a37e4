"""Laws of locks, with real processes that hold them, end and are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from fuel.exceptions import StorageError
from fuel.utils import lock as lock_module
from fuel.utils.lock import (
    MIN_WAIT,
    TIMEOUT,
    LockTimeoutError,
    Unlocker,
    get_lock,
    get_readlock,
    get_writelock,
    lock,
    refresh_lock,
    release_lock,
    release_readlock,
    release_writelock,
)


@pytest.fixture
def child(checkout):
    """A function that runs a program in a process and waits until it prints ``ready``."""
    started = []

    def start(code, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", "from fuel.utils.lock import *\nimport os, sys\n" + code]
            + [str(argument) for argument in arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ, PYTHONPATH=str(checkout)),
        )
        started.append(process)
        assert process.stdout.readline().strip() == "ready"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


HOLD = "get_lock(sys.argv[1]); print('ready', flush=True); sys.stdin.readline()"


def finish(process):
    process.communicate("go on\n", timeout=60)
    assert process.returncode == 0


def test_the_old_constants_are_there():
    assert (TIMEOUT, MIN_WAIT) == (5, 5)


def test_a_lock_is_a_directory_that_names_its_holder(tmp_path):
    path = tmp_path / "made" / "the_lock"
    lock(str(path))
    content = (path / "lock").read_text()
    assert content.startswith(f"{os.getpid()}_")
    renewed = refresh_lock(str(path / "lock"))
    assert renewed in (path / "lock").read_text() and renewed not in content
    Unlocker(str(path)).unlock()
    assert not path.exists() and path.parent.exists()
    Unlocker(str(path)).unlock()


def test_a_living_holder_keeps_its_lock(tmp_path, child):
    path = tmp_path / "the_lock"
    process = child(HOLD, path)
    with pytest.raises(LockTimeoutError, match=rf"held by {process.pid}_") as caught:
        lock(str(path), timeout=0.2)
    assert isinstance(caught.value, TimeoutError) and isinstance(caught.value, StorageError)
    Unlocker(str(path)).unlock()
    assert (path / "lock").exists()
    with pytest.raises(LockTimeoutError):
        get_lock(str(path), timeout=0)
    finish(process)
    assert not path.exists()
    lock(str(path), timeout=0)
    Unlocker(str(path)).unlock()


def test_waiting_ends_when_the_holder_is_done(tmp_path, child):
    path = str(tmp_path / "the_lock")
    process = child(HOLD, path)
    taken = threading.Event()

    def wait():
        lock(path)
        taken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not taken.is_set()
    finish(process)
    thread.join(60)
    assert taken.is_set()
    Unlocker(path).unlock()


def test_the_lock_of_a_killed_process_is_free(tmp_path, child):
    path = tmp_path / "the_lock"
    process = child(HOLD, path)
    process.kill()
    process.wait()
    assert (path / "lock").exists()
    get_lock(str(path), timeout=5)
    assert (path / "lock").read_text().startswith(f"{os.getpid()}_")
    release_lock()
    assert not path.exists()


def test_what_a_killed_process_left_can_be_removed(tmp_path, child):
    path = tmp_path / "the_lock"
    process = child(HOLD, path)
    process.kill()
    process.wait()
    Unlocker(str(path)).unlock()
    assert not path.exists()


def test_one_process_at_a_time(tmp_path, checkout):
    counter = tmp_path / "counter"
    counter.write_text("0")
    code = (
        "import sys\n"
        "from fuel.utils.lock import *\n"
        "for turn in range(15):\n"
        "    get_writelock(sys.argv[1])\n"
        "    number = int(open(sys.argv[1]).read())\n"
        "    open(sys.argv[1], 'w').write(str(number + 1))\n"
        "    release_writelock()\n"
    )
    environment = dict(os.environ, PYTHONPATH=str(checkout))
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(counter)], env=environment)
        for _ in range(3)
    ]
    assert [process.wait(100) for process in processes] == [0, 0, 0]
    assert counter.read_text() == "45"


def test_one_thread_at_a_time(tmp_path):
    path = str(tmp_path / "the_lock")
    failures = []

    def attempt():
        try:
            get_lock(path, timeout=0.1)
        except LockTimeoutError as error:
            failures.append(error)
        else:
            release_lock()

    get_lock(path)
    for expected in (1, 1):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(60)
        assert len(failures) == expected
        if path in lock_module._held:
            release_lock()


def test_locks_nest(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    get_lock(str(first))
    get_lock(str(second))
    get_lock(str(first))
    release_lock()
    assert first.exists() and second.exists()
    release_lock()
    assert first.exists() and not second.exists()
    release_lock()
    assert not first.exists()
    with pytest.raises(RuntimeError, match="holds no lock"):
        release_lock()


def test_taking_a_lock_twice_does_not_wait_for_itself(tmp_path):
    path = str(tmp_path / "the_lock")
    lock(path)
    with pytest.raises(RuntimeError, match="get_lock"):
        lock(path)
    Unlocker(path).unlock()


def test_the_directory_of_a_write_lock_stands_beside_the_file(tmp_path):
    path = tmp_path / "data.hdf5"
    get_writelock(str(path))
    assert (tmp_path / "data.hdf5.writelock" / "lock").exists()
    release_writelock()
    assert not (tmp_path / "data.hdf5.writelock").exists()


def marks(tmp_path):
    return sorted(path.name for path in tmp_path.glob("data*.readlock.*"))


def test_a_read_mark_names_the_process_and_can_be_removed(tmp_path):
    path = str(tmp_path / "data[1].hdf5")
    name = get_readlock(os.getpid(), path)
    assert os.path.isdir(name)
    assert os.path.basename(name).startswith(f"data[1].hdf5.readlock.{os.getpid()}.")
    release_readlock(name)
    assert marks(tmp_path) == []
    release_readlock(name)


READ = "get_readlock(os.getpid(), sys.argv[1]); print('ready', flush=True); sys.stdin.readline()"


def test_read_marks_end_with_their_process_however_it_ends(tmp_path, child):
    path = str(tmp_path / "data[1].hdf5")
    done, killed, living = (child(READ, path) for _ in range(3))
    assert len(marks(tmp_path)) == 3
    finish(done)
    killed.kill()
    killed.wait()
    assert len(marks(tmp_path)) == 2
    own = get_readlock(os.getpid(), path)
    assert {int(name.split(".")[3]) for name in marks(tmp_path)} == {living.pid, os.getpid()}
    release_readlock(own)


def test_a_file_of_the_caller_keeps_the_directory(tmp_path):
    path = tmp_path / "the_lock"
    lock(str(path))
    (path / "own").write_text("")
    Unlocker(str(path)).unlock()
    assert (path / "own").exists()
    lock(str(path), timeout=0)
    Unlocker(str(path)).unlock()


def test_no_process_has_these_numbers():
    for pid in (0, -5, 2**31 - 1, 10**30):
        assert not lock_module._is_alive(pid)
    assert lock_module._is_alive(os.getpid())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_holds_nothing(tmp_path, fresh_python):
    # In a program of its own, because this one has threads.
    code = (
        "import os, sys\n"
        "from fuel.utils.lock import *\n"
        "path = os.path.abspath('the_lock')\n"
        "mark = get_readlock(os.getpid(), os.path.abspath('data'))\n"
        "get_lock(path)\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        get_lock(path, timeout=0.1)\n"
        "    except TimeoutError:\n"
        "        sys.exit(7)\n"
        "    sys.exit(1)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "print(os.path.isdir(path), os.path.isdir(mark))\n"
        "release_lock()\n"
        "print(os.path.isdir(path))\n"
    )
    assert fresh_python(code).split() == ["7", "True", "True", "False"]
