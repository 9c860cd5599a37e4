"""Gathering rows, compiled. The door, `fuel.kernels.gather`, describes and checks."""

cimport numpy as cnp
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_AsLongLong, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t

from fuel.kernels._arithmetic cimport Program, fuel_program

from numpy import memmap as _memmap

from fuel.kernels._memory import empty as _empty
from fuel.kernels._status import must_repeat as _must_repeat

cnp.import_array()

cdef extern from "_gather.h":
    int64_t fuel_find_outside(const int64_t* rows, int64_t count, int64_t limit) noexcept nogil
    void fuel_gather_copy(
        const char* source, const int64_t* rows, int64_t count, int64_t row_bytes, int aligned,
        char* out
    ) noexcept nogil
    int fuel_gather_apply(
        const fuel_program* program, const char* source, const int64_t* rows, int64_t count,
        char* out
    ) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    bint PyDataType_REFCHK(cnp.dtype dtype)


cdef inline bint plain(object value):
    """Whether it is an array whose elements are where C looks for them."""
    return (
        (cnp.PyArray_CheckExact(value) or type(value) is _memmap)
        and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value)
        and cnp.PyArray_ISALIGNED(<cnp.ndarray>value)
    )


cdef inline bint is_index_vector(object value):
    """Whether it is a vector of int64 in this machine's order of bytes, one after the other."""
    return (
        cnp.PyArray_CheckExact(value)
        and cnp.PyArray_NDIM(<cnp.ndarray>value) == 1
        and cnp.PyArray_TYPE(<cnp.ndarray>value) == cnp.NPY_INT64
        and plain(value)
        and cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>value)
    )


cdef bint fits(cnp.ndarray source, Program program):
    """Whether a chain is for the rows of a source."""
    cdef Py_ssize_t axis
    if source.ndim != len(program.shape) + 1:
        return False
    for axis in range(len(program.shape)):
        if source.shape[axis + 1] != <Py_ssize_t>program.shape[axis]:
            return False
    return source.descr is program.input or cnp.PyArray_EquivTypes(source.descr, program.input)


cdef int64_t row_size(cnp.ndarray source):
    """The bytes of a row. (The stride of an array with a single row may be anything.)"""
    cdef int64_t size = source.itemsize
    cdef int axis
    for axis in range(1, source.ndim):
        size *= source.shape[axis]
    return size


cdef tuple batch_shape(cnp.ndarray source, Py_ssize_t count):
    """The shape of so many rows. (Each batch needs one: NumPy's own tuple would cost more.)"""
    cdef tuple shape = PyTuple_New(source.ndim)
    cdef Py_ssize_t axis
    cdef object length
    for axis in range(source.ndim):
        length = source.shape[axis] if axis else count
        Py_INCREF(length)
        PyTuple_SET_ITEM(shape, axis, length)
    return shape


cdef int run(
    cnp.ndarray source, const int64_t* rows, int64_t count, Program program, char* out
):
    """Write the rows, and return the status of the arithmetic."""
    cdef const char* data = cnp.PyArray_BYTES(source)
    cdef int64_t row_bytes = row_size(source)
    cdef int status = 0
    if program is not None and program.program.steps:
        with nogil:
            status = fuel_gather_apply(&program.program, data, rows, count, out)
    else:
        with nogil:
            fuel_gather_copy(
                data, rows, count, row_bytes,
                (<size_t>data | <size_t>out) % <size_t>max(row_bytes, 1) == 0, out
            )
    return status


def gather(object source, object rows, object arithmetic):
    """Return a new batch, or None where the door has to look at it more closely."""
    cdef cnp.ndarray array, indices, out
    cdef Program program = None
    cdef cnp.dtype dtype
    cdef int status
    if not plain(source):
        return None
    array = source
    if type(rows) is list:
        rows = read_rows(rows, array.shape[0] if array.ndim else 0)
    if not is_index_vector(rows) or array.ndim == 0:
        return None
    indices = rows
    dtype = array.descr
    if arithmetic is not None:
        candidate = getattr(arithmetic, "_program", None)
        if type(candidate) is not Program or not fits(array, <Program>candidate):
            return None
        program = candidate
        dtype = program.dtype
    if PyDataType_REFCHK(dtype) or not dtype.itemsize:
        return None
    if fuel_find_outside(
        <const int64_t*>cnp.PyArray_DATA(indices), indices.shape[0], array.shape[0]
    ) >= 0:
        return None
    out = _empty(batch_shape(array, indices.shape[0]), dtype)
    status = run(
        array, <const int64_t*>cnp.PyArray_DATA(indices), indices.shape[0], program,
        cnp.PyArray_BYTES(out)
    )
    return None if status and _must_repeat(status) else out


def fill(
    cnp.ndarray source not None, cnp.ndarray rows not None, Program program,
    cnp.ndarray out not None
):
    """Write rows that are known to be there into an array, and return the status."""
    return run(
        source, <const int64_t*>cnp.PyArray_DATA(rows), rows.shape[0], program,
        cnp.PyArray_BYTES(out)
    )


def find_outside(cnp.ndarray rows not None, int64_t limit):
    """Return the place of the first row beyond the limit, or -1."""
    return fuel_find_outside(<const int64_t*>cnp.PyArray_DATA(rows), rows.shape[0], limit)


def read_rows(list request not None, int64_t limit):
    """Return a list of integers as a vector, or None where one is no plain index."""
    cdef cnp.npy_intp count = PyList_GET_SIZE(request), place
    cdef cnp.ndarray rows = cnp.PyArray_EMPTY(1, &count, cnp.NPY_INT64, 0)
    cdef int64_t* out = <int64_t*>cnp.PyArray_DATA(rows)
    cdef int64_t value
    cdef PyObject* item
    for place in range(count):
        item = PyList_GET_ITEM(request, place)
        if not PyLong_CheckExact(<object>item):
            return None
        try:
            value = PyLong_AsLongLong(<object>item)
        except OverflowError:
            return None
        if not 0 <= value < limit:
            return None
        out[place] = value
    return rows
