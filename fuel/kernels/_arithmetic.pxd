"""A compiled chain of arithmetic, for the kernels that move elements."""

from libc.stdint cimport int64_t

cimport numpy as cnp

cdef extern from "_arithmetic.h":
    enum:
        FUEL_RANGE
    ctypedef struct fuel_step:
        pass
    ctypedef struct fuel_program:
        int (*apply)(
            const fuel_program* program, const char* source, char* out, int64_t start, int64_t count
        ) noexcept nogil
        int64_t size
        int source_size
        int result_size
        int quiet
        int64_t steps
        fuel_step* step
        (const char*) operand[4]
        int64_t run
        int64_t count
        int operand_size
    void fuel_clear_flags() noexcept nogil
    int fuel_read_flags() noexcept nogil
    void fuel_prefetch(const char* source, int64_t bytes) noexcept nogil


cdef class Program:
    cdef fuel_program program
    cdef readonly cnp.dtype input
    cdef readonly cnp.dtype dtype
    cdef readonly tuple shape
    cdef readonly str form
    cdef list kept
    cdef const char* keep(self, cnp.ndarray values) noexcept
