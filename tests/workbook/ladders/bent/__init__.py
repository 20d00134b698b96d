"""Doubling a matrix with real kernels, each of them wrong or broken in its own way except the first."""

import numpy as np

from kernels.case import Case
from kernels.ladder import Ladder


def make(case, rng, kind="normal"):
    shape = case["rows"], case["columns"]
    numbers = rng.integers(-8, 9, size=shape) if kind == "integers" else rng.standard_normal(shape)
    return {"a": numbers.astype(np.float32)}


LADDER = Ladder(
    __name__,
    make=make,
    reference=lambda inputs: {"c": 2 * inputs["a"].astype(np.float64)},
    tolerance=lambda case, inputs: {"c": 0.0},  # doubling is exact
    outputs=lambda case, inputs: {"c": ((case["rows"], case["columns"]), "float32")},
    cases=(Case(rows=3, columns=5), Case(rows=40, columns=70)),
    timed_case=Case(rows=64, columns=96),
    steps=("s10_right", "s20_transposed", "s30_unfinished", "s40_unguarded", "s50_untyped"),
)
