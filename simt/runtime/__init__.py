"""Runs compiled kernels: programs, launches over worker threads, memory, and faults told as lessons."""
