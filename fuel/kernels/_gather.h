/* Rows of a source, one after the other, into a batch. */
#ifndef FUEL_GATHER_H
#define FUEL_GATHER_H

#include "_arithmetic.h"

/* Return the place of the first row that a source of `limit` rows does not have, or -1. */
static int64_t fuel_find_outside(const int64_t *rows, int64_t count, int64_t limit)
{
    int64_t k;
    uint64_t outside = 0;
    /* Without a branch, so that it costs a fraction of a nanosecond a row. */
    for (k = 0; k < count; k++) outside |= (uint64_t)rows[k] >= (uint64_t)limit;
    if (!outside) return -1;
    for (k = 0; (uint64_t)rows[k] < (uint64_t)limit; k++) { }
    return k;
}

/* Ask for what will be read some rows later: a shuffled order has no pattern to foresee. Enough
 * rows ahead to cover the way to main memory; of long rows the processor foresees the rest. */
#define FUEL_AHEAD_BYTES 6144
#define FUEL_MOST_FETCHED 4096
#define FUEL_MOST_AHEAD 16

static inline int64_t fuel_rows_ahead(int64_t row_bytes)
{
    const int64_t ahead = FUEL_AHEAD_BYTES / (row_bytes + 1) + 1;
    return ahead < FUEL_MOST_AHEAD ? ahead : FUEL_MOST_AHEAD;
}

#define FUEL_COPY_ITEMS(T) { \
    const T *from = (const T *)source; T *to = (T *)out; \
    for (k = 0; k < count; k++) to[k] = from[rows[k]]; \
    return; }

/* `aligned` is whether both ends lie on multiples of their elements. */
static void fuel_gather_copy(const char *source, const int64_t *rows, int64_t count,
                             int64_t row_bytes, int aligned, char *out)
{
    const int64_t ahead = fuel_rows_ahead(row_bytes);
    const int64_t fetched = row_bytes < FUEL_MOST_FETCHED ? row_bytes : FUEL_MOST_FETCHED;
    int64_t k;
    if (row_bytes == 1) FUEL_COPY_ITEMS(uint8_t)
    if (aligned && row_bytes == 2) FUEL_COPY_ITEMS(uint16_t)
    if (aligned && row_bytes == 4) FUEL_COPY_ITEMS(uint32_t)
    if (aligned && row_bytes == 8) FUEL_COPY_ITEMS(uint64_t)
    for (k = 0; k < count; k++) {
        if (k + ahead < count) fuel_prefetch(source + rows[k + ahead] * row_bytes, fetched);
        memcpy(out + k * row_bytes, source + rows[k] * row_bytes, (size_t)row_bytes);
    }
}

static int fuel_gather_apply(const fuel_program *program, const char *source, const int64_t *rows,
                             int64_t count, char *out)
{
    const int64_t row_bytes = program->size * program->source_size;
    const int64_t out_bytes = program->size * program->result_size;
    const int64_t ahead = fuel_rows_ahead(row_bytes);
    const int64_t fetched = row_bytes < FUEL_MOST_FETCHED ? row_bytes : FUEL_MOST_FETCHED;
    int64_t k;
    int status = 0;
    fuel_clear_flags();
    for (k = 0; k < count && !(status & FUEL_RANGE); k++) {
        if (k + ahead < count) fuel_prefetch(source + rows[k + ahead] * row_bytes, fetched);
        status |= program->apply(program, source + rows[k] * row_bytes, out + k * out_bytes, 0,
                                 program->size);
    }
    return program->quiet ? 0 : status | fuel_read_flags();
}

#endif
