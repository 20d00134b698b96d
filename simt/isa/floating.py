"""Floating-point arithmetic: f32, f64, f16 and pairs of f16."""
from __future__ import annotations

import functools
import math
from fractions import Fraction

from simt.isa import rounding
from simt.isa.numbers import (
    FORMATS,
    decode_pair,
    encode,
    encode_pair,
    is_negative,
    modified,
    own_edges,
    rounded,
    rounding_of,
    ternary_edges,
    unary_edges,
)
from simt.isa.rounding import product_error, signs
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value

SECTION = "Floating Point Instructions: "
HALF_SECTION = "Half Precision Floating Point Instructions: "
KINDS = {"f32": "fp32", "f64": "fp64"}


# Lowerings of one operation, rounded as the form says

def add(b: Builder, form: Form, x: Value, y: Value) -> Value:
    mode = rounding_of(form)
    if mode == "rn":
        return b.binary("fadd", x, y)
    if x.type == "double":
        return rounding.sum_rounded(b, mode, x, y)
    return rounding.fma_narrow(b, mode, x, b.const(x.type, 1.0), y)


def sub(b: Builder, form: Form, x: Value, y: Value) -> Value:
    return b.binary("fsub", x, y) if rounding_of(form) == "rn" else add(b, form, x, b.unary("fneg", y))


def mul(b: Builder, form: Form, x: Value, y: Value) -> Value:
    mode = rounding_of(form)
    if mode == "rn":
        return b.binary("fmul", x, y)
    if x.type == "float":
        exact = b.binary("fmul", b.cast("fpext", x, "double"), b.cast("fpext", y, "double"))
        return rounding.narrowed(b, exact, "float", mode)
    nearest = b.binary("fmul", x, y)
    error = signs(b, product_error(b, x, y, nearest))
    return rounding.directed(b, mode, nearest, *rounding.overflown(b, nearest, rounding.are_finite(b, x, y), *error))


def fma(b: Builder, form: Form, x: Value, y: Value, z: Value) -> Value:
    mode = rounding_of(form)
    if mode == "rn" and x.type != "half":
        return b.intrinsic("fma", x.type, x, y, z)
    if x.type == "double":
        return rounding.fma_double(b, mode, x, y, z)
    return rounding.fma_narrow(b, mode, x, y, z)


def div(b: Builder, form: Form, x: Value, y: Value) -> Value:
    mode = rounding_of(form)
    if mode == "rn":
        return b.binary("fdiv", x, y)
    wide_x, wide_y = b.cast("fpext", x, "double"), b.cast("fpext", y, "double")
    quotient = b.binary("fdiv", wide_x, wide_y)
    excess = product_error(b, quotient, wide_y, wide_x)
    divisor_sign = b.intrinsic("copysign", "double", b.const("double", 1.0), wide_y)
    error = signs(b, b.binary("fmul", b.unary("fneg", excess), divisor_sign))
    if x.type == "float":
        return rounding.narrowed(b, rounding.to_odd(b, quotient, *error), "float", mode)
    finite = b.binary("and", rounding.are_finite(b, x), b.compare("fcmp une", y, b.const("double", 0.0)))
    return rounding.directed(b, mode, quotient, *rounding.overflown(b, quotient, finite, *error))


def sqrt(b: Builder, form: Form, x: Value) -> Value:
    mode = rounding_of(form)
    if mode == "rn":
        return b.intrinsic("sqrt", x.type, x)
    wide = b.cast("fpext", x, "double")
    root = b.intrinsic("sqrt", "double", wide)
    error = signs(b, b.unary("fneg", product_error(b, root, root, wide)))
    if x.type == "float":
        return rounding.narrowed(b, rounding.to_odd(b, root, *error), "float", mode)
    return rounding.directed(b, mode, root, *error)


def rcp(b: Builder, form: Form, x: Value) -> Value:
    return div(b, form, b.const(x.type, 1.0), x)


def paired(lower, lane_type: str = "half"):
    """A lowering on both halves of i32 operands."""

    def both(b: Builder, form: Form, *operands: Value) -> Value:
        split = [rounding.halves(b, x, lane_type) for x in operands]
        return rounding.pair(b, *(lower(b, form, *side) for side in zip(*split, strict=True)))

    return both


def negated(b: Builder, form: Form, x: Value) -> Value:
    return b.unary("fneg", x)


def absolute(b: Builder, form: Form, x: Value) -> Value:
    return rounding.magnitude(b, x)


def minimum(name: str):
    """min or max: a NaN operand loses, with .NaN it wins; -0 is less than +0."""

    def lower(b: Builder, form: Form, x: Value, y: Value) -> Value:
        return b.intrinsic(f"{name}imum" + ("" if form.has("NaN") else "num"), x.type, x, y)

    return lower


