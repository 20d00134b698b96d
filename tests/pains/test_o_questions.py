"""Questions that people asked: functions for cuda.reduce."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda


@pytest.mark.parametrize("function, groupings", [
    (lambda a, b: a + b * 20, "f(f(1.0, 2.0), 3.0) is 101.0, but f(1.0, f(2.0, 3.0)) is 1241.0"),
    (lambda a, b: a - b, "f(f(1.0, 2.0), 3.0) is -4.0, but f(1.0, f(2.0, 3.0)) is 2.0"),
    (lambda a, b: (a + b) / 2, "f(f(1.0, 2.0), 3.0) is 2.25, but f(1.0, f(2.0, 3.0)) is 1.75"),
], ids=["a + 20 b", "difference", "mean"])
def test_a_function_that_is_not_associative_is_refused_before_the_launch(function, groupings):
    """Stack Overflow 2793374 at whosebug.com: cuda.reduce with a + b * 20 differs from the sequential result"""
    with pytest.raises(ValueError, match="is not associative") as refused:
        cuda.reduce(function)(np.arange(1, 101, dtype=np.float64))
    assert groupings in str(refused.value) and f"{__file__}:{function.__code__.co_firstlineno}" in str(refused.value)


@pytest.mark.parametrize("function, init, result", [
    (lambda a, b: a + b, 0, 15), (lambda a, b: a * b, 1, 120), (lambda a, b: a if a > b else b, 0, 5),
    (cuda.jit(lambda a, b: a + b, device=True), 0, 15)], ids=["sum", "product", "largest", "device function"])
def test_functions_that_are_associative_are_reduced_as_ever(function, init, result):
    """The same report, from the other side; a function of the device alone is taken on trust"""
    assert cuda.reduce(function)(np.array([3, 1, 2, 5, 4], np.float64), init=init) == result


def test_a_function_that_leaves_the_numbers_is_taken_on_trust():
    """NaN and infinity compare with nothing"""
    assert np.isnan(cuda.reduce(lambda a, b: a + b * float("nan"))(np.array([1.0, 2.0, 3.0])))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_a_sum_is_associative_in_every_type(dtype):
    """The same report: no false alarm"""
    values = np.arange(1, 101).astype(dtype)
    assert cuda.reduce(lambda a, b: a + b)(values) == 5050
