"""cvt: conversions between and within integers and floats."""
from __future__ import annotations

import functools
import math
import operator
from fractions import Fraction

from simt.isa import rounding
from simt.isa.numbers import (
    FORMATS,
    encode,
    encode_pair,
    flush,
    is_signed,
    limits,
    mask,
    nearest,
    rectify,
    rounded,
    rounding_of,
    saturate,
    unary_edges,
    value,
)
from simt.isa.table import Form, Row, bits_of, register
from simt.jit.builder import IR_BITS, IR_TYPE, Builder, Value

SECTION = "Data Movement and Conversion Instructions: cvt"
INTEGERS = "{s8,u8,s16,u16,s32,u32,s64,u64}"


def target(form: Form) -> str:
    return form.parts[-2]


def result(form: Form) -> tuple[str, ...]:
    return (target(form),)


def resize(b: Builder, form: Form, x: Value) -> Value:
    if form.has("sat"):
        x = clamped(b, form, x)
    return b.resize(x, IR_TYPE[target(form)], signed=is_signed(form.type))


def resize_oracle(form: Form, x: int) -> int:
    number = value(x, form.type)
    if form.has("sat"):
        least, most = limits(target(form))
        number = min(max(number, least), most)
    return number & mask(target(form))


def clamped(b: Builder, form: Form, x: Value) -> Value:
    """x limited to what the target type can hold, still in its own type."""
    (least, most), (own_least, own_most) = limits(target(form)), limits(form.type)
    prefix = "s" if is_signed(form.type) else "u"
    if most < own_most:
        x = b.intrinsic(prefix + "min", x.type, x, b.const(x.type, most))
    if least > own_least:
        x = b.intrinsic(prefix + "max", x.type, x, b.const(x.type, least))
    return x


# Float to integer

ROUND_TO_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def integral_mode(form: Form) -> str:
    return next(mode for mode in ROUND_TO_INTEGRAL if form.has(mode))


def source(b: Builder, form: Form, x: Value) -> Value:
    """A float operand as a float or double; .ftz concerns f32 only, as source and as target."""
    x = rounding.widened(b, x) if form.type in ("f16", "bf16") else x
    return rounding.flushed(b, x) if form.has("ftz") and form.type == "f32" else x


def to_integer(b: Builder, form: Form, x: Value) -> Value:
    to, mode = target(form), integral_mode(form)
    x = source(b, form, x)
    rounded_x = x if mode == "rzi" else b.intrinsic(ROUND_TO_INTEGRAL[mode], x.type, x)
    lane_type = IR_TYPE[to]
    name = "fptosi.sat" if is_signed(to) else "fptoui.sat"
    whole = b.intrinsic(name, lane_type, rounded_x, overload=(lane_type, x.type))
    if not nan_pattern(form):
        return whole
    return b.select(b.compare("fcmp uno", x, x), b.const(lane_type, nan_pattern(form)), whole)


def nan_pattern(form: Form) -> int:
    """What NaN becomes: 0, but only the top bit where either type has 64 bits."""
    return 1 << bits_of(target(form)) - 1 if form.type == "f64" or bits_of(target(form)) == 64 else 0


def to_integer_oracle(form: Form, x: float) -> int:
    if x != x:
        return nan_pattern_of(form.type, target(form))
    least, most = limits(target(form))
    if math.isinf(x):
        return (most if x > 0 else least) & mask(target(form))
    if form.has("ftz"):
        x = flush(x, form.type)
    return min(max(to_integral(form, x), least), most) & mask(target(form))


def nan_pattern_of(source: str, to: str) -> int:
    """The same for the oracle, as the ISA words it."""
    if source != "f64" and to not in ("s64", "u64"):
        return 0
    return {8: 0x80, 16: 0x8000, 32: 0x8000_0000, 64: 0x8000_0000_0000_0000}[bits_of(to)]


def to_integral(form: Form, x: float) -> int:
    """A finite x rounded to an integer."""
    return {"rni": round, "rzi": int, "rmi": math.floor, "rpi": math.ceil}[integral_mode(form)](x)


# Integer to float

