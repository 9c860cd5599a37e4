/* libjpeg-turbo behind a trap: what `_jpeg.pyx` needs of it, in plain C.
 *
 * Here, because `setjmp` must not share a frame with anything that counts references: parsing the
 * frame header, decoding one image or one window of it, and the stores into a batch. No Python, no
 * state between images, and nothing outlives a call.
 */
#ifndef FUEL_JPEG_H
#define FUEL_JPEG_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#ifdef _MSC_VER
#include <intrin.h>
#endif

#if !defined(LIBJPEG_TURBO_VERSION_NUMBER) || LIBJPEG_TURBO_VERSION_NUMBER < 2001000
/* Partial decoding, and the upsampling of 4:4:0, are as they should be from 2.1 on. */
#error "fuel.kernels._jpeg needs the headers of libjpeg-turbo 2.1 or newer"
#endif

enum {
    FUEL_JPEG_DONE = 0,
    FUEL_JPEG_OTHER = 1,     /* not of the usual kind: somebody else's task */
    FUEL_JPEG_FAILED = 2,    /* libjpeg refused it, or it ends too early: Pillow says how */
    FUEL_JPEG_DAMAGED = 3,   /* the compressed data are not what an encoder writes */
    FUEL_JPEG_SCANS = 4,     /* more passes over the image than anybody needs */
    /* An encoder that sends every bit of every coefficient by itself needs fewer. Made-up files
     * have tens of thousands, each of which costs as much as an image. */
    FUEL_JPEG_MOST_SCANS = 500,
    /* How far fancy upsampling looks: one chroma sample, or two columns of pixels. */
    FUEL_JPEG_MARGIN = 2,
    FUEL_JPEG_LINES = 4      /* lines that are asked for at a time */
};

/* One line of the plan that the door makes; all fields are int64, so that it can be an array. */
typedef struct {
    int64_t width, height;              /* of the whole image, scaled */
    int64_t top, left, rows, columns;   /* the window */
    int64_t channels;                   /* 1 or 3 */
    int64_t planar, flip;               /* (channel, row, column)? mirrored from left to right? */
    int64_t eighths;                    /* the scale: 8 for the full size */
} fuel_jpeg_place;

typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf jump;
    int damage;                         /* code of the first message about damaged data */
    int truncated, scans;
    char *text;                         /* JMSG_LENGTH_MAX characters for that message */
} fuel_jpeg_trap;

static void fuel_jpeg_exit(j_common_ptr info)
{
    fuel_jpeg_trap *trap = (fuel_jpeg_trap *)info->err;
    (*info->err->format_message)(info, trap->text);
    longjmp(trap->jump, 1);
}

static void fuel_jpeg_silence(j_common_ptr info) { (void)info; }

/* Warnings are kept where they mean that pixels were made up. Others tell of oddities that harm
 * nothing, such as bytes between two segments, which cameras do write. */
static void fuel_jpeg_warning(j_common_ptr info, int level)
{
    fuel_jpeg_trap *trap = (fuel_jpeg_trap *)info->err;
    const int code = info->err->msg_code;
    if (level >= 0)
        return;
    if (code == JWRN_JPEG_EOF)
        trap->truncated = 1;
    else if (!trap->damage &&
             (code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC)) {
        trap->damage = code;
        (*info->err->format_message)(info, trap->text);
    }
}

static void fuel_jpeg_progress(j_common_ptr info)
{
    if (((j_decompress_ptr)info)->input_scan_number > FUEL_JPEG_MOST_SCANS) {
        ((fuel_jpeg_trap *)info->err)->scans = 1;
        longjmp(((fuel_jpeg_trap *)info->err)->jump, 1);
    }
}

/* Width, height, number of components, and whether there is a segment like Exif's, of a JPEG that
 * `fuel_jpeg_decode` takes: Huffman-coded, 8 bits, grey or of three components. 0 for all else,
 * and where anything but segments lies before the first scan: libjpeg passes over it, Pillow may
 * not. */
