"""`.fuelrc.example` lists every setting with its true default, and is itself a usable file."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fuel.config_parser import Configuration, config


def example_settings(checkout: Path) -> dict[str, Any]:
    """The settings of the example file, as if every one had lost its `#`."""
    text = (checkout / ".fuelrc.example").read_text(encoding="utf-8")
    lines = [line[1:] for line in text.splitlines() if re.match(r"#\w+:", line)]
    assert len(lines) == len({line.partition(":")[0] for line in lines})
    settings = yaml.safe_load("\n".join(lines))
    assert isinstance(settings, dict)
    return settings


def test_the_example_lists_exactly_the_declared_settings(checkout: Path) -> None:
    declared = {description.key for description in config.describe()}
    assert set(example_settings(checkout)) == declared


def test_the_example_shows_the_true_defaults(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for key, value in example_settings(checkout).items():
        origin = config.origin(key)
        assert origin == "default", f"{key} does not have its default: {origin}"
        if key != "data_path":
            assert getattr(config, key) == value
        elif sys.platform == "linux":  # elsewhere the place is another, as the example says
            assert config.data_path == [os.path.expanduser(path) for path in value]


def test_the_example_can_be_used_as_it_is_and_with_everything_switched_on(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (checkout / ".fuelrc.example").read_text(encoding="utf-8")
    for name, content in {"as-is": text, "on": re.sub(r"(?m)^#(\w+:)", r"\1", text)}.items():
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        monkeypatch.setenv("FUEL_CONFIG", str(path))
        settings = Configuration()
        for key in example_settings(checkout):
            settings.add_config(key, lambda value: value, default=None)
        settings.load_yaml()
        assert (settings.default_seed == 1) == (name == "on")
