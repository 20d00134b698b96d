"""`ladder profile` on steps and on programs that know nothing of this project."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import simt
from kernels.ladder import load_ladder, load_step
from simt.observe import names
from workbook import profile
from workbook.cli import cli
from workbook.cli.test import ROOT

PROGRAM = '''\
import sys
import numpy as np
from numba import cuda, float32

@cuda.jit
def multiply(a, b, c):
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total

@cuda.jit
def clear(c):
    c[cuda.grid(2)] = 0

n = int(sys.argv[1])
a = b = np.ones((n, n), np.float32)
c = cuda.device_array((n, n), np.float32)
grid, block = (n // 32, n // 32), (32, 32)
clear[grid, block](c)
multiply[grid, block](cuda.to_device(a), cuda.to_device(b), c)
print("result", c.copy_to_host().min(), c.copy_to_host().max(), __name__, sys.argv[1:])
'''
WORST = "total += a[row, k] * b[k, col]"

RACY = '''\
import numpy as np
from numba import cuda, float32

@cuda.jit
def mirror(out):
    tile = cuda.shared.array(64, float32)
    x = cuda.threadIdx.x
    tile[x] = x
    {barrier}
    out[x] = tile[63 - x]

mirror[1, 64](cuda.to_device(np.zeros(64, np.float32)))
'''


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    if simt.backend() != "emulated":
        pytest.skip("profiles come from the emulated device, and this process talks to another one: SIMT=force")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("numba.cuda.core.config.CUDA_LOW_OCCUPANCY_WARNINGS", 0)
    return tmp_path


@pytest.fixture
def program(here):
    """Writes a program into the current folder."""

    def write(text, name="mine.py"):
        (here / name).write_text(text)
        return name

    return write


def ladder(*arguments):
    return CliRunner().invoke(cli, ["profile", *arguments], prog_name="ladder")


def process(*arguments, folder, **environment):
    return subprocess.run([sys.executable, "-m", "workbook", "profile", *arguments], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, timeout=120)


# -- programs

@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """One run of the program, as a person starts it, in a fresh process."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "mine.py").write_text(PROGRAM)
    return process("mine.py", "--source", "--", "1024", folder=folder, SIMT_DEVICE="h100")


def test_a_program_runs_as_main_with_its_arguments_and_right_results(shown):
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0] == "result 1024.0 1024.0 __main__ ['1024']"


def test_its_worst_line_is_named_first(shown):
    first = shown.stdout.split("Worst lines")[1].splitlines()[1]
    assert first.endswith(WORST) and float(first.split()[0]) > 99


def test_advice_says_what_to_do_on_that_line(shown):
    advice = re.search(r"  uncoalesced loads, .*?do: (.*?)\n  \S", shown.stdout, re.DOTALL)
    said = " ".join(advice[0].split())
    # Each warp: 32 rows of a, 1024 floats apart, and one element of b: 33 sectors for 2 requests where 4 each would do.
    assert "16.5 sectors per load request where 4.00 would do" in said
    assert "neighbouring threads read addresses 4 KiB apart" in said and "swap x and y" in said


def test_times_are_said_to_be_modelled(shown):
    assert re.search(r"ms modelled, bound by load/store unit; the model's error is not validated yet", shown.stdout)


def test_the_source_stands_beside_its_counters(shown):
    line = next(line for line in shown.stdout.splitlines() if line.endswith("    " + WORST) and line[:5].strip().isdigit())
    assert "16.5" in line.split()


def test_both_kernels_are_told(shown):
    assert re.search(r"^clear  \(32, 32, 1\) x \(32, 32, 1\)", shown.stdout, re.MULTILINE)


def test_one_kernel_may_be_chosen(program):
    result = ladder(program(PROGRAM) + ":clear", "--", "64")
    assert result.exit_code == 0, result.output
    assert "clear  (2, 2, 1)" in result.stdout and "multiply  (" not in result.stdout


def test_json_stands_alone_on_stdout_and_the_programs_output_on_stderr(program):
    result = ladder(program(PROGRAM), "--json", "--sample", "all", "--", "64")
    assert result.exit_code == 0, result.output
    assert "result 64.0 64.0" in result.stderr
    document = json.loads(result.stdout)
    assert document["device"] == simt.device().name
    clear, multiply = document["launches"]
    # 4 blocks of 32 warps, each with 64 rounds of two loads
    assert multiply["metrics"][names.GLOBAL_REQUESTS_LD] == 4 * 32 * 64 * 2
    assert multiply["metrics"][names.GLOBAL_SECTORS_LD] == 4 * 32 * 64 * 33
    assert clear["kernel"] == "clear" and multiply["tags"][names.GLOBAL_SECTORS_LD] == "exact"


