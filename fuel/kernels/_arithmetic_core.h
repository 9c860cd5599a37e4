/* The loops for each set of instructions, and how a row goes through them. */
#ifndef FUEL_ARITHMETIC_CORE_H
#define FUEL_ARITHMETIC_CORE_H

#include <stddef.h>
#include "_arithmetic.h"
#include "_arithmetic_half.h"

typedef uint8_t fuel_b;
typedef uint8_t fuel_u8;
typedef int8_t fuel_i8;
typedef uint16_t fuel_u16;
typedef int16_t fuel_i16;
typedef uint32_t fuel_u32;
typedef int32_t fuel_i32;
typedef uint64_t fuel_u64;
typedef int64_t fuel_i64;
typedef float fuel_f32;
typedef double fuel_f64;

#define FUEL_TARGET
#define FUEL_LEVEL(name) name##_baseline
#include "_arithmetic_loops.h"
#undef FUEL_TARGET
#undef FUEL_LEVEL

#if defined(__x86_64__) && defined(__GNUC__)
#define FUEL_HAS_AVX2 1
#define FUEL_TARGET __attribute__((target("avx2")))
#define FUEL_LEVEL(name) name##_avx2
#include "_arithmetic_loops.h"
#undef FUEL_TARGET
#undef FUEL_LEVEL
static int fuel_best_level(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? 1 : 0;
}
#define FUEL_PICK(level, table) ((level) > 0 ? table##_avx2 : table##_baseline)
#else
static int fuel_best_level(void) { return 0; }
#define FUEL_PICK(level, table) ((void)(level), table##_baseline)
#endif

/* Entries of a table, by the byte of the source. */
#define FUEL_LOOK_UP(NAME, T) \
static int NAME(FUEL_FUSED_ARGUMENTS) { \
    FUEL_POINTERS(uint8_t, T) const T *table = (const T *)first; \
    (void)second; (void)third; (void)fourth; \
    for (k = 0; k < count; k++) y[k] = table[x[k]]; \
    return 0; }
FUEL_LOOK_UP(fuel_look_up_1, uint8_t)
FUEL_LOOK_UP(fuel_look_up_2, uint16_t)
FUEL_LOOK_UP(fuel_look_up_4, uint32_t)
FUEL_LOOK_UP(fuel_look_up_8, uint64_t)

/* Elements that go through a chain together: what they become lies in the fastest cache. */
#define FUEL_TILE 512

/* Operation by operation. */
static int fuel_apply_chain(const fuel_program *program, const char *in, char *out, int64_t start,
                            int64_t count)
{
    union { double alignment; char bytes[FUEL_TILE * 8]; } scratch[2];
    int status = 0;
    while (count > 0) {
        int64_t part = count < FUEL_TILE ? count : FUEL_TILE, number;
        const char *from = in;
        for (number = 0; number < program->steps; number++) {
            const fuel_step *step = program->step + number;
            int64_t left = part;
            if (step->count > 1)
                left = step->run > 1 ? step->run - start % step->run : step->count - start % step->count;
            if (left < part) part = left;
        }
        for (number = 0; number < program->steps; number++) {
            const fuel_step *step = program->step + number;
            const int scalar = step->count == 1 || step->run > 1;
            const int64_t which = step->count > 1 ? start / step->run % step->count : 0;
            char *to = number + 1 == program->steps ? out : scratch[number & 1].bytes;
            status |= (scalar ? step->with_scalar : step->with_vector)(
                from, to, part, step->values + which * step->operand_size);
            from = to;
        }
        if (status & FUEL_RANGE) break;
        in += part * program->source_size;
        out += part * program->result_size;
        start += part;
        count -= part;
    }
    return status;
}

/* All in one loop, with one value of each operand for a run of elements. */
static int fuel_apply_runs(const fuel_program *program, const char *in, char *out, int64_t start,
                           int64_t count)
{
    int64_t which = 0, left = program->run;
    int status = 0;
    if (start >= left) which = start / program->run % program->count;
    if (start) left -= start % program->run;
    while (count > 0) {
        const int64_t part = left < count ? left : count, place = which * program->operand_size;
        status |= program->fused(in, out, part, program->operand[0] + place,
                                 program->operand[1] + place, program->operand[2] + place,
                                 program->operand[3] + place);
        in += part * program->source_size;
        out += part * program->result_size;
        count -= part;
        left = program->run;
        which = which + 1 == program->count ? 0 : which + 1;
    }
    return status;
}

/* All in one loop, with a value of each operand for every element. */
static int fuel_apply_vectors(const fuel_program *program, const char *in, char *out, int64_t start,
                              int64_t count)
{
    int64_t which = start % program->count;
    int status = 0;
    while (count > 0) {
        const int64_t left = program->count - which, place = which * program->operand_size;
        const int64_t part = left < count ? left : count;
        status |= program->fused(in, out, part, program->operand[0] + place,
                                 program->operand[1] + place, program->operand[2] + place,
                                 program->operand[3] + place);
        in += part * program->source_size;
        out += part * program->result_size;
        count -= part;
        which = 0;
    }
    return status;
}

static const int fuel_item_size[FUEL_TYPES] = { 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8 };

/* Fill in one operation: 0 multiply, 1 add, 2 divide, or 3, a cast. Zero where there is none. */
static int fuel_set_step(fuel_step *step, int kind, int from, int to, const char *values,
                         int64_t run, int64_t count, int level)
{
    if (kind == 3) {
        step->with_scalar = step->with_vector = FUEL_PICK(level, casts)[from][to];
    } else {
        step->with_scalar = FUEL_PICK(level, operations)[kind][from][0];
        step->with_vector = FUEL_PICK(level, operations)[kind][from][1];
    }
    step->values = values;
    step->run = run;
    step->count = count;
    step->operand_size = from == FUEL_F16 ? 4 : fuel_item_size[from];
    step->result_size = fuel_item_size[to];
    return step->with_scalar != NULL;
}

/* Choose the one loop: form 0 to 2 as in `fused`, 3 for two parts, 4 for a table. */
static int fuel_set_fused(fuel_program *program, int form, int from, int way, int level)
{
    const int vector = program->run == 0;
    if (form < 3) {
        program->fused = FUEL_PICK(level, fused)[form][from][way][vector];
    } else if (form == 3) {
        program->fused = FUEL_PICK(level, split)[from == FUEL_I8][vector];
    } else {
        program->fused = program->result_size == 1 ? fuel_look_up_1
                       : program->result_size == 2 ? fuel_look_up_2
                       : program->result_size == 4 ? fuel_look_up_4 : fuel_look_up_8;
    }
    program->apply = vector ? fuel_apply_vectors : fuel_apply_runs;
    program->quiet = form >= 3;
    return program->fused != NULL;
}

#endif
