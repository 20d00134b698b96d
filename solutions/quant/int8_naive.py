"""Codes are multiplied and added as integers; what they are worth comes afterwards.

Answer: kernels/quant/int8_matmul/s20_naive.py

The sum over k of (code scale) (code scale) is the sum of code times code, times both scales: they do not depend on k. So a
product asks for 2 bytes instead of 8, and the sum is exact. A code is widened to int32 before it is multiplied, and the sum
stays int32, which Numba would make an int64.
"""

from kernels.quant.int8_matmul.s20_naive import kernel, run, scratch

__all__ = ["kernel", "run", "scratch"]
