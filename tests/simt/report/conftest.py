"""Launches to report on: kernels small enough to count by hand, and profiles made up for the rules about shapes."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, float64
from numba.cuda.core import config

import simt
from simt.model import load, retime
from simt.observe import names
from simt.observe.profile import LaunchProfile
from simt.report.subject import Subject
from tests.simt.report.places import place_of

ROUNDS = 64


@cuda.jit
def column(a, out):
    x = cuda.grid(1)
    out[x] = a[x, 0]


@cuda.jit
def copy(a, out):
    x = cuda.grid(1)
    out[x] = a[x]


@cuda.jit
def crossed(out):
    tile = cuda.shared.array((32, 32), float32)
    x = cuda.threadIdx.x
    tile[x, 0] = x
    cuda.syncthreads()
    out[x] = tile[31 - x, 0]


@cuda.jit
def padded(out):
    tile = cuda.shared.array((32, 33), float32)
    x = cuda.threadIdx.x
    tile[x, 0] = x
    cuda.syncthreads()
    out[x] = tile[31 - x, 0]


@cuda.jit
def first_lanes(out, lanes):
    x = cuda.threadIdx.x
    total = float32(x)
    if x < lanes:
        for _ in range(ROUNDS):
            total = total * total + float32(0.5)
    out[x] = total


@cuda.jit
def wide_sum(a, out):
    total = 0.0
    for i in range(ROUNDS):
        total += a[i]
    out[cuda.grid(1)] = total


@cuda.jit
def narrow_sum(a, out):
    total = float32(0)
    for i in range(ROUNDS):
        total += a[i]
    out[cuda.grid(1)] = total


@cuda.jit
def double_sum(a, out):
    total = float64(0)
    for i in range(ROUNDS):
        total += a[i]
    out[cuda.grid(1)] = total


@cuda.jit
def local(a, out):
    kept = cuda.local.array(16, float32)
    x = cuda.grid(1)
    for i in range(16):
        kept[i] = a[i]
    out[x] = kept[a[x] % 16]


@cuda.jit
def count_at(places, totals):
    cuda.atomic.add(totals, places[cuda.grid(1)], 1)


@cuda.jit
def x_takes_rows(a, out):
    row, col = cuda.grid(2)
    out[row, col] = a[row, col]


@cuda.jit
def copy_2d(a, out):
    col, row = cuda.grid(2)
    out[row, col] = a[row, col]


@cuda.jit
def transposed(a, out):
    col, row = cuda.grid(2)
    out[col, row] = a[row, col]


@cuda.jit
def gather(a, index, out):
    x = cuda.grid(1)
    out[x] = a[index[x]]


@cuda.jit
def shifted(a, out):
    x = cuda.grid(1)
    out[x] = a[x + 1]


@cuda.jit
def lengths(a, out):
    x = cuda.grid(1)
    out[x] = a[x, 0] * a[x, 0] + a[x, 1] * a[x, 1] + a[x, 2] * a[x, 2]


@cuda.jit
def first_fields(records, out):
    i = cuda.grid(1)
    out[i] = records[i].x


@cuda.jit
def row_sums(a, out):
    x = cuda.grid(1)
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[x, i]
    out[x] = total


@cuda.jit
def plain_matmul(a, b, c):
    col, row = cuda.grid(2)
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total


@cuda.jit
def eight_each(out):
    tile = cuda.shared.array(256, float32)
    x = cuda.threadIdx.x
    for i in range(8):
        tile[8 * x + i] = x
    cuda.syncthreads()
    for i in range(8):
        out[32 * i + x] = tile[32 * i + x]


@cuda.jit(max_registers=24, lineinfo=True)
def crowded(a, out):
    x = cuda.grid(1)
    kept = cuda.local.array(24, float32)
    for i in range(24):
        kept[i] = a[x + i]
    for i in range(24):
        for j in range(3):
            kept[i] += kept[j] * kept[i]
    for i in range(24):
        out[x + i] = kept[i]


KERNELS = {name: value for name, value in globals().items() if hasattr(value, "py_func")}


@pytest.fixture(autouse=True)
def on_the_emulated_device(emulated: None) -> None:
    """All tests of this folder are."""


@pytest.fixture(scope="module", autouse=True)
def small_grids():
    """Are on purpose, and numba need not warn of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", 0)
        yield


class Launched:
    """A kernel's launch, and the numbers of its lines."""

    def __init__(self, subject: Subject, kernel) -> None:
        self.subject, self.profile = subject, subject.profile
        self.kernel = kernel

    def line(self, text: str) -> int:
        """The line of the kernel that holds this text."""
        return place_of(self.kernel, text)[1]


@pytest.fixture(scope="session")
def launched():
    """launched(name, grid, block, *arrays, sample=…, key=…) -> Launched.

    Each launch is made once: ``key`` tells those apart that differ in their arrays only.
    """
    made = {}

    def launch(name, grid, block, *arguments, sample="all", key=""):
        # An H100 in any environment: the numbers of the tests are worked out for it.
        place = name, grid, block, sample, key
        if place not in made:
            arguments = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]
            with simt.profile(sample=sample) as profile:
                KERNELS[name][grid, block](*arguments)
            made[place] = Launched(Subject(retime(profile.launches[0], load("h100")), load("h100")), KERNELS[name])
        return made[place]

    return launch


@pytest.fixture
def made_up():
    """made_up(grid, threads, …) -> Subject of a launch that never ran; by default it keeps the fp32 pipe busy."""

    def make(blocks=132 * 8, threads=256, registers=32, shared=0, counters=None, device="h100", lines=None, **fields):
        busy = {names.INSTRUCTIONS: 10**9, names.THREAD_INSTRUCTIONS: 32 * 10**9, names.instructions("fp32"): 10**9}
        profile = LaunchProfile(
            kernel="_ZN8__main__4tileB2v1E", grid=(blocks, 1, 1), block=(threads, 1, 1), threads_per_block=threads,
            dynamic_shared_bytes=0, static_shared_bytes=shared, registers=registers, local_bytes=0, spill_bytes=0,
            counters=dict.fromkeys(names.COUNTERS, 0) | (busy if counters is None else counters), sampled=False,
            blocks_counted=blocks, blocks_total=blocks, lines=lines or {}, device=device)
        profile = retime(profile, load(device))
        for name, value in fields.items():
            setattr(profile, name, value)
        return Subject(profile, load(device))

    return make
