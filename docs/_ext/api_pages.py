"""Writes one page of the API reference for each room of the package, before every build.

The pages (`reference/api/*.rst`, not kept in version control) list every public module, so that
none can be forgotten, and each object once: at its shortest public address.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

import fuel


def public_modules() -> list[str]:
    """Every public module, outer ones first."""
    names = ["fuel"]
    names += [found.name for found in pkgutil.walk_packages(fuel.__path__, "fuel.")]
    public = [name for name in names if not any(part[0] == "_" for part in name.split("."))]
    return sorted(public, key=lambda name: (name.count("."), name))


def section(name: str, module: ModuleType, known: dict[int, str]) -> str:
    """The part of a page that describes one module."""
    elsewhere = []
    for entry in getattr(module, "__all__", []):
        thing = getattr(module, entry)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            address = known.setdefault(id(thing), f"{name}.{entry}")
            if address != f"{name}.{entry}":
                elsewhere.append((entry, address))
    lines = [name, "-" * len(name), "", f".. automodule:: {name}"]
    if elsewhere:
        lines += [f"   :exclude-members: {', '.join(entry for entry, _ in elsewhere)}"]
        also = ", ".join(f":py:obj:`{entry} <{address}>`" for entry, address in elsewhere)
        lines += ["", f"Also here: {also}."]
    return "\n".join([*lines, ""])


def write_pages(app: Any) -> None:
    """Write the pages that changed, so that an incremental build stays incremental."""
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(parents=True, exist_ok=True)
    known: dict[int, str] = {}
    pages: dict[str, list[str]] = {}
    for name in public_modules():
        room = ".".join(name.split(".")[:2])
        text = section(name, importlib.import_module(name), known)
        pages.setdefault(room, []).append(text)
    for room, sections in pages.items():
        text = f"{room}\n{'=' * len(room)}\n\n" + "\n".join(sections)
        path = folder / f"{room}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
