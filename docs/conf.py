"""The documentation: Markdown pages by hand, the API reference from the docstrings.

Build it with ``python -m sphinx -W docs docs/_build``; `bin/test` does, and a warning fails it.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent))

from fuel.version import version as release  # noqa: E402

project = "Fuel"
author = "Fuel contributors"
copyright = "Fuel contributors"
version = release

extensions = [
    "api_pages",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Single backticks in docstrings are code; whether they name something is the reader's to see.
default_role = "code"
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# Types in docstrings are prose for readers; a word that could mean two names is no fault of theirs.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"Fuel {release}"
html_show_sphinx = False
html_copy_source = False
