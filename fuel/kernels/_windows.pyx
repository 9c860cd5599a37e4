"""Windows over rows, compiled. The door, `fuel.kernels.windows`, describes and checks."""

from libc.stdint cimport int64_t
cimport numpy as cnp

from fuel.kernels._ragged cimport Rows, fuel_row
from fuel.kernels._ragged import scan  # noqa: F401  (the door reads rows and cuts them here)

cnp.import_array()

cdef extern from "_rows.h":
    Py_ssize_t fuel_count_windows(
        Py_ssize_t length, Py_ssize_t reach, Py_ssize_t step
    ) noexcept nogil
    void fuel_cut_rows(
        const fuel_row* rows, Py_ssize_t count, Py_ssize_t unit, Py_ssize_t width,
        Py_ssize_t step, Py_ssize_t offset, Py_ssize_t reach, char* out
    ) noexcept nogil

cdef enum:
    # As in `_ragged.pyx`: less than this is done before another thread could be let in.
    WORTH_RELEASING = 65536


def count(Rows rows not None, Py_ssize_t reach, Py_ssize_t step, int64_t[::1] out not None):
    """Write how many windows each row has, and return how many all have."""
    cdef Py_ssize_t i, total = 0
    for i in range(rows.count):
        out[i] = fuel_count_windows(rows.rows[i].length, reach, step)
        total += out[i]
    return total


def cut(
    Rows rows not None, Py_ssize_t width, Py_ssize_t step, Py_ssize_t offset, Py_ssize_t reach,
    cnp.ndarray out not None
):
    """Write all windows of all rows."""
    cdef char* target = cnp.PyArray_BYTES(out)
    if cnp.PyArray_NBYTES(out) < WORTH_RELEASING:
        fuel_cut_rows(rows.rows, rows.count, rows.unit, width, step, offset, reach, target)
        return
    with nogil:
        fuel_cut_rows(rows.rows, rows.count, rows.unit, width, step, offset, reach, target)
