"""Rows of unequal lengths, compiled. The door, `fuel.kernels.ragged`, describes and checks.

`scan` and its like read arrays through NumPy's C interface, and return None for what is not worth
a loop of its own: the door then takes the reference.
"""

from cpython.list cimport PyList_AsTuple
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
cimport numpy as cnp

cnp.import_array()

cdef extern from "_rows.h":
    ctypedef struct fuel_rows_shape:
        PyObject* teller
        Py_ssize_t longest
        Py_ssize_t shortest
        Py_ssize_t total
    int fuel_is_plain(cnp.ndarray array)
    int fuel_uniform(PyObject** items, Py_ssize_t count)
    int fuel_read_rows(
        PyObject** items, Py_ssize_t count, fuel_row* rows, fuel_rows_shape* shape
    )
    void fuel_pad_rows(
        const fuel_row* rows, Py_ssize_t count, Py_ssize_t unit, Py_ssize_t item,
        Py_ssize_t width, int left, const char* fill, char* out,
        const char* one, Py_ssize_t mask_item, char* mask
    ) noexcept nogil
    void fuel_join_rows(
        const fuel_row* rows, Py_ssize_t count, Py_ssize_t unit, char* out
    ) noexcept nogil

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object sequence)

cdef extern from "numpy/arrayobject.h":
    list PyArray_ToList(cnp.ndarray array)

cdef enum:
    # Below this many bytes the work is done before another thread could be let in: giving the
    # interpreter's lock away and waiting for it again costs more than holding it.
    WORTH_RELEASING = 65536


cdef class Rows:
    """Where rows lie, and how long each is. The objects that own the memory are kept."""

    def __cinit__(self):
        self.rows = NULL

    def __dealloc__(self):
        PyMem_Free(self.rows)

    cdef int make(self, Py_ssize_t count) except -1:
        self.count = count
        self.rows = <fuel_row*>PyMem_Malloc(max(count, 1) * sizeof(fuel_row))
        if self.rows == NULL:
            raise MemoryError()
        return 0

    cdef int learn(self, cnp.ndarray teller, int first) except -1:
        """Take type and shape from an array whose axes behind `first` are those of an element."""
        cdef int axis
        self.dtype = teller.dtype
        self.item = self.unit = teller.itemsize
        self.rest = tuple([teller.shape[axis] for axis in range(first, teller.ndim)])
        for axis in range(first, teller.ndim):
            self.unit *= teller.shape[axis]
        return 0

    cdef int sum_up(self) except -1:
        """Find the longest and the shortest row, and how long all are together."""
        cdef Py_ssize_t i, length
        self.longest = self.total = 0
        self.shortest = self.rows[0].length if self.count else 0
        for i in range(self.count):
            length = self.rows[i].length
            self.total += length
            self.longest = max(self.longest, length)
            self.shortest = min(self.shortest, length)
        return 0

    def lengths(self, int64_t[::1] out not None):
        """Write the length of each row."""
        cdef Py_ssize_t i
        for i in range(self.count):
            out[i] = self.rows[i].length

    def pad(
        self, cnp.ndarray out not None, cnp.ndarray mask, cnp.ndarray fill, cnp.ndarray one,
        bint left
    ):
        """Write all rows into a rectangle, and a mask unless it is None; `fill` None is zeros."""
        cdef char* target = cnp.PyArray_BYTES(out)
        cdef char* told = NULL if mask is None else cnp.PyArray_BYTES(mask)
        cdef const char* padding = NULL
        cdef const char* mark = NULL
        cdef Py_ssize_t size = 0
        cdef Py_ssize_t width = out.shape[1]
        if fill is not None:
            padding = cnp.PyArray_BYTES(fill)
        if one is not None:
            mark, size = cnp.PyArray_BYTES(one), cnp.PyArray_ITEMSIZE(one)
        if self.count * width * self.unit < WORTH_RELEASING:
            fuel_pad_rows(
                self.rows, self.count, self.unit, self.item, width, left, padding, target,
                mark, size, told
            )
            return
        with nogil:
            fuel_pad_rows(
                self.rows, self.count, self.unit, self.item, width, left, padding, target,
                mark, size, told
            )

    def join(self, cnp.ndarray out not None):
        """Write all rows end to end."""
        cdef char* target = cnp.PyArray_BYTES(out)
        if self.total * self.unit < WORTH_RELEASING:
            fuel_join_rows(self.rows, self.count, self.unit, target)
            return
        with nogil:
            fuel_join_rows(self.rows, self.count, self.unit, target)


cdef tuple as_tuple(object sequences):
    """Return the items as they are now: somebody else may change a list in between."""
    if type(sequences) is tuple:
        return <tuple>sequences
    if type(sequences) is list:
        return PyList_AsTuple(sequences)
    return PyList_AsTuple(PyArray_ToList(sequences))


def scan(object sequences not None):
    """Return the rows in a list, tuple, array of objects or dense array; None for any other."""
    cdef fuel_rows_shape shape
    cdef Rows found = Rows.__new__(Rows)
    cdef tuple items
    cdef cnp.ndarray array
    cdef Py_ssize_t i
    if isinstance(sequences, cnp.ndarray):
        array = sequences
        if array.ndim > 1:
            if array.shape[0] == 0 or not fuel_is_plain(array):
                return None
            found.make(array.shape[0])
            found.learn(array, 2)
            found.held = array
            for i in range(found.count):
                found.rows[i].length = array.shape[1]
                found.rows[i].data = cnp.PyArray_BYTES(array) + i * array.strides[0]
            found.sum_up()
            return found
        if cnp.PyArray_TYPE(array) != cnp.NPY_OBJECT or array.ndim == 0:
            return None
    items = as_tuple(sequences)
    if not items:
        return None
    found.make(len(items))
    if not fuel_read_rows(PySequence_Fast_ITEMS(items), found.count, found.rows, &shape):
        return None
    found.held = items
    found.learn(<cnp.ndarray>shape.teller, 1)
    found.longest, found.shortest, found.total = shape.longest, shape.shortest, shape.total
    return found


def scan_flat(
    cnp.ndarray values not None, const int64_t[::1] offsets not None, const int64_t[::1] wanted
):
    """Return the rows between offsets into one array; None where one of them cannot be."""
    cdef Rows found = Rows.__new__(Rows)
    cdef Py_ssize_t i
    cdef int64_t row, limit = offsets.shape[0] - 1, start, stop
    if not fuel_is_plain(values):
        return None
    found.learn(values, 1)
    found.make(limit if wanted is None else wanted.shape[0])
    for i in range(found.count):
        row = i if wanted is None else wanted[i]
        if row < 0 or row >= limit:
            return None
        start, stop = offsets[row], offsets[row + 1]
        if start < 0 or stop < start or stop > values.shape[0]:
            return None
        found.rows[i].data = cnp.PyArray_BYTES(values) + start * found.unit
        found.rows[i].length = stop - start
    found.held = values
    found.sum_up()
    return found


def scan_dense(cnp.ndarray array not None, const int64_t[::1] lengths not None, bint left):
    """Return the rows that padding made a rectangle of; None for an array of another kind."""
    cdef Rows found = scan(array)
    cdef Py_ssize_t i
    if found is None:
        return None
    for i in range(found.count):
        if left:
            found.rows[i].data += (found.rows[i].length - lengths[i]) * found.unit
        found.rows[i].length = lengths[i]
    found.sum_up()
    return found


def uniform(tuple items not None):
    """Tell whether all items are arrays of one shape; None where some are no arrays."""
    cdef int found = fuel_uniform(PySequence_Fast_ITEMS(items), len(items))
    return None if found < 0 else found > 0
