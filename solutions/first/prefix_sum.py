"""Running totals across blocks, in two launches.

Computes: out[i] = a[0] + … + a[i]; a and out (n,) float32, any n >= 1
Launch:   twice grid ceil(n/64), block 64: first every block for itself, then each adds what all blocks before it have
Given:    both launches, and totals (ceil(n/64),): the sum of each block
Write:    one round within a block, and what a block has to add in the second launch

A round with step 1, 2, 4 … 32 adds to each cell of the tile the one `step` before it, if there is one.

Answer: in a round a cell is read by one thread and overwritten by another. So each reads into a variable, then all wait, then
each writes, and all wait again before the next round. The second launch begins when the first has ended, and only so can a
block know that others are done: a barrier is for the threads of one block. A block adds the totals of all blocks before it;
with the block right before it alone, two blocks come out right and the third does not.
"""

from __future__ import annotations

from numba import cuda, float32

from kernels.case import ceil_div

THREADS = 64


@cuda.jit
def scan_blocks(a, out, totals):
    tile = cuda.shared.array(THREADS, float32)
    x = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[x] = a[i] if i < a.shape[0] else float32(0)
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        # gap: one round: nobody overwrites a cell that another thread still has to read, nobody runs ahead | 4 lines
        before = tile[x - step] if x >= step else float32(0)
        cuda.syncthreads()  # all have read
        tile[x] += before
        cuda.syncthreads()  # all have written
        # end gap
        step *= 2
    if i < out.shape[0]:
        out[i] = tile[x]
    if x == THREADS - 1:
        totals[cuda.blockIdx.x] = tile[x]


@cuda.jit
def add_totals(totals, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        total = float32(0)
        # gap: add up what the blocks before this one have | 2 lines
        for block in range(cuda.blockIdx.x):
            total += totals[block]
        # end gap
        out[i] += total


def run(buffers, stream):
    a, out, totals = buffers["a"], buffers["out"], buffers["totals"]
    blocks = ceil_div(out.shape[0], THREADS)
    scan_blocks[blocks, THREADS, stream](a, out, totals)
    add_totals[blocks, THREADS, stream](totals, out)


def scratch(case, inputs):
    return {"totals": ((ceil_div(case["n"], THREADS),), "float32")}
