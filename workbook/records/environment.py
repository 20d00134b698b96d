"""What a record was made with: versions of the compilers, and on a real GPU its host, driver, clocks and temperature."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from importlib import metadata
from typing import Any

PACKAGES = {"numba": "numba", "numba_cuda": "numba-cuda", "nvvm": "nvidia-nvvm", "nvjitlink": "nvidia-nvjitlink"}
"""The compilers whose version decides what a kernel becomes: {field of "env": package}."""

QUESTION_TIMEOUT_S = 20.0


def compilers() -> dict[str, str | None]:
    """Versions of Python and of PACKAGES; None for one that pip does not know."""
    return {"python": platform.python_version(), **{field: _version(package) for field, package in PACKAGES.items()}}


def of_gpu(cuda: Any, gpu: str) -> dict[str, str | None]:
    """`compilers()`, the driver, CUDA's version, and which GPU of which host. `cuda` is the module numba.cuda."""
    return {
        **compilers(),
        "driver": _smi("driver_version", cuda),
        "cuda": ".".join(str(part) for part in cuda.runtime.get_version()),
        "gpu": gpu,
        "host": host(),
    }


def host() -> str:
    """Tells one machine from another without naming it."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:12]


def conditions(cuda: Any) -> dict[str, Any]:
    """Clocks and temperature at this moment, None where nvidia-smi does not say."""
    answers = {field: _smi(field, cuda) for field in ("clocks.sm", "clocks.mem", "temperature.gpu")}
    sm, memory, temperature = (int(text) if text and text.isdigit() else None for text in answers.values())
    return {"clocks_mhz": {"sm": sm, "memory": memory}, "temperature_c": temperature}


def _smi(field: str, cuda: Any) -> str | None:
    """One of nvidia-smi's fields for the current GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    which = str(getattr(cuda.get_current_device(), "uuid", "") or "0")
    command = [program, f"--query-gpu={field}", "--format=csv,noheader,nounits", f"--id={which}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUESTION_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip().partition("\n")[0] or None if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
