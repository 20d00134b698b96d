"""Devices, occupancy, modelled time, roofline. Pure functions of counters and device facts."""
from __future__ import annotations

from simt.model.device import Device, load, names
from simt.model.occupancy import Occupancy, occupancy
from simt.model.roofline import Roofline, roofline
from simt.model.time import MODEL_ERROR_PERCENT, MODEL_VERSION, Timing, modelled, retime, whole_ns

__all__ = [
    "MODEL_ERROR_PERCENT", "MODEL_VERSION", "Device", "Occupancy", "Roofline", "Timing",
    "load", "modelled", "names", "occupancy", "retime", "roofline", "whole_ns",
]
