/* Philox-4x64-10, and the high half of a product: the arithmetic behind `fuel.kernels.draws`,
 * and normal deviates. Nothing here depends on the platform's mathematical library but frexp and
 * sqrt, which are exact or rounded alike everywhere. */
#ifndef FUEL_DRAWS_H
#define FUEL_DRAWS_H

#include <math.h>
#include <stdint.h>
#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

/* The 128-bit product of two numbers: returns its high half, writes its low half. */
static inline uint64_t fuel_multiply(uint64_t a, uint64_t b, uint64_t *low)
{
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    uint64_t high;
    *low = _umul128(a, b, &high);
    return high;
#else
    const uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    const uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
    const uint64_t middle = (p00 >> 32) + (p01 & 0xFFFFFFFFu) + (p10 & 0xFFFFFFFFu);
    *low = a * b;
    return p11 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
#endif
}

/* Ten rounds over a counter, which is replaced by the output. */
static inline void fuel_philox(uint64_t *counter, uint64_t key0, uint64_t key1)
{
    uint64_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    int round;
    for (round = 0; round < 10; round++) {
        uint64_t low0, low1;
        const uint64_t high0 = fuel_multiply(UINT64_C(0xD2E7470EE14C6C93), c0, &low0);
        const uint64_t high1 = fuel_multiply(UINT64_C(0xCA5A826395121157), c2, &low1);
        c0 = high1 ^ c1 ^ key0;
        c1 = low1;
        c2 = high0 ^ c3 ^ key1;
        c3 = low0;
        key0 += UINT64_C(0x9E3779B97F4A7C15);
        key1 += UINT64_C(0xBB67AE8584CAA73B);
    }
    counter[0] = c0;
    counter[1] = c1;
    counter[2] = c2;
    counter[3] = c3;
}

/* Wichura's AS 241, PPND16: the coefficients, highest power first. */
static const double fuel_centre_top[8] = {
    2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987,
    13731.69376550946, 1971.5909503065513, 133.14166789178438, 3.3871328727963665
};
static const double fuel_centre_bottom[8] = {
    5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597,
    5394.196021424751, 687.1870074920579, 42.31333070160091, 1.0
};
static const double fuel_tail_top[8] = {
    0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684,
    3.6478483247632045, 5.769497221460691, 4.630337846156546, 1.4234371107496835
};
static const double fuel_tail_bottom[8] = {
    1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008,
    0.6897673349851, 1.6763848301838038, 2.053191626637759, 1.0
};
static const double fuel_far_top[8] = {
    2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784,
    0.026532189526576124, 0.29656057182850487, 1.7848265399172913, 5.463784911164114,
    6.657904643501103
};
static const double fuel_far_bottom[8] = {
    2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05,
    0.0007868691311456133, 0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0
};
/* 1/21, 1/19, ..., 1: the logarithm as twice the inverse hyperbolic tangent. */
static const double fuel_odd[11] = {
    0.047619047619047616, 0.05263157894736842, 0.058823529411764705, 0.06666666666666667,
    0.07692307692307693, 0.09090909090909091, 0.1111111111111111, 0.14285714285714285, 0.2,
    0.3333333333333333, 1.0,
};

static inline double fuel_polynomial(const double *coefficients, int size, double x)
{
    double value = coefficients[0];
    int power;
    for (power = 1; power < size; power++) value = value * x + coefficients[power];
    return value;
}

/* The natural logarithm of a number below 1, from operations that are rounded alike everywhere. */
static inline double fuel_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent), s;
    if (m < 0.7071067811865476) {
        m = m * 2.0;
        exponent = exponent - 1;
    }
    s = (m - 1.0) / (m + 1.0);
    return (double)exponent * 0.6931471805599453
           + 2.0 * s * fuel_polynomial(fuel_odd, 11, s * s);
}

/* The normal deviate below which a part (bits / 2**64, to 52 bits) of all lie. */
static inline double fuel_normal(uint64_t bits)
{
    const uint64_t half = UINT64_C(1) << 51, cell = bits >> 12;
    const double unit = 1.0 / 4503599627370496.0;
    const double q = ((double)((int64_t)cell - (int64_t)half) + 0.5) * unit;
    const double *top = fuel_tail_top, *bottom = fuel_tail_bottom;
    double r, x;
    if (fabs(q) <= 0.425) {
        r = 0.180625 - q * q;
        return fuel_polynomial(fuel_centre_top, 8, r) * q
               / fuel_polynomial(fuel_centre_bottom, 8, r);
    }
    r = ((double)(int64_t)(cell < half ? cell : 2 * half - 1 - cell) + 0.5) * unit;
    r = sqrt(-fuel_log(r));
    if (r > 5.0) {
        top = fuel_far_top;
        bottom = fuel_far_bottom;
        r = r - 5.0;
    } else {
        r = r - 1.6;
    }
    x = fuel_polynomial(top, 8, r) / fuel_polynomial(bottom, 8, r);
    return q < 0.0 ? -x : x;
}

#endif
