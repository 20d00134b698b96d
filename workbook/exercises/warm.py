"""What every check needs, loaded once: the process that checks are forked from imports this module.

Nothing here may launch a kernel or start a thread: neither survives a fork.
"""

from __future__ import annotations

import os
import warnings

os.environ["SIMT_QUIET"] = "1"

import simt  # noqa: E402 the line above has to come first

simt.enable("force", quiet=True)

from numba import cuda, float32, void  # noqa: E402 the device is enabled first

import simt.observe.shadow  # noqa: E402, F401 compiles what the race checker calls
import simt.observe.written  # noqa: E402, F401 the same for the init checker
import simt.runtime.launcher  # noqa: E402, F401 what a first launch imports
import workbook.exercises.examine  # noqa: E402, F401 what a check runs


def _first(a, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = a[i]


def _compile_once() -> None:
    """The first kernel that Numba compiles in a process takes longest: most of it is reading its own tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cuda.compile_ptx(_first, void(float32[::1], float32[::1]), cc=(9, 0))


_compile_once()
