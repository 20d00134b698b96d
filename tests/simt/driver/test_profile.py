"""simt.profile: counters and modelled time of every launch inside."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import simt
from simt.observe import names


def test_each_launch_inside_has_its_profile(increment, cells):
    increment[1, 64](cells)
    with simt.profile() as profile:
        increment[1, 64](cells)
        increment[2, 32](cells)
    increment[1, 64](cells)
    first, second = profile.launches
    assert (first.grid, first.block, second.grid) == ((1, 1, 1), (64, 1, 1), (2, 1, 1))
    assert first.counters[names.GLOBAL_REQUESTS_LD] == 2
    assert first.counters[names.GLOBAL_BYTES_REQUESTED_ST] == 256
    assert first.static_shared_bytes == 256 and first.registers > 0
    assert first.device == simt.device().name
    assert first.time_ns > 0 and first.bound_by in first.terms
    assert any(path.endswith("conftest.py") for path, _ in first.lines)


def test_profiles_inside_each_other_both_see_a_launch(increment, cells):
    with simt.profile() as outer, simt.profile("all") as inner:
        increment[1, 64](cells)
    assert len(outer.launches) == len(inner.launches) == 1


def test_sampling_counts_some_blocks_and_runs_all_of_them(increment):
    target = cuda.to_device(np.zeros(64 * 256, np.float32))
    with simt.profile(sample=16) as profile:
        increment[256, 64](target)
    launch, = profile.launches
    assert launch.sampled and launch.blocks_counted < launch.blocks_total == 256
    assert launch.counters[names.GLOBAL_BYTES_REQUESTED_ST] == target.nbytes
    assert (target.copy_to_host() == 1).all()


def test_only_the_counted_blocks_run_when_asked(increment):
    target = cuda.to_device(np.zeros(64 * 256, np.float32))
    with simt.profile(sample=16, execute="sampled") as profile:
        increment[256, 64](target)
    assert (target.copy_to_host() == 1).sum() == 64 * profile.launches[0].blocks_counted


@pytest.mark.parametrize("wrong", [{"sample": "some"}, {"sample": 0}, {"sample": True}, {"execute": "none"}])
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        simt.profile(**wrong)


def test_without_the_emulated_device_there_is_nothing_to_count(monkeypatch):
    from simt.driver import enable

    monkeypatch.setattr(enable._State, "backend", "gpu")
    with pytest.raises(RuntimeError, match="the backend is 'gpu'"), simt.profile():
        pass
