"""A bench that runs hand-written PTX on NumPy arrays through Program and Launcher alone: no Numba, no driver."""
from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest

from simt.runtime.counting import Counted
from simt.runtime.launcher import Launcher
from simt.runtime.memory import Memory
from simt.runtime.program import Program
from simt.runtime.sampling import Sampling

SOURCE = "kernel.py"        # the file that `.loc 1 LINE 0` names
HEAD = '.version 8.4\n.target sm_90\n.address_size 64\n.file 1 "{source}"\n'
REGISTERS = """.reg .pred %p<200>; .reg .b8 %b<100>; .reg .b16 %h<900>; .reg .b32 %r<900>; .reg .b64 %d<900>;
.reg .f32 %f<300>; .reg .f64 %g<300>;
.reg .b32 %t; .reg .b64 %w<4>;"""


class Kernel:
    """A loaded kernel. Its body finds the arguments in %a0, %a1, … (addresses of arrays, or 64-bit numbers)."""

    def __init__(self, bench: Bench, body: str, arguments: int, declarations: str, more: str, source: str):
        params = ", ".join([*(f".param .u64 p{k}" for k in range(arguments)), *([more] if more else [])])
        loads = "\n".join(f"ld.param.u64 %a{k}, [p{k}];" for k in range(arguments))
        self.bench = bench
        text = f"""{HEAD.format(source=source)}{declarations}
.visible .entry kernel({params})
{{
{REGISTERS} .reg .b64 %a<{arguments + 1}>;
{loads}
{body}
ret;
}}
"""
        self.program = Program(text, bench.memory, (9, 0))

    def __call__(self, *arguments: np.ndarray | int, grid=(1, 1, 1), block=(32, 1, 1), shared: int = 0, threads: int = 1,
                 sampling: Sampling | None = None, more: bytes = b"") -> Counted | None:
        """Launch. Arrays are copied to the device and back, after a fault too. ``more``: the further parameter."""
        held = [self.bench.put(a) if isinstance(a, np.ndarray) else None for a in arguments]
        values = [a if address is None else address for a, address in zip(arguments, held, strict=True)]
        try:
            return self.launch(values, grid, block, shared, threads, sampling, more)
        finally:
            for array, address in zip(arguments, held, strict=True):
                if address is not None:
                    ctypes.memmove(array.ctypes.data, address, array.nbytes)
                    self.bench.memory.free(address)

    def set(self, variable: str, content: np.ndarray) -> None:
        """Write a global or constant variable of the module."""
        address, size = self.program.globals[variable]
        assert content.nbytes == size
        ctypes.memmove(address, content.ctypes.data, size)

    def launch(self, values: list[int], grid=(1, 1, 1), block=(32, 1, 1), shared: int = 0, threads: int = 1,
               sampling: Sampling | None = None, more: bytes = b"") -> Counted | None:
        """Launch with addresses and numbers as they are."""
        raw = struct.pack(f"<{len(values)}Q", *(value & (1 << 64) - 1 for value in values)) + more
        with mock.patch.dict(os.environ, SIMT_THREADS=str(threads)):
            return self.bench.launcher.launch(self.program, "kernel", grid, block, shared, raw, sampling=sampling)

    def count(self, *arguments: np.ndarray | int, sample: str | int = "all", **launch) -> Counted:
        """Launch with counters."""
        return self(*arguments, sampling=Sampling(sample), **launch)


class Bench:
    """Device memory and a launcher."""

    def __init__(self):
        self.memory = Memory(1 << 30)
        self.launcher = Launcher(self.memory)

    def kernel(self, body: str, arguments: int, declarations: str = "", more: str = "", source: str = SOURCE) -> Kernel:
        """PTX statements -> a kernel. ``declarations``: module variables; ``more``: one more parameter, as PTX; ``source``: the
        file that `.loc 1` names."""
        return Kernel(self, body, arguments, declarations, more, source)

    def put(self, array: np.ndarray) -> int:
        """The address of a copy of an array on the device."""
        assert array.flags.c_contiguous
        address = self.memory.alloc(max(array.nbytes, 1))
        ctypes.memmove(address, array.ctypes.data, array.nbytes)
        return address


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.memory.close()