def test_json_of_a_process_has_no_line_before_it(program, here):
    text = "import os, sys\nos.system('echo shouted')\n" + PROGRAM
    done = process(program(text), "--json", "--", "32", folder=here)
    assert done.returncode == 0 and json.loads(done.stdout)["schema"] == 1
    assert "shouted" in done.stderr and "result" in done.stderr


def test_html_is_saved(program, here):
    result = ladder(program(PROGRAM), "--html", "out.html", "--", "32")
    assert result.exit_code == 0 and "saved: out.html" in result.stdout
    assert (here / "out.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_html_has_the_source_view_where_it_is_asked_for(program, here):
    result = ladder(program(PROGRAM) + ":multiply", "--html", "out.html", "--source", "--", "32")
    assert result.exit_code == 0, result.output
    page = (here / "out.html").read_text(encoding="utf-8")
    line = page[page.rindex(WORST):].split("</details>")[0]
    assert "fma.rn.f32" in line and "FFMA" in line and "sectors per request" in line
    assert ladder("mine.py", "--html", "plain.html", "--", "32").exit_code == 0
    assert "FFMA" not in (here / "plain.html").read_text(encoding="utf-8")


def test_files_are_saved_before_the_report_is_printed(program, here):
    """So that they are there where the report goes into `head`."""
    command = f"{shlex.quote(sys.executable)} -m workbook profile {program(PROGRAM)} --html out.html -- 32 | head -1"
    done = subprocess.run(command, shell=True, cwd=here, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout.startswith("result") and (here / "out.html").exists()


def test_pictures_are_saved_for_the_worst_lines(program, here):
    result = ladder(program(PROGRAM) + ":multiply", "--picture", "seen", "--", "64")
    assert result.exit_code == 0, result.output
    made = {path.name for path in (here / "seen").iterdir()}
    worst = 1 + PROGRAM[:PROGRAM.index(WORST)].count("\n")
    assert {"roofline.png", "multiply-mix.png", f"multiply-line-{worst}-global-load.png"} <= made
    assert all((here / "seen" / name).read_bytes().startswith(b"\x89PNG") for name in made)
    assert "saved: seen/roofline.png" in result.stdout


NCU = """==PROF== Connected to process 1
"ID","Kernel Name","Block Size","Grid Size","launch__registers_per_thread","{counter}","gpu__time_duration.sum"
"","","","","register/thread","sector","us"
"0","multiply(Array)","(32, 32, 1)","({blocks}, {blocks}, 1)","40","270,000","12.50"
"""


def test_what_a_gpu_measured_stands_beside_what_is_emulated(program, here):
    (here / "ncu.csv").write_text(NCU.format(counter=names.GLOBAL_SECTORS_LD, blocks=2))
    result = ladder(program(PROGRAM) + ":multiply", "--ncu", "ncu.csv", "--", "64")
    assert result.exit_code == 0, result.output
    table = result.stdout.split("Measured beside emulated: multiply  (2, 2, 1) x (32, 32, 1)")[1]
    row = next(line.split() for line in table.splitlines() if line.startswith(names.GLOBAL_SECTORS_LD))
    assert row[1:3] == ["270000", str(4 * 32 * 64 * 33)] and "exact" in row
    assert any(line.startswith("gpu__time_duration.sum") and line.endswith("modelled") for line in table.splitlines())


def test_measurements_of_another_shape_are_no_comparison(program, here):
    (here / "ncu.csv").write_text(NCU.format(counter=names.GLOBAL_SECTORS_LD, blocks=3))
    result = ladder(program(PROGRAM), "--ncu", "ncu.csv", "--", "64")
    assert result.exit_code == 2 and "only multiply (3, 3, 1) x (32, 32, 1)" in " ".join(result.stderr.split())


def test_caches_are_simulated_over_all_blocks(program):
    result = ladder(program(PROGRAM) + ":multiply", "--caches", "--json", "--", "288")
    assert result.exit_code == 0, result.output
    launch, = json.loads(result.stdout)["launches"]
    # 81 blocks would be sampled otherwise. a and b are 4 n² bytes each, and everything fits into L2.
    assert launch["metrics"]["dram__bytes_read.sum"] == 2 * 4 * 288 * 288
    assert launch["tags"]["dram__bytes_read.sum"] == "simulated"


@pytest.mark.parametrize(("option", "target", "why"), [
    ("--html", "missing/out.html", "there is no folder missing"),
    ("--html", "mine.py/out.html", "mine.py is a file"),
    ("--picture", "mine.py/seen", "mine.py is a file")])
def test_a_file_that_cannot_be_written_is_told_before_the_program_runs(program, option, target, why):
    result = ladder(program("print('it ran')\n" + PROGRAM), option, target, "--", "32")
    assert result.exit_code == 2 and "it ran" not in result.output
    last, = (line for line in result.stderr.splitlines() if line.startswith("Error"))
    assert last == f"Error: Invalid value for {option}: {target} cannot be written: {why}"


def test_numbas_performance_warnings_become_one_line(program, here):
    text = PROGRAM.replace("cuda.to_device(a), cuda.to_device(b)", "a, b") + "import warnings\nwarnings.warn('their own')\n"
    done = process(program(text), "--", "32", folder=here)
    assert done.returncode == 0 and "NumbaPerformanceWarning" not in done.stdout + done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("numba warns: ")]
    assert told == ["numba warns: Host array used in CUDA kernel will incur copy overhead to/from device"]
    assert "their own" in done.stderr


def test_an_exception_shows_the_programs_own_traceback_only(program, here):
    done = process(program("def deep():\n    return 1 / 0\n\ndeep()\n"), folder=here)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "Traceback (most recent call last):"
    assert "runpy" not in done.stderr and "workbook" not in done.stderr
    assert [line.split(", ")[1] for line in done.stderr.splitlines() if line.startswith("  File")] == ["line 4", "line 2"]
    assert done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_program_with_a_syntax_error_is_shown_as_python_shows_it(program, here):
    done = process(program("x = (\n"), folder=here)
    assert done.returncode == 1 and "SyntaxError" in done.stderr and "workbook" not in done.stderr


def test_a_fault_in_a_kernel_ends_with_its_line(program):
    text = PROGRAM.replace("c[cuda.grid(2)] = 0", "c[0, 5000000] = 0")
    result = ladder(program(text), "--", "32")
    assert result.exit_code == 1
    assert "c[0, 5000000] = 0" in result.stderr and "workbook" not in result.stderr


@pytest.mark.parametrize(("last", "code"), [("sys.exit()", 0), ("sys.exit(0)", 0), ("sys.exit(3)", 3), ("sys.exit('no')", 1)])
def test_the_programs_exit_code_is_kept(program, last, code):
    assert ladder(program(f"{PROGRAM}\n{last}\n"), "--", "32").exit_code == code


def test_a_module_of_the_program_comes_before_ours_of_the_same_name(program):
    program("mine = 'the program has its own'\n", "kernels.py")
    result = ladder(program("import kernels\nprint(kernels.mine)\n" + PROGRAM), "--", "32")
    assert "the program has its own" in result.output and result.exit_code == 0
    import kernels

    assert not hasattr(kernels, "mine")


def test_argv_and_the_import_path_are_restored(program, here):
    argv, search = list(sys.argv), list(sys.path)
    assert profile.run_program(here / program("import sys\nsys.argv.append('x')\nsys.path.append('y')\n"), []) == 0
    assert (sys.argv, sys.path) == (argv, search)


# -- steps

def test_a_step_is_profiled_at_the_size_that_is_asked_for():
    result = ladder("matmul/naive", "--case", "64,96,32")
    assert result.exit_code == 0, result.output
    assert "matmul/naive at m=64 n=96 k=32" in result.stderr
    assert "uncoalesced loads" in result.stdout and "s10_naive.py" in result.stdout


def test_another_device_may_be_modelled(here):
    done = process("matmul/tiled", "--case", "64,64,64", "--device", "t4", "--json", folder=here)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["device"] == "t4"
    assert document["launches"][0]["metrics"]["launch__occupancy_limit_warps"] == 1     # 32 warps per SM, 32 per block


def test_a_checked_step_without_findings_exits_0():
    result = ladder("matmul/tiled", "--case", "64,64,64", "--check", "race,init,sync,bounds")
    assert result.exit_code == 0, result.output
    assert "Findings" not in result.stdout


def test_the_last_line_names_the_next_step_of_the_ladder():
    last = ladder("matmul/tiled", "--case", "64,64,64").stdout.splitlines()[-1]
    assert last == "  next: matmul/register_1d, which ladder show matmul/register_1d explains"
    steps = load_ladder("matmul").steps
    last = ladder(steps[-1].id, "--case", "64,64,64").stdout.splitlines()[-1]
    assert last == f"  {steps[-1].id} is the last step of its ladder"


def test_tiled_is_told_to_keep_results_in_registers():
    result = ladder("matmul/tiled", "--case", "1024,1024,1024")
    _, last = result.stdout.rsplit("Do first\n", 1)
    assert "2.00 shared loads per fused multiply-add" in " ".join(result.stdout.split())
    line = load_step("matmul/tiled").source.splitlines().index("            total += tile_a[y, i] * tile_b[i, x]") + 1
    assert last.startswith(f"  s30_tiled.py:{line}: register tiling: a thread that keeps 8 x 8 results in registers")


# -- checkers

@pytest.mark.parametrize(("options", "warned"), [
    (("--check", "race"), ["--check"]), (("--caches",), ["--caches"]), ((), [])])
def test_what_takes_long_is_announced_on_stderr(program, options, warned):
    result = ladder(program(PROGRAM), *options, "--json", "--", "32")
    assert result.exit_code == 0 and json.loads(result.stdout)["schema"] == 1
    said = [line for line in result.stderr.splitlines() if "can take several times as long" in line]
    assert [line.split()[0] for line in said] == warned


def test_help_says_what_is_slow():
    said = " ".join(ladder("--help").output.split())
    assert "Look for these errors, which can be several times slower" in said
    assert "DRAM bytes. Can be several times slower" in said


def test_a_race_is_told_with_both_lines_and_exits_1(program):
    result = ladder(program(RACY.format(barrier="")), "--check", "race")
    assert result.exit_code == 1, result.output
    found = result.stdout.split("\nFindings\n")[1].split("\nWorst lines")[0]
    assert "race" in found and "mine.py:8" in found and "mine.py:10" in found and "cuda.syncthreads()" in found


def test_the_same_program_with_its_barrier_exits_0(program):
    result = ladder(program(RACY.format(barrier="cuda.syncthreads()")), "--check", "race,init,sync")
    assert result.exit_code == 0 and "Findings" not in result.stdout, result.output


def test_a_note_alone_is_no_failure(program):
    text = RACY.format(barrier="out[0] = 1").replace("out[x] = tile[63 - x]", "pass")
    result = ladder(program(text), "--check", "race")
    assert result.exit_code == 0, result.output
    assert "race, a note" in result.stdout


# -- usage

@pytest.mark.parametrize(("arguments", "said"), [
    (["nowhere.py"], "there is no file nowhere.py"),
    (["matmul/tield"], "did you mean 'tiled'?"),
    (["matmul/naive", "--case", "1"], "3 whole numbers"),
    (["matmul/naive", "--", "5"], "a step takes no arguments"),
    (["matmul/naive", "--check", "speed"], "the checkers are bounds, race, init, sync"),
    (["matmul/naive", "--sample", "some"], '"auto", "all", or N'),
    (["mine.py", "--case", "1,2,3"], "--case is for steps"),
    (["mine.py:nothing", "--", "32"],
     "no kernel 'nothing' was launched kernels that were: clear (mine.py:15), multiply (mine.py:6)"),
    (["mine.py:multipyl", "--", "32"], "no kernel 'multipyl' was launched; did you mean 'multiply'?"),
    (["empty.py"], "launched no kernel"),
])
def test_usage_errors_exit_2_and_say_what_is_wrong(program, arguments, said):
    program(PROGRAM)
    program("print('nothing to see')\n", "empty.py")
    result = ladder(*arguments)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.stderr.split())


