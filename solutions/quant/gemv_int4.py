"""Two codes in a byte: low four bits first, each with its sign.

Answer: kernels/quant/dequant_gemv/s30_int4.py

Four bits hold -8 to 7 in two's complement. `& 15` and `>> 4` alone give 0 to 15; (bits ^ 8) - 8 turns 8 … 15 into -8 … -1,
and for the high four bits int8 does the same, as its shift to the right keeps the sign. With an odd k, the last byte's high
bits are no weight: x ends before them.
"""

from kernels.quant.dequant_gemv.s30_int4 import kernel, run

__all__ = ["kernel", "run"]
