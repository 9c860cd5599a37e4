/* The loops that put the pixels of a line in another order, for one set of instructions. No guard:
 * it is included once for each, with FUEL_LEVEL(name) and FUEL_TARGET as for the arithmetic.
 */
#ifndef FUEL_SHUFFLE

#define FUEL_SHUFFLE(name) static FUEL_TARGET void FUEL_LEVEL(name)

/* The channels of interleaved pixels, each to a line of its own, `pitch` bytes apart; backwards
 * where mirrored. `from` is the first pixel as it lies in memory. */
#define FUEL_SPLIT_PIXELS(S, T) \
FUEL_SHUFFLE(split_##S)(const char *from, int64_t channels, int64_t count, int mirrored, \
                        char *to, int64_t pitch) { \
    int64_t c, k; \
    if (channels == 3) { \
        const T *FUEL_RESTRICT x = (const T *)from; \
        T *FUEL_RESTRICT a = (T *)to, *FUEL_RESTRICT b = (T *)(to + pitch); \
        T *FUEL_RESTRICT d = (T *)(to + 2 * pitch); \
        if (!mirrored) { \
            for (k = 0; k < count; k++) { \
                a[k] = x[3 * k]; b[k] = x[3 * k + 1]; d[k] = x[3 * k + 2]; } \
        } else { \
            for (k = 0; k < count; k++) { \
                const T *pixel = x + 3 * (count - 1 - k); \
                a[k] = pixel[0]; b[k] = pixel[1]; d[k] = pixel[2]; } \
        } \
        return; \
    } \
    for (c = 0; c < channels; c++) { \
        const T *FUEL_RESTRICT x = (const T *)from + c; \
        T *FUEL_RESTRICT y = (T *)(to + c * pitch); \
        if (!mirrored) for (k = 0; k < count; k++) y[k] = x[k * channels]; \
        else for (k = 0; k < count; k++) y[k] = x[(count - 1 - k) * channels]; \
    } }

/* The reverse: lines of channels to pixels. */
#define FUEL_JOIN_PIXELS(S, T) \
FUEL_SHUFFLE(join_##S)(const char *from, int64_t pitch, int64_t channels, int64_t count, \
                       int mirrored, char *to) { \
    int64_t c, k; \
    if (channels == 3) { \
        const T *FUEL_RESTRICT a = (const T *)from; \
        const T *FUEL_RESTRICT b = (const T *)(from + pitch); \
        const T *FUEL_RESTRICT d = (const T *)(from + 2 * pitch); \
        T *FUEL_RESTRICT y = (T *)to; \
        if (!mirrored) { \
            for (k = 0; k < count; k++) { \
                y[3 * k] = a[k]; y[3 * k + 1] = b[k]; y[3 * k + 2] = d[k]; } \
        } else { \
            for (k = 0; k < count; k++) { \
                const int64_t place = count - 1 - k; \
                y[3 * k] = a[place]; y[3 * k + 1] = b[place]; y[3 * k + 2] = d[place]; } \
        } \
        return; \
    } \
    for (c = 0; c < channels; c++) { \
        const T *FUEL_RESTRICT x = (const T *)(from + c * pitch); \
        T *FUEL_RESTRICT y = (T *)to + c; \
        if (!mirrored) for (k = 0; k < count; k++) y[k * channels] = x[k]; \
        else for (k = 0; k < count; k++) y[k * channels] = x[count - 1 - k]; \
    } }

/* A line backwards: pixels of `unit` elements. */
#define FUEL_MIRROR(S, T) \
FUEL_SHUFFLE(mirror_##S)(const char *from, int64_t count, int64_t unit, char *to) { \
    const T *FUEL_RESTRICT x = (const T *)from; \
    T *FUEL_RESTRICT y = (T *)to; \
    int64_t c, k; \
    if (unit == 1) { \
        for (k = 0; k < count; k++) y[k] = x[count - 1 - k]; \
    } else if (unit == 3) { \
        for (k = 0; k < count; k++) { \
            const T *pixel = x + 3 * (count - 1 - k); \
            y[3 * k] = pixel[0]; y[3 * k + 1] = pixel[1]; y[3 * k + 2] = pixel[2]; } \
    } else { \
        for (k = 0; k < count; k++) \
            for (c = 0; c < unit; c++) y[k * unit + c] = x[(count - 1 - k) * unit + c]; \
    } }

#define FUEL_SHUFFLES(S, T) FUEL_SPLIT_PIXELS(S, T) FUEL_JOIN_PIXELS(S, T) FUEL_MIRROR(S, T)
#define FUEL_SHUFFLES_OF(S) { FUEL_LEVEL(split_##S), FUEL_LEVEL(join_##S), FUEL_LEVEL(mirror_##S) }

#endif

FUEL_SHUFFLES(1, uint8_t)
FUEL_SHUFFLES(2, uint16_t)
FUEL_SHUFFLES(4, uint32_t)
FUEL_SHUFFLES(8, uint64_t)
FUEL_SHUFFLES(16, fuel_sixteen)

/* By the logarithm of the size of an element. */
static const fuel_shuffles FUEL_LEVEL(shuffles)[5] = {
    FUEL_SHUFFLES_OF(1), FUEL_SHUFFLES_OF(2), FUEL_SHUFFLES_OF(4), FUEL_SHUFFLES_OF(8),
    FUEL_SHUFFLES_OF(16) };
