"""Modelled times add up over launches; measured ones are the median of event pairs after warm-up."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from workbook import timing


class FakeCuda:
    """The events of numba.cuda on a clock that only `work` moves."""

    now_ms = 0.0

    def event(self):
        moment = SimpleNamespace(at=None, synchronize=lambda: None)
        moment.record = lambda: setattr(moment, "at", self.now_ms)
        return moment

    def event_elapsed_time(self, start, end):
        return end.at - start.at


@pytest.mark.parametrize(
    ("run_ms", "samples"),
    [(0.001, timing.MAX_SAMPLES), (10.0, timing.ENOUGH_NS // 10_000_000), (900.0, timing.MIN_SAMPLES)],
)
def test_short_runs_are_sampled_more_often_than_long_ones(run_ms, samples):
    cuda, runs = FakeCuda(), []

    def run():
        runs.append(1)
        cuda.now_ms += run_ms

    measured = timing.measured(run, cuda)
    assert len(measured.samples_ns) == samples and len(runs) == timing.WARM_UPS + samples
    assert measured.kind == "measured" and measured.time_ns == pytest.approx(run_ms * 1e6)


def test_the_median_ignores_one_slow_run():
    cuda = FakeCuda()
    runs = iter([900.0] * timing.WARM_UPS + [500.0] + [100.0] * 100)

    def run():
        cuda.now_ms += next(runs)

    measured = timing.measured(run, cuda)
    assert measured.time_ns == 100_000_000 and max(measured.samples_ns) == 500_000_000


def test_modelled_times_add_up_over_launches(monkeypatch):
    launches = [SimpleNamespace(time_ns=1500.0), SimpleNamespace(time_ns=500.0)]
    asked = {}

    @contextlib.contextmanager
    def profile(**options):
        asked.update(options)
        yield SimpleNamespace(launches=launches)

    monkeypatch.setattr("simt.profile", profile)
    modelled = timing.modelled(lambda: None)
    assert (modelled.kind, modelled.time_ns, modelled.launches) == ("modelled", 2000.0, tuple(launches))
    assert asked == {"sample": timing.ONE_BLOCK_IN, "execute": "sampled"}


def test_a_step_without_launches_has_no_time(monkeypatch):
    monkeypatch.setattr("simt.profile", lambda **options: contextlib.nullcontext(SimpleNamespace(launches=[])))
    with pytest.raises(RuntimeError, match="launched no kernel"):
        timing.modelled(lambda: None)
