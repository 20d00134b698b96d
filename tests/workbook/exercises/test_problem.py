"""Problems of exercises: cells that cannot be taken for one another, bounds that are neither loose nor tight."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.case import Case
from workbook.exercises import entry
from workbook.exercises.problem import distinct, line, problem

SUM = problem("first.sum", lambda case: {"a": line(case)}, lambda a: a.sum(keepdims=True), (Case(n=300),), lambda case: (1,),
              terms=lambda case: case["n"])  # fmt: skip


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("kind", ["integers", "normal"])
def test_no_two_cells_are_alike(rng: np.random.Generator, kind: str) -> None:
    cells = distinct((23, 37), rng, kind)
    assert cells.dtype == np.float32
    assert np.unique(cells).size > 23 * 37 - 3  # of normal numbers, two may be alike by chance
    assert (cells != 0).all()


def test_whole_numbers_have_one_right_sum(rng: np.random.Generator) -> None:
    assert SUM.tolerance(Case(n=300), SUM.make(Case(n=300), rng, "integers")) == {"out": 0.0}


def test_a_float32_sum_is_within_the_bound_and_one_without_its_smallest_cells_is_not(rng: np.random.Generator) -> None:
    for _ in range(200):
        inputs = SUM.make(Case(n=300), rng)
        bound, right = SUM.tolerance(Case(n=300), inputs)["out"], SUM.reference(inputs)["out"]
        assert abs(np.cumsum(inputs["a"], dtype=np.float32)[-1] - right) <= bound
        smallest = np.sort(np.abs(inputs["a"]))[:4].sum()
        assert smallest > bound


def test_whole_sums_stay_below_what_float32_holds_exactly(rng: np.random.Generator) -> None:
    for exercise in entry.exercises(("first", "detective")):
        for case in exercise.problem.cases:
            inputs = exercise.problem.make(case, rng, "integers")
            for array in exercise.problem.reference(inputs).values():
                if array.dtype.kind == "f":
                    assert np.abs(array).max() < 2**24, f"{exercise.name}, {case}"