def testp(b: Builder, form: Form, x: Value) -> Value:
    size, infinity = rounding.magnitude(b, x), b.const(x.type, math.inf)
    least_normal = b.const(x.type, rounding.LEAST_NORMAL[x.type])
    zero = b.const(x.type, 0.0)
    tests = {
        "finite": lambda: b.compare("fcmp olt", size, infinity),
        "infinite": lambda: b.compare("fcmp oeq", size, infinity),
        "number": lambda: b.compare("fcmp ord", x, x),
        "notanumber": lambda: b.compare("fcmp uno", x, x),
        "normal": lambda: b.binary("or", b.compare("fcmp oeq", x, zero), b.binary(
            "and", b.compare("fcmp oge", size, least_normal), b.compare("fcmp olt", size, infinity))),
        "subnormal": lambda: b.binary(
            "and", b.compare("fcmp ogt", size, zero), b.compare("fcmp olt", size, least_normal)),
    }
    return tests[form.parts[1]]()


# Oracles: exact fractions, rounded once

def exactly(ptx_type: str, exact: Fraction, mode: str, zero_sign: float) -> float:
    """``exact`` rounded; an exact zero, and a result that rounds to zero, takes the given sign or its own."""
    size = rounded(exact, ptx_type, mode)
    return size if exact else math.copysign(0.0, zero_sign)


def zero_of_sum(mode: str, x: float, y: float) -> float:
    """The sign of an exact x + y = 0 (IEEE 754-2019, 6.3)."""
    if is_negative(x) == is_negative(y):
        return x
    return -1.0 if mode == "rm" else 1.0


def scalar_type(form: Form) -> str:
    return form.type.removesuffix("x2")


def add_oracle(form: Form, x: float, y: float) -> float:
    return fma_oracle(form, x, 1.0, y)


def sub_oracle(form: Form, x: float, y: float) -> float:
    return fma_oracle(form, x, 1.0, -y)


