"""The commands ``fuel-convert``, ``fuel-download``, ``fuel-export`` and ``fuel-info``.

Each has a module with ``main(args=None)``; what they share (exit codes, plain error lines, looking
for converters and downloaders of other packages) is in `_common`. The work is done elsewhere.
"""

from __future__ import annotations

__all__: list[str] = []
