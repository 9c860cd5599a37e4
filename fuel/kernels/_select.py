"""Which form of a kernel is used: compiled, or the reference in plain NumPy.

In this module: `select`, which imports one of the two, and `active`, which says which one it
was. The environment variable ``FUEL_KERNELS`` decides: ``compiled`` makes a missing extension
an error, ``reference`` leaves extensions aside; unset, the compiled form is used where it can be
imported. Read when a topic is first imported; the results are the same either way.
"""

from __future__ import annotations

import importlib
import logging
import os
from types import ModuleType

from fuel.exceptions import ConfigurationError

__all__ = ["active", "select"]

_SETTING = "FUEL_KERNELS"
_log = logging.getLogger(__name__)

#: What each topic runs on, as far as topics were imported.
_active: dict[str, str] = {}


def select(topic: str) -> ModuleType:
    """Import the form of a kernel that the setting asks for.

    Parameters
    ----------
    topic : str
        Name of the kernel, for example ``"permutation"``.

    Returns
    -------
    module
        ``fuel.kernels._<topic>`` or ``fuel.kernels._<topic>_reference``.

    Raises
    ------
    ConfigurationError
        If ``FUEL_KERNELS`` has an unknown value, or asks for compiled kernels where this one
        cannot be imported.

    """
    wanted = os.environ.get(_SETTING, "").strip().lower()
    if wanted not in ("", "compiled", "reference"):
        raise ConfigurationError(
            f"{_SETTING} must be 'compiled' or 'reference', got {wanted!r}; unset it to use the "
            "compiled kernels where there are any"
        )
    if wanted != "reference":
        try:
            kernel = importlib.import_module(f"fuel.kernels._{topic}")
        except ImportError as err:
            if wanted == "compiled":
                raise ConfigurationError(
                    f"{_SETTING}=compiled, but the compiled kernel {topic!r} cannot be imported "
                    f"({err}); install the package where a C compiler is found, or unset "
                    f"{_SETTING}"
                ) from err
            if topic not in _active:  # several doors may ask for one kernel
                # Where one is missing, most often all are: the first speaks for them.
                first = "reference" not in _active.values()
                _log.log(
                    logging.WARNING if first else logging.INFO,
                    "the compiled kernel %r is missing (%s): its NumPy form is used, which gives "
                    "the same results more slowly (fuel-info --config tells of others)",
                    topic,
                    err,
                )
        else:
            _active[topic] = "compiled"
            return kernel
    kernel = importlib.import_module(f"fuel.kernels._{topic}_reference")
    _active[topic] = "reference"
    return kernel


def active() -> dict[str, str]:
    """Say which form is in use.

    Returns
    -------
    dict
        For each kernel that was imported so far, ``"compiled"`` or ``"reference"``.

    """
    return dict(sorted(_active.items()))
