"""Laws of the local cache when several processes use it, and some are killed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fuel.config_parser import config
from fuel.utils import cache
from fuel.utils.cache import cache_file

CONTENT = bytes(range(256)) * 100

#: Copies a file, but stops in the middle until a line comes in.
SLOW = """
import sys
from fuel.utils import cache
def copyfileobj(original, copy, size):
    copy.write(original.read(1000))
    copy.flush()
    print("copying", flush=True)
    assert sys.stdin.readline() == "go on\\n"
    copy.write(original.read())
cache.shutil.copyfileobj = copyfileobj
print(cache.cache_file(sys.argv[1]))
"""

#: Must not copy, but get what another process copies.
WAITING = """
import sys
from fuel.utils import cache
cache._copy = None
print("asking", flush=True)
print(cache.cache_file(sys.argv[1]))
"""

READING = """
import sys
from fuel.utils import cache
print(cache.cache_file(sys.argv[1]), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def remote(tmp_path):
    path = tmp_path / "remote" / "data.hdf5"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def local(tmp_path):
    path = tmp_path / "cache"
    with config.override(local_data_path=str(path)):
        yield path


@pytest.fixture
def child(checkout, remote, local):
    """A function that starts one of the programs and returns it after its first line."""
    started = []

    def start(code, first_line):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(remote)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ, PYTHONPATH=str(checkout), FUEL_LOCAL_DATA_PATH=str(local)),
        )
        started.append(process)
        assert process.stdout.readline().strip() == first_line
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def kill(process):
    process.kill()
    process.communicate()


def names(local):
    return sorted(path.name for path in local.iterdir() if ".readlock." not in path.name)


def test_one_process_copies_and_the_others_wait(child, remote, local):
    first = child(SLOW, "copying")
    others = [child(WAITING, "asking") for _ in range(2)]
    assert not (local / "data.hdf5").exists()
    assert first.communicate("go on\n", timeout=60)[0].strip() == str(local / "data.hdf5")
    for process in others:
        assert process.communicate(timeout=60)[0].strip() == str(local / "data.hdf5")
        assert process.returncode == 0
    assert (local / "data.hdf5").read_bytes() == CONTENT
    assert names(local) == [".data.hdf5.origin", ".data.hdf5.writelock.lock", "data.hdf5"]


def test_what_a_killed_process_began_is_finished_by_the_next(child, remote, local):
    kill(child(SLOW, "copying"))
    assert (local / "data.hdf5.part").exists() and (local / "data.hdf5.writelock").exists()
    assert cache_file(str(remote)) == str(local / "data.hdf5")
    assert (local / "data.hdf5").read_bytes() == CONTENT
    assert names(local) == [".data.hdf5.origin", ".data.hdf5.writelock.lock", "data.hdf5"]


def test_a_process_that_stands_still_is_not_waited_for(child, remote, local, monkeypatch, caplog):
    monkeypatch.setattr(cache, "_STALL_S", 0.1)
    process = child(SLOW, "copying")
    assert cache_file(str(remote)) == str(remote)
    assert "makes no progress" in caplog.text
    # It was not disturbed, and the copy that it makes then is used.
    process.communicate("go on\n", timeout=60)
    assert cache_file(str(remote)) == str(local / "data.hdf5")


def test_marks_of_readers_end_with_them(child, remote, local):
    copy = cache_file(str(remote))
    done, killed, living = (child(READING, copy) for _ in range(3))
    done.communicate("go on\n", timeout=60)
    kill(killed)
    probe = child(READING, copy)
    marked = {int(path.name.split(".")[3]) for path in local.glob("data.hdf5.readlock.*")}
    assert marked == {os.getpid(), living.pid, probe.pid}
