"""Recycled memory for arrays, compiled. The door, `fuel.kernels.memory`, describes and checks."""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.ref cimport Py_INCREF

cnp.import_array()

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef extern from "_memory.h":
    ctypedef struct fuel_block:
        size_t capacity
        void* raw
    fuel_block* fuel_take(size_t size)
    void fuel_give(fuel_block* block)
    void* fuel_data(fuel_block* block)
    void fuel_shrink(size_t limit)
    void fuel_after_fork()
    void fuel_leave_region()
    bint fuel_in_region(const fuel_block* block)
    void FUEL_LOCK()
    void FUEL_UNLOCK()
    char* REGION_BASE "fuel_region.base"
    size_t REGION_CAPACITY "fuel_region.capacity"
    size_t REGION_RESERVED "fuel_region.reserved"
    size_t REGION_BUMP "fuel_region.bump"
    size_t REGION_REFUSED "fuel_region.refused"
    int REGION_FILE "fuel_region.file"
    size_t POOL_LIMIT "fuel_pool.limit"
    size_t POOL_KEPT "fuel_pool.kept"
    size_t POOL_KEPT_BLOCKS "fuel_pool.kept_blocks"
    size_t POOL_USED "fuel_pool.used"
    size_t POOL_USED_BLOCKS "fuel_pool.used_blocks"
    size_t POOL_RECYCLED "fuel_pool.recycled"
    size_t POOL_FRESH "fuel_pool.fresh"

from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* obj)
    PyObject* PyList_GET_ITEM(object list, Py_ssize_t index)

cdef extern from *:
    """
    static inline PyObject *fuel_array_base(PyObject *array)
    {
        return PyArray_BASE((PyArrayObject *)array);
    }
    """
    PyObject* array_base "fuel_array_base"(PyObject* array)

cdef extern from *:
    """
    /* Takes over the reference to the type, as NumPy does. */
    static inline PyObject *fuel_array(PyArray_Descr *descr, int axes, npy_intp *shape, void *data)
    {
        return PyArray_NewFromDescr(&PyArray_Type, descr, axes, shape, NULL, data,
                                    NPY_ARRAY_CARRAY, NULL);
    }
    """
    cnp.ndarray fuel_array(cnp.dtype descr, int axes, cnp.npy_intp* shape, void* data)

cdef enum:
    MOST_AXES = 64  # what NumPy 2 can have; it refuses by itself what its version cannot


@cython.final
@cython.freelist(32)
@cython.no_gc
cdef class Block:
    """What arrays hold on to: when the last of them goes, the memory goes back to the pool."""

    cdef fuel_block* block

    def __cinit__(self):
        self.block = NULL

    def __dealloc__(self):
        if self.block != NULL:
            fuel_give(self.block)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        # NumPy asks for it to learn whether an array may be made writable again.
        if self.block == NULL:
            raise BufferError("there is no memory behind this; arrays come from empty()")
        PyBuffer_FillInfo(
            buffer, self, fuel_data(self.block), <Py_ssize_t>self.block.capacity, 0, flags
        )


cdef inline size_t count_bytes(tuple shape, size_t itemsize, cnp.npy_intp* dims) except? 0:
    """Write the shape as C integers, and return the number of bytes it takes."""
    cdef Py_ssize_t axis, length
    cdef size_t total = itemsize, most = <size_t>PY_SSIZE_T_MAX
    cdef bint empty = False
    if len(shape) > MOST_AXES:
        raise ValueError(f"`shape` must have at most {MOST_AXES} axes, got {len(shape)}")
    for axis in range(len(shape)):
        length = shape[axis]
        if length < 0:
            raise ValueError(
                f"`shape` must have no negative lengths, got {shape}; check what it was "
                "computed from"
            )
        dims[axis] = length
        if length == 0:
            empty = True
        elif total > most // <size_t>length:
            raise ValueError(
                f"an array of shape {shape} with {itemsize} bytes an element is larger than "
                "memory can be addressed; ask for less at once"
            )
        else:
            total *= <size_t>length
    return 0 if empty else total


