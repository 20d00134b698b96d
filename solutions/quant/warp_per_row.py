"""A warp shares its largest magnitude without memory and without waiting.

Answer: kernels/quant/quantise/s30_warp_per_row.py

shfl_xor_sync exchanges values within pairs of lanes: after distances 16, 8, 4, 2 and 1 every lane has the maximum of all 32,
and can make the scale by itself. Whole warps leave at the guard, as row is the same for all lanes of one: nobody is missing
at a shuffle.
"""

from kernels.quant.quantise.s30_warp_per_row import kernel, run

__all__ = ["kernel", "run"]
