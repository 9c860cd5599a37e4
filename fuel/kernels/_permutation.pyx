"""The keyed permutation, compiled. The door, `fuel.kernels.permutation`, describes and checks."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <stdint.h>
    /* The high half of a product whose second factor has at most 32 bits. */
    static inline uint64_t fuel_high_half(uint64_t value, uint64_t radix) {
    #ifdef __SIZEOF_INT128__
        return (uint64_t)(((unsigned __int128)value * radix) >> 64);
    #else
        return ((value >> 32) * radix + (((value & 0xFFFFFFFFu) * radix) >> 32)) >> 32;
    #endif
    }
    """
    uint64_t fuel_high_half(uint64_t value, uint64_t radix) noexcept nogil

cdef enum:
    # Places that go through the rounds side by side: enough independent work to hide the
    # latency of the multiplications of one of them.
    LANES = 8
    MOST_ROUNDS = 32


cdef inline uint64_t term(uint64_t value, uint64_t radix) noexcept nogil:
    """Stafford's variant 13 of a 64-bit finalizer, scaled down to the radix."""
    value = (value ^ (value >> 30)) * <uint64_t>0xBF58476D1CE4E5B9ULL
    value = (value ^ (value >> 27)) * <uint64_t>0x94D049BB133111EBULL
    return fuel_high_half(value ^ (value >> 31), radix)


cdef inline Py_ssize_t read_keys(bytes keys, uint64_t* out) noexcept:
    """Copy the keys, and return their number: the bytes of an object may not be aligned."""
    cdef Py_ssize_t size = min(PyBytes_GET_SIZE(keys), <Py_ssize_t>(8 * MOST_ROUNDS))
    memcpy(out, PyBytes_AS_STRING(keys), size)
    return size // 8


cdef void permute(
    const int64_t* places, uint64_t start, Py_ssize_t size, uint64_t count,
    uint64_t left, uint64_t right, const uint64_t* keys, Py_ssize_t rounds, int64_t* out
) noexcept nogil:
    """Write the indices at `places`, or at `start` and on where there are none.

    A lane whose result lies beyond `count` keeps it for another pass; the others take the next
    place. The number of rounds is even.
    """
    cdef uint64_t[LANES] value
    cdef uint64_t[LANES] high
    cdef uint64_t[LANES] low
    cdef Py_ssize_t[LANES] target
    cdef Py_ssize_t given = 0, done = 0, number, lane
    for lane in range(LANES):
        target[lane] = -1
        value[lane] = 0
    while done < size:
        for lane in range(LANES):
            if target[lane] < 0 and given < size:
                target[lane] = given
                if places == NULL:
                    value[lane] = start + <uint64_t>given
                else:
                    value[lane] = <uint64_t>places[given]
                given += 1
            high[lane] = value[lane] // right
            low[lane] = value[lane] - high[lane] * right
        number = 0
        while number < rounds:
            for lane in range(LANES):
                high[lane] += term(low[lane] ^ keys[number], left)
                high[lane] -= left if high[lane] >= left else 0
            for lane in range(LANES):
                low[lane] += term(high[lane] ^ keys[number + 1], right)
                low[lane] -= right if low[lane] >= right else 0
            number += 2
        for lane in range(LANES):
            value[lane] = high[lane] * right + low[lane]
            if target[lane] >= 0 and value[lane] < count:
                out[target[lane]] = <int64_t>value[lane]
                target[lane] = -1
                done += 1


def permute_one(
    uint64_t place, uint64_t count, uint64_t left, uint64_t right, bytes keys not None
):
    """Return the index at one place of the order."""
    cdef uint64_t[MOST_ROUNDS] round_keys
    cdef Py_ssize_t rounds = read_keys(keys, round_keys), number
    cdef uint64_t value = place, high, low
    while True:
        high = value // right
        low = value - high * right
        number = 0
        while number < rounds:
            high += term(low ^ round_keys[number], left)
            high -= left if high >= left else 0
            low += term(high ^ round_keys[number + 1], right)
            low -= right if low >= right else 0
            number += 2
        value = high * right + low
        if value < count:
            return value


def permute_many(
    const int64_t[::1] places, uint64_t count, uint64_t left, uint64_t right,
    bytes keys not None, int64_t[::1] out
):
    """Write the indices at many places of the order."""
    cdef uint64_t[MOST_ROUNDS] round_keys
    cdef Py_ssize_t rounds = read_keys(keys, round_keys)
    with nogil:
        permute(
            &places[0], 0, places.shape[0], count, left, right, round_keys, rounds, &out[0]
        )


def permute_block(
    uint64_t start, uint64_t count, uint64_t left, uint64_t right,
    bytes keys not None, int64_t[::1] out
):
    """Write the indices at consecutive places of the order."""
    cdef uint64_t[MOST_ROUNDS] round_keys
    cdef Py_ssize_t rounds = read_keys(keys, round_keys)
    with nogil:
        permute(NULL, start, out.shape[0], count, left, right, round_keys, rounds, &out[0])
