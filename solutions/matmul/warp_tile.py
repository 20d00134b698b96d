"""A warp's results form a compact square.

Answer: kernels/matmul/s80_warp_tile.py

What a warp reads from shared memory is the border of its tile: 64 + 64 values for 64 x 64 cells, against 16 + 128 for 16 x
128. Each thread's 8 x 16 cells come in groups of 4 x 4, so that its neighbours' groups fill the banks between.
"""

from kernels.matmul.s80_warp_tile import kernel, run

__all__ = ["kernel", "run"]
