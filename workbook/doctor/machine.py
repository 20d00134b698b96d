"""What the checks look at. Each part is looked at once, when a check first asks for it."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from simt.driver import probe

ROOT = Path(__file__).resolve().parents[2]
TRIAL, MARK = "workbook.doctor.trial", "doctor-trial "
TRIAL_TIMEOUT_S = 180.0  # importing Numba from a cold network disk takes most of a minute
QUESTION_TIMEOUT_S = 20.0
WSL_LIBRARIES = "/usr/lib/wsl/lib"


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None


@dataclasses.dataclass
class Machine:
    """This machine, or in tests a made-up one.

    here:     the reader's folder; None where it no longer exists
    root:     the folder that holds our packages
    site:     folders that modules are imported from
    platform: system, machine and C library as the platform module names them, and the kernel's release
    """

    environ: Mapping[str, str] = dataclasses.field(default_factory=lambda: os.environ)
    here: Path | None = dataclasses.field(default_factory=_here)
    root: Path = ROOT
    site: list[str] = dataclasses.field(default_factory=lambda: list(sys.path))
    python: tuple[int, ...] = tuple(sys.version_info[:3])
    implementation: str = platform.python_implementation()
    free_threaded: bool = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    platform: tuple[str, str, str, str] = dataclasses.field(
        default_factory=lambda: (platform.system(), platform.machine(), platform.libc_ver()[0], platform.release())
    )

    @property
    def pip(self) -> str:
        """The command that installs into the environment that this runs in."""
        near = self.here is not None and Path(sys.executable).is_relative_to(self.here)
        return f"{os.path.relpath(sys.executable, self.here) if near else sys.executable} -m pip"

    @property
    def is_wsl(self) -> bool:
        return "microsoft" in self.platform[3].lower()

    @cached_property
    def driver(self) -> probe.Answer | str:
        """What the CUDA driver says, or why it says nothing; asked in another process."""
        return probe.ask()

    @cached_property
    def smi(self) -> list[dict[str, str]]:
        """nvidia-smi's GPUs: name and driver release; empty where it has nothing to say."""
        program = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path=WSL_LIBRARIES)
        if program is None:
            return []
        answer = _ask([program, "--query-gpu=name,driver_version", "--format=csv,noheader"])
        rows = [line.split(", ") for line in answer.splitlines()]
        return [{"name": row[0], "driver": row[1]} for row in rows if len(row) == 2]

    @cached_property
    def ldconfig(self) -> str:
        """The loader's list of libraries, as `ldconfig -p` prints it."""
        program = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
        return "" if program is None else _ask([program, "-p"])

    @cached_property
    def trial(self) -> dict[str, Any]:
        """What workbook.doctor.trial found out in a process of its own; `error` where it came to an end too early."""
        path = os.pathsep.join(filter(None, [str(self.root), self.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-P", "-m", TRIAL]
        try:
            done = subprocess.run(
                command,
                env={**self.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TRIAL_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as stopped:
            return {**_told(stopped.stdout or b""), "error": f"it did not end within {TRIAL_TIMEOUT_S:.0f} s"}
        facts = _told(done.stdout)
        if done.returncode and "error" not in facts:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["without a word"]
            how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
            facts["error"] = f"it ended with {how}: {last[0]}"
        return facts


def _ask(command: list[str]) -> str:
    """A program's output; empty where it fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=QUESTION_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def _told(output: bytes) -> dict[str, Any]:
    """The facts in a trial's output, which may hold lines of others too, and end anywhere."""
    facts: dict[str, Any] = {}
    for line in output.decode(errors="replace").splitlines():
        if line.startswith(MARK):
            try:
                facts |= json.loads(line.removeprefix(MARK))
            except ValueError:
                continue
    return facts
