/* The blocks behind `fuel.kernels.memory`: aligned, recycled, bounded.
 *
 * Every function is called with the interpreter's lock held; where there is none (free-threaded
 * builds), a mutex of its own takes its place.
 *
 * A block is one piece of malloc's memory: first its header, then, on a boundary of 64 bytes, what
 * the caller sees. A block that is free is on two lists: that of its size class, newest first,
 * because what was used last is still in the processor's caches; and that of all free blocks,
 * from which the oldest go back to malloc when more is kept than the limit allows.
 *
 * In a worker, blocks lie in a region that it shares with its consumer, for as long as there is
 * room: what is calculated there is there for the consumer, without a copy. Such a block has no
 * `raw`, and is on no list but that of its size class. The blocks of a region lie one behind the
 * other, so that those that are free can be joined again (`fuel_join`), which is done before more
 * memory is taken than is in use, and when there is no room. A process that is forked from a worker
 * leaves the region: two that give out the same memory would give it to two callers.
 */
#ifndef FUEL_MEMORY_H
#define FUEL_MEMORY_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#endif

#define FUEL_ALIGNMENT 64
/* Eight sizes for each doubling: at most an eighth of a block lies idle. */
#define FUEL_STEPS 8
#define FUEL_SMALLEST 6 /* the logarithm of the smallest capacity */
#define FUEL_CLASSES (FUEL_STEPS * (64 - FUEL_SMALLEST))
/* From here on pages of 2 MB are asked for, as NumPy does for its own arrays. */
#define FUEL_HUGE ((size_t)4 << 20)
/* The domain under which NumPy's own data appear in tracemalloc. */
#define FUEL_TRACE_DOMAIN 389047

typedef struct fuel_block {
    struct fuel_block *newer, *older;      /* among all free blocks */
    struct fuel_block *above, *below;      /* among the free blocks of this size */
    void *raw;                             /* what malloc gave */
    size_t capacity;
    int size_class;
    int idle;                              /* of a block of the region: nobody has it */
} fuel_block;

#define FUEL_HEADER 64
typedef char fuel_header_fits[sizeof(fuel_block) <= FUEL_HEADER ? 1 : -1];

static struct {
    fuel_block *top[FUEL_CLASSES];
    fuel_block *newest, *oldest;
    size_t limit, kept, kept_blocks, used, used_blocks, recycled, fresh;
} fuel_pool;

/* Smaller arrays are not worth a place of their own in the region. */
#define FUEL_REGION_LEAST 1024
/* How much of the region is reserved at a time: large beside a call to the system. */
#define FUEL_REGION_STEP ((size_t)4 << 20)

static struct {
    char *base;
    size_t capacity, reserved, bump, refused;
    size_t idle, unjoined;                 /* bytes that are free, and those freed since a join */
    int file;                              /* -1 where nothing can be reserved in advance */
    fuel_block *top[FUEL_CLASSES];
} fuel_region;

#ifdef Py_GIL_DISABLED
static PyMutex fuel_mutex;
#define FUEL_LOCK() PyMutex_Lock(&fuel_mutex)
#define FUEL_UNLOCK() PyMutex_Unlock(&fuel_mutex)
#else
#define FUEL_LOCK() ((void)0)
#define FUEL_UNLOCK() ((void)0)
#endif

static inline void *fuel_data(fuel_block *block) { return (char *)block + FUEL_HEADER; }

/* Round a size up to its class; -1 where that is beyond what a pointer can count. */
static inline int fuel_class(size_t size, size_t *capacity)
{
    int power = FUEL_SMALLEST;
    size_t step, steps;
    if (size > (size_t)PTRDIFF_MAX / 2) return -1;
    if (size < ((size_t)1 << FUEL_SMALLEST)) size = (size_t)1 << FUEL_SMALLEST;
    while ((size >> power) > 1) power++;
    step = ((size_t)1 << power) / FUEL_STEPS;
    steps = (size - ((size_t)1 << power) + step - 1) / step;
    *capacity = ((size_t)1 << power) + steps * step;
    return (power - FUEL_SMALLEST) * FUEL_STEPS + (int)steps;
}

static inline void fuel_unlink(fuel_block *block)
{
    if (block->newer) block->newer->older = block->older; else fuel_pool.newest = block->older;
    if (block->older) block->older->newer = block->newer; else fuel_pool.oldest = block->newer;
    if (block->above) block->above->below = block->below;
    else fuel_pool.top[block->size_class] = block->below;
    if (block->below) block->below->above = block->above;
    fuel_pool.kept -= block->capacity;
    fuel_pool.kept_blocks--;
}

/* Give the oldest free blocks back until no more than `limit` bytes are kept. Locked. */
static inline void fuel_shrink(size_t limit)
{
    while (fuel_pool.kept > limit) {
        fuel_block *block = fuel_pool.oldest;
        fuel_unlink(block);
        free(block->raw);
    }
}

