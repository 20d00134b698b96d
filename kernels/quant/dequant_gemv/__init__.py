"""y = x @ W.T for one to eight rows of x: a decoder's linear layer, with weights of 4 bits and a scale for each group of 128.

The inputs hold the same weights twice: as int8 codes in [-8, 7], and packed, two codes to a byte (kernels/quant/formats.py).
Both mean code * scale of the group, so that one reference holds for all steps. The roofline counts the packed ones only.
"""

from __future__ import annotations

import numpy as np

from kernels.case import Arrays, Case, Layout, ceil_div
from kernels.ladder import Ladder
from kernels.quant.dequant_gemv.weights import GROUP
from kernels.quant.formats import dequantise_reference, pack_int4
from kernels.shapes import Limit

LARGEST_BATCH = 8
BOUND_FACTOR = 4
UNIT_ROUNDOFF = 2.0**-24  # of float32
EXACT = 2.0**24  # float32 holds every whole number up to here


def make(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """x (b, k) float32, codes (n, k) int8 in [-8, 7], packed (n, ceil(k/2)) uint8, scales (n, ceil(k/128)) float32.

    "normal": normal x, scales between 0.001 and 0.02. "integers": whole x in [-8, 8], scales 0, 1, 2, 3 or 4: every sum is
    exact in float32 up to k = 65536.
    """
    b, n, k = case["b"], case["n"], case["k"]
    groups = ceil_div(k, GROUP)
    if kind == "normal":
        x = rng.standard_normal((b, k), dtype=np.float32)
        scales = rng.uniform(0.001, 0.02, (n, groups)).astype(np.float32)
    elif kind == "integers":
        x = rng.integers(-8, 8, (b, k), endpoint=True).astype(np.float32)
        scales = rng.integers(0, 4, (n, groups), endpoint=True).astype(np.float32)
    else:
        raise ValueError(f"kind must be 'normal' or 'integers', not {kind!r}")
    codes = rng.integers(-8, 7, (n, k), dtype=np.int8, endpoint=True)
    return {"x": x, "codes": codes, "packed": pack_int4(codes), "scales": scales}


def weights(inputs: Arrays) -> np.ndarray:
    """W (n, k) in float64, exact: a code times a float32."""
    return dequantise_reference(inputs["codes"].astype(np.float64), inputs["scales"].astype(np.float64), GROUP)


def reference(inputs: Arrays) -> Arrays:
    """y (b, n) in float64."""
    return {"y": inputs["x"].astype(np.float64) @ weights(inputs).T}


def tolerance(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
    """Largest |y - reference| per cell.

    0 where x and the weights are whole and no partial sum can pass 2**24. Otherwise 4 (sqrt(k) + 1) u (|x| |W|) with
    u = 2**-24: k roundings, as often up as down (Higham and Mary, A New Approach to Probabilistic Rounding Error
    Analysis, SIAM J. Sci. Comput. 41, 2019).
    """
    magnitude = np.abs(inputs["x"].astype(np.float64)) @ np.abs(weights(inputs)).T
    whole = all(np.array_equal(inputs[name], np.rint(inputs[name])) for name in ("x", "scales"))
    bound = BOUND_FACTOR * (np.sqrt(case["k"]) + 1) * UNIT_ROUNDOFF * magnitude
    return {"y": np.where(whole & (magnitude < EXACT), 0.0, bound)}


def outputs(case: Case, inputs: Arrays) -> Layout:
    """y (b, n)."""
    return {"y": ((case["b"], case["n"]), "float32")}


LADDER = Ladder(
    __name__,
    make=make,
    reference=reference,
    tolerance=tolerance,
    outputs=outputs,
    cases=(
        Case(b=1, n=1, k=1),
        Case(b=1, n=127, k=31),  # around a block of 128 rows and 32 codes
        Case(b=2, n=128, k=32),
        Case(b=3, n=129, k=127),  # k around a group
        Case(b=8, n=4, k=128),
        Case(b=1, n=8, k=1024),  # exactly a block of rows for warps, of what a warp loads at once
        Case(b=1, n=5, k=129),  # a last group of one weight
        Case(b=5, n=101, k=211),  # primes
        Case(b=7, n=3, k=1023),  # around the 1024 codes that a warp loads at once
        Case(b=1, n=33, k=1056),
        Case(b=4, n=515, k=160),  # 5 blocks of rows, the last one ragged; a last group of 32
        Case(b=2, n=384, k=2048),
    ),
    checked=(Case(b=5, n=101, k=211), Case(b=4, n=515, k=160)),
    timed_case=Case(b=1, n=14336, k=4096),
    axes={"x": ("b", "k"), "codes": ("n", "k"), "packed": ("n", "k/2"), "scales": ("n", f"k/{GROUP}")},
    limits={"b": Limit(0, LARGEST_BATCH, "a larger batch is a matrix product")},
    steps=(
        "s10_dequantise",
        "s20_fused_int8",
        "s30_int4",
        "s40_warp_per_row",
        "s50_vectorised",
        "s60_four_rows",
    ),
    repeated=("codes",),
)
