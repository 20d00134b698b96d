"""Driver functions that say how many blocks of a kernel fit on a multiprocessor."""
from __future__ import annotations

import ctypes

from simt.driver.callbacks import driver_call
from simt.driver.cells import Handle, Int, Pointer, Size, UInt, put_int, put_size
from simt.driver.libraries import KERNELS, Kernel
from simt.driver.session import current
from simt.model.device import WARP_SIZE


@driver_call(Pointer, Handle, Int, Size)
def cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks_out: int, kernel: int, threads: int, dynamic: int) -> None:
    put_int(blocks_out, KERNELS.get(kernel).blocks_per_sm(threads, dynamic))


@driver_call(Pointer, Handle, Int, Size, UInt)
def cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks_out: int, kernel: int, threads: int, dynamic: int, _flags: int
) -> None:
    put_int(blocks_out, KERNELS.get(kernel).blocks_per_sm(threads, dynamic))


@driver_call(Pointer, Pointer, Handle, Pointer, Size, Int)
def cuOccupancyMaxPotentialBlockSize(
    grid_out: int, threads_out: int, kernel: int, dynamic_of_threads: int, dynamic: int, limit: int
) -> None:
    _best_block(grid_out, threads_out, KERNELS.get(kernel), dynamic_of_threads, dynamic, limit)


@driver_call(Pointer, Pointer, Handle, Pointer, Size, Int, UInt)
def cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid_out: int, threads_out: int, kernel: int, dynamic_of_threads: int, dynamic: int, limit: int, _flags: int
) -> None:
    _best_block(grid_out, threads_out, KERNELS.get(kernel), dynamic_of_threads, dynamic, limit)


@driver_call(Pointer, Handle, Int, Int)
def cuOccupancyAvailableDynamicSMemPerBlock(size_out: int, kernel: int, blocks: int, threads: int) -> None:
    found = KERNELS.get(kernel)
    limit = current().device.shared_bytes_per_block_optin - found.facts.static_shared_bytes
    low, high = 0, max(limit, 0)
    while low < high:  # the largest size with which that many blocks still fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if found.blocks_per_sm(threads, middle) >= blocks else (low, middle - 1)
    put_size(size_out, low)


def _best_block(
    grid_out: int, threads_out: int, kernel: Kernel, dynamic_of_threads: int, dynamic: int, limit: int
) -> None:
    """The block size, in whole warps, with the most resident threads; of equals the largest, as cuda_occupancy.h."""
    size_of = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)(dynamic_of_threads) if dynamic_of_threads else None
    largest = min(limit or kernel.max_threads_per_block, kernel.max_threads_per_block)
    best, best_blocks = 0, 0
    for threads in range(largest, 0, -WARP_SIZE):
        threads -= threads % WARP_SIZE if threads > WARP_SIZE else 0
        blocks = kernel.blocks_per_sm(threads, size_of(threads) if size_of else dynamic)
        if blocks * threads > best_blocks * best:
            best, best_blocks = threads, blocks
    put_int(grid_out, best_blocks * current().device.sm_count)
    put_int(threads_out, best)
