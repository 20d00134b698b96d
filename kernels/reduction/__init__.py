"""total = sum of x in float32 or int32, from a tree that diverges to a sum with the same bits in every run."""

from __future__ import annotations

import numpy as np

from kernels.case import Arrays, Case, Layout
from kernels.ladder import Ladder

LARGEST_INTEGER = 8  # sums of |x| stay below 2**24, exact in float32 in any order, up to n = 2**21
LARGEST_INT32 = 2**31 - 1
LARGEST_EXACT = 2**24  # up to here float32 holds every whole number
BOUND_FACTOR = 4  # any order of additions needs less than half of it
UNIT_ROUNDOFF = 2.0**-24  # of float32

KINDS = {"normal": "normal", "integers": "integer-valued", "int32": "int32"}


def make(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """x (n): standard normal float32, whole float32 in [-8, 8], or int32 so small that no sum of some of them wraps.

    A wider sum of int32 is still defined: it wraps modulo 2**32, as NumPy's sum with dtype int32 does. Addition modulo
    2**32 may be regrouped at will, so every order gives the same wrapped total. Sums of float32 may not.
    """
    n = case["n"]
    if kind == "normal":
        return {"x": rng.standard_normal(n, dtype=np.float32)}
    if kind == "integers":
        return {"x": rng.integers(-LARGEST_INTEGER, LARGEST_INTEGER, size=n, endpoint=True).astype(np.float32)}
    if kind == "int32":
        limit = LARGEST_INT32 // max(n, 1)
        return {"x": rng.integers(-limit, limit, size=n, endpoint=True, dtype=np.int32)}
    raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")


def reference(inputs: Arrays) -> Arrays:
    """total (1): float64 for float32, exact int64 for int32."""
    wide = np.int64 if inputs["x"].dtype.kind == "i" else np.float64
    return {"total": inputs["x"].sum(dtype=wide, keepdims=True)}


def tolerance(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
    """Largest |total - reference|: 0 for int32, and for whole floats whose sums are exact in any order.

    Otherwise 4 sqrt(n) u ||x||, with u = 2**-24 and the Euclidean norm of x. Adding n values in any order, of a tree or
    of atomics, rounds n - 1 partial sums S by at most u |S| each (Higham, Accuracy and Stability of Numerical Algorithms,
    section 4.2). Errors are as often up as down, so together they grow like u sqrt(sum of S^2) (Higham and Mary, A New
    Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019), and partial sums of independent
    values with mean 0 stay near ||x|| in any order that does not look at the values (Kolmogorov's inequality).
    """
    x = inputs["x"]
    if x.dtype.kind == "i":
        return {"total": 0.0}
    wide = x.astype(np.float64)
    if np.array_equal(wide, np.rint(wide)) and np.abs(wide).sum() <= LARGEST_EXACT:
        return {"total": 0.0}
    return {"total": BOUND_FACTOR * np.sqrt(case["n"]) * UNIT_ROUNDOFF * np.linalg.norm(wide)}


def outputs(case: Case, inputs: Arrays) -> Layout:
    """total (1), of the dtype of x."""
    return {"total": ((1,), inputs["x"].dtype.name)}


LADDER = Ladder(
    __name__,
    make=make,
    reference=reference,
    tolerance=tolerance,
    outputs=outputs,
    cases=(
        Case(n=1),
        Case(n=2),
        Case(n=3),
        Case(n=31),  # around a warp
        Case(n=33),
        Case(n=63),
        Case(n=255),  # around a block of 256 threads
        Case(n=256),
        Case(n=257),
        Case(n=511),  # around two values per thread
        Case(n=512),
        Case(n=513),
        Case(n=1009),  # a prime
        Case(n=8191),  # around 32 values per thread
        Case(n=8192),
        Case(n=8193),
        Case(n=40009),  # a prime, several blocks of every step
        Case(n=65537),  # one value more than two levels of 256 hold
        Case(n=65536),
    ),
    checked=(Case(n=40009),),
    timed_case=Case(n=2**24),
    axes={"x": ("n",)},
    kinds=KINDS,
    steps=(
        "s10_interleaved",
        "s20_strided_index",
        "s30_sequential",
        "s40_first_add",
        "s50_shuffle_tail",
        "s60_shuffle",
        "s70_many_per_thread",
        "s80_vectorised",
        "s90_two_pass",
    ),
)
