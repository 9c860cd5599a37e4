"""Laws of the local cache, in one process; several are in `test_utils_cache_processes.py`."""

from __future__ import annotations

import json
import logging
import os
import stat
import sys

import pytest

from fuel.config_parser import config
from fuel.utils import cache, disk, lock
from fuel.utils.cache import cache_file, copy_from_server_to_local

CONTENT = bytes(range(256)) * 20


@pytest.fixture
def remote(tmp_path):
    path = tmp_path / "remote" / "data.hdf5"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def local(tmp_path):
    path = tmp_path / "local" / "cache"
    with config.override(local_data_path=str(path)):
        yield path


def files(local):
    """Everything in the cache but marks of readers and the file below a lock."""
    return sorted(
        str(path.relative_to(local))
        for path in local.rglob("*")
        if ".readlock." not in path.name and not path.name.endswith(".writelock.lock")
    )


def test_without_a_cache_the_path_comes_back(remote):
    with config.override(local_data_path=""):
        assert cache_file(str(remote)) == str(remote)


def test_what_is_not_a_file_comes_back(remote, local):
    for path in (str(remote.parent), str(remote) + ".missing", ""):
        assert cache_file(path) == path
    assert not local.exists()


def test_the_copy_has_the_name_of_the_original_and_its_content(remote, local):
    copy = cache_file(str(remote))
    assert copy == str(local / "data.hdf5")
    assert (local / "data.hdf5").read_bytes() == CONTENT
    assert files(local) == [".data.hdf5.origin", "data.hdf5"]


def test_a_copy_is_made_once(remote, local, monkeypatch):
    copy = cache_file(str(remote))
    monkeypatch.setattr(cache, "_copy", None)
    assert cache_file(str(remote)) == copy == cache_file(copy)


def test_home_and_variables_are_filled_in(remote, local, monkeypatch):
    monkeypatch.setenv("TESTED_CACHE", str(local))
    with config.override(local_data_path=os.path.join("$TESTED_CACHE", "deeper")):
        assert cache_file(str(remote)) == str(local / "deeper" / "data.hdf5")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps no permission bits")
def test_the_copy_keeps_permissions_group_and_time(remote, local):
    os.chmod(remote, 0o640)
    os.utime(remote, ns=(10**18, 10**18))
    if os.geteuid() == 0:
        os.chown(remote, -1, 12)
    copy = os.stat(cache_file(str(remote)))
    assert stat.S_IMODE(copy.st_mode) == 0o640
    assert copy.st_gid == os.stat(remote).st_gid
    assert copy.st_mtime_ns == 10**18


def test_files_of_one_name_do_not_stand_for_each_other(remote, local, tmp_path):
    other = tmp_path / "other" / "data.hdf5"
    other.parent.mkdir()
    other.write_bytes(CONTENT[::-1])
    # The same size and time, as files that were synchronised from elsewhere have.
    status = os.stat(remote)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    for _ in range(2):
        first, second = cache_file(str(remote)), cache_file(str(other))
        assert first == str(local / "data.hdf5")
        assert os.path.basename(second) == "data.hdf5"
        assert os.path.dirname(os.path.dirname(second)) == str(local)
        with open(first, "rb") as file:
            assert file.read() == CONTENT
        with open(second, "rb") as file:
            assert file.read() == CONTENT[::-1]


def test_a_changed_original_is_copied_again(remote, local):
    copy = cache_file(str(remote))
    remote.write_bytes(b"longer than before" * 1000)
    assert cache_file(str(remote)) == copy
    assert (local / "data.hdf5").read_bytes() == remote.read_bytes()
    same_size = remote.read_bytes()[::-1]
    remote.write_bytes(same_size)
    os.utime(remote, ns=(10**18, 10**18))  # even to an older file
    assert cache_file(str(remote)) == copy
    assert (local / "data.hdf5").read_bytes() == same_size


def test_a_damaged_copy_is_made_again(remote, local):
    copy = cache_file(str(remote))
    for damage in (CONTENT[:100], CONTENT[::-1]):
        (local / "data.hdf5").write_bytes(damage)
        os.utime(copy, ns=(2 * 10**18, 2 * 10**18))
        assert cache_file(str(remote)) == copy
        assert (local / "data.hdf5").read_bytes() == CONTENT


@pytest.mark.parametrize("record", ["", "[]", "{", '{"origin": 3}', "\0"])
def test_a_damaged_record_is_not_believed(remote, local, record):
    copy = cache_file(str(remote))
    (local / ".data.hdf5.origin").write_text(record)
    with open(cache_file(str(remote)), "rb") as file:
        assert file.read() == CONTENT
    assert os.path.exists(copy)


