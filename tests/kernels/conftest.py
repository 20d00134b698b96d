"""Random numbers from the seed of the test run, and the counters of one run of a step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import simt
from kernels.case import Case
from kernels.ladder import Step, load_ladder
from workbook import buffers


def pytest_configure(config: pytest.Config) -> None:
    # Tiny grids underfill the device on purpose.
    config.addinivalue_line("filterwarnings", "ignore::numba.cuda.core.errors.NumbaPerformanceWarning")


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def counters() -> Callable[[Step, Case], Counter]:
    """counters(step, case) -> totals over all launches of one run, on every block; each pair runs once a session."""
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device counts")
    from numba import cuda

    known: dict[tuple[str, Case], Counter] = {}

    def count(step: Step, case: Case) -> Counter:
        if (step.id, case) not in known:
            ladder = load_ladder(step.ladder)
            inputs = ladder.make(case, np.random.default_rng(0))
            memory = buffers.fresh(ladder, step, case, inputs)
            with simt.profile(sample="all") as profile:
                step.run(memory, 0)
                cuda.synchronize()
            known[step.id, case] = sum((Counter(launch.counters) for launch in profile.launches), Counter())
        return known[step.id, case]

    return count


@pytest.fixture
def claimed() -> Callable:
    """claimed(shape, dtype): a device array of that shape, whose memory ends after its first row."""
    from numba import cuda
    from numba.cuda.cudadrv.devicearray import DeviceNDArray

    def array(shape: tuple[int, int], dtype: type) -> DeviceNDArray:
        width = np.dtype(dtype).itemsize
        memory = cuda.device_array(min(shape[1], 1 << 16), dtype).gpu_data
        return DeviceNDArray(shape, (shape[1] * width, width), np.dtype(dtype), gpu_data=memory)

    return array


@pytest.fixture
def fault_of() -> Callable[[Step, dict], tuple[int, int]]:
    """fault_of(step, buffers): row, and bytes from the array's start, of the access at which a run stops. Few blocks run."""
    if simt.backend() != "emulated":
        pytest.skip("only the emulated device tells where")
    from cuda.core._utils.cuda_utils import CUDAError

    def fault(step: Step, buffers: dict) -> tuple[int, int]:
        with simt.profile(sample=1 << 30, execute="sampled"), pytest.raises(CUDAError) as failed:
            step.run(buffers, 0)
        note, = failed.value.__notes__
        row, before = re.search(r"\w+\[(\d+), \d+\], but", note), re.search(r"(-\d+) bytes before", note)
        assert row and before, note
        return int(row[1]), -int(before[1])

    return fault
