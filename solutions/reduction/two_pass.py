"""Every block's sum has its place, and one block adds them in a fixed order.

Answer: kernels/reduction/s90_two_pass.py

Without atomics, nothing depends on which block ends first: the total has the same bits in every run. The second launch begins
when the first has ended, which is the barrier that blocks do not have. There may be more partial sums than threads, hence the
loop in last_kernel; and fewer, which is why each thread begins with number(0).
"""

from kernels.reduction.s90_two_pass import kernel, last_kernel, run, scratch

__all__ = ["kernel", "last_kernel", "run", "scratch"]
