"""Every test runs on the emulated device unless SIMT says otherwise, and takes its random inputs from one seed.

The seed is random for each run unless SEED is set; the header and the failures of tests that used it print it.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator

import pytest

import simt

SEED = int(os.environ["SEED"]) if os.environ.get("SEED") else secrets.randbits(32)


def pytest_configure() -> None:
    os.environ["SEED"] = str(SEED)          # processes that share the tests, and those that tests start, share the seed
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:       # as a shell leaves it for what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    simt.enable("auto" if os.environ.get("SIMT") else "force", quiet=True)


def pytest_report_header() -> list[str]:
    return [f"device: {simt.backend()}", f"seed: {SEED} (repeat with SEED={SEED})"]


@pytest.fixture
def seed() -> int:
    """Seed for this run's random inputs."""
    return SEED


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the emulated device: skips them on another one; small grids and host arrays on purpose are not warned of."""
    if simt.backend() != "emulated":
        pytest.skip("these are tests of the emulated device: run them with SIMT=force")
    from numba.cuda.core import config

    monkeypatch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", 0)
    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.failed and "seed" in getattr(item, "fixturenames", ()):
        report.sections.append(("seed", f"repeat with SEED={SEED}"))
    return report
