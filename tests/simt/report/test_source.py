"""The source view: a line of the program with its counters, PTX, SASS, registers and spills."""
from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from numba import cuda, float32

import simt
from simt.observe import names
from simt.observe.profile import Code
from simt.report import mix, source
from tests.simt.report.places import place_of


@cuda.jit
def tiled(a, out):
    tile = cuda.shared.array(64, float32)
    x = cuda.threadIdx.x
    tile[x] = a[x]
    cuda.syncthreads()
    total = float32(0)
    for i in range(64):
        total += tile[i] * tile[x]
    out[x] = total


@cuda.jit(max_registers=24)
def crowded(a):
    i = cuda.grid(1)
    x0, x1, x2, x3, x4, x5 = a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5]
    x6, x7, x8, x9 = a[i + 6], a[i + 7], a[i + 8], a[i + 9]
    y0, y1, y2, y3, y4, y5 = x0 * x1, x1 * x2, x2 * x3, x3 * x4, x4 * x5, x5 * x6
    y6, y7, y8, y9 = x6 * x7, x7 * x8, x8 * x9, x9 * x0
    for j in range(4):
        a[i + j] = y0
        cuda.syncthreads()
        x0, x1, x2, x3, x4 = y0 + x1, y1 + x2, y2 + x3, y3 + x4, y4 + x5
        x5, x6, x7, x8, x9 = y5 + x6, y6 + x7, y7 + x8, y8 + x9, y9 + x0
        y0, y1, y2, y3, y4 = x0 * x1, x1 * x2, x2 * x3, x3 * x4, x4 * x5
        y5, y6, y7, y8, y9 = x5 * x6, x6 * x7, x7 * x8, x8 * x9, x9 * x0
    a[i] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + y0 + y1 + y2 + y3 + y4 + y5 + y6 + y7 + y8 + y9


def profiled(kernel, *arrays):
    with simt.profile("all") as profile:
        kernel[1, 64](*map(cuda.to_device, arrays))
    return profile.launches[0]


@pytest.fixture(scope="module")
def launch():
    return profiled(tiled, np.ones(64, np.float32), np.ones(64, np.float32))


@pytest.fixture(scope="module")
def view(launch):
    return source.source_view(launch)


@pytest.fixture(scope="module")
def spilled():
    return profiled(crowded, np.ones(128, np.float32))


def place(text: str, kernel=tiled) -> tuple[str, int]:
    return place_of(kernel, text)


def test_a_line_has_its_text_its_counters_and_its_part(view, launch):
    line = view.line(place("total += tile[i]"))
    assert line.text.strip() == "total += tile[i] * tile[x]"
    assert line.counters == launch.lines[line.place]
    assert line == max(view.lines, key=lambda line: line.part) == view.hot[0]
    assert sum(line.part for line in view.lines) == pytest.approx(1)


def test_a_line_has_its_ptx_with_line_numbers_of_the_module(view, launch):
    text = launch.code.ptx.splitlines()
    rows = view.line(place("tile[x] = a[x]")).ptx
    assert {"ld.global.f32", "st.shared.f32"} <= {row.text.split()[0] for row in rows}
    assert all(row.text.split()[0] in text[row.line - 1] for row in rows)
    assert {row.executed for row in rows} == {2}


def test_ptx_of_all_lines_is_the_whole_program_that_ran(view, launch):
    assert sum(row.executed for line in view.lines for row in line.ptx) == launch.counters[names.INSTRUCTIONS]


def test_a_line_has_the_sass_that_its_ptx_became(view):
    line = view.line(place("total += tile[i]"))
    fused = [row for row in line.sass if row.instruction.base == "FFMA"]
    assert sum(row.executed for row in fused) == 2 * 64
    assert {row.line for row in line.ptx} >= {row.instruction.ptx_line for row in fused}
    assert view.line(place("syncthreads")).sass[0].instruction.base == "BAR"


def test_every_instruction_of_the_mix_belongs_to_one_line(view, launch):
    whole = mix.instruction_mix(launch)
    without = sum(times for _, times in whole.by_line.get(None, ()))
    assert sum(row.executed for line in view.lines for row in line.sass) + without == whole.total


def test_registers_in_use_are_told_by_line(view, launch):
    live = [line.live_registers for line in view.lines if line.live_registers is not None]
    assert 0 < min(live) <= max(live) <= launch.registers


def test_a_kernel_with_room_spills_nothing(view, launch):
    assert launch.spill_bytes == 0
    assert not any(line.spill_stores or line.spill_loads for line in view.lines)
    assert not any("spill" in note for note in view.notes)


def test_spills_are_named_by_line_and_add_up_to_what_the_linker_says(spilled):
    view = source.source_view(spilled)
    found = [row.instruction for line in view.lines for row in line.sass if row.instruction.spill]
    assert sum(instruction.access_bytes for instruction in found) == spilled.spill_bytes > 0
    assert sum(line.spill_stores + line.spill_loads for line in view.lines) == len(found)
    worst = max(view.lines, key=lambda line: line.spill_stores)
    note, = (note for note in view.notes if note.startswith("spills: 24 registers a thread were not enough"))
    assert f"test_source.py:{worst.place[1]} saves {worst.spill_stores}" in note
    assert "(spill)" in source.text(view, worst.place, rows=None)


def test_the_view_fits_in_100_columns(view):
    text = source.text(view, rows=None)
    assert max(map(len, text.splitlines())) <= 100
    assert text.startswith("tiled: source, PTX and SASS;")
    assert "SASS estimated" in text.splitlines()[1]


def test_one_line_is_shown_alone(view):
    text = source.text(view, place("cuda.syncthreads()"))
    assert "bar.sync" in text and "BAR.SYNC" in text
    assert "FFMA" not in text


def test_of_many_rows_those_that_ran_most_are_kept(view):
    short = source.text(view, place("total += tile[i]"), rows=4)
    whole = source.text(view, place("total += tile[i]"), rows=None)
    assert len(short.splitlines()) < len(whole.splitlines())
    assert "rows that ran no more often" in short and "fma.rn.f32" in whole


def test_a_line_without_code_says_which_lines_have_some(view):
    with pytest.raises(KeyError, match=r"other\.py:1 has no code in tiled: lines that have some are test_source\.py:\d+"):
        view.line(("other.py", 1))


def test_without_machine_code_the_rest_of_the_view_stands(launch):
    view = source.source_view(dataclasses.replace(launch, code=Code(launch.code.ptx)))
    assert view.notes == ("no SASS: ptxas cannot compile this kernel's PTX for the device, so there is no cubin",)
    line = view.line(place("total += tile[i]"))
    assert line.ptx and not line.sass and line.live_registers is None
    assert view.notes[0] in source.text(view)


def test_a_profile_without_code_still_has_counters(launch):
    view = source.source_view(dataclasses.replace(launch, code=None))
    assert {line.place: line.counters for line in view.lines} == launch.lines


def test_the_view_is_json(view):
    entries = json.loads(json.dumps(source.data(view)))
    entry, = (entry for entry in entries if (entry["file"], entry["line"]) == place("total += tile[i]"))
    assert entry["metrics"][names.INSTRUCTIONS] > 0
    assert {"address", "opcode", "text", "ptx_line", "executed", "live_registers", "spill", "function"} == set(entry["sass"][0])
    assert entry["ptx"][0].keys() == {"line", "text", "executed"}
