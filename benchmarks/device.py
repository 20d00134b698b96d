"""What the emulated device costs besides its kernels' work: launches, compiling, checks, observers; a second thread's gain."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
from numba import cuda, float32

import simt
from benchmarks.pairs import measure, timed
from kernels.ladder import Case
from kernels.matmul import LADDER
from simt.driver import launch_calls
from simt.driver.session import current
from simt.jit.memory import MemoryEmitter
from simt.runtime.program import Program

LAUNCHES = 1000
SIZE = 512                  # of the matmul whose checks are taken away
SIZE_FOR_THREADS = 1024
SIZE_FOR_RACES = 256
BLOCK = (256, 1, 1)


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """bar: the most (or, where ``least``, the least) that the project allows itself; None where it only reports."""

    name: str
    value: float
    unit: str
    bar: float | None = None
    least: bool = False

    @property
    def kept(self) -> bool:
        return self.bar is None or (self.value >= self.bar if self.least else self.value <= self.bar)


@cuda.jit
def nothing():
    pass


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    total = x[i] if i < x.size else float32(0)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, total)


def tiled(size: int) -> Callable[[], None]:
    """One launch of the matmul ladder's tiled step."""
    step = next(s for s in LADDER if s.name == "tiled")
    inputs = LADDER.make(Case(m=size, n=size, k=size), np.random.default_rng(1))
    buffers = {"c": cuda.device_array((size, size), np.float32)} | {n: cuda.to_device(a) for n, a in inputs.items()}

    def run() -> None:
        step.run(buffers, cuda.default_stream())
        cuda.synchronize()

    return run


def launch_us(launch: Callable[[], None], runs: int) -> tuple[float, float]:
    """(median over the runs of the mean of LAUNCHES launches, the same where the driver returns at once), microseconds."""
    def many() -> None:
        for _ in range(LAUNCHES):
            launch()

    def without() -> None:
        with mock.patch.object(launch_calls, "_launch", lambda *_: None):
            many()

    pair = measure(many, without, runs)
    return tuple(statistics.median(times) / LAUNCHES * 1e6 for times in (pair.ours_s, pair.theirs_s))


def launches(runs: int) -> Iterator[Figure]:
    arrays = [cuda.to_device(np.ones(32, np.float32)) for _ in range(3)]
    for name, kernel, arguments, bar in (("no arguments", nothing, (), 40), ("three device arrays", add, arrays, 90)):
        prepared = kernel[1, 32]
        whole, rest = launch_us(functools.partial(prepared, *arguments), runs)
        yield Figure(f"launch, {name}", whole, "us", bar)
        yield Figure("  of it Numba and its bindings", rest, "us")


def compilations(runs: int) -> Iterator[Figure]:
    """From PTX to a kernel that can run, with an empty cache and with a full one."""
    x, out = cuda.to_device(np.ones(256, np.float32)), cuda.to_device(np.zeros(1, np.float32))
    axpy[1, BLOCK](float32(2), x, x)
    warp_sum[1, BLOCK](x, out)
    for kernel in (axpy, warp_sum):
        ptx = next(iter(kernel.inspect_asm().values()))
        first, again = [], []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, SIMT_CACHE_DIR=folder):
                first.append(timed(functools.partial(load, ptx)))
                again.append(timed(functools.partial(load, ptx)))
        yield Figure(f"compile {kernel.py_func.__name__}", statistics.median(first) * 1e3, "ms", 100)
        yield Figure("  again, from disk", statistics.median(again) * 1e3, "ms", 10)


def load(ptx: str) -> None:
    program = Program(ptx, current().memory, current().device.compute_capability)
    program.machine(next(iter(program.kernels)), BLOCK)


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Kernels compiled here believe every address."""
    with mock.patch.object(MemoryEmitter, "check", lambda *_: "true"), mock.patch.dict(os.environ, SIMT_CACHE="off"):
        yield


def checks(runs: int) -> Iterator[Figure]:
    """Two builds of one program, swapped between the runs."""
    run = tiled(SIZE)
    made: list[Program] = []
    keep = Program.__init__

    def note(program: Program, *arguments: object) -> None:
        keep(program, *arguments)
        made.append(program)

    step = next(s for s in LADDER if s.name == "tiled")
    for kernel in step.kernels.values():
        kernel.overloads.clear()
    with mock.patch.object(Program, "__init__", note):
        run()
    program = made[-1]
    checked = dict(program._machines)
    program._machines.clear()
    program.quick.clear()
    with unchecked():
        run()
    believing = dict(program._machines)

    def use(machines: dict) -> Callable[[], None]:
        def go() -> None:
            program._machines.update(machines)
            program.quick.clear()
            run()
        return go

    pair = measure(use(checked), use(believing), runs)
    yield Figure(f"bounds checks, tiled {SIZE}^3", pair.ratio, "x", 1.5)


def threads(runs: int) -> Iterator[Figure]:
    run = tiled(SIZE_FOR_THREADS)

    def on(count: int) -> Callable[[], None]:
        def go() -> None:
            with mock.patch.dict(os.environ, SIMT_THREADS=str(count)):
                run()
        return go

    gain = measure(on(1), on(2), runs).ratio
    yield Figure(f"two threads against one, tiled {SIZE_FOR_THREADS}^3", gain, "x", 1.7, least=True)


def observers(runs: int) -> Iterator[Figure]:
    """Counting and checking, against the plain run; all on one thread."""
    for name, size, bar, settings in (
            ("counting sampled blocks", SIZE, 1.6, {}), ("counting all blocks", SIZE, 6, {"sample": "all"}),
            ("looking for races", SIZE_FOR_RACES, 12, {"check": "race", "sample": "none"})):
        run = tiled(size)

        def watched(run=run, settings=settings) -> None:
            with simt.profile(**settings):
                run()

        with mock.patch.dict(os.environ, SIMT_THREADS="1"):
            yield Figure(f"{name}, tiled {size}^3", measure(watched, run, runs).ratio, "x", bar)


def figures(runs: int) -> Iterator[Figure]:
    for part in (launches, compilations, checks, threads, observers):
        yield from part(runs)
