/* What a processor must do at least to gather, to scale and shift, and to pad. */
#include <stdint.h>
#include <string.h>

/* Rows of `row` bytes and their labels; what comes next is fetched into the cache meanwhile. */
void gather(const uint8_t *source, const int64_t *labels, const int64_t *index, int64_t n,
            int64_t row, uint8_t *out, int64_t *out_labels)
{
    for (int64_t i = 0; i < n; i++) {
        if (i + 8 < n) {
            const uint8_t *next = source + index[i + 8] * row;
            for (int64_t k = 0; k < row && k < 1024; k += 64) __builtin_prefetch(next + k, 0, 3);
        }
        memcpy(out + i * row, source + index[i] * row, (size_t)row);
        out_labels[i] = labels[index[i]];
    }
}

static inline void ahead(const uint8_t *source, const int64_t *index, int64_t i, int64_t n,
                         int64_t row)
{
    if (i + 2 < n) {
        const uint8_t *next = source + index[i + 2] * row;
        for (int64_t k = 0; k < row; k += 64) __builtin_prefetch(next + k, 0, 3);
    }
}

/* Bytes to float32 through double: what NumPy makes of bytes times a Python number, then cast. */
void normalise_double(const uint8_t *restrict source, const int64_t *restrict index, int64_t n,
                      int64_t row, double scale, double shift, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *s = source + index[i] * row;
        float *o = out + i * row;
        ahead(source, index, i, n, row);
        for (int64_t k = 0; k < row; k++) o[k] = (float)((double)s[k] * scale + shift);
    }
}

/* Bytes to float32 in float32, with a scale and a shift for each channel. */
void normalise_float(const uint8_t *restrict source, const int64_t *restrict index, int64_t n,
                     int64_t channels, int64_t plane, const float *restrict scale,
                     const float *restrict shift, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *s = source + index[i] * channels * plane;
        float *o = out + i * channels * plane;
        ahead(source, index, i, n, channels * plane);
        for (int64_t c = 0; c < channels; c++) {
            const float a = scale[c], b = shift[c];
            for (int64_t k = 0; k < plane; k++) o[k] = (float)s[k] * a + b;
            s += plane;
            o += plane;
        }
    }
}

static inline void pad_row(const int32_t *row, int64_t length, int64_t width, int32_t *out,
                           uint8_t *mask)
{
    memcpy(out, row, (size_t)length * 4);
    memset(out + length, 0, (size_t)(width - length) * 4);
    memset(mask, 1, (size_t)length);
    memset(mask + length, 0, (size_t)(width - length));
}

/* Sequences one behind the other: number i is flat[offsets[i]:offsets[i + 1]]. */
void pad_flat(const int32_t *flat, const int64_t *offsets, const int64_t *index, int64_t n,
              int64_t width, int32_t *out, uint8_t *mask)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = offsets[index[i]];
        pad_row(flat + first, offsets[index[i] + 1] - first, width, out + i * width,
                mask + i * width);
    }
}

/* Sequences of their own, by their addresses. */
void pad_list(const int32_t *const *rows, const int64_t *lengths, int64_t n, int64_t width,
              int32_t *out, uint8_t *mask)
{
    for (int64_t i = 0; i < n; i++)
        pad_row(rows[i], lengths[i], width, out + i * width, mask + i * width);
}
