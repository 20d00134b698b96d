"""Counters of random kernels agree with a count in plain Python; `python -m tests.simt.observe.random_kernels` tries 300."""
from __future__ import annotations

import pytest

from tests.simt.observe.random_kernels import difference

KERNELS = 20


@pytest.mark.parametrize("group", range(4))
def test_random_kernels_count_as_in_plain_python(bench, seed, group):
    first = seed % 1_000_000 * KERNELS + group * 5
    for number in range(first, first + 5):
        assert not difference(bench, number)
