"""Objects out of a list, compiled. The door, `fuel.kernels.objects`, describes and checks."""

cimport numpy as cnp
from cpython.list cimport PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
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
    if type(rows) is not cnp.ndarray:
        return None
    places = rows
    if (
        cnp.PyArray_NDIM(places) != 1
        or cnp.PyArray_TYPE(places) != cnp.NPY_INT64
        or cnp.PyArray_ISBYTESWAPPED(places)
        or not cnp.PyArray_IS_C_CONTIGUOUS(places)
    ):
        return None
    row, count = <const int64_t*>cnp.PyArray_DATA(places), cnp.PyArray_DIM(places, 0)
    for number in range(count):
        if not 0 <= row[number] < length:
            return None
        if number < AHEAD:
            FUEL_LOOK_AT(items[row[number]])
    found = PyList_New(count)
    for number in range(count):
        if number + AHEAD < count:
            FUEL_LOOK_AT(items[row[number + AHEAD]])
        # A slot of an array of objects that nothing was put into stands for None.
        item = None if items[row[number]] == NULL else <object>items[row[number]]
        Py_INCREF(item)
        PyList_SET_ITEM(found, number, item)
    return found
