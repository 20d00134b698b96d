"""Plain Python numbers for oracles and edge cases: bit patterns, and IEEE 754 rounding by exact integer arithmetic.

Nothing here builds code: it is the independent second opinion that the lowerings are tested against.
"""
from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import struct
from fractions import Fraction

from simt.isa.table import Form, bits_of


@dataclasses.dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format: bits of the significand, the hidden one included; the least normal exponent."""

    precision: int
    emin: int

    @property
    def largest(self) -> float:
        return math.ldexp(2 - 2.0 ** (1 - self.precision), 1 - self.emin)

    @property
    def least_normal(self) -> float:
        return 2.0**self.emin


FORMATS = {"f16": Format(11, -14), "bf16": Format(8, -126), "f32": Format(24, -126), "f64": Format(53, -1022)}
CODES = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}  # of struct: the number, its bits
ROUNDINGS = ("rn", "rz", "rm", "rp")


def is_float(ptx_type: str) -> bool:
    return ptx_type in FORMATS


def is_signed(ptx_type: str) -> bool:
    return ptx_type.startswith("s")


def mask(ptx_type: str) -> int:
    return (1 << bits_of(ptx_type)) - 1


def signed(pattern: int, ptx_type: str) -> int:
    """The value of a two's complement pattern."""
    bits = bits_of(ptx_type)
    return pattern - (1 << bits) if pattern >> (bits - 1) else pattern


def value(pattern: int, ptx_type: str) -> int:
    """What the pattern means as an integer of that type."""
    return signed(pattern, ptx_type) if is_signed(ptx_type) else pattern


def limits(ptx_type: str) -> tuple[int, int]:
    """Least and largest integer of the type."""
    bits = bits_of(ptx_type)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(ptx_type) else (0, (1 << bits) - 1)


def decode(pattern: int, ptx_type: str) -> int | float:
    """Bit pattern -> what an oracle receives: a float for scalar floating-point types, else the pattern itself."""
    if not is_float(ptx_type):
        return pattern
    if ptx_type == "bf16":
        return decode(pattern << 16, "f32")
    number, bits = CODES[ptx_type]
    return struct.unpack(number, struct.pack(bits, pattern))[0]


def encode(number: int | float, ptx_type: str) -> int:
    """What an oracle returned -> bit pattern."""
    if not is_float(ptx_type):
        return int(number) & mask(ptx_type)
    if ptx_type == "bf16":
        return encode(number, "f32") >> 16
    code, bits = CODES[ptx_type]
    return struct.unpack(bits, struct.pack(code, number))[0]


def decode_pair(pattern: int, ptx_type: str) -> tuple[float, float]:
    """The low and the high half of an f16x2 or bf16x2."""
    half = ptx_type.removesuffix("x2")
    return decode(pattern & 0xFFFF, half), decode(pattern >> 16, half)


def encode_pair(low: float, high: float, ptx_type: str) -> int:
    half = ptx_type.removesuffix("x2")
    return encode(low, half) | encode(high, half) << 16


def rounding_of(form: Form) -> str:
    """The rounding of a floating-point form; none written means round to nearest even."""
    return next((mode for mode in ROUNDINGS if form.has(mode)), "rn")


def rounded(exact: Fraction | int, ptx_type: str, mode: str = "rn") -> float:
    """The number of a floating-point type that ``exact`` rounds to; +0.0 for 0."""
    form = FORMATS[ptx_type]
    negative = exact < 0
    top, bottom = abs(exact.numerator), exact.denominator
    if not top:
        return 0.0
    exponent = top.bit_length() - bottom.bit_length()
    if (top << max(-exponent, 0)) < (bottom << max(exponent, 0)):
        exponent -= 1
    quantum = max(exponent, form.emin) - form.precision + 1
    top, bottom = top << max(-quantum, 0), bottom << max(quantum, 0)
    units, rest = divmod(top, bottom)
    units += _rounds_up(mode, negative, units, 2 * rest, bottom)
    if units.bit_length() + quantum > 2 - form.emin:
        size = math.inf if mode == "rn" or mode == ("rm" if negative else "rp") else form.largest
    else:
        size = math.ldexp(units, quantum)
    return -size if negative else size


def _rounds_up(mode: str, negative: bool, units: int, twice_rest: int, whole: int) -> bool:
    """Whether the magnitude takes the next representable number."""
    if mode == "rn":
        return twice_rest > whole or (twice_rest == whole and units % 2 == 1)
    return twice_rest > 0 and mode == ("rm" if negative else "rp")


