"""The yardstick of matmul: its cases, reference and tolerance."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.case import Case
from kernels.ladder import load_ladder
from kernels.matmul import LADDER, make, reference, tolerance


def half(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16).astype(np.float32)


def test_the_cases_include_the_corners():
    cases = {tuple(case.values()) for case in LADDER.cases}
    assert (1, 1, 1) in cases
    assert any(k > 128 for _, _, k in cases)
    assert any(m > 3 * 128 for m, _, _ in cases)
    assert any(n > 3 * 128 for _, n, _ in cases)
    for tile in (32, 64, 128):
        assert any(m % tile and n % tile for m, n, _ in cases if m > tile and n > tile)
    ragged = [case for case in cases if case[1] % 128 or case[0] % 128]
    assert any(n % 4 == 0 and k % 4 == 0 for _, n, k in ragged)  # 16-byte accesses have edges to guard too
    assert any(n % 4 and k % 4 for _, n, k in ragged)


def test_the_reference_multiplies_rows_by_columns():
    inputs = {
        "a": np.array([[1, 2, 3]], dtype=np.float32),
        "b": np.array([[1, 10], [2, 20], [3, 30]], dtype=np.float32),
    }
    np.testing.assert_array_equal(reference(inputs)["c"], [[14.0, 140.0]])
    assert reference(inputs)["c"].dtype == np.float64


def test_inputs_have_the_shapes_of_the_case(rng):
    for kind in ("normal", "integers"):
        inputs = make(Case(m=3, n=5, k=7), rng, kind)
        assert {name: array.shape for name, array in inputs.items()} == {"a": (3, 7), "b": (7, 5)}
        assert all(array.dtype == np.float32 and array.flags.c_contiguous for array in inputs.values())


def test_whole_inputs_reach_from_minus_8_to_8(rng):
    a = make(Case(m=100, n=1, k=100), rng, "integers")["a"]
    assert set(np.unique(a)) == set(range(-8, 9))


def test_an_unknown_kind_of_input_is_refused(rng):
    with pytest.raises(ValueError, match="'normal' or 'integers', not 'zeros'"):
        make(Case(m=1, n=1, k=1), rng, "zeros")


def test_whole_numbers_have_to_come_out_exactly(rng):
    case = Case(m=3, n=3, k=3)
    assert tolerance(case, make(case, rng, "integers")) == {"c": 0.0}


@pytest.mark.parametrize("k", [8, 64, 512, 4096])
def test_float32_sums_stay_well_inside_the_tolerance(k, rng):
    case = Case(m=32, n=32, k=k)
    inputs = make(case, rng)
    total = np.zeros((32, 32), dtype=np.float32)
    for i in range(k):  # one after the other, the worst order
        total += inputs["a"][:, i : i + 1] * inputs["b"][i]
    assert np.all(np.abs(total - reference(inputs)["c"]) < 0.5 * tolerance(case, inputs)["c"])


@pytest.mark.parametrize("k", [8, 64, 512, 1024])
def test_float16_inputs_fall_outside_the_tolerance(k, rng):
    case = Case(m=32, n=32, k=k)
    inputs = make(case, rng)
    rounded = reference({name: half(array) for name, array in inputs.items()})["c"]
    assert np.any(np.abs(rounded - reference(inputs)["c"]) > 2 * tolerance(case, inputs)["c"])


def test_the_ladder_is_registered_under_its_name():
    assert load_ladder("matmul") is LADDER
