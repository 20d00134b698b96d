"""Approximate functions: reciprocals and roots, powers and logarithms of two, sine, cosine and hyperbolic tangent.

Polynomials on vectors instead of calls into a mathematical library, never less accurate than the PTX ISA grants, and
exact where the ISA states results: zeros, infinities, NaN.
"""
from __future__ import annotations

import functools
import math

from simt.isa import rounding
from simt.isa.floating import (
    HALF_SECTION,
    SECTION,
    div,
    div_oracle,
    paired,
    paired_oracle,
    rcp,
    rcp_oracle,
    sqrt,
    sqrt_oracle,
)
from simt.isa.numbers import decode, encode, modified, nearest, own_edges, paired_edges, unary_edges
from simt.isa.rounding import magnitude
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value

ULP = 2.0**-23


def polynomial(b: Builder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """Horner's rule with fused steps; the constant term first."""
    total = b.const(x.type, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = b.intrinsic("fma", x.type, total, x, b.const(x.type, coefficient))
    return total


def limited(b: Builder, x: Value, least: float, most: float) -> Value:
    """x clamped; NaN becomes ``least``."""
    x = b.select(b.compare("fcmp ogt", x, b.const(x.type, least)), x, b.const(x.type, least))
    return b.select(b.compare("fcmp olt", x, b.const(x.type, most)), x, b.const(x.type, most))


def nan_or(b: Builder, x: Value, result: Value) -> Value:
    return b.select(b.compare("fcmp uno", x, x), x, result)


def whole_part(b: Builder, x: Value) -> tuple[Value, Value]:
    """x rounded to an integer, as a float and as an i32; |x| < 2^22. The low bits of x + 1.5 * 2^23 hold it."""
    shifter = b.const("float", 1.5 * 2.0**23)
    sum_ = b.binary("fadd", x, shifter)
    number = b.binary("sub", b.cast("bitcast", sum_, "i32"), b.const("i32", encode(1.5 * 2.0**23, "f32")))
    return b.binary("fsub", sum_, shifter), number


def power_of_two(b: Builder, exponent: Value) -> Value:
    """2^exponent as a float, for the exponents of normal numbers."""
    biased = b.binary("add", exponent, b.const("i32", 127))
    return b.cast("bitcast", b.binary("shl", biased, b.const("i32", 23)), "float")


# 2^x = 2^n * 2^f with |f| <= 1/2: the Taylor series of e^(f ln 2) to f^7, remainder below 2^-27
EX2 = tuple(math.log(2) ** k / math.factorial(k) for k in range(8))


def ex2(b: Builder, form: Form, x: Value) -> Value:
    bounded = limited(b, x, -151.0, 129.0)
    whole, exponent = whole_part(b, bounded)
    fraction = polynomial(b, b.binary("fsub", bounded, whole), EX2)
    # Two factors, as 2^-151 and 2^129 are no normal numbers; the second product rounds, once.
    half = b.binary("ashr", exponent, b.const("i32", 1))
    scaled = b.binary("fmul", fraction, power_of_two(b, half))
    return nan_or(b, x, b.binary("fmul", scaled, power_of_two(b, b.binary("sub", exponent, half))))


# log2 m = 2/ln 2 * atanh((m - 1) / (m + 1)) for m within a factor sqrt(2) of 1: to the 9th power, remainder below 2^-28
LG2 = tuple(2 / math.log(2) / (2 * k + 1) for k in range(5))


def lg2(b: Builder, form: Form, x: Value) -> Value:
    subnormal = b.compare("fcmp olt", x, b.const("float", 2.0**-126))
    scaled = b.select(subnormal, b.binary("fmul", x, b.const("float", 2.0**24)), x)
    root_half = b.const("i32", encode(math.sqrt(0.5), "f32"))
    offset = b.binary("sub", b.cast("bitcast", scaled, "i32"), root_half)
    exponent = b.binary("ashr", offset, b.const("i32", 23))
    exponent = b.binary("sub", exponent, b.select(subnormal, b.const("i32", 24), b.const("i32", 0)))
    fraction = b.binary("and", offset, b.const("i32", 0x7FFFFF))
    m, one = b.cast("bitcast", b.binary("add", fraction, root_half), "float"), b.const("float", 1.0)
    s = b.binary("fdiv", b.binary("fsub", m, one), b.binary("fadd", m, one))
    series = polynomial(b, b.binary("fmul", s, s), LG2)
    result = b.intrinsic("fma", "float", s, series, b.cast("sitofp", exponent, "float"))
    return logarithm_ends(b, x, result)


def logarithm_ends(b: Builder, x: Value, result: Value) -> Value:
    """log of 0, infinity, NaN and negative numbers."""
    zero, infinity = b.const("float", 0.0), b.const("float", math.inf)
    result = b.select(b.compare("fcmp oeq", x, infinity), x, result)
    result = b.select(b.compare("fcmp oeq", x, zero), b.const("float", -math.inf), result)
    return b.select(b.compare("fcmp uge", x, zero), nan_or(b, x, result), b.const("float", math.nan))


# Taylor series on |r| <= pi/4 by powers of r^2: sin r = r * SIN(r^2), cos r = COS(r^2)
SIN = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(5))
COS = tuple((-1) ** k / math.factorial(2 * k) for k in range(6))
PI_HALF_LOW = 6.123233995736766e-17  # pi/2 - (pi/2 rounded to double)
ANGLE_LIMIT = 2.0**40  # from here on an angle counts as 0: the ISA promises nothing beyond 100 pi


def circular(turn: int):
    """sin (turn 0) or cos (turn 1, a quarter ahead)."""

    def lower(b: Builder, form: Form, x: Value) -> Value:
        size = magnitude(b, x)
        inside = b.compare("fcmp olt", size, b.const("float", ANGLE_LIMIT))
        r, quadrant = reduced(b, b.select(inside, x, b.const("float", 0.0)))
        square = b.binary("fmul", r, r)
        sine, cosine = b.binary("fmul", r, polynomial(b, square, SIN)), polynomial(b, square, COS)
        quadrant = b.binary("add", quadrant, b.const("i32", turn))
        odd = b.compare("icmp ne", b.binary("and", quadrant, b.const("i32", 1)), b.const("i32", 0))
        sign = b.binary("shl", b.binary("and", quadrant, b.const("i32", 2)), b.const("i32", 30))
        chosen = b.cast("bitcast", b.select(odd, cosine, sine), "i32")
        result = b.cast("bitcast", b.binary("xor", chosen, sign), "float")
        if turn == 0:
            result = b.select(b.compare("fcmp olt", size, b.const("float", 2.0**-12)), x, result)
        finite = b.compare("fcmp olt", size, b.const("float", math.inf))
        return b.select(finite, result, b.const("float", math.nan))

    return lower


def reduced(b: Builder, x: Value) -> tuple[Value, Value]:
    """x - k pi/2 with the nearest k, and k modulo 2^32: in double, pi/2 in two parts, as x may lie close to k pi/2."""
    wide, shifter = b.cast("fpext", x, "double"), b.const("double", 1.5 * 2.0**52)
    sum_ = b.binary("fadd", b.binary("fmul", wide, b.const("double", 2 / math.pi)), shifter)
    k = b.binary("fsub", sum_, shifter)
    minus_k = b.unary("fneg", k)
    r = b.intrinsic("fma", "double", minus_k, b.const("double", math.pi / 2), wide)
    r = b.intrinsic("fma", "double", minus_k, b.const("double", PI_HALF_LOW), r)
    return b.cast("fptrunc", r, "float"), b.resize(b.cast("bitcast", sum_, "i64"), "i32")


# tanh x = x * TANH(x^2) near 0 (Taylor, Abramowitz & Stegun 4.5.64), else 1 - 2 / (e^2x + 1)
TANH = (1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835)


def tanh(b: Builder, form: Form, x: Value) -> Value:
    size, one = magnitude(b, x), b.const("float", 1.0)
    near = b.binary("fmul", size, polynomial(b, b.binary("fmul", x, x), TANH))
    power = ex2(b, form, b.binary("fmul", size, b.const("float", 2 / math.log(2))))
    far = b.binary("fsub", one, b.binary("fdiv", b.const("float", 2.0), b.binary("fadd", power, one)))
    result = b.select(b.compare("fcmp olt", size, b.const("float", 0.375)), near, far)
    return nan_or(b, x, b.intrinsic("copysign", "float", result, x))


def in_float(lower):
    """A float lowering for halves."""
    return lambda b, form, x: rounding.narrowed(b, lower(b, form, b.cast("fpext", x, "float")), "half")


def rsqrt(b: Builder, form: Form, x: Value) -> Value:
    return b.binary("fdiv", b.const(x.type, 1.0), b.intrinsic("sqrt", x.type, x))


def high_words(lower):
    """rcp and rsqrt .approx.ftz.f64 work on the high word of their operand and fill the high word of their result."""

    def cut(b: Builder, x: Value) -> Value:
        word = b.binary("and", b.cast("bitcast", x, "i64"), b.const("i64", 0xFFFFFFFF << 32))
        return b.cast("bitcast", word, "double")

    return lambda b, form, x: cut(b, rounding.modified(lower)(b, form, cut(b, x)))


def div_approx(b: Builder, form: Form, x: Value, y: Value) -> Value:
    """A quotient, but a zero from divisors above 2^126, whose reciprocal the GPU flushes."""
    large = b.compare("fcmp ogt", magnitude(b, y), b.const("float", 2.0**126))
    return b.select(large, b.binary("fmul", x, rounding.signed_zero(b, y)), b.binary("fdiv", x, y))


def div_approx_oracle(form: Form, x: float, y: float) -> float:
    return x * math.copysign(0.0, y) if abs(y) > 2.0**126 else div_oracle(form, x, y)


def ex2_oracle(form: Form, x: float) -> float:
    if x > 200 or x < -200:
        return math.inf if x > 0 else 0.0
    return x if x != x else nearest(2.0**x, "f32")


def lg2_oracle(form: Form, x: float) -> float:
    if x == 0:
        return -math.inf
    return math.nan if x != x or x < 0 else x if math.isinf(x) else nearest(math.log2(x), "f32")


def circular_oracle(function):
    def oracle(form: Form, x: float) -> float:
        if not math.isfinite(x):
            return math.nan
        return nearest(function(x if abs(x) < ANGLE_LIMIT else 0.0), "f32")

    return oracle


def tanh_oracle(form: Form, x: float) -> float:
    return math.tanh(x)


def rsqrt_oracle(form: Form, x: float) -> float:
    if x != x or x < 0:
        return math.nan
    return math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x)


