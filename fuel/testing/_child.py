"""The other process of `assert_resumes_everywhere`: continues what it is handed.

It reads one pickled job from its standard input and writes one pickled answer to a file. Only
the test that started it writes to that pipe.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

__all__ = ["continue_elsewhere"]

_TIMEOUT_S = 300


def _by_value(obj: Any) -> bytes:
    """Pickle an object, with what its test module defines carried along."""
    import cloudpickle

    names = {getattr(obj, "__module__", None), getattr(type(obj), "__module__", None)}
    for cell in getattr(obj, "__closure__", None) or ():
        names.add(getattr(cell.cell_contents, "__module__", None))
        names.add(type(cell.cell_contents).__module__)
    modules: list[types.ModuleType] = []
    for name in names:
        module = sys.modules.get(name or "")
        if module is None or name in ("__main__", "builtins") or str(name).startswith("fuel"):
            continue
        path = getattr(module, "__file__", None) or ""
        if "site-packages" not in path and name not in sys.stdlib_module_names:
            modules.append(module)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps(obj)
        return data
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def continue_elsewhere(make_stream: Any, jobs: list[tuple[str, Any]], epochs: int) -> list[Any]:
    """Continue positions in a new process.

    Parameters
    ----------
    make_stream : callable
        Builds the pipeline.
    jobs : list of (str, object)
        ``("iterator", state)``, ``("stream", state)`` or ``("pickle", bytes)``.
    epochs : int
        How many epochs to run after the one that is continued.

    Returns
    -------
    list
        For each job, the canonical items of each epoch.

    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        payload = pickle.dumps((_by_value(make_stream), jobs, epochs, str(answer), sys.path))
        code = "from fuel.testing._child import main; main()"
        # The package may be used from a checkout: let the child find what this process found.
        bootstrap = f"import sys; sys.path[:0] = {sys.path!r}; {code}"
        done = subprocess.run(
            [sys.executable, "-c", bootstrap],
            input=payload,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise AssertionError(
                "the pipeline could not be continued in a new process:\n"
                + done.stdout.decode(errors="replace")
            )
        result: list[Any] = pickle.loads(answer.read_bytes())
        return result


def run_epochs(stream: Any, first: Any, epochs: int) -> list[Any]:
    """Return the canonical items of an iterator and of the epochs after it."""
    from fuel.testing._compare import canonical

    found = [[canonical(item) for item in first]]
    for _ in range(epochs):
        found.append([canonical(item) for item in stream.get_epoch_iterator()])
    return found


def main() -> None:
    """Do the job on the standard input."""
    make_pickled, jobs, epochs, answer, path = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    make_stream = pickle.loads(make_pickled)
    found = []
    for kind, content in jobs:
        if kind == "pickle":
            stream, iterator = pickle.loads(content)
        elif kind == "stream":
            stream = make_stream()
            stream.load_state_dict(content)
            iterator = stream.get_epoch_iterator()
        else:
            stream = make_stream()
            iterator = stream.get_epoch_iterator()
            iterator.load_state_dict(content)
        found.append(run_epochs(stream, iterator, epochs))
        stream.close()
    Path(answer).write_bytes(pickle.dumps(found))
