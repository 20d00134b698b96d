"""Proves a step on one case: fresh inputs, a float64 reference, poisoned outputs and scratch, guarded output edges."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbook import diagnose, poison
from workbook.failure import Failure, broken
from workbook.words import count

if TYPE_CHECKING:
    from kernels.case import Arrays, Case
    from kernels.ladder import Ladder, Step
    from workbook.target import Target

TILES = (128, 64, 32, 16, 8, 4, 2)
FEW = 32  # of this many wrong codes of 8 bits, less than one is the poison by chance
FEW_VALUES = 32


@dataclasses.dataclass(frozen=True)
class Problem:
    """One case with its data. `allowed` is the bound on |output - expected|, per cell or for all."""

    case: Case
    kind: str
    called: str
    inputs: Arrays
    expected: Arrays
    allowed: dict[str, np.ndarray | float]

    @property
    def label(self) -> str:
        return f"{self.case}, {self.called} inputs"


def problems(ladder: Ladder, case: Case, rng: np.random.Generator) -> tuple[Problem, ...]:
    """The case with each kind of inputs that the ladder has."""
    return tuple(_problem(ladder, case, kind, ladder.make(case, rng, kind)) for kind in ladder.kinds)


def _problem(ladder: Ladder, case: Case, kind: str, inputs: Arrays) -> Problem:
    return Problem(case, kind, ladder.kinds[kind], inputs, ladder.reference(inputs), ladder.tolerance(case, inputs))


ORDERS = {"integers": "reverse", "normal": "forward"}
"""Every case runs once with blocks and warps in order, once in reverse: a race may show in one of them only."""


def verify(ladder: Ladder, step: Step, problem: Problem, target: Target) -> Failure | None:
    """Run the step and compare; None when it is right.

    Integer-valued inputs come with outputs of exactly the right size, so that an emulated device names the line of a
    store outside them; normal ones with guard cells around each output, which show such a store on every device.
    """
    guard = 0 if problem.kind == "integers" else poison.GUARD
    try:
        lines, recognised = _differences(ladder, step, problem, target, guard)
    except Exception as error:
        return broken(error, f"running {step.id} on {problem.label}", str(step.path))
    return Failure(f"wrong result on {problem.label}", tuple(lines), recognised) if lines else None


def wrong_cells(ladder: Ladder, case: Case, inputs: Arrays, outputs: Arrays) -> dict[str, int]:
    """{output: how many of its cells are wrong}, where any is; a NaN is wrong unless expected."""
    expected, allowed = ladder.reference(inputs), ladder.tolerance(case, inputs)
    judged = [
        diagnose.Output(name, got, expected[name], allowed[name], np.zeros(got.shape, bool)) for name, got in outputs.items()
    ]
    return {output.name: int(output.wrong.sum()) for output in judged if output.wrong.any()}


def _differences(ladder: Ladder, step: Step, problem: Problem, target: Target, guard: int) -> tuple[list[str], bool]:
    outputs = ladder.outputs(problem.case, problem.inputs)
    whole = {name: _poisoned(shape, dtype, target, guard) for name, (shape, dtype) in outputs.items()}
    buffers = {name: target.upload(array) for name, array in problem.inputs.items()}
    for name, (shape, dtype) in step.scratch(problem.case, problem.inputs).items():
        buffers[name] = target.upload(poison.fill(shape, dtype, poison.SCRATCH))
    for name, array in problem.expected.items():
        buffers[name] = whole[name][guard : guard + array.size].reshape(array.shape)
    with target.order(ORDERS.get(problem.kind, "forward")):
        step.run(buffers, target.stream)
        target.synchronize()
    lines = _changed_inputs(problem, buffers, target)
    recognised = bool(lines)
    for name, expected in problem.expected.items():
        flat = target.download(whole[name])
        lines += _outside(name, flat, expected, guard)
        got = flat[guard : guard + expected.size].reshape(expected.shape)
        unwritten = _unwritten(got, expected)
        output = diagnose.Output(name, got, expected, problem.allowed[name], unwritten)
        if output.wrong.any():
            variants = _variants(ladder, problem, name) if _telling(problem, expected) else ()
            said, known = diagnose.diagnose(output, variants)
            lines, recognised = lines + said, recognised or known
    return lines, recognised


def _unwritten(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where the poison is still there. A code of 8 bits equals it by chance: rightly, and in one of 256 wrong cells."""
    wrong = got != expected
    unwritten = poison.holds(got, poison.POISON) & wrong
    by_chance = got.dtype.itemsize == 1 and unwritten.sum() <= wrong.sum() / FEW
    return np.zeros_like(unwritten) if by_chance else unwritten


