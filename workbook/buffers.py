"""Device memory for one run of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernels.case import Case
    from kernels.ladder import Ladder, Step


def fresh(ladder: Ladder, step: Step, case: Case, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """{name: device array}: the inputs, on the host or the device before, and outputs and scratch that nobody has written."""
    from numba import cuda

    layout = ladder.outputs(case, inputs) | step.scratch(case, inputs)
    buffers = {name: array if cuda.is_cuda_array(array) else cuda.to_device(array) for name, array in inputs.items()}
    return buffers | {name: cuda.device_array(shape, dtype) for name, (shape, dtype) in layout.items()}
