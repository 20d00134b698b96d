"""Numbers agree with their nouns."""

from __future__ import annotations

import numpy as np

from workbook.diagnose import Output, diagnose
from workbook.words import WIDEST, count, cut


def test_one_is_singular_and_all_else_plural() -> None:
    assert [count(number, "cell") for number in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]
    assert count(np.int64(1), "cell") == "1 cell"


def test_a_line_that_nobody_reads_to_its_end_is_cut() -> None:
    assert cut("y" * WIDEST) == "y" * WIDEST
    assert cut("y" * (WIDEST + 7)) == "y" * WIDEST + "… 7 more characters"


def test_one_wrong_cell_is_told_as_one() -> None:
    got, expected = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    lines, _ = diagnose(Output("c", got, expected, 0.0, np.zeros(2, bool)), ())
    assert lines[0].startswith("c: 1 of 2 cells is wrong; ")
    lines, _ = diagnose(Output("c", got, expected, 0.0, np.array([False, True])), ())
    assert lines[1] == "never written: element 1 (1 cell)"
    lines, _ = diagnose(Output("c", got[:1] + 1, expected[:1], 0.0, np.zeros(1, bool)), ())
    assert lines[0].startswith("c: 1 of 1 cell is wrong; ")
