"""The number of the pair, not of the cell, says which thread adds it.

Answer: kernels/reduction/s20_strided_index.py

`thread % (2 * stride) == 0` picks threads from all warps: on the first five levels every warp goes both ways. With pair t at
cell 2 * stride * t the busy threads are 0, 1, 2, …: a warp is busy as a whole or skips the level, until a single one is left,
which parts on each of the last five levels. There is a price: the cells of a warp lie 2 * stride words apart, so that up to
16 of its threads want the same bank. The next exercise deals with that.
"""

from kernels.reduction.s20_strided_index import kernel, run, scratch

__all__ = ["kernel", "run", "scratch"]
