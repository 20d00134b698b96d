"""The scale of a row takes the whole row: two passes over it.

Answer: kernels/quant/quantise/s10_thread_per_row.py

absmax / 127 is the worth of one code, so that the largest magnitude becomes 127 or -127 and zero stays zero. magnitude
compares the bits, as a maximum of floats would drop a NaN. code_of rounds ties to even, so that errors do not all go one way,
and makes every code of a row of zeros 0 instead of dividing by 0.
"""

from kernels.quant.quantise.s10_thread_per_row import kernel, run

__all__ = ["kernel", "run"]
