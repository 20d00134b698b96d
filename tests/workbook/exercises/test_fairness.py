"""What a check must not hold against a file, and what no file may do to a check."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workbook.exercises.test_check import line_of, text
from workbook.exercises import request
from workbook.exercises.result import Result

Checked = Callable[..., Result]

MAP = """\
from numba import cuda, float32, void

@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = 2 * a[i]

def run(buffers, stream):
    out = buffers["out"]
    kernel[-(-out.shape[0] // 32), 32, stream](buffers["a"], out)
"""


def with_(old: str, new: str, head: str = "") -> str:
    assert MAP.count(old) == 1
    return head + MAP.replace(old, new)


def at_the_end_of_run(line: str, head: str = "") -> str:
    return f"{head}{MAP}    {line}\n"


def map_checked(checked: Checked, source: str, limit_s: float = 120) -> Result:
    return checked(source, "first/map", limit_s)


@pytest.mark.many
@pytest.mark.parametrize(
    "decorator",
    [
        "@cuda.jit()",
        "@cuda.jit(debug=True, opt=False)",
        "@cuda.jit(lineinfo=True)",
        "@cuda.jit(fastmath=True)",
        "@cuda.jit(cache=True)",
        "@cuda.jit(opt=False)",
        "@cuda.jit(max_registers=32)",
        "@cuda.jit(link=[])",
        '@cuda.jit("void(float32[::1], float32[::1])")',
        '@cuda.jit("(float32[:], float32[:])")',
        "@cuda.jit(void(float32[:], float32[:]))",
        '@cuda.jit(["void(float32[::1], float32[::1])", "void(float64[::1], float64[::1])"])',
        "@cuda.jit([void(float32[::1], float32[::1])])",
    ],
)
def test_how_a_kernel_is_decorated_is_the_readers_choice(checked: Checked, decorator: str) -> None:
    result = map_checked(checked, with_("@cuda.jit", decorator))
    assert result.passed, text(result)


def test_double_precision_is_refused_however_the_kernel_is_compiled(checked: Checked) -> None:
    source = with_("2 * a[i]", "1.9 * a[i] + 0.1 * a[i]").replace("@cuda.jit", "@cuda.jit(debug=True, opt=False)")
    result = map_checked(checked, source)
    assert result.trouble is not None and result.trouble.kind == "float64", text(result)
    assert result.trouble.line == line_of(source, "1.9")


def test_printing_a_number_is_no_computation_in_double_precision(checked: Checked) -> None:
    line = "out[i] = 2 * a[i]\n        if i == 3:\n            print(out[i])"
    result = map_checked(checked, with_("out[i] = 2 * a[i]", line))
    assert result.passed, text(result)
    source = with_("out[i] = 2 * a[i]", line.replace("print(out[i])", "print(out[i] * 0.1)"))
    result = map_checked(checked, source)
    assert result.trouble is not None and result.trouble.kind == "float64", text(result)
    assert result.trouble.line == line_of(source, "print")


def test_a_helper_of_the_device_and_a_copy_on_the_device_are_allowed(checked: Checked) -> None:
    head = "from numba import cuda\n\n@cuda.jit(device=True)\ndef twice(value):\n    return value + value\n\n"
    assert map_checked(checked, with_("2 * a[i]", "twice(a[i])", head)).passed
    assert map_checked(checked, at_the_end_of_run("cuda.device_array_like(out).copy_to_device(out)")).passed


@pytest.mark.parametrize("name", ["launch", "call"])
def test_a_function_of_any_name_may_not_compute_on_the_host(checked: Checked, name: str) -> None:
    helper = f"def {name}(a, out):\n    out.copy_to_device(2 * a.copy_to_host())\n\n"
    result = map_checked(checked, at_the_end_of_run(f'{name}(buffers["a"], out)', helper))
    assert result.trouble is not None and result.trouble.kind == "host", text(result)


@pytest.mark.many
@pytest.mark.parametrize(
    "line", ["raise SystemExit(2)", "import sys; sys.exit()", "import os; os._exit(0)", "raise KeyboardInterrupt", "exit(1)"]
)
def test_what_ends_a_program_is_told_with_its_line(checked: Checked, line: str) -> None:
    source = at_the_end_of_run(line)
    result = map_checked(checked, source)
    assert result.trouble is not None and "ends the program" in result.trouble.title, text(result)
    assert result.trouble.line == line_of(source, line)
    assert text(result)


def test_what_ends_a_program_where_scratch_is_asked_for_is_told_too(checked: Checked) -> None:
    result = map_checked(checked, f"{MAP}\ndef scratch(case, inputs):\n    raise SystemExit(1)\n")
    assert result.trouble is not None and "ends the program" in result.trouble.title, text(result)


def test_processes_that_a_file_forks_end_with_the_check(checked: Checked, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    noted = f"open({str(note)!r}, 'a').write(f'{{os.getpid()}} ')"
    forks = f"import os, time\nif not os.fork():\n    {noted}\n    time.sleep(600)\n"
    result = map_checked(checked, forks + MAP)
    assert result.passed, text(result)
    forked = [int(pid) for pid in note.read_text().split()]
    assert forked
    end = time.monotonic() + 20
    while any(_runs(pid) for pid in forked):
        assert time.monotonic() < end, "a forked process outlives the check"
        time.sleep(0.05)


def test_a_file_that_dies_is_told_so_at_once_although_what_it_forked_lives(checked: Checked) -> None:
    began = time.monotonic()
    result = map_checked(checked, f"import os, time\nif not os.fork():\n    time.sleep(600)\nos.kill(os.getpid(), 9)\n{MAP}")
    assert result.trouble is not None and "died of SIGKILL" in result.trouble.title, text(result)
    assert time.monotonic() - began < 60


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.many
@pytest.mark.parametrize(
    "what",
    [
        "os.write(fd, b'\\0\\0\\0\\x05hello')",
        "os.write(fd, b'\\xff\\xff\\xff\\xf0')",
        "os.write(fd, b'x' * 100)",
        "os.close(fd)",
    ],
)
def test_a_file_that_strays_into_the_pipe_is_told_so_and_no_traceback_of_ours(checked: Checked, what: str) -> None:
    """It does so on every descriptor that it did not open: without the word of the check, nothing is a verdict."""
    strays = "import os, stat\nfor fd in range(3, 64):\n    try:\n        if stat.S_ISFIFO(os.fstat(fd).st_mode):\n            "
    result = map_checked(checked, f"{strays}{what}\n    except OSError:\n        pass\n{MAP}", limit_s=3)
    assert result.trouble is not None and result.trouble.kind in ("crash", "hang"), text(result)


def test_only_messages_with_the_word_of_the_check_are_heard() -> None:
    assert request.received(b'{"word": "w", "stage": "running"}', "w") == "running"
    sound = b'{"word": "w", "found": {"trouble": null, "spent": [], "cases": 3}}'
    assert request.received(sound, "w") == request.Found(cases=3)
    with pytest.raises(request.Garbage):
        request.received(sound, "another")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"word": "w"}',
        b'{"word": "w", "found": {}}',
        b'{"word": "w", "found": {"trouble": {"kind": "x"}, "spent": [], "cases": 1}}',
    ],
    ids=range(8),
)
def test_what_is_no_message_is_garbage(message: bytes) -> None:
    with pytest.raises(request.Garbage):
        request.received(message, "w")


def test_the_check_leaves_no_process_behind_where_a_file_hangs(checked: Checked, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    source = f"import os\nopen({str(note)!r}, 'a').write(f'{{os.getpid()}} ')\nwhile True:\n    pass\n"
    result = map_checked(checked, source, limit_s=1)
    assert result.trouble is not None and result.trouble.kind == "hang", text(result)
    assert not any(_runs(int(pid)) for pid in note.read_text().split())
    assert os.getpid() not in map(int, note.read_text().split())


def test_of_long_output_the_end_is_shown_and_how_much_stood_above(checked: Checked) -> None:
    result = map_checked(checked, "for i in range(5000):\n    print('line', i)\n" + MAP)
    assert result.passed and result.printed[-1] == "line 4999" and result.printed_before == 4990
    assert re.search(r"… 4990 lines more above\n +line 4990\n", text(result))
    assert "1 line more above" in text(map_checked(checked, "for i in range(11):\n    print(i)\n" + MAP))
    few = text(map_checked(checked, "print('only this')\n" + MAP))
    assert "only this" in few and "above" not in few
