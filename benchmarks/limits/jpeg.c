/* What libjpeg-turbo needs at least for a window of an image: lines above it are skipped, columns
 * beside it left out. */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <jpeglib.h>

struct trap {
    struct jpeg_error_mgr manager;
    jmp_buf back;
};

static void on_error(j_common_ptr image) { longjmp(((struct trap *)image->err)->back, 1); }

/* Decode a square of RGB, its place given by two numbers from 0 to 1; 0 if all went well. */
int window(const uint8_t *file, int64_t length, double across, double down, int side, int flip,
           uint8_t *out)
{
    struct jpeg_decompress_struct image;
    struct trap trap;
    uint8_t *volatile line = NULL;
    image.err = jpeg_std_error(&trap.manager);
    trap.manager.error_exit = on_error;
    if (setjmp(trap.back)) {
        free(line);
        jpeg_destroy_decompress(&image);
        return 1;
    }
    jpeg_create_decompress(&image);
    jpeg_mem_src(&image, file, (unsigned long)length);
    jpeg_read_header(&image, TRUE);
    image.out_color_space = JCS_RGB;
    jpeg_start_decompress(&image);
    const int x = (int)(across * (image.output_width - side + 1));
    const int y = (int)(down * (image.output_height - side + 1));
    JDIMENSION first = (JDIMENSION)x, columns = (JDIMENSION)side;
    jpeg_crop_scanline(&image, &first, &columns); /* which moves `first` to the edge of a block */
    line = malloc((size_t)columns * 3);
    if (y) jpeg_skip_scanlines(&image, (JDIMENSION)y);
    for (int row = 0; row < side; row++) {
        uint8_t *target = line;
        jpeg_read_scanlines(&image, &target, 1);
        const uint8_t *pixels = line + (x - (int)first) * 3;
        uint8_t *o = out + (size_t)row * side * 3;
        if (!flip) {
            memcpy(o, pixels, (size_t)side * 3);
        } else {
            for (int column = 0; column < side; column++)
                memcpy(o + 3 * column, pixels + 3 * (side - 1 - column), 3);
        }
    }
    free(line);
    line = NULL;
    jpeg_abort_decompress(&image);
    jpeg_destroy_decompress(&image);
    return 0;
}
