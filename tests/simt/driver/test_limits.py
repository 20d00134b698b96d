"""Launches that cannot start are refused with the arithmetic, and the way out that is named works."""
from __future__ import annotations

import dataclasses
import re

import pytest
from cuda.bindings import driver as cuda_driver
from cuda.core._utils.cuda_utils import CUDAError

from simt.driver import errors
from simt.driver.libraries import one_kernel
from simt.model.device import load
from simt.model.occupancy import most_registers, occupancy, registers_of_block


@pytest.fixture
def kernel(increment, cells, monkeypatch):
    """The driver's record of ``increment`` for ``cells``, its accepted launches forgotten."""
    increment[1, 64](cells)
    compiled = next(one for types, one in increment.overloads.items() if types[0].layout == "C")
    found = one_kernel(int(compiled._codelibrary.get_cufunc().kernel.handle))
    monkeypatch.setattr(found, "accepted", set())
    return found


@pytest.mark.parametrize("registers, threads", [(254, 1024), (128, 544), (65, 1024), (168, 1000), (255, 288)])
def test_registers_times_threads_are_told_with_two_ways_out_that_work(
        increment, cells, kernel, monkeypatch, registers, threads):
    facts = kernel.facts
    monkeypatch.setattr(kernel, "facts", dataclasses.replace(facts, registers=registers))
    with pytest.raises(CUDAError, match="OUT_OF_RESOURCES") as failed:
        increment[1, threads](cells)
    note, = failed.value.__notes__
    assert f"{registers} registers x {threads} threads = {registers * threads}" in note and "> 65536" in note
    fewer, cap = (int(re.search(pattern, note)[1]) for pattern in (r"at most (\d+) threads", r"max_registers=(\d+)"))
    increment[1, fewer](cells)
    with pytest.raises(CUDAError):
        increment[1, fewer + 1](cells)
    monkeypatch.setattr(kernel, "facts", dataclasses.replace(facts, registers=cap))
    increment[1, threads](cells)
    monkeypatch.setattr(kernel, "facts", dataclasses.replace(facts, registers=cap + 1))
    kernel.accepted.clear()
    with pytest.raises(CUDAError):
        increment[1, threads](cells)


@pytest.mark.parametrize("name", ["h100", "a100", "a6000", "t4", "rtx4090"])
@pytest.mark.parametrize("threads", [1, 33, 100, 256, 1000, 1024])
def test_the_cap_on_registers_is_the_largest_with_which_a_block_fits(name, threads):
    device = load(name)
    cap = most_registers(device, threads)
    assert registers_of_block(device, threads, cap) <= device.registers_per_sm
    assert occupancy(device, threads, cap, 0).blocks_per_sm >= 1
    assert cap == device.registers_per_thread or occupancy(device, threads, cap + 1, 0).blocks_per_sm == 0


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("what", ["grid", "block"])
def test_an_extent_of_zero_is_named_with_its_axis(kernel, what, axis):
    """cuda.core refuses it before the driver is asked; other clients do not."""
    extents = [1] * 6
    extents[axis + 3 * (what == "block")] = 0
    code, = cuda_driver.cuLaunchKernel(kernel.handle, *extents, 0, 0, 0, 0)
    assert code == cuda_driver.CUresult.CUDA_ERROR_INVALID_VALUE
    assert f"{what}.{'xyz'[axis]} = 0" in errors.take_note()


def test_numba_tells_a_grid_of_zero_blocks_with_its_shape(increment, cells):
    with pytest.raises(ValueError, match=r"grid values must be >= 1 \(got \(0, 1, 1\)\)"):
        increment[0, 32](cells)
    increment[1, 32](cells)


def test_dynamic_shared_memory_within_the_device_is_told_from_memory_beyond_it(increment, cells):
    for asked, said in ((100_000, "232192 B for a program that asks"), (240_000, "no more than 232192 B")):
        with pytest.raises(CUDAError, match="INVALID_VALUE") as failed:
            increment[1, 32, 0, asked](cells)
        assert f"{asked} B of dynamic shared memory" in failed.value.__notes__[0] and said in failed.value.__notes__[0]
