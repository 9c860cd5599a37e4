"""Objects in a list, compiled. The door, `fuel.kernels.objects`, describes and checks."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.list cimport PyList_CheckExact, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_GET_LENGTH
from libc.stdint cimport int64_t

cnp.import_array()

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define FUEL_LOOK_AT(address) __builtin_prefetch(address, 1)
    #else
    #define FUEL_LOOK_AT(address) ((void)0)
    #endif
    """
    void FUEL_LOOK_AT(const void* address) noexcept nogil

cdef extern from "Python.h":
    PyObject** items_of "PySequence_Fast_ITEMS"(list items)

cdef extern from "numpy/arrayobject.h":
    bint is_array "PyArray_CheckExact"(PyObject* item)
    cnp.npy_intp* shape_of "PyArray_DIMS"(cnp.PyArrayObject* array)
    int axes_of "PyArray_NDIM"(cnp.PyArrayObject* array)

cdef enum:
    # So many objects are asked for before they are needed: the count of references of an object
    # that was not used for long lies far away in memory.
    AHEAD = 12


def take(container, rows):
    """Return the objects at some places; None if these are not all there, or the forms are others.
    """
    cdef PyObject** items
    cdef Py_ssize_t length, number, count
    cdef const int64_t* row
    cdef cnp.ndarray places
    cdef list found
    cdef object item
    if type(rows) is not cnp.ndarray:
        return None
    places = rows
    if (
        cnp.PyArray_NDIM(places) != 1
        or cnp.PyArray_TYPE(places) != cnp.NPY_INT64
        or cnp.PyArray_ISBYTESWAPPED(places)
        or not cnp.PyArray_IS_C_CONTIGUOUS(places)
        or not cnp.PyArray_ISALIGNED(places)
    ):
        return None
    # Before anything is looked at: a new list may start a collection of garbage, and that
    # anybody's code, which may change the container.
    count = cnp.PyArray_DIM(places, 0)
    found = PyList_New(count)
    if type(container) is list:
        items, length = items_of(container), PyList_GET_SIZE(container)
    elif (
        type(container) is cnp.ndarray
        and cnp.PyArray_TYPE(container) == cnp.NPY_OBJECT
        and cnp.PyArray_NDIM(container) == 1
        and cnp.PyArray_IS_C_CONTIGUOUS(container)
    ):
        items = <PyObject**>cnp.PyArray_DATA(container)
        length = cnp.PyArray_DIM(container, 0)
    else:
        return None
    row = <const int64_t*>cnp.PyArray_DATA(places)
    for number in range(count):
        if not 0 <= row[number] < length:
            return None
        if number < AHEAD:
            FUEL_LOOK_AT(items[row[number]])
    for number in range(count):
        if number + AHEAD < count:
            FUEL_LOOK_AT(items[row[number + AHEAD]])
        # A slot of an array of objects that nothing was put into stands for None.
        item = None if items[row[number]] == NULL else <object>items[row[number]]
        Py_INCREF(item)
        PyList_SET_ITEM(found, number, item)
    return found


def lengths(list container not None, int64_t[::1] out not None):
    """Write how long each object is; False if some are of no kind that is known to have a length.
    """
    cdef PyObject** items = items_of(container)
    cdef Py_ssize_t number, count = PyList_GET_SIZE(container), near
    cdef object item
    for number in range(min(count, AHEAD)):
        FUEL_LOOK_AT(items[number])
    # The shape of an array lies in another place than its head: that is asked for first, then it.
    for number in range(count):
        near = number + AHEAD // 2
        if number + AHEAD < count:
            FUEL_LOOK_AT(items[number + AHEAD])
        if near < count and is_array(items[near]):
            FUEL_LOOK_AT(shape_of(<cnp.PyArrayObject*>items[near]))
        if is_array(items[number]):
            if axes_of(<cnp.PyArrayObject*>items[number]) == 0:
                return False
            out[number] = shape_of(<cnp.PyArrayObject*>items[number])[0]
            continue
        item = <object>items[number]
        if PyList_CheckExact(item):
            out[number] = PyList_GET_SIZE(item)
        elif PyTuple_CheckExact(item):
            out[number] = PyTuple_GET_SIZE(item)
        elif PyUnicode_CheckExact(item):
            out[number] = PyUnicode_GET_LENGTH(item)
        elif PyBytes_CheckExact(item):
            out[number] = PyBytes_GET_SIZE(item)
        else:
            return False
    return True
