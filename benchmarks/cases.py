"""What is timed: a kernel on the emulated device with one worker thread and all checks on, against numba.njit on one thread."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numba import cuda, float32, int32, njit

from kernels.ladder import Case
from kernels.matmul import LADDER

SIZE = 512
SUM_LENGTH = 1 << 24
MANDELBROT_SIZE, MANDELBROT_LIMIT = 512, 500


@dataclasses.dataclass(frozen=True, slots=True)
class Benchmark:
    """bar: the largest ratio that the project allows itself; None where it only reports."""

    name: str
    bar: float | None
    ours: Callable[[], None]
    theirs: Callable[[], None]


@njit(fastmath=True)
def matmul_ikj(a, b, c):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            x = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += x * b[k, j]


@njit
def matmul_ijk(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = np.float32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@njit
def sum_floats(x):
    total = np.float32(0)
    for value in x:
        total += value
    return total


@cuda.jit
def shuffle_sum(x, out):
    """Each block sums a chunk that lies together, thread by thread; then a shuffle tree per warp and one atomic per warp."""
    chunk = (x.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    i = cuda.blockIdx.x * chunk + cuda.threadIdx.x
    end = min((cuda.blockIdx.x + 1) * chunk, x.size)
    total = float32(0)
    while i < end:                      # not range(): its trip count costs every thread a 64-bit division
        total += x[i]
        i += cuda.blockDim.x
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, total)


@cuda.jit
def mandelbrot(out, limit):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        x0 = float32(-2.0) + float32(3.0) * float32(col) / float32(out.shape[1])
        y0 = float32(-1.5) + float32(3.0) * float32(row) / float32(out.shape[0])
        x, y, count = float32(0), float32(0), int32(0)
        while x * x + y * y < float32(4) and count < limit:
            x, y = x * x - y * y + x0, float32(2) * x * y + y0
            count += int32(1)
        out[row, col] = count


@njit
def mandelbrot_njit(out, limit):
    for row in range(out.shape[0]):
        for col in range(out.shape[1]):
            x0 = np.float32(-2.0) + np.float32(3.0) * np.float32(col) / np.float32(out.shape[1])
            y0 = np.float32(-1.5) + np.float32(3.0) * np.float32(row) / np.float32(out.shape[0])
            x, y, count = np.float32(0), np.float32(0), np.int32(0)
            while x * x + y * y < np.float32(4) and count < limit:
                x, y = x * x - y * y + x0, np.float32(2) * x * y + y0
                count += np.int32(1)
            out[row, col] = count


def matmul(step: str, bar: float, baseline: Callable) -> Benchmark:
    case = Case(m=SIZE, n=SIZE, k=SIZE)
    inputs = LADDER.make(case, np.random.default_rng(1))
    a, b = inputs["a"], inputs["b"]
    c = np.zeros((SIZE, SIZE), np.float32)
    buffers = {"a": cuda.to_device(a), "b": cuda.to_device(b), "c": cuda.to_device(c)}
    chosen = next(s for s in LADDER if s.name == step)

    def ours() -> None:
        chosen.run(buffers, cuda.default_stream())
        cuda.synchronize()

    def theirs() -> None:
        c[:] = 0
        baseline(a, b, c)

    return Benchmark(f"matmul/{step} {SIZE}^3", bar, ours, theirs)


def summation() -> Benchmark:
    x = np.random.default_rng(1).random(SUM_LENGTH, dtype=np.float32)
    device_x, out = cuda.to_device(x), cuda.to_device(np.zeros(1, np.float32))

    def ours() -> None:
        shuffle_sum[1024, 256](device_x, out)
        cuda.synchronize()

    return Benchmark("shuffle sum of 2^24", 2.5, ours, lambda: sum_floats(x))


def fractal() -> Benchmark:
    image = np.zeros((MANDELBROT_SIZE, MANDELBROT_SIZE), np.int32)
    device_image = cuda.to_device(image)
    grid = (MANDELBROT_SIZE // 32, MANDELBROT_SIZE // 8)

    def ours() -> None:
        mandelbrot[grid, (32, 8)](device_image, int32(MANDELBROT_LIMIT))
        cuda.synchronize()

    return Benchmark("mandelbrot 512^2", 1.0, ours, lambda: mandelbrot_njit(image, np.int32(MANDELBROT_LIMIT)))


def all_benchmarks() -> list[Benchmark]:
    return [
        matmul("naive", 1.5, matmul_ijk),
        matmul("coalesced", 2.5, matmul_ikj),
        matmul("tiled", 3.0, matmul_ikj),
        summation(),
        fractal(),
    ]