def _telling(problem: Problem, expected: np.ndarray) -> bool:
    """Whether a result that fits a cause shows it: a single number made from few different ones fits many by chance."""
    values = problem.inputs.values()
    return expected.size > 1 or all(np.unique(array).size > max(FEW_VALUES, array.size // 2) for array in values)


def _poisoned(shape: tuple[int, ...], dtype: str, target: Target, guard: int) -> Any:
    edge = poison.fill(guard, dtype, poison.CANARY)
    return target.upload(np.concatenate([edge, poison.fill(int(np.prod(shape)), dtype, poison.POISON), edge]))


def _changed_inputs(problem: Problem, buffers: Mapping[str, Any], target: Target) -> list[str]:
    lines = []
    for name, before in problem.inputs.items():
        after = target.download(buffers[name])
        changed = np.argwhere(after.view(_bits(after)) != before.view(_bits(before)))      # a NaN that stays is no change
        if changed.size:
            lines.append(f"the step changed its input: {name}[{', '.join(map(str, changed[0]))}] is not what it was")
    return lines


def _bits(array: np.ndarray) -> np.dtype:
    return np.dtype(f"u{array.dtype.itemsize}")


def _outside(name: str, flat: np.ndarray, expected: np.ndarray, guard: int) -> list[str]:
    touched = np.flatnonzero(~poison.holds(flat, poison.CANARY)) - guard
    before, after = touched[touched < 0], touched[touched >= expected.size] - expected.size
    lines = []
    if before.size:
        lines.append(f"stores before the start of {name}: {count(before.size, 'cell')}, the nearest {-before[-1]} before it")
    if after.size:
        lines.append(f"stores past the end of {name}: {count(after.size, 'cell')}, the nearest {after[0] + 1} past it")
    return lines


def _variants(ladder: Ladder, problem: Problem, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """What comes out when the step skips the last or the first part of an axis of one input."""
    for array_name, array in problem.inputs.items():
        for axis, length in enumerate(array.shape):
            dimensions = [dimension for dimension, size in problem.case.items() if size == length]
            along = dimensions[0] if len(dimensions) == 1 else f"axis {axis} of {array_name}"
            for text, skipped in _skips(length):
                cut = array.copy()
                np.moveaxis(cut, axis, 0)[skipped] = 0
                yield f"{along} is {length}, but {text}", ladder.reference({**problem.inputs, array_name: cut})[name]
            for tile in (tile for tile in TILES if tile < length):
                again = np.take(array, np.arange(length) % tile, axis=axis)
                text = f"only the first {tile} of {array_name} are read, again and again: is the block's number in the index?"
                yield text, ladder.reference({**problem.inputs, array_name: again})[name]


def _skips(length: int) -> Iterator[tuple[str, slice]]:
    """The likeliest first: one cell, then the tiles, large before small."""
    if length > 1:
        yield f"the result stops at {length - 1}: the last one is missing", slice(length - 1, None)
        yield "the result starts at 1: the first one is missing", slice(1)
    for tile in TILES:
        whole = length // tile * tile
        if whole < length:
            yield f"the result stops at {whole}: the last, partial tile of {tile} is missing", slice(whole, None)
        elif tile < length:
            yield f"the result stops at {length - tile}: the last tile of {tile} is missing", slice(length - tile, None)
        if 2 * tile < length:
            yield f"only the first {tile} count: the result is that of block 0 alone", slice(tile, None)
        if tile < length:
            yield f"the result starts at {tile}: the first tile of {tile} is missing", slice(tile)
