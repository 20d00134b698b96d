"""Timing, transfers and streams: what a clock on the host says, what events say, and when a copy has ended.

What the emulated device cannot show: a read or a write of host memory while a copy is in flight (votca/xtp#391, NVIDIA/cudf
PR#2794, cupy/cupy PR#5155). Its copies have ended when the call returns, on every stream, and nothing sees the accesses of
plain Python to plain memory, so that there is nothing to find. A GPU may give half of the old values.
"""
from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from numba import cuda

import simt
from workbook import report, results, timing
from workbook.buffers import fresh

CELLS = 1 << 20
GRID, BLOCK = CELLS // 256, 256


def made(kernel_of_its_own: int):
    """A kernel that nobody has compiled yet."""
    @cuda.jit
    def grow(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += kernel_of_its_own

    return grow


def by_events(launch) -> tuple[float, float]:
    """(device time between two events, host time of the call), in nanoseconds."""
    start, end = cuda.event(), cuda.event()
    start.record()
    before = time.perf_counter_ns()
    launch()
    host = time.perf_counter_ns() - before
    end.record()
    end.synchronize()
    return cuda.event_elapsed_time(start, end) * 1e6, host


@pytest.fixture
def cells():
    return cuda.to_device(np.zeros(CELLS, np.float32))


def test_events_say_what_the_device_takes_and_a_clock_on_the_host_something_else(cells):
    """numba#5992, ach PR#81, JuliaGPU/CUDA.jl#312, JuliaAttic/CUDArt.jl#31, heiwang1997/DenseCRF PR#5: the launch is timed"""
    kernel = made(1)
    kernel[GRID, BLOCK](cells)
    device, host = by_events(lambda: kernel[GRID, BLOCK](cells))
    assert device >= 2 * cells.size * 4 / simt.device().dram_gb_per_s   # no time is below the roofline
    assert device == by_events(lambda: kernel[GRID, BLOCK](cells))[0] != host


def test_a_time_below_the_roofline_is_warned_of():
    """numba#5992: a time that misses the work looks like a fast kernel"""
    row = results.Row("matmul/naive", "", True, (), time_ns=10.0, percent_of_roofline=412.4)
    assert report.too_fast(row).startswith("matmul/naive is at 412 % of the roofline, which no work can be")
    assert "the clock stopped before the work was done" in report.too_fast(row)
    for percent in (None, 3.0, 100.0):
        assert report.too_fast(results.Row("a/b", "", True, (), percent_of_roofline=percent)) == ""


def test_our_own_helper_waits_for_the_work_and_leaves_the_first_call_out(cells):
    """ach PR#81, luigifcruz/blade PR#80: the first call contains the compilation"""
    kernel, waited, calls = made(2), [], []

    class Watched:
        def event(self):
            event = cuda.event()
            synchronize = event.synchronize
            event.synchronize = lambda: (waited.append(len(calls)), synchronize())
            return event

        event_elapsed_time = staticmethod(cuda.event_elapsed_time)

    measured = timing.measured(lambda: (calls.append(1), kernel[GRID, BLOCK](cells)), Watched())
    assert len(waited) == len(measured.samples_ns) == len(calls) - timing.WARM_UPS
    assert waited[0] == timing.WARM_UPS + 1     # no sample before the warm-up runs


def test_a_first_call_costs_the_host_a_compilation_and_the_device_nothing(cells):
    """luigifcruz/blade PR#80: compilation, first launch and steady state are three things"""
    kernel = made(3)
    first, second, third = (by_events(lambda: kernel[GRID, BLOCK](cells)) for _ in range(3))
    assert first[0] == pytest.approx(second[0]) == pytest.approx(third[0])
    assert first[1] > 2 * second[1]             # numba and the translation to code for the CPU
    assert len(kernel.overloads) == 1


def test_a_kernel_that_does_nothing_takes_a_launch_on_the_device_and_the_host_says_what_python_took():
    """NVIDIA/numbast#46, numba-cuda#477: launch overhead of Python, apart from the device's"""
    @cuda.jit
    def nothing():
        pass

    nothing[1, 1]()
    device, host = by_events(lambda: nothing[1, 1]())
    assert 1_000 < device < 10_000              # the device's own, of the model; nothing of what Python takes
    assert host > device


@pytest.mark.parametrize("count", [1, 1 << 16])
def test_an_asynchronous_copy_has_ended_when_the_call_returns(count, seed):
    """votca/xtp#391, NVIDIA/cudf PR#2794, cupy/cupy PR#5155: reads and writes during the copy; see above"""
    stream, values = cuda.stream(), np.random.default_rng(seed).standard_normal(count)
    pinned = cuda.pinned_array(count, np.float64)
    pinned[:] = values
    there = cuda.to_device(pinned, stream=stream)
    pinned[:] = -1                              # a GPU may send these instead
    back = cuda.pinned_array(count, np.float64)
    there.copy_to_host(back, stream=stream)
    assert np.array_equal(back, values)         # a GPU may not be done yet
    stream.synchronize()
    assert np.array_equal(back, values)


@pytest.fixture
def told(monkeypatch):
    """told(work) -> what numba warns of, as it does for a person."""
    from numba.cuda.core import config

    monkeypatch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", 1)
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", 1)

    def texts(work):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            work()
        return [str(warning.message) for warning in found]

    return texts


def test_a_host_array_as_an_argument_is_warned_of_and_an_explicit_copy_is_not(told):
    """numba#6904, PR#7064, lcdm-uiuc/PyIF#6"""
    kernel, host = made(4), np.zeros(CELLS, np.float32)
    said, = told(lambda: kernel[GRID, BLOCK](host))
    assert "Host array used in CUDA kernel will incur copy overhead" in said
    assert told(lambda: kernel[GRID, BLOCK](cuda.to_device(host))) == []
    assert told(lambda: cuda.to_device(host).copy_to_host()) == []


def test_the_copies_of_a_host_array_are_in_the_time_between_events(cells):
    """numba#6904: the array goes there and back, which takes longer than the kernel"""
    kernel, host = made(5), np.zeros(CELLS, np.float32)
    kernel[GRID, BLOCK](cells)
    explicit, implicit = by_events(lambda: kernel[GRID, BLOCK](cells))[0], by_events(lambda: kernel[GRID, BLOCK](host))[0]
    there = by_events(lambda: cells.copy_to_device(host))[0]
    assert implicit == pytest.approx(explicit + 2 * there, rel=0.1)


def test_one_block_is_warned_of_and_is_right_all_the_same(told):
    """numba#8273, Maghoumi/pytorch-softdtw-cuda#21, NVIDIA/cudf#9247: a heuristic about speed, harmless for the result"""
    kernel, few = made(6), cuda.to_device(np.zeros(32, np.float32))
    said, = told(lambda: kernel[1, 32](few))
    assert "Grid size 1 will likely result in GPU under-utilization" in said
    assert few.copy_to_host().tolist() == [6] * 32


def test_of_one_block_with_much_to_do_the_report_says_what_to_do():
    """numba#8273: what the heuristic means"""
    @cuda.jit
    def long(a):
        value = a[cuda.grid(1)]
        for _ in range(3000):
            value = value * value + 1
        a[cuda.grid(1)] = value

    with simt.profile(sample="all") as profile:
        long[1, 32](cuda.to_device(np.zeros(32, np.float32)))
    assert "more blocks: smaller ones, or less work per thread; or a larger problem" in profile.report()


def test_what_a_step_takes_does_not_depend_on_which_run_it_was(seed):
    """luigifcruz/blade PR#80: the workbook's own timing of a step, first run and second"""
    from kernels.ladder import load_ladder

    ladder = load_ladder("matmul")
    step, case = ladder.step("tiled"), ladder.cases[-1]
    memory = fresh(ladder, step, case, ladder.make(case, np.random.default_rng(seed)))
    times = [timing.modelled(lambda: step.run(memory, 0)).time_ns for _ in range(2)]
    assert times[0] == times[1] > 0