static int fuel_jpeg_frame(const uint8_t *p, size_t size, int64_t *found)
{
    const uint8_t *end = p + size;
    int seen = 0;
    found[3] = 0;
    if (size < 4 || p[0] != 0xFF || p[1] != 0xD8)
        return 0;
    p += 2;
    for (;;) {
        int marker;
        size_t length;
        if (p == end || *p != 0xFF)
            return 0;
        while (p < end && *p == 0xFF)
            p++;
        if (end - p < 3)
            return 0;
        marker = *p++;
        if (marker == 0xDA)
            return seen;
        length = ((size_t)p[0] << 8) | p[1];
        if (marker < 0xC0 || (marker >= 0xD0 && marker <= 0xD9) || length < 2 ||
            length > (size_t)(end - p))
            return 0;
        if (marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) {
            if (seen || marker > 0xC2 || length < 8 || p[2] != 8)
                return 0;
            found[0] = ((int64_t)p[5] << 8) | p[6];
            found[1] = ((int64_t)p[3] << 8) | p[4];
            found[2] = p[7];
            if (!found[0] || !found[1] || (found[2] != 1 && found[2] != 3))
                return 0;
            seen = 1;
        }
        found[3] |= marker == 0xE1;
        p += length;
    }
}

/* Whether the file goes on to its end marker. A window is taken without reading what lies below
 * it, but a file that was cut off there is as truncated as any. */
static int fuel_jpeg_ends(const uint8_t *p, const uint8_t *end, int marker)
{
    for (;;) {
        if (!marker) {
            p = p < end ? (const uint8_t *)memchr(p, 0xFF, (size_t)(end - p)) : NULL;
            if (!p)
                return 0;
            while (p < end && *p == 0xFF)
                p++;
            if (p == end)
                return 0;
            marker = *p++;
        }
        if (marker == 0xD9)
            return 1;
        if (marker == 0xD8)
            return 0;
        if (marker > 0x01 && (marker < 0xD0 || marker > 0xD7)) {
            size_t length = end - p < 2 ? 0 : ((size_t)p[0] << 8) | p[1];
            if (length < 2 || length > (size_t)(end - p))
                return 0;
            p += length;
        }
        marker = 0;
    }
}

/* The number of an image that no thread has begun. */
static int64_t fuel_jpeg_next(int64_t *begun)
{
#ifdef _MSC_VER
    return _InterlockedExchangeAdd64((volatile __int64 *)begun, 1);
#else
    return __atomic_fetch_add(begun, 1, __ATOMIC_RELAXED);
#endif
}

#include "_jpeg_store.h"

