"""The launcher, offline: fast steps stand in for venv and pip, all else is real."""

from __future__ import annotations

import ast
import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest

from tests.house import fake_set_up
from tests.house.fake_set_up import FakeSteps, load

LADDER = Path(__file__).parents[2] / "ladder"

# Stands in for the command line: prints what it was given, and exits with the number among it.
WORKBOOK = """
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "folder": os.getcwd(), "mplconfigdir": os.environ.get("MPLCONFIGDIR")}))
sys.exit(next((int(word) for word in sys.argv if word.isdigit()), 0))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout whose path has a space; nothing is set up."""
    root = tmp_path / "a b"
    (root / "workbook").mkdir(parents=True)
    (root / "workbook" / "__main__.py").write_text(WORKBOOK)
    (root / "pyproject.toml").write_text('[project]\nname = "warpladder"\n')
    (root / "constraints.txt").write_text("# pins\nnumba==1\nnumpy==2\n")
    shutil.copy(LADDER, root / "ladder")
    return root


@pytest.fixture
def launcher(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The checkout's launcher, with steps that take no time. Here it must not become the command line."""

    def start(*_: object) -> None:
        pytest.fail("the launcher went on, and would have replaced pytest")

    monkeypatch.setattr(os, "execve", start)
    module = load(checkout / "ladder")
    module.run = FakeSteps()
    return module


@pytest.fixture
def ready(checkout: Path, launcher: ModuleType) -> Path:
    launcher.set_up(str(checkout), [])
    return checkout


def start(*command: object, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **more)


# --- later uses -------------------------------------------------------------------------------------------------------


def test_later_uses_pass_arguments_and_the_exit_code_through(ready: Path) -> None:
    done = start(ready / "ladder", "climb", "--case", "a b", "7", cwd="/")
    assert (done.returncode, done.stderr) == (7, "")
    assert json.loads(done.stdout)["arguments"] == ["climb", "--case", "a b", "7"]


def test_a_symbolic_link_from_another_folder_works_and_keeps_that_folder(ready: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(ready / "ladder")
    done = start(tmp_path / "link", "list", cwd=tmp_path)
    assert json.loads(done.stdout)["folder"] == str(tmp_path)


def test_without_arguments_the_commands_are_listed(ready: Path) -> None:
    assert json.loads(start(ready / "ladder").stdout)["arguments"] == ["--help"]


def test_a_workbook_folder_where_the_reader_stands_is_not_taken_for_ours(ready: Path, tmp_path: Path) -> None:
    (tmp_path / "workbook.py").write_text("raise SystemExit(9)")
    assert start(ready / "ladder", "list", cwd=tmp_path).returncode == 0


def test_it_runs_where_the_only_python_has_an_unusual_name(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.12").symlink_to(os.path.realpath(sys.executable))
    broken = tmp_path / "bin" / "python3"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    done = start("/bin/sh", checkout / "ladder", env={"PATH": str(tmp_path / "bin")})
    assert done.returncode == 0
    assert "./ladder climb matmul" in done.stdout


def test_without_any_python_one_line_says_what_to_install(checkout: Path) -> None:
    done = start("/bin/sh", checkout / "ladder", "list", env={"PATH": "/nowhere"})
    assert done.returncode == 3
    assert re.fullmatch(r"ladder: found no Python 3\. Install .*\n", done.stderr)


def test_help_before_the_set_up_sets_nothing_up(checkout: Path, launcher: ModuleType, capsys) -> None:
    assert launcher.main([]) == 0
    assert "350 MB" in capsys.readouterr().out
    assert not (checkout / ".venv").exists()


# --- the state of .venv -----------------------------------------------------------------------------------------------


def test_first_use_says_what_it_needs_and_leaves_a_usable_venv(checkout: Path, launcher: ModuleType, capsys) -> None:
    launcher.set_up(str(checkout), [])
    said = capsys.readouterr().err
    assert "about 350 MB to download, 1.2 GB on disk" in said
    assert "ready after" in said
    assert launcher.run.names == ["venv", "pip", "-c"]
    assert launcher.state(str(checkout)) == "ready"


def test_an_interrupted_set_up_is_started_over(checkout: Path, launcher: ModuleType) -> None:
    launcher.run = FakeSteps(failing="pip")
    with pytest.raises(launcher.Stop):
        launcher.set_up(str(checkout), [])
    assert launcher.state(str(checkout)) == "interrupted"
    (checkout / ".venv" / "half").touch()
    launcher.run = FakeSteps()
    launcher.set_up(str(checkout), [])
    assert launcher.state(str(checkout)) == "ready"
    assert not (checkout / ".venv" / "half").exists()


def test_a_venv_that_does_not_import_is_not_trusted(checkout: Path, launcher: ModuleType) -> None:
    launcher.run = FakeSteps(failing="-c", output="ImportError: libc.so.6 is too old")
    with pytest.raises(launcher.Stop, match="libc.so.6 is too old"):
        launcher.set_up(str(checkout), [])
    assert launcher.state(str(checkout)) == "interrupted"


def test_a_lost_interpreter_is_noticed(ready: Path, launcher: ModuleType) -> None:
    python = ready / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert launcher.state(str(ready)) == "damaged"
    launcher.set_up(str(ready), [])
    assert launcher.state(str(ready)) == "ready"


def test_a_lost_package_is_noticed(ready: Path, launcher: ModuleType) -> None:
    (package,) = ready.glob(".venv/lib/python3.*/site-packages/numba")
    package.rmdir()
    assert launcher.state(str(ready)) == "damaged"


def test_a_package_that_the_reader_added_is_no_damage(ready: Path, launcher: ModuleType) -> None:
    (site,) = ready.glob(".venv/lib/python3.*/site-packages")
    (site / "torch").mkdir()
    assert launcher.state(str(ready)) == "ready"


def test_bytecode_that_was_cleaned_away_is_no_damage(ready: Path, launcher: ModuleType) -> None:
    (bytecode,) = ready.glob(".venv/lib/python3.*/site-packages/__pycache__")
    bytecode.rmdir()
    assert launcher.state(str(ready)) == "ready"


def test_a_moved_checkout_is_set_up_again(ready: Path, launcher: ModuleType) -> None:
    moved = ready.with_name("elsewhere")
    ready.rename(moved)
    assert launcher.state(str(moved)) == "moved"
    launcher.set_up(str(moved), [])
    assert start(moved / "ladder", "list", cwd="/").returncode == 0


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_are_installed_into_the_same_venv(ready: Path, launcher, capsys, name: str) -> None:
    with (ready / name).open("a") as file:
        file.write("# changed\n")
    kept = ready / ".venv" / "kept"
    kept.touch()
    assert launcher.state(str(ready)) == "changed"
    launcher.run = FakeSteps()
    launcher.set_up(str(ready), [])
    assert launcher.run.names == ["pip", "-c"]
    assert "changed: updating" in capsys.readouterr().err
    assert launcher.state(str(ready)) == "ready"
    assert kept.exists()


def test_an_update_that_fails_goes_on_with_what_there_was(ready: Path, launcher: ModuleType, capsys) -> None:
    with (ready / "constraints.txt").open("a") as file:
        file.write("# changed\n")
    launcher.run = FakeSteps(failing="pip", output="NewConnectionError")
    launcher.set_up(str(ready), [])
    assert "no network" in capsys.readouterr().err
    assert launcher.state(str(ready)) == "changed"  # so the next use tries again


def test_an_update_that_is_killed_is_not_trusted(ready: Path, launcher: ModuleType) -> None:
    with (ready / "constraints.txt").open("a") as file:
        file.write("# changed\n")

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    launcher.run = killed
    assert launcher.main(["list"]) == 130
    assert launcher.state(str(ready)) == "interrupted"


def test_a_venv_of_the_readers_own_is_left_alone(checkout: Path, launcher: ModuleType, capsys) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "pyvenv.cfg").touch()
    assert launcher.main(["list"]) == 3
    assert "move it away" in capsys.readouterr().err
    assert (checkout / ".venv" / "pyvenv.cfg").exists()


# --- two at once, and interruptions -----------------------------------------------------------------------------------


def test_of_two_first_runs_the_second_waits_and_installs_nothing(checkout: Path) -> None:
    command = [sys.executable, fake_set_up.__file__, str(checkout / "ladder"), "0.6", "list"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert (checkout / "installs").read_text() == "x"
    assert sorted("waiting for it" in said for _, said in outputs) == [False, True]
    assert all(json.loads(printed)["arguments"] == ["list"] for printed, _ in outputs)


class Heard:
    """A progress that notes that the child has spoken, and can stand for a Ctrl-C while it is drawn."""

    def __init__(self, interrupts: bool = False) -> None:
        self.spoken, self.interrupts = threading.Event(), interrupts

    def hear(self, line: str) -> None:
        self.spoken.set()

    def draw(self, line: str | None = None) -> None:
        if self.interrupts and line is None and self.spoken.wait(timeout=30):
            raise KeyboardInterrupt


def child_that_lasts(seconds: float) -> list[str]:
    return [sys.executable, "-c", f"import time; print('started', flush=True); time.sleep({seconds})"]


def test_a_killed_launcher_keeps_the_next_one_waiting_until_its_pip_ends(checkout: Path) -> None:
    launcher, progress = load(LADDER), Heard()
    held = launcher.lock(str(checkout))
    steps = (child_that_lasts(0.5), str(checkout), None, io.StringIO(), held, progress)
    pip = threading.Thread(target=launcher.run, args=steps)
    pip.start()
    assert progress.spoken.wait(timeout=30)
    held.close()  # as the end of the process does
    with (checkout / ".venv.lock").open("a") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        pip.join()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_ctrl_c_ends_the_running_step(checkout: Path) -> None:
    launcher, begun = load(LADDER), time.monotonic()
    with launcher.lock(str(checkout)) as held, pytest.raises(KeyboardInterrupt):
        launcher.run(child_that_lasts(60), str(checkout), None, io.StringIO(), held, Heard(interrupts=True))
    assert time.monotonic() - begun < 30


def test_ctrl_c_leaves_a_state_that_the_next_use_repairs(checkout: Path) -> None:
    command = [sys.executable, fake_set_up.__file__, str(checkout / "ladder")]
    first = subprocess.Popen([*command, "60", "list"], stderr=subprocess.PIPE, text=True)
    while not (checkout / "installs").exists():
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    assert "interrupted; the next ./ladder finishes the set-up" in first.communicate(timeout=60)[1]
    assert first.returncode == 130
    second = start(*command, "0", "list")
    assert "did not finish: starting it over" in second.stderr
    assert second.returncode == 0


# --- one clear line ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "advice"),
    [
        (("Darwin", "arm64", ""), "macOS has no NVVM.*container.*Colab"),
        (("Windows", "AMD64", ""), "native Windows.*ELF.*WSL"),
        (("Linux", "riscv64", "glibc"), "x86-64 or aarch64"),
        (("Linux", "x86_64", ""), "no glibc"),
    ],
)
def test_platforms_without_wheels_are_told_what_to_use(launcher, platform: tuple[str, str, str], advice: str) -> None:
    with pytest.raises(launcher.Stop, match=advice):
        launcher.check_platform(*platform)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_linux_is_served(launcher: ModuleType, machine: str) -> None:
    launcher.check_platform("Linux", machine, "glibc")


def test_too_little_disk_stops_before_anything_is_touched(checkout: Path, launcher, monkeypatch, capsys) -> None:
    monkeypatch.setattr(launcher.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9e9, 8e9, 1e9))
    assert launcher.main(["list"]) == 3
    assert "needs 2 GB" in capsys.readouterr().err
    assert not (checkout / ".venv").exists()


def test_a_folder_that_cannot_be_written_is_named(launcher: ModuleType) -> None:
    with pytest.raises(launcher.Stop, match="cannot write in /proc .*: copy this folder"):
        launcher.lock("/proc")


def answering(folder: Path, name: str, answer: str) -> str:
    """Path of a program that gives this answer, whatever it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {answer}\n")
    path.chmod(0o755)
    return str(path)


def test_the_first_python_that_can_make_a_venv_is_taken(launcher: ModuleType, tmp_path: Path) -> None:
    old = answering(tmp_path, "old", "3.9.2 unsupported")
    bare = answering(tmp_path, "bare", "3.12.1 venv")
    good = answering(tmp_path, "good", "3.13.0 ok")
    assert launcher.choose(["/nowhere/python", old, bare, good]) == (good, "3.13.0")


def test_no_supported_python_is_one_line_that_names_what_was_found(launcher: ModuleType, tmp_path: Path) -> None:
    old = answering(tmp_path, "old", "3.9.2 unsupported")
    with pytest.raises(launcher.Stop, match=r"needs CPython 3\.11 to 3\.14, found 3\.9\.2 \(.*old\)"):
        launcher.choose([old])


def test_a_python_without_venv_is_told_its_debian_package(launcher: ModuleType, tmp_path: Path) -> None:
    bare = answering(tmp_path, "bare", "3.12.1 venv")
    with pytest.raises(launcher.Stop, match=r"apt install python3\.12-venv"):
        launcher.choose([bare])


def test_this_python_is_recognised_as_usable(launcher: ModuleType) -> None:
    assert launcher.probe(sys.executable) == (".".join(map(str, sys.version_info[:3])), "ok")


def test_pythons_are_looked_for_on_the_path_then_in_pyenv_and_uv(launcher: ModuleType, tmp_path: Path) -> None:
    wanted = [
        tmp_path / "bin" / "python3.12",
        tmp_path / "home" / ".pyenv" / "versions" / "3.11.7" / "bin" / "python3",
        tmp_path / "home" / ".local/share/uv/python" / "cpython-3.14.0-linux" / "bin" / "python3",
    ]
    for path in (*wanted, tmp_path / "home" / ".pyenv" / "versions" / "3.9.1" / "bin" / "python3"):
        path.parent.mkdir(parents=True)
        path.touch(0o755)
    found = list(launcher.candidates({"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}))
    assert found == [os.path.realpath(sys.executable), *map(str, wanted)]


def test_a_python_too_old_or_too_new_hands_over_to_another(launcher: ModuleType, monkeypatch) -> None:
    class Replaced(Exception):
        """What os.execv does to a process."""

    def replace(program: str, command: list[str]) -> None:
        raise Replaced(program, *command[-2:])

    monkeypatch.setattr(launcher, "OLDEST", (3, 99))
    monkeypatch.setattr(launcher, "NEWEST", (3, 99))
    monkeypatch.setattr(launcher, "probe", lambda path: ("3.99.0", "ok"))
    monkeypatch.setattr(launcher.os, "execv", replace)
    with pytest.raises(Replaced) as replaced:
        launcher.set_up("/nowhere", ["list"])
    assert replaced.value.args == (os.path.realpath(sys.executable), launcher.__file__, "list")


def test_old_pythons_can_read_the_launcher() -> None:
    ast.parse(LADDER.read_text(), feature_version=(3, 7))


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Retrying after 'NewConnectionError(...)'\nERROR: No matching distribution found for numba", "no network"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("SSLError(SSLCertVerificationError('CERTIFICATE_VERIFY_FAILED'))", "PIP_CERT"),
        ("ERROR: No matching distribution found for numba==1", r"no build of it.*for numba==1"),
        ("ERROR: something new\nnote: see above", "the set-up failed: something new"),
        ("", "the set-up failed"),
    ],
)
def test_pip_failures_become_one_line(launcher: ModuleType, output: str, line: str) -> None:
    said = launcher.explain(output)
    assert re.search(line, said)
    assert "\n" not in said


# --- the surroundings -------------------------------------------------------------------------------------------------


def test_caches_move_into_venv_only_where_home_cannot_be_written(launcher: ModuleType, tmp_path: Path) -> None:
    assert launcher.own_caches({"HOME": str(tmp_path)}, "/checkout") == {}
    moved = launcher.own_caches({"HOME": "/nowhere", "MPLCONFIGDIR": "/mine"}, "/checkout")
    assert moved["NUMBA_CACHE_DIR"] == "/checkout/.venv/cache/numba_cache_dir"
    assert "PIP_CACHE_DIR" in moved
    assert "MPLCONFIGDIR" not in moved


def test_without_a_home_it_starts_with_its_own_caches(ready: Path) -> None:
    done = start(ready / "ladder", "list", env={"PATH": os.environ["PATH"], "HOME": "/nowhere"})
    assert json.loads(done.stdout)["mplconfigdir"] == f"{ready}/.venv/cache/mplconfigdir"


def test_the_set_up_ignores_what_would_send_packages_elsewhere(launcher: ModuleType) -> None:
    readers = {"HOME": "/", "PATH": "/bin", "PYTHONPATH": "/x", "PIP_TARGET": "/x", "PIP_USER": "1", "SIMT": "force"}
    assert launcher.set_up_environment(readers, "/checkout") == {
        "HOME": "/", "PATH": "/bin", "PIP_USER": "0", "TMPDIR": "/checkout/.venv/tmp",
    }


PIP_TALK = """\
Collecting numba==1 (from warpladder==0.1.0)
  Downloading numba-1-cp312-cp312-manylinux_2_28_x86_64.whl.metadata (2.7 kB)
  Downloading numba-1-cp312-cp312-manylinux_2_28_x86_64.whl (3.8 MB)
Collecting numpy==2 (from numba==1)
Installing collected packages: numpy, numba
"""


def test_progress_without_a_terminal_is_a_few_plain_lines(launcher: ModuleType) -> None:
    stream = io.StringIO()
    progress = launcher.Progress(2, stream)
    for line in PIP_TALK.splitlines(keepends=True):
        progress.hear(line)
        progress.draw()
    lines = [line.split("] ", 1)[1] for line in stream.getvalue().splitlines()]
    assert lines == ["package 1 of 2: numba", "downloading numba (3.8 MB)", "installing 2 packages"]


def test_progress_on_a_terminal_redraws_one_line(launcher: ModuleType, monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    progress = launcher.Progress(2, stream)
    for line in PIP_TALK.splitlines(keepends=True):
        progress.hear(line)
        progress.draw()
    drawn = stream.getvalue().split("\r")[1:]
    assert drawn[0] == "[  0 s] package 1 of 2: numba\033[K"
    assert all(len(text.removesuffix("\033[K")) < 30 for text in drawn)
    assert "\n" not in stream.getvalue()
