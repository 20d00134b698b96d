"""Timings of the emulated device, as ratios of paired runs: ``python -m benchmarks``."""
