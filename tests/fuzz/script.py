"""A program as one file that compiles the kernel, runs it through the CUDA API, and compares with the oracle."""
from __future__ import annotations

import numpy as np

from tests.fuzz.runner import inputs_of
from tests.fuzz.source import ARRAYS, CONSTANTS, SHARED_ELEMENTS, kernel_source, oracle_source
from tests.fuzz.tree import Program

TEMPLATE = '''"""Fuzz program {seed}{about}

From the root of the repository: PYTHONPATH=. python THIS_FILE
"""
import math

import numpy as np

import simt

simt.enable("force")

from numba import cuda, float32 as f32, float64 as f64, int32 as i32, int64 as i64, uint32 as u32, uint64 as u64

from tests.fuzz import oracle
from tests.fuzz.runner import as_python

FULL = 0xFFFFFFFF
CONSTANTS = np.array({constants}, np.int32)
GRID, BLOCK = {grid}, {block}
INPUTS = {{
{inputs}}}
RESULTS = {results}


@cuda.jit
{kernel}

ORACLE = """
{oracle}"""

device = {{name: cuda.to_device(value) if isinstance(value, np.ndarray) else value for name, value in INPUTS.items()}}
kernel[GRID, BLOCK](*device.values())

names = {{**oracle.NAMES, "CONSTANTS": CONSTANTS.tolist()}}
exec(ORACLE, names)
values = {{name: as_python(value) for name, value in INPUTS.items()}}
oracle.run(names["thread"], GRID, BLOCK, values, lambda: {{"sh": [None] * {shared}, "pv": [None] * {shared}}})

for name in RESULTS:
    got, want = device[name].copy_to_host(), np.array(values[name], INPUTS[name].dtype)
    wrong = np.flatnonzero(~((got == want) | ((got != got) & (want != want))))
    print(name, "agrees" if not len(wrong) else f"differs at {{wrong.tolist()}}: {{got[wrong]}} instead of {{want[wrong]}}")
'''


def script(program: Program, about: str = "") -> str:
    """``about``: what is wrong with it."""
    inputs = inputs_of(program)
    return TEMPLATE.format(
        seed=program.seed, about=": " + about if about else "", constants=CONSTANTS.tolist(), grid=program.grid,
        block=program.block, inputs="".join(f"    {name!r}: {literal(value)},\n" for name, value in inputs.items()),
        results=[name for name in inputs if name in ARRAYS and ARRAYS[name].result],
        kernel=kernel_source(program).rstrip() + "\n", oracle=oracle_source(program), shared=SHARED_ELEMENTS)


def literal(value: np.ndarray | int) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    if (value == value.flat[0]).all():
        return f"np.full({value.shape}, {value.flat[0].item()!r}, np.{value.dtype})"
    return f"np.array({value.tolist()}, np.{value.dtype})"