def to_float(b: Builder, form: Form, x: Value) -> Value:
    to, mode, prefix = target_lane(form), rounding_of(form), "s" if is_signed(form.type) else "u"
    if mode == "rn" and to in ("float", "double"):
        converted = b.cast(prefix + "itofp", x, to)
    elif x.bits < 64:
        converted = rounding.narrowed(b, b.cast(prefix + "itofp", x, "double"), to, mode)
    else:
        converted = wide_to_float(b, x, prefix, to, mode)
    return rounding.saturated(b, converted) if form.has("sat") else converted


def target_lane(form: Form) -> str:
    """The target as ``rounding.narrowed`` names it."""
    return "bf16" if target(form) == "bf16" else IR_TYPE[target(form)]


def wide_to_float(b: Builder, x: Value, prefix: str, to: str, mode: str) -> Value:
    """A 64-bit integer as the exact sum of two doubles: its high half and its low half."""
    shift = "ashr" if prefix == "s" else "lshr"
    high = b.cast(prefix + "itofp", b.binary(shift, x, b.const("i64", 32)), "double")
    high = b.binary("fmul", high, b.const("double", 2.0**32))
    low = b.cast("uitofp", b.resize(x, "i32"), "double")
    if to == "double":
        return rounding.sum_rounded(b, mode, high, low)
    total, error = rounding.sum_with_error(b, high, low)
    return rounding.narrowed(b, rounding.to_odd(b, total, *rounding.signs(b, error)), to, mode)


def to_float_oracle(form: Form, x: int) -> float:
    number = rounded(value(x, form.type), target(form), rounding_of(form))
    return saturate(number) if form.has("sat") else number


# Float to float

def to_other_float(b: Builder, form: Form, x: Value) -> Value:
    x = source(b, form, x)
    if any(form.has(mode) for mode in ROUND_TO_INTEGRAL):
        x = b.intrinsic(ROUND_TO_INTEGRAL[integral_mode(form)], x.type, x)
    if form.has("sat"):
        x = rounding.saturated(b, x)
    if form.has("relu"):
        x = rounding.rectified(b, x)
    if IR_BITS[x.type] < bits_of(target(form)):
        return b.cast("fpext", x, IR_TYPE[target(form)])
    x = rounding.narrowed(b, x, target_lane(form), rounding_of(form))
    return rounding.flushed(b, x) if form.has("ftz") and target(form) == "f32" else x


def to_other_float_oracle(form: Form, x: float) -> float:
    if form.has("ftz") and form.type == "f32":
        x = flush(x, "f32")
    if math.isfinite(x) and any(form.has(mode) for mode in ROUND_TO_INTEGRAL):
        x = math.copysign(to_integral(form, x), x)
    x = nearest(x, target(form), rounding_of(form))
    if form.has("sat"):
        x = saturate(x)
    if form.has("relu"):
        x = rectify(x)
    return flush(x, "f32") if form.has("ftz") and target(form) == "f32" else x


def pack(b: Builder, form: Form, high: Value, low: Value) -> Value:
    """Two floats, the first into the high half."""
    to = "half" if target(form) == "f16x2" else "bf16"
    if form.has("relu"):
        high, low = rounding.rectified(b, high), rounding.rectified(b, low)
    return rounding.pair(b, *(rounding.narrowed(b, x, to, rounding_of(form)) for x in (low, high)))


def pack_oracle(form: Form, high: float, low: float) -> int:
    half = target(form).removesuffix("x2")
    if form.has("relu"):
        high, low = rectify(high), rectify(low)
    return encode_pair(nearest(low, half, rounding_of(form)), nearest(high, half, rounding_of(form)), target(form))


