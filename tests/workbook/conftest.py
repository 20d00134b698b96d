"""A target without a device: NumPy memory and profiles that the toy steps make up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kernels
from simt.observe import names
from simt.observe.profile import LaunchProfile
from workbook import timing

kernels.__path__.append(str(Path(__file__).parent / "ladders"))  # the toy ladder imports as kernels.toy


class FakeTarget:
    kind = "modelled"
    key = "h100"
    title = "modelled on a toy; the model's error is not validated yet"
    device = None
    lost = None

    def __init__(self):
        self.stream = []

    def upload(self, array):
        return array.copy()

    def download(self, buffer):
        return buffer.copy()

    def empty(self, shape, dtype):
        return np.empty(shape, dtype)

    def synchronize(self):
        if self.lost is not None:
            raise self.lost

    def time(self, run):
        self.stream.clear()
        run()
        launches = tuple(profile(**launch) for launch in self.stream)
        return timing.Timing("modelled", sum(launch.time_ns for launch in launches), launches=launches)

    def roof_gflops(self, flops, minimum_bytes, dtype):
        return min(60_000.0, 3_000.0 * flops / minimum_bytes)

    def occupancy_percent(self, launch):
        return 100.0 * 32 / launch.registers


def profile(time_ns, sectors, registers):
    counters = {
        names.INSTRUCTIONS: 1000,
        names.GLOBAL_REQUESTS_LD: 100,
        names.GLOBAL_SECTORS_LD: sectors,
        names.GLOBAL_REQUESTS_ST: 10,
        names.GLOBAL_SECTORS_ST: 40,
        names.SHARED_CONFLICTS_LD: registers * 100,
    }
    return LaunchProfile(
        kernel="toy",
        grid=(1, 1, 1),
        block=(32, 1, 1),
        threads_per_block=32,
        dynamic_shared_bytes=0,
        static_shared_bytes=0,
        registers=registers,
        local_bytes=0,
        spill_bytes=0,
        counters=counters,
        sampled=True,
        blocks_counted=1,
        blocks_total=1,
        device="h100",
        time_ns=time_ns,
        terms={"lsu": time_ns, "fma": time_ns / 2},
        bound_by="lsu",
    )


@pytest.fixture
def target():
    return FakeTarget()


@pytest.fixture
def toy():
    from kernels.toy import LADDER

    return LADDER


@pytest.fixture
def step_that():
    """Makes a step of the toy ladder from a function of its buffers."""

    def make(run, scratch=None):
        return SimpleNamespace(
            id="toy/mine",
            path=Path(__file__),
            scratch=lambda case: scratch or {},
            run=lambda buffers, stream: run(**buffers),
        )

    return make


@pytest.fixture
def replace_run(toy, monkeypatch):
    """Gives a step of the toy ladder another run, for this test."""
    return lambda name, run: monkeypatch.setattr(toy.step(name).module, "run", run)
