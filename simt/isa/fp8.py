"""cvt to and from pairs of 8-bit floats: e4m3 (no infinity, largest 448) and e5m2 (the high byte of an f16).

A pair is a .b16 register: the second operand, or the low half of the f16x2, in its low byte. Conversions to 8 bits
saturate to the largest finite number; NaN becomes 0x7f.
"""
from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

from simt.isa import rounding
from simt.isa.numbers import decode_pair, edges_of, encode, encode_pair, grid, is_negative, rectify
from simt.isa.table import Form, Row, register
from simt.jit.builder import Builder, Value

SECTION = "Data Movement and Conversion Instructions: cvt"
NAN = 0x7F


@dataclasses.dataclass(frozen=True, slots=True)
class Small:
    """An 8-bit format: bits of the stored fraction, exponent of its least normal number, pattern of its largest finite
    number, and the last pattern before the NaNs."""

    fraction: int
    emin: int
    largest: int
    last_number: int


FORMATS = {"e4m3x2": Small(3, -6, 0x7E, 0x7E), "e5m2x2": Small(2, -14, 0x7B, 0x7C)}


def target(form: Form) -> Small:
    return FORMATS[form.parts[-2]]


def narrowed(b: Builder, form: Form, x: Value) -> Value:
    """A float as an i16 whose low byte is the 8-bit float."""
    small = target(form)
    size = rounding.magnitude(b, x)
    magnitude = b.select(b.compare("fcmp olt", size, b.const("float", 2.0**small.emin)), subnormal(b, small, size),
                         normal(b, small, size))
    magnitude = b.intrinsic("umin", "i32", magnitude, b.const("i32", small.largest))
    magnitude = b.select(b.compare("fcmp uno", x, x), b.const("i32", NAN), magnitude)
    sign = b.binary("and", b.binary("lshr", b.cast("bitcast", x, "i32"), b.const("i32", 24)), b.const("i32", 0x80))
    signed = b.binary("or", magnitude, b.select(b.compare("fcmp uno", x, x), b.const("i32", 0), sign))
    return b.resize(signed, "i16")


def subnormal(b: Builder, small: Small, size: Value) -> Value:
    """Adding a number whose unit in the last place is the format's least one rounds to that unit; the sum counts the units."""
    magic = b.const("float", 2.0 ** (small.emin - small.fraction + 23))
    total = b.cast("bitcast", b.binary("fadd", size, magic), "i32")
    return b.binary("sub", total, b.cast("bitcast", magic, "i32"))


def normal(b: Builder, small: Small, size: Value) -> Value:
    """The exponent moved to the format's bias, and the fraction rounded to nearest even: a carry runs into the exponent."""
    dropped = 23 - small.fraction
    pattern = b.binary("sub", b.cast("bitcast", size, "i32"), b.const("i32", (126 + small.emin) << 23))
    odd = b.binary("and", b.binary("lshr", pattern, b.const("i32", dropped)), b.const("i32", 1))
    pattern = b.binary("add", pattern, b.binary("add", odd, b.const("i32", (1 << dropped - 1) - 1)))
    return b.binary("lshr", pattern, b.const("i32", dropped))


def from_floats(b: Builder, form: Form, high: Value, low: Value) -> Value:
    if form.has("relu"):
        high, low = rounding.rectified(b, high), rounding.rectified(b, low)
    shifted = b.binary("shl", narrowed(b, form, high), b.const("i16", 8))
    return b.binary("or", shifted, narrowed(b, form, low))


def from_halves(b: Builder, form: Form, pair: Value) -> Value:
    low, high = (rounding.widened(b, x) for x in rounding.halves(b, pair, "half"))
    return from_floats(b, form, high, low)


def to_halves(b: Builder, form: Form, pair: Value) -> Value:
    low, high = pair, b.binary("lshr", pair, b.const("i16", 8))
    halves = [half_of(b, form, x) for x in (low, high)]
    if form.has("relu"):
        halves = [rounding.rectified(b, x) for x in halves]
    return rounding.pair(b, *halves)