def empty(tuple shape not None, cnp.dtype dtype not None):
    """Return a new array over a block of the pool."""
    cdef cnp.npy_intp[MOST_AXES] dims
    cdef Block owner
    cdef size_t size = count_bytes(shape, <size_t>dtype.itemsize, dims)
    owner = Block.__new__(Block)
    owner.block = fuel_take(size)
    if owner.block == NULL:
        raise MemoryError(
            f"no memory for an array of shape {shape} and {size} bytes; use smaller batches"
        )
    Py_INCREF(dtype)
    array = fuel_array(dtype, <int>len(shape), dims, fuel_data(owner.block))
    cnp.set_array_base(array, owner)
    return array


def set_limit(size_t limit):
    """Keep at most so many bytes from now on."""
    global POOL_LIMIT
    FUEL_LOCK()
    POOL_LIMIT = limit
    fuel_shrink(limit)
    FUEL_UNLOCK()


def trim():
    """Give back all that is kept, and return how many bytes that were."""
    FUEL_LOCK()
    cdef size_t before = POOL_KEPT
    fuel_shrink(0)
    FUEL_UNLOCK()
    return before


def statistics():
    """Return the counters."""
    FUEL_LOCK()
    cdef size_t limit = POOL_LIMIT, kept = POOL_KEPT, kept_blocks = POOL_KEPT_BLOCKS
    cdef size_t used = POOL_USED, used_blocks = POOL_USED_BLOCKS
    cdef size_t recycled = POOL_RECYCLED, fresh = POOL_FRESH
    FUEL_UNLOCK()
    return limit, kept, kept_blocks, used, used_blocks, recycled, fresh


def use_region(unsigned char[::1] region not None, int file):
    """Take memory from a region from now on; the caller keeps it mapped for ever."""
    global REGION_BASE, REGION_CAPACITY, REGION_RESERVED, REGION_BUMP, REGION_FILE
    # For ever: blocks of it may be given back when everything else is gone.
    Py_INCREF(region)
    FUEL_LOCK()
    fuel_leave_region()
    REGION_FILE = file
    REGION_CAPACITY = <size_t>region.shape[0]
    REGION_BASE = <char*>&region[0]
    FUEL_UNLOCK()


def region_statistics():
    """Return the bytes of the region, those reserved and those given out, and the refusals."""
    return REGION_CAPACITY, REGION_RESERVED, REGION_BUMP, REGION_REFUSED


def places(list arrays not None):
    """Return where in the region each array lies that nobody else refers to; -1 for others."""
    cdef list found = []
    cdef Py_ssize_t number, offset
    cdef PyObject* item
    cdef PyObject* base
    for number in range(PyList_GET_SIZE(arrays)):
        item = PyList_GET_ITEM(arrays, number)
        offset = -1
        if cnp.PyArray_CheckExact(<object>item) and Py_REFCNT(item) == 1:
            base = array_base(item)
            # A view of an array that is held by nobody else.
            if base != NULL and cnp.PyArray_CheckExact(<object>base) and Py_REFCNT(base) == 1:
                base = array_base(base)
            if base != NULL and type(<object>base) is Block and Py_REFCNT(base) == 1:
                offset = place_of(<Block><object>base, <cnp.ndarray><object>item)
        found.append(offset)
    return found


cdef Py_ssize_t place_of(Block block, cnp.ndarray array):
    cdef char* first = <char*>cnp.PyArray_DATA(array)
    if block.block == NULL or block.block.raw != NULL or not fuel_in_region(block.block):
        return -1
    if not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return -1
    return first - REGION_BASE


def after_fork():
    """Make the pool usable in a new child, whatever other threads were doing in the parent."""
    fuel_after_fork()
