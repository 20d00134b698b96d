"""A broken step takes one readable screen."""

from __future__ import annotations

from workbook.failure import HEAD_LINES, TAIL_LINES, broken


def test_long_messages_keep_their_beginning_and_end():
    failure = broken(ValueError("\n".join(f"line {number}" for number in range(100))), "compiling toy/mine", None)
    assert failure.what == "ValueError while compiling toy/mine"
    assert len(failure.lines) == HEAD_LINES + TAIL_LINES + 1
    assert failure.lines[0] == "line 0" and failure.lines[-1] == "line 99"
    assert failure.lines[HEAD_LINES] == f"… {100 - HEAD_LINES - TAIL_LINES} more lines …"


def test_colours_and_runs_of_blank_lines_are_dropped():
    assert broken(ValueError("\x1b[1mno\x1b[0m\n\n\n\nmatch"), "compiling", None).lines == ("no", "", "match")


def test_notes_follow_the_message_in_order():
    error = RuntimeError("launch failed")
    error.add_note("first\nsecond")
    error.add_note("third")
    assert broken(error, "running", None).lines == ("launch failed", "first", "second", "third")


def test_lists_of_candidate_signatures_are_left_out():
    message = "No match:\n * (int64, int64) -> int64\n   * (float32, float32) -> float32\nFile x.py, line 3"
    assert broken(TypeError(message), "compiling", None).lines == ("No match:", "File x.py, line 3")
