"""Windows of images, compiled. The door, `fuel.kernels.crop`, describes and checks."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t

from fuel.kernels._arithmetic cimport Program, fuel_program

cnp.import_array()

cdef extern from "_crop.h":
    enum:
        FUEL_SCRATCH
    ctypedef struct fuel_shuffles:
        pass
    ctypedef struct fuel_crop:
        const fuel_program* program
        const fuel_shuffles* shuffles
        const char* source
        char* out
        int64_t channels
        int64_t height
        int64_t width
        int64_t high
        int64_t wide
        int64_t item
        int64_t result_item
        int pixels_in
        int pixels_out
    const fuel_shuffles* FUEL_SHUFFLES_AT(int level) noexcept nogil
    int64_t fuel_find_beyond(const int64_t* offsets, int64_t count, int64_t most) noexcept nogil
    int fuel_crop_all(
        const fuel_crop* job, const int64_t* rows, const int64_t* tops, const int64_t* lefts,
        const uint8_t* mirror, const uint8_t* turn, int64_t count
    ) noexcept nogil

#: The most bytes that a pixel may have.
LARGEST_PIXEL = FUEL_SCRATCH

_LOGARITHMS = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}


cdef inline const void* data(cnp.ndarray array) noexcept:
    return NULL if array is None else cnp.PyArray_DATA(array)


def fill(
    cnp.ndarray source not None, cnp.ndarray rows, cnp.ndarray tops not None,
    cnp.ndarray lefts not None, cnp.ndarray mirror, cnp.ndarray turn, tuple extents not None,
    bint pixels_in, bint pixels_out, Program program, cnp.ndarray out not None, int level
):
    """Write windows that are known to be there into an array, and return the status."""
    cdef fuel_crop job
    cdef int64_t count = tops.shape[0]
    cdef int status
    job.channels, job.height, job.width, job.high, job.wide = extents
    job.item, job.result_item = source.itemsize, out.itemsize
    job.pixels_in, job.pixels_out = pixels_in, pixels_out
    job.program = NULL
    if program is not None and program.program.steps:
        job.program = &program.program
    job.shuffles = FUEL_SHUFFLES_AT(level) + <int>_LOGARITHMS[source.itemsize]
    job.source = cnp.PyArray_BYTES(source)
    job.out = cnp.PyArray_BYTES(out)
    cdef const int64_t* which = <const int64_t*>data(rows)
    cdef const int64_t* top = <const int64_t*>data(tops)
    cdef const int64_t* left = <const int64_t*>data(lefts)
    cdef const uint8_t* mirrored = <const uint8_t*>data(mirror)
    cdef const uint8_t* turned = <const uint8_t*>data(turn)
    with nogil:
        status = fuel_crop_all(&job, which, top, left, mirrored, turned, count)
    return status


def find_beyond(cnp.ndarray offsets not None, int64_t most):
    """Return the place of the first offset that is not from 0 to the most, or -1."""
    return fuel_find_beyond(<const int64_t*>data(offsets), offsets.shape[0], most)
