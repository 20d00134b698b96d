"""Where simulators of the past differed from the hardware, and this one must not."""
from __future__ import annotations

import numpy as np
from numba import cuda, int32, uint64


def test_a_fault_in_half_the_threads_before_a_barrier_ends_the_launch(fault):
    """numba#3063, PR#3067, PR#3100: the others waited at the barrier for ever"""
    @cuda.jit
    def half(a, out):
        i = cuda.threadIdx.x
        if i % 2:
            out[i] = a[i + 100]
        cuda.syncthreads()
        out[i] = 1

    with fault("ILLEGAL_ADDRESS", "out[i] = a[i + 100]", "thread (1, 0, 0)", "a[101], but a has shape (64,)"):
        half[4, 64](np.zeros(64), np.zeros(64))


def test_every_option_of_the_decorator_is_accepted():
    """numba#6615, numba#3075"""
    def fill(a):
        a[cuda.grid(1)] = 1

    for options in ({"debug": True, "opt": False, "lto": False}, {"lineinfo": True, "max_registers": 32, "opt": False},
                    {"fastmath": True, "launch_bounds": 64, "cache": False, "lto": True}):
        a = np.zeros(32, np.float32)
        cuda.jit(**options)(fill)[1, 32](a)
        assert (a == 1).all(), options


def test_a_64_bit_rotate_is_right():
    """accel-sim/accel-sim-framework#298: the PTX form shf.l.wrap"""
    @cuda.jit
    def rotate(x, out):
        i = cuda.threadIdx.x
        n = uint64(i)
        out[0, i] = (x[i] << n) | (x[i] >> (uint64(64) - n) % uint64(64))
        out[1, i] = (x[i] << uint64(13)) | (x[i] >> uint64(51))

    x = np.random.default_rng(11).integers(0, 2**64, 64, np.uint64)
    out = np.zeros((2, 64), np.uint64)
    rotate[1, 64](x, out)

    def rotated(value: int, n: int) -> int:
        return (value << n | value >> (64 - n)) % 2**64 if n else value

    assert out[0].tolist() == [rotated(int(v), n) for n, v in enumerate(x)]
    assert out[1].tolist() == [rotated(int(v), 13) for v in x]


def test_a_loop_that_all_threads_run_equally_often_reconverges_before_the_barrier():
    """gtcasl/gpuocelot#36: an xor reduction, the barrier behind a loop"""
    @cuda.jit
    def reduce(a, out, rounds):
        held = cuda.shared.array(64, int32)
        i = cuda.threadIdx.x
        value = a[i]
        for k in range(rounds):
            if (value >> k) & 1:
                value ^= k
        held[i] = value
        step = 32
        while step > 0:
            cuda.syncthreads()
            other = held[i ^ step]
            cuda.syncthreads()
            held[i] ^= other
            step //= 2
        cuda.syncthreads()
        out[i] = held[0]

    a, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    reduce[1, 64](a, out, 0)
    assert set(out) == {0}
    reduce[1, 64](a, out, 6)
    expected = 0
    for value in range(64):
        for k in range(6):
            value ^= k if value >> k & 1 else 0
        expected ^= value
    assert set(out) == {expected}
