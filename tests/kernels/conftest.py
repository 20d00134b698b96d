"""Random numbers from the seed of the test run, and the counters of one run of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import simt
from kernels.ladder import Case, Step, load_ladder


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
            buffers = {name: cuda.to_device(array) for name, array in inputs.items()}
            for name, (shape, dtype) in (ladder.outputs(case, inputs) | step.scratch(case, inputs)).items():
                buffers[name] = cuda.device_array(shape, dtype)
            with simt.profile(sample="all") as profile:
                step.run(buffers, 0)
                cuda.synchronize()
            known[step.id, case] = sum((Counter(launch.counters) for launch in profile.launches), Counter())
        return known[step.id, case]

    return count
