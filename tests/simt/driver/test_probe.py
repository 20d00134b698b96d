"""Whether a real GPU is usable is asked quickly and outside the process."""
from __future__ import annotations

import time

import pytest

from simt.driver import probe


def test_without_device_nodes_nothing_is_started(monkeypatch, tmp_path):
    monkeypatch.setattr(probe, "DEVICE_NODES", (str(tmp_path / "nvidia*"),))
    monkeypatch.setattr(probe.subprocess, "run", lambda *_, **__: pytest.fail("a process was started"))
    start = time.perf_counter()
    assert probe.why_no_gpu() == "no CUDA GPU found"
    assert time.perf_counter() - start < 0.1


def test_a_node_without_a_driver_is_no_gpu(monkeypatch, tmp_path):
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(probe, "DEVICE_NODES", (str(tmp_path / "nvidia*"),))
    monkeypatch.setattr(probe, "_QUESTION", probe._QUESTION.replace("libcuda.so.1", "libcuda-of-nobody.so.1"))
    assert probe.why_no_gpu().startswith("no usable CUDA GPU: OSError: libcuda-of-nobody.so.1")


def test_a_driver_that_hangs_is_given_up(monkeypatch, tmp_path):
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(probe, "DEVICE_NODES", (str(tmp_path / "nvidia*"),))
    monkeypatch.setattr(probe, "_QUESTION", "import time; time.sleep(30)")
    monkeypatch.setattr(probe, "TIMEOUT_S", 0.2)
    assert "did not answer" in probe.why_no_gpu()


@pytest.mark.parametrize("answer, reason", [
    ((13_000, 1, 75), ""),
    ((13_050, 8, 100), ""),
    ((13_000, 0, 0), "no CUDA GPU found"),
    ((12_040, 1, 90), "the GPU's driver speaks CUDA 12.4, 13.0 is needed"),
    ((13_000, 1, 61), "the GPU has compute capability 6.1, 7.5 is needed"),
])
def test_a_gpu_is_used_if_driver_and_part_are_new_enough(answer, reason):
    assert probe.judge(*answer) == reason
