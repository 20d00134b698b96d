"""What steps run on: the emulated device or a real GPU, with its memory and its kind of time."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from workbook import timing

if TYPE_CHECKING:
    import numpy as np

    from simt.model.device import Device
    from simt.observe.profile import LaunchProfile


class Target(Protocol):
    """`key` names it in files and records; `device` holds the facts of its model, where there is one."""

    kind: timing.Kind
    key: str
    title: str
    device: Device | None
    stream: Any

    def upload(self, array: np.ndarray) -> Any: ...
    def download(self, buffer: Any) -> np.ndarray: ...
    def empty(self, shape: tuple[int, ...], dtype: str) -> Any: ...
    def synchronize(self) -> None: ...
    def order(self, schedule: str) -> contextlib.AbstractContextManager[None]: ...
    def time(self, run: Callable[[], None]) -> timing.Timing: ...
    def roof_gflops(self, flops: int, minimum_bytes: int, dtype: str) -> float | None: ...
    def occupancy_percent(self, launch: LaunchProfile) -> float | None: ...


class CudaTarget:
    """Memory through numba.cuda, on whichever device is current; everything on the default stream."""

    stream = 0
    device: Device | None

    def __init__(self) -> None:
        from numba import cuda

        # Tiny cases underfill the device on purpose.
        warnings.filterwarnings("ignore", message="Grid size .* under-utilization")
        self.cuda = cuda

    def upload(self, array: np.ndarray) -> Any:
        return self.cuda.to_device(array)

    def download(self, buffer: Any) -> np.ndarray:
        return buffer.copy_to_host()

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        return self.cuda.device_array(shape, dtype)

    def synchronize(self) -> None:
        self.cuda.synchronize()

    def order(self, schedule: str) -> contextlib.AbstractContextManager[None]:
        """Run blocks and warps "forward" or in "reverse"; a real GPU chooses its own order."""
        return contextlib.nullcontext()

    def roof_gflops(self, flops: int, minimum_bytes: int, dtype: str) -> float | None:
        """min(peak, bandwidth x FLOP / minimum bytes); None for a GPU whose facts are not on file."""
        if self.device is None:
            return None
        from simt.model import roofline

        return roofline(self.device, flops, minimum_bytes, 1.0, dtype).roof_gflops

    def occupancy_percent(self, launch: LaunchProfile) -> float | None:
        """Theoretical occupancy of one launch."""
        if self.device is None:
            return None
        from simt.model import occupancy

        return occupancy(self.device, launch.threads_per_block, launch.registers, launch.shared_bytes).percent


class Emulated(CudaTarget):
    """The emulated device: exact counters, modelled time."""

    kind: timing.Kind = "modelled"

    def __init__(self, device: Device) -> None:
        super().__init__()
        self.device = device
        self.key = device.name
        self.title = f"modelled on {device.title}; the model's error is not validated yet"

    @contextlib.contextmanager
    def order(self, schedule: str) -> Iterator[None]:
        """Set SIMT_SCHEDULE, unless the reader has."""
        if "SIMT_SCHEDULE" in os.environ:
            yield
            return
        os.environ["SIMT_SCHEDULE"] = schedule
        try:
            yield
        finally:
            del os.environ["SIMT_SCHEDULE"]

    def time(self, run: Callable[[], None]) -> timing.Timing:
        return timing.modelled(run)


class RealGpu(CudaTarget):
    """A usable GPU: measured time, no counters."""

    kind: timing.Kind = "measured"

    def __init__(self) -> None:
        super().__init__()
        name = self.cuda.get_current_device().name
        name = name.decode() if isinstance(name, bytes) else name
        self.gpu = name
        self.key = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        self.title = f"measured on {name} with CUDA events, median of at least {timing.MIN_SAMPLES} runs"
        self.device = facts_for(self.key)

    def time(self, run: Callable[[], None]) -> timing.Timing:
        return timing.measured(run, self.cuda)


def facts_for(key: str) -> Device | None:
    """The modelled device that a product name such as nvidia-geforce-rtx-4090 means."""
    from simt import model

    words = key.split("-")
    spellings = {*words, *(first + second for first, second in zip(words, words[1:], strict=False))}
    known = spellings & set(model.names())
    return model.load(known.pop()) if len(known) == 1 else None


def choose(device_name: str | None) -> Target:
    """Enable a device and open it. A named device is always emulated; otherwise a usable GPU wins, as SIMT= says.

    Raises ValueError for a name or setting that does not exist, RuntimeError where there is no device.
    """
    import simt

    if device_name is not None:
        simt.set_device(device_name)
    backend = simt.enable("auto" if device_name is None else "force")
    if backend == "off":
        raise RuntimeError("no device to run on: SIMT=off switches the emulated one off; unset it, or set SIMT=auto")
    return RealGpu() if backend == "gpu" else Emulated(simt.device())
