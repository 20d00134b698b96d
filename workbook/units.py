"""Numbers for people: three significant digits and a unit, as the device's own reports print them."""

from __future__ import annotations

from simt.report.units import count, digits, duration

__all__ = ["count", "digits", "duration"]
