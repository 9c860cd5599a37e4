"""Rows of unequal lengths, for the kernels that read them."""

cimport numpy as cnp

cdef extern from "_rows.h":
    ctypedef struct fuel_row:
        const char* data
        Py_ssize_t length

cdef class Rows:
    cdef fuel_row* rows
    cdef object held
    cdef readonly Py_ssize_t count
    cdef readonly Py_ssize_t longest
    cdef readonly Py_ssize_t shortest
    cdef readonly Py_ssize_t total
    cdef readonly object dtype
    cdef readonly tuple rest
    cdef Py_ssize_t unit
    cdef Py_ssize_t item
    cdef int make(self, Py_ssize_t count) except -1
    cdef int learn(self, cnp.ndarray teller, int first) except -1
    cdef int sum_up(self) except -1
