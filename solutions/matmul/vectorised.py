"""Four neighbours move in one instruction.

Answer: kernels/matmul/s60_vectorised.py

The bytes stay the same; the instructions that ask for them become a quarter. For tile_a to be read in fours along a column
of A, it has to lie transposed, so that its store goes to four rows. That store meets bank conflicts: the next exercise is
about them.
"""

from kernels.matmul.s60_vectorised import kernel, run

__all__ = ["kernel", "run"]