def test_random_results_of_a_sampled_program_are_those_of_numpy(program, seed):
    """Sampling counts some blocks and runs all of them."""
    text = PROGRAM.replace("a = b = np.ones((n, n), np.float32)", f"rng = np.random.default_rng({seed})\n"
                           "a, b = rng.integers(-8, 8, (2, n, n)).astype(np.float32)")
    text += "np.save('c.npy', c.copy_to_host() - a @ b)\n"
    result = ladder(program(text), "--sample", "9", "--", "512")
    assert result.exit_code == 0 and "~ sampled" in result.stdout, result.output
    assert not np.load("c.npy").any()


MIDDLE = """
import numpy as np
from numba import cuda, float32


@cuda.jit
def turned(x, out):
    tile = cuda.shared.array(64, float32)
    t, block = cuda.threadIdx.x, cuda.blockIdx.x
    tile[t] = x[t]
    if block != 17:
        cuda.syncthreads()
    out[block, t] = tile[63 - t]


turned[64, 64](cuda.to_device(np.arange(64, dtype=np.float32)), cuda.device_array((64, 64), np.float32))
"""


def test_a_search_for_races_says_how_many_blocks_it_watched_and_watches_all_where_asked(program):
    few = ladder(program(MIDDLE), "--check", "race")
    assert few.exit_code == 0 and "race: nothing to mend was found" in few.stdout
    assert re.search(r"races: shared memory was watched in \d of 64 blocks", few.stdout)
    every = ladder(program(MIDDLE), "--check", "race", "--sample", "all")
    assert every.exit_code == 1 and "block (17, 0, 0)" in every.stdout
    assert "was watched" not in every.stdout and "nothing to mend" not in every.stdout
