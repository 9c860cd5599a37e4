/* Undoing HDF5's own filters, for `_filters.pyx`: LZF, the shuffle of bytes, and the checksum of
 * Fletcher. Nothing beyond either end of a buffer is read or written, whatever the bytes say.
 */
#ifndef FUEL_FILTERS_H
#define FUEL_FILTERS_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define FUEL_SSE2 1
#endif

#if (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define FUEL_LITTLE 0
#else
#define FUEL_LITTLE 1
#endif

/* --- LZF -------------------------------------------------------------------------------------
 *
 * A byte below 32 begins a run of one more literal bytes than it says. Any other begins a copy of
 * what was written before: its upper three bits say the length less two, 7 that the next byte is to
 * be added; the lower five, and one more byte, the distance less one. A copy may overlap itself:
 * then it repeats.
 */
enum { FUEL_LZF_CUT = 1, FUEL_LZF_FULL, FUEL_LZF_BEFORE, FUEL_LZF_SHORT };

#define FUEL_LZF_MOST_READ 34   /* a control byte and literals, or a copy, with a wide copy's rest */
#define FUEL_LZF_MOST_WRITTEN 296 /* the longest copy, 264 bytes, and what wide copies add */

/* By distance below 8: which bytes of a word to keep, and what makes a word full of them. */
static const uint64_t fuel_lzf_mask[8] = {
    0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, UINT64_C(0xFFFFFFFFFF), UINT64_C(0xFFFFFFFFFFFF),
    UINT64_C(0xFFFFFFFFFFFFFF) };
static const uint64_t fuel_lzf_repeat[8] = {
    0, UINT64_C(0x0101010101010101), UINT64_C(0x0001000100010001), UINT64_C(0x0001000001000001),
    UINT64_C(0x0000000100000001), UINT64_C(0x0000010000000001), UINT64_C(0x0001000000000001),
    UINT64_C(0x0100000000000001) };
/* The least multiple of the distance from 8 on: so far back lie the bytes that come next. */
static const uint8_t fuel_lzf_back[8] = { 8, 8, 8, 9, 8, 10, 12, 14 };

/* Copy, where there is room for FUEL_LZF_MOST_WRITTEN bytes. */
static inline void fuel_lzf_copy(uint8_t *to, int64_t distance, int64_t length)
{
    const uint8_t *from = to - distance, *end = to + length;
    if (distance >= 16) {
        do { memcpy(to, from, 16); to += 16; from += 16; } while (to < end);
    } else if (distance >= 8) {
        do { memcpy(to, from, 8); to += 8; from += 8; } while (to < end);
    } else if (FUEL_LITTLE) {
        uint64_t word;
        memcpy(&word, from, 8);
        word = (word & fuel_lzf_mask[distance]) * fuel_lzf_repeat[distance];
        memcpy(to, &word, 8);
        to += 8;
        if (fuel_lzf_back[distance] == 8) {
            for (; to < end; to += 8) memcpy(to, &word, 8);
        } else {
            from = to - fuel_lzf_back[distance];
            for (; to < end; to += 8, from += 8) memcpy(to, from, 8);
        }
    } else {
        while (to < end) *to++ = *from++;
    }
}

/* Write exactly `size` bytes; 0, or what is wrong. `*at` becomes where in the data it stopped. */
static int fuel_lzf(const uint8_t *data, int64_t length, uint8_t *out, int64_t size, int64_t *at)
{
    const uint8_t *in = data, *in_end = data + length;
    uint8_t *to = out, *to_end = out + size;
    int status = 0;
    while (in < in_end) {
        const int control = *in;
        /* Most of the way there is room on both sides for more than any step needs. */
        const int roomy = in_end - in > FUEL_LZF_MOST_READ && to_end - to > FUEL_LZF_MOST_WRITTEN;
        if (control < 32) {
            const int64_t count = control + 1;
            if (roomy) {
                memcpy(to, in + 1, 16);
                memcpy(to + 16, in + 17, 16);
            } else {
                if (in_end - in <= count) { status = FUEL_LZF_CUT; break; }
                if (to_end - to < count) { status = FUEL_LZF_FULL; break; }
                memcpy(to, in + 1, (size_t)count);
            }
            in += count + 1;
            to += count;
        } else {
            const uint8_t *next = in + 1;
            int64_t count = (control >> 5) + 2, distance;
            if (!roomy && in_end - in < (count == 9 ? 3 : 2)) { status = FUEL_LZF_CUT; break; }
            if (count == 9) count += *next++;
            distance = ((int64_t)(control & 31) << 8 | *next++) + 1;
            if (distance > to - out) { status = FUEL_LZF_BEFORE; break; }
            if (roomy) {
                fuel_lzf_copy(to, distance, count);
                to += count;
            } else {
                const uint8_t *from = to - distance, *end = to + count;
                if (to_end - to < count) { status = FUEL_LZF_FULL; break; }
                if (distance >= count) { memcpy(to, from, (size_t)count); to += count; }
                else if (distance == 1) { memset(to, *from, (size_t)count); to += count; }
                else while (to < end) *to++ = *from++;
            }
            in = next;
        }
    }
    *at = in - data;
    return status ? status : to != to_end ? FUEL_LZF_SHORT : 0;
}

