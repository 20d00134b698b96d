"""The table: aligned plain text away from a terminal, in one or two pieces on it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from workbook import climb as climbing
from workbook import report, results


@pytest.fixture
def rows(toy, target, seed):
    climbed = climbing.climb(toy, target, toy.timed_case, seed, list(toy.steps), lambda text: None)
    return results.rows(climbed)


def shown(rows, **options):
    console = Console(file=io.StringIO(), **options)
    report.table(console, rows)
    return console.file.getvalue()


TABLE = """\
step     time  x first  x prev  GFLOP/s  % roof  bound by  sect/req ld/st  conflicts  regs  occup. %  what changed
slow  64.0 µs     1.00       -     8.19  0.0256       lsu     17.0 / 4.00     2.00 k    20       160  first step
fast  4.00 µs     16.0    16.0      131   0.410       lsu     4.00 / 4.00     3.20 k    32       100  from slow: time
wide  5.00 µs     12.8   0.800      105   0.328       lsu     4.00 / 4.00     6.40 k    64        50  from fast: regs
"""


def test_plain_columns_line_up_and_hold_every_figure(rows):
    assert shown(rows) == TABLE


def test_plain_text_has_no_control_characters(rows):
    assert "\x1b" not in shown(rows)


@pytest.mark.parametrize("width", [80, 100, 150, 220])
def test_no_figure_is_cut_on_a_terminal(rows, width):
    text = shown(rows, force_terminal=True, width=width, color_system=None)
    assert max(map(len, text.splitlines())) <= width
    for figure in ("64.0 µs", "12.8", "17.0 / 4.00", "6.40 k", "from fast", "160"):
        assert figure in text


def test_a_wrong_step_shows_no_figures(rows):
    failed = results.Row("toy/broken", "from fast: a bug", False, ())
    cells = shown([rows[0], failed]).splitlines()[2].split()
    assert cells == ["broken", "FAILED", *"-----", "-", "/", *"----", "from", "fast:", "a", "bug"]
