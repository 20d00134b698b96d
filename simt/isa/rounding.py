"""IR for IEEE 754 roundings that the CPU does not do by itself: flush to zero, saturation and directed rounding.

LLVM computes to nearest. A directed result is the nearest one, moved by one unit in the last place where the exact
value lies on the other side; each function here gets the sign of that error exactly. Narrow results go through "round
to odd": an inexact intermediate gets an odd last bit, so that no second rounding takes it for a tie or an exact value.
"""
from __future__ import annotations

import functools

from simt.isa.table import Form
from simt.jit.builder import Builder, Value

BITS = {"half": "i16", "float": "i32", "double": "i64"}
LEAST_NORMAL = {"half": 2.0**-14, "float": 2.0**-126, "double": 2.0**-1022}


def bits(b: Builder, x: Value) -> Value:
    return b.cast("bitcast", x, BITS[x.type])


def magnitude(b: Builder, x: Value) -> Value:
    return b.intrinsic("fabs", x.type, x)


def signed_zero(b: Builder, x: Value) -> Value:
    """A zero with the sign of x."""
    return b.intrinsic("copysign", x.type, b.const(x.type, 0.0), x)


def flushed(b: Builder, x: Value) -> Value:
    """Subnormal numbers become zeros of their sign."""
    small = b.compare("fcmp olt", magnitude(b, x), b.const(x.type, LEAST_NORMAL[x.type]))
    return b.select(small, signed_zero(b, x), x)


def saturated(b: Builder, x: Value) -> Value:
    """Clamp to [0, 1]; NaN becomes +0."""
    zero, one = b.const(x.type, 0.0), b.const(x.type, 1.0)
    floor = b.select(b.compare("fcmp ogt", x, zero), x, zero)
    return b.select(b.compare("fcmp olt", floor, one), floor, one)


def rectified(b: Builder, x: Value) -> Value:
    """Negative numbers and -0 become +0; NaN stays."""
    zero = b.const(x.type, 0.0)
    return b.select(b.compare("fcmp ugt", x, zero), x, zero)


def modified(lower):
    """The lowering with its form's .ftz (floating-point operands and result), .sat and .relu around it."""

    @functools.wraps(lower)
    def whole(b: Builder, form: Form, *operands: Value) -> Value:
        flush = form.has("ftz")
        if flush:
            operands = tuple(flushed(b, x) if x.type in BITS else x for x in operands)
        result = lower(b, form, *operands)
        if form.has("sat"):
            result = saturated(b, result)
        if form.has("relu"):
            result = rectified(b, result)
        return flushed(b, result) if flush and result.type in BITS else result

    return whole


def moved(b: Builder, x: Value, outward: Value, inward: Value) -> Value:
    """x, moved by one unit in the last place away from zero or toward it where the i1 says so; infinity moves inward to
    the largest number, zero outward to the least subnormal of its sign."""
    pattern = bits(b, x)
    step = b.binary("sub", b.cast("zext", outward, pattern.type), b.cast("zext", inward, pattern.type))
    return b.cast("bitcast", b.binary("add", pattern, step), x.type)


def is_negative(b: Builder, x: Value) -> Value:
    """The sign bit, of zeros too."""
    pattern = bits(b, x)
    return b.compare("icmp slt", pattern, b.const(pattern.type, 0))


def directed(b: Builder, mode: str, nearest: Value, above: Value, below: Value) -> Value:
    """``nearest`` rounded by ``mode`` instead; ``above``: the exact value is greater than it, ``below``: less."""
    if mode == "rn":
        return nearest
    negative = is_negative(b, nearest)
    positive = b.binary("xor", negative, b.const("i1", 1))
    never = b.const("i1", 0)
    if mode == "rp":
        return moved(b, nearest, b.binary("and", above, positive), b.binary("and", above, negative))
    if mode == "rm":
        return moved(b, nearest, b.binary("and", below, negative), b.binary("and", below, positive))
    inward = b.binary("or", b.binary("and", below, positive), b.binary("and", above, negative))
    return moved(b, nearest, never, inward)


def to_odd(b: Builder, nearest: Value, above: Value, below: Value) -> Value:
    """The neighbour of an inexact value whose last bit is odd; an exact value stays."""
    pattern = bits(b, nearest)
    even = b.compare("icmp eq", b.binary("and", pattern, b.const(pattern.type, 1)), b.const(pattern.type, 0))
    negative = is_negative(b, nearest)
    outward = b.select(negative, below, above)
    inward = b.select(negative, above, below)
    return moved(b, nearest, b.binary("and", outward, even), b.binary("and", inward, even))


