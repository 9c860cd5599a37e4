/* The loops over elements, for one set of instructions. No guard: it is included once for each,
 * with FUEL_LEVEL(name) to tell the functions apart and FUEL_TARGET to compile them.
 *
 * Every loop reads `count` elements and writes as many; the two do not overlap.
 */
#ifndef FUEL_LOOP

#define FUEL_LOOP(name) static FUEL_TARGET int FUEL_LEVEL(name)
#define FUEL_ARGUMENTS \
    const void *FUEL_RESTRICT in, void *FUEL_RESTRICT out, int64_t count, const char *operand
#define FUEL_POINTERS(F, T) \
    const F *FUEL_RESTRICT x = (const F *)in; T *FUEL_RESTRICT y = (T *)out; int64_t k;

/* An element as it is read. A truth value is a byte, and true if it is anything but 0: files and
 * views may hold other bytes than 1. */
#define FUEL_READ_b(value) ((uint8_t)((value) != 0))
#define FUEL_READ_u8(value) (value)
#define FUEL_READ_i8(value) (value)
#define FUEL_READ_u16(value) (value)
#define FUEL_READ_i16(value) (value)
#define FUEL_READ_u32(value) (value)
#define FUEL_READ_i32(value) (value)
#define FUEL_READ_u64(value) (value)
#define FUEL_READ_i64(value) (value)
#define FUEL_READ_f32(value) (value)
#define FUEL_READ_f64(value) (value)