/* --- The shuffle of bytes ---------------------------------------------------------------------
 *
 * First byte of each element, then the second of each, and so on. Planes of bytes are put together
 * eight, four, two or one at a time, as words written `size` bytes apart.
 */
#define FUEL_BLOCK 16384 /* bytes: planes and words of so many fit the first cache together */

static void fuel_join_1(const uint8_t *in, int64_t count, int64_t size, uint8_t *out)
{
    int64_t k;
    for (k = 0; k < count; k++) out[k * size] = in[k];
}

#ifdef FUEL_SSE2
#define FUEL_LOAD(place) _mm_loadu_si128((const __m128i *)(place))
#define FUEL_PUT_8(place, words) { \
    _mm_storel_epi64((__m128i *)(place), words); \
    _mm_storel_epi64((__m128i *)((place) + size), _mm_unpackhi_epi64(words, words)); }
#endif

static void fuel_join_2(const uint8_t *in, int64_t plane, int64_t count, int64_t size,
                        uint8_t *out)
{
    int64_t k = 0;
#ifdef FUEL_SSE2
    if (size == 2)
        for (; k + 16 <= count; k += 16) {
            const __m128i a = FUEL_LOAD(in + k), b = FUEL_LOAD(in + plane + k);
            _mm_storeu_si128((__m128i *)(out + 2 * k), _mm_unpacklo_epi8(a, b));
            _mm_storeu_si128((__m128i *)(out + 2 * k + 16), _mm_unpackhi_epi8(a, b));
        }
#endif
    for (; k < count; k++) {
        out[k * size] = in[k];
        out[k * size + 1] = in[plane + k];
    }
}

static void fuel_join_4(const uint8_t *in, int64_t plane, int64_t count, int64_t size,
                        uint8_t *out)
{
    int64_t k = 0;
#ifdef FUEL_SSE2
    for (; k + 16 <= count; k += 16) {
        const __m128i a = FUEL_LOAD(in + k), b = FUEL_LOAD(in + plane + k);
        const __m128i c = FUEL_LOAD(in + 2 * plane + k), d = FUEL_LOAD(in + 3 * plane + k);
        const __m128i ab = _mm_unpacklo_epi8(a, b), AB = _mm_unpackhi_epi8(a, b);
        const __m128i cd = _mm_unpacklo_epi8(c, d), CD = _mm_unpackhi_epi8(c, d);
        __m128i word[4];
        uint8_t *to = out + k * size;
        int j, l;
        word[0] = _mm_unpacklo_epi16(ab, cd);
        word[1] = _mm_unpackhi_epi16(ab, cd);
        word[2] = _mm_unpacklo_epi16(AB, CD);
        word[3] = _mm_unpackhi_epi16(AB, CD);
        if (size == 4) {
            for (j = 0; j < 4; j++) _mm_storeu_si128((__m128i *)(to + 16 * j), word[j]);
            continue;
        }
        for (j = 0; j < 4; j++)
            for (l = 0; l < 4; l++, to += size) {
                const int32_t one = _mm_cvtsi128_si32(word[j]);
                memcpy(to, &one, 4);
                word[j] = _mm_srli_si128(word[j], 4);
            }
    }
#endif
    for (; k < count; k++) {
        int j;
        for (j = 0; j < 4; j++) out[k * size + j] = in[j * plane + k];
    }
}

