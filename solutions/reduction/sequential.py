"""Adding the upper half to the lower half keeps the cells of a warp side by side.

Answer: kernels/reduction/s30_sequential.py

Which pairs a level adds does not matter for the sum, but it does for the banks. With cells t and t + stride, the 32 threads
of a warp read 32 words in a row from either half: 32 banks, no conflict, whatever the stride. As before, the busy threads are
the first ones, so that no more warps part than with strided_index.
"""

from kernels.reduction.s30_sequential import kernel, run, scratch

__all__ = ["kernel", "run", "scratch"]
