"""Harness and command line: prove every step right, time it, and say what it cost."""
