"""The roofline: what the device's peaks allow for a problem, and how close a time comes (Williams et al., 2009)."""
from __future__ import annotations

import dataclasses

from simt.model.device import Device


@dataclasses.dataclass(frozen=True, slots=True)
class Roofline:
    """intensity: FLOP per byte; achieved and roof in GFLOP/s."""

    achieved_gflops: float
    roof_gflops: float
    percent_of_roofline: float
    intensity: float


def roofline(device: Device, flops: float, bytes: float, time_ns: float, dtype: str = "fp32") -> Roofline:
    """A problem of ``flops`` and minimum ``bytes`` (inputs read once, outputs written once), done in ``time_ns``.

    The roof is the smaller of the peak of ``dtype`` and of DRAM bandwidth times intensity.
    """
    if flops <= 0 or bytes <= 0 or time_ns <= 0:
        raise ValueError(f"flops, bytes and time_ns must be positive; got {flops}, {bytes}, {time_ns}")
    intensity = flops / bytes
    roof = min(device.peak_gflops(dtype), device.dram_gb_per_s * intensity)
    achieved = flops / time_ns
    return Roofline(achieved, roof, 100 * achieved / roof, intensity)
