"""Fuel streams data into training loops.

A *dataset* can say what lies at an index; an iteration *scheme* says which index comes next; a
*stream* asks the one what the other named; *transformers* change what comes back. Together they
are a pipeline that can be printed, pickled, resumed and repeated exactly. `DataLoader` builds one
from any data and a few arguments.
"""

from __future__ import annotations

import importlib
from typing import Any

from fuel.config_parser import config
from fuel.version import version as __version__

__all__ = [
    "DataLoader",
    "__version__",
    "close_dataloader_pool",
    "close_workers",
    "config",
    "eachobs",
]

#: Looked up when they are first used, so that importing the package stays cheap. (The types are in
#: the neighbouring ``.pyi``.)
_MODULE_OF = {
    "DataLoader": "fuel.loader",
    "close_dataloader_pool": "fuel.loader",
    "close_workers": "fuel.workers",
    "eachobs": "fuel.loader",
}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