def is_negative(number: float) -> bool:
    """The sign bit, of zeros too."""
    return math.copysign(1.0, number) < 0


def flush(number: float, ptx_type: str) -> float:
    """A subnormal number becomes a zero of its sign."""
    return math.copysign(0.0, number) if abs(number) < FORMATS[ptx_type.removesuffix("x2")].least_normal else number


def saturate(number: float) -> float:
    """Clamp to [0, 1]; NaN becomes +0."""
    return min(number, 1.0) if number > 0 else 0.0


def rectify(number: float) -> float:
    """Negative numbers and -0 become +0; NaN stays."""
    return 0.0 if number <= 0 else number


def nearest(number: float, ptx_type: str, mode: str = "rn") -> float:
    """A float rounded to a narrower type; zeros keep their sign, infinities and NaN stay."""
    return math.copysign(rounded(Fraction(number), ptx_type, mode), number) if math.isfinite(number) else number


def modified(oracle):
    """The oracle with its form's .ftz (floating-point operands and result), .sat and .relu around it."""

    @functools.wraps(oracle)
    def whole(form: Form, *operands):
        flushes = form.has("ftz")
        if flushes:
            operands = tuple(flush(x, form.type) if isinstance(x, float) else x for x in operands)
        result = oracle(form, *operands)
        if form.has("sat"):
            result = saturate(result)
        if form.has("relu"):
            result = rectify(result)
        return flush(result, form.type) if flushes and isinstance(result, float) else result

    return whole


# Edge values, the telling ones first: rows with many operands take fewer of each.

def integer_edges(bits: int) -> tuple[int, ...]:
    ones, top = (1 << bits) - 1, 1 << (bits - 1)
    pattern = int("9a3c5e7f01b2d486"[: bits // 4], 16)
    return (0, ones, top, 1, top - 1, pattern, 2, 7, ones - 1, top + 1, 1 << (bits // 2))


def float_edges(ptx_type: str) -> tuple[int, ...]:
    """Zeros, infinities, NaN, subnormals, the ends of the range, and neighbours of one."""
    form = FORMATS[ptx_type]
    fraction_bits, bits = form.precision - 1, bits_of(ptx_type)
    sign, infinity = 1 << (bits - 1), ((1 << (bits - form.precision)) - 1) << fraction_bits
    one, least_normal = encode(1.0, ptx_type), 1 << fraction_bits
    return (
        one, sign, infinity - 1, infinity | 1 << (fraction_bits - 1), sign | 1, one | sign | 1, infinity, 0,
        least_normal - 1, sign | infinity, least_normal, one + 1, 1, sign | (infinity - 1), encode(-1.5, ptx_type),
        encode(0.1, ptx_type), sign | least_normal,
    )


SHIFTS = (0, 1, 31, 32, 33, 63, 64, 65, 15, 16, 255, 256, 1 << 31, (1 << 32) - 1)


def edges_of(ptx_type: str) -> tuple[int, ...]:
    if ptx_type == "pred":
        return (1, 0)
    if ptx_type.endswith("x2"):
        return paired_edges(float_edges(ptx_type.removesuffix("x2")))
    return float_edges(ptx_type) if is_float(ptx_type) else integer_edges(bits_of(ptx_type))


def paired_edges(halves: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(low | high << 16 for low, high in zip(halves, halves[3:] + halves[:3], strict=True))


@functools.cache
def grid(*ptx_types: str) -> tuple[tuple[int, ...], ...]:
    """Operand tuples: every combination of the types' edge values, fewer values each when there are many operands."""
    wide = sum(ptx_type != "pred" for ptx_type in ptx_types)
    each = {1: 99, 2: 12, 3: 6}.get(wide, 4)
    return tuple(itertools.product(*(edges_of(ptx_type)[:each] for ptx_type in ptx_types)))


@functools.cache
def shift_grid(*ptx_types: str) -> tuple[tuple[int, ...], ...]:
    """Like ``grid``, with a shift amount behind."""
    return tuple((*operands, amount) for operands in grid(*ptx_types) for amount in SHIFTS)


def own_edges(form: Form, inputs: int = 2) -> tuple[tuple[int, ...], ...]:
    return grid(*(form.type,) * inputs)


unary_edges = functools.partial(own_edges, inputs=1)
ternary_edges = functools.partial(own_edges, inputs=3)
