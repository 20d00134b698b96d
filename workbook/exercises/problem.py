"""Makes the problem of an exercise: one formula, inputs in which each cell has a value of its own, bounds for rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernels.case import Arrays, Case, Layout
from kernels.ladder import KINDS, Ladder

UNIT_ROUNDOFF = 2.0**-24  # of float32
BOUND_FACTOR = 4  # as for matmul
EXACT = 2**24  # float32 holds all whole numbers below

BELOW_ZERO = {**KINDS, "negative": "large negative"}
"""For largest cells: zero, or any number that only looks small, is no place to begin."""

LARGE = {("n",): Case(n=100_003), ("rows", "columns"): Case(rows=331, columns=317)}

Shape = tuple[int, ...]
Formula = Callable[..., np.ndarray]


def problem(
    package: str,
    shapes: Callable[[Case], Mapping[str, Shape]],
    formula: Formula,
    cases: Sequence[Case],
    out: Callable[[Case], Shape],
    terms: Callable[[Case], int] = lambda case: 1,
    absolute: Formula | None = None,
    kinds: Mapping[str, str] = KINDS,
) -> Ladder:
    """A ladder without steps: out = formula(**inputs), in float64. All arrays are float32.

    package:  "<track>.<word>";   shapes: those of the inputs, by name;   out: that of the output
    terms:    how many numbers a cell adds up;   absolute: what the rounding errors are relative to; if it is not given, the
              formula of the absolute inputs, which fits products and sums of products
    kinds:    of inputs, what distinct() knows, with what a screen calls them
    """

    def make(case: Case, rng: np.random.Generator, kind: str = "normal") -> Arrays:
        return {name: distinct(shape, rng, kind) for name, shape in shapes(case).items()}

    def reference(inputs: Arrays) -> Arrays:
        return {"out": formula(**_doubles(inputs))}

    def tolerance(case: Case, inputs: Arrays) -> dict[str, np.ndarray | float]:
        if all(np.array_equal(array, np.rint(array)) and np.abs(array).max() < EXACT for array in inputs.values()):
            return {"out": 0.0}
        inputs = _doubles(inputs)
        magnitude = absolute(**inputs) if absolute else formula(**{name: np.abs(array) for name, array in inputs.items()})
        return {"out": BOUND_FACTOR * np.sqrt(terms(case)) * UNIT_ROUNDOFF * magnitude}

    def outputs(case: Case, inputs: Arrays) -> Layout:
        return {"out": (out(case), "float32")}

    return Ladder(package, make, reference, tolerance, outputs, cases, timed_case=cases[-1], steps=(), kinds=kinds)


def distinct(shape: Shape, rng: np.random.Generator, kind: str) -> np.ndarray:
    """float32, no two cells alike: standard normal, or the whole numbers from 1 on in random order for kind="integers".

    kind="negative": from -1e30 down to -2e30; kind="lowest": minus infinity, all of it
    """
    if kind == "lowest":
        return np.full(shape, -np.inf, np.float32)
    if kind == "integers":
        return (rng.permutation(int(np.prod(shape))).reshape(shape) + 1).astype(np.float32)
    if kind == "negative":
        return (-1e30 * (1 + rng.permutation(int(np.prod(shape))).reshape(shape) / np.prod(shape))).astype(np.float32)
    return rng.standard_normal(shape, dtype=np.float32)


def line(case: Case) -> Shape:
    return (case["n"],)


def sheet(case: Case) -> Shape:
    return case["rows"], case["columns"]


def large(small: Case) -> Case | None:
    """A ragged case of about 100 000 cells with the same sizes as a small one, where there is one."""
    return LARGE.get(tuple(small))


def _doubles(inputs: Arrays) -> Arrays:
    return {name: array.astype(np.float64) for name, array in inputs.items()}