/* Make sure that the region's first `end` bytes are backed by memory. Locked. */
static inline int fuel_reserve(size_t end)
{
    size_t wanted;
    if (end > fuel_region.capacity) return 0;
    if (end <= fuel_region.reserved) return 1;
    wanted = (end + FUEL_REGION_STEP - 1) / FUEL_REGION_STEP * FUEL_REGION_STEP;
    if (wanted > fuel_region.capacity) wanted = fuel_region.capacity;
#if defined(__linux__)
    /* Without it, lack of memory would be a signal at the first write. */
    if (fuel_region.file >= 0) {
        int error, attempts = 8;           /* a signal may come in between */
        do error = posix_fallocate(fuel_region.file, (off_t)fuel_region.reserved,
                                   (off_t)(wanted - fuel_region.reserved));
        while (error == EINTR && --attempts);
        if (error) return 0;
    }
#endif
    fuel_region.reserved = wanted;
    return 1;
}

static inline int fuel_in_region(const fuel_block *block)
{
    return fuel_region.base && (char *)block >= fuel_region.base
           && (char *)block < fuel_region.base + fuel_region.capacity;
}

/* Put a block of the region on the list of its size. Locked. */
static inline void fuel_region_put(fuel_block *block)
{
    size_t capacity = 0;
    int size_class = fuel_class(block->capacity, &capacity);
    if (capacity > block->capacity) size_class--;
    block->size_class = size_class;
    block->raw = NULL;
    block->idle = 1;
    block->below = fuel_region.top[size_class];
    fuel_region.top[size_class] = block;
}

/* Make one block of all free ones that lie side by side. Locked. */
static inline void fuel_join(void)
{
    char *at = fuel_region.base, *end = fuel_region.base + fuel_region.bump;
    memset(fuel_region.top, 0, sizeof fuel_region.top);
    fuel_region.idle = fuel_region.unjoined = 0;
    while (at < end) {
        fuel_block *block = (fuel_block *)at;
        at += FUEL_HEADER + block->capacity;
        if (!block->idle) continue;
        while (at < end && ((fuel_block *)at)->idle) {
            const size_t more = FUEL_HEADER + ((fuel_block *)at)->capacity;
            block->capacity += more;
            at += more;
        }
        if (at == end) {
            fuel_region.bump = (size_t)((char *)block - fuel_region.base);
        } else {
            fuel_region_put(block);
            fuel_region.idle += block->capacity;
        }
    }
}

/* Take a block off its list, and give back what of it is not needed. Locked. */
static inline fuel_block *fuel_region_cut(fuel_block *block, size_t need)
{
    fuel_region.top[block->size_class] = block->below;
    fuel_region.idle -= block->capacity;
    block->idle = 0;
    if (block->capacity - need >= FUEL_HEADER + FUEL_REGION_LEAST) {
        fuel_block *rest = (fuel_block *)((char *)block + FUEL_HEADER + need);
        rest->capacity = block->capacity - need - FUEL_HEADER;
        block->capacity = need;
        fuel_region_put(rest);
        fuel_region.idle += rest->capacity;
    }
    return block;
}

/* Return a free block of at most so many classes above, or NULL. Locked. */
static inline fuel_block *fuel_region_find(int size_class, int above, size_t need)
{
    int other = size_class;
    const int end = size_class + above < FUEL_CLASSES ? size_class + above + 1 : FUEL_CLASSES;
    for (; other < end; other++) {
        fuel_block *block = fuel_region.top[other];
        if (block && block->capacity >= need) return fuel_region_cut(block, need);
    }
    return NULL;
}

/* Return a block behind all others, or NULL. Locked. */
static inline fuel_block *fuel_region_append(size_t need, size_t reserved)
{
    fuel_block *block;
    const size_t end = fuel_region.bump + FUEL_HEADER + need;
    if (end > reserved || !fuel_reserve(end)) return NULL;
    block = (fuel_block *)(fuel_region.base + fuel_region.bump);
    fuel_region.bump = end;
    block->raw = NULL;
    block->capacity = need;
    block->size_class = 0;
    block->idle = 0;
    return block;
}

/* Return a block of the region, or NULL where it has no room. Locked. */
static inline fuel_block *fuel_region_take(int size_class, size_t capacity)
{
    fuel_block *block;
    const size_t need = (capacity + FUEL_ALIGNMENT - 1) & ~(size_t)(FUEL_ALIGNMENT - 1);
    if ((block = fuel_region_find(size_class, 0, need))) return block;
    if ((block = fuel_region_append(need, fuel_region.reserved))) return block;
    if ((block = fuel_region_find(size_class, FUEL_STEPS, need))) return block;
    /* As much lies idle as is in use: what is there will do, if need be once it is joined. */
    if (fuel_region.idle * 2 >= fuel_region.bump) {
        if ((block = fuel_region_find(size_class, FUEL_CLASSES, need))) return block;
        if (fuel_region.unjoined) fuel_join();
        if ((block = fuel_region_find(size_class, FUEL_CLASSES, need))) return block;
        if ((block = fuel_region_append(need, fuel_region.reserved))) return block;
    }
    if ((block = fuel_region_append(need, fuel_region.capacity))) return block;
    if (fuel_region.unjoined >= need) fuel_join();
    if ((block = fuel_region_find(size_class, FUEL_CLASSES, need))) return block;
    if ((block = fuel_region_append(need, fuel_region.capacity))) return block;
    fuel_region.refused++;
    return NULL;
}

