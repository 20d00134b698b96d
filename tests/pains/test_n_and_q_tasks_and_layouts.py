"""Tasks that nothing but the work can solve, and inputs that do not lie in rows."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from kernels.ladder import ladder_names, load_ladder
from workbook import buffers, cases, verify
from workbook.exercises.entry import exercises

LADDERS = [load_ladder(name) for name in ladder_names()]
PROBLEMS = {exercise.name: exercise.problem for exercise in exercises()} | {ladder.name: ladder for ladder in LADDERS}
STEPS = [(ladder, step) for ladder in LADDERS for step in ladder]


def changed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The array with every cell another one, of the same kind of values."""
    if array.dtype.kind == "f":
        return (array * -1.5 + 1).astype(array.dtype)
    return np.roll(array.ravel(), 1).reshape(array.shape) + array.dtype.type(1)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_right_answer_changes_with_every_input(name, seed):
    """AI-Hypercomputer/accelerator-agents PR#50: inputs on which the answer did not depend, so that a no-op solved the task"""
    problem, rng = PROBLEMS[name], np.random.default_rng(seed)
    case = cases.ragged(problem.cases)
    inputs = problem.make(case, rng, next(iter(problem.kinds)))
    right = problem.reference(inputs)
    for which in inputs.keys() - _copies(problem):
        other = problem.reference(inputs | {which: changed(inputs[which], rng)})
        assert any(not np.array_equal(other[name], right[name], equal_nan=True) for name in right), which


def _copies(problem) -> set[str]:
    """Inputs of which another one is the wider form, which the reference reads."""
    return {"packed"} if "codes" in problem.repeated else set()


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_nobody_wrote_is_no_right_answer(name, seed):
    """The same report: a kernel that does nothing leaves what was in the outputs, which is never right"""
    problem, rng = PROBLEMS[name], np.random.default_rng(seed)
    case = cases.ragged(problem.cases)
    inputs = problem.make(case, rng, next(iter(problem.kinds)))
    right, allowed = problem.reference(inputs), problem.tolerance(case, inputs)
    zeros = {name: np.zeros_like(array) for name, array in right.items()}
    assert any(np.any(np.abs(right[name] - zeros[name]) > allowed[name]) for name in right)


@pytest.mark.many
@pytest.mark.parametrize(("ladder", "step"), STEPS, ids=lambda it: getattr(it, "id", ""))
def test_a_transposed_or_strided_input_gives_the_right_answer_or_is_refused(ladder, step, seed):
    """ModelTC/LightLLM#1467: strides honoured in one pass over the data and ignored in the next"""
    rng = np.random.default_rng(seed)
    case = ladder.cases[-1]
    inputs = ladder.make(case, rng)
    for name, array in inputs.items():
        memory = buffers.fresh(ladder, step, case, inputs)
        memory[name] = _not_in_rows(array)
        assert not memory[name].is_c_contiguous()
        try:
            step.run(memory, 0)
        except Exception as refused:  # numba's own errors among them
            assert "contiguous" in str(refused), refused
            continue
        outputs = {output: memory[output].copy_to_host() for output in ladder.outputs(case, inputs)}
        assert verify.wrong_cells(ladder, case, inputs, outputs) == {}, name


def _not_in_rows(array: np.ndarray):
    """The same values on the device, column by column, or every second cell of twice as many."""
    if array.ndim == 2:
        return cuda.to_device(np.asfortranarray(array))
    wide = np.zeros(2 * array.size, array.dtype)
    wide[::2] = array
    return cuda.to_device(wide)[::2]
