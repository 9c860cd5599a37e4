"""The configuration file: where it is, reading it, and saying what is wrong with it.

Which settings there are and how they are looked up is in `fuel.config_parser`.
"""

from __future__ import annotations

import os
from typing import Any

from fuel.exceptions import ConfigurationError

__all__ = ["configuration_file", "read_configuration_file"]

_FORM = "lines of the form `key: value`"


def configuration_file() -> str:
    """Return the path of the file that settings are read from, whether it exists or not.

    Returns
    -------
    str
        ``$FUEL_CONFIG`` if that is set, else ``~/.fuelrc``, with the home directory filled in.

    """
    return os.path.expanduser(os.environ.get("FUEL_CONFIG", os.path.join("~", ".fuelrc")))


def read_configuration_file(path: str) -> dict[Any, Any]:
    """Read a configuration file as it is, without looking at its keys.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    dict
        What it holds; nothing if it does not exist or is empty.

    Raises
    ------
    ConfigurationError
        If it cannot be read, is not YAML, or does not hold a mapping.

    """
    try:
        os.stat(path)
    except PermissionError:
        pass  # it may be there: opening it fails below, with a message
    except (OSError, ValueError):
        return {}
    try:
        import yaml
    except ImportError as error:
        raise ConfigurationError(
            f"the configuration file {path} cannot be read without PyYAML; install it with "
            f"`pip install pyyaml`, or move the file away"
        ) from error
    try:
        with open(path, encoding="utf-8") as file:
            content = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the configuration file {path} cannot be read: {error}; make it a readable text with "
            f"{_FORM}, or let FUEL_CONFIG name another file"
        ) from error
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f"the configuration file {path} is not valid YAML: {error}; it should have {_FORM}"
        ) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigurationError(
            f"the configuration file {path} should have {_FORM}, but it holds a "
            f"{type(content).__name__}: {content!r:.200}"
        )
    return content
