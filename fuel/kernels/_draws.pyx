"""Draws by address, compiled. The door, `fuel.kernels.draws`, describes and checks."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cnp.import_array()

cdef extern from "_draws.h":
    uint64_t fuel_multiply(uint64_t a, uint64_t b, uint64_t* low) noexcept nogil
    double fuel_normal(uint64_t bits) noexcept nogil
    void fuel_philox(uint64_t* counter, uint64_t key0, uint64_t key1) noexcept nogil


def bits(
    uint64_t key0, uint64_t key1, cnp.ndarray ordinals not None, cnp.ndarray numbers,
    cnp.ndarray out not None
):
    """Write the first raw draws of each address into the rows of `out`."""
    cdef Py_ssize_t rows = out.shape[0], count = out.shape[1], row, column
    cdef const uint64_t* ordinal = <const uint64_t*>cnp.PyArray_DATA(ordinals)
    cdef const uint64_t* number = NULL
    cdef uint64_t* target = <uint64_t*>cnp.PyArray_DATA(out)
    cdef uint64_t[4] block
    if numbers is not None:
        number = <const uint64_t*>cnp.PyArray_DATA(numbers)
    with nogil:
        for row in range(rows):
            column = 0
            while column < count:
                # The counter is raised before it is used, so that the first block has number 1.
                block[0] = <uint64_t>(column // 4 + 1)
                block[1] = number[row] if number != NULL else 0
                block[2] = ordinal[row]
                block[3] = 0
                fuel_philox(block, key0, key1)
                memcpy(target + column, block, 8 * min(<Py_ssize_t>4, count - column))
                column += 4
            target += count


def uniforms(cnp.ndarray raw not None, cnp.ndarray out not None):
    """Write numbers from 0 to 1, without 1."""
    cdef Py_ssize_t size = cnp.PyArray_SIZE(raw), item
    cdef const uint64_t* source = <const uint64_t*>cnp.PyArray_DATA(raw)
    cdef double* target = <double*>cnp.PyArray_DATA(out)
    with nogil:
        for item in range(size):
            target[item] = <double>(<int64_t>(source[item] >> 11)) * (1.0 / 9007199254740992.0)


def integers(cnp.ndarray raw not None, cnp.ndarray high not None, cnp.ndarray out not None):
    """Write integers below `high`, which has one element or as many as there are draws."""
    cdef Py_ssize_t size = cnp.PyArray_SIZE(raw), item
    cdef Py_ssize_t step = 0 if cnp.PyArray_SIZE(high) == 1 else 1
    cdef const uint64_t* source = <const uint64_t*>cnp.PyArray_DATA(raw)
    cdef const uint64_t* bound = <const uint64_t*>cnp.PyArray_DATA(high)
    cdef uint64_t* target = <uint64_t*>cnp.PyArray_DATA(out)
    cdef uint64_t low
    with nogil:
        for item in range(size):
            target[item] = fuel_multiply(source[item], bound[item * step], &low)


def normals(cnp.ndarray raw not None, cnp.ndarray out not None):
    """Write normal deviates."""
    cdef Py_ssize_t size = cnp.PyArray_SIZE(raw), item
    cdef const uint64_t* source = <const uint64_t*>cnp.PyArray_DATA(raw)
    cdef double* target = <double*>cnp.PyArray_DATA(out)
    with nogil:
        for item in range(size):
            target[item] = fuel_normal(source[item])
