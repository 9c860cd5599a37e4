"""Sequences in a row, compiled. The door, `fuel.kernels.packing`, describes and checks."""

from libc.stdint cimport int32_t
cimport numpy as cnp

from fuel.kernels._ragged import scan  # noqa: F401  (the door reads sequences here)

cnp.import_array()


def runs(list lengths not None, cnp.ndarray numbers not None, cnp.ndarray places not None):
    """Write for each place of a row which sequence it is in, counted from 1, and where in that."""
    cdef int32_t* number = <int32_t*>cnp.PyArray_DATA(numbers)
    cdef int32_t* place = <int32_t*>cnp.PyArray_DATA(places)
    cdef Py_ssize_t width = cnp.PyArray_DIM(numbers, 0)
    cdef Py_ssize_t at = 0
    cdef int32_t i, length, run = 0
    for item in lengths:
        length = item
        run += 1
        for i in range(length):
            number[at + i] = run
            place[at + i] = i
        at += length
    for at in range(at, width):
        number[at] = place[at] = 0
