"""One thread per cell of C; the ladder's first step is the answer.

Answer: kernels/matmul/s10_naive.py

The guard compares with the shape of C, not with the grid: the grid is rounded up to whole blocks. The sum stays in a
register until the end, so that each cell is stored once. It is slow for one reason: neighbouring threads have neighbouring
rows, which lie a whole row apart in memory. The next exercise mends that.
"""

from kernels.matmul.s10_naive import kernel, run

__all__ = ["kernel", "run"]
