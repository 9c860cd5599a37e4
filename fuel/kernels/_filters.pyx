"""Undoing HDF5's own filters, compiled. The door, `fuel.kernels.filters`, describes and checks."""

from cpython.buffer cimport (
    PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
)
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef extern from "_filters.h":
    int fuel_lzf(
        const uint8_t* data, int64_t length, uint8_t* out, int64_t size, int64_t* at
    ) noexcept nogil
    void fuel_unshuffle(
        const uint8_t* data, int64_t length, int64_t size, uint8_t* out
    ) noexcept nogil
    uint32_t fuel_fletcher32(const uint8_t* data, int64_t length) noexcept nogil


cdef bint overlap(const Py_buffer* one, const Py_buffer* other) noexcept:
    return (
        <const char*>one.buf < <const char*>other.buf + other.len
        and <const char*>other.buf < <const char*>one.buf + one.len
    )


def lzf(object data, object out):
    """Fill `out`. Returns 0 or what is wrong, and where in the data; -1 where they overlap."""
    cdef Py_buffer source, target
    cdef int64_t place = 0
    cdef int status = -1
    PyObject_GetBuffer(data, &source, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(out, &target, PyBUF_WRITABLE)
        if not overlap(&source, &target):
            with nogil:
                status = fuel_lzf(
                    <const uint8_t*>source.buf, source.len, <uint8_t*>target.buf, target.len,
                    &place
                )
        PyBuffer_Release(&target)
    finally:
        PyBuffer_Release(&source)
    return status, place


def unshuffle(object data, int64_t size, object out):
    """Fill `out`; -2 where it has another length than the data, -1 where they overlap."""
    cdef Py_buffer source, target
    cdef int status = 0
    PyObject_GetBuffer(data, &source, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(out, &target, PyBUF_WRITABLE)
        if source.len != target.len:
            status = -2
        elif overlap(&source, &target):
            status = -1
        else:
            with nogil:
                fuel_unshuffle(<const uint8_t*>source.buf, source.len, size, <uint8_t*>target.buf)
        PyBuffer_Release(&target)
    finally:
        PyBuffer_Release(&source)
    return status


def fletcher32(object data):
    """Return the checksum."""
    cdef Py_buffer source
    cdef uint32_t found
    PyObject_GetBuffer(data, &source, PyBUF_SIMPLE)
    with nogil:
        found = fuel_fletcher32(<const uint8_t*>source.buf, source.len)
    PyBuffer_Release(&source)
    return found
