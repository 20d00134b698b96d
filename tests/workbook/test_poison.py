"""Marked values keep their bits, and arithmetic never makes them."""

from __future__ import annotations

import numpy as np
import pytest

from workbook import poison


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"])
def test_a_filled_array_holds_its_own_mark_and_no_other(dtype):
    filled = poison.fill((3, 2), dtype, poison.POISON)
    assert filled.dtype == dtype and filled.shape == (3, 2)
    assert poison.holds(filled, poison.POISON).all()
    assert not poison.holds(filled, poison.CANARY).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_poison_is_nan_and_differs_from_every_computed_nan(dtype):
    filled = poison.fill(4, dtype, poison.POISON)
    assert np.isnan(filled).all()
    with np.errstate(invalid="ignore"):
        computed = np.array([np.inf, 0, np.nan, 1], dtype) * np.array([0, np.inf, 1, np.nan], dtype)
    assert np.isnan(computed).all()
    assert not poison.holds(computed, poison.POISON).any()


def test_a_dtype_without_poison_is_refused():
    with pytest.raises(TypeError, match="no poison for dtype complex64"):
        poison.fill(1, "complex64", poison.POISON)
