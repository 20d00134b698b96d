"""Tables: modelled, measured and published figures each in columns of their own; what is stale shows no number."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from kernels.case import Case
from workbook.records import figures, published, table

ROOT = Path("root")
SIZE = Case(m=64, n=64, k=64)
PUBLISHED = ["published kernel", "ms, published, measured", "speedup, published, measured", "our nearest step"]


def render(text, documents, name="README.md"):
    return table.render(text, ROOT / name, ROOT, documents)


def marked(body):
    return f"before\n<!-- the ladder: toy -->\n{body}<!-- end of the ladder -->\nafter\n"


def columns(text):
    """Headings of each table in the text."""
    lines = text.splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line, under in zip(lines, lines[1:], strict=False)
        if under.startswith(("| ---", "| :---"))
    ]


def test_a_document_without_markers_stays_as_it_is(document):
    assert render("no markers\n", [document]) == "no markers\n"


def test_rendering_again_changes_nothing(document):
    once = render(marked("old\n"), [document])
    assert "old" not in once and once.startswith("before\n") and once.endswith("after\n")
    assert render(once, [document]) == once


def test_a_row_has_time_speedup_and_the_counters_that_explain_it(document):
    text = render(marked(""), [document])
    assert columns(text) == [
        ["step", "time", "speedup", "bound by", "sectors per request, ld / st", "bank conflicts", "registers"]
    ]
    assert "| [fast](kernels/toy/s20_fast.py) | 4.00 µs | 16.0x | lsu | 4.00 / 4.00 | 3.20 k | 32 |\n" in text
    assert "**modelled** on NVIDIA H100" in text and "not validated yet" in text and "sampled blocks" in text


def test_a_ladder_without_a_record_says_how_to_make_one(family):
    assert "No record yet: `./ladder record toy` makes it." in render(marked(""), [])
    assert render("<!-- all records -->\n<!-- end of all records -->\n", []).count("|") == 0


def test_a_stale_run_shows_no_number_nor_speedups_over_it(document):
    document["runs"][0]["fingerprint"] = "0123456789ab"
    slow, fast, _ = [line for line in render(marked(""), [document]).splitlines() if line.startswith("| [")]
    assert slow == "| [slow](kernels/toy/s10_slow.py) | " + "stale | " * 5 + "stale |"
    assert fast.startswith("| [fast](kernels/toy/s20_fast.py) | 4.00 µs | - |")


def test_published_figures_stand_alone_where_the_device_did_not_record_their_size(document, monkeypatch):
    climb = published.Published("toy", "NVIDIA X", "h100", Case(m=1, n=1, k=1), "ms", "s", "https://a.b",
                                (published.Rung("first", 1.0, "slow"),), None)
    monkeypatch.setattr(published, "load", lambda: (climb,))
    text = table.all_records([document], "")
    assert columns(text)[-1] == PUBLISHED
    assert "| first | 1 | 1.00x | slow |\n" in text


def test_a_published_climb_of_another_problem_says_what_it_was(family, monkeypatch):
    climb = published.Published("toy", "NVIDIA X", "", None, "x over FP16", "A. Nobody, p. 3", "https://a.b",
                                (published.Rung("base", 1.0), published.Rung("best", 3.87)), note="one large matrix")
    monkeypatch.setattr(published, "load", lambda: (climb,))
    text = table.all_records([], "")
    assert "### Published: NVIDIA X\n" in text and "of this size. One large matrix. |" in " ".join(text.split())
    assert "| best | 3.87 | 3.87x |\n" in text and "our nearest step" not in text


def test_the_table_of_a_ladder_says_what_others_gained(document, monkeypatch):
    climb = published.Published("toy", "NVIDIA X", "", None, "ms", "A. Nobody, p. 3", "https://a.b",
                                (published.Rung("base", 30.0), published.Rung("best", 2.0), published.Rung("last", 3.0)))
    monkeypatch.setattr(published, "load", lambda: (climb,))
    text = " ".join(render(marked(""), [document]).split())
    assert "Others measured, best kernel over first: 15.0x on NVIDIA X ([A. Nobody](https://a.b))." in text


def test_links_lead_back_from_folders(document):
    assert "(../kernels/toy/s20_fast.py)" in render(marked(""), [document], "docs/records.md")
    assert "(../../kernels/toy/s20_fast.py)" in render(marked(""), [document], "docs/more/deep.md")


@pytest.fixture
def everything(document, measured, monkeypatch):
    """Every ladder on every device, with a published climb beside h100."""
    rungs = (published.Rung("first", 1.0, "slow"), published.Rung("second", 8.0, "fast"), published.Rung("odd", 9.0))
    climb = published.Published("toy", "NVIDIA X", "h100", SIZE, "GFLOP/s", "a paper", "https://a.b", rungs,
                                published.Rung("lib", 10.0))
    other = copy.deepcopy(climb.__class__(**{**climb.__dict__, "device": "", "gpu": "NVIDIA Y", "unit": "ms"}))
    monkeypatch.setattr(published, "load", lambda: (climb, other))
    measured["baselines"] = [{
        "ladder": "toy", "library": "cupy 99: matmul", "case": dict(SIZE), "samples_ns": [500_000],
        "clocks_mhz": {"sm": None, "memory": None}, "temperature_c": None,
    }]
    h200 = copy.deepcopy(document)
    h200["device"] = "h200"
    return render("<!-- all records -->\n<!-- end of all records -->\n", [document, h200, measured], "docs/records.md")


def test_modelled_devices_stand_side_by_side_and_measured_ones_apart(everything):
    assert columns(everything) == [
        ["step", "h100", "h200"],
        ["step", "h100", "h200"],
        ["step", "median, measured", "speedup", "fastest", "slowest"],
        ["published kernel", "GFLOP/s, published, measured", "speedup, published, measured", "our nearest step",
         "GFLOP/s, ours, modelled", "speedup, ours, modelled"],
        PUBLISHED,
    ]
    assert "| [fast](../kernels/toy/s20_fast.py) | 4.00 µs, 16.0x | 4.00 µs, 16.0x |" in everything
    assert "| [fast](../kernels/toy/s20_fast.py) | lsu, 32 | lsu, 32 |" in everything
    assert "| [fast](../kernels/toy/s20_fast.py) | 1.00 ms | 1.00x | 1.00 ms | 1.00 ms |" in everything
    assert "cupy 99: matmul: 500 µs." in everything


def test_published_figures_stand_beside_our_nearest_step_on_the_same_device_and_size(everything):
    assert f"| second | 8 | 8.00x | fast | {2 * 64**3 / 4000:.0f} | 16.0x |\n" in everything
    assert "| odd | 9 | 9.00x | - | - | - |\n" in everything
    assert "| lib | 10 | 10.0x | - | - | - |\n" in everything
    assert "[a paper](https://a.b)" in everything
    assert "| second | 8 | 0.125x | fast |\n" in everything  # the climb in ms


def test_a_device_that_did_not_record_a_step_shows_a_dash(document):
    h200 = copy.deepcopy(document)
    h200["device"] = "h200"
    del h200["runs"][1]
    text = table.all_records([document, h200], "")
    assert "| [fast](kernels/toy/s20_fast.py) | 4.00 µs, 16.0x | - |" in text


def test_a_measured_time_is_the_median_of_its_samples(measured, family):
    measured["runs"][1]["samples_ns"] = [100, 300, 9000]
    fast = figures.of_ladder(measured, family, SIZE)[1]
    assert (fast.time_ns, fast.fastest_ns, fast.slowest_ns) == (300, 100, 9000)
    assert fast.bound_by is None and fast.registers is None
