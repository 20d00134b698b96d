"""Two int4 codes in a byte, the low nibble first, and back: kernels.

pack:       codes (rows, columns), int8 in -8..7 -> packed (rows, ceil(columns/2)), uint8; of a code outside, the low
            four bits are kept. Code 2i is the low nibble of byte i; a last high nibble without a code is 0
unpack:     the reverse, with the sign extended
Launch:     grid (rows, ceil(bytes of a row/128)), block 128: a thread per byte
Cost:       rows columns B on the side of the codes and rows ceil(columns/2) B on the other
Source:     ours. Other layouts exist: kernels that unpack with masks interleave eight codes of a word as 0 2 4 6 1 3 5 7
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int8, uint8

from kernels.case import Case, Cost, ceil_div

THREADS = 128


@cuda.jit(device=True)
def low_code(byte):
    """The code, int8 in -8..7, in the lower four bits of a uint8."""
    return int8((byte & 0xF ^ 8) - 8)  # 8..15 become -8..-1


@cuda.jit(device=True)
def high_code(byte):
    """The code, int8 in -8..7, in the upper four bits of a uint8."""
    return int8((byte >> 4 ^ 8) - 8)


@cuda.jit
def pack_kernel(codes, packed):
    """packed (rows, ceil(columns/2)), uint8, from codes (rows, columns), int8."""
    row, byte = cuda.blockIdx.x, cuda.blockIdx.y * THREADS + cuda.threadIdx.x
    if byte < packed.shape[1]:
        word = codes[row, 2 * byte] & 0xF
        if 2 * byte + 1 < codes.shape[1]:
            word |= (codes[row, 2 * byte + 1] & 0xF) << 4
        packed[row, byte] = uint8(word)


@cuda.jit
def unpack_kernel(packed, codes):
    """codes (rows, columns), int8 in -8..7, from packed (rows, ceil(columns/2)), uint8."""
    row, byte = cuda.blockIdx.x, cuda.blockIdx.y * THREADS + cuda.threadIdx.x
    if byte < packed.shape[1]:
        both = packed[row, byte]
        codes[row, 2 * byte] = low_code(both)
        if 2 * byte + 1 < codes.shape[1]:
            codes[row, 2 * byte + 1] = high_code(both)


def pack(codes, packed, stream=0):
    """packed (rows, ceil(columns/2)), uint8, from codes (rows, columns), int8 in -8..7: device arrays, asynchronous.

    Any rows and columns >= 0. Raises ValueError where a dtype or a shape is another one; codes outside -8..7 are not sought.
    """
    _check(codes, packed)
    if codes.size:
        pack_kernel[_grid(packed), THREADS, stream](codes, packed)


def unpack(packed, codes, stream=0):
    """codes (rows, columns), int8, from packed (rows, ceil(columns/2)), uint8: the reverse of pack, with its errors."""
    _check(codes, packed)
    if codes.size:
        unpack_kernel[_grid(packed), THREADS, stream](packed, codes)


def cost_of_pack(case: Case) -> Cost:
    """Of codes (rows, columns), int8: bytes asked for, and no FLOPs."""
    rows, columns = case["rows"], case["columns"]
    return Cost(flops=0, load_bytes=rows * columns, store_bytes=rows * ceil_div(columns, 2))


def cost_of_unpack(case: Case) -> Cost:
    """Of codes (rows, columns), int8: what packing loads is stored, and the other way round."""
    packing = cost_of_pack(case)
    return Cost(flops=0, load_bytes=packing.store_bytes, store_bytes=packing.load_bytes)


def _check(codes, packed):
    if (codes.dtype, packed.dtype) != (np.int8, np.uint8):
        raise ValueError(f"codes must be int8 and packed uint8, not {codes.dtype} and {packed.dtype}")
    bytes_of_row = ceil_div(codes.shape[1], 2)
    if packed.shape != (codes.shape[0], bytes_of_row):
        raise ValueError(f"codes {codes.shape} fill {codes.shape[0]} rows of {bytes_of_row} bytes; packed is {packed.shape}")


def _grid(packed):
    return packed.shape[0], ceil_div(packed.shape[1], THREADS)