@pytest.mark.parametrize("size", [0, 100, len(CONTENT) - 1])
def test_a_partial_copy_without_a_record_is_repaired(remote, local, size):
    local.mkdir(parents=True)
    (local / "data.hdf5").write_bytes(CONTENT[:size])
    assert cache_file(str(remote)) == str(local / "data.hdf5")
    assert (local / "data.hdf5").read_bytes() == CONTENT


def test_a_full_copy_without_a_record_is_used(remote, local, monkeypatch):
    local.mkdir(parents=True)
    (local / "data.hdf5").write_bytes(CONTENT)
    monkeypatch.setattr(cache, "_copy", None)
    for _ in range(2):
        assert cache_file(str(remote)) == str(local / "data.hdf5")


@pytest.mark.parametrize("content", [CONTENT[::-1], b"short", CONTENT + b"and more"])
def test_a_file_that_is_not_a_copy_is_left_alone(remote, local, content):
    local.mkdir(parents=True)
    (local / "data.hdf5").write_bytes(content)
    copy = cache_file(str(remote))
    assert copy != str(local / "data.hdf5")
    with open(copy, "rb") as file:
        assert file.read() == CONTENT
    assert (local / "data.hdf5").read_bytes() == content


def test_a_directory_of_the_name_is_left_alone(remote, local):
    (local / "data.hdf5").mkdir(parents=True)
    with open(cache_file(str(remote)), "rb") as file:
        assert file.read() == CONTENT


def test_a_cache_that_cannot_be_written_is_not_used(remote, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with config.override(local_data_path=str(tmp_path / "file" / "cache")):
        assert cache_file(str(remote)) == str(remote)
    assert "cannot be cached" in caplog.text


def test_a_full_disk_is_not_filled_further(remote, local, monkeypatch, caplog):
    monkeypatch.setattr(disk, "disk_usage", lambda path: (10**6, 9 * 10**5))
    assert cache_file(str(remote)) == str(remote)
    assert "would fill the disk" in caplog.text
    assert files(local) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_copy_that_fails_leaves_nothing(remote, local, monkeypatch, error):
    def fail(original, copy, size):
        copy.write(b"some")
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(cache.shutil, "copyfileobj", fail)
        if isinstance(error, OSError):
            assert cache_file(str(remote)) == str(remote)
        else:
            with pytest.raises(KeyboardInterrupt):
                cache_file(str(remote))
    assert files(local) == []
    assert cache_file(str(remote)) == str(local / "data.hdf5")


def test_an_original_that_changes_meanwhile_is_not_cached(remote, local, monkeypatch, caplog):
    def change(original, copy, size):
        copy.write(original.read())
        remote.write_bytes(CONTENT * 2)

    monkeypatch.setattr(cache.shutil, "copyfileobj", change)
    assert cache_file(str(remote)) == str(remote)
    assert "changed while it was being copied" in caplog.text
    assert files(local) == []


def test_the_rest_of_an_earlier_attempt_is_removed(remote, local):
    local.mkdir(parents=True)
    (local / "data.hdf5.part").write_bytes(b"rest")
    os.chmod(local / "data.hdf5.part", 0o400)
    cache_file(str(remote))
    assert files(local) == [".data.hdf5.origin", "data.hdf5"]


def test_a_holder_is_waited_for_as_long_as_it_makes_progress(local, monkeypatch):
    local.mkdir(parents=True)
    (local / "0123").mkdir()
    sizes = iter([1, 2, 3, 3])

    def busy(lock_dir, timeout):
        (local / "0123" / "data[1].part").write_bytes(b"x" * next(sizes))
        raise lock.LockTimeoutError

    monkeypatch.setattr(lock, "lock", busy)
    assert not cache._wait_for_lock("unused", str(local), "data[1]")
    assert list(sizes) == []


def test_a_reader_is_marked_once(remote, local):
    copy = cache_file(str(remote))
    cache_file(str(remote))
    marks = [path.name for path in local.glob("data.hdf5.readlock.*")]
    assert len(marks) == 1
    assert marks[0].startswith(f"data.hdf5.readlock.{os.getpid()}.")
    assert os.path.isdir(os.path.join(os.path.dirname(copy), marks[0]))


def test_the_record_says_where_the_copy_comes_from(remote, local):
    cache_file(str(remote))
    record = json.loads((local / ".data.hdf5.origin").read_text())
    assert record["origin"] == os.path.realpath(remote)
    assert record["size"] == len(CONTENT)


def test_copy_from_server_to_local(remote, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    target = tmp_path / "a" / "b"
    copy_from_server_to_local(str(remote.parent), str(target), str(remote), str(target / "copy"))
    assert (target / "copy").read_bytes() == CONTENT
    assert os.listdir(target) == ["copy"]