static void fuel_join_8(const uint8_t *in, int64_t plane, int64_t count, int64_t size,
                        uint8_t *out)
{
    int64_t k = 0;
#ifdef FUEL_SSE2
    for (; k + 16 <= count; k += 16) {
        __m128i byte[8], pair[8], four[8];
        uint8_t *to = out + k * size;
        int j;
        for (j = 0; j < 8; j++) byte[j] = FUEL_LOAD(in + j * plane + k);
        for (j = 0; j < 4; j++) { /* the elements 0 to 7, then 8 to 15 */
            pair[j] = _mm_unpacklo_epi8(byte[2 * j], byte[2 * j + 1]);
            pair[4 + j] = _mm_unpackhi_epi8(byte[2 * j], byte[2 * j + 1]);
        }
        for (j = 0; j < 8; j += 4) {
            four[j] = _mm_unpacklo_epi16(pair[j], pair[j + 1]);
            four[j + 1] = _mm_unpacklo_epi16(pair[j + 2], pair[j + 3]);
            four[j + 2] = _mm_unpackhi_epi16(pair[j], pair[j + 1]);
            four[j + 3] = _mm_unpackhi_epi16(pair[j + 2], pair[j + 3]);
        }
        for (j = 0; j < 8; j += 2) {
            const __m128i low = _mm_unpacklo_epi32(four[j], four[j + 1]);
            const __m128i high = _mm_unpackhi_epi32(four[j], four[j + 1]);
            if (size == 8) {
                _mm_storeu_si128((__m128i *)(to + 16 * j), low);
                _mm_storeu_si128((__m128i *)(to + 16 * j + 16), high);
            } else {
                FUEL_PUT_8(to + 2 * j * size, low)
                FUEL_PUT_8(to + (2 * j + 2) * size, high)
            }
        }
    }
#endif
    for (; k < count; k++) {
        int j;
        for (j = 0; j < 8; j++) out[k * size + j] = in[j * plane + k];
    }
}

static void fuel_unshuffle(const uint8_t *in, int64_t length, int64_t size, uint8_t *out)
{
    const int64_t count = size > 1 ? length / size : 0;
    const int64_t block = size < FUEL_BLOCK / 16 ? FUEL_BLOCK / size / 16 * 16 : 16;
    int64_t k, j;
    for (k = 0; k < count; k += block) {
        const int64_t part = count - k < block ? count - k : block;
        const uint8_t *from = in + k;
        uint8_t *to = out + k * size;
        for (j = 0; j + 8 <= size; j += 8) fuel_join_8(from + j * count, count, part, size, to + j);
        if (j + 4 <= size) { fuel_join_4(from + j * count, count, part, size, to + j); j += 4; }
        if (j + 2 <= size) { fuel_join_2(from + j * count, count, part, size, to + j); j += 2; }
        if (j < size) fuel_join_1(from + j * count, part, size, to + j);
    }
    memcpy(out + count * size, in + count * size, (size_t)(length - count * size));
}

/* --- The checksum of Fletcher -----------------------------------------------------------------
 *
 * Words of 16 bits, high byte first: `first` is the sum of them, `second` the sum of all sums on
 * the way, both modulo 65535. A sum that is a multiple of it is 65535 and not 0, except that of
 * nothing but zeros: that is what folding the upper half into the lower one leaves.
 *
 * Here words are summed as the machine reads them. Where it reads the low byte first each is the
 * right one times 256 (modulo 65535), and so are the sums: they are put right at the end.
 */
#define FUEL_LANES 16
#define FUEL_TURNS 256 /* in 32 bits a lane's second sum has room for 360 */

static inline uint32_t fuel_fold(uint64_t sum)
{
    return sum ? (uint32_t)((sum - 1) % 65535 + 1) : 0;
}

static uint32_t fuel_fletcher32(const uint8_t *data, int64_t length)
{
    const int64_t step = 2 * FUEL_LANES;
    uint64_t first = 0, second = 0;
    while (length >= step) {
        const int64_t turns = length / step < FUEL_TURNS ? length / step : FUEL_TURNS;
        uint32_t one[FUEL_LANES] = { 0 }, two[FUEL_LANES] = { 0 };
        uint64_t sum = 0, weighted = 0;
        int64_t k;
        int lane;
        for (k = 0; k < turns; k++, data += step) {
            uint16_t word[FUEL_LANES];
            memcpy(word, data, sizeof word);
            for (lane = 0; lane < FUEL_LANES; lane++) one[lane] += word[lane];
            for (lane = 0; lane < FUEL_LANES; lane++) two[lane] += one[lane];
        }
        /* A word of lane l counts FUEL_LANES times for each turn from its own on, less l. */
        for (lane = 0; lane < FUEL_LANES; lane++) {
            sum += one[lane];
            weighted += (uint64_t)FUEL_LANES * two[lane] - (uint64_t)lane * one[lane];
        }
        second = fuel_fold(second + first * (uint64_t)(turns * FUEL_LANES) + weighted);
        first = fuel_fold(first + sum);
        length -= turns * step;
    }
    for (; length > 0; length -= 2, data += 2) {
        uint8_t pair[2];
        uint16_t word;
        pair[0] = data[0];
        pair[1] = length > 1 ? data[1] : 0;
        memcpy(&word, pair, 2);
        first += word;
        second += first;
    }
    first = fuel_fold(first);
    second = fuel_fold(second);
    if (FUEL_LITTLE) {
        first = (first & 0xFF) << 8 | first >> 8;
        second = (second & 0xFF) << 8 | second >> 8;
    }
    return (uint32_t)(second << 16 | first);
}

#endif
