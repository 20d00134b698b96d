"""cuda.reduce, which ends its blocks with a ``syncwarp`` that names 32 lanes and that two of them come to."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda


@pytest.fixture(scope="module")
def sums():
    return cuda.reduce(lambda a, b: a + b)


# 128 threads are a block; 512 elements fill the grid that numba launches once
@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 127, 128, 129, 1023, 1025, 34567])
def test_sums_of_any_length_are_right(sums, count):
    values = np.arange(count, dtype=np.float64) + 1
    assert sums(values) == values.sum()
    assert sums(cuda.to_device(values), init=3) == values.sum() + 3


def test_a_result_can_stay_on_the_device(sums):
    result = cuda.device_array(1, np.float64)
    sums(cuda.to_device(np.arange(1000.0)), res=result)
    assert result.copy_to_host()[0] == 499500
