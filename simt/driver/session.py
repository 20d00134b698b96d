"""What the emulated device is in this process: the modelled part, its memory, its clock, the code that runs kernels."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from simt.driver.clock import Clock
from simt.runtime.memory import Memory

if TYPE_CHECKING:
    from simt.model.device import Device
    from simt.runtime.launcher import Launcher
    from simt.runtime.program import Program


GIB = 1 << 30


class Session:
    """The one emulated device of a process.

    context_made: whether a program has taken the device's context; it may hold the compute capability since
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.memory = Memory(device.memory_gib * GIB)
        self.clock = Clock()
        self.context_made = False

    def replace_device(self, device: Device) -> None:
        """Model another part from now on; memory stays."""
        self.device = device
        self.memory.total_bytes = device.memory_gib * GIB

    @functools.cached_property
    def launcher(self) -> Launcher:
        """What runs kernels; imported with the first one, so that enabling stays quick."""
        from simt.runtime.launcher import Launcher

        return Launcher(self.memory)

    def load(self, ptx: str) -> Program:
        """Parse PTX and place its variables; raises PtxError and Unsupported."""
        from simt.runtime.program import Program

        return Program(ptx, self.memory, self.device.compute_capability)


_session: Session | None = None


def begin(device: Device) -> Session:
    """Make the process's emulated device."""
    global _session
    _session = Session(device)
    return _session


def current() -> Session:
    """The process's emulated device; only driver functions ask, so it exists."""
    return _session


def exists() -> bool:
    return _session is not None
