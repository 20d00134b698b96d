"""A code becomes a float in a register, and a group is scaled once.

Answer: kernels/quant/dequant_gemv/s20_fused_int8.py

For one row of x, each weight is used once: what counts is the bytes that carry it. Here that is one, where floats in memory
take one to read, four to write and four to read again. The scale does not depend on i within a group, so it is loaded and
multiplied once for 128 weights. The last group may be shorter.
"""

from kernels.quant.dequant_gemv.s20_fused_int8 import kernel, run

__all__ = ["kernel", "run"]
