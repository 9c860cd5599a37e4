"""What holds for every test and every example in a docstring.

Nobody's own settings reach them, and a run of Hypothesis is the same every time. To let it search
for new cases: ``pytest --hypothesis-profile search``.

Fixtures for the tests themselves are in `tests/conftest.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import numpy
import pytest

from fuel.config_parser import config as settings

# How long an example takes decides nothing.
hypothesis.settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "search",
    parent=hypothesis.settings.get_profile("repeatable"),
    derandomize=False,
    max_examples=2000,
)
hypothesis.settings.load_profile("repeatable")

# Which kernels are tested is the caller's choice; every other setting is a test's own.
KEPT = {"FUEL_KERNELS"}


def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name.startswith("FUEL_") and name not in KEPT]:
        del os.environ[name]
    # A file that is not there: the configuration file in somebody's home is not read.
    os.environ["FUEL_CONFIG"] = str(Path(__file__).parent / "tests" / "no-such-configuration")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0":
        return
    old = pytest.mark.skip(reason="examples in docstrings show how NumPy 2 prints scalars")
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(old)


@pytest.fixture(autouse=True)
def _settings_last_for_one_test() -> Iterator[None]:
    """What a test assigns to a setting ends with it."""
    assigned = settings.__dict__["_assigned"]
    before = dict(assigned)
    yield
    assigned.clear()
    assigned.update(before)


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(request: pytest.FixtureRequest) -> Iterator[None]:
    """Examples in docstrings run in a directory of their own."""
    if isinstance(request.node, pytest.DoctestItem):
        directory = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(directory)
    yield
