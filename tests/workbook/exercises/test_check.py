"""A check accepts a right file, and says of a wrong one what is wrong: the reader's line, never a traceback of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workbook.exercises.conftest import HEAD, RIGHT, RUN, attempt
from workbook.exercises import entry, stubs
from workbook.exercises.check import check
from workbook.exercises.result import Result, screen

Checked = Callable[..., Result]


def text(result: Result) -> str:
    """The screen; no screen may show frames of ours or of numba's, or be longer than one."""
    lines = screen(result)
    assert "Traceback" not in "\n".join(lines) and "site-packages" not in "\n".join(lines)
    assert len(lines) <= 24
    return "\n".join(lines)


def line_of(source: str, part: str) -> int:
    return next(number for number, line in enumerate(source.splitlines(), start=1) if part in line)


def test_a_right_answer_passes_however_it_is_written(checked: Checked) -> None:
    result = checked(attempt(RIGHT.replace("row, col = cuda.grid(2)", "col, row = cuda.grid(2)[1], cuda.grid(2)[0]")))
    assert result.passed, text(result)
    assert result.cases == len(entry.find("matmul/naive").problem.cases)


@pytest.mark.parametrize(
    ("source", "kind", "says", "at"),
    [
        pytest.param(attempt("row, col = cuda.grid(2"), "syntax", "was never closed", "cuda.grid(2", id="syntax"),
        pytest.param(attempt(head=HEAD.replace("float32", "float23")), "import", "float23", "float23", id="import"),
        pytest.param(attempt(head="import nowhere\n" + HEAD), "import", "nowhere", "nowhere", id="no such module"),
        pytest.param(attempt(run=RUN.replace("def run", "def rnu")), "names", "no function run.*kernel, rnu", None, id="rnu"),
        pytest.param(attempt(run=RUN.replace("s, stream)", "s)", 1)), "names", r"run takes \(buffers\)", "def run", id="run"),
        pytest.param(attempt(run=RUN.replace('rs["a"]', 'rs["d"]')), "error", "no buffer 'd'.*a, b, c", 'rs["d"]', id="key"),
        pytest.param(attempt(run=RUN + "\n1 / 0\n"), "error", "ZeroDivisionError", "1 / 0", id="exception"),
        pytest.param(attempt(run="raise SystemExit(3)"), "error", "ends the program", "SystemExit", id="exit"),
        pytest.param(attempt(RIGHT.replace("if row <", "if rwo <")), "error", "name 'rwo' is not", "if rwo", id="name"),
        pytest.param(attempt(RIGHT.replace("a[row, i]", "a.T2[row, i]")), "error", "T2", "a.T2", id="typing"),
        pytest.param(
            attempt(RIGHT.replace("if row < c.shape[0] and col < c.shape[1]", "if row < 64")),
            "bounds", r"out of bounds.*has shape", "a[row, i]", id="bounds",
        ),
        pytest.param(attempt(run="def run(buffers, stream):\n    pass\n"), "no kernel", "launched no kernel", None, id="none"),
        pytest.param(
            attempt(run=RUN + '    c.copy_to_device(buffers["a"].copy_to_host() @ buffers["b"].copy_to_host())\n'),
            "host", "on the host", "copy_to_host", id="host",
        ),
        pytest.param(attempt(RIGHT.replace("float32(0)", "0.5 - 0.5 + a[0, 0] * 0.1 - a[0, 0] * 0.1")), "float64",
                     "float64", None, id="float64"),
        pytest.param(attempt(run="import ctypes\n\n\ndef run(buffers, stream):\n    ctypes.string_at(0)\n"), "crash",
                     "SIGSEGV", "string_at", id="crash"),
        pytest.param(attempt(run="import os\n\nos._exit(3)\n"), "error", "ends the program", "os._exit", id="silent end"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_with_its_line(checked: Checked, source: str, kind: str, says: str, at: str | None) -> None:
    result = checked(source)
    assert result.trouble is not None and result.trouble.kind == kind, text(result)
    assert re.search(says, text(result), flags=re.DOTALL)
    if at is not None:
        assert result.trouble.line == line_of(source, at)


@pytest.mark.parametrize("index", ["row / 1", "math.ceil(row * 0.5)", "float32(row)", "a[0, 0]", "row // 2.0"])
def test_an_index_that_is_a_float_is_told_with_its_line_and_the_remedy(checked: Checked, index: str) -> None:
    for old in ("total += a[row, i]", "c[row, col]"):
        source = attempt(RIGHT.replace(old, old.replace("row", index)), head="import math\n" + HEAD)
        result = checked(source)
        assert result.trouble is not None and result.trouble.line == line_of(source, f"[{index},"), text(result)
        assert "an index is an integer, and this one is a float" in text(result) and "int(...)" in text(result)


def test_a_ceiling_that_was_made_an_integer_is_an_index(checked: Checked) -> None:
    source = attempt(RIGHT.replace("a[row, i]", "a[int(math.ceil(float32(row))), i]"), head="import math\n" + HEAD)
    assert checked(source).passed


def test_a_loop_on_the_host_ends_with_its_line(checked: Checked) -> None:
    source = attempt(run="def run(buffers, stream):\n    while stream == 0:\n        stream = 0\n")
    result = checked(source, limit_s=3)
    assert result.trouble is not None and result.trouble.kind == "hang"
    assert result.trouble.line in (line_of(source, "while stream"), line_of(source, "        stream = 0"))


def test_a_kernel_that_never_ends_is_stopped(checked: Checked) -> None:
    source = attempt("while c.shape[0] > 0:\n    cuda.syncthreads()")
    result = checked(source)
    assert result.trouble is not None and result.trouble.kind == "hang", text(result)
    assert result.trouble.line == line_of(source, "syncthreads")


def test_what_the_file_prints_is_shown(checked: Checked) -> None:
    assert "hello from run" in text(checked(attempt(run=RUN + "    print('hello from run')\n")))


def test_a_changed_input_is_told(checked: Checked) -> None:
    assert "changed its input: a[0, 0]" in text(checked(attempt(RIGHT + "    a[row, 0] = float32(77)\n")))


def test_a_sum_that_stops_one_early_is_recognised(checked: Checked) -> None:
    result = checked(attempt(RIGHT.replace("shape[1])", "shape[1] - 1)")))
    assert re.search(r"k is \d+, but the result stops at \d+", text(result))


def test_a_right_but_wasteful_answer_is_told_its_number_and_line(checked: Checked) -> None:
    source = stubs.stub(entry.find("matmul/coalesced"))
    result = checked(source, "matmul/coalesced")
    assert result.trouble is not None and result.trouble.kind == "budget"
    assert result.trouble.title == "right, but 16.5 sectors per load request, budget 2.5"
    assert result.trouble.line == line_of(source, "total += a[row, i]")


def test_one_kernel_may_be_launched_for_several_blocks_only_if_it_uses_their_number(checked: Checked) -> None:
    source = attempt(RIGHT.replace("row, col = cuda.grid(2)", "row, col = cuda.threadIdx.x, cuda.threadIdx.y"))
    assert "block 0 were the only one" in text(checked(source))


def test_a_missing_barrier_is_a_race_although_the_numbers_are_right(checked: Checked) -> None:
    source = entry.find("matmul/tiled").answer_path.read_text()
    source = source.replace("        cuda.syncthreads()  # nobody reloads while others still read\n", "")
    result = checked(source, "matmul/tiled")
    assert result.trouble is not None and result.trouble.kind == "race", text(result)
    assert result.trouble.line in (line_of(source, "tile_a[y, x] ="), line_of(source, "total += tile_a"))


def test_reading_what_nobody_wrote_is_told(checked: Checked) -> None:
    source = attempt("tile = cuda.shared.array(32, float32)\n" + RIGHT.replace("c[row, col] = total", """\
    if tile[3] < float32(-1e30):
        total = float32(1)
    c[row, col] = total""").replace("    if tile", "if tile"))
    result = checked(source)
    assert result.trouble is not None and result.trouble.kind == "init", text(result)


def test_the_ladders_own_kernel_behind_another_name_does_not_count(checked: Checked) -> None:
    source = "from kernels.matmul.s30_tiled import run\n\n__all__ = ['run']\n"
    result = checked(source, "matmul/tiled")
    assert result.trouble is not None and result.trouble.kind == "no kernel"


def test_a_result_is_one_json_document(checked: Checked) -> None:
    document = checked(attempt("pass")).as_json()
    assert document["passed"] is False
    assert document["trouble"]["kind"] == "wrong"
    assert document["seed"] == 5


RACY = entry.find("detective/smooth")
SAME = {
    "right": ("matmul/naive", attempt()),
    "wrong": ("matmul/naive", attempt("pass")),
    "race": ("detective/smooth", stubs.stub(RACY)),
    "budget": ("matmul/coalesced", stubs.stub(entry.find("matmul/coalesced"))),
    "within the budget": ("matmul/coalesced", entry.find("matmul/coalesced").answer_path.read_text()),
}


@pytest.mark.parametrize("what", SAME)
def test_one_process_finds_what_two_do(tmp_path: Path, what: str) -> None:
    name, source = SAME[what]
    path = tmp_path / "attempt.py"
    path.write_text(source)
    one, two = (check(entry.find(name), path, 5, side_by_side=apart) for apart in (False, True))
    assert (one.trouble, one.spent, one.cases) == (two.trouble, two.spent, two.cases)


def test_what_a_file_prints_is_shown_once(checked: Checked) -> None:
    result = checked("print('loaded')\n" + attempt())
    assert result.printed == ("loaded",), result
