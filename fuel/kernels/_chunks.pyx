"""Rows out of decoded chunks, compiled. The door, `fuel.kernels.chunks`, describes and explains.

What does not fit is checked here, so that a small batch costs little; what is wrong with it the
door finds out.
"""

cimport numpy as cnp
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cnp.import_array()

cdef extern from "_chunks.h":
    ctypedef struct fuel_tiling:
        const int64_t* pointers
        const int64_t* rows
        const int64_t* places
        const int64_t* runs
        uint8_t* touched
        char* out
        int64_t chunks
        int64_t count
        int64_t chunk_rows
        int64_t tiles
        int64_t run_count
        int64_t chunk_row_bytes
        int64_t out_rows
        int64_t out_row_bytes
    ctypedef struct fuel_spot:
        pass
    enum:
        FUEL_ODD
        FUEL_NO_ROOM
    int fuel_runs_fit(const fuel_tiling* job) noexcept nogil
    int fuel_find_spots(const fuel_tiling* job, fuel_spot* spots) noexcept nogil
    int64_t fuel_find_missing(
        const fuel_tiling* job, const fuel_spot* spots, int64_t* absent
    ) noexcept nogil
    int64_t fuel_count_absent_rows(const fuel_tiling* job, const fuel_spot* spots) noexcept nogil
    int fuel_gather_tiles(const fuel_tiling* job, fuel_spot* spots) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    bint PyDataType_REFCHK(cnp.dtype dtype)

cdef enum:
    FEW = 256  # so many rows need no memory of their own


cdef inline bint is_plain(object value, int type_number, int axes):
    """Whether it is an array of this type that C can read as it is."""
    return (
        isinstance(value, cnp.ndarray)
        and cnp.PyArray_TYPE(<cnp.ndarray>value) == type_number
        and cnp.PyArray_NDIM(<cnp.ndarray>value) == axes
        and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value)
        and cnp.PyArray_ISALIGNED(<cnp.ndarray>value)
        and cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>value)
    )


cdef inline const int64_t* numbers(object value) noexcept:
    return <const int64_t*>cnp.PyArray_DATA(<cnp.ndarray>value)


cdef bint set_rows(
    fuel_tiling* job, object pointers, object rows, int64_t chunk_rows, int64_t tiles,
    object touched
):
    """Write down what is asked for; False where it has to be looked at more closely."""
    if not (is_plain(pointers, cnp.NPY_INT64, 1) and is_plain(rows, cnp.NPY_INT64, 1)):
        return False
    if chunk_rows < 1 or tiles < 1:
        return False
    job.pointers, job.rows, job.places = numbers(pointers), numbers(rows), NULL
    job.chunks = cnp.PyArray_DIM(pointers, 0) // tiles
    job.count, job.chunk_rows, job.tiles = cnp.PyArray_DIM(rows, 0), chunk_rows, tiles
    job.out, job.touched = NULL, NULL
    job.chunk_row_bytes = job.out_row_bytes = job.out_rows = 0
    if job.chunks * tiles != cnp.PyArray_DIM(pointers, 0):
        return False
    if touched is not None:
        if not (is_plain(touched, cnp.NPY_UINT8, 1) and cnp.PyArray_ISWRITEABLE(touched)):
            return False
        if cnp.PyArray_DIM(touched, 0) < job.chunks:
            return False
        job.touched = <uint8_t*>cnp.PyArray_DATA(touched)
    return True


cdef inline bint is_apart(const fuel_tiling* job, object value):
    """Whether writing the batch leaves an array as it is."""
    cdef const char* first = cnp.PyArray_BYTES(value)
    cdef int64_t size = job.out_rows * job.out_row_bytes
    return (
        size == 0 or first >= job.out + size or first + cnp.PyArray_NBYTES(value) <= job.out
    )


