"""Grids that synchronise as a whole: every launch runs all of its blocks, counted or not."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import simt
from simt.observe import names

pytestmark = pytest.mark.usefixtures("emulated")
BLOCKS, THREADS = 8, 64


@cuda.jit
def twice(first, out, rounds):
    i = cuda.grid(1)
    for _ in range(rounds):
        first[i] += 1
    cuda.cg.this_grid().sync()
    out[i] = first[(i + 64) % first.size] + 1


def run(rounds):
    first = cuda.to_device(np.zeros(BLOCKS * THREADS, np.int32))
    out = cuda.device_array_like(first)
    twice[BLOCKS, THREADS](first, out, rounds)
    return out.copy_to_host()


@pytest.mark.parametrize("rounds", [1, 4000])           # short enough for the launching thread, and longer
@pytest.mark.parametrize("threads", ["1", "2"])
def test_every_launch_runs_every_block(monkeypatch, rounds, threads):
    monkeypatch.setenv("SIMT_THREADS", threads)
    for _ in range(6):
        assert (run(rounds) == rounds + 1).all()


@pytest.mark.parametrize("options", [{"sample": "all"}, {"sample": "all", "check": "race,init,sync"}])
def test_every_counted_launch_counts_the_same(options):
    stores = []
    for _ in range(3):
        with simt.profile(**options) as profile:
            assert (run(1) == 2).all()
        assert profile.findings == []
        stores.append(profile.launches[0].counters[names.GLOBAL_REQUESTS_ST])
    assert stores == [stores[0]] * 3 and stores[0] >= 2 * BLOCKS * THREADS // 32
