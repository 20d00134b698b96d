"""Exercises: stubs cut from the kernels that are their answers, and what checks a reader's attempt at one."""
