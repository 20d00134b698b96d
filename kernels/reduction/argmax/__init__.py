"""index of the largest value of x, as NumPy's argmax says it: the lowest among equals, and the first NaN before all."""

from __future__ import annotations

import numpy as np

from kernels.case import Arrays, Case, Layout
from kernels.ladder import Ladder
from kernels.shapes import Limit

LARGEST_INTEGER = 8  # few different values, so that the largest stands in many places
KINDS = {
    "normal": "normal",
    "integers": "integer-valued",
    "zeros": "zero or negative",
    "infinite": "partly infinite",
    "nan": "partly NaN",
}


def make(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
    """x (n), float32: standard normal; whole numbers in [-8, 8]; -inf with negative zeros in the first half and positive ones
    in the second, which are equals; infinities of both signs, some of them NaN of either sign for kind="nan"."""
    n = case["n"]
    if kind == "normal":
        return {"x": rng.standard_normal(n, dtype=np.float32)}
    if kind == "integers":
        return {"x": rng.integers(-LARGEST_INTEGER, LARGEST_INTEGER, size=n, endpoint=True).astype(np.float32)}
    if kind == "zeros":
        zeros = np.where(np.arange(n) < n // 2, np.float32(-0.0), np.float32(0.0))
        return {"x": np.where(rng.random(n) < 0.5, zeros, np.float32(-np.inf))}
    if kind in ("infinite", "nan"):
        x = rng.choice([-np.inf, 1.0, np.inf], size=n).astype(np.float32)
        if kind == "nan":
            x[rng.integers(n, size=1 + n // 8)] = np.nan
            x[rng.integers(n, size=1 + n // 8)] = -np.float32(np.nan)
        return {"x": x}
    raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")


def reference(inputs: Arrays) -> Arrays:
    """index (1), int64."""
    return {"index": np.array([np.argmax(inputs["x"])], dtype=np.int64)}


def tolerance(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
    """None: there is one right answer."""
    return {"index": 0.0}


def outputs(case: Case, inputs: Arrays) -> Layout:
    """index (1), int64 as NumPy's; within the kernels, indices are int32."""
    return {"index": ((1,), "int64")}


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
        Case(n=1009),  # a prime
        Case(n=8191),  # around 32 values per thread
        Case(n=8192),
        Case(n=8193),
        Case(n=40009),  # a prime, several blocks
        Case(n=65536),
    ),
    checked=(Case(n=40009),),
    timed_case=Case(n=2**24),
    axes={"x": ("n",)},
    limits={"n": Limit(1, 2**31 - 1, "of none, there is no largest, and places are int32")},
    kinds=KINDS,
    steps=(
        "s10_shared_tree",
        "s20_shuffle",
        "s30_packed_atomic",
    ),
)
