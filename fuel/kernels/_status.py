"""What became of a batch that a kernel computed: whether NumPy has to do it again.

In this module: `must_repeat` and the bit `NUMPY_ONLY`, for the doors of the kernels that compute.
"""

from __future__ import annotations

import numpy

__all__ = ["NUMPY_ONLY", "must_repeat"]

# The bits as in `_arithmetic.h`, with NumPy's names for them.
_KINDS = ((1, "invalid"), (2, "divide"), (4, "over"), (8, "under"))

#: The bit that says: the result is not complete.
NUMPY_ONLY = 16


def must_repeat(status: int) -> bool:
    """Say whether NumPy is to do a batch, because it has something to say about it.

    Parameters
    ----------
    status : int
        What the kernel returned.

    Returns
    -------
    bool
        True where a value was out of an integer's range, and where something happened to
        floating-point numbers that `numpy.errstate` does not ignore at the moment.

    """
    if status & NUMPY_ONLY:
        return True
    wanted = numpy.geterr()
    return any(status & bit and wanted[name] != "ignore" for bit, name in _KINDS)  # type: ignore[literal-required]
