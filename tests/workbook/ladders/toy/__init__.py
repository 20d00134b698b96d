"""A matmul ladder in plain Python: steps run on NumPy arrays and append made-up figures to the stream, a list."""

import numpy as np

from kernels.case import Case
from kernels.ladder import Ladder


def make(case, rng, kind="normal"):
    shapes = {"a": (case["m"], case["k"]), "b": (case["k"], case["n"])}
    if kind == "integers":
        return {name: rng.integers(-8, 9, size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def reference(inputs):
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}


def tolerance(case, inputs):
    if all(np.array_equal(array, np.rint(array)) for array in inputs.values()):
        return {"c": 0.0}
    size = np.abs(inputs["a"]).astype(np.float64) @ np.abs(inputs["b"]).astype(np.float64)
    return {"c": 4 * np.sqrt(case["k"]) * 2.0**-24 * size}


def outputs(case, inputs):
    return {"c": ((case["m"], case["n"]), "float32")}


LADDER = Ladder(
    __name__,
    make=make,
    reference=reference,
    tolerance=tolerance,
    outputs=outputs,
    cases=(Case(m=2, n=3, k=1), Case(m=33, n=17, k=21), Case(m=32, n=32, k=32)),
    timed_case=Case(m=64, n=64, k=64),
    steps=("s10_slow", "s20_fast", "s30_wide"),
)
