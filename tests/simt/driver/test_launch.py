"""Launches: arguments arrive as PTX lays them out, impossible shapes are refused in words, streams are kept apart."""
from __future__ import annotations

import dataclasses
import struct
import threading

import numpy as np
import pytest
from cuda.bindings import driver as cuda_driver
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda

import simt
from simt.driver import errors
from simt.driver.libraries import one_kernel
from simt.driver.session import current


@pytest.fixture
def launches(monkeypatch):
    """What reached the launcher instead of running."""
    seen = []

    class Recorder:
        def launch(self, program, name, grid, block, dynamic_shared_bytes, params, *, cooperative, sampling):
            spec = program.kernels[name]
            values = [params[param.offset:param.offset + param.size] for param in spec.params]
            seen.append((grid, block, dynamic_shared_bytes, values, cooperative))

    monkeypatch.setattr(current(), "launcher", Recorder())
    return seen


def test_an_array_arrives_as_pointer_shape_and_strides(increment, cells, launches):
    increment[(2, 3, 4), (8, 2, 1), 0, 100](cells[8:40:2])
    (grid, block, dynamic, values, cooperative), = launches
    assert (grid, block, dynamic, cooperative) == ((2, 3, 4), (8, 2, 1), 100, False)
    numbers = [struct.unpack("<q", value)[0] for value in values]
    assert numbers == [0, 0, 16, 4, cells.device_ctypes_pointer.value + 32, 16, 8]


def test_launches_on_every_kind_of_stream_run(increment):
    target = cuda.to_device(np.zeros(64, np.float32))
    default = cuda.default_stream(), cuda.per_thread_default_stream(), cuda.legacy_default_stream()
    for stream in (0, *default, cuda.stream()):
        increment[1, 64, stream](target)
    cuda.synchronize()
    assert np.array_equal(target.copy_to_host(), np.full(64, 5, np.float32))


@pytest.mark.parametrize("grid, block, dynamic, code, said", [
    ((1, 70_000), 32, 0, "INVALID_VALUE", "grid.y = 70000"),
    (1, (1, 1, 65), 0, "INVALID_VALUE", "block.z = 65"),
    (1, (32, 64), 0, "INVALID_VALUE", "2048 threads; a block has at most 1024"),
    (1, 32, 48 << 10, "INVALID_VALUE", "may ask for 48896 B"),
])
def test_a_launch_that_no_device_can_start_is_refused_and_says_why(increment, cells, grid, block, dynamic, code, said):
    with pytest.raises(CUDAError, match=code) as failed:
        increment[grid, block, 0, dynamic](cells)
    assert said in failed.value.__notes__[0]


def test_a_kernel_with_launch_bounds_runs_no_larger_block(cells):
    @cuda.jit("void(float32[::1])", launch_bounds=32)
    def bounded(target):
        target[cuda.threadIdx.x] = 1

    assert bounded.get_max_threads_per_block() == 32
    bounded[1, 32](cells)
    with pytest.raises(CUDAError, match="INVALID_VALUE") as failed:
        bounded[1, 64](cells)
    assert "compiled for 32" in failed.value.__notes__[0]


def test_a_kernel_with_too_many_registers_for_its_block_is_refused(increment, cells, monkeypatch):
    increment[1, 64](cells)
    compiled = next(one for types, one in increment.overloads.items() if types[0].layout == "C")
    kernel = one_kernel(int(compiled._codelibrary.get_cufunc().kernel.handle))
    monkeypatch.setattr(kernel, "facts", dataclasses.replace(kernel.facts, registers=128))
    monkeypatch.setattr(kernel, "accepted", set())
    increment[1, 512](cells)
    with pytest.raises(CUDAError, match="OUT_OF_RESOURCES") as failed:
        increment[1, 544](cells)
    assert "128 registers x 544 threads" in failed.value.__notes__[0]


def test_a_refused_shape_is_refused_again(increment, cells):
    for _ in range(2):
        with pytest.raises(CUDAError):
            increment[1, 1025](cells)


def test_a_grid_that_waits_for_itself_must_fit_on_the_device(launches):
    @cuda.jit
    def meet(target):
        cuda.cg.this_grid().sync()
        target[0] = 1

    target = cuda.device_array(1)
    kernel = meet.compile("void(float64[::1])")
    most = kernel.max_cooperative_grid_blocks(1024)
    assert most == 2 * simt.device().sm_count
    meet[most, 1024](target)
    assert launches[-1][4] is True
    handle = int(kernel._codelibrary.get_cufunc().kernel.handle)
    code, = cuda_driver.cuLaunchCooperativeKernel(handle, most + 1, 1, 1, 1024, 1, 1, 0, 0, 0)
    assert code == cuda_driver.CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
    assert f"only {most} of them fit" in errors.take_note()


def test_forall_takes_the_largest_block(increment, cells, launches):
    increment.forall(5000)(cells)
    assert launches[0][:2] == ((5, 1, 1), (1024, 1, 1))


def test_a_host_array_is_copied_in_and_out(increment):
    host = np.arange(64, dtype=np.float32)
    increment[1, 64](host)
    assert np.array_equal(host, np.arange(1, 65, dtype=np.float32))


def test_launches_from_two_threads_do_not_mix(increment):
    targets = [cuda.to_device(np.zeros(64, np.float32)) for _ in range(2)]

    def work(target):
        stream = cuda.stream()
        for _ in range(20):
            increment[1, 64, stream](target)

    threads = [threading.Thread(target=work, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(target.copy_to_host(), np.full(64, 20)) for target in targets)
