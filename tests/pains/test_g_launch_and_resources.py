"""Launch configuration and resources."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32

from simt.driver.session import current

HELD = 90


@pytest.fixture(scope="module")
def touch():
    @cuda.jit
    def touch(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = 1

    return touch


@pytest.mark.parametrize("grid, block, said", [
    (1, (32, 32, 2), "2048 threads; a block has at most 1024"), (1, (1, 1, 65), "block.z = 65"),
    ((1, 65536), 1, "grid.y = 65536"), ((1, 1, 65536), 1, "grid.z = 65536"), (2**31, 1, "grid.x = 2147483648")])
def test_a_launch_beyond_a_limit_names_the_axis_and_the_limit(touch, fault, grid, block, said):
    """numba#1055, deepspeedai/DeepSpeed PR#1239"""
    with fault("INVALID_VALUE", said, "at most"):
        touch[grid, block](np.zeros(4, np.float32))


@pytest.mark.parametrize("grid, block", [(0, 32), ((3, 0), 32), (1, 0), (1, (32, 0))])
def test_a_grid_or_block_of_nothing_is_refused_at_the_launch_and_not_later(touch, grid, block):
    """pytorch#17256, sgl-project/sglang#23609, pytorch PR#46572, stepfun-ai/StepMesh#43: zero rows"""
    with pytest.raises(ValueError, match=r"(grid|block) values must be >= 1 \(got \(.*0.*\)\)"):
        touch[grid, block](np.zeros(4, np.float32))
    a = np.zeros(4, np.float32)
    touch[1, 4](a)
    assert a.tolist() == [1] * 4


def test_an_array_without_rows_is_no_error_where_nothing_is_launched_on_it(touch):
    """pytorch#17256: shape (0, 7168)"""
    empty = cuda.to_device(np.zeros((0, 7168), np.float32))
    assert empty.copy_to_host().shape == (0, 7168)
    touch[1, 32](empty.ravel())


@pytest.fixture(scope="module")
def hungry():
    """A kernel of well over 64 registers per thread."""

    def hungry(a, rounds):
        held = cuda.local.array(HELD, float32)
        i = cuda.grid(1)
        if i >= a.shape[0]:
            return
        for k in range(HELD):
            held[k] = a[i, k]
        for _ in range(rounds):
            for k in range(HELD):
                held[k] = held[k] * held[(k + 1) % HELD] + float32(1)
        for k in range(HELD):
            a[i, k] = held[k]

    return hungry


SIGNATURE = "void(float32[:, ::1], int64)"


def test_forall_takes_a_block_that_a_register_hungry_kernel_can_run(hungry):
    """nbcuda PR#744"""
    kernel = cuda.jit(SIGNATURE)(hungry)
    registers, most = kernel.get_regs_per_thread(), kernel.get_max_threads_per_block()
    assert registers > 64 and most < 1024
    a = cuda.to_device(np.zeros((1, HELD), np.float32))
    kernel.forall(1)(a, 1)          # 512 threads or fewer: the launch is accepted
    assert a.copy_to_host()[0, HELD - 1] == 1


def test_registers_spills_and_occupancy_move_together_under_a_cap(hungry):
    """KCL-BMEIS/niftyreg#49, jacobaustin123/Titan#25, mlir PR#167: max_registers is no free lunch"""
    found = []
    for cap in (128, 64, 32):
        kernel = cuda.jit(SIGNATURE, max_registers=cap)(hungry)
        launch = next(iter(kernel.overloads.values()))
        blocks = cuda.current_context().get_active_blocks_per_multiprocessor(launch._codelibrary.get_cufunc(), 256, 0)
        found.append((kernel.get_regs_per_thread(), kernel.get_local_mem_per_thread(), blocks))
    registers, local, blocks = zip(*found, strict=True)
    assert all(count <= cap for count, cap in zip(registers, (128, 64, 32), strict=True))
    assert list(local) == sorted(local) and local[0] < local[-1]
    assert list(blocks) == sorted(blocks) and blocks[0] < blocks[-1]


def test_too_many_registers_for_a_block_is_told_with_the_arithmetic(hungry, fault):
    """mlir PR#167, KCL-BMEIS/niftyreg#49"""
    kernel = cuda.jit(SIGNATURE)(hungry)
    registers = kernel.get_regs_per_thread()
    with fault("OUT_OF_RESOURCES", f"{registers} registers x 1024 threads = {1024 * registers}", "> 65536", "max_registers=64"):
        kernel[1, 1024](cuda.to_device(np.zeros((1, HELD), np.float32)), 1)
    assert current().device.registers_per_sm == 65536
