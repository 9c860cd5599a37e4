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
    int64_t fuel_jpeg_next(int64_t* begun)
    int fuel_jpeg_frame(const uint8_t* data, size_t size, int64_t* found)
    int fuel_jpeg_decode(
        const uint8_t* data, size_t size, const fuel_jpeg_place* at, uint8_t* out, char* text
    )

cdef enum:
    PLACE = sizeof(fuel_jpeg_place) // sizeof(int64_t)

#: The longest message, its end included.
TEXT = JMSG_LENGTH_MAX

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
    tuple images not None, const int64_t[:, ::1] plan, const int64_t[::1] targets,
    int[::1] codes, char[:, ::1] texts, int64_t[::1] begun
):
    """Decode images to their addresses until none is left; the tuple keeps the bytes alive.

    `plan` has a line an image, as `fuel_jpeg_place` in `_jpeg.h`, `codes` what came of it, `texts`
    room for a message. Several threads may call this with the same arguments: `begun`, one number
    that starts at 0, is where they agree on who takes which image.
    """
    cdef Py_ssize_t count = len(images), number
    cdef const uint8_t** starts = <const uint8_t**>calloc(count + 1, sizeof(void*))
    cdef size_t* sizes = <size_t*>calloc(count + 1, sizeof(size_t))
    cdef bytes data
    try:
        if starts == NULL or sizes == NULL:
            raise MemoryError
        if plan.shape[1] != PLACE or texts.shape[1] != JMSG_LENGTH_MAX:
            raise ValueError("the door and the kernel were built of different sources")
        for number in range(count):
            data = images[number]
            starts[number] = <const uint8_t*>PyBytes_AS_STRING(data)
            sizes[number] = PyBytes_GET_SIZE(data)
        with nogil:
            while True:
                number = fuel_jpeg_next(&begun[0])
                if number >= count:
                    break
                codes[number] = fuel_jpeg_decode(
                    starts[number],
                    sizes[number],
                    <const fuel_jpeg_place*>&plan[number, 0],
                    <uint8_t*>targets[number],
                    &texts[number, 0],
                )
    finally:
        free(starts)
        free(sizes)
