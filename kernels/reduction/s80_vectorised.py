"""Four neighbouring values come with one 16-byte load.

Computes:   total = sum of x; float32 or int32 (modulo 2**32), contiguous, any n >= 0, x may start anywhere
Launch:     one block of one thread for the total's zero; then grid ceil(n/8192), block 256, 32 B shared
Cost:       n - 1 additions; asks for 4n B of loads and 4 B of stores; one atomic addition per block besides
Changed:    from many_per_thread: fours from the first 16-byte boundary on; the last block adds what lies around
Why faster: a quarter of the load instructions, and of the index arithmetic, for the same bytes
Source:     Justin Luitjens, CUDA Pro Tip: Increase Performance with Vectorized Memory Access, NVIDIA Technical Blog
"""

from __future__ import annotations

from numba import cuda

from kernels.case import Case, Claim, Cost
from kernels.intrinsics import WIDTH, WIDTH_BYTES, load4
from kernels.reduction.levels import ITEM_BYTES, additions, blocks_of
from kernels.reduction.s60_shuffle import WARPS, block_sum, zero

THREADS = 256
PER_BLOCK = 32 * THREADS
FOURS_PER_BLOCK = PER_BLOCK // WIDTH


@cuda.jit(device=True)
def thread_sum(x, head):
    """This thread's part of the sum; x[head] is the first value on a 16-byte boundary."""
    number = x.dtype.type
    thread = cuda.threadIdx.x
    first = cuda.blockIdx.x * FOURS_PER_BLOCK
    fours = (x.size - head) // WIDTH
    value = number(0)
    for four in range(first + thread, min(first + FOURS_PER_BLOCK, fours), THREADS):
        a, b, c, d = load4(x, head + four * WIDTH)
        value = number(value + ((a + b) + (c + d)))
    if cuda.blockIdx.x == cuda.gridDim.x - 1:  # up to three values on either side of the fours
        tail = head + fours * WIDTH
        if thread < head:
            value = number(value + x[thread])
        if tail + thread < x.size:
            value = number(value + x[tail + thread])
    return value


@cuda.jit
def kernel(x, head, total):
    sums = cuda.shared.array(WARPS, x.dtype)
    value = block_sum(thread_sum(x, head), sums)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, value)


def head_of(x) -> int:
    """How many values of a device array lie before its first 16-byte boundary."""
    return min(x.size, -x.device_ctypes_pointer.value % WIDTH_BYTES // ITEM_BYTES) if x.size else 0


def run(buffers, stream):
    x, total = buffers["x"], buffers["total"]
    zero[1, 1, stream](total)
    kernel[blocks_of(x.size, PER_BLOCK), THREADS, stream](x, head_of(x), total)


def cost(case: Case) -> Cost:
    return Cost(flops=additions(case["n"]), load_bytes=4 * case["n"], store_bytes=4)


# a request per 32 values; then one per 128
CLAIMS = (
    Claim(
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        before=65536 // 32,
        after=65536 // 128,
        case=Case(n=65536),
    ),
)
