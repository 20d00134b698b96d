"""What notebooks call: steps that run and are compared, predictions, tables and pictures."""

from __future__ import annotations

import numpy as np
import pytest

import simt
from simt.observe import names
from workbook import notebook

pytestmark = pytest.mark.skipif(simt.backend() != "emulated", reason="only the emulated device counts")


@pytest.fixture(scope="module")
def coalesced():
    return notebook.run("matmul/coalesced", m=32, n=64, k=16)


def test_a_run_is_right_and_has_its_counters(coalesced):
    assert coalesced.correct and coalesced.wrong == {}
    assert coalesced.outputs["c"].shape == (32, 64)
    # 64 warps and 16 steps of k: a sector of A and four of B.
    assert coalesced.counters[names.GLOBAL_REQUESTS_LD] == 64 * 16 * 2
    assert coalesced.counters[names.GLOBAL_SECTORS_LD] == 64 * 16 * 5
    assert coalesced.sectors_per_request == 2.5 and coalesced.bank_conflicts == 0
    assert coalesced.time_ns > 0 and coalesced.findings == []


def test_a_wrong_result_is_counted_by_output(monkeypatch, coalesced):
    from kernels.ladder import load_step

    step = load_step("matmul/coalesced")
    monkeypatch.setattr(step.module, "run", lambda buffers, stream: buffers["c"].copy_to_device(np.zeros((2, 3), np.float32)))
    assert notebook.run("matmul/coalesced", m=2, n=3, k=4).wrong == {"c": 6}


def test_sizes_of_other_axes_are_refused():
    with pytest.raises(ValueError, match="matmul takes the sizes m, n, k, not rows"):
        notebook.run("matmul/naive", rows=3)


@pytest.mark.parametrize(("guess", "said"), [
    (32, "sectors: you said 32.0, and that is what was counted"),
    (4, "sectors: you said 4.00, counted 32.0, 8.00x your number"),
    (0, "sectors: you said 0.00, counted 32.0"),
])
def test_a_guess_is_compared(guess, said, capsys):
    notebook.compare("sectors", guess, 32.0)
    assert capsys.readouterr().out == f"{said}\n"


@pytest.mark.parametrize("guess", [..., None])
def test_without_a_guess_the_answer_is_not_told(guess, capsys):
    notebook.compare("sectors", guess, 32.0)
    said = capsys.readouterr().out
    assert "write your guess first" in said and not any(letter.isdigit() for letter in said)


def test_times_say_size_types_device_and_kind_and_are_relative_to_the_rows_shown():
    times = notebook.time("matmul", ["coalesced", "register_1d"], m=64, n=64, k=64)
    assert [row.step for row in times] == ["matmul/coalesced", "matmul/register_1d"]
    assert (times[0].speedup_first, times[0].speedup_previous) == (1, None)  # tiled lies between them and naive below
    ratio = times["coalesced"].time_ns / times["register_1d"].time_ns
    assert times[1].speedup_first == times[1].speedup_previous == ratio
    shown = notebook.table(times).data
    assert f"matmul at m=64 n=64 k=64, float32, modelled on {simt.device().title}" in shown
    assert all(f">{head}</th>" in shown for head in ("time, modelled", "x coalesced", "x row above"))
    bars = notebook.speedup_bars(times)
    assert len(bars.axes[0].patches) == 2 and "float32, modelled" in bars.get_suptitle().replace("\n", " ")


def test_types_that_go_in_and_come_out_are_told_where_they_differ():
    times = notebook.time("int8_matmul", ["naive"], m=32, n=32, k=32)
    assert "int8_matmul at m=32 n=32 k=32, int8, float32 to float32, modelled" in times.title


