/* Windows of images: cut out, mirrored, in another layout, and with arithmetic, line by line. */
#ifndef FUEL_CROP_H
#define FUEL_CROP_H

#include "_arithmetic.h"

typedef struct { uint64_t low, high; } fuel_sixteen;

typedef struct {
    void (*split)(const char *from, int64_t channels, int64_t count, int mirrored, char *to,
                  int64_t pitch);
    void (*join)(const char *from, int64_t pitch, int64_t channels, int64_t count, int mirrored,
                 char *to);
    void (*mirror)(const char *from, int64_t count, int64_t unit, char *to);
} fuel_shuffles;

#define FUEL_TARGET
#define FUEL_LEVEL(name) name##_baseline
#include "_crop_loops.h"
#undef FUEL_TARGET
#undef FUEL_LEVEL

#if defined(__x86_64__) && defined(__GNUC__)
#define FUEL_TARGET __attribute__((target("avx2")))
#define FUEL_LEVEL(name) name##_avx2
#include "_crop_loops.h"
#undef FUEL_TARGET
#undef FUEL_LEVEL
#define FUEL_SHUFFLES_AT(level) ((level) > 0 ? shuffles_avx2 : shuffles_baseline)
#else
#define FUEL_SHUFFLES_AT(level) ((void)(level), shuffles_baseline)
#endif

typedef struct {
    const fuel_program *program;       /* or NULL */
    const fuel_shuffles *shuffles;
    const char *source;
    char *out;
    int64_t channels, height, width;   /* of an image; one channel where there is no such axis */
    int64_t high, wide;                /* of a window */
    int64_t item, result_item;         /* bytes of an element before and after */
    int pixels_in, pixels_out;         /* whether the channels of a pixel lie side by side */
} fuel_crop;

/* Return the place of the first window that is not inside its image, or -1. */
static int64_t fuel_find_beyond(const int64_t *offsets, int64_t count, int64_t most)
{
    int64_t k;
    for (k = 0; k < count; k++)
        if (offsets[k] < 0 || offsets[k] > most) return k;
    return -1;
}

/* Where lines are put in order before they go through the arithmetic: a pixel must fit. */
#define FUEL_SCRATCH 8192
/* Lines of the source that are fetched ahead: each lies elsewhere. */
#define FUEL_LINES_AHEAD 3

/* Neighbours stay neighbours: channel by channel, or pixel by pixel. */
static int fuel_crop_lines(const fuel_crop *job, const char *image, char *out, int64_t top,
                           int64_t left, int mirrored, int upside_down, char *scratch)
{
    const fuel_program *program = job->program;
    const int64_t unit = job->pixels_in ? job->channels : 1, item = job->item;
    const int64_t planes = job->pixels_in ? 1 : job->channels;
    const int64_t pitch = job->width * unit * item, bytes = job->wide * unit * item;
    int64_t high = job->high, wide = job->wide, plane, y;
    int status = 0;
    if (wide == job->width && !mirrored && !upside_down) {  /* whole lines: all at once */
        wide *= high;
        high = 1;
    }
    for (plane = 0; plane < planes; plane++) {
        const char *lines = image + ((plane * job->height + top) * job->width + left) * unit * item;
        for (y = 0; y < high; y++) {
            const int64_t start = (plane * high + y) * wide * unit;
            const char *from = lines + (upside_down ? high - 1 - y : y) * pitch;
            char *to = out + start * job->result_item;
            if (high > 1 && y + FUEL_LINES_AHEAD < high)
                fuel_prefetch(from + (upside_down ? -FUEL_LINES_AHEAD : FUEL_LINES_AHEAD) * pitch,
                              bytes < 2048 ? bytes : 2048);
            if (!mirrored) {
                if (program) status |= program->apply(program, from, to, start, wide * unit);
                else memcpy(to, from, (size_t)(wide * unit * item));
            } else if (!program) {
                job->shuffles->mirror(from, wide, unit, to);
            } else {
                int64_t x, most = FUEL_SCRATCH / (unit * item);
                for (x = 0; x < wide; x += most) {
                    const int64_t part = most < wide - x ? most : wide - x;
                    job->shuffles->mirror(from + (wide - x - part) * unit * item, part, unit,
                                          scratch);
                    status |= program->apply(program, scratch, to + x * unit * job->result_item,
                                             start + x * unit, part * unit);
                }
            }
            if (status & FUEL_RANGE) return status;
        }
    }
    return status;
}

