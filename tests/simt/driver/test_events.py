"""Events hold device time: modelled for kernels, bytes over bandwidth for copies, never the emulator's own."""
from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from cuda.bindings import driver as cuda_driver
from numba import cuda

import simt
from simt.driver.copy_calls import PCIE_GB_PER_S
from simt.driver.event_calls import EVENTS
from simt.driver.session import current


def milliseconds(stream, work) -> float:
    start, end = cuda.event(), cuda.event()
    start.record(stream)
    work()
    end.record(stream)
    return cuda.event_elapsed_time(start, end)


def test_nothing_between_two_events_takes_no_time():
    stream = cuda.stream()
    assert milliseconds(stream, lambda: None) == 0.0


def test_a_copy_takes_its_bytes_over_the_bandwidth_and_a_start():
    stream, host = cuda.stream(), np.zeros(1_000_000, np.float32)
    device = cuda.device_array(host.shape, host.dtype)
    expected_ns = simt.device().launch_ns + host.nbytes / PCIE_GB_PER_S
    assert milliseconds(stream, lambda: device.copy_to_device(host, stream=stream)) == pytest.approx(expected_ns / 1e6)
    assert milliseconds(stream, lambda: device.copy_to_host(host, stream=stream)) == pytest.approx(expected_ns / 1e6)


def test_a_timed_launch_takes_its_modelled_time(increment, cells):
    stream = cuda.stream()
    with simt.profile() as profile:
        elapsed = milliseconds(stream, lambda: increment[1, 64, stream](cells))
    assert elapsed == pytest.approx(profile.launches[0].time_ns / 1e6)
    assert profile.launches[0].time_ns > simt.device().launch_ns


def test_the_same_launch_takes_the_same_time_again(increment, cells):
    stream = cuda.stream()
    times = {np.float32(milliseconds(stream, lambda: increment[1, 64, stream](cells))) for _ in range(2)}
    start_ns = current().clock.start_ns(current().clock.legacy)
    assert max(times) - min(times) <= start_ns * 2e-16 + 1e-9


def test_a_launch_that_nobody_times_is_not_counted(increment, cells, monkeypatch):
    seen = []
    launcher = current().launcher
    monkeypatch.setattr(current(), "launcher", Spy(launcher, seen))
    stream = cuda.stream()
    nobody_times()
    increment[1, 64, stream](cells)
    event = cuda.event()
    event.record(stream)
    increment[1, 64, stream](cells)
    nobody_times()
    increment[1, 64, stream](cells)
    assert [sampling is None for sampling in seen] == [True, False, True]


def nobody_times():
    """Forget the events that earlier tests have recorded and numba has not destroyed yet."""
    clock = current().clock
    for stream in (clock.legacy, *clock._streams):
        stream.timing.clear()


def test_events_on_the_default_stream_time_a_kernel_on_a_blocking_one(increment, cells):
    stream = cuda.stream()
    alone = milliseconds(stream, lambda: increment[1, 64, stream](cells))
    around = milliseconds(cuda.default_stream(), lambda: increment[1, 64, stream](cells))
    assert around >= alone > simt.device().launch_ns / 1e6


def test_a_wait_for_another_streams_event_takes_that_streams_kernel_into_the_time(increment, cells):
    first, second = cuda.stream(), cuda.stream()
    alone = milliseconds(second, lambda: increment[1, 64, second](cells))
    cuda.synchronize()                  # the other stream's earlier work has ended
    start, middle, end = cuda.event(), cuda.event(), cuda.event()
    start.record(first)
    increment[1, 64, second](cells)
    middle.record(second)
    middle.wait(first)
    end.record(first)
    end.synchronize()
    assert cuda.event_elapsed_time(start, end) == pytest.approx(alone, rel=1e-3)


class Spy:
    """A launcher that notes how each launch was to be counted."""

    def __init__(self, launcher, seen):
        self.launcher, self.seen = launcher, seen

    def launch(self, *arguments, sampling, **options):
        self.seen.append(sampling)
        return self.launcher.launch(*arguments, sampling=sampling, **options)


def test_destroyed_events_time_no_stream():
    stream = cuda.stream()
    code, event = cuda_driver.cuEventCreate(0)
    assert code == 0
    cuda_driver.cuEventRecord(event, int(stream.handle))
    live = EVENTS.get(int(event)).stream.timing
    assert int(event) in live
    cuda_driver.cuEventDestroy(event)
    assert int(event) not in live


def test_one_stream_waits_for_the_event_of_another():
    first, second, host = cuda.stream(), cuda.stream(), np.zeros(1000)
    device = cuda.device_array(1000)
    done, after = cuda.event(), cuda.event()
    device.copy_to_device(host, stream=first)
    done.record(first)
    done.wait(second)
    after.record(second)
    assert cuda.event_elapsed_time(done, after) == 0.0


def test_an_event_that_was_never_recorded_has_no_time():
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match="INVALID_HANDLE") as failed:
        cuda.event_elapsed_time(cuda.event(), cuda.event())
    assert "was never recorded" in failed.value.__notes__[0]


def test_an_event_without_timing_has_no_time():
    event = cuda.event(timing=False)
    event.record()
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match="INVALID_HANDLE") as failed:
        cuda.event_elapsed_time(event, event)
    assert "timing=True" in failed.value.__notes__[0]


def test_host_functions_run_in_order_on_a_driver_thread_before_synchronising_returns():
    stream, seen = cuda.stream(), []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def note(argument):
        seen.append((argument, threading.get_ident()))

    address = ctypes.cast(note, ctypes.c_void_p).value
    for number in (1, 2, 3):
        (code,) = cuda_driver.cuLaunchHostFunc(int(stream.handle), cuda_driver.CUhostFn(address), number)
        assert code == 0
    stream.synchronize()
    assert [argument for argument, _ in seen] == [1, 2, 3]
    assert threading.get_ident() not in {ident for _, ident in seen}
