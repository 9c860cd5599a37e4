"""JPEG files decoded by libjpeg-turbo, compiled. The door, `fuel.kernels.jpeg`, describes and checks.

The work, and the trap that catches the library's errors, is plain C in `_jpeg.h`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free

cdef extern from "_jpeg.h" nogil:
    ctypedef struct fuel_jpeg_place:
        pass
    enum:
        JMSG_LENGTH_MAX
        LIBJPEG_TURBO_VERSION_NUMBER
    int fuel_jpeg_frame(const uint8_t* data, size_t size, int64_t* found)
    int fuel_jpeg_decode(
        const uint8_t* data, size_t size, const fuel_jpeg_place* at, uint8_t* out, char* text
    )

#: The version of the headers that this was built with, as major * 1000000 + minor * 1000 + patch.
VERSION = LIBJPEG_TURBO_VERSION_NUMBER


def frames(tuple images not None, int64_t[:, ::1] found):
    """Write (width, height, components, whether there is an APP1 segment) of each image.

    Zeros where it is no JPEG that `decode` takes.
    """
    cdef Py_ssize_t number
    cdef bytes data
    for number in range(len(images)):
        data = images[number]
        if not fuel_jpeg_frame(
            <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), &found[number, 0]
        ):
            found[number, 0] = found[number, 1] = found[number, 2] = found[number, 3] = 0


def decode(
    tuple images not None, const int64_t[:, ::1] plan, const int64_t[::1] targets, int[::1] codes
):
    """Decode each image to its address; the tuple keeps the bytes alive meanwhile.

    `plan` has a line a image, as `fuel_jpeg_place` in `_jpeg.h`. Returns None where all went well,
    else a message for each, of those whose code is not 0.
    """
    cdef Py_ssize_t count = len(images), number, failed = 0
    cdef const uint8_t** starts = <const uint8_t**>calloc(count + 1, sizeof(void*))
    cdef size_t* sizes = <size_t*>calloc(count + 1, sizeof(size_t))
    cdef char* texts = <char*>calloc(count + 1, JMSG_LENGTH_MAX)
    cdef bytes data
    try:
        if starts == NULL or sizes == NULL or texts == NULL:
            raise MemoryError
        for number in range(count):
            data = images[number]
            starts[number] = <const uint8_t*>PyBytes_AS_STRING(data)
            sizes[number] = PyBytes_GET_SIZE(data)
        with nogil:
            for number in range(count):
                codes[number] = fuel_jpeg_decode(
                    starts[number],
                    sizes[number],
                    <const fuel_jpeg_place*>&plan[number, 0],
                    <uint8_t*>targets[number],
                    &texts[number * JMSG_LENGTH_MAX],
                )
                failed += codes[number] != 0
        if not failed:
            return None
        return [
            (&texts[number * JMSG_LENGTH_MAX]).decode("latin-1") for number in range(count)
        ]
    finally:
        free(starts)
        free(sizes)
        free(texts)
