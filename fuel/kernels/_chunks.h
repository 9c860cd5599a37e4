/* Rows out of decoded chunks that lie anywhere in memory, for `_chunks.pyx`.
 *
 * Each row number is read once, checked, and kept as where its bytes are, so that nobody who
 * changes the vectors meanwhile can lead a copy astray.
 */
#ifndef FUEL_CHUNKS_H
#define FUEL_CHUNKS_H

#include <stdlib.h>

#include "_arithmetic.h"

/* How far ahead rows are asked for: as in `_gather.h`. */
#define FUEL_AHEAD_BYTES 6144
#define FUEL_MOST_FETCHED 4096
#define FUEL_MOST_AHEAD 16

static inline int64_t fuel_rows_ahead(int64_t row_bytes)
{
    const int64_t ahead = FUEL_AHEAD_BYTES / (row_bytes + 1) + 1;
    return ahead < FUEL_MOST_AHEAD ? ahead : FUEL_MOST_AHEAD;
}

typedef struct {
    const int64_t *pointers, *rows, *places, *runs; /* `places` may be NULL */
    uint8_t *touched;                               /* may be NULL */
    char *out;
    int64_t chunks; /* rows of chunks */
    int64_t count, chunk_rows, tiles, run_count, chunk_row_bytes, out_rows, out_row_bytes;
} fuel_tiling;

typedef struct {
    int64_t chunk, offset; /* which row of chunks, and where in each of its chunks, in bytes */
    const char *from;      /* where there is one chunk a row and one run */
    char *to;
} fuel_spot;

enum { FUEL_ODD = -1, FUEL_NO_ROOM = -2, FUEL_ABSENT = -3 };

/* Whether all copies stay within a row of a chunk and a row of the batch. */
static int fuel_runs_fit(const fuel_tiling *job)
{
    const int64_t *run = job->runs;
    const uint64_t inside = (uint64_t)job->chunk_row_bytes, outside = (uint64_t)job->out_row_bytes;
    int64_t k;
    uint64_t odd = 0;
    for (k = 0; k < job->run_count; k++, run += 4) {
        const uint64_t bytes = (uint64_t)run[3];
        odd |= (uint64_t)run[0] >= (uint64_t)job->tiles;
        odd |= (bytes > inside) | ((uint64_t)run[1] > inside - bytes);
        odd |= (bytes > outside) | ((uint64_t)run[2] > outside - bytes);
    }
    return !odd;
}

/* Write where each row is. Asks for the addresses of its chunks, for they may be many. */
static int fuel_find_spots(const fuel_tiling *job, fuel_spot *spots)
{
    const uint64_t size = (uint64_t)job->chunk_rows;
    /* Rows of chunks are as many as there are addresses, so this cannot wrap; if it could, as far
     * as it can count there are enough rows. */
    const uint64_t limit = (uint64_t)job->chunks > (uint64_t)INT64_MAX / size
                         ? (uint64_t)INT64_MAX : (uint64_t)job->chunks * size;
    const int narrow = limit <= UINT32_MAX; /* division by 32 bits is the faster one */
    int64_t k;
    for (k = 0; k < job->count; k++) {
        const uint64_t row = (uint64_t)job->rows[k];
        uint64_t chunk;
        int64_t place = k;
        if (row >= limit) return FUEL_ODD;
        chunk = narrow ? (uint32_t)row / (uint32_t)size : row / size;
        if (job->places) {
            place = job->places[k];
            if ((uint64_t)place >= (uint64_t)job->out_rows) return FUEL_ODD;
        }
        spots[k].chunk = (int64_t)chunk;
        spots[k].offset = (int64_t)(row - chunk * size) * job->chunk_row_bytes;
        spots[k].to = job->out + place * job->out_row_bytes;
        fuel_prefetch((const char *)(job->pointers + (int64_t)chunk * job->tiles), 1);
    }
    return 0;
}

static inline int fuel_is_absent(const fuel_tiling *job, int64_t chunk)
{
    const int64_t *pointer = job->pointers + chunk * job->tiles;
    int64_t tile;
    int absent = 0;
    for (tile = 0; tile < job->tiles; tile++) absent |= !pointer[tile];
    return absent;
}

