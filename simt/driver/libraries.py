"""Loaded modules and their kernels: the program that runs, and what the real cubin says about it."""
from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING

from simt.driver import cubin
from simt.driver.errors import INVALID_HANDLE, NOT_FOUND, DriverError
from simt.driver.handles import Handles
from simt.driver.image import Image
from simt.driver.native import Gather
from simt.driver.session import current
from simt.model.device import WARP_SIZE
from simt.model.occupancy import occupancy

if TYPE_CHECKING:
    from simt.runtime.program import KernelSpec, Program

MAX_DYNAMIC_SHARED, CARVEOUT = 8, 9  # CU_FUNC_ATTRIBUTE_*


class Library:
    """One loaded module."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.cc = current().device.compute_capability
        self.program: Program = current().load(image.ptx)
        self.handle = LIBRARIES.add(self)
        self._kernels: dict[str, Kernel] = {}

    @functools.cached_property
    def machine_code(self) -> tuple[bytes | None, str]:
        """(cubin, linker's words); a module loaded as text is linked when somebody asks, and may have no cubin."""
        image = self.image
        return cubin.linked(image.ptx, self.cc) if image.cubin is None else (image.cubin, image.log)

    @functools.cached_property
    def facts(self) -> dict[str, cubin.Facts]:
        """Resources by kernel."""
        code, log = self.machine_code
        return {} if code is None else cubin.facts(code, log, self.cc)

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name; raises CUDA_ERROR_NOT_FOUND."""
        if name not in self.program.kernels:
            raise DriverError(NOT_FOUND, f"the module has no kernel {name}")
        if name not in self._kernels:
            self._kernels[name] = Kernel(self, name)
        return self._kernels[name]

    def kernels(self) -> list[Kernel]:
        return [self.kernel(name) for name in self.program.kernels]

    def unload(self) -> None:
        """Drop the module, its kernels and its variables."""
        LIBRARIES.remove(self.handle)
        for kernel in self._kernels.values():
            KERNELS.remove(kernel.handle)
        self.program.close()


class Kernel:
    """One kernel of a library.

    settings: attributes that the program set (cuKernelSetAttribute), by number
    accepted: launch shapes that passed every check, with the device that they were checked for
    gather:   collects the arguments of a launch
    """

    def __init__(self, library: Library, name: str) -> None:
        self.library = library
        self.name = name
        self.spec: KernelSpec = library.program.kernels[name]
        self.settings: dict[int, int] = {}
        self.accepted: set[tuple] = set()
        self.gather = Gather([(param.offset, param.size) for param in self.spec.params], self.spec.param_bytes)
        self.handle = KERNELS.add(self)

    @functools.cached_property
    def facts(self) -> cubin.Facts:
        return self.library.facts.get(self.name) or cubin.Facts(
            local_bytes=self.spec.local_bytes, static_shared_bytes=self.spec.static_shared_bytes
        )

    @property
    def dynamic_shared_limit(self) -> int:
        """Dynamic shared bytes that a launch may ask for: 48 KiB with the static ones, unless the program raised it."""
        default = current().device.shared_bytes_per_block - self.facts.static_shared_bytes
        return max(default, self.settings.get(MAX_DYNAMIC_SHARED, 0))

    @property
    def launch_bound(self) -> int:
        """Threads per block that the kernel was compiled for (``launch_bounds``), or what any kernel may have."""
        bounds = self.library.program.module.functions[self.name].directives.get("maxntid")
        return math.prod(bounds) if bounds else current().device.threads_per_block

    @property
    def max_threads_per_block(self) -> int:
        """What launch bounds and, in whole warps, the registers of a multiprocessor allow."""
        warps = current().device.threads_per_block // WARP_SIZE
        while warps and not self.blocks_per_sm(warps * WARP_SIZE, 0):
            warps -= 1
        return min(warps * WARP_SIZE, self.launch_bound)

    def blocks_per_sm(self, threads_per_block: int, dynamic_shared_bytes: int) -> int:
        """Blocks of that shape that a multiprocessor holds; 0 where not even one can start."""
        shared = self.facts.static_shared_bytes + dynamic_shared_bytes
        return occupancy(current().device, threads_per_block, self.facts.registers, shared).blocks_per_sm


LIBRARIES: Handles[Library] = Handles("library")
KERNELS: Handles[Kernel] = Handles("kernel")


@dataclasses.dataclass(frozen=True, slots=True)
class GlobalVariable:
    """A module variable in device memory."""

    address: int
    size: int


def global_variable(library: Library, name: str) -> GlobalVariable:
    """A variable by its name; raises CUDA_ERROR_NOT_FOUND."""
    try:
        return GlobalVariable(*library.program.globals[name])
    except KeyError:
        raise DriverError(NOT_FOUND, f"the module has no variable {name}") from None


def one_kernel(handle: int) -> Kernel:
    """The kernel of a handle; raises CUDA_ERROR_INVALID_HANDLE, also for null."""
    if not handle:
        raise DriverError(INVALID_HANDLE, "a null kernel handle")
    return KERNELS.get(handle)
