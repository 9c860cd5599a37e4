/* What a processor must do at least to gather rows of a file, and to decompress LZF. */
#include <stdint.h>
#include <string.h>

/* Rows of `row` bytes; what comes next is fetched into the cache meanwhile. */
void gather_rows(const uint8_t *source, const int64_t *index, int64_t n, int64_t row, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        if (i + 4 < n) {
            const uint8_t *next = source + index[i + 4] * row;
            for (int64_t k = 0; k < row && k < 4096; k += 64) __builtin_prefetch(next + k, 0, 3);
        }
        memcpy(out + i * row, source + index[i] * row, (size_t)row);
    }
}

/* Returns the size of what comes out, or -1 where the input or the room ends too early. */
int64_t lzf(const uint8_t *in, int64_t size, uint8_t *out, int64_t room)
{
    const uint8_t *const in_end = in + size;
    uint8_t *to = out, *const out_end = out + room;
    while (in < in_end) {
        int64_t length = *in++;
        if (length < 32) {
            length++;
            if (in + length > in_end || to + length > out_end) return -1;
            memcpy(to, in, (size_t)length);
            in += length;
        } else {
            int64_t back = (length & 31) << 8;
            length >>= 5;
            if (length == 7) {
                if (in >= in_end) return -1;
                length += *in++;
            }
            length += 2;
            if (in >= in_end) return -1;
            back += *in++ + 1;
            if (to - out < back || to + length > out_end) return -1;
            for (int64_t k = 0; k < length; k++) to[k] = to[k - back];
            to += length;
            continue;
        }
        to += length;
    }
    return to - out;
}
