"""What 8-bit operands and float16 sums cost, layer by layer."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from kernels.quant import drift, fp8
from kernels.quant.drift import SCHEMES, both, budget, errors, make_stack, product
from kernels.quant.formats import dequantise_reference, quantise_reference


@pytest.fixture(scope="module")
def measured() -> dict[str, np.ndarray]:
    return budget(np.random.default_rng(1))


def test_a_budget_has_an_error_for_each_layer_of_each_scheme(measured):
    assert measured.keys() == SCHEMES.keys()
    assert all(found.shape == (drift.LAYERS,) and np.isfinite(found).all() for found in measured.values())


def test_smaller_groups_err_less_at_every_layer_where_columns_stick_out(measured):
    tensor, row, group = (measured[f"int8 per {what}"] for what in ("tensor", "row", "group of 32"))
    assert np.all(1.5 * group < row)
    assert np.all(1.2 * row < tensor)


def test_errors_grow_from_layer_to_layer(measured):
    for name, found in measured.items():
        assert np.all(np.diff(found) > 0), name
        assert found[-1] < 3 * found[0], name  # and stay far from doubling each time


def test_errors_of_weights_and_of_activations_add_like_the_sides_of_a_right_angle(measured):
    weights, activations = (measured[f"int8 per row, {what} only"] for what in ("weights", "activations"))
    np.testing.assert_allclose(np.hypot(weights, activations), measured["int8 per row"], rtol=0.15)
    assert np.all(weights < activations)  # the outliers are in the activations


def test_float16_accumulators_err_a_thousand_times_more_than_float32(measured):
    assert np.all(measured["float16 accumulators"] > 1000 * measured["float32"])
    assert np.all(measured["float32"] < 1e-6)


def test_the_accumulator_hides_behind_int8(measured):
    np.testing.assert_allclose(measured["int8 per row, float16 accumulators"], measured["int8 per row"], rtol=0.05)


def test_one_bit_less_of_fraction_doubles_the_error(measured):
    np.testing.assert_allclose(measured["e5m2 per row"], 2 * measured["e4m3 per row"], rtol=0.2)


def test_without_outliers_int8_errs_less_than_e4m3(rng):
    stack = make_stack(rng, layers=2, outlier_gain=1.0)
    assert np.all(errors(stack, both(drift.int8_per_row)) < errors(stack, both(drift.fp8_per_row)) / 2)


def test_the_same_seed_gives_the_same_bits():
    few = {name: SCHEMES[name] for name in ("int8 per row", "float16 accumulators")}
    first, second = (budget(np.random.default_rng(5), few) for _ in range(2))
    assert all(first[name].tobytes() == second[name].tobytes() for name in few)


# --- float16 accumulators, by hand


@pytest.mark.parametrize(("k", "total"), [(1024, 1024), (2048, 2048), (2049, 2048), (8192, 2048)])
def test_a_float16_sum_of_ones_stands_still_at_2048(k, total):
    """From there on one is half of a unit in the last place, and the tie goes down to even."""
    ones = np.ones((1, k), np.float32)
    assert product(ones, ones, "float16").tolist() == [[total]]
    assert product(ones, ones, "float32").tolist() == [[k]]


def test_a_float16_sum_of_int8_products_overflows_at_the_fifth():
    codes = np.full((1, 5), 127, np.float32)
    assert np.isfinite(product(codes[:, :4], codes[:, :4], "float16")).all()  # 64516
    assert np.isinf(product(codes, codes, "float16")).all()  # 80645 is above 65504
    assert product(codes, codes, "float32").tolist() == [[5 * 127**2]]


def test_a_float16_mean_of_squares_overflows_before_the_division():
    """microsoft/onnxruntime PR#28442: of 2048 numbers of 180."""
    x = np.full((1, 2048), 180, np.float32)
    assert np.isinf(product(x, x, "float16")).all()
    assert product(x, x, "float32").tolist() == [[2048 * 180**2]]
    assert product(x, x / 2048, "float16")[0, 0] == pytest.approx(180**2, rel=0.02)  # divided first, with lost bits


def test_one_product_of_300_by_300_is_too_large_for_float16():
    one = np.full((1, 1), 300, np.float32)
    assert np.isinf(product(one, one, "float16")).all()


def test_a_float16_sum_follows_float16_arithmetic(rng):
    a, w = (rng.standard_normal((5, 100), dtype=np.float32) for _ in range(2))
    expected = np.zeros((5, 5), np.float16)
    for i in range(100):
        expected += (a[:, i : i + 1] * w[:, i]).astype(np.float16)
    np.testing.assert_array_equal(product(a, w, "float16"), expected.astype(np.float32))


# --- the parts


def test_rounding_on_the_device_is_rounding_of_the_reference(rng):
    x = rng.standard_normal((5, 100), dtype=np.float32) * np.float32([[1], [10], [100], [0], [1e-3]])
    for way, group in ((drift.int8_per_row, None), (partial(drift.int8_per_group, group=64), 64)):
        np.testing.assert_array_equal(way(x), dequantise_reference(*quantise_reference(x, group), group))
    flat = x.reshape(1, -1)
    whole = dequantise_reference(*quantise_reference(flat)).reshape(x.shape)
    np.testing.assert_array_equal(drift.int8_per_tensor(x), whole)


@pytest.mark.parametrize(("format", "ulp"), [(fp8.E4M3, 2.0**-4), (fp8.E5M2, 2.0**-3)], ids=["e4m3", "e5m2"])
def test_an_8_bit_float_is_within_half_a_unit_of_its_fraction(format, ulp, rng):
    x = rng.uniform(0.1, 1, (4, 50)).astype(np.float32)
    assert np.abs(drift.fp8_per_row(x, format) / x - 1).max() <= ulp
    assert drift.fp8_per_row(np.zeros((1, 3), np.float32), format).tolist() == [[0, 0, 0]]


def test_the_float32_product_uses_no_float64(rng):
    product(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    for ptx in drift.product_float32.inspect_asm().values():
        assert not re.search(r"\.f(16|64)\b", ptx)