/* Decode one image, or a window of it, into `out`. Returns one of the codes above. */
static int fuel_jpeg_decode(
    const uint8_t *data, size_t size, const fuel_jpeg_place *at, uint8_t *out, char *text
)
{
    struct jpeg_decompress_struct info;
    struct jpeg_progress_mgr progress;
    fuel_jpeg_trap trap;
    JSAMPROW lines[FUEL_JPEG_LINES];
    uint8_t *volatile memory = NULL;
    volatile int whole = 0;

    memset(&trap, 0, sizeof trap);
    memset(&progress, 0, sizeof progress);
    text[0] = 0;
    info.err = jpeg_std_error(&trap.base);
    trap.base.error_exit = fuel_jpeg_exit;
    trap.base.emit_message = fuel_jpeg_warning;
    trap.base.output_message = fuel_jpeg_silence;
    trap.text = text;
    if (setjmp(trap.jump)) {
        free(memory);
        jpeg_destroy_decompress(&info);
        return trap.scans ? FUEL_JPEG_SCANS : FUEL_JPEG_FAILED;
    }
    /* Should creation fail, the trap destroys what is not there yet. */
    memset((char *)&info + sizeof info.err, 0, sizeof info - sizeof info.err);
    jpeg_create_decompress(&info);
    progress.progress_monitor = fuel_jpeg_progress;
    info.progress = &progress;
    jpeg_mem_src(&info, data, (unsigned long)size);
    jpeg_read_header(&info, TRUE);
    if (info.data_precision != 8 || info.arith_code ||
        !((info.num_components == 1 && info.jpeg_color_space == JCS_GRAYSCALE) ||
          (info.num_components == 3 && at->channels == 3 &&
           (info.jpeg_color_space == JCS_YCbCr || info.jpeg_color_space == JCS_RGB)))) {
        jpeg_destroy_decompress(&info);
        return FUEL_JPEG_OTHER;
    }
    /* All else is as libjpeg has it by default, and so as Pillow has it: the slow integer
     * transform, fancy upsampling. */
    info.out_color_space = at->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    info.scale_num = (unsigned int)at->eighths;
    info.scale_denom = 8;
    jpeg_calc_output_dimensions(&info);
    if (info.output_width != at->width || info.output_height != at->height) {
        jpeg_destroy_decompress(&info);
        return FUEL_JPEG_OTHER;
    }
    jpeg_start_decompress(&info);
    {
        const int64_t rows = at->rows, columns = at->columns, channels = at->channels;
        const size_t stride = (size_t)(columns * channels);
        JDIMENSION first = 0, width = info.output_width;
        int64_t row = 0;
        int number;

        whole = rows == at->height;
        if (columns < at->width && at->eighths == 8) {
            /* Where a component has less than two columns left, libjpeg chooses all upsampling anew,
             * and the plain kind for those that have two. */
            const int64_t least = 3 * (int64_t)info.max_h_samp_factor;
            int64_t from = at->left > FUEL_JPEG_MARGIN ? at->left - FUEL_JPEG_MARGIN : 0;
            int64_t to = at->left + columns + FUEL_JPEG_MARGIN;
            if (to < from + least)
                to = from + least;
            if (to > at->width)
                to = at->width;
            if (from > to - least)
                from = to > least ? to - least : 0;
            first = (JDIMENSION)from;
            width = (JDIMENSION)(to - from);
            jpeg_crop_scanline(&info, &first, &width); /* moves `first` down to a block's edge */
        }
        if (width != columns || at->flip || (at->planar && channels == 3)) {
            const size_t line = (size_t)width * (size_t)channels;
            memory = (uint8_t *)malloc(FUEL_JPEG_LINES * line);
            if (!memory)
                ERREXIT1(&info, JERR_OUT_OF_MEMORY, 0);
            for (number = 0; number < FUEL_JPEG_LINES; number++)
                lines[number] = memory + (size_t)number * line;
        }
        if (at->top)
            jpeg_skip_scanlines(&info, (JDIMENSION)at->top);
        while (row < rows) {
            int got, most = rows - row < FUEL_JPEG_LINES ? (int)(rows - row) : FUEL_JPEG_LINES;
            if (!memory)
                for (number = 0; number < most; number++)
                    lines[number] = out + (size_t)(row + number) * stride;
            got = (int)jpeg_read_scanlines(&info, lines, (JDIMENSION)most);
            if (!got)
                ERREXIT1(&info, JERR_INPUT_EMPTY, 0);
            if (memory)
                for (number = 0; number < got; number++)
                    fuel_jpeg_store(
                        lines[number] + (size_t)(at->left - first) * (size_t)channels, columns,
                        channels, at->planar, at->flip,
                        out + (size_t)(row + number) * (at->planar ? (size_t)columns : stride),
                        (size_t)(rows * columns)
                    );
            row += got;
        }
    }
    if (whole)
        jpeg_finish_decompress(&info);
    else if (!jpeg_input_complete(&info) && !trap.truncated &&
             !fuel_jpeg_ends(info.src->next_input_byte,
                             info.src->next_input_byte + info.src->bytes_in_buffer,
                             info.unread_marker))
        trap.truncated = 1;
    free(memory);
    jpeg_destroy_decompress(&info);
    return trap.truncated ? FUEL_JPEG_FAILED : trap.damage ? FUEL_JPEG_DAMAGED : FUEL_JPEG_DONE;
}

#endif
