"""The yardstick of int8_matmul, and what is true of int32 sums: exact, bounded in k, and scaled along the right axes."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import simt
from kernels.case import Case
from kernels.ladder import load_ladder
from kernels.quant.int8_matmul import LADDER, LARGEST_K, accumulators, make, reference, tolerance
from kernels.quant.int8_matmul.s20_naive import kernel as naive_kernel
from workbook import buffers

SUMMING = [step for step in LADDER if step.name not in ("dequantise", "fused")]
INTEGER = [step for step in LADDER if step.name != "dequantise"]
UNIT_ROUNDOFF = 2.0**-24

every_step = pytest.mark.parametrize("step", list(LADDER), ids=lambda step: step.name)
every_case = pytest.mark.parametrize("case", LADDER.cases, ids=str)


def run(step, case, inputs) -> dict[str, np.ndarray]:
    """Outputs and scratch after one run."""
    memory = buffers.fresh(LADDER, step, case, inputs)
    step.run(memory, 0)
    return {name: memory[name].copy_to_host() for name in memory.keys() - inputs.keys()}


def unscaled(a, b) -> dict[str, np.ndarray]:
    """Inputs whose C is the sums."""
    return {"a": a, "b": b, "scale_a": np.ones(len(a), np.float32), "scale_b": np.ones(len(b), np.float32),
            "bias": np.zeros(len(b), np.float32)}


def constant(m, n, k, code_a, code_b) -> dict[str, np.ndarray]:
    return unscaled(np.full((m, k), code_a, np.int8), np.full((n, k), code_b, np.int8))


def test_the_cases_include_the_corners():
    cases = {tuple(case.values()) for case in LADDER.cases}
    assert (1, 1, 1) in cases
    assert any(m > 2 * 128 and n > 3 * 128 and m % 128 and n % 128 for m, n, _ in cases)
    assert any(k % 4 == 0 and k % 32 for _, _, k in cases)  # whole words, a part of a tile
    assert any(k % 4 for _, _, k in cases)
    assert {127, 129} <= {k for _, _, k in cases}


def test_the_ladder_is_registered_under_its_name():
    assert load_ladder("int8_matmul") is LADDER


def test_rows_of_a_meet_rows_of_b_and_each_has_its_own_scale():
    inputs = {
        "a": np.array([[1, 2, 3], [-1, 0, 0]], np.int8),
        "b": np.array([[1, 10, 100], [0, 0, -128]], np.int8),
        "scale_a": np.array([2, 16], np.float32),
        "scale_b": np.array([0.5, 4], np.float32),
        "bias": np.array([1000, 2000], np.float32),
    }
    by_hand = [[321 * 2 * 0.5 + 1000, -384 * 2 * 4 + 2000], [-1 * 16 * 0.5 + 1000, 2000]]
    np.testing.assert_array_equal(reference(inputs)["c"], by_hand)
    for step in LADDER:
        np.testing.assert_array_equal(run(step, Case(m=2, n=2, k=3), inputs)["c"], by_hand, err_msg=step.id)


def test_inputs_have_the_shapes_of_the_case_and_all_codes(rng):
    for kind in LADDER.kinds:
        inputs = make(Case(m=30, n=50, k=70), rng, kind)
        shapes = {"a": (30, 70), "b": (50, 70), "scale_a": (30,), "scale_b": (50,), "bias": (50,)}
        assert {name: array.shape for name, array in inputs.items()} == shapes
        assert {str(array.dtype) for array in inputs.values()} == {"int8", "float32"}
        assert set(np.unique(np.concatenate([inputs["a"], inputs["b"]]))) == set(range(-128, 128))


def test_an_unknown_kind_of_input_is_refused(rng):
    with pytest.raises(ValueError, match="'normal' or 'integers', not 'zeros'"):
        make(Case(m=1, n=1, k=1), rng, "zeros")


@pytest.mark.parametrize("k", [1, 53, 1000])
def test_whole_inputs_have_to_come_out_exactly(k, rng):
    case = Case(m=7, n=9, k=k)
    assert not tolerance(case, make(case, rng, "integers"))["c"].any()
    assert tolerance(case, make(case, rng, "normal"))["c"].all()


def test_sums_that_float32_cannot_hold_are_not_asked_for_exactly():
    case = Case(m=1, n=1, k=1025)  # 1025 * 2**14 > 2**24
    assert tolerance(case, constant(1, 1, 1025, -128, -128))["c"] > 0
    assert tolerance(case, constant(1, 1, 1025, -128, 1))["c"] == 0


@every_case
@pytest.mark.parametrize("step", SUMMING, ids=lambda step: step.name)
def test_the_int32_sums_are_exact(step, case, rng):
    inputs = make(case, rng, "normal")
    sums = run(step, case, inputs)["sums"]
    assert sums.dtype == np.int32
    np.testing.assert_array_equal(sums, accumulators(inputs))


@pytest.mark.parametrize("k", [5, 128, 1020])
def test_the_sums_that_fused_keeps_in_registers_are_exact(k, rng):
    codes = [rng.integers(-128, 127, (size, k), dtype=np.int8, endpoint=True) for size in (133, 131)]
    inputs = unscaled(*codes)
    assert accumulators(inputs).max() < 2**24
    c = run(LADDER.step("fused"), Case(m=133, n=131, k=k), inputs)["c"]
    np.testing.assert_array_equal(c, accumulators(inputs))


@every_case
@pytest.mark.parametrize("step", INTEGER, ids=lambda step: step.name)
def test_int32_sums_leave_three_roundings_of_the_result(step, case, rng):
    """scale_a * scale_b, its product with the sum, and the bias, each within u; sums below 2**24 become floats exactly."""
    inputs = make(case, rng, "normal")
    assert np.abs(accumulators(inputs)).max() < 2**24
    expected = reference(inputs)["c"]
    scaled = np.abs(expected - inputs["bias"].astype(np.float64))
    allowed = 1.001 * UNIT_ROUNDOFF * (2 * scaled + np.abs(expected))
    assert np.all(np.abs(run(step, case, inputs)["c"] - expected) <= allowed)


@pytest.mark.parametrize("k", [8, 64, 1024])
def test_float_sums_stay_well_inside_the_tolerance_and_float16_falls_outside(k, rng):
    case = Case(m=16, n=16, k=k)
    inputs = make(case, rng)
    a, b = (inputs[name] * inputs[f"scale_{name}"][:, None] for name in ("a", "b"))
    expected, allowed = reference(inputs)["c"], tolerance(case, inputs)["c"]
    totals = {}
    for dtype in (np.float32, np.float16):
        total = np.zeros((16, 16), np.float32)
        for i in range(k):
            total += np.outer(a[:, i].astype(dtype), b[:, i].astype(dtype)).astype(np.float32)
        totals[dtype] = np.abs(total + inputs["bias"] - expected)
    assert np.all(totals[np.float32] < 0.5 * allowed)
    assert np.any(totals[np.float16] > 2 * allowed)


def test_the_largest_k_is_the_last_whose_sums_fit_in_int32():
    assert LARGEST_K * 2**14 <= 2**31 - 1 < (LARGEST_K + 1) * 2**14
    assert 133144 * 127**2 <= 2**31 - 1 < 133145 * 127**2  # for codes of -127 to 127


@pytest.mark.parametrize("step", SUMMING, ids=lambda step: step.name)
@pytest.mark.parametrize("k", [LARGEST_K, LARGEST_K - 3])  # odd, and a multiple of 4
def test_the_largest_sum_fits(step, k):
    assert run(step, Case(m=1, n=1, k=k), constant(1, 1, k, -128, -128))["sums"] == k * 2**14


def test_one_code_more_would_wrap():
    k = LARGEST_K + 1
    inputs, sums = constant(1, 1, k, -128, -128), cuda.to_device(np.zeros((1, 1), np.int32))
    naive_kernel[1, (32, 32)](cuda.to_device(inputs["a"]), cuda.to_device(inputs["b"]), sums)
    assert sums.copy_to_host() == -(2**31)


@every_step
def test_a_k_whose_sums_may_overflow_is_refused(step):
    case, inputs = Case(m=1, n=1, k=LARGEST_K + 1), constant(1, 1, LARGEST_K + 1, 0, 0)
    with pytest.raises(ValueError, match="k is 131072, and has to be from 0 to 131071: .* may leave int32; sum in parts"):
        run(step, case, inputs)


@every_step
def test_matrices_that_differ_in_k_are_refused(step):
    inputs = unscaled(np.zeros((3, 8), np.int8), np.zeros((8, 3), np.int8))  # B as (k, n)
    with pytest.raises(ValueError, match=r"b is \(8, 3\); as \(n, k\) with m=3 k=8 n=8 it has to be \(8, 8\)"):
        run(step, Case(m=3, n=8, k=8), inputs)


def test_the_roof_is_that_of_dp4a():
    assert LADDER.peak == "int8"
    assert simt.model.load("h100").peak_gflops("int8") == 2 * simt.model.load("h100").peak_gflops("fp32")


@pytest.mark.parametrize("step", INTEGER, ids=lambda step: step.name)
def test_the_last_of_16_million_rows_lies_where_64_bit_offsets_say(step, claimed, fault_of):
    """linkedin/Liger-Kernel#1483, vllm#42862: an offset that wraps at 2**32 would find the first row, which exists."""
    n, k = 2**25, 256
    inputs = {"a": cuda.to_device(np.zeros((1, k), np.int8)), "b": claimed((n, k), np.int8)}
    inputs |= {"scale_a": cuda.to_device(np.ones(1, np.float32)), "scale_b": claimed((1, n), np.float32).reshape(n)}
    inputs |= {"bias": inputs["scale_b"], "c": claimed((1, n), np.float32), "sums": claimed((1, n), np.int32)}
    row, offset = fault_of(step, inputs)
    assert row * k >= 2**32 and offset // k == row
