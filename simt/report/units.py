"""Numbers for people: three significant digits and a unit. The workbook prints with the same."""
from __future__ import annotations

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def duration(time_ns: float) -> str:
    """1234567 -> "1.23 ms" """
    for size, unit in _TIMES:
        if time_ns >= 0.9995 * size:
            return f"{digits(time_ns / size)} {unit}"
    return f"{digits(time_ns)} ns"


def count(value: float) -> str:
    """1234567 -> "1.23 M"; whole numbers below 1000 as they are"""
    for size, prefix in _PREFIXES:
        if value >= 0.9995 * size:
            return f"{digits(value / size)} {prefix}"
    return str(round(value)) if value == round(value) else digits(value)


def digits(value: float) -> str:
    """Three significant digits without an exponent for 0.001 and above: 12.34 -> "12.3", 1234 -> "1234"."""
    if value >= 99.95:
        return f"{value:.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.9995 or value == 0 else f"{value:#.3g}"


def size(size_bytes: float) -> str:
    """1536 -> "1.50 KiB" """
    for unit_bytes, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit_bytes:
            return f"{digits(size_bytes / unit_bytes)} {unit}"
    return f"{round(size_bytes)} B"


def percent(value: float) -> str:
    """12.34 -> "12.3 %" """
    return f"{digits(value)} %"
