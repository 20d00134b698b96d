"""A target without a device: NumPy memory and profiles that the toy steps make up; and one that passes for a real GPU."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kernels
from simt.driver import probe
from simt.observe import names
from simt.observe.profile import LaunchProfile
from workbook import timing
from workbook.doctor.machine import Machine

# What workbook.doctor.trial tells where all is well.
TRIAL = {
    "backend": "emulated",
    "cuda_file": "site/numba_cuda/numba/cuda/__init__.py",
    "provider": "NVIDIA",
    "toolkit": {"nvvm": ["site-packages", "site/nvidia/cu13/lib/libnvvm.so.4"]},
    "ptx_version": "9.5",
    "compiler_version": "13.5.37",
    "first_s": 1.25,
    "again_s": 0.0004,
    "cells": 1024,
    "wrong_cells": 0,
    "mapped": ["/memfd:libcuda.so.1 (deleted)"],
}

kernels.__path__.append(str(Path(__file__).parent / "ladders"))  # the toy ladder imports as kernels.toy


class FakeTarget:
    kind = "modelled"
    key = "h100"
    title = "modelled on a toy; the model's error is not validated yet"
    device = None
    lost = None

    def __init__(self):
        self.stream = []
        self.orders = []

    def upload(self, array):
        return array.copy()

    def download(self, buffer):
        return buffer.copy()

    def empty(self, shape, dtype):
        return np.empty(shape, dtype)

    def order(self, schedule):
        self.orders.append(schedule)
        return contextlib.nullcontext()

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
            scratch=lambda case, inputs: scratch or {},
            run=lambda buffers, stream: run(**buffers),
        )

    return make


@pytest.fixture
def replace_run(toy, monkeypatch):
    """Gives a step of the toy ladder another run, for this test."""
    return lambda name, run: monkeypatch.setattr(toy.step(name).module, "run", run)


class Buffer(np.ndarray):
    """An array with the one method of a device array that flushing needs."""

    def copy_to_device(self, other):
        self[...] = other


class FakeGpu:
    """The part of numba.cuda that measuring uses; every event is one millisecond after the last."""

    def __init__(self):
        self.now_ms, self.copies = 0.0, 0
        self.runtime = SimpleNamespace(get_version=lambda: (13, 0))

    def get_current_device(self):
        return SimpleNamespace(L2_CACHE_SIZE=4096, uuid="GPU-0")

    def event(self):
        moment = SimpleNamespace(at=None, synchronize=lambda: None)

        def record():
            self.now_ms += 1.0
            moment.at = self.now_ms

        moment.record = record
        return moment

    def event_elapsed_time(self, start, end):
        return end.at - start.at


@pytest.fixture
def gpu(target, monkeypatch):
    """The target without a device as a real GPU."""
    target.kind, target.key, target.gpu, target.cuda = "measured", "nvidia-toy", "NVIDIA Toy", FakeGpu()
    target.empty = lambda shape, dtype: np.empty(shape, dtype).view(Buffer)
    monkeypatch.setattr("workbook.records.environment.shutil.which", lambda name: None)
    return target


@pytest.fixture
def machine(tmp_path):
    """Makes a machine for the doctor on which all is well, but for what the test says."""

    def make(*, driver=probe.NO_GPU, smi=(), ldconfig="", trial=None, **fields):
        made = Machine(**{"environ": {}, "here": tmp_path, **fields})
        made.driver, made.smi, made.ldconfig = driver, list(smi), ldconfig
        made.trial = {**TRIAL, **(trial or {})}
        return made

    return make