def high_words_oracle(oracle):
    def cut(x: float) -> float:
        return decode(encode(x, "f64") >> 32 << 32, "f64")

    return lambda form, x: cut(modified(oracle)(form, cut(x)))


def half_oracle(oracle):
    return lambda form, x: nearest(oracle(form, x), "f16")


def angle_edges(form: Form) -> tuple:
    """Multiples of pi/4, angles to 100 pi and beyond, and the type's own edges."""
    turns = [sign * k * math.pi / 4 for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 399, 400) for sign in (1, -1)]
    numbers = (*turns, 1e-4, 0.5, 2.0**-12, 1e5, -1e6, 2.0**39, 2.0**41)
    return tuple((encode(x, "f32"),) for x in numbers) + unary_edges(form)


def exponent_edges(form: Form) -> tuple:
    numbers = (0.5, -0.5, 1.0, 2.5, 10.3, -10.3, 127.0, 127.999, 128.0, 129.5, -125.5, -126.0, -126.5, -140.2, -148.9,
               -149.0, -149.9, -151.0, 1e-3, 15.9, 16.0, -14.0, -24.0, -25.5, 1e30, -1e30)
    kind = form.type.removesuffix("x2")
    patterns = tuple(encode(nearest(x, kind), kind) for x in numbers)
    return tuple((x,) for x in (paired_edges(patterns) if kind != form.type else patterns)) + unary_edges(form)


