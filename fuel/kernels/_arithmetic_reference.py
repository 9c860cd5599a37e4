"""What `fuel.kernels.arithmetic` uses where nothing is compiled: nothing.

The plain form of a chain is `Arithmetic.reference`, step by step in NumPy, which `gather` and
`crop` use where there is no program.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BEST_LEVEL", "Program"]

#: There are no sets of instructions to choose from.
BEST_LEVEL = 0

#: A chain has no compiled form.
Program: Any = None
