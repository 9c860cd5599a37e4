"""Elements of variable length in HDF5's global heap, compiled.

The door, `fuel.kernels.heap`, describes, and checks types; what the bytes say is checked here.
Objects are made first and filled then, without the interpreter's lock: the file may have to be read
for it.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

cnp.import_array()

cdef extern from "_heap.h":
    ctypedef struct fuel_wish:
        pass
    ctypedef struct fuel_heap:
        const uint8_t* file
        int64_t size
        int64_t* starts
        int64_t* lengths
    ctypedef struct fuel_piece:
        const uint8_t* from_ "from"
        char* to
        int64_t bytes
    int64_t fuel_locate(
        const fuel_heap* heap, const uint8_t* descriptors, int64_t count, uint64_t base,
        int64_t item, fuel_wish* wishes
    ) noexcept nogil
    int64_t fuel_find_loose(const fuel_heap* heap, int64_t count, int64_t item) noexcept nogil
    void fuel_copy_pieces(const fuel_piece* pieces, int64_t count) noexcept nogil

cdef extern from *:
    """
    /* Takes over a reference to the type, as NumPy does. */
    static inline PyObject *fuel_vector(PyArray_Descr *descr, npy_intp length)
    {
        Py_INCREF(descr);
        return PyArray_NewFromDescr(&PyArray_Type, descr, 1, &length, NULL, NULL, 0, NULL);
    }
    /* Puts an object into a slot of an array of objects. */
    static inline void fuel_put(PyObject **slot, PyObject *object)
    {
        PyObject *before = *slot;
        Py_INCREF(object);
        *slot = object;
        Py_XDECREF(before);
    }
    """
    cnp.ndarray fuel_vector(cnp.dtype descr, cnp.npy_intp length)
    void fuel_put(PyObject** slot, object value)


cdef void* room(int64_t count, size_t size) except NULL:
    cdef void* found = malloc(<size_t>(count + 1) * size)
    if found == NULL:
        raise MemoryError(f"no memory for the places of {count} elements; ask for fewer at once")
    return found


cdef void look_at(
    fuel_heap* heap, cnp.ndarray file, cnp.ndarray starts, cnp.ndarray lengths
) noexcept:
    heap.file, heap.size = <const uint8_t*>cnp.PyArray_DATA(file), cnp.PyArray_DIM(file, 0)
    heap.starts = <int64_t*>cnp.PyArray_DATA(starts)
    heap.lengths = <int64_t*>cnp.PyArray_DATA(lengths)


def locate(
    cnp.ndarray file not None, cnp.ndarray descriptors not None, uint64_t base, int64_t item,
    cnp.ndarray starts not None, cnp.ndarray lengths not None
):
    """Write where elements are, and return how many of them are odd."""
    cdef fuel_heap heap
    cdef int64_t count = cnp.PyArray_DIM(starts, 0), odd
    cdef const uint8_t* described = <const uint8_t*>cnp.PyArray_DATA(descriptors)
    cdef fuel_wish* wishes = <fuel_wish*>room(count, sizeof(fuel_wish))
    look_at(&heap, file, starts, lengths)
    with nogil:
        odd = fuel_locate(&heap, described, count, base, item, wishes)
        free(wishes)
    return odd


def find_loose(
    cnp.ndarray file not None, cnp.ndarray starts not None, cnp.ndarray lengths not None,
    int64_t item
):
    """Return the place of the first element that is not inside of the file, or -1."""
    cdef fuel_heap heap
    look_at(&heap, file, starts, lengths)
    return fuel_find_loose(&heap, cnp.PyArray_DIM(starts, 0), item)


def take_bytes(
    cnp.ndarray file not None, cnp.ndarray starts not None, cnp.ndarray lengths not None
):
    """Return elements as bytes, or None where one is not inside of the file."""
    cdef fuel_heap heap
    cdef int64_t count = cnp.PyArray_DIM(starts, 0), k, start, length
    cdef list found = PyList_New(count)
    cdef fuel_piece* pieces = <fuel_piece*>room(count, sizeof(fuel_piece))
    cdef object element
    cdef bint whole = True
    try:
        look_at(&heap, file, starts, lengths)
        for k in range(count):
            start, length = heap.starts[k], heap.lengths[k]
            if start < 0 or length < 0 or length > heap.size or start > heap.size - length:
                whole = False
                start = length = 0
            element = PyBytes_FromStringAndSize(NULL, length)
            Py_INCREF(element)
            PyList_SET_ITEM(found, k, element)
            pieces[k].from_, pieces[k].to = heap.file + start, PyBytes_AS_STRING(element)
            pieces[k].bytes = length
        with nogil:
            fuel_copy_pieces(pieces, count)
    finally:
        free(pieces)
    return found if whole else None


def take_arrays(
    cnp.ndarray file not None, cnp.ndarray starts not None, cnp.ndarray lengths not None,
    cnp.dtype dtype not None
):
    """Return elements as a vector of vectors, or None where one is not inside of the file."""
    cdef fuel_heap heap
    cdef int64_t count = cnp.PyArray_DIM(starts, 0), k, start, length, item = dtype.itemsize
    cdef cnp.npy_intp shape = count
    cdef cnp.ndarray found = cnp.PyArray_EMPTY(1, &shape, cnp.NPY_OBJECT, 0), element
    cdef PyObject** slots = <PyObject**>cnp.PyArray_DATA(found)
    cdef fuel_piece* pieces = <fuel_piece*>room(count, sizeof(fuel_piece))
    cdef bint whole = True
    try:
        look_at(&heap, file, starts, lengths)
        for k in range(count):
            start, length = heap.starts[k], heap.lengths[k]
            if start < 0 or length < 0 or length > heap.size or start > heap.size - length:
                whole = False
                start = length = 0
            if length % item:
                whole = False
                length = 0
            element = fuel_vector(dtype, length // item)
            fuel_put(slots + k, element)
            pieces[k].from_, pieces[k].to = heap.file + start, cnp.PyArray_BYTES(element)
            pieces[k].bytes = length
        with nogil:
            fuel_copy_pieces(pieces, count)
    finally:
        free(pieces)
    return found if whole else None
