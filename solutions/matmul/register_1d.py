"""Eight results per thread share each value of B.

Answer: kernels/matmul/s40_register_1d.py

With one result per thread, each multiply-add takes two loads from shared memory, and those are what the time goes to. Eight
results in one column share tile_b[i, col]: 9 loads for 8 multiply-adds. The totals live in registers since all their
indices are constants once the loops over THREAD_M are unrolled.
"""

from kernels.matmul.s40_register_1d import kernel, run

__all__ = ["kernel", "run"]
