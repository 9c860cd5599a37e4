/* One line of decoded pixels, stored where the batch wants it: mirrored, or a plane a channel.
 *
 * Included by `_jpeg.h`. The vector forms do the bulk of a line, sixteen or five pixels at a time,
 * and say how much they did; the plain loops finish. They move bytes and compute nothing.
 */
#ifndef FUEL_JPEG_STORE_H
#define FUEL_JPEG_STORE_H

#include <stdint.h>
#include <string.h>

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <tmmintrin.h>
#define FUEL_JPEG_SSSE3 1

static int fuel_jpeg_has_ssse3(void)
{
    static int known = -1; /* a race writes the same value twice */
    if (known < 0) {
        __builtin_cpu_init();
        known = __builtin_cpu_supports("ssse3") != 0;
    }
    return known;
}

__attribute__((target("ssse3"))) static int64_t fuel_jpeg_planes_ssse3(
    const uint8_t *line, int64_t columns, int flip, uint8_t *out, size_t plane
)
{
    const char no = (char)0x80;
    const __m128i r0 = _mm_setr_epi8(0, 3, 6, 9, 12, 15, no, no, no, no, no, no, no, no, no, no);
    const __m128i r1 = _mm_setr_epi8(no, no, no, no, no, no, 2, 5, 8, 11, 14, no, no, no, no, no);
    const __m128i r2 = _mm_setr_epi8(no, no, no, no, no, no, no, no, no, no, no, 1, 4, 7, 10, 13);
    const __m128i g0 = _mm_setr_epi8(1, 4, 7, 10, 13, no, no, no, no, no, no, no, no, no, no, no);
    const __m128i g1 = _mm_setr_epi8(no, no, no, no, no, 0, 3, 6, 9, 12, 15, no, no, no, no, no);
    const __m128i g2 = _mm_setr_epi8(no, no, no, no, no, no, no, no, no, no, no, 2, 5, 8, 11, 14);
    const __m128i b0 = _mm_setr_epi8(2, 5, 8, 11, 14, no, no, no, no, no, no, no, no, no, no, no);
    const __m128i b1 = _mm_setr_epi8(no, no, no, no, no, 1, 4, 7, 10, 13, no, no, no, no, no, no);
    const __m128i b2 = _mm_setr_epi8(no, no, no, no, no, no, no, no, no, no, 0, 3, 6, 9, 12, 15);
    const __m128i back = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int64_t done = 0;
    for (; done + 16 <= columns; done += 16) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(line + 3 * done));
        const __m128i y = _mm_loadu_si128((const __m128i *)(line + 3 * done + 16));
        const __m128i z = _mm_loadu_si128((const __m128i *)(line + 3 * done + 32));
        __m128i r = _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(x, r0), _mm_shuffle_epi8(y, r1)),
                                 _mm_shuffle_epi8(z, r2));
        __m128i g = _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(x, g0), _mm_shuffle_epi8(y, g1)),
                                 _mm_shuffle_epi8(z, g2));
        __m128i b = _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(x, b0), _mm_shuffle_epi8(y, b1)),
                                 _mm_shuffle_epi8(z, b2));
        uint8_t *to = out + (flip ? columns - 16 - done : done);
        if (flip) {
            r = _mm_shuffle_epi8(r, back);
            g = _mm_shuffle_epi8(g, back);
            b = _mm_shuffle_epi8(b, back);
        }
        _mm_storeu_si128((__m128i *)to, r);
        _mm_storeu_si128((__m128i *)(to + plane), g);
        _mm_storeu_si128((__m128i *)(to + 2 * plane), b);
    }
    return done;
}

/* Five pixels are fifteen bytes. The sixteenth of a store lies before them, where the next store,
 * or the plain loop, writes after it: so the last pixel of the line is left to the loop. */
__attribute__((target("ssse3"))) static int64_t fuel_jpeg_mirror_ssse3(
    const uint8_t *line, int64_t columns, uint8_t *out
)
{
    const __m128i order = _mm_setr_epi8(15, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2);
    int64_t done = 0;
    for (; done + 6 <= columns; done += 5) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(line + 3 * done));
        _mm_storeu_si128((__m128i *)(out + 3 * (columns - 5 - done) - 1),
                         _mm_shuffle_epi8(x, order));
    }
    return done;
}
#endif

#if defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>

static int64_t fuel_jpeg_planes_neon(
    const uint8_t *line, int64_t columns, int flip, uint8_t *out, size_t plane
)
{
    int64_t done = 0;
    for (; done + 16 <= columns; done += 16) {
        const uint8x16x3_t x = vld3q_u8(line + 3 * done);
        uint8_t *to = out + (flip ? columns - 16 - done : done);
        int channel;
        for (channel = 0; channel < 3; channel++) {
            uint8x16_t v = x.val[channel];
            if (flip) {
                v = vrev64q_u8(v);
                v = vextq_u8(v, v, 8);
            }
            vst1q_u8(to + (size_t)channel * plane, v);
        }
    }
    return done;
}
#endif

/* Store `columns` pixels of `line`. `out` is the place of the line in the image, or in its first
 * plane; `plane` is the size of one. */
static void fuel_jpeg_store(
    const uint8_t *line, int64_t columns, int64_t channels, int64_t planar, int64_t flip,
    uint8_t *out, size_t plane
)
{
    int64_t done = 0;
    if (channels == 1) {
        if (!flip)
            memcpy(out, line, (size_t)columns);
        else
            for (; done < columns; done++)
                out[columns - 1 - done] = line[done];
        return;
    }
    if (!planar) {
        if (!flip) {
            memcpy(out, line, (size_t)(3 * columns));
            return;
        }
#ifdef FUEL_JPEG_SSSE3
        if (fuel_jpeg_has_ssse3())
            done = fuel_jpeg_mirror_ssse3(line, columns, out);
#endif
        for (; done < columns; done++)
            memcpy(out + 3 * (columns - 1 - done), line + 3 * done, 3);
        return;
    }
#ifdef FUEL_JPEG_SSSE3
    if (fuel_jpeg_has_ssse3())
        done = fuel_jpeg_planes_ssse3(line, columns, flip != 0, out, plane);
#elif defined(__aarch64__) && defined(__ARM_NEON)
    done = fuel_jpeg_planes_neon(line, columns, flip != 0, out, plane);
#endif
    for (; done < columns; done++) {
        uint8_t *to = out + (flip ? columns - 1 - done : done);
        to[0] = line[3 * done];
        to[plane] = line[3 * done + 1];
        to[2 * plane] = line[3 * done + 2];
    }
}

#endif
