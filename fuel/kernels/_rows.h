/* Rows of unequal lengths, for `_ragged.pyx` and `_windows.pyx`: reading them from arrays, padding
   them, putting them end to end. Only `fuel_read_rows` touches Python objects. */

#ifndef FUEL_ROWS_H
#define FUEL_ROWS_H

#include <Python.h>
#include <numpy/arrayobject.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define FUEL_PREFETCH(address) __builtin_prefetch(address)
#else
#define FUEL_PREFETCH(address) ((void)0)
#endif

typedef struct {
    const char *data;
    Py_ssize_t length; /* in elements of the first axis */
} fuel_row;

typedef struct {
    PyArrayObject *teller; /* borrowed: the row that type and shape were taken from */
    Py_ssize_t longest, shortest, total;
} fuel_rows_shape;

/* Whether the numbers of an array can be moved as bytes, and mean the same afterwards. */
static inline int fuel_is_plain(PyArrayObject *array)
{
    const int type = PyArray_TYPE(array);
    return PyArray_NDIM(array) > 0 && PyArray_IS_C_CONTIGUOUS(array) &&
           (PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type) || PyTypeNum_ISDATETIME(type) ||
            type == NPY_STRING || type == NPY_UNICODE) &&
           PyArray_ISNOTSWAPPED(array) && PyArray_ITEMSIZE(array) > 0;
}

static inline int fuel_same_type(PyArrayObject *one, PyArrayObject *other)
{
    PyArray_Descr *a = PyArray_DESCR(one), *b = PyArray_DESCR(other);
    if (a == b)
        return 1;
    if (a->type_num != b->type_num)
        return 0;
    return PyTypeNum_ISNUMBER(a->type_num) || PyTypeNum_ISBOOL(a->type_num) ||
           PyArray_EquivTypes(a, b);
}

static inline int fuel_same_rest(PyArrayObject *one, PyArrayObject *other)
{
    const int axes = PyArray_NDIM(one);
    return axes == PyArray_NDIM(other) &&
           (axes == 1 || !memcmp(PyArray_DIMS(one) + 1, PyArray_DIMS(other) + 1,
                                 (size_t)(axes - 1) * sizeof(npy_intp)));
}

/* Read rows from arrays of one type and one shape behind the first axis. Empty vectors are welcome
   among them whatever their type. Returns 0 where they are anything else. */
static inline int fuel_read_rows(PyObject *const *items, Py_ssize_t count, fuel_row *rows,
                          fuel_rows_shape *shape)
{
    /* The headers of arrays, their shapes and their data lie in three places, none of them in the
       cache. Asked for in turns, one after the other, each would be waited for. */
    for (Py_ssize_t i = 0; i < count; i++) {
        if (i + 8 < count) {
            FUEL_PREFETCH(items[i + 8]);
            FUEL_PREFETCH((const char *)items[i + 8] + 64);
        }
        if (!PyArray_Check(items[i]) || !fuel_is_plain((PyArrayObject *)items[i]))
            return 0;
        FUEL_PREFETCH(PyArray_DIMS((PyArrayObject *)items[i]));
    }
    PyArrayObject *teller = NULL;
    for (Py_ssize_t i = 0; i < count && teller == NULL; i++)
        if (PyArray_SIZE((PyArrayObject *)items[i]) > 0)
            teller = (PyArrayObject *)items[i];
    const int all_empty = teller == NULL;
    if (all_empty)
        teller = (PyArrayObject *)items[0];
    shape->teller = teller;
    shape->longest = shape->total = 0;
    shape->shortest = PY_SSIZE_T_MAX;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyArrayObject *array = (PyArrayObject *)items[i];
        const Py_ssize_t length = PyArray_DIM(array, 0);
        if (!(fuel_same_rest(array, teller) && fuel_same_type(array, teller)) &&
            (all_empty || PyArray_NDIM(array) != 1 || length != 0))
            return 0;
        rows[i].data = PyArray_BYTES(array);
        rows[i].length = length;
        const Py_ssize_t bytes = PyArray_NBYTES(array);
        for (Py_ssize_t at = 0; at < bytes && at < 512; at += 64)
            FUEL_PREFETCH(rows[i].data + at);
        shape->total += length;
        if (length > shape->longest)
            shape->longest = length;
        if (length < shape->shortest)
            shape->shortest = length;
    }
    return 1;
}

/* 1 where all items are arrays of one shape, 0 where their shapes differ, -1 where some are no arrays
   or there are none. */