def mul_oracle(form: Form, x: float, y: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y
    sign = math.copysign(1.0, x) * math.copysign(1.0, y)
    return exactly(scalar_type(form), Fraction(x) * Fraction(y), rounding_of(form), sign)


def fma_oracle(form: Form, x: float, y: float, z: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    exact, mode = Fraction(x) * Fraction(y) + Fraction(z), rounding_of(form)
    product_sign = math.copysign(1.0, x) * math.copysign(1.0, y)
    return exactly(scalar_type(form), exact, mode, zero_of_sum(mode, product_sign, z))


def div_oracle(form: Form, x: float, y: float) -> float:
    sign = math.copysign(1.0, x) * math.copysign(1.0, y)
    if x != x or y != y or (x == 0 and y == 0) or (math.isinf(x) and math.isinf(y)):
        return math.nan
    if math.isinf(x) or y == 0:
        return sign * math.inf
    if math.isinf(y):
        return sign * 0.0
    return exactly(form.type, Fraction(x) / Fraction(y), rounding_of(form), sign)


def rcp_oracle(form: Form, x: float) -> float:
    return div_oracle(form, 1.0, x)


def sqrt_oracle(form: Form, x: float) -> float:
    if x == 0 or x == math.inf:
        return x
    return math.nan if x != x or x < 0 else root(form.type, Fraction(x), rounding_of(form))


def root(ptx_type: str, square: Fraction, mode: str) -> float:
    """The square root, from an integer root with 64 bits more than the type; a rest sets a bit below them."""
    spread = abs(square.numerator.bit_length() - square.denominator.bit_length())
    scale = 2 * (FORMATS[ptx_type].precision + 64 + spread)
    scaled = (square.numerator << 2 * scale) // square.denominator
    whole = math.isqrt(scaled)
    inexact = Fraction(whole, 1 << scale) ** 2 != square
    return rounded(Fraction(2 * whole + inexact, 2 << scale), ptx_type, mode)


def negated_oracle(form: Form, x: float) -> float:
    return -x


def absolute_oracle(form: Form, x: float) -> float:
    return abs(x)


def pick_oracle(pick):
    """min or max by value, -0 below +0."""

    def oracle(form: Form, x: float, y: float) -> float:
        if x != x or y != y:
            return math.nan if form.has("NaN") else (y if x != x else x)
        return pick(x, y, key=lambda number: (number, not is_negative(number)))

    return oracle


def testp_oracle(form: Form, x: float) -> bool:
    least_normal = FORMATS[form.type].least_normal
    return {
        "finite": math.isfinite(x), "infinite": math.isinf(x), "number": x == x, "notanumber": x != x,
        "normal": math.isfinite(x) and (x == 0 or abs(x) >= least_normal), "subnormal": 0 < abs(x) < least_normal,
    }[form.parts[1]]


def paired_oracle(oracle):
    """An oracle on both halves of 32-bit patterns."""

    def both(form: Form, *operands: int) -> int:
        sides = zip(*(decode_pair(x, form.type) for x in operands), strict=True)
        return encode_pair(*(oracle(form, *side) for side in sides), form.type)

    return both


def fused_edges(form: Form) -> tuple:
    return ternary_edges(form) + (() if form.type.endswith("x2") else near_cancellation(form.type))


def edges_by_inputs(inputs: int):
    return {1: unary_edges, 2: own_edges, 3: fused_edges}[inputs]


@functools.cache
def near_cancellation(ptx_type: str) -> tuple:
    """Products and addends that cancel up to the last bits, sit on a tie, or barely count."""
    kind = FORMATS[ptx_type]
    unit, least, most = 2.0 ** (1 - kind.precision), 2.0 ** (kind.emin - kind.precision + 1), kind.largest
    half = kind.precision // 2
    left, right = 1 + 2.0**-half, 1 + 2.0 ** (half - kind.precision)  # their product is a tie
    numbers = (
        (1 + unit, 1 + unit, -1 - 2 * unit), (1 + unit, 1 - unit, -1.0), (1 + unit, 1 + unit, -1.0), (1.0, 1.0, -1.0),
        (1.0, 1.0, least), (-1.0, 1.0, least), (1.0, least, -1.0), (1.0, -least, 1.0), (1 + unit, 1.0, unit / 2),
        (1.0, 1.0, unit / 2), (1.0, 1.0, -unit / 4), (1 + unit, 1 + unit, least), (most, 2.0, -most),
        (most, 1 + unit, 0.0), (most, most, -most), (most, 1.0, unit), (least, 0.5, 0.0), (-least, 0.5, 0.0),
        (least, 0.5, least), (least, least, 0.0), (least, -least, 0.0), (least, least, 1.0), (0.0, 1.0, -0.0),
        (kind.least_normal, 1 - unit, 0.0), (kind.least_normal, 1 - unit, least), (-0.0, 1.0, 0.0),
        (1.5, 1 / 4096, most), (3.0, 1 + unit, least), (left, right, least), (left, right, -least), (left, right, 0.0),
        (-left, right, least), (2.0**-30, 2.0**-23 * (2.0**-7 - 1), 1.0),
    )
    return tuple(tuple(encode(x, ptx_type) for x in operands) for operands in numbers)


# Rows

ANY, STATED = "{,.rn,.rz,.rm,.rp}", ".{rn,rz,rm,rp}"


def single_and_double(name: str, lower, oracle, inputs: int, flops: int, rounds: str = "", sat: str = ""):
    """A row each for f32 (with .ftz) and f64."""
    common = {"edges": edges_by_inputs(inputs), "section": SECTION + name, "inputs": inputs, "flops": flops}
    yield Row(f"{name}{rounds}{{,.ftz}}{sat}.f32", rounding.modified(lower), modified(oracle), kind="fp32", **common)
    yield Row(f"{name}{rounds}.f64", lower, oracle, kind="fp64", **common)


def halves(name: str, lower, oracle, inputs: int, flops: int):
    """A row each for f16 and f16x2."""
    common = {"edges": edges_by_inputs(inputs), "section": HALF_SECTION + name.split("{")[0].split(".")[0],
              "kind": "fp16", "inputs": inputs}
    lower, oracle = rounding.modified(lower), modified(oracle)
    yield Row(f"{name}.f16", lower, oracle, flops=flops, **common)
    yield Row(f"{name}.f16x2", paired(lower), paired_oracle(oracle), flops=2 * flops, **common)


def rows():
    for name, lower, oracle in (("add", add, add_oracle), ("sub", sub, sub_oracle), ("mul", mul, mul_oracle)):
        yield from single_and_double(name, lower, oracle, 2, 1, rounds=ANY, sat="{,.sat}")
        yield from halves(name + "{,.rn}{,.ftz}{,.sat}", lower, oracle, 2, 1)
    for name in ("fma", "mad"):
        yield from single_and_double(name, fma, fma_oracle, 3, 2, rounds=STATED, sat="{,.sat}")
    yield from halves("fma.rn{,.ftz}{,.sat,.relu}", fma, fma_oracle, 3, 2)
    yield from single_and_double("div", div, div_oracle, 2, 1, rounds=STATED)
    yield from single_and_double("rcp", rcp, rcp_oracle, 1, 1, rounds=STATED)
    yield from single_and_double("sqrt", sqrt, sqrt_oracle, 1, 1, rounds=STATED)
    for name, lower, oracle in (("neg", negated, negated_oracle), ("abs", absolute, absolute_oracle)):
        yield from single_and_double(name, lower, oracle, 1, 0)
        yield from halves(name + "{,.ftz}", lower, oracle, 1, 0)
    for name, pick in (("min", min), ("max", max)):
        lower, oracle = minimum(name), pick_oracle(pick)
        yield Row(f"{name}{{,.ftz}}{{,.NaN}}.f32", rounding.modified(lower), modified(oracle), own_edges,
                  SECTION + name, "fp32")
        yield Row(f"{name}.f64", lower, oracle, own_edges, SECTION + name, "fp64")
        yield from halves(name + "{,.ftz}{,.NaN}", lower, oracle, 2, 0)
    for kind in ("f32", "f64"):
        yield Row(f"copysign.{kind}", lambda b, form, sign, size: b.intrinsic("copysign", size.type, size, sign),
                  lambda form, sign, size: math.copysign(size, sign), own_edges, SECTION + "copysign", KINDS[kind])
        yield Row(f"testp.{{finite,infinite,number,notanumber,normal,subnormal}}.{kind}", testp, testp_oracle,
                  unary_edges, SECTION + "testp", KINDS[kind], inputs=1, results=lambda form: ("pred",))


register(rows())
