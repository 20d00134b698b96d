"""Thirty-two lanes read a row side by side, and add up what they have.

Answer: kernels/quant/dequant_gemv/s40_warp_per_row.py

With a thread per row, the lanes of a warp read from 32 rows: 32 sectors for 32 bytes. With a warp per row they read 32
neighbouring bytes: one sector. Each byte is scaled by the scale of its own group, since a lane's next byte is 64 weights
further on. Rows are the same for all lanes of a warp, so that all reach the shuffles.
"""

from kernels.quant.dequant_gemv.s40_warp_per_row import kernel, run

__all__ = ["kernel", "run"]