def logarithm_edges(form: Form) -> tuple:
    numbers = (2.0, 4.0, 0.25, 3.0, 10.0, 0.999, 1.001, 1.4142, 1.4143, 0.7071, 0.7072, 1e-30, 1e30, 1e-42, 2.0**-127)
    return tuple((encode(x, "f32"),) for x in numbers) + unary_edges(form)


def rows():
    row = functools.partial(approximate, SECTION)
    yield row("div.full{,.ftz}.f32", div, div_oracle, own_edges, 2 * ULP, inputs=2)
    yield row("div.approx{,.ftz}.f32", div_approx, div_approx_oracle, own_edges, 2 * ULP, inputs=2)
    yield row("rcp.approx{,.ftz}.f32", rcp, rcp_oracle, unary_edges, ULP)
    yield row("sqrt.approx{,.ftz}.f32", sqrt, sqrt_oracle, unary_edges, ULP)
    yield row("rsqrt.approx{,.ftz}.f32", rsqrt, rsqrt_oracle, unary_edges, 2.0**-22.9)
    yield row("rsqrt.approx.f64", rsqrt, rsqrt_oracle, unary_edges, 2.0**-52)
    for name, lower, oracle in (("rcp", rcp, rcp_oracle), ("rsqrt", rsqrt, rsqrt_oracle)):
        yield Row(f"{name}.approx.ftz.f64", high_words(lower), high_words_oracle(oracle), unary_edges,
                  f"{SECTION}{name}.approx.ftz.f64", "sfu", inputs=1, tolerance=2.0**-19, flops=1)
    yield row("ex2.approx{,.ftz}.f32", ex2, ex2_oracle, exponent_edges, 2 * ULP)
    yield row("lg2.approx{,.ftz}.f32", lg2, lg2_oracle, logarithm_edges, 2 * ULP)
    yield row("sin.approx{,.ftz}.f32", circular(0), circular_oracle(math.sin), angle_edges, 2.0**-20.5)
    yield row("cos.approx{,.ftz}.f32", circular(1), circular_oracle(math.cos), angle_edges, 2.0**-20.5)
    yield row("tanh.approx.f32", tanh, tanh_oracle, exponent_edges, 2.0**-11)
    half_row = functools.partial(approximate, HALF_SECTION)
    halves = (("ex2", in_float(ex2), half_oracle(ex2_oracle), 2.0**-9.9),
              ("tanh", in_float(tanh), half_oracle(tanh_oracle), 2.0**-10.987))
    for name, lower, oracle, tolerance in halves:
        yield half_row(f"{name}.approx.f16", lower, oracle, exponent_edges, tolerance)
        yield half_row(f"{name}.approx.f16x2", paired(lower), paired_oracle(oracle), exponent_edges, tolerance, flops=2)


def approximate(section: str, forms: str, lower, oracle, edges, tolerance: float, inputs: int = 1,
                flops: int = 1) -> Row:
    return Row(forms, rounding.modified(lower), modified(oracle), edges, section + forms.split(".")[0], "sfu",
               inputs=inputs, tolerance=tolerance, flops=flops)


register(rows())
