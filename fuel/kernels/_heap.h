/* Elements of variable length in HDF5's global heap, for `_heap.pyx`.
 *
 * After the HDF5 File Format Specification, "Global Heap": a collection begins with "GCOL", its
 * version (1), three bytes, and its size in eight bytes, all of it included. Objects follow: number,
 * count of references (two bytes each), four bytes, size (eight bytes), and the bytes themselves,
 * filled up to a multiple of eight. An object with the number 0 is what is free, up to the end. All
 * numbers have their low byte first.
 *
 * The bytes may be anything, and may change while they are read: each number is read once, compared
 * with what is there, and only then used.
 */
#ifndef FUEL_HEAP_H
#define FUEL_HEAP_H

#include <stdlib.h>

#include "_arithmetic.h"

#define FUEL_HEAD 16    /* bytes before the objects of a collection, and before those of an object */
#define FUEL_DESCRIBED 16
#define FUEL_NEAR 8     /* so many elements ahead their bytes are asked for */
#define FUEL_NEAR_BYTES 512

typedef struct {
    uint64_t address; /* of the collection, from the beginning of the file */
    int64_t length, place;
    uint32_t number;
} fuel_wish;

typedef struct {
    const uint8_t *file;
    int64_t size;
    int64_t *starts, *lengths;
} fuel_heap;

static inline uint64_t fuel_little(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    int k;
    for (k = 0; k < bytes; k++) value |= (uint64_t)from[k] << 8 * k;
    return value;
}

static inline int fuel_before(const fuel_wish *a, const fuel_wish *b)
{
    return a->address != b->address ? a->address < b->address : a->number < b->number;
}

static int fuel_order_wishes(const void *one, const void *other)
{
    return fuel_before((const fuel_wish *)other, (const fuel_wish *)one)
         - fuel_before((const fuel_wish *)one, (const fuel_wish *)other);
}

/* The first of the wishes with a number, or `count`. */
static int64_t fuel_first_wish(const fuel_wish *wishes, int64_t count, uint32_t number)
{
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (wishes[middle].number < number) low = middle + 1;
        else high = middle;
    }
    return low < count && wishes[low].number == number ? low : count;
}

/* Find the objects of one collection: `wishes` are in order of number. Those that are not there, or
 * have another length, stay as they are: odd. Objects are passed once. */
static void fuel_walk(const fuel_heap *heap, const fuel_wish *wishes, int64_t count)
{
    const uint64_t size = (uint64_t)heap->size, first = wishes[0].address;
    const uint8_t *file = heap->file;
    uint64_t end, at;
    int64_t next = 0, left = count;
    if (size < FUEL_HEAD || first > size - FUEL_HEAD) return;
    if (memcmp(file + first, "GCOL\1", 5)) return;
    end = fuel_little(file + first + 8, 8);
    if (end < FUEL_HEAD || end > size - first) return;
    end += first;
    for (at = first + FUEL_HEAD; left > 0 && end - at >= FUEL_HEAD;) {
        const uint32_t number = (uint32_t)fuel_little(file + at, 2);
        const uint64_t length = fuel_little(file + at + 8, 8);
        at += FUEL_HEAD;
        if (!number || length > end - at) return;
        /* Numbers ascend as a rule: then the next one wished for is known. */
        if (next == count || wishes[next].number != number
            || (next && wishes[next - 1].number == number)) {
            const int ascends = (next == count || number < wishes[next].number)
                             && (!next || number > wishes[next - 1].number);
            if (!ascends) {
                const int64_t found = fuel_first_wish(wishes, count, number);
                if (found < count) next = found;
            }
        }
        if (next < count && wishes[next].number == number) {
            for (; next < count && wishes[next].number == number; next++) {
                const int64_t place = wishes[next].place;
                if (heap->lengths[place] >= 0) continue; /* the first of this number counts */
                left--;
                heap->lengths[place] = 0;
                if ((uint64_t)wishes[next].length != length) continue;
                heap->starts[place] = (int64_t)at;
                heap->lengths[place] = (int64_t)length;
            }
        }
        if (end - at < length + (-length & 7)) return;
        at += length + (-length & 7);
    }
}

/* Write where each element is and how long; -1 and 0 where that is odd. `wishes` has room for all.
 * Returns how many are odd. */
static int64_t fuel_locate(const fuel_heap *heap, const uint8_t *descriptors, int64_t count,
                           uint64_t base, int64_t item, fuel_wish *wishes)
{
    int64_t k, wished = 0, first, odd = 0;
    int sorted = 1;
    for (k = 0; k < count; k++) {
        const uint8_t *from = descriptors + k * FUEL_DESCRIBED;
        const uint64_t elements = fuel_little(from, 4), address = fuel_little(from + 4, 8);
        fuel_wish *wish = wishes + wished;
        heap->starts[k] = heap->lengths[k] = 0;
        if (!address) continue;
        heap->starts[k] = heap->lengths[k] = -1; /* until it is found */
        if (address > UINT64_MAX - base || elements > (uint64_t)INT64_MAX / (uint64_t)item)
            continue;
        wish->address = address + base;
        wish->number = (uint32_t)fuel_little(from + 12, 4);
        wish->length = (int64_t)elements * item;
        wish->place = k;
        if (wished && fuel_before(wish, wish - 1)) sorted = 0;
        wished++;
    }
    if (!sorted) qsort(wishes, (size_t)wished, sizeof(fuel_wish), fuel_order_wishes);
    for (first = 0; first < wished; first = k) {
        const uint64_t address = wishes[first].address;
        for (k = first + 1; k < wished && wishes[k].address == address; k++) { }
        if (k + 3 < wished && wishes[k + 3].address < (uint64_t)heap->size)
            fuel_prefetch((const char *)heap->file + wishes[k + 3].address, 1);
        fuel_walk(heap, wishes + first, k - first);
    }
    for (k = 0; k < count; k++) {
        odd += heap->starts[k] < 0;
        if (heap->lengths[k] < 0) heap->lengths[k] = 0;
    }
    return odd;
}

/* The place of the first element that is not inside of the file, or of which the length is no
 * multiple of `item`; -1 if there is none. */
static int64_t fuel_find_loose(const fuel_heap *heap, int64_t count, int64_t item)
{
    int64_t k;
    for (k = 0; k < count; k++) {
        const int64_t start = heap->starts[k], length = heap->lengths[k];
        if (start < 0 || length < 0 || length > heap->size || start > heap->size - length) return k;
        if (item > 1 && length % item) return k;
    }
    return -1;
}

typedef struct {
    const uint8_t *from;
    char *to;
    int64_t bytes;
} fuel_piece;

static void fuel_copy_pieces(const fuel_piece *pieces, int64_t count)
{
    int64_t k;
    for (k = 0; k < count; k++) {
        if (k + FUEL_NEAR < count) {
            const fuel_piece *near = pieces + k + FUEL_NEAR;
            fuel_prefetch((const char *)near->from,
                          near->bytes < FUEL_NEAR_BYTES ? near->bytes : FUEL_NEAR_BYTES);
        }
        memcpy(pieces[k].to, pieces[k].from, (size_t)pieces[k].bytes);
    }
}

#endif
