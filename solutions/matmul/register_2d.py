"""Sixteen loads from shared memory serve 64 multiply-adds.

Answer: kernels/matmul/s50_register_2d.py

An outer product: 8 values of A and 8 of B make 64 products. A square of results is the shape with the fewest loads for its
area. Loading them into local arrays first, with constant indices, says to the compiler that each is wanted once per k.
"""

from kernels.matmul.s50_register_2d import kernel, run

__all__ = ["kernel", "run"]
