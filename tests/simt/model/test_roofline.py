"""The roofline of a device."""
from __future__ import annotations

import pytest

from simt.model import load, roofline


def test_a_streaming_problem_is_held_to_bandwidth():
    # One FLOP for 12 bytes at 3350 GB/s.
    found = roofline(load("h100"), flops=1e9, bytes=12e9, time_ns=8e6)
    assert found.roof_gflops == pytest.approx(3350 / 12)
    assert found.achieved_gflops == pytest.approx(125)
    assert found.percent_of_roofline == pytest.approx(100 * 125 / (3350 / 12))
    assert found.intensity == pytest.approx(1 / 12)


def test_a_large_product_is_held_to_the_peak_of_its_type():
    n = 4096
    for dtype in ("fp32", "fp64", "fp16"):
        device = load("a100")
        found = roofline(device, flops=2 * n**3, bytes=12 * n * n, time_ns=2 * n**3 / device.peak_gflops(dtype),
                         dtype=dtype)
        assert found.percent_of_roofline == pytest.approx(100)


@pytest.mark.parametrize(("flops", "bytes", "time_ns"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_quantities_must_be_positive(flops, bytes, time_ns):
    with pytest.raises(ValueError, match="must be positive"):
        roofline(load("h100"), flops, bytes, time_ns)
