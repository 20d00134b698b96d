"""Kernels that look like a rung and are wrong on hardware. Shaped like steps, on no ladder."""
