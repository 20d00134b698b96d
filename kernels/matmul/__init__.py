"""C = A @ B in float32, from one thread per result to double-buffered warp tiles."""

from __future__ import annotations

import numpy as np

from kernels.case import Arrays, Case, Layout
from kernels.ladder import Ladder

LARGEST_INTEGER = 8  # products up to 64, so that sums stay below 2**24, exact in float32, up to k = 262144
BOUND_FACTOR = 4  # correct float32 code needs about 1.2 of it up to k = 4096
UNIT_ROUNDOFF = 2.0**-24  # of float32


def make(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """A (m, k) and B (k, n), float32: standard normal, or whole numbers in [-8, 8] for kind="integers"."""
    m, n, k = case["m"], case["n"], case["k"]
    if kind == "normal":
        return {
            "a": rng.standard_normal((m, k), dtype=np.float32),
            "b": rng.standard_normal((k, n), dtype=np.float32),
        }
    if kind == "integers":
        limits = {"low": -LARGEST_INTEGER, "high": LARGEST_INTEGER, "endpoint": True}
        return {
            "a": rng.integers(**limits, size=(m, k)).astype(np.float32),
            "b": rng.integers(**limits, size=(k, n)).astype(np.float32),
        }
    raise ValueError(f"kind must be 'normal' or 'integers', not {kind!r}")


def reference(inputs: Arrays) -> Arrays:
    """C (m, n) in float64."""
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}


def tolerance(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
    """Largest |c - reference| per cell: 0 on whole numbers, whose sums float32 holds exactly in any order.

    Otherwise 4 sqrt(k) u (|A| |B|) with u = 2**-24: errors of k roundings, as often up as down, grow like sqrt(k)
    (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019).
    """
    if all(np.array_equal(array, np.rint(array)) for array in inputs.values()):
        return {"c": 0.0}
    magnitude = np.abs(inputs["a"]).astype(np.float64) @ np.abs(inputs["b"]).astype(np.float64)
    return {"c": BOUND_FACTOR * np.sqrt(case["k"]) * UNIT_ROUNDOFF * magnitude}


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
        Case(m=64, n=63, k=65),  # around a tile of 64
        Case(m=127, n=129, k=9),  # around tiles of 128 and 8
        Case(m=128, n=128, k=8),  # exactly one large tile
        Case(m=132, n=124, k=12),  # ragged, yet rows of whole 16-byte groups
        Case(m=101, n=211, k=53),  # primes
        Case(m=400, n=4, k=4),  # tall
        Case(m=3, n=520, k=5),  # wide
        Case(m=260, n=388, k=20),  # 3 x 4 large tiles, the last ones ragged
        Case(m=5, n=8, k=1000),  # almost a dot product
        Case(m=256, n=256, k=256),
    ),
    checked=(Case(m=101, n=211, k=53), Case(m=260, n=388, k=20)),
    timed_case=Case(m=4096, n=4096, k=4096),
    axes={"a": ("m", "k"), "b": ("k", "n")},
    steps=(
        "s10_naive",
        "s20_coalesced",
        "s30_tiled",
        "s40_register_1d",
        "s50_register_2d",
        "s60_vectorised",
        "s70_bank_free",
        "s80_warp_tile",
        "s90_double_buffer",
    ),
)