def narrowed(b: Builder, x: Value, to: str, mode: str = "rn") -> Value:
    """A float of a wider type rounded to ``to``: an IR type, or "bf16" (an i16 then)."""
    if x.type == to:
        return x
    if x.type == "double" and to != "float":
        x = to_odd(b, *compared_to(b, b.cast("fptrunc", x, "float"), x))
    if to == "bf16":
        return bfloat(b, x, mode)
    nearest = b.cast("fptrunc", x, to)
    return nearest if mode == "rn" else directed(b, mode, *compared_to(b, nearest, x))


def bfloat(b: Builder, x: Value, mode: str) -> Value:
    """A float rounded to bf16, its high half: adding half a unit carries into it (and a tie only where it is odd); to round
    away from zero, all but a whole unit."""
    pattern, sixteen = b.cast("bitcast", x, "i32"), b.const("i32", 16)
    if mode == "rn":
        odd = b.binary("and", b.binary("lshr", pattern, sixteen), b.const("i32", 1))
        pattern = b.binary("add", pattern, b.binary("add", odd, b.const("i32", 0x7FFF)))
    elif mode in ("rm", "rp"):
        away = b.const("i32", 0xFFFF), b.const("i32", 0)
        pattern = b.binary("add", pattern, b.select(is_negative(b, x), *(away if mode == "rm" else away[::-1])))
    high = b.resize(b.binary("lshr", pattern, sixteen), "i16")
    return b.select(b.compare("fcmp uno", x, x), b.const("i16", 0x7FFF), high)


def widened(b: Builder, x: Value) -> Value:
    """A bf16 or half as a float."""
    if x.type == "half":
        return b.cast("fpext", x, "float")
    return b.cast("bitcast", b.binary("shl", b.resize(x, "i32"), b.const("i32", 16)), "float")


def compared_to(b: Builder, nearest: Value, exact: Value) -> tuple[Value, Value, Value]:
    """``nearest``, and whether the wider ``exact`` is above it and below it."""
    back = b.cast("fpext", nearest, exact.type)
    return nearest, b.compare("fcmp ogt", exact, back), b.compare("fcmp olt", exact, back)


def signs(b: Builder, x: Value) -> tuple[Value, Value]:
    """Whether x is positive and whether it is negative, as numbers."""
    zero = b.const(x.type, 0.0)
    return b.compare("fcmp ogt", x, zero), b.compare("fcmp olt", x, zero)