def rows():
    row = functools.partial(Row, section=SECTION, kind="convert", inputs=1, results=result)
    for kind in INTEGERS[1:-1].split(","):
        for rule, matches in (("extend", operator.gt), ("copy", operator.eq), ("truncate", operator.lt)):
            targets = [to for to in INTEGERS[1:-1].split(",") if matches(bits_of(to), bits_of(kind))]
            if targets:
                yield row(f"cvt.{{{','.join(targets)}}}.{kind}", resize, resize_oracle, unary_edges, rule=rule)
    yield row(f"cvt.sat.{INTEGERS}.{INTEGERS}", resize, resize_oracle, unary_edges)
    to_int = "cvt.{rni,rzi,rmi,rpi}"
    for forms in (f"{to_int}{{,.sat}}.{INTEGERS}.{{f16,bf16,f64}}", f"{to_int}{{,.ftz}}{{,.sat}}.{INTEGERS}.f32"):
        yield row(forms, to_integer, to_integer_oracle, integer_borders)
    yield row(f"cvt.{{rn,rz,rm,rp}}{{,.sat}}.{{f16,f32,f64}}.{INTEGERS}", to_float, to_float_oracle, float_borders)
    yield row(f"cvt.{{rn,rz,rm,rp}}.bf16.{INTEGERS}", to_float, to_float_oracle, float_borders)
    integral, directed = "cvt{,.rni,.rzi,.rmi,.rpi}", "cvt.{rn,rz,rm,rp}"
    for forms in ("cvt{,.ftz}{,.sat}.f64.f32", "cvt{,.ftz}{,.sat}.f32.f16", "cvt{,.sat}.f64.f16", "cvt{,.ftz}.f32.bf16",
                  "cvt.f64.bf16", f"{integral}{{,.ftz}}{{,.sat}}.f32.f32", f"{integral}{{,.sat}}.{{f16.f16,f64.f64}}",
                  "cvt.{rni,rzi,rmi,rpi}.bf16.bf16", f"{directed}{{,.ftz}}{{,.sat}}.{{f32.f64,f16.f32}}",
                  f"{directed}{{,.sat}}.f16.f64", "cvt.{rn,rz}.relu.f16.f32", "cvt.{rn,rz}{,.relu}.bf16.f32",
                  "cvt.{rm,rp}.bf16.f32", f"{directed}.bf16.{{f16,f64}}"):
        yield row(forms, to_other_float, to_other_float_oracle, narrowing_edges)
    yield Row("cvt.{rn,rz}{,.relu}.{f16x2,bf16x2}.f32", pack, pack_oracle, packing_edges, SECTION, "convert",
              results=result)


def integer_borders(form: Form) -> tuple:
    return floats_near_limits(form.type, target(form)) + unary_edges(form)


@functools.cache
def floats_near_limits(source: str, to: str) -> tuple:
    """Ties, and numbers at and around the limits of the target."""
    least, most = limits(to)
    numbers = (0.25, 0.5, 0.75, 1.5, 2.5, -0.5, -0.75, -1.5, -2.5, 100.7, -100.7, float(least), float(most),
               2.0 * least, 2.0 * most + 2, least - 0.5, most + 0.5, least + 0.5, most - 0.5)
    return tuple((encode(rounded(Fraction(x), source), source),) for x in numbers)


def float_borders(form: Form) -> tuple:
    return integers_near_ties(form.type, target(form)) + unary_edges(form)


@functools.cache
def integers_near_ties(source: str, to: str) -> tuple:
    """Integers around the target's precision: exact, ties, and just off ties."""
    precision = FORMATS[to].precision
    near = [(1 << bit) + step for bit in (precision, precision + 1, precision + 9, 62) for step in (-1, 0, 1, 2, 3, 4)]
    return tuple((number & mask(source),) for size in near for number in (size, -size))


def narrowing_edges(form: Form) -> tuple:
    return floats_near_ties(form.type, target(form)) + unary_edges(form)


@functools.cache
def floats_near_ties(source: str, to: str) -> tuple:
    """Ties and their neighbours, the ends of the target's range, subnormal results and integers in between."""
    form = FORMATS[to]
    unit = 2.0 ** (1 - form.precision)
    numbers = [1 + unit / 2, 1 + unit * 1.5, 1 + unit / 2 * (1 + 2.0**-10), 1 + unit / 4, form.largest,
               form.largest * (1 + unit / 4), form.least_normal, form.least_normal * unit / 2,
               form.least_normal * (1 - unit / 3), form.least_normal / 3, 0.5, 1.5, 2.5, 0.3, 7.9]
    return tuple((encode(rounded(Fraction(sign * x), source), source),)
                 for x in numbers if math.isfinite(x) for sign in (1, -1))


def packing_edges(form: Form) -> tuple:
    own = tuple(pattern for pattern, in floats_near_ties("f32", target(form).removesuffix("x2")) + unary_edges(form))
    return tuple(zip(own, own[5:] + own[:5], strict=True))


register(rows())
