"""Sizes, tiles, tails, bounds: what does not divide is found at the first access that leaves an array."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32

TILE = 16


@pytest.fixture(scope="module")
def matmuls():
    """The tiled product as a documentation page once had it, and as it has to be: (documented, padded)."""

    @cuda.jit
    def documented(a, b, c):
        tile_a, tile_b = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        if x >= c.shape[0] and y >= c.shape[1]:
            return
        total = float32(0)
        for step in range(cuda.gridDim.x):
            tile_a[tx, ty] = a[x, ty + step * TILE]
            tile_b[tx, ty] = b[tx + step * TILE, y]
            cuda.syncthreads()
            for k in range(TILE):
                total += tile_a[tx, k] * tile_b[k, ty]
            cuda.syncthreads()
        c[x, y] = total

    @cuda.jit
    def padded(a, b, c):
        tile_a, tile_b = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
        row, col = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for step in range((a.shape[1] + TILE - 1) // TILE):
            k_a, k_b = ty + step * TILE, tx + step * TILE
            tile_a[tx, ty] = a[row, k_a] if row < a.shape[0] and k_a < a.shape[1] else float32(0)
            tile_b[tx, ty] = b[k_b, col] if k_b < b.shape[0] and col < b.shape[1] else float32(0)
            cuda.syncthreads()
            for k in range(TILE):
                total += tile_a[tx, k] * tile_b[k, ty]
            cuda.syncthreads()
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = total

    return documented, padded


def product(kernel, m: int, k: int, n: int) -> None:
    """Run a kernel on integer-valued matrices, whose product is exact; asserts the result."""
    rng = np.random.default_rng([m, k, n])
    a, b = rng.integers(-8, 9, (m, k)).astype(np.float32), rng.integers(-8, 9, (k, n)).astype(np.float32)
    c = np.full((m, n), np.nan, np.float32)
    kernel[(-(-m // TILE), -(-n // TILE)), (TILE, TILE)](a, b, c)
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("m, k, n", [(24, 24, 24), (5, 7, 3)])
def test_the_documented_tiled_product_leaves_its_arrays_when_sizes_do_not_divide(matmuls, fault, m, k, n):
    """numba#7324"""
    rows = m if m < TILE else k     # of a, or of b below it
    with fault("ILLEGAL_ADDRESS", "kernel documented: read out of bounds", "+ step * TILE", f"has shape ({rows}, "):
        product(matmuls[0], m, k, n)


def test_the_documented_tiled_product_is_right_where_sizes_divide(matmuls):
    """numba#7324"""
    product(matmuls[0], 32, 32, 32)


def test_a_loop_count_from_the_grid_is_wrong_for_a_longer_inner_dimension(matmuls):
    """numba#7324: without a stray access only the values tell."""
    with pytest.raises(AssertionError):
        product(matmuls[0], 16, 32, 16)


@pytest.mark.parametrize("m, k, n", [(24, 24, 24), (5, 7, 3), (16, 33, 16), (1, 1, 1), (17, 100, 15)])
def test_tiles_padded_with_zeros_and_one_guard_at_the_store_are_right_for_every_size(matmuls, m, k, n):
    """numba#7324, Cjkkkk/CUDA_gemm#6, pranjalssh/fast.cu#4: below, at and above the tile"""
    product(matmuls[1], m, k, n)


def test_a_guard_on_rows_alone_lets_the_last_tile_of_the_inner_loop_read_past_the_end(fault):
    """Cjkkkk/CUDA_gemm#6: N=100 wrong, N=1000 right"""
    @cuda.jit
    def sums(a, out):
        row = cuda.grid(1)
        if row < a.shape[0]:
            total = float32(0)
            for step in range((a.shape[1] + TILE - 1) // TILE):
                for k in range(TILE):
                    total += a[row, step * TILE + k]
            out[row] = total

    wide = np.ones((8, 32), np.float32)
    out = np.zeros(8, np.float32)
    sums[1, 32](wide, out)
    assert out.tolist() == [32] * 8
    with fault("ILLEGAL_ADDRESS", "total += a[row, step * TILE + k]", "thread (7, 0, 0)",
               "a[8, 0], but a has shape (8, 20)", "a[7, 20] would lie there too, if it is axis 1 that is out of range"):
        sums[1, 32](wide[:, :20].copy(), out)


def test_a_flattened_store_without_a_column_guard_is_found_in_the_last_rows(fault):
    """AyakaGEMM/Hands-on-GEMM#8: two threads' addresses coincide before any leaves the array"""
    @cuda.jit
    def store(out, n):
        row, col = cuda.blockIdx.x, cuda.threadIdx.x
        if row < n:
            out[row * n + col] = 1

    with fault("ILLEGAL_ADDRESS", "out[256], but out has shape (256,)", "block (9, 0, 0), thread (112, 0, 0)"):
        store[16, 128](np.zeros(256, np.float32), 16)


def test_a_store_of_a_whole_tile_into_24_rows_is_found_and_not_silently_wrong(fault):
    """NVIDIA/Fuser#3963: M = 24 and a 16x16 store"""
    @cuda.jit
    def store(out):
        row, col = cuda.grid(2)
        out[row, col] = 1

    store[(2, 1), (16, 16)](np.zeros((32, 16), np.float32))
    with fault("ILLEGAL_ADDRESS", "out[24, 0], but out has shape (24, 16)", "Off by one row"):
        store[(2, 1), (16, 16)](np.zeros((24, 16), np.float32))


def test_forall_rounds_threads_up_so_that_its_kernel_needs_a_guard(fault):
    """numba PR#7285: forall(n) with n = 1"""
    @cuda.jit
    def unguarded(out):
        out[cuda.grid(1)] = 1

    @cuda.jit
    def guarded(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = 1

    out = np.zeros(1, np.float32)
    guarded.forall(1)(out)
    assert out.tolist() == [1]
    with fault("ILLEGAL_ADDRESS", "out[1], but out has shape (1,)", "the launch has 1024 threads on x"):
        unguarded.forall(1)(out)


def test_reading_one_past_the_end_tells_index_and_size_and_the_process_goes_on(fault):
    """numba PR#4432, numba#8914, numba#8028, numba#3016, cupy/cupy#7482: a bad kernel, a good one, and the copy back"""
    @cuda.jit
    def read(a, out, index):
        out[0] = a[index]

    a, out = cuda.to_device(np.arange(5.0)), cuda.to_device(np.zeros(1))
    with fault("ILLEGAL_ADDRESS", "a[5], but a has shape (5,): the last index is 4", "next launch works"):
        read[1, 1](a, out, 5)
    read[1, 1](a, out, 4)
    assert out.copy_to_host().tolist() == [4] and a.copy_to_host().tolist() == [0, 1, 2, 3, 4]