def sum_with_error(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """The nearest sum and its exact error (Dekker's Fast2Sum; the larger operand first). Of a finite sum that overflows
    the error is an infinity of the other sign, of an infinite one NaN."""
    total = b.binary("fadd", x, y)
    ordered = b.compare("fcmp oge", magnitude(b, x), magnitude(b, y))
    large, small = b.select(ordered, x, y), b.select(ordered, y, x)
    return total, b.binary("fsub", small, b.binary("fsub", total, large))


def sum_rounded(b: Builder, mode: str, x: Value, y: Value) -> Value:
    """x + y of doubles."""
    total, error = sum_with_error(b, x, y)
    return directed(b, mode, zero_signed(b, mode, total, x, y), *signs(b, error))


def overflown(b: Builder, nearest: Value, finite: Value, above: Value, below: Value) -> tuple[Value, Value]:
    """The error's signs where a ``finite`` exact value gave an infinite ``nearest``: it lies toward zero."""
    infinite = b.compare("fcmp oeq", magnitude(b, nearest), b.const(nearest.type, float("inf")))
    over = b.binary("and", finite, infinite)
    negative = is_negative(b, nearest)
    positive = b.binary("xor", negative, b.const("i1", 1))
    return b.select(over, negative, above), b.select(over, positive, below)


def are_finite(b: Builder, *operands: Value) -> Value:
    tests = [b.compare("fcmp olt", magnitude(b, x), b.const(x.type, float("inf"))) for x in operands]
    return functools.reduce(functools.partial(b.binary, "and"), tests)


def zero_signed(b: Builder, mode: str, total: Value, x: Value, y: Value) -> Value:
    """Rounding down, x + y = 0 is -0 unless both are +0; other roundings give +0 there already. Sums never underflow: a
    ``total`` of zero is exact."""
    if mode != "rm":
        return total
    is_zero = b.compare("fcmp oeq", total, b.const(total.type, 0.0))
    minus = b.binary("or", is_negative(b, x), is_negative(b, y))
    return b.select(b.binary("and", is_zero, minus), b.const(total.type, -0.0), total)


def fma_odd(b: Builder, x: Value, y: Value, z: Value, mode: str = "rn") -> Value:
    """x * y + z of floats or halves, rounded to odd in double: the product is exact, the sum's error sets the bit."""
    wide_x, wide_y, wide_z = (b.cast("fpext", operand, "double") for operand in (x, y, z))
    product = b.binary("fmul", wide_x, wide_y)
    total, error = sum_with_error(b, product, wide_z)
    return to_odd(b, zero_signed(b, mode, total, product, wide_z), *signs(b, error))


def fma_narrow(b: Builder, mode: str, x: Value, y: Value, z: Value) -> Value:
    """x * y + z of floats or halves, rounded once."""
    return narrowed(b, fma_odd(b, x, y, z, mode), x.type, mode)


def fma_double(b: Builder, mode: str, x: Value, y: Value, z: Value) -> Value:
    """x * y + z of doubles, rounded once by a mode other than to nearest.

    The error of the nearest result is an exact sum (Boldo and Muller, Exact and approximated error of the FMA, 2011);
    it is taken with everything scaled so that the product lies in [1, 4), where nothing overflows or underflows."""
    nearest = b.intrinsic("fma", "double", x, y, z)
    (x_part, x_exponent), (y_part, y_exponent) = split(b, x), split(b, y)
    exponent = b.binary("add", x_exponent, y_exponent)
    high = b.binary("fmul", x_part, y_part)
    low = b.intrinsic("fma", "double", x_part, y_part, b.unary("fneg", high))
    close, low_rest = sum_with_error(b, rescaled(b, z, exponent), low)
    total, rest = sum_with_error(b, high, close)
    excess = b.binary("fsub", total, rescaled(b, nearest, exponent))
    error = b.binary("fadd", b.binary("fadd", excess, rest), low_rest)
    finite = are_finite(b, x, y, z)
    above, below = overflown(b, nearest, finite, *(b.binary("and", finite, sign) for sign in signs(b, error)))
    inexact = b.binary("or", above, below)
    exact = zero_signed(b, mode, nearest, high, z)
    return b.select(inexact, directed(b, mode, nearest, above, below), exact)


def split(b: Builder, x: Value) -> tuple[Value, Value]:
    """A finite double as significand (magnitude in [1, 2), or a zero) and exponent (i64)."""
    tiny = b.compare("fcmp olt", magnitude(b, x), b.const("double", LEAST_NORMAL["double"]))
    pattern = bits(b, b.select(tiny, b.binary("fmul", x, b.const("double", 2.0**54)), x))
    biased = b.binary("and", b.binary("lshr", pattern, b.const("i64", 52)), b.const("i64", 0x7FF))
    exponent = b.binary("sub", biased, b.select(tiny, b.const("i64", 1023 + 54), b.const("i64", 1023)))
    fraction = b.binary("and", pattern, b.const("i64", ~(0x7FF << 52)))
    part = b.cast("bitcast", b.binary("or", fraction, b.const("i64", 1023 << 52)), "double")
    return b.select(b.compare("fcmp oeq", x, b.const("double", 0.0)), x, part), exponent


def rescaled(b: Builder, x: Value, exponent: Value) -> Value:
    """x / 2^exponent. An exponent beyond 300 counts as 300: so small an addend only has a sign, and so large a one is
    the nearest result itself."""
    part, own = split(b, x)
    distance = b.binary("sub", own, exponent)
    near = b.intrinsic("smax", "i64", b.intrinsic("smin", "i64", distance, b.const("i64", 300)), b.const("i64", -300))
    biased = b.binary("shl", b.binary("add", near, b.const("i64", 1023)), b.const("i64", 52))
    return b.binary("fmul", part, b.cast("bitcast", biased, "double"))


def product_error(b: Builder, x: Value, y: Value, product: Value) -> Value:
    """A double of the sign of x * y - product, exactly, where product is near x * y.

    A fused multiply-add gets the sign right unless it underflows: tiny products are scaled by 2^1200 first."""
    tiny = b.compare("fcmp olt", magnitude(b, product), b.const("double", 2.0**-900))
    ordered = b.compare("fcmp olt", magnitude(b, x), magnitude(b, y))
    small, large = b.select(ordered, x, y), b.select(ordered, y, x)
    scale = b.select(tiny, b.const("double", 2.0**600), b.const("double", 1.0))
    for _ in range(2):
        small, product = b.binary("fmul", small, scale), b.binary("fmul", product, scale)
    return b.intrinsic("fma", "double", small, large, b.unary("fneg", product))


def halves(b: Builder, pair: Value, lane_type: str) -> tuple[Value, Value]:
    """The low and the high half of an i32, as "half" or "i16"."""
    high = b.binary("lshr", pair, b.const("i32", 16))
    return tuple(b.cast("bitcast", b.resize(part, "i16"), lane_type) for part in (pair, high))


def pair(b: Builder, low: Value, high: Value) -> Value:
    """Two halves in an i32."""
    low, high = (b.resize(b.cast("bitcast", x, "i16"), "i32") for x in (low, high))
    return b.binary("or", low, b.binary("shl", high, b.const("i32", 16)))
