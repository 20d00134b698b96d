"""A word of four codes is loaded, kept and multiplied as one.

Answer: kernels/quant/int8_matmul/s40_dp4a.py

Tiles of 32 x 32 words cover 128 codes along k: a quarter of the rounds, of the barriers, of the loads. B is stored along k
too, so that its tile has a row for each column of C and a word of either tile holds the same four values of k. Rows of tile_b
lie 33 words apart: x * 33 + i are 32 different banks.
"""

from kernels.quant.int8_matmul.s40_dp4a import kernel, run, scratch

__all__ = ["kernel", "run", "scratch"]
