"""One fuzz case from end to end: compile with Numba, run on the emulated device, compare with the oracle."""
from __future__ import annotations

import _thread
import contextlib
import dataclasses
import functools
import linecache
import math
import os
import struct
import threading
from collections.abc import Callable, Iterator

import numpy as np

from tests.fuzz import oracle
from tests.fuzz.source import ARRAYS, CONSTANTS, SCALARS, SHARED_ELEMENTS, arguments, kernel_source, oracle_source
from tests.fuzz.tree import Program

HANG_S = 120.0


@dataclasses.dataclass(slots=True)
class Case:
    """Everything a run needs; plain data, so that it can be kept for another process.

    ptx: of the kernel "kernel";  inputs: by argument, in order;  expected: the arrays that the kernel changes
    """

    seed: int
    ptx: str
    grid: tuple[int, int]
    block: tuple[int, int, int]
    inputs: dict[str, np.ndarray | int]
    expected: dict[str, np.ndarray]


def inputs_of(program: Program) -> dict[str, np.ndarray | int]:
    rng = np.random.default_rng(program.seed)
    threads = math.prod(program.block) * math.prod(program.grid)
    made = {"n": program.n, "m": program.m}
    made.update({name: array.fill(rng, threads).astype(array.dtype) for name, array in ARRAYS.items()})
    return {name: made[name] for name in arguments(program)}


# -- the oracle

class Table(dict):
    """A two-dimensional array for the oracle: keys (row, column), from either end."""


def as_python(value: np.ndarray | int) -> object:
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 1:
        return value.tolist()
    rows, columns = value.shape
    return Table({(r, c): int(value[r, c]) for r in range(-rows, rows) for c in range(-columns, columns)})


def expected_results(program: Program, inputs: dict[str, np.ndarray | int]) -> dict[str, np.ndarray]:
    """Raises BadProgram, or what Python raises, for a program without a meaning."""
    names = {**oracle.NAMES, "CONSTANTS": CONSTANTS.tolist()}
    exec(compile(oracle_source(program), f"<oracle of {program.seed}>", "exec"), names)
    values = {name: as_python(value) for name, value in inputs.items()}
    oracle.run(names["thread"], program.grid, program.block, values,
               lambda: {"sh": [None] * SHARED_ELEMENTS, "pv": [None] * SHARED_ELEMENTS})
    return {name: np.array(values[name], ARRAYS[name].dtype) for name in inputs if name in ARRAYS and ARRAYS[name].result}


# -- the kernel

@functools.cache
def numba_names() -> dict[str, object]:
    from numba import cuda, float32, float64, int32, int64, uint32, uint64

    return {
        "cuda": cuda, "i32": int32, "i64": int64, "u32": uint32, "u64": uint64, "f32": float32, "f64": float64, "math": math,
        "FULL": oracle.FULL, "CONSTANTS": CONSTANTS,
    }


def kernel_function(program: Program) -> Callable:
    """The kernel as a Python function whose source tools can find."""
    source, name = kernel_source(program), f"<fuzz program {program.seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = dict(numba_names())
    exec(compile(source, name, "exec"), names)
    return names["kernel"]


class NotCompiled(Exception):
    """Numba's compiler gave up: it is not the emulated device that failed."""


def compiled(program: Program) -> str:
    """PTX of a program. Raises NotCompiled."""
    from cuda.bindings.nvvm import nvvmError
    from numba import cuda, types

    signature = []
    for name in arguments(program):
        if name in SCALARS:
            signature.append(getattr(types, SCALARS[name]))
        else:
            array = ARRAYS[name]
            signature.append(types.Array(getattr(types, array.dtype), array.fill(np.random.default_rng(0), 1).ndim, "C"))
    try:
        ptx, _ = cuda.compile_ptx(kernel_function(program), tuple(signature), cc=(9, 0))
    except nvvmError as error:
        raise NotCompiled(str(error)) from error
    return ptx


def case_of(program: Program) -> Case:
    inputs = inputs_of(program)
    expected = expected_results(program, inputs)
    return Case(program.seed, compiled(program), program.grid, program.block, inputs, expected)


# -- the emulated device

def parameters(program: object, values: list[np.ndarray | int]) -> bytes:
    """The parameter block: a scalar as it is; an array as Numba's descriptor, whose data pointer is the host's."""
    fields: list[int] = []
    for value in values:
        if isinstance(value, np.ndarray):
            fields += [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
        else:
            fields.append(value)
    (spec,) = program.kernels.values()
    block = bytearray(spec.param_bytes)
    for field, place in zip(fields, spec.params, strict=True):
        block[place.offset:place.offset + place.size] = struct.pack("<q", field)[:place.size]
    return bytes(block)


@functools.cache
def device() -> tuple:
    from simt.runtime.launcher import Launcher
    from simt.runtime.memory import Memory

    memory = Memory(1 << 30)
    return memory, Launcher(memory)


def run(case: Case, counted: bool = False) -> dict[str, np.ndarray]:
    """Results on the emulated device; ``counted``: with every counter of a profile."""
    from simt.runtime.program import Program as Loaded
    from simt.runtime.sampling import Sampling

    memory, launcher = device()
    program = Loaded(case.ptx, memory, (9, 0))
    values = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.inputs.items()}
    arrays = [value for value in values.values() if isinstance(value, np.ndarray)]
    for array in arrays:
        memory.register(array.ctypes.data, array.nbytes)
    try:
        launcher.launch(program, next(iter(program.kernels)), (*case.grid, 1), case.block, 0,
                        parameters(program, list(values.values())), sampling=Sampling("all") if counted else None)
    finally:
        for array in arrays:
            memory.unregister(array.ctypes.data)
        program.close()
    return {name: values[name] for name in case.expected}


class Hang(Exception):
    """A run took longer than any program should."""


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Raise Hang in the main thread after so many seconds: the launcher stops its workers on an interrupt."""
    passed = threading.Event()

    def stop() -> None:
        passed.set()
        _thread.interrupt_main()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        if passed.is_set():
            raise Hang(f"no end after {seconds} s") from None
        raise
    finally:
        timer.cancel()


def differences(case: Case, results: dict[str, np.ndarray]) -> str:
    """The first few elements that differ; empty where all agree. Zeros of either sign agree, and any two NaNs."""
    found = []
    for name, want in case.expected.items():
        got = results[name]
        wrong = np.flatnonzero(~((got == want) | ((got != got) & (want != want))))
        if len(wrong):
            some = ", ".join(f"[{at}] {got[at]} instead of {want[at]}" for at in wrong[:4])
            found.append(f"{name}: {len(wrong)} of {len(want)} differ: {some}")
    return "; ".join(found)


def problem(case: Case, counted: bool = False) -> tuple[str, str]:
    """(kind, details) of what is wrong with the emulated device's run of a case; ("", "") where nothing is."""
    try:
        with no_longer_than(HANG_S):
            wrong = differences(case, run(case, counted))
    except Exception as error:
        notes = " ".join(getattr(error, "__notes__", ()))
        return type(error).__name__, f"{error} {notes}".strip()
    return ("mismatch", wrong) if wrong else ("", "")


def worker_threads(count: int | None) -> None:
    if count:
        os.environ["SIMT_THREADS"] = str(count)
