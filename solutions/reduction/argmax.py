"""Pairs go through the same tree as sums.

Answer: kernels/reduction/argmax/s20_shuffle.py

A shuffle moves one register, so that a pair takes two of them, both before the pair is replaced: otherwise a value travels
with the index of another. beats is a total order (the lowest index among equals, a NaN before all), so that it does not
matter which pairs meet first. Lanes of the first warp without a warp of their own get a pair that loses to any other, even to
-inf.
"""

from kernels.reduction.argmax.s20_shuffle import kernel, last_kernel, run, scratch

__all__ = ["kernel", "last_kernel", "run", "scratch"]