/* Casts. Of a number to what holds it, or wraps, or rounds: C's rules are NumPy's. */
#define FUEL_PLAIN(F, T) \
FUEL_LOOP(cast_##F##_##T)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, fuel_##T) (void)operand; \
    for (k = 0; k < count; k++) y[k] = (fuel_##T)FUEL_READ_##F(x[k]); \
    return 0; }
#define FUEL_TO_BOOL(F) \
FUEL_LOOP(cast_##F##_b)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, uint8_t) (void)operand; \
    for (k = 0; k < count; k++) y[k] = (uint8_t)(x[k] != 0); \
    return 0; }
/* Of a float to an integer: only where all are in range. */
#define FUEL_CHECKED(F, T, ABOVE, LOW, HIGH) \
FUEL_LOOP(cast_##F##_##T)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, fuel_##T) int bad = 0; (void)operand; \
    for (k = 0; k < count; k++) bad |= !((x[k] ABOVE LOW) & (x[k] < HIGH)); \
    if (bad) return FUEL_RANGE; \
    for (k = 0; k < count; k++) y[k] = (fuel_##T)x[k]; \
    return 0; }
#define FUEL_HALF_CHECKED(T, LOW, HIGH) \
FUEL_LOOP(cast_f16_##T)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(uint16_t, fuel_##T) int bad = 0; (void)operand; \
    for (k = 0; k < count; k++) { \
        const float value = fuel_from_half(x[k]); bad |= !((value > LOW) & (value < HIGH)); } \
    if (bad) return FUEL_RANGE; \
    for (k = 0; k < count; k++) y[k] = (fuel_##T)fuel_from_half(x[k]); \
    return 0; }
#define FUEL_FROM_HALF(T) \
FUEL_LOOP(cast_f16_##T)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(uint16_t, fuel_##T) (void)operand; \
    for (k = 0; k < count; k++) y[k] = (fuel_##T)fuel_from_half(x[k]); \
    return 0; }
#define FUEL_TO_HALF(F, CONVERT) \
FUEL_LOOP(cast_##F##_f16)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, uint16_t) int status = 0; (void)operand; \
    for (k = 0; k < count; k++) y[k] = CONVERT(FUEL_READ_##F(x[k]), &status); \
    return status; }
#define FUEL_BY_FLOAT(value, status) fuel_to_half((float)(value), status)
#define FUEL_FROM_INTEGER(F) \
    FUEL_PLAIN(F, u8) FUEL_PLAIN(F, i8) FUEL_PLAIN(F, u16) FUEL_PLAIN(F, i16) FUEL_PLAIN(F, u32) \
    FUEL_PLAIN(F, i32) FUEL_PLAIN(F, u64) FUEL_PLAIN(F, i64) FUEL_PLAIN(F, f32) \
    FUEL_PLAIN(F, f64) FUEL_TO_BOOL(F) FUEL_TO_HALF(F, FUEL_BY_FLOAT)
#define FUEL_FROM_FLOAT(F) \
    FUEL_CHECKED(F, u8, >, -1, 256) FUEL_CHECKED(F, i8, >, -129, 128) \
    FUEL_CHECKED(F, u16, >, -1, 65536) FUEL_CHECKED(F, i16, >, -32769, 32768) \
    FUEL_CHECKED(F, u32, >, -1, (fuel_##F)4294967296.0) \
    FUEL_CHECKED(F, u64, >, -1, (fuel_##F)18446744073709551616.0) \
    FUEL_CHECKED(F, i64, >=, (fuel_##F)-9223372036854775808.0, (fuel_##F)9223372036854775808.0) \
    FUEL_TO_BOOL(F)

/* Arithmetic, of integers modulo their range: in unsigned numbers, where C defines it. */
#define FUEL_BINARY(NAME, T, U, SYMBOL) \
FUEL_LOOP(NAME##_##T##_scalar)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##T, fuel_##T) const U by = (U)*(const fuel_##T *)operand; \
    for (k = 0; k < count; k++) y[k] = (fuel_##T)((U)x[k] SYMBOL by); \
    return 0; } \
FUEL_LOOP(NAME##_##T##_vector)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##T, fuel_##T) const fuel_##T *by = (const fuel_##T *)operand; \
    for (k = 0; k < count; k++) y[k] = (fuel_##T)((U)x[k] SYMBOL (U)by[k]); \
    return 0; }
#define FUEL_HALF_BINARY(NAME, SYMBOL) \
FUEL_LOOP(NAME##_f16_scalar)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(uint16_t, uint16_t) const float by = *(const float *)operand; int status = 0; \
    for (k = 0; k < count; k++) y[k] = fuel_to_half(fuel_from_half(x[k]) SYMBOL by, &status); \
    return status; } \
FUEL_LOOP(NAME##_f16_vector)(FUEL_ARGUMENTS) { \
    FUEL_POINTERS(uint16_t, uint16_t) const float *by = (const float *)operand; int status = 0; \
    for (k = 0; k < count; k++) y[k] = fuel_to_half(fuel_from_half(x[k]) SYMBOL by[k], &status); \
    return status; }
#define FUEL_BOTH(T, U) FUEL_BINARY(multiply, T, U, *) FUEL_BINARY(add, T, U, +)

/* A cast, two operations and a cast in one: element by element the same roundings. */
#define FUEL_FUSED_ARGUMENTS \
    const void *FUEL_RESTRICT in, void *FUEL_RESTRICT out, int64_t count, \
    const char *first, const char *second, const char *third, const char *fourth
#define FUEL_MULTIPLY_ADD(x, p, q) ((x) * (p) + (q))
#define FUEL_ADD_MULTIPLY(x, p, q) (((x) + (p)) * (q))
#define FUEL_ADD_DIVIDE(x, p, q) (((x) + (p)) / (q))
#define FUEL_FUSED(NAME, RULE, F, C, T) \
FUEL_LOOP(NAME##_##F##_##C##_##T##_scalar)(FUEL_FUSED_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, fuel_##T) \
    const fuel_##C p = *(const fuel_##C *)first, q = *(const fuel_##C *)second; \
    (void)third; (void)fourth; \
    for (k = 0; k < count; k++) \
        y[k] = (fuel_##T)RULE((fuel_##C)FUEL_READ_##F(x[k]), p, q); \
    return 0; } \
FUEL_LOOP(NAME##_##F##_##C##_##T##_vector)(FUEL_FUSED_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, fuel_##T) \
    const fuel_##C *p = (const fuel_##C *)first, *q = (const fuel_##C *)second; \
    (void)third; (void)fourth; \
    for (k = 0; k < count; k++) \
        y[k] = (fuel_##T)RULE((fuel_##C)FUEL_READ_##F(x[k]), p[k], q[k]); \
    return 0; }
#define FUEL_FUSED_OF(NAME, RULE, F) \
    FUEL_FUSED(NAME, RULE, F, f32, f32) FUEL_FUSED(NAME, RULE, F, f64, f32) \
    FUEL_FUSED(NAME, RULE, F, f64, f64)
#define FUEL_FUSED_ALL(NAME, RULE) \
    FUEL_FUSED_OF(NAME, RULE, b) FUEL_FUSED_OF(NAME, RULE, u8) FUEL_FUSED_OF(NAME, RULE, i8) \
    FUEL_FUSED_OF(NAME, RULE, u16) FUEL_FUSED_OF(NAME, RULE, i16) FUEL_FUSED_OF(NAME, RULE, u32) \
    FUEL_FUSED_OF(NAME, RULE, i32) FUEL_FUSED_OF(NAME, RULE, u64) FUEL_FUSED_OF(NAME, RULE, i64) \
    FUEL_FUSED_OF(NAME, RULE, f32) FUEL_FUSED_OF(NAME, RULE, f64)

/* Of bytes: scale and shift in two parts each, in single precision. */
#define FUEL_SPLIT(F) \
FUEL_LOOP(split_##F##_scalar)(FUEL_FUSED_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, float) \
    const float a = *(const float *)first, b = *(const float *)second; \
    const float c = *(const float *)third, d = *(const float *)fourth; \
    for (k = 0; k < count; k++) { \
        const float value = (float)x[k]; y[k] = (value * a + b) + (value * c + d); } \
    return 0; } \
FUEL_LOOP(split_##F##_vector)(FUEL_FUSED_ARGUMENTS) { \
    FUEL_POINTERS(fuel_##F, float) \
    const float *a = (const float *)first, *b = (const float *)second; \
    const float *c = (const float *)third, *d = (const float *)fourth; \
    for (k = 0; k < count; k++) { \
        const float value = (float)x[k]; y[k] = (value * a[k] + b[k]) + (value * c[k] + d[k]); } \
    return 0; }

/* The tables below, in the order of the types. */
#define L(name) FUEL_LEVEL(name)
#define FUEL_ROW(F) { \
    L(cast_##F##_b), L(cast_##F##_u8), L(cast_##F##_i8), L(cast_##F##_u16), L(cast_##F##_i16), \
    L(cast_##F##_u32), L(cast_##F##_i32), L(cast_##F##_u64), L(cast_##F##_i64), \
    L(cast_##F##_f16), L(cast_##F##_f32), L(cast_##F##_f64) }
#define FUEL_PAIR(NAME) { L(NAME##_scalar), L(NAME##_vector) }
#define FUEL_OF_INTEGERS(NAME) \
    { 0, 0 }, FUEL_PAIR(NAME##_u8), FUEL_PAIR(NAME##_i8), FUEL_PAIR(NAME##_u16), \
    FUEL_PAIR(NAME##_i16), FUEL_PAIR(NAME##_u32), FUEL_PAIR(NAME##_i32), FUEL_PAIR(NAME##_u64), \
    FUEL_PAIR(NAME##_i64)
#define FUEL_OF_FLOATS(NAME) \
    FUEL_PAIR(NAME##_f16), FUEL_PAIR(NAME##_f32), FUEL_PAIR(NAME##_f64)
#define FUEL_WAYS(NAME, F) { \
    FUEL_PAIR(NAME##_##F##_f32_f32), FUEL_PAIR(NAME##_##F##_f64_f32), \
    FUEL_PAIR(NAME##_##F##_f64_f64) }
#define FUEL_FORM(NAME) { \
    FUEL_WAYS(NAME, b), FUEL_WAYS(NAME, u8), FUEL_WAYS(NAME, i8), FUEL_WAYS(NAME, u16), \
    FUEL_WAYS(NAME, i16), FUEL_WAYS(NAME, u32), FUEL_WAYS(NAME, i32), FUEL_WAYS(NAME, u64), \
    FUEL_WAYS(NAME, i64), { { 0, 0 }, { 0, 0 }, { 0, 0 } }, FUEL_WAYS(NAME, f32), \
    FUEL_WAYS(NAME, f64) }

#endif

FUEL_FROM_INTEGER(b) FUEL_FROM_INTEGER(u8) FUEL_FROM_INTEGER(i8) FUEL_FROM_INTEGER(u16)
FUEL_FROM_INTEGER(i16) FUEL_FROM_INTEGER(u32) FUEL_FROM_INTEGER(i32) FUEL_FROM_INTEGER(u64)
FUEL_FROM_INTEGER(i64)
/* In single precision there is nothing between the smallest integer and what is too small. */
FUEL_FROM_FLOAT(f32) FUEL_CHECKED(f32, i32, >=, -2147483648.0f, 2147483648.0f)
FUEL_FROM_FLOAT(f64) FUEL_CHECKED(f64, i32, >, -2147483649.0, 2147483648.0)
FUEL_PLAIN(f32, f32) FUEL_PLAIN(f32, f64) FUEL_TO_HALF(f32, fuel_to_half)
FUEL_PLAIN(f64, f32) FUEL_PLAIN(f64, f64) FUEL_TO_HALF(f64, fuel_double_to_half)
FUEL_HALF_CHECKED(u8, -1, 256) FUEL_HALF_CHECKED(i8, -129, 128)
FUEL_HALF_CHECKED(u16, -1, 65536) FUEL_HALF_CHECKED(i16, -32769, 32768)
FUEL_HALF_CHECKED(u32, -1, 65536) FUEL_HALF_CHECKED(i32, -65536, 65536)
FUEL_HALF_CHECKED(u64, -1, 65536) FUEL_HALF_CHECKED(i64, -65536, 65536)
FUEL_FROM_HALF(f32) FUEL_FROM_HALF(f64)
FUEL_LOOP(cast_f16_b)(FUEL_ARGUMENTS) {
    FUEL_POINTERS(uint16_t, uint8_t) (void)operand;
    for (k = 0; k < count; k++) y[k] = (uint8_t)((x[k] & 0x7FFFu) != 0);
    return 0; }
FUEL_LOOP(cast_f16_f16)(FUEL_ARGUMENTS) {
    (void)operand; memcpy(out, in, (size_t)count * 2); return 0; }

FUEL_BOTH(u8, uint32_t) FUEL_BOTH(i8, uint32_t) FUEL_BOTH(u16, uint32_t) FUEL_BOTH(i16, uint32_t)
FUEL_BOTH(u32, uint32_t) FUEL_BOTH(i32, uint32_t) FUEL_BOTH(u64, uint64_t) FUEL_BOTH(i64, uint64_t)
FUEL_BOTH(f32, float) FUEL_BOTH(f64, double)
FUEL_BINARY(divide, f32, float, /) FUEL_BINARY(divide, f64, double, /)
FUEL_HALF_BINARY(multiply, *) FUEL_HALF_BINARY(add, +) FUEL_HALF_BINARY(divide, /)

FUEL_FUSED_ALL(multiply_add, FUEL_MULTIPLY_ADD)
FUEL_FUSED_ALL(add_multiply, FUEL_ADD_MULTIPLY)
FUEL_FUSED_ALL(add_divide, FUEL_ADD_DIVIDE)
FUEL_SPLIT(u8) FUEL_SPLIT(i8)

static const fuel_loop L(casts)[FUEL_TYPES][FUEL_TYPES] = {
    FUEL_ROW(b), FUEL_ROW(u8), FUEL_ROW(i8), FUEL_ROW(u16), FUEL_ROW(i16), FUEL_ROW(u32),
    FUEL_ROW(i32), FUEL_ROW(u64), FUEL_ROW(i64), FUEL_ROW(f16), FUEL_ROW(f32), FUEL_ROW(f64) };
static const fuel_loop L(operations)[3][FUEL_TYPES][2] = {
    { FUEL_OF_INTEGERS(multiply), FUEL_OF_FLOATS(multiply) },
    { FUEL_OF_INTEGERS(add), FUEL_OF_FLOATS(add) },
    { { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 },
      FUEL_OF_FLOATS(divide) } };
static const fuel_fused_loop L(fused)[3][FUEL_TYPES][3][2] = {
    FUEL_FORM(multiply_add), FUEL_FORM(add_multiply), FUEL_FORM(add_divide) };
static const fuel_fused_loop L(split)[2][2] = { FUEL_PAIR(split_u8), FUEL_PAIR(split_i8) };
