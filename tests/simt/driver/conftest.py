"""What the driver's tests share: two kernels, and a way to look at the driver as another device."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from numba import cuda

from simt.driver import session
from simt.model.device import load


@pytest.fixture(autouse=True)
def on_the_emulated_device(emulated: None) -> None:
    """All tests of this folder are."""


@pytest.fixture(scope="session")
def shift():
    """shift[grid, block](source, target): target[i + 1] = source[i], one past the end in the last thread."""

    @cuda.jit
    def shift(source, target):
        index = cuda.grid(1)
        target[index + 1] = source[index]

    return shift


@pytest.fixture(scope="session")
def increment():
    """increment[grid, block, stream, dynamic shared bytes](target): adds one to every cell."""

    @cuda.jit
    def increment(target):
        tile = cuda.shared.array(64, np.float32)
        extra = cuda.shared.array(0, np.float32)
        index = cuda.grid(1)
        if index < target.size:
            tile[cuda.threadIdx.x] = target[index] + 1
            if target.size < 0:
                extra[0] = tile[0]
            target[index] = tile[cuda.threadIdx.x]

    return increment


@pytest.fixture
def cells():
    """64 zeros on the device."""
    return cuda.to_device(np.zeros(64, np.float32))


@pytest.fixture
def as_device(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """``as_device("t4")``: driver functions answer for that part until the test ends."""

    def become(name: str) -> None:
        monkeypatch.setattr(session, "_session", session.Session(load(name)))

    return become


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess]:
    """``python(code, SIMT="force")`` runs code in a new interpreter with those variables."""
    def run(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess:
        base = {key: value for key, value in os.environ.items() if not key.startswith("SIMT")}
        base["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        return subprocess.run(
            [sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=120, env=base | environment
        )

    return run
