"""Is there a GPU that this environment can use? Asked outside this process: a driver, once loaded, stays loaded."""
from __future__ import annotations

import collections
import glob
import os
import subprocess
import sys

NO_GPU = "no CUDA GPU found"
TIMEOUT_S = 20.0
# Device nodes of NVIDIA's driver: Linux, WSL, Tegra. Without any of them there is nothing to load.
DEVICE_NODES = ("/dev/nvidiactl", "/dev/nvidia[0-9]*", "/dev/dxg", "/dev/nvhost-ctrl*", "/dev/nvgpu*")
OLDEST_DRIVER = 13_000  # the toolkit of numba-cuda[cu13] refuses older ones
OLDEST_CC = 75

_QUESTION = """
import ctypes, sys
number = ctypes.c_int()
def ask(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"{name} failed with CUDA error {code}")
    return number.value
cuda = ctypes.CDLL("libcuda.so.1")
out = ctypes.byref(number)
version = ask("cuDriverGetVersion", out)
ask("cuInit", 0)
count = ask("cuDeviceGetCount", out)
major = ask("cuDeviceGetAttribute", out, 75, 0) if count else 0
minor = ask("cuDeviceGetAttribute", out, 76, 0) if count else 0
print(version, count, 10 * major + minor)
"""

# driver_version: 13_000 for CUDA 13.0; cc: compute capability of the first of ``devices``, 90 for 9.0
Answer = collections.namedtuple("Answer", "driver_version devices cc")


def why_no_gpu() -> str:
    """"" when a real GPU is usable; else the reason in a few words, for the banner."""
    answer = ask()
    return answer if isinstance(answer, str) else judge(*answer)


def ask() -> Answer | str:
    """What the CUDA driver says of itself, or in a few words why it says nothing."""
    if not any(glob.glob(pattern) for pattern in DEVICE_NODES):
        return NO_GPU
    try:
        answer = subprocess.run(
            [sys.executable, "-S", "-c", _QUESTION], capture_output=True, text=True, timeout=TIMEOUT_S,
            env=os.environ | {"SIMT": "off"}, check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the CUDA driver did not answer within {TIMEOUT_S:.0f} s"
    if answer.returncode:
        return "no usable CUDA GPU: " + (answer.stderr.strip().splitlines() or ["the CUDA driver crashed"])[-1]
    return Answer(*map(int, answer.stdout.split()))


def judge(driver_version: int, devices: int, cc: int) -> str:
    """"" when kernels can run on that driver's GPU; else the reason."""
    if not devices:
        return NO_GPU
    if driver_version < OLDEST_DRIVER:
        return f"the GPU's driver speaks CUDA {driver_version // 1000}.{driver_version % 1000 // 10}, 13.0 is needed"
    if cc < OLDEST_CC:
        return f"the GPU has compute capability {cc // 10}.{cc % 10}, 7.5 is needed"
    return ""