def half_of(b: Builder, form: Form, byte: Value) -> Value:
    """The 8-bit float in the low byte of an i16 as a half: its bits at their places, times the difference of the biases."""
    small = FORMATS[form.type]
    sign = b.binary("shl", b.binary("and", byte, b.const("i16", 0x80)), b.const("i16", 8))
    magnitude = b.binary("and", byte, b.const("i16", 0x7F))
    placed = b.binary("or", sign, b.binary("shl", magnitude, b.const("i16", 10 - small.fraction)))
    scaled = b.binary("fmul", b.cast("bitcast", placed, "half"), b.const("half", 2.0 ** (14 + small.emin)))
    is_nan = b.compare("icmp ugt", magnitude, b.const("i16", small.last_number))
    return b.cast("bitcast", b.select(is_nan, b.const("i16", 0x7FFF), b.cast("bitcast", scaled, "i16")), "half")


# Oracles, in exact arithmetic

def encoded(x: float, small: Small) -> int:
    if x != x:
        return NAN
    sign = 0x80 if is_negative(x) else 0
    if math.isinf(x):
        return sign | small.largest
    exponent = max(math.frexp(x)[1] - 1, small.emin) if x else small.emin
    units = round(Fraction(abs(x)) / Fraction(2) ** (exponent - small.fraction))
    return sign | min((exponent - small.emin << small.fraction) + units, small.largest)


def decoded(byte: int, small: Small) -> float:
    magnitude, sign = byte & 0x7F, -1.0 if byte & 0x80 else 1.0
    if magnitude > small.last_number:
        return math.nan
    if magnitude > small.largest:
        return sign * math.inf
    exponent, fraction = divmod(magnitude, 1 << small.fraction)
    hidden = 1 << small.fraction if exponent else 0
    return math.copysign(math.ldexp(hidden + fraction, max(exponent, 1) - 1 + small.emin - small.fraction), sign)


def from_floats_oracle(form: Form, high: float, low: float) -> int:
    if form.has("relu"):
        high, low = rectify(high), rectify(low)
    return encoded(high, target(form)) << 8 | encoded(low, target(form))


def from_halves_oracle(form: Form, pair: int) -> int:
    low, high = decode_pair(pair, "f16x2")
    return from_floats_oracle(form, high, low)


def to_halves_oracle(form: Form, pair: int) -> int:
    low, high = (decoded(byte, FORMATS[form.type]) for byte in (pair & 0xFF, pair >> 8))
    if form.has("relu"):
        low, high = rectify(low), rectify(high)
    return encode_pair(low, high, "f16x2")


def near_ties(kind: str) -> list[int]:
    """Patterns of a float type at, between and halfway between 8-bit numbers, and beyond the largest."""
    found = []
    for small in FORMATS.values():
        for magnitude in (0, 1, 2, 7, 8, 9, 15, 16, 0x3F, small.largest - 1):
            low, high = decoded(magnitude, small), decoded(magnitude + 1, small)
            found += [encode(x, kind) for x in (high, (low + high) / 2, low + (high - low) * 0.625, -(low + high) / 2)]
    return [*found, *(encode(x, kind) for x in (464.0, 465.0, -449.0, 61440.0, -65504.0))]


def float_edges(form: Form) -> tuple:
    patterns = near_ties("f32")
    return tuple(zip(patterns, patterns[1:] + patterns[:1], strict=True)) + grid("f32", "f32")


def half_edges(form: Form) -> tuple:
    patterns = near_ties("f16")
    pairs = [low | high << 16 for low, high in zip(patterns, patterns[1:] + patterns[:1], strict=True)]
    return tuple((pair,) for pair in (*pairs, *edges_of("f16x2")))


def byte_edges(form: Form) -> tuple:
    return tuple((byte | (255 - byte) << 8,) for byte in range(256))


register([
    Row("cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f32", from_floats, from_floats_oracle, float_edges, SECTION, "convert",
        results=lambda form: ("b16",)),
    Row("cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2", from_halves, from_halves_oracle, half_edges, SECTION, "convert",
        inputs=1, results=lambda form: ("b16",)),
    Row("cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2}", to_halves, to_halves_oracle, byte_edges, SECTION, "convert",
        operands=lambda form: ("b16",), results=lambda form: ("f16x2",)),
])
