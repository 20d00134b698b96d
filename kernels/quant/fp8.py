"""float32 to 8-bit floats and back: e4m3, without infinities and up to 448, and e5m2, with infinities and up to 57344.

encode:     x (n,), float32 -> codes (n,), uint8: to nearest, ties to even. What is too large becomes, with its sign,
            the largest finite number if saturating, else a NaN in e4m3 and infinity in e5m2; a NaN becomes 0x7f in
            e4m3 and 0x7e in e5m2, with its sign
decode:     the reverse, exact
Launch:     grid ceil(n/256), block 256: a thread per number
Cost:       n numbers: 4n B on the side of the float32 and n B on the other
Source:     Micikevicius et al., FP8 Formats for Deep Learning, arXiv 2209.05433

Plain integer code, which runs on every device. From compute capability 8.9 on one instruction, cvt.rn.satfinite.e4m3x2.f32,
makes two codes (PTX ISA, cvt); it only saturates, and makes every NaN 0x7f.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import cuda, int32, uint8
from numba.cuda import libdevice

from kernels.case import Cost, ceil_div

THREADS = 256
FRACTION_BITS, BIAS, INFINITY = 23, 127, 0x7F800000  # of float32


@dataclass(frozen=True)
class Format:
    """Stored bits of the fraction, bias of the exponent, and three codes without their sign."""

    name: str
    fraction_bits: int
    bias: int
    largest: int  # finite number
    overflow: int  # what a number above it becomes
    nan: int


E4M3 = Format("e4m3", fraction_bits=3, bias=7, largest=0x7E, overflow=0x7F, nan=0x7F)
E5M2 = Format("e5m2", fraction_bits=2, bias=15, largest=0x7B, overflow=0x7C, nan=0x7E)


@cache
def encoder(format: Format, saturating: bool):
    """kernel(x, codes) of that format, from float32 (n,) to uint8 (n,), a thread per number; compiled once.

    To nearest, ties to even, subnormal codes included.
    """
    dropped = FRACTION_BITS - format.fraction_bits
    rebias = (BIAS - format.bias) << format.fraction_bits
    least_normal = (BIAS + 1 - format.bias) << FRACTION_BITS
    # Adding a float32 whose last place is worth one subnormal step rounds to such steps; the sum's bits count them.
    magic = np.float32(2.0 ** (1 - format.bias - format.fraction_bits + FRACTION_BITS))
    magic_bits = int(magic.view(np.int32))
    most = format.largest if saturating else format.overflow
    nan = format.nan

    @cuda.jit(device=True)
    def code_of(x):
        bits = libdevice.float_as_int(x)
        size, sign = bits & 0x7FFFFFFF, bits >> 24 & 0x80
        if size > INFINITY:
            return uint8(nan | sign)
        if size < least_normal:
            code = libdevice.float_as_int(libdevice.int_as_float(int32(size)) + magic) - magic_bits
        else:
            half = (1 << (dropped - 1)) - 1 + (size >> dropped & 1)  # a tie goes up only from an odd code
            code = (size + half >> dropped) - rebias
        return uint8(min(code, most) | sign)

    @cuda.jit
    def kernel(x, codes):
        i = cuda.grid(1)
        if i < x.size:
            codes[i] = code_of(x[i])

    return kernel


@cache
def decoder(format: Format):
    """kernel(codes, x) of that format, from uint8 (n,) to float32 (n,), a thread per code; exact; compiled once."""
    dropped = FRACTION_BITS - format.fraction_bits
    scale = np.float32(2.0 ** (BIAS - format.bias))
    largest, overflow, has_infinity = format.largest, format.overflow, format.overflow != format.nan

    @cuda.jit(device=True)
    def number_of(code):
        size, sign = code & 0x7F, (code & 0x80) << 24
        # In place among float32's exponents a code is 2**(bias - 127) times too small, subnormal codes included.
        bits = libdevice.float_as_int(libdevice.int_as_float(int32(size << dropped)) * scale)
        if size > largest:
            bits = INFINITY if has_infinity and size == overflow else 0x7FC00000
        return libdevice.int_as_float(int32(bits | sign))

    @cuda.jit
    def kernel(codes, x):
        i = cuda.grid(1)
        if i < codes.size:
            x[i] = number_of(codes[i])

    return kernel


def encode(x, codes, format: Format, saturating: bool, stream=0):
    """codes (n,), uint8, from x (n,), float32: device arrays, any n >= 0; asynchronous on `stream`.

    saturating: what is too large becomes the largest finite number instead of the format's NaN (e4m3) or infinity (e5m2).
    Raises ValueError where a dtype or a shape is another one.
    """
    _check(x, codes)
    if x.size:
        encoder(format, saturating)[ceil_div(x.size, THREADS), THREADS, stream](x, codes)


def decode(codes, x, format: Format, stream=0):
    """x (n,), float32, from codes (n,), uint8: device arrays, any n >= 0; asynchronous on `stream`. Raises as encode does."""
    _check(x, codes)
    if x.size:
        decoder(format)[ceil_div(x.size, THREADS), THREADS, stream](codes, x)


def cost_of_encode(size: int) -> Cost:
    """Of `size` numbers: bytes asked for, and no FLOPs, as the rounding is integer arithmetic."""
    return Cost(flops=0, load_bytes=4 * size, store_bytes=size)


def cost_of_decode(size: int) -> Cost:
    """Of `size` codes: bytes asked for; the one product that moves the exponent is not counted as a FLOP of the problem."""
    return Cost(flops=0, load_bytes=size, store_bytes=4 * size)


def _check(x, codes):
    if (x.dtype, codes.dtype) != (np.float32, np.uint8):
        raise ValueError(f"x must be float32 and codes uint8, not {x.dtype} and {codes.dtype}")
    if x.ndim != 1 or x.shape != codes.shape:
        raise ValueError(f"x and codes must be (n,), not {x.shape} and {codes.shape}")
