"""Every test runs on the emulated device unless SIMT says otherwise, and takes its random inputs from one seed.

The seed is random for each run unless SEED is set; the header and the failures of tests that used it print it. It also chooses
which of the tests marked `many` run.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
from collections.abc import Iterator

import pytest

import simt

EVERYTHING = bool(os.environ.get("EVERYTHING"))
ONE_IN = 4
SEED = int(os.environ["SEED"]) if os.environ.get("SEED") else secrets.randbits(32)


def pytest_configure() -> None:
    os.environ["SEED"] = str(SEED)          # processes that share the tests, and those that tests start, share the seed
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:       # as a shell leaves it for what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    simt.enable("auto" if os.environ.get("SIMT") else "force", quiet=True)


def pytest_report_header() -> list[str]:
    many = "all" if EVERYTHING else f"one in {ONE_IN}, another part with each seed; EVERYTHING=1 runs all"
    return [f"device: {simt.backend()}", f"seed: {SEED} (repeat with SEED={SEED})", f"tests marked many: {many}"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests marked `many`, which compile a kernel each, a part that the seed chooses."""
    if EVERYTHING:
        return
    left_out = [item for item in items if item.get_closest_marker("many") and _number(item.nodeid) % ONE_IN]
    without = set(left_out)
    items[:] = [item for item in items if item not in without]
    config.hook.pytest_deselected(items=left_out)


def _number(nodeid: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{SEED} {nodeid}".encode()).digest()[:8], "big")


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