def test_recorded_times_are_the_records_and_run_nothing(monkeypatch):
    from workbook.notebook import timings
    from workbook.records import stale

    monkeypatch.setattr(stale, "reasons", lambda document, run: [])
    monkeypatch.setattr(timings, "time", None)
    times = notebook.recorded("matmul", ["naive", "double_buffer"])
    assert times.title.startswith("matmul at m=4096 n=4096 k=4096, float32, modelled on NVIDIA H100 SXM5 80 GB, as recorded in")
    assert times[1].speedup_previous == times[0].time_ns / times[1].time_ns
    assert times[1].counters[names.FLOPS_FP32] == 2 * 4096**3 and times[0].sectors_per_request_ld == 16.5
    assert times[1].theoretical_occupancy_percent == 100 * 8 / 64  # 187 registers: two blocks of 4 warps


def test_a_stale_record_is_timed_anew(monkeypatch, capsys):
    from workbook.notebook import timings
    from workbook.records import stale

    monkeypatch.setattr(stale, "reasons", lambda document, run: ["the code changed"])
    monkeypatch.setattr(timings, "time", lambda ladder, steps: (ladder, steps))
    assert notebook.recorded("matmul", ["naive"]) == ("matmul", ["naive"])
    assert "the record of matmul on h100 is missing or stale: timed anew" in capsys.readouterr().out


def test_published_figures_have_their_source():
    shown = notebook.published("matmul", "a6000").data
    assert "measured by others on NVIDIA RTX A6000" in shown and "GFLOP/s, measured" in shown and "siboehm" in shown
    with pytest.raises(LookupError, match="no matmul on t4"):
        notebook.published("matmul", "t4")


def test_an_access_map_is_of_the_line_asked_for(coalesced):
    assert notebook.access_map(coalesced).axes
    with pytest.raises(ValueError, match=r"matmul/coalesced has no load of global memory at line 1; it has such at lines \["):
        notebook.access_map(coalesced, line=1)


def test_sources_are_shown_as_they_stand():
    assert "col, row = cuda.grid(2)" in notebook.show("matmul/coalesced").data
    assert "Why faster:" in notebook.show("matmul/coalesced", whole=True).data
    changed = notebook.changes("matmul/coalesced").data
    assert "--- matmul/naive" in changed and "+++ matmul/coalesced" in changed
    assert ">-    row, col = cuda.grid(2)</span>" in changed and "CLAIMS" not in changed and "Computes" not in changed
    assert "def test_sources" in notebook.show(test_sources_are_shown_as_they_stand).data
    with pytest.raises(ValueError, match="matmul/naive is the first step"):
        notebook.changes("matmul/naive")


def test_the_markers_of_exercises_are_not_shown():
    for shown in (notebook.show("matmul/naive"), notebook.show("matmul/naive", whole=True)):
        assert "gap" not in shown.data and "row < c.shape[0]" in shown.data
    assert "gap" not in notebook.changes("matmul/coalesced").data


def test_what_is_shown_leaves_out_constants_of_claims_and_keeps_those_of_the_kernel():
    shown = notebook.show("reduction/sequential").data
    assert "THREADS = 256" in shown and "PER_BLOCK = THREADS" in shown
    assert not any(word in shown for word in ("CASE", "TOO_MANY", "CLAIMS", "def cost", "def scratch"))
    assert "TILE_M, TILE_N, TILE_K = 128, 128, 8" in notebook.show("matmul/bank_free").data


def test_what_fails_is_told_without_a_traceback(capsys):
    with notebook.failing():
        raise ZeroDivisionError("by zero")
    with notebook.failing():
        pass
    assert capsys.readouterr().out == "ZeroDivisionError: by zero\nnothing failed\n"


def test_a_line_is_found_by_its_words(coalesced):
    line = notebook.line_of(coalesced, "c[row, col]")
    assert notebook.access_map(coalesced, line=line, action="store").axes
    with pytest.raises(ValueError, match="0 lines that access memory hold 'd\\[row'"):
        notebook.line_of(coalesced, "d[row")


def test_the_shown_source_keeps_constants_that_are_assigned_together():
    shown = notebook.show("matmul/register_1d").data
    assert "TILE_M, TILE_N, TILE_K = 64, 64, 8" in shown and "CLAIMS" not in shown