static int fuel_in_order(const void *one, const void *other)
{
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* Write which rows of chunks are not there, each once, in order, and return how many. `absent`
 * has room for one of each row. */
static int64_t fuel_find_missing(const fuel_tiling *job, const fuel_spot *spots, int64_t *absent)
{
    int64_t k, found = 0, kept = 0;
    for (k = 0; k < job->count; k++) {
        const int64_t chunk = spots[k].chunk;
        if (job->touched) job->touched[chunk] = 1;
        if (fuel_is_absent(job, chunk) && !(found && absent[found - 1] == chunk))
            absent[found++] = chunk;
    }
    if (found < 2) return found;
    qsort(absent, (size_t)found, sizeof(int64_t), fuel_in_order);
    for (k = 0; k < found; k++)
        if (!k || absent[k] != absent[k - 1]) absent[kept++] = absent[k];
    return kept;
}

/* Whether something is missing, and mark what is used. */
static int64_t fuel_count_absent_rows(const fuel_tiling *job, const fuel_spot *spots)
{
    int64_t k, absent = 0;
    for (k = 0; k < job->count; k++) {
        if (job->touched) job->touched[spots[k].chunk] = 1;
        absent += fuel_is_absent(job, spots[k].chunk);
    }
    return absent;
}

/* Without a call where it is short: two copies of constant size that overlap. */
static inline void fuel_copy_run(char *to, const char *from, size_t bytes)
{
    if (bytes > 64) { memcpy(to, from, bytes); return; }
#define FUEL_TWICE(S) { \
        char head[S], tail[S]; \
        memcpy(head, from, S); \
        memcpy(tail, from + bytes - S, S); \
        memcpy(to, head, S); \
        memcpy(to + bytes - S, tail, S); \
        return; }
    if (bytes >= 32) FUEL_TWICE(32)
    if (bytes >= 16) FUEL_TWICE(16)
    if (bytes >= 8) FUEL_TWICE(8)
    if (bytes >= 4) FUEL_TWICE(4)
    while (bytes--) *to++ = *from++;
#undef FUEL_TWICE
}

#define FUEL_COPY_SPOTS(S) { \
    for (k = 0; k < count; k++) memcpy(spots[k].to, spots[k].from, S); \
    return 0; }

/* One chunk a row, one run: what most files have. */
static int fuel_gather_spots(const fuel_tiling *job, fuel_spot *spots)
{
    const int64_t count = job->count, bytes = job->runs[3], pitch = job->out_row_bytes;
    const int64_t ahead = fuel_rows_ahead(bytes);
    const int64_t fetched = bytes < FUEL_MOST_FETCHED ? bytes : FUEL_MOST_FETCHED;
    /* Rows that follow one another on both sides are one copy. */
    const int whole = bytes == job->chunk_row_bytes && bytes == pitch;
    int64_t k, next;
    for (k = 0; k < count; k++) {
        const int64_t pointer = job->pointers[spots[k].chunk];
        if (!pointer) return FUEL_ABSENT;
        spots[k].from = (const char *)(uintptr_t)pointer + spots[k].offset + job->runs[1];
        spots[k].to += job->runs[2];
        if (k < ahead) fuel_prefetch(spots[k].from, fetched);
    }
    if (bytes == 1) FUEL_COPY_SPOTS(1)
    if (bytes == 2) FUEL_COPY_SPOTS(2)
    if (bytes == 4) FUEL_COPY_SPOTS(4)
    if (bytes == 8) FUEL_COPY_SPOTS(8)
    for (k = 0; k < count; k = next) {
        const char *from = spots[k].from;
        char *to = spots[k].to;
        next = k + 1;
        if (whole)
            while (next < count && spots[next].from == spots[next - 1].from + bytes
                   && spots[next].to == spots[next - 1].to + bytes) next++;
        if (next == k + 1) {
            if (k + ahead < count) fuel_prefetch(spots[k + ahead].from, fetched);
            memcpy(to, from, (size_t)bytes);
        } else {
            memcpy(to, from, (size_t)((next - k) * bytes));
        }
    }
    return 0;
}

static void fuel_fetch_tiles(const fuel_tiling *job, const fuel_spot *spot, int64_t most)
{
    const int64_t *pointer = job->pointers + spot->chunk * job->tiles;
    const int64_t each = job->chunk_row_bytes < most ? job->chunk_row_bytes : most;
    int64_t tile;
    for (tile = 0; tile < job->tiles && most > 0; tile++, most -= each)
        fuel_prefetch((const char *)(uintptr_t)pointer[tile] + spot->offset, each);
}

/* Copy rows whose places are known. Without effect where a chunk is not there. */
static int fuel_gather_tiles(const fuel_tiling *job, fuel_spot *spots)
{
    const int64_t count = job->count, row_bytes = job->tiles * job->chunk_row_bytes;
    const int64_t ahead = fuel_rows_ahead(row_bytes);
    int64_t k, j;
    if (!job->run_count || !count) return 0;
    if (job->tiles == 1 && job->run_count == 1) return fuel_gather_spots(job, spots);
    for (k = 0; k < count; k++) {
        const int64_t *pointer = job->pointers + spots[k].chunk * job->tiles;
        /* Only tiles that a run reads need to be there. */
        if (fuel_is_absent(job, spots[k].chunk))
            for (j = 0; j < job->run_count; j++)
                if (!pointer[job->runs[4 * j]]) return FUEL_ABSENT;
    }
    for (k = 0; k < count; k++) {
        const int64_t *pointer = job->pointers + spots[k].chunk * job->tiles, *run = job->runs;
        const int64_t offset = spots[k].offset;
        char *to = spots[k].to;
        if (k + ahead < count) fuel_fetch_tiles(job, spots + k + ahead, 2 * FUEL_MOST_FETCHED);
        for (j = 0; j < job->run_count; j++, run += 4)
            fuel_copy_run(to + run[2], (const char *)(uintptr_t)pointer[run[0]] + offset + run[1],
                          (size_t)run[3]);
    }
    return 0;
}

#endif
