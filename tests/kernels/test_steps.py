"""Every step of every ladder, on every case and kind of inputs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import cuda

from kernels.ladder import ladder_names, load_ladder
from workbook import poison, verify

STEPS = [(ladder, step) for ladder in map(load_ladder, ladder_names()) for step in ladder]
GUARD = 256  # cells before and after an output: whole 256-byte lines

every_step = pytest.mark.parametrize(("ladder", "step"), STEPS, ids=lambda it: getattr(it, "id", ""))
every_step_on_every_case = pytest.mark.parametrize(
    ("ladder", "step", "case", "kind"),
    [
        pytest.param(ladder, step, case, kind, id=f"{step.id}-{case}-{kind}".replace(" ", "-"))
        for ladder, step in STEPS
        for case in ladder.cases
        for kind in ladder.kinds
    ],
)


def on_the_device(arrays, stream=0):
    return {name: cuda.to_device(array, stream=stream) for name, array in arrays.items()}


def poisoned(layout, mark):
    return {name: poison.fill(shape, dtype, mark) for name, (shape, dtype) in layout.items()}


def between_canaries(array, before=GUARD):
    """The array on the device with canaries around it: (all of it, the part between them)."""
    edges = poison.fill(before, array.dtype, poison.CANARY), poison.fill(GUARD, array.dtype, poison.CANARY)
    whole = cuda.to_device(np.concatenate([edges[0], array.ravel(), edges[1]]))
    return whole, whole[before : before + array.size].reshape(array.shape)


def run(ladder, step, case, inputs, before=GUARD, stream=0):
    """Run on poisoned outputs that start `before` cells into their memory; returns outputs, cells around, inputs afterwards."""
    whole = {
        name: between_canaries(array, before)
        for name, array in poisoned(ladder.outputs(case, inputs), poison.POISON).items()
    }
    buffers = on_the_device(inputs, stream)
    scratch = on_the_device(poisoned(step.scratch(case, inputs), poison.SCRATCH), stream)
    step.run({**buffers, **scratch, **{name: part for name, (_, part) in whole.items()}}, stream)
    cuda.synchronize()
    outputs, outside = {}, {}
    for name, (memory, part) in whole.items():
        flat = memory.copy_to_host()
        outputs[name] = flat[before : before + part.size].reshape(part.shape)
        outside[name] = np.concatenate([flat[:before], flat[before + part.size :]])
    return outputs, outside, {name: buffer.copy_to_host() for name, buffer in buffers.items()}


def wrong_cells(ladder, case, inputs, outputs):
    """As workbook.verify counts them; every output of the reference is there."""
    assert ladder.reference(inputs).keys() == outputs.keys()
    return verify.wrong_cells(ladder, case, inputs, outputs)


@every_step_on_every_case
def test_a_step_is_right_and_stays_inside_its_outputs(ladder, step, case, kind, rng):
    inputs = ladder.make(case, rng, kind)
    outputs, outside, inputs_after = run(ladder, step, case, inputs)
    assert wrong_cells(ladder, case, inputs, outputs) == {}
    for edges in outside.values():
        assert poison.holds(edges, poison.CANARY).all()
    for name, array in inputs.items():
        assert inputs_after[name].tobytes() == array.tobytes()


@every_step
def test_a_step_takes_outputs_off_the_16_byte_boundary(ladder, step, rng):
    case = ladder.cases[-1]
    inputs = ladder.make(case, rng)
    outputs, _, _ = run(ladder, step, case, inputs, before=1)
    assert wrong_cells(ladder, case, inputs, outputs) == {}


@every_step
def test_a_step_runs_on_the_stream_it_is_given(ladder, step, rng):
    case = ladder.cases[0]
    inputs = ladder.make(case, rng)
    outputs, _, _ = run(ladder, step, case, inputs, stream=cuda.stream())
    assert wrong_cells(ladder, case, inputs, outputs) == {}


@every_step
def test_a_step_keeps_its_values_in_registers_and_uses_no_float64(ladder, step, rng):
    case = ladder.cases[0]
    run(ladder, step, case, ladder.make(case, rng))
    for kernel in step.kernels.values():
        for ptx in kernel.inspect_asm().values():
            assert not re.search(r"\b(?:ld|st)\.local\b|\.f64\b|\bcall\b", ptx)
        for registers in kernel.get_regs_per_thread().values():
            assert 0 < registers <= 255
        for local_bytes in kernel.get_local_mem_per_thread().values():
            assert local_bytes == 0  # no spills
