"""C = A @ B.T with int8 codes (W8A8), int32 sums and float32 scales: from floats in memory to register-tiled dp4a.

Both matrices are stored along k: A is (m, k) and B is (n, k), as the weights of a linear layer are. Four codes that one
result needs together then lie in one 4-byte word of either matrix, which is what dp4a takes.
"""

from __future__ import annotations

import numpy as np

from kernels.case import Arrays, Case, Layout
from kernels.ladder import Ladder
from kernels.shapes import Limit

LARGEST_K = 2**17 - 1
"""(-128) * (-128) is 2**14, and int32 ends at 2**31 - 1. With codes of at most 127 the sums would fit up to k = 133144."""

BOUND_FACTOR = 4
UNIT_ROUNDOFF = 2.0**-24  # of float32
EXACT = 2.0**24  # float32 holds every whole number up to here
LARGEST_BIAS = 8


def make(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """Codes A (m, k) and B (n, k), each of [-128, 127]; scale_a (m), scale_b (n), bias (n).

    "normal": scales between 0.001 and 0.02, normal bias. "integers": scales that are powers of two from 1/8 to 1, whole bias
    in [-8, 8], so that float32 holds every sum exactly up to k = 1000 or so.
    """
    m, n, k = case["m"], case["n"], case["k"]
    if kind == "normal":
        scales = [rng.uniform(0.001, 0.02, size).astype(np.float32) for size in (m, n)]
        bias = rng.standard_normal(n, dtype=np.float32)
    elif kind == "integers":
        scales = [np.exp2(rng.integers(-3, 0, size, endpoint=True)).astype(np.float32) for size in (m, n)]
        bias = rng.integers(-LARGEST_BIAS, LARGEST_BIAS, n, endpoint=True).astype(np.float32)
    else:
        raise ValueError(f"kind must be 'normal' or 'integers', not {kind!r}")
    codes = [rng.integers(-128, 127, (size, k), dtype=np.int8, endpoint=True) for size in (m, n)]
    return {"a": codes[0], "b": codes[1], "scale_a": scales[0], "scale_b": scales[1], "bias": bias}


def accumulators(inputs: Arrays) -> np.ndarray:
    """The exact sums (m, n), int64: what the int32 sums have to be, one for one."""
    # float64 holds the sums exactly (they stay below 2**53), and NumPy multiplies float64 matrices much faster.
    return (inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64).T).astype(np.int64)


def scales(inputs: Arrays) -> np.ndarray:
    """scale_a[m] * scale_b[n] (m, n) in float64."""
    return np.outer(inputs["scale_a"].astype(np.float64), inputs["scale_b"].astype(np.float64))


def reference(inputs: Arrays) -> Arrays:
    """C (m, n): the exact sums, scaled in float64."""
    return {"c": accumulators(inputs) * scales(inputs) + inputs["bias"].astype(np.float64)}


def tolerance(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
    """Largest |c - reference| per cell.

    0 where scales are powers of two and every partial sum, in units of the scale, is a whole number below 2**24: then
    nothing rounds. Otherwise 4 (sqrt(k) + 1) u (|A| |B| scale + |bias|) with u = 2**-24: the first step scales codes before it
    adds, so that k roundings add up, as often up as down (Higham and Mary, A New Approach to Probabilistic Rounding
    Error Analysis, SIAM J. Sci. Comput. 41, 2019). Steps with int32 sums need a few u only; test_int8_matmul.py has that bound.
    """
    scale, bias = scales(inputs), np.abs(inputs["bias"].astype(np.float64))
    magnitude = np.abs(inputs["a"].astype(np.float64)) @ np.abs(inputs["b"].astype(np.float64)).T
    powers = all(np.all(np.frexp(inputs[name])[0] == 0.5) for name in ("scale_a", "scale_b"))
    units = bias / scale
    exact = powers & (units == np.rint(units)) & (magnitude + units < EXACT)
    bound = BOUND_FACTOR * (np.sqrt(case["k"]) + 1) * UNIT_ROUNDOFF * (magnitude * scale + bias)
    return {"c": np.where(exact, 0.0, bound)}


def outputs(case: Case, inputs: Arrays) -> Layout:
    """C (m, n)."""
    return {"c": ((case["m"], case["n"]), "float32")}


LADDER = Ladder(
    __name__,
    make=make,
    reference=reference,
    tolerance=tolerance,
    outputs=outputs,
    cases=(
        Case(m=1, n=1, k=1),
        Case(m=31, n=33, k=32),  # around a tile of 32
        Case(m=32, n=32, k=128),
        Case(m=33, n=31, k=127),  # k around a tile of 128 codes
        Case(m=64, n=63, k=129),
        Case(m=127, n=129, k=12),  # around a tile of 128; whole words of 4 codes, a part of a tile
        Case(m=128, n=128, k=32),  # exactly one large tile
        Case(m=132, n=124, k=36),
        Case(m=101, n=211, k=53),  # primes
        Case(m=400, n=4, k=4),  # tall
        Case(m=3, n=520, k=5),  # wide
        Case(m=257, n=388, k=20),  # 3 x 4 large tiles, the last ones ragged
        Case(m=5, n=8, k=1000),  # almost a dot product
        Case(m=256, n=256, k=256),
    ),
    checked=(Case(m=101, n=211, k=53), Case(m=257, n=388, k=20)),
    timed_case=Case(m=4096, n=4096, k=4096),
    axes={"a": ("m", "k"), "b": ("n", "k"), "scale_a": ("m",), "scale_b": ("n",), "bias": ("n",)},
    limits={"k": Limit(0, LARGEST_K, "a sum of more products of int8 may leave int32; sum in parts")},
    steps=(
        "s10_dequantise",
        "s20_naive",
        "s30_tiled",
        "s40_dp4a",
        "s50_register_tiled",
        "s60_fused",
    ),
    peak="int8",
)
