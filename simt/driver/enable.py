"""Turning the emulated device on, and what the whole process has to know about it.

Importing this module loads nothing else: with SIMT unset it must cost nothing.
"""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simt.model.device import Device

MODES = ("auto", "force", "off")
DEFAULT_DEVICE = "h100"
SONAME = "libcuda.so.1"


class _State:
    """backend: "gpu", "emulated" or "off"; device_name: what ``device`` loads while nothing is emulated yet."""

    backend = "off"
    device_name = ""


def enable(mode: str = "auto", *, quiet: bool = False) -> str:
    """Let numba find a CUDA device, with or without a GPU, before or after ``import numba.cuda``.

    mode:  "auto" uses a usable GPU and emulates one where there is none; "force" emulates in any case; "off" does
           nothing. The environment variable SIMT, where set, takes the place of "auto".
    quiet: no line on stderr. SIMT_QUIET=1 does the same.
    Returns the backend in use: "gpu", "emulated" or "off". Raises ValueError for an unknown mode or device
    (SIMT_DEVICE), and RuntimeError when it comes too late: the process talks to a real driver already.
    """
    wanted = _mode(mode)
    if _State.backend == "emulated":
        if wanted == "off":
            raise RuntimeError("the emulated device stays for the life of the process: start a new one for SIMT=off")
        return _State.backend
    if wanted == "off":
        return _State.backend
    reason = "forced"
    if wanted == "auto":
        from simt.driver.probe import why_no_gpu

        reason = why_no_gpu()
        if not reason:
            _State.backend = "gpu"
            return _State.backend
    _install()
    _State.backend = "emulated"
    if not (quiet or os.environ.get("SIMT_QUIET")):
        print(f"simt: emulated {device().name.upper()} ({reason}); times are modelled, not measured", file=sys.stderr)
    return _State.backend


def backend() -> str:
    """What kernels run on: "gpu", "emulated", or "off" before ``enable``."""
    return _State.backend


def device() -> Device:
    """The modelled device: its numbers stand in simt/model/devices."""
    from simt.driver import session
    from simt.model.device import load

    return session.current().device if session.exists() else load(_device_name())


def set_device(name: str) -> None:
    """Model another device: in attributes and in the time of later launches.

    Raises ValueError for an unknown name, and when a program has used the device and the other one has a different
    compute capability: numba has compiled for the old one by then. ``simt.model.retime`` works in any case.
    """
    from simt.driver import session
    from simt.model.device import load

    chosen = load(name)
    if session.exists():
        now = session.current()
        if now.context_made and chosen.compute_capability != now.device.compute_capability:
            raise ValueError(
                f"{name} has compute capability {_dotted(chosen)}, and this process has compiled for "
                f"{_dotted(now.device)}: set SIMT_DEVICE={name} or call simt.set_device before the first use of cuda"
            )
        now.replace_device(chosen)
    _State.device_name = name


def _mode(mode: str) -> str:
    if mode not in MODES:
        raise ValueError(f"simt.enable({mode!r}): the modes are {', '.join(MODES)}")
    setting = os.environ.get("SIMT", "")
    if mode != "auto" or not setting:
        return mode
    if setting not in MODES:
        raise ValueError(f"SIMT={setting}: the modes are {', '.join(MODES)}")
    return setting


def _device_name() -> str:
    return _State.device_name or os.environ.get("SIMT_DEVICE", "") or DEFAULT_DEVICE


def _dotted(part: Device) -> str:
    return ".".join(map(str, part.compute_capability))


def _install() -> None:
    """Put the driver into the process and arrange for the changes to numba."""
    from simt.driver import elf, entry, imports, patches, session
    from simt.model.device import load

    session.begin(load(_device_name()))
    library = elf.load(SONAME, entry.exports())
    entry.make_sure_it_is_found(SONAME, library)
    entry.refuse_if_taken()
    imports.after_import(patches.by_module())
    for package in patches.NUMBA_PACKAGES:
        if module := sys.modules.get(f"{package}.cudadrv.driver"):
            patches.wake(module)
