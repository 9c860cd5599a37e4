"""Importing is cheap, and needs nothing that only POSIX has."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

HEAVY = ["h5py", "tables", "zmq", "scipy", "PIL", "requests", "multiprocessing", "cloudpickle"]


@pytest.mark.parametrize(
    "module", ["fuel", "fuel.config_parser", "fuel.schemes", "fuel.rng", "fuel.exceptions"]
)
def test_importing_loads_nothing_heavy(fresh_python: Callable[..., str], module: str) -> None:
    code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(fresh_python(code))
    assert sorted(set(HEAVY) & set(loaded)) == []


def test_importing_reads_no_configuration_and_writes_nothing(
    fresh_python: Callable[..., str],
) -> None:
    opened = """
import sys
import numpy
seen = []
def hook(event, arguments):
    if event == "open" and not str(arguments[0]).endswith((".py", ".pyc")):
        seen.append(arguments[0])
    if event in ("os.mkdir", "os.rename", "subprocess.Popen", "socket.connect"):
        seen.append((event, arguments))
sys.addaudithook(hook)
import fuel
print([str(name) for name in seen if isinstance(name, tuple) or "fuelrc" in str(name)])
"""
    assert fresh_python(opened).strip() == "[]"


# Third-party packages choose by platform what they import, so they are imported first. Then the
# interpreter loses what Windows does not have, and every module of the package must still import.
WITHOUT_POSIX = """
import importlib, importlib.abc, os, pkgutil, select, signal, socket, sys, time
import cloudpickle, filelock, h5py, hypothesis, multiprocessing.managers, multiprocessing.pool
import multiprocessing.shared_memory, numpy, PIL.Image, platformdirs, pytest, requests, scipy.io
import subprocess, tables, tarfile, tempfile, tqdm, yaml, zmq

ABSENT = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "syslog", "crypt", "nis",
          "spwd", "posix", "readline", "curses", "_posixsubprocess", "_posixshmem"}

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r} (as on Windows)", name=name)

for name in [name for name in sys.modules if name.partition(".")[0] in ABSENT]:
    del sys.modules[name]
sys.meta_path.insert(0, Blocker())
GONE = [
    (os, "fork forkpty getuid geteuid getgid getpgid setsid setpgrp killpg statvfs uname nice "
         "wait chown mkfifo sched_getaffinity register_at_fork getloadavg sysconf openpty pread"),
    (signal, "SIGKILL SIGHUP SIGALRM SIGCHLD SIGUSR1 SIGUSR2 SIGPIPE alarm setitimer "
             "pthread_sigmask pthread_kill sigwait"),
    (select, "poll epoll"),
    (socket, "AF_UNIX socketpair"),
    (time, "tzset"),
]
for module, names in GONE:
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

import fuel
names = ["fuel"]
def fail(name):
    raise
names += [found.name for found in pkgutil.walk_packages(fuel.__path__, "fuel.", onerror=fail)]
for name in names:
    importlib.import_module(name)
    sys.stdout.write(name + "\\n")
"""


def test_everything_imports_without_what_only_posix_has(fresh_python: Callable[..., str]) -> None:
    imported = fresh_python(WITHOUT_POSIX).split()
    assert {"fuel", "fuel.transformers", "fuel.server", "fuel.utils.lock"} <= set(imported)


def test_the_blocker_blocks(fresh_python: Callable[..., str]) -> None:
    preparation = WITHOUT_POSIX.partition("import fuel\n")[0]
    code = preparation + (
        "try:\n    import fcntl\nexcept ModuleNotFoundError:\n    print(hasattr(os, 'fork'))\n"
    )
    assert fresh_python(code).strip() == "False"
