"""The keyed permutation, compiled. The door, `fuel.kernels.permutation`, describes and checks."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cnp.import_array()

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
    # Digits below this have the function of each round in a table, if enough is asked for.
    RADIX = 32


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


cdef void permute_few(
    const int64_t* places, uint32_t start, Py_ssize_t size, uint32_t count,
    uint32_t left, uint32_t right, const uint64_t* keys, Py_ssize_t rounds, int64_t* out
) noexcept nogil:
    """The same as `permute` for radices up to RADIX.

    A digit has few values, so that what a round adds for each of them is worked out once.
    """
    cdef uint8_t[MOST_ROUNDS][RADIX] added
    cdef uint32_t[LANES] value
    cdef uint32_t[LANES] high
    cdef uint32_t[LANES] low
    cdef Py_ssize_t[LANES] target
    cdef uint32_t digit, sum
    cdef Py_ssize_t given = 0, done = 0, number, lane
    for number in range(0, rounds, 2):
        for digit in range(right):
            added[number][digit] = <uint8_t>term(digit ^ keys[number], left)
        for digit in range(left):
            added[number + 1][digit] = <uint8_t>term(digit ^ keys[number + 1], right)
    for lane in range(LANES):
        target[lane] = -1
        value[lane] = 0
    while done < size:
        for lane in range(LANES):
            if target[lane] < 0 and given < size:
                target[lane] = given
                value[lane] = (
                    start + <uint32_t>given if places == NULL else <uint32_t>places[given]
                )
                given += 1
            high[lane] = value[lane] // right
            low[lane] = value[lane] - high[lane] * right
        for number in range(0, rounds, 2):
            for lane in range(LANES):
                sum = high[lane] + added[number][low[lane]]
                high[lane] = min(sum, sum - left)  # which wraps around where it is negative
                sum = low[lane] + added[number + 1][high[lane]]
                low[lane] = min(sum, sum - right)
        for lane in range(LANES):
            value[lane] = high[lane] * right + low[lane]
            if target[lane] >= 0 and value[lane] < count:
                out[target[lane]] = <int64_t>value[lane]
                target[lane] = -1
                done += 1


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
    # The table takes (left + right) / 2 terms a round, a pass without it as many as there are
    # lanes.
    if left <= RADIX and right <= RADIX and left + right < 2 * max(<uint64_t>size, <uint64_t>LANES):
        permute_few(
            places, <uint32_t>start, size, <uint32_t>count, <uint32_t>left, <uint32_t>right,
            keys, rounds, out
        )
        return
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


def beyond(cnp.ndarray places not None, uint64_t count):
    """Return the first place that is not in the order, or -1."""
    cdef const int64_t* given = <const int64_t*>cnp.PyArray_DATA(places)
    cdef Py_ssize_t size = cnp.PyArray_SIZE(places), item
    cdef bint found = False
    for item in range(size):
        found |= <uint64_t>given[item] >= count
    if found:
        for item in range(size):
            if <uint64_t>given[item] >= count:
                return item
    return -1


def permute_many(
    cnp.ndarray places not None, uint64_t count, uint64_t left, uint64_t right,
    bytes keys not None, cnp.ndarray out not None
):
    """Write the indices at many places of the order."""
    cdef uint64_t[MOST_ROUNDS] round_keys
    cdef Py_ssize_t rounds = read_keys(keys, round_keys), size = cnp.PyArray_SIZE(out)
    cdef const int64_t* given = <const int64_t*>cnp.PyArray_DATA(places)
    cdef int64_t* found = <int64_t*>cnp.PyArray_DATA(out)
    with nogil:
        permute(given, 0, size, count, left, right, round_keys, rounds, found)


def permute_block(
    uint64_t start, uint64_t count, uint64_t left, uint64_t right,
    bytes keys not None, cnp.ndarray out not None
):
    """Write the indices at consecutive places of the order."""
    cdef uint64_t[MOST_ROUNDS] round_keys
    cdef Py_ssize_t rounds = read_keys(keys, round_keys), size = cnp.PyArray_SIZE(out)
    cdef int64_t* found = <int64_t*>cnp.PyArray_DATA(out)
    with nogil:
        permute(NULL, start, size, count, left, right, round_keys, rounds, found)
