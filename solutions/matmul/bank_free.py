"""Two numbers decide whether the threads of a warp meet in a bank.

Answer: kernels/matmul/s70_bank_free.py

16-byte accesses run in groups of 8 threads, 128 B each: free of conflicts if the 8 pieces cover all 32 banks. Starting 4
columns apart they do; 8 apart, only half of the banks are used, twice. The padding of 4 words moves each row of tile_a on
by four banks, so that the two threads which store to rows a_col = 0 and 4 no longer meet.
"""

from kernels.matmul.s70_bank_free import kernel, run

__all__ = ["kernel", "run"]
