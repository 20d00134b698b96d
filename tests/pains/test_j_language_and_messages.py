"""Limits of the language: what is refused says why, and what is not is right."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


def test_a_kernel_that_returns_a_value_is_refused(hinted):
    """numba#8717, numba PR#8723, tracel-ai/cubecl#216: it compiled to an empty body"""
    @cuda.jit
    def total(x):
        return x[0] + x[1]

    with hinted("TypingError", "a kernel returns nothing (void return type): write the result into an output array"):
        total[1, 1](np.zeros(2))
    with pytest.raises(TypeError, match="must have void return type"):
        cuda.jit("float64(float64[:])")(lambda x: x[0])


def test_array_expressions_are_refused_with_the_ways_out(hinted):
    """numba#9324"""
    @cuda.jit
    def in_place(a):
        a[:, 1] += 1

    @cuda.jit
    def copied(a):
        a[:, 1] = a[:, 0]

    @cuda.jit
    def scaled(a):
        a[0, 0] = (a * a[0, 0])[0, 0]

    for kernel, kind in ((in_place, "KeyError"), (copied, "NumbaRuntimeError"), (scaled, "TypingError")):
        with hinted(kind, "write a loop over the elements"):
            kernel[1, 1](np.zeros((2, 2)))


def test_a_pair_is_no_index_into_the_states_of_a_generator(hinted):
    """numba#4757"""
    @cuda.jit
    def draw(states, out):
        out[0] = xoroshiro128p_uniform_float32(states, cuda.grid(2))

    @cuda.jit
    def store(out):
        out[cuda.grid(2)] = 1

    with hinted("TypingError", "cuda.grid(2) is a pair"):
        draw[1, 1](create_xoroshiro128p_states(2, 1), np.zeros(1, np.float32))
    with hinted("TypingError", "cuda.grid(2) is a pair"):
        store[1, 1](np.zeros(1, np.float32))


def test_a_read_only_numpy_array_is_refused_as_such(hinted):
    """numba's own message, with a hint: a store to memory that its owner has closed"""
    @cuda.jit
    def store(out):
        out[0] = 1

    closed = np.zeros(4)
    closed.flags.writeable = False
    with hinted("TypingError", "flags.writeable is False"):
        store[1, 1](closed)


def test_division_by_zero_raises_under_debug_only():
    """numba PR#6788: 1/0 in three modes"""
    def divide(a, b):
        a[0] = a[1] / b[0]

    a, b = np.ones(2, np.float32), np.zeros(1, np.float32)
    for options in ({}, {"fastmath": True}):
        a[0] = 0
        cuda.jit(**options)(divide)[1, 1](a, b)
        assert a[0] == np.inf
    with pytest.raises(ZeroDivisionError, match="division by zero") as failed:
        cuda.jit(debug=True, opt=False)(divide)[1, 1](a, b)
    assert "a[0] = a[1] / b[0]" in failed.value.__notes__[0] and "thread (0, 0, 0)" in failed.value.__notes__[0]


def test_fastmath_changes_the_division_instruction():
    """numba#6183, numba PR#6788, numba PR#7850, mlir#220"""
    def divide(a):
        a[0] = a[1] / a[2]

    exact, _ = cuda.compile_ptx(divide, (float32[::1],), cc=(9, 0))
    fast, _ = cuda.compile_ptx(divide, (float32[::1],), cc=(9, 0), fastmath=True)
    assert "div.rn.f32" in exact and "div.approx" not in exact
    assert "div.approx.ftz.f32" in fast and "div.rn" not in fast


def test_what_numba_cannot_type_keeps_numbas_own_words():
    """Strings, lists, objects as arguments: the message names the type, and no frame of the emulated device is in the way."""
    @cuda.jit
    def first(a):
        a[0] = 1

    for argument, words in ((np.array([object()]), "pyobject"), ("abc", "unicode_type"), ([1, 2], "NRT required")):
        with pytest.raises(Exception, match=words) as failed:
            first[1, 1](argument)
        assert "Error" in type(failed.value).__name__
