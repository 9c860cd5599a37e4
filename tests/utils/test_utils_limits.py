"""What a process may use, told from the files of a control group (made up here)."""

from __future__ import annotations

import os

import pytest

from fuel.utils._limits import memory_in_use, memory_left, memory_limit, oom_kills, usable_cpus

GB = 2**30


@pytest.fixture
def machine(tmp_path):
    """Return a function that writes the files of a machine with 16 GB, 10 of them free."""

    def make(files):
        known = {"proc/meminfo": f"MemTotal: {16 * 2**20} kB\nMemAvailable: {10 * 2**20} kB\n"}
        for name, content in {**known, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path

    return make


def unified(**files):
    listed = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    return {"sys/fs/cgroup/cgroup.controllers": "cpu memory", **listed}


def test_there_is_at_least_one_processor_and_no_more_than_the_affinity_allows():
    assert 1 <= usable_cpus() <= (os.cpu_count() or 1)


def test_without_control_groups_the_machine_is_the_limit(machine):
    root = machine({})
    assert memory_limit(root) == 16 * GB
    assert memory_in_use(root) == 6 * GB
    assert memory_left(root) == 10 * GB
    assert oom_kills(root) is None


def test_where_nothing_is_known_nothing_is_claimed(tmp_path):
    assert memory_in_use(tmp_path) is None
    assert memory_left(tmp_path) is None
    assert usable_cpus(tmp_path) >= 1


@pytest.mark.parametrize(
    ("quota", "most"), [("50000 100000", 1), ("100001 100000", 2), ("max 100000", 10**6)]
)
def test_a_quota_counts_as_whole_processors_rounded_up(machine, monkeypatch, quota, most):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    root = machine(
        {"proc/self/cgroup": "0::/job\n", **unified(**{"job/cpu.max": quota, "cpu.max": "max 1"})}
    )
    assert usable_cpus(root) == min(64, most)


def test_a_quota_of_version_1_counts_too_and_minus_one_is_none(machine, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    folder = "sys/fs/cgroup/cpu,cpuacct/job"
    files = {
        "proc/self/cgroup": "3:cpu,cpuacct:/job\n0::/\n",
        f"{folder}/cpu.cfs_quota_us": "250000",
        f"{folder}/cpu.cfs_period_us": "100000",
    }
    assert usable_cpus(machine(files)) == 3
    assert usable_cpus(machine({f"{folder}/cpu.cfs_quota_us": "-1"})) == 64


def test_the_tightest_group_on_the_way_up_decides(machine):
    root = machine(
        {
            "proc/self/cgroup": "0::/slice/job\n",
            **unified(
                **{
                    "slice/job/memory.max": "max",
                    "slice/job/memory.current": str(GB),
                    "slice/job/memory.events": "low 0\noom 3\noom_kill 2\n",
                    "slice/memory.max": str(4 * GB),
                    "slice/memory.current": str(3 * GB),
                    "slice/memory.stat": f"anon 5\ninactive_file {GB // 2}\nactive_file {GB // 2}",
                }
            ),
        }
    )
    assert memory_limit(root) == 4 * GB
    assert memory_in_use(root) == 2 * GB  # cached files can be had back
    assert memory_left(root) == 2 * GB
    assert oom_kills(root) == 2


def test_version_1_is_read_where_it_has_the_controller(machine):
    folder = "sys/fs/cgroup/memory/job"
    root = machine(
        {
            "proc/self/cgroup": "4:memory:/job\n0::/other\n",
            f"{folder}/memory.limit_in_bytes": str(2 * GB),
            f"{folder}/memory.usage_in_bytes": str(GB),
            f"{folder}/memory.stat": f"inactive_file 5\ntotal_inactive_file {GB // 4}\n",
            f"{folder}/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": str(9 * GB),
        }
    )
    assert memory_limit(root) == 2 * GB
    assert memory_in_use(root) == 3 * GB // 4
    assert oom_kills(root) == 7


def test_a_path_that_only_the_host_sees_means_the_group_at_the_mount(machine):
    root = machine(
        {"proc/self/cgroup": "0::/docker/abc\n", **unified(**{"memory.max": str(3 * GB)})}
    )
    assert memory_limit(root) == 3 * GB
    assert memory_in_use(root) is None
    assert memory_left(root) == 10 * GB  # the machine still says what it has


def test_a_limit_above_what_the_machine_has_is_none(machine):
    files = unified(**{"memory.max": str(64 * GB), "memory.current": str(GB)})
    root = machine({"proc/self/cgroup": "0::/\n", **files})
    assert memory_limit(root) == 16 * GB
    assert memory_in_use(root) == 6 * GB


def test_unreadable_numbers_are_no_limits(machine):
    files = unified(**{"memory.max": "lots", "cpu.max": "some", "memory.events": "oom_kill x"})
    root = machine({"proc/self/cgroup": "0::/\n", **files})
    assert memory_limit(root) == 16 * GB
    assert usable_cpus(root) >= 1
    assert oom_kills(root) is None
