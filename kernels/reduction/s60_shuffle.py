"""Every warp adds its values by shuffles; the block meets once, and adds its sum to the total by one atomic.

Computes:   total = sum of x; float32 or int32 (modulo 2**32), contiguous, any n >= 0
Launch:     one block of one thread for the total's zero; then grid ceil(n/512), block 256, 32 B shared
Cost:       n - 1 additions; asks for 4n B of loads and 4 B of stores; one atomic addition per block besides
Changed:    from shuffle_tail: shuffles from the start, 8 words of shared memory; an atomic for each partial sum
Why faster: one barrier per block instead of 4, a few shared accesses, no launches over partial sums. Atomics come in
            any order: an int32 total is exact all the same, a float32 total may differ in its last bits from run to run
Source:     Justin Luitjens, Faster Parallel Reductions on Kepler, NVIDIA Technical Blog, Block Reduce and Atomics
"""

from __future__ import annotations

from numba import cuda, uint32

from kernels.case import Case, Claim, Cost
from kernels.reduction.levels import additions, blocks_of
from kernels.reduction.s50_shuffle_tail import warp_sum

THREADS = 256
PER_BLOCK = 2 * THREADS
WARP = 32
WARPS = THREADS // WARP


@cuda.jit(device=True)
def block_sum(value, sums):
    """Thread 0 gets the sum over the block; `sums` is one cell of shared memory per warp.

    Before a block calls this again with the same `sums`, it needs a barrier: warp 0 may still read them.
    """
    thread = uint32(cuda.threadIdx.x)
    number = type(value)
    # gap: every warp adds its values, then the first one adds the warps' sums | 6 lines
    value = warp_sum(value)
    if thread % WARP == 0:
        sums[thread // WARP] = value
    cuda.syncthreads()  # the sums of all warps are there
    if thread < WARP:
        value = warp_sum(sums[thread] if thread < WARPS else number(0))
    # end gap
    return value


@cuda.jit
def zero(total):
    total[0] = 0


@cuda.jit
def kernel(x, total):
    sums = cuda.shared.array(WARPS, x.dtype)
    number = x.dtype.type
    i = cuda.blockIdx.x * PER_BLOCK + uint32(cuda.threadIdx.x)
    first = x[i] if i < x.size else number(0)
    second = x[i + THREADS] if i + THREADS < x.size else number(0)
    # gap: one atomic per block: add its values up before | 3 lines
    value = block_sum(number(first + second), sums)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, value)
    # instead
    #- cuda.atomic.add(total, 0, number(first + second))
    # end gap


def run(buffers, stream):
    x, total = buffers["x"], buffers["total"]
    zero[1, 1, stream](total)
    kernel[blocks_of(x.size, PER_BLOCK), THREADS, stream](x, total)


def cost(case: Case) -> Cost:
    return Cost(flops=additions(case["n"]), load_bytes=4 * case["n"], store_bytes=4)


CASE = Case(n=16384)  # 32 blocks, and one over their sums; then 32
CLAIMS = (
    # 8 warps, 4 barriers; then 1
    Claim("simt__barriers", before=33 * 8 * 4, after=32 * 8, case=CASE),
    # 2 loads of each warp that adds, on 3 levels, and the tail's first values; then the warps' sums
    Claim("simt__shared_requests_op_ld", before=33 * (2 * (4 + 2 + 1) + 1), after=32, case=CASE),
)