static inline int fuel_uniform(PyObject *const *items, Py_ssize_t count)
{
    int same = count > 0 ? 1 : -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyArray_Check(items[i]))
            return -1;
        if (same)
            same = PyArray_SAMESHAPE((PyArrayObject *)items[0], (PyArrayObject *)items[i]);
    }
    return same;
}

/* Write one number many times. The copies of constant size become single instructions. */
static inline void fuel_repeat(char *out, const char *number, size_t size, size_t times)
{
#define FUEL_REPEAT(SIZE)                                                                          \
    case SIZE: {                                                                                   \
        char value[SIZE];                                                                          \
        memcpy(value, number, SIZE);                                                               \
        for (size_t i = 0; i < times; i++)                                                         \
            memcpy(out + i * SIZE, value, SIZE);                                                   \
        break;                                                                                     \
    }
    switch (size) {
    case 1:
        memset(out, *number, times);
        break;
        FUEL_REPEAT(2)
        FUEL_REPEAT(4)
        FUEL_REPEAT(8)
        FUEL_REPEAT(16)
    default:
        for (size_t i = 0; i < times; i++)
            memcpy(out + i * size, number, size);
    }
#undef FUEL_REPEAT
}

/* Write rows into a rectangle of `width`, and what tells them from padding beside it. Without
   `fill` the padding is of zero bytes; without `mask` there is none. */
static inline void fuel_pad_rows(const fuel_row *rows, Py_ssize_t count, Py_ssize_t unit, Py_ssize_t item,
                          Py_ssize_t width, int left, const char *fill, char *out,
                          const char *one, Py_ssize_t mask_item, char *mask)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const Py_ssize_t length = rows[i].length, gap = width - length;
        const size_t bytes = (size_t)(length * unit), rest = (size_t)(gap * unit);
        char *data = left ? out + rest : out;
        char *padding = left ? out : out + bytes;
        if (bytes)
            memcpy(data, rows[i].data, bytes);
        if (fill == NULL)
            memset(padding, 0, rest);
        else
            fuel_repeat(padding, fill, (size_t)item, rest / (size_t)item);
        out += bytes + rest;
        if (mask != NULL) {
            const size_t told = (size_t)(length * mask_item), untold = (size_t)(gap * mask_item);
            fuel_repeat(left ? mask + untold : mask, one, (size_t)mask_item, (size_t)length);
            memset(left ? mask : mask + told, 0, untold);
            mask += told + untold;
        }
    }
}

/* Write rows end to end. */
static inline void fuel_join_rows(const fuel_row *rows, Py_ssize_t count, Py_ssize_t unit, char *out)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const size_t bytes = (size_t)(rows[i].length * unit);
        if (bytes)
            memcpy(out, rows[i].data, bytes);
        out += bytes;
    }
}

/* How many windows of this reach begin in a row, one every `step` elements. */
static inline Py_ssize_t fuel_count_windows(Py_ssize_t length, Py_ssize_t reach, Py_ssize_t step)
{
    return length < reach ? 0 : (length - reach) / step + 1;
}

/* Copies of constant size become single instructions; most n-grams are of these sizes. */
static inline void fuel_copy_window(char *out, const char *data, size_t bytes)
{
    switch (bytes) {
    case 4:
        memcpy(out, data, 4);
        break;
    case 8:
        memcpy(out, data, 8);
        break;
    case 12:
        memcpy(out, data, 12);
        break;
    case 16:
        memcpy(out, data, 16);
        break;
    case 24:
        memcpy(out, data, 24);
        break;
    case 32:
        memcpy(out, data, 32);
        break;
    default:
        memcpy(out, data, bytes);
    }
}

/* Write the windows of each row: `width` elements from `offset` behind the beginning of each. */
static inline void fuel_cut_rows(const fuel_row *rows, Py_ssize_t count, Py_ssize_t unit,
                          Py_ssize_t width, Py_ssize_t step, Py_ssize_t offset, Py_ssize_t reach,
                          char *out)
{
    const size_t bytes = (size_t)(width * unit);
    for (Py_ssize_t i = 0; i < count && bytes; i++) {
        const Py_ssize_t windows = fuel_count_windows(rows[i].length, reach, step);
        for (Py_ssize_t number = 0; number < windows; number++, out += bytes)
            fuel_copy_window(out, rows[i].data + (number * step + offset) * unit, bytes);
    }
}

#endif
