/* What a compiled chain of arithmetic is, and how kernels run it: shared by all that move elements.
 *
 * A chain acts on the elements of one row, each by itself: element `k` of the row in the order of
 * the result. `apply` does any part of a row, so that a kernel which moves a row in pieces (windows,
 * mirrored lines) hands over each piece with the place of its first element.
 *
 * The results are NumPy's, bit for bit. Where NumPy would say something about a batch (an overflow,
 * a division by zero) or where C leaves open what comes out (a NaN made an integer), the status
 * says so, and the caller has NumPy do that batch.
 */
#ifndef FUEL_ARITHMETIC_H
#define FUEL_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#define FUEL_RESTRICT __restrict
#else
#define FUEL_RESTRICT restrict
#endif

/* What happened to a batch: the first four as the processor says it. */
enum {
    FUEL_INVALID = 1,
    FUEL_DIVIDE = 2,
    FUEL_OVERFLOW = 4,
    FUEL_UNDERFLOW = 8,
    FUEL_RANGE = 16 /* a value that its integer type cannot hold: the result is not complete */
};

enum {
    FUEL_BOOL, FUEL_U8, FUEL_I8, FUEL_U16, FUEL_I16, FUEL_U32, FUEL_I32, FUEL_U64, FUEL_I64,
    FUEL_F16, FUEL_F32, FUEL_F64, FUEL_TYPES
};

typedef int (*fuel_loop)(const void *in, void *out, int64_t count, const char *operand);
typedef int (*fuel_fused_loop)(
    const void *in, void *out, int64_t count,
    const char *first, const char *second, const char *third, const char *fourth);

/* One elementary operation. Element `k` of a row has operand `values[(k / run) % count]`. */
typedef struct {
    fuel_loop with_scalar, with_vector;
    const char *values;
    int64_t run, count;
    int operand_size, result_size; /* in bytes */
} fuel_step;

typedef struct fuel_program {
    int (*apply)(const struct fuel_program *, const char *in, char *out, int64_t start,
                 int64_t count);
    int64_t size;                  /* elements in a row */
    int source_size, result_size;  /* bytes of an element before and after */
    int quiet;                     /* the processor's flags have no meaning */
    int64_t steps;                 /* the chain, operation by operation */
    fuel_step *step;
    fuel_fused_loop fused;         /* or all of it in one loop, */
    const char *operand[4];        /* which has operands of one kind: */
    int64_t run, count;            /* `run` as above, 0 for one value an element in turns */
    int operand_size;
} fuel_program;

/* The processor's flags for floating point. fenv.h also works through the old x87 unit, which costs
 * more than a small row. */
#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
static inline void fuel_clear_flags(void) { _mm_setcsr(_mm_getcsr() & ~0x3Fu); }
static inline int fuel_read_flags(void)
{
    const unsigned found = _mm_getcsr();
    return (found & 0x01 ? FUEL_INVALID : 0) | (found & 0x04 ? FUEL_DIVIDE : 0)
         | (found & 0x08 ? FUEL_OVERFLOW : 0) | (found & 0x10 ? FUEL_UNDERFLOW : 0);
}
#else
#include <fenv.h>
static inline void fuel_clear_flags(void) { feclearexcept(FE_ALL_EXCEPT); }
static inline int fuel_read_flags(void)
{
    const int found = fetestexcept(FE_ALL_EXCEPT);
    return (found & FE_INVALID ? FUEL_INVALID : 0) | (found & FE_DIVBYZERO ? FUEL_DIVIDE : 0)
         | (found & FE_OVERFLOW ? FUEL_OVERFLOW : 0) | (found & FE_UNDERFLOW ? FUEL_UNDERFLOW : 0);
}
#endif

/* Fetch the beginning of memory that will be read soon. */
static inline void fuel_prefetch(const char *from, int64_t bytes)
{
#if defined(__GNUC__)
    int64_t place;
    for (place = 0; place < bytes; place += 64) __builtin_prefetch(from + place, 0, 3);
#else
    (void)from;
    (void)bytes;
#endif
}

#endif
