"""dp4a: what it compiles to, what it computes, what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import cuda, int32, types
from numba.core.errors import TypingError

from kernels.dp4a import dp4a, words

CAPABILITIES = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0)]
LOWEST, LARGEST = -(2**31), 2**31 - 1


def dots(a, b, totals, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = dp4a(a[i], b[i], totals[i])


def dots_of_bytes(a, b, out):
    """What a reader writes who does not know of dp4a."""
    total = int32(0)
    for i in range(4):
        total = int32(total + int32(a[i]) * int32(b[i]))
    out[0] = total


def dot_from_zero(a, out):
    out[0] = dp4a(a[0], a[0], 0)


def ptx_of(function, *arguments, cc=(9, 0)) -> str:
    return cuda.compile_ptx(function, arguments, cc=cc)[0]


def computed(a, b, totals) -> np.ndarray:
    """dp4a of each row of four int8 of a and b, on the device."""
    out = cuda.to_device(np.zeros(len(totals), np.int32))
    inputs = [words(cuda.to_device(np.ascontiguousarray(x, np.int8))).reshape(-1) for x in (a, b)]
    cuda.jit(dots)[-(-len(totals) // 64), 64](*inputs, cuda.to_device(np.asarray(totals, np.int32)), out)
    return out.copy_to_host()


@pytest.mark.parametrize("cc", CAPABILITIES, ids=str)
def test_it_is_one_instruction_on_every_capability(cc):
    ptx = ptx_of(dots, *[types.int32[::1]] * 4, cc=cc)
    assert len(re.findall(r"\bdp4a\.s32\.s32\b", ptx)) == 1
    assert not re.search(r"\b(?:mad|prmt|bfe|call)\b", ptx)


def test_the_compiler_makes_it_of_bytes_too_and_packs_them_first():
    ptx = ptx_of(dots_of_bytes, types.int8[::1], types.int8[::1], types.int32[::1])
    assert "dp4a.s32.s32" in ptx and "prmt.b32" in ptx


def test_it_multiplies_each_byte_with_its_own_partner():
    # worked out by hand; every order of the four but this one gives another sum
    a = [[1, 2, 3, 4], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    b = [[10, 20, 30, 50]] + 4 * [[5, 7, 11, 13]]
    assert computed(a, b, [1000, 0, 0, 0, 0]).tolist() == [1000 + 10 + 40 + 90 + 200, 5, 7, 11, 13]


@pytest.mark.parametrize(("a", "b", "total"), [(-1, 1, -4), (1, -1, -4), (-1, -1, 4), (-128, -128, 65536), (-128, 127, -65024)])
def test_all_bytes_are_signed(a, b, total):
    assert computed([[a] * 4], [[b] * 4], [0]).tolist() == [total]


def test_it_wraps_as_int32_does():
    a = [[-128] * 4, [1, 0, 0, 0], [-1, 0, 0, 0]]
    b = [[-128] * 4, [1, 0, 0, 0], [1, 0, 0, 0]]
    assert computed(a, b, [LARGEST - 65536 + 1, LARGEST, LOWEST]).tolist() == [LOWEST, LOWEST, LARGEST]


def test_it_agrees_with_numpy_on_random_bytes(rng):
    a, b = (rng.integers(-128, 127, (1000, 4), dtype=np.int8, endpoint=True) for _ in range(2))
    totals = rng.integers(-(2**30), 2**30, 1000, dtype=np.int32)
    expected = totals + (a.astype(np.int64) * b).sum(axis=1)
    np.testing.assert_array_equal(computed(a, b, totals), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([types.int64[::1]] * 2, "dp4a: a must be int32, not int64; a word of four codes comes from a view"),
        ([types.uint32[::1]] * 2, "dp4a: a must be int32, not uint32"),
        ([types.int8[::1]] * 2, "dp4a: a must be int32, not int8"),
        ([types.int32[::1]] * 2, r"dp4a: total must be int32, not (Literal\[int\]\(0\)|int64).* starts as int32\(0\)"),
    ],
    ids=["int64", "uint32", "int8", "total"],
)
def test_other_types_are_refused_while_compiling(arguments, message):
    with pytest.raises(TypingError, match=message):
        ptx_of(dot_from_zero, *arguments)


def test_words_take_four_codes_lowest_byte_first():
    codes = cuda.to_device(np.array([[1, 2, 3, 4, -1, 0, 0, 0]], np.int8))
    assert words(codes).copy_to_host().tolist() == [[0x04030201, 0x000000FF]]


@pytest.mark.parametrize("k", [1, 3, 5, 127])
def test_rows_that_are_not_whole_words_are_refused(k):
    with pytest.raises(ValueError, match=f"rows of {k} codes from address 0x.* are not whole words of 4: pad k"):
        words(cuda.to_device(np.zeros((4, k), np.int8)))


def test_codes_off_the_4_byte_boundary_are_refused():
    with pytest.raises(ValueError, match="start at a multiple of 4 bytes"):
        words(cuda.to_device(np.zeros(33, np.int8))[1:])
