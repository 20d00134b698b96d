"""Measuring for a record: warm, with a cold L2, often enough, and beside the library where there is one."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from workbook.records import measuring, recording


def test_every_sample_comes_after_a_flush_and_after_the_warm_ups(gpu, monkeypatch):
    told = []
    careful = measuring.Careful(gpu)
    monkeypatch.setattr(type(careful._flush), "copy_to_device", lambda self, other: told.append("flush"))
    timing = careful.time(lambda: told.append("run"))
    assert told == ["run"] * measuring.WARM_UPS + ["flush", "run"] * measuring.SAMPLES
    assert len(timing.samples_ns) == measuring.SAMPLES >= 30 and timing.kind == "measured"


def test_the_buffer_that_flushes_is_twice_as_large_as_l2(gpu):
    careful = measuring.Careful(gpu)
    assert careful._flush.nbytes == careful._source.nbytes == 2 * 4096
    gpu.cuda.get_current_device = lambda: SimpleNamespace()
    assert measuring.Careful(gpu)._flush.nbytes == 2 * measuring.UNKNOWN_L2_BYTES


@pytest.fixture
def cupy(monkeypatch):
    """A module named cupy that computes with NumPy."""
    library = SimpleNamespace(__version__="99.0", asarray=np.asarray, matmul=np.matmul, calls=[])
    monkeypatch.setitem(sys.modules, "cupy", library)
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it raises ImportError
    return library


def test_the_library_computes_on_the_ladders_own_buffers(cupy):
    buffers = {"a": np.ones((2, 3)), "b": np.ones((3, 4)), "c": np.zeros((2, 4))}
    ((name, call),) = measuring.library_calls("matmul", buffers).items()
    call()
    assert name == "cupy 99.0: matmul (cuBLAS)"
    assert (buffers["c"] == 3).all()


def test_a_ladder_without_a_baseline_or_library_has_no_calls(cupy, monkeypatch):
    assert measuring.library_calls("toy", {}) == {}
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert measuring.library_calls("matmul", {}) == {}


def test_baselines_are_recorded_with_samples(family, gpu, cupy, monkeypatch):
    monkeypatch.setitem(measuring.BASELINES, "toy", measuring.BASELINES["matmul"])
    made = recording.make([family], gpu, prove=False)
    (baseline,) = made.baselines
    assert baseline["ladder"] == "toy" and baseline["library"] == "cupy 99.0: matmul (cuBLAS)"
    assert baseline["case"] == dict(family.timed_case) and len(baseline["samples_ns"]) == measuring.SAMPLES
