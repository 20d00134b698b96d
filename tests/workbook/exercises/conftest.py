"""Attempts at the exercise matmul/naive: short, quick to compile, and wrong in one way each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from workbook.exercises import entry
from workbook.exercises.check import check
from workbook.exercises.result import Result

HEAD = """\
from numba import cuda, float32

SIDE = 32


@cuda.jit
def kernel(a, b, c):
"""
RIGHT = """
row, col = cuda.grid(2)
if row < c.shape[0] and col < c.shape[1]:
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total
"""
RUN = """

def run(buffers, stream):
    c = buffers["c"]
    grid = -(-c.shape[0] // SIDE), -(-c.shape[1] // SIDE)
    kernel[grid, (SIDE, SIDE), stream](buffers["a"], buffers["b"], c)
"""


def attempt(kernel: str = RIGHT, run: str = RUN, head: str = HEAD) -> str:
    """The text of a file with this body of the kernel."""
    return head + textwrap.indent(kernel.strip("\n"), "    ") + "\n" + run


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., Result]:
    """checked(source, name="matmul/naive", limit_s=60) -> what the check of such a file finds."""

    def check_source(source: str, name: str = "matmul/naive", limit_s: float = 120) -> Result:
        path = tmp_path / "attempt.py"
        path.write_text(source)
        return check(entry.find(name), path, seed=5, limit_s=limit_s, side_by_side=False)  # other tests fill the other cores

    return check_source