/* Pixels to planes. */
static int fuel_crop_split(const fuel_crop *job, const char *image, char *out, int64_t top,
                           int64_t left, int mirrored, int upside_down, char *scratch)
{
    const fuel_program *program = job->program;
    const int64_t channels = job->channels, item = job->item, wide = job->wide;
    const int64_t pixel = channels * item, plane = job->high * wide;
    const int64_t most = program ? FUEL_SCRATCH / pixel : wide;
    int64_t y, x, c;
    int status = 0;
    for (y = 0; y < job->high; y++) {
        const int64_t line = top + (upside_down ? job->high - 1 - y : y);
        const char *from = image + (line * job->width + left) * pixel;
        for (x = 0; x < wide; x += most) {
            const int64_t part = most < wide - x ? most : wide - x, start = y * wide + x;
            const char *pixels = from + (mirrored ? wide - x - part : x) * pixel;
            if (!program) {
                job->shuffles->split(pixels, channels, part, mirrored, out + start * item,
                                     plane * item);
                continue;
            }
            job->shuffles->split(pixels, channels, part, mirrored, scratch, part * item);
            for (c = 0; c < channels; c++)
                status |= program->apply(
                    program, scratch + c * part * item,
                    out + (start + c * plane) * job->result_item, start + c * plane, part);
            if (status & FUEL_RANGE) return status;
        }
    }
    return status;
}

/* Planes to pixels. */
static int fuel_crop_join(const fuel_crop *job, const char *image, char *out, int64_t top,
                          int64_t left, int mirrored, int upside_down, char *scratch)
{
    const fuel_program *program = job->program;
    const int64_t channels = job->channels, item = job->item, wide = job->wide;
    const int64_t plane = job->height * job->width * item;
    const int64_t most = program ? FUEL_SCRATCH / (channels * item) : wide;
    int64_t y, x;
    int status = 0;
    for (y = 0; y < job->high; y++) {
        const int64_t line = top + (upside_down ? job->high - 1 - y : y);
        const char *from = image + (line * job->width + left) * item;
        for (x = 0; x < wide; x += most) {
            const int64_t part = most < wide - x ? most : wide - x;
            const int64_t start = (y * wide + x) * channels;
            char *to = out + start * job->result_item;
            job->shuffles->join(from + (mirrored ? wide - x - part : x) * item, plane, channels,
                                part, mirrored, program ? scratch : to);
            if (program) status |= program->apply(program, scratch, to, start, part * channels);
            if (status & FUEL_RANGE) return status;
        }
    }
    return status;
}

/* All windows; `rows` NULL for the images in their order, flips NULL for none. */
static int fuel_crop_all(const fuel_crop *job, const int64_t *rows, const int64_t *tops,
                         const int64_t *lefts, const uint8_t *mirror, const uint8_t *turn,
                         int64_t count)
{
    const int64_t image = job->channels * job->height * job->width * job->item;
    const int64_t window = job->channels * job->high * job->wide * job->result_item;
    union { fuel_sixteen alignment; char bytes[FUEL_SCRATCH]; } scratch;
    int64_t k;
    int status = 0;
    if (!window) return 0; /* no channels, which no line can be divided by */
    fuel_clear_flags();
    for (k = 0; k < count && !(status & FUEL_RANGE); k++) {
        const char *from = job->source + (rows ? rows[k] : k) * image;
        char *to = job->out + k * window;
        const int mirrored = mirror && mirror[k], upside_down = turn && turn[k];
        status |= (job->pixels_in == job->pixels_out ? fuel_crop_lines
                   : job->pixels_in ? fuel_crop_split : fuel_crop_join)(
            job, from, to, tops[k], lefts[k], mirrored, upside_down, scratch.bytes);
    }
    return !job->program || job->program->quiet ? 0 : status | fuel_read_flags();
}

#endif