/* Return a block of at least `size` bytes, or NULL where there is no memory. */
static inline fuel_block *fuel_take(size_t size)
{
    size_t capacity;
    fuel_block *block;
    void *raw;
    const int size_class = fuel_class(size, &capacity);
    if (size_class < 0) return NULL;
    FUEL_LOCK();
    if (fuel_region.base && size >= FUEL_REGION_LEAST) {
        block = fuel_region_take(size_class, capacity);
        if (block) {
            fuel_pool.used += block->capacity;
            fuel_pool.used_blocks++;
            FUEL_UNLOCK();
            PyTraceMalloc_Track(FUEL_TRACE_DOMAIN, (uintptr_t)fuel_data(block), block->capacity);
            return block;
        }
    }
    block = fuel_pool.top[size_class];
    if (block) {
        fuel_unlink(block);
        fuel_pool.recycled++;
        fuel_pool.used += capacity;
        fuel_pool.used_blocks++;
    }
    FUEL_UNLOCK();
    if (!block) {
        raw = malloc(capacity + FUEL_HEADER + FUEL_ALIGNMENT - 1);
        if (!raw) {  /* what is kept here may be what is missing */
            FUEL_LOCK();
            fuel_shrink(0);
            FUEL_UNLOCK();
            raw = malloc(capacity + FUEL_HEADER + FUEL_ALIGNMENT - 1);
        }
        if (!raw) return NULL;
        block = (fuel_block *)(((uintptr_t)raw + FUEL_ALIGNMENT - 1)
                               & ~(uintptr_t)(FUEL_ALIGNMENT - 1));
        block->raw = raw;
        block->capacity = capacity;
        block->size_class = size_class;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (capacity >= FUEL_HUGE) {
            const uintptr_t first = ((uintptr_t)raw + 4095) & ~(uintptr_t)4095;
            (void)madvise((void *)first, (size_t)((uintptr_t)raw + capacity - first),
                          MADV_HUGEPAGE);
        }
#endif
        FUEL_LOCK();
        fuel_pool.fresh++;
        fuel_pool.used += capacity;
        fuel_pool.used_blocks++;
        FUEL_UNLOCK();
    }
    PyTraceMalloc_Track(FUEL_TRACE_DOMAIN, (uintptr_t)fuel_data(block), capacity);
    return block;
}

/* Keep a block for the next caller, or give it back. */
static inline void fuel_give(fuel_block *block)
{
    PyTraceMalloc_Untrack(FUEL_TRACE_DOMAIN, (uintptr_t)fuel_data(block));
    FUEL_LOCK();
    fuel_pool.used -= block->capacity;
    fuel_pool.used_blocks--;
    if (!block->raw) {
        if (fuel_in_region(block)) {       /* not of one that was left */
            fuel_region_put(block);
            fuel_region.idle += block->capacity;
            fuel_region.unjoined += block->capacity;
        }
        FUEL_UNLOCK();
        return;
    }
    if (block->capacity > fuel_pool.limit) {
        FUEL_UNLOCK();
        free(block->raw);
        return;
    }
    fuel_shrink(fuel_pool.limit - block->capacity);
    block->newer = NULL;
    block->older = fuel_pool.newest;
    if (block->older) block->older->newer = block; else fuel_pool.oldest = block;
    fuel_pool.newest = block;
    block->above = NULL;
    block->below = fuel_pool.top[block->size_class];
    if (block->below) block->below->above = block;
    fuel_pool.top[block->size_class] = block;
    fuel_pool.kept += block->capacity;
    fuel_pool.kept_blocks++;
    FUEL_UNLOCK();
}

/* Forget a region: no block of it is given out any more. Locked. */
static inline void fuel_leave_region(void)
{
    memset(&fuel_region, 0, sizeof fuel_region);
    fuel_region.file = -1;
}

/* In the child. Where a thread that is gone may have been halfway through a change, the idle
 * blocks are left alone: they cost address space as long as nobody writes to them. What the child
 * writes to arrays that lie in the region is its own. */
static inline void fuel_after_fork(void)
{
#if defined(__linux__)
    if (fuel_region.base && fuel_region.file >= 0)
        (void)mmap(fuel_region.base, fuel_region.capacity, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fuel_region.file, 0);
#endif
    fuel_leave_region();
#ifdef Py_GIL_DISABLED
    memset(&fuel_mutex, 0, sizeof fuel_mutex);
    memset(fuel_pool.top, 0, sizeof fuel_pool.top);
    fuel_pool.newest = fuel_pool.oldest = NULL;
    fuel_pool.kept = fuel_pool.kept_blocks = 0;
#endif
}

#endif
