"""Compiles a kernel, runs it where kernels would run here, and looks at what was loaded for that.

A process of its own (`python -m workbook.doctor.trial`), since a broken driver or compiler may take its process along.
Tells what it knows as soon as it knows it: one line of JSON each.
"""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any

from workbook.doctor.finding import one_line
from workbook.doctor.machine import MARK

BLOCKS, BLOCK = 16, 64
LIBRARIES = re.compile(r"(?:libcuda|libnvvm|libnvJitLink|libnvrtc)\.so")


def tell(**facts: Any) -> None:
    print(MARK + json.dumps(facts), flush=True)


def mapped() -> list[str]:
    """Paths of the CUDA driver's and compiler's libraries that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        paths = {line.split(maxsplit=5)[5].strip() for line in file if line.count("/")}
    return sorted(path for path in paths if LIBRARIES.match(_file_name(path)))


def _file_name(path: str) -> str:
    return os.path.basename(path).removeprefix("memfd:")


def look() -> None:
    """Raises whatever goes wrong."""
    import simt

    backend = simt.enable("auto", quiet=True)
    tell(backend=backend)
    began = time.perf_counter()
    from numba import cuda

    provider = getattr(cuda, "implementation", "")
    tell(import_s=time.perf_counter() - began, cuda_file=cuda.__file__, provider=provider)
    _toolkit()
    kernel = _kernel(cuda)
    _compile(cuda, kernel)
    if backend != "off":
        _run(cuda, kernel)


def _toolkit() -> None:
    """Which of the toolkits on this machine numba-cuda takes its compiler from; numba's own target has no such list."""
    try:
        from numba.cuda.cuda_paths import get_cuda_paths
    except ImportError:
        return
    tell(toolkit={part: [str(found.by), str(found.info)] for part, found in get_cuda_paths().items()})


def _kernel(cuda: Any) -> Any:
    @cuda.jit
    def double_and_reverse_blocks(x, y):
        tile = cuda.shared.array(BLOCK, "float32")
        i = cuda.grid(1)
        tile[cuda.threadIdx.x] = x[i]
        cuda.syncthreads()
        y[i] = 2 * tile[BLOCK - 1 - cuda.threadIdx.x]

    return double_and_reverse_blocks


def _compile(cuda: Any, kernel: Any) -> None:
    from numba import types

    vector = types.float32[::1]
    ptx, _ = cuda.compile_ptx(kernel.py_func, (vector, vector), cc=(7, 5))
    version, release = re.search(r"^\.version (\S+)", ptx, re.MULTILINE), re.search(r"release [\d.]+, V([\d.]+)", ptx)
    tell(ptx_version=version[1], compiler_version=release[1] if release else "")


def _run(cuda: Any, kernel: Any) -> None:
    import numpy as np

    x = np.arange(BLOCKS * BLOCK, dtype=np.float32)
    began = time.perf_counter()
    on_device, y = cuda.to_device(x), cuda.device_array_like(x)
    kernel[BLOCKS, BLOCK](on_device, y)
    result = y.copy_to_host()
    first_s, began = time.perf_counter() - began, time.perf_counter()
    kernel[BLOCKS, BLOCK](on_device, y)
    cuda.synchronize()
    again_s = time.perf_counter() - began
    expected = 2 * x.reshape(BLOCKS, BLOCK)[:, ::-1].ravel()
    tell(first_s=first_s, again_s=again_s, cells=x.size, wrong_cells=int((result != expected).sum()))


if __name__ == "__main__":
    try:
        look()
    except Exception as error:
        tell(error=one_line(error), notes=[" ".join(note.split()) for note in getattr(error, "__notes__", ())])
    tell(mapped=mapped())