cdef bint set_copies(
    fuel_tiling* job, object pointers, object rows, object runs, int64_t chunk_row_bytes,
    object out, object places, object touched
):
    """Write down what is to be copied where; False where it has to be looked at more closely."""
    cdef int axis
    if not is_plain(runs, cnp.NPY_INT64, 2) or cnp.PyArray_DIM(runs, 1) != 4:
        return False
    if not isinstance(out, cnp.ndarray) or cnp.PyArray_NDIM(out) == 0:
        return False
    if not (cnp.PyArray_IS_C_CONTIGUOUS(out) and cnp.PyArray_ISWRITEABLE(out)):
        return False
    if PyDataType_REFCHK((<cnp.ndarray>out).descr):
        return False
    if chunk_row_bytes < 0 or chunk_row_bytes > INT64_MAX // job.chunk_rows:
        return False
    job.runs, job.run_count = numbers(runs), cnp.PyArray_DIM(runs, 0)
    job.chunk_row_bytes = chunk_row_bytes
    job.out, job.out_rows = cnp.PyArray_BYTES(out), cnp.PyArray_DIM(out, 0)
    job.out_row_bytes = cnp.PyArray_ITEMSIZE(out)
    for axis in range(1, cnp.PyArray_NDIM(out)):
        job.out_row_bytes *= cnp.PyArray_DIM(out, axis)
    if places is None:
        if job.out_rows != job.count:
            return False
    else:
        if not is_plain(places, cnp.NPY_INT64, 1):
            return False
        if cnp.PyArray_DIM(places, 0) != job.count or not is_apart(job, places):
            return False
        job.places = numbers(places)
    return (
        is_apart(job, pointers) and is_apart(job, rows) and is_apart(job, runs)
        and (touched is None or is_apart(job, touched))
    )


cdef int64_t run(fuel_tiling* job, bint looks, bint copies, int64_t* absent) noexcept nogil:
    """Find the rows; then say what is missing, or copy, or copy if nothing is missing."""
    cdef fuel_spot[FEW] few
    cdef fuel_spot* spots = few
    cdef int64_t found = 0
    if copies and not fuel_runs_fit(job):
        return FUEL_ODD
    if job.count > FEW:
        spots = <fuel_spot*>malloc(<size_t>job.count * sizeof(fuel_spot))
        if spots == NULL:
            return FUEL_NO_ROOM
    found = fuel_find_spots(job, spots)
    if found == 0 and absent != NULL:
        found = fuel_find_missing(job, spots, absent)
    elif found == 0 and looks:
        found = fuel_count_absent_rows(job, spots)
    if found == 0 and copies:
        found = fuel_gather_tiles(job, spots)
    if spots != few:
        free(spots)
    return found


cdef int64_t checked(int64_t found) except? -1:
    if found == FUEL_NO_ROOM:
        raise MemoryError("no memory for the places of the rows; ask for fewer at once")
    return found


def gather(
    object pointers, object rows, int64_t chunk_rows, int64_t tiles, object runs,
    int64_t chunk_row_bytes, object out, object places
):
    """Copy rows; 0 if that was done, a negative number where the door has to look."""
    cdef fuel_tiling job
    cdef int64_t found = FUEL_ODD
    if set_rows(&job, pointers, rows, chunk_rows, tiles, None) and set_copies(
        &job, pointers, rows, runs, chunk_row_bytes, out, places, None
    ):
        with nogil:
            found = run(&job, False, True, NULL)
    return checked(found)


def fetch(
    object pointers, object rows, int64_t chunk_rows, int64_t tiles, object runs,
    int64_t chunk_row_bytes, object out, object places, object touched
):
    """Copy rows if all are there: 0 if so, a negative number where the door has to look."""
    cdef fuel_tiling job
    cdef int64_t found = FUEL_ODD
    if set_rows(&job, pointers, rows, chunk_rows, tiles, touched) and set_copies(
        &job, pointers, rows, runs, chunk_row_bytes, out, places, touched
    ):
        with nogil:
            found = run(&job, True, True, NULL)
    return checked(found)


def missing(object pointers, object rows, int64_t chunk_rows, int64_t tiles, object touched):
    """Return the rows of chunks that are not there, or None where the door has to look."""
    cdef fuel_tiling job
    cdef cnp.npy_intp count
    cdef int64_t found
    cdef cnp.ndarray absent, exact
    if not set_rows(&job, pointers, rows, chunk_rows, tiles, touched):
        return None
    count = job.count
    absent = cnp.PyArray_EMPTY(1, &count, cnp.NPY_INT64, 0)
    with nogil:
        found = run(&job, True, False, <int64_t*>cnp.PyArray_DATA(absent))
    if checked(found) < 0:
        return None
    count = found
    exact = cnp.PyArray_EMPTY(1, &count, cnp.NPY_INT64, 0)
    memcpy(
        cnp.PyArray_DATA(exact), cnp.PyArray_DATA(absent), <size_t>found * sizeof(int64_t)
    )
    return exact
