"""The choice between compiled kernels and their NumPy form, and what is said about it."""

from __future__ import annotations

import logging
import sys

import pytest

from fuel.exceptions import ConfigurationError
from fuel.kernels import _select


@pytest.fixture
def no_extension(monkeypatch):
    """Make the compiled kernel impossible to import."""
    monkeypatch.setitem(sys.modules, "fuel.kernels._permutation", None)
    monkeypatch.setattr(_select, "_active", {})


def test_the_reference_is_used_when_asked_for(monkeypatch):
    monkeypatch.setattr(_select, "_active", {})
    monkeypatch.setenv("FUEL_KERNELS", "reference")
    kernel = _select.select("permutation")
    assert kernel.__name__ == "fuel.kernels._permutation_reference"
    assert _select.active() == {"permutation": "reference"}


def test_a_missing_extension_is_replaced_and_said_so(monkeypatch, no_extension, caplog):
    monkeypatch.delenv("FUEL_KERNELS", raising=False)
    with caplog.at_level(logging.WARNING, logger="fuel.kernels"):
        kernel = _select.select("permutation")
        assert _select.select("permutation") is kernel
    assert kernel.__name__ == "fuel.kernels._permutation_reference"
    assert caplog.text.count("the compiled kernel 'permutation' is missing") == 1
    assert _select.active() == {"permutation": "reference"}


def test_a_missing_extension_is_an_error_when_asked_for(monkeypatch, no_extension):
    monkeypatch.setenv("FUEL_KERNELS", "compiled")
    with pytest.raises(ConfigurationError, match="FUEL_KERNELS=compiled, but the compiled kernel"):
        _select.select("permutation")
    assert _select.active() == {}


def test_an_unknown_setting_is_refused(monkeypatch):
    monkeypatch.setenv("FUEL_KERNELS", "fast")
    with pytest.raises(ConfigurationError, match="must be 'compiled' or 'reference', got 'fast'"):
        _select.select("permutation")
