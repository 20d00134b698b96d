"""The threads of a block share a row, and its largest magnitude.

Answer: kernels/quant/quantise/s20_block_per_row.py

Columns thread, thread + THREADS, … let a warp load 128 B in one piece and store 32 codes into one sector. The tree of maxima
is that of reduction/sequential. A maximum comes out the same in any order, so nothing is lost by sharing. The barrier stands
outside the if: all threads of the block have to reach it.
"""

from kernels.quant.quantise.s20_block_per_row import kernel, run

__all__ = ["kernel", "run"]
