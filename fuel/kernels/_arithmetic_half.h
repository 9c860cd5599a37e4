/* Half precision without hardware for it: conversions that round as IEEE 754 says.
 *
 * NumPy computes with halves in single precision and rounds after each operation; so do the loops.
 * Besides the result, the status says what the processor's flags would.
 */
#ifndef FUEL_ARITHMETIC_HALF_H
#define FUEL_ARITHMETIC_HALF_H

#include "_arithmetic.h"

typedef union { float value; uint32_t bits; } fuel_float_bits;

static inline float fuel_from_half(uint16_t half)
{
    const uint32_t rest = half & 0x7FFFu;
    fuel_float_bits out;
    out.bits = rest << 13;
    out.value *= 5192296858534827628530496329220096.0f; /* 2**112: exact, subnormal or not */
    out.bits = rest >= 0x7C00u ? 0x7F800000u | (rest << 13) : out.bits;
    out.bits |= (uint32_t)(half & 0x8000u) << 16;
    return out.value;
}

static inline uint16_t fuel_to_half(float value, int *status)
{
    fuel_float_bits in, small;
    uint32_t sign, rest, normal, half;
    in.value = value;
    sign = (in.bits >> 16) & 0x8000u;
    rest = in.bits & 0x7FFFFFFFu;
    /* Normal: another bias of the exponent, and the mantissa rounded to even at its 13th bit. */
    normal = (rest - 0x38000000u + 0xFFFu + ((rest >> 13) & 1u)) >> 13;
    /* Subnormal: next to 0.5 the last place of a float is the smallest half. */
    small.bits = rest < 0x38800000u ? rest : 0;
    small.value += 0.5f;
    half = rest < 0x38800000u ? small.bits - 0x3F000000u : normal;
    half = rest >= 0x477FF000u ? 0x7C00u : half; /* 65520 and more */
    half = rest > 0x7F800000u ? 0x7E00u : half;
    *status |= (rest >= 0x477FF000u) & (rest < 0x7F800000u) ? FUEL_OVERFLOW : 0;
    *status |= (rest != 0) & (rest < 0x38800000u) ? FUEL_UNDERFLOW : 0;
    return (uint16_t)(sign | half);
}

/* A double rounds once: by way of a float that is odd where it is not exact. */
static inline uint16_t fuel_double_to_half(double value, int *status)
{
    fuel_float_bits by;
    double back;
    by.value = (float)value;
    back = by.value;
    if (back != value && value == value) {
        if ((back < 0 ? -back : back) > (value < 0 ? -value : value)) by.bits--;
        by.bits |= 1u;
    }
    return fuel_to_half(by.value, status);
}

#endif
