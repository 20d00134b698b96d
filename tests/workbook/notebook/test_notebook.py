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


@pytest.mark.parametrize(("predicted", "said"), [
    (None, "sectors: counted 32.0. You have not predicted it"),
    (32, "sectors: you said 32.0, and that is what was counted"),
    (4, "sectors: you said 4.00, counted 32.0, 8.00x your number"),
])
def test_a_prediction_is_compared(predicted, said, capsys):
    notebook.compare("sectors", predicted, 32.0)
    assert said in capsys.readouterr().out


def test_times_are_rows_for_tables_and_bars():
    rows = notebook.time("matmul", ["coalesced"], m=64, n=64, k=64)
    assert [row.step for row in rows] == ["matmul/coalesced"] and rows[0].speedup_first > 1
    assert "<td>coalesced</td>" in notebook.table(rows).data
    assert notebook.speedup_bars(rows).axes[0].patches


def test_an_access_map_is_of_the_line_asked_for(coalesced):
    assert notebook.access_map(coalesced).axes
    with pytest.raises(ValueError, match=r"matmul/coalesced has no load of global memory at line 1; it has such at lines \["):
        notebook.access_map(coalesced, line=1)


def test_sources_are_shown_as_they_stand():
    assert "col, row = cuda.grid(2)" in notebook.show("matmul/coalesced").data
    assert "Why faster:" in notebook.show("matmul/coalesced", whole=True).data
    changed = notebook.changes("matmul/coalesced").data
    assert changed.startswith("```diff\n--- matmul/naive\n+++ matmul/coalesced\n")
    assert "-    row, col = cuda.grid(2)" in changed and "CLAIMS" not in changed and "Computes" not in changed
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
