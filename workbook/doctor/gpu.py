"""The GPU, its driver, and the driver's library."""

from __future__ import annotations

import os
import re
from pathlib import Path

from simt.driver import probe
from workbook.doctor.finding import Finding, Findings, note, ok, problem
from workbook.doctor.machine import WSL_LIBRARIES, Machine

# The newest PTX that each CUDA release reads: PTX ISA, Release Notes, table "PTX Release History".
PTX_OF_CUDA = {
    (9, 0): "6.0", (9, 1): "6.1", (9, 2): "6.2", (10, 0): "6.3", (10, 1): "6.4", (10, 2): "6.5",
    (11, 0): "7.0", (11, 1): "7.1", (11, 2): "7.2", (11, 3): "7.3", (11, 4): "7.4", (11, 5): "7.5", (11, 6): "7.6",
    (11, 7): "7.7", (11, 8): "7.8", (12, 0): "8.0", (12, 1): "8.1", (12, 2): "8.2", (12, 3): "8.3", (12, 4): "8.4",
    (12, 5): "8.5", (12, 7): "8.6", (12, 8): "8.7", (12, 9): "8.8", (13, 0): "9.0", (13, 1): "9.1", (13, 2): "9.2",
    (13, 3): "9.3", (13, 4): "9.4", (13, 5): "9.5",
}  # fmt: skip

STUB, NO_DEVICE = 34, 100  # CUDA_ERROR_STUB_LIBRARY, CUDA_ERROR_NO_DEVICE
# What to do about an error number of cuInit.
REMEDIES = {
    STUB: "take the folder named stubs out of LD_LIBRARY_PATH",
    46: "another program holds the GPU for itself: nvidia-smi shows which",
    802: "start the machine's NVIDIA Fabric Manager: systemctl start nvidia-fabricmanager",
    803: "the driver was updated under a running kernel: restart the machine",
    804: "take the cuda-compat package or folder away: it is not made for this GPU",
    999: "sudo nvidia-modprobe -u -c=0, or restart the machine",
}
RELEASE_FOR_CUDA_13 = 580  # CUDA Toolkit Release Notes, table of the minimum driver versions


def gpu(machine: Machine) -> Findings:
    """Whether there is one; none is no problem."""
    answer = machine.driver
    if isinstance(answer, str):
        yield from _silent(machine, answer)
        return
    if not answer.devices:
        yield _none(machine)
        return
    names = ", ".join(row["name"] for row in machine.smi) or f"{answer.devices} without a name"
    text = f"{names}; compute capability {_dotted(answer.cc)}"
    facts = {"devices": answer.devices, "names": names, "compute_capability": _dotted(answer.cc)}
    if answer.cc < probe.OLDEST_CC:
        oldest = _dotted(probe.OLDEST_CC)
        yield note(f"{text}: too old, {oldest} is needed; kernels run on the emulated device", **facts)
    else:
        yield ok(text, **facts)


def _silent(machine: Machine, answer: str) -> Findings:
    """A driver that did not say what it has."""
    number = re.search(r"CUDA error (\d+)", answer)
    code = int(number[1]) if number else 0
    no_library = "OSError" in answer
    if answer == probe.NO_GPU or code == NO_DEVICE or (no_library and machine.is_wsl):
        yield _none(machine)
    elif no_library:
        yield problem(
            f"there is a GPU, and no driver library for it: {answer}",
            "install the driver's CUDA part (Debian: libcuda1); in a container: docker run --gpus all",
        )
    else:
        advice = REMEDIES.get(code, "restart the machine; then nvidia-smi")
        yield problem(f"there is a GPU, but {answer}", advice, code=code)


def _none(machine: Machine) -> Finding:
    visible = machine.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = "" if visible is None else f" (CUDA_VISIBLE_DEVICES={visible!r} may hide it)"
    return ok(f"none found{hidden}; none is needed", devices=0)


def driver(machine: Machine) -> Findings:
    """The PTX that it reads against the PTX that the compiler writes."""
    answer = machine.driver
    if isinstance(answer, str) or not answer.devices:
        yield ok("none in use")
        return
    cuda = f"{answer.driver_version // 1000}.{answer.driver_version % 1000 // 10}"
    release = machine.smi[0]["driver"] if machine.smi else ""
    reads, emits = newest_ptx(answer.driver_version), machine.trial.get("ptx_version", "")
    text = " ".join(filter(None, ["driver", release, f"supports PTX {reads} (CUDA {cuda})"]))
    text += f", compiler emits {emits}" if emits else ""
    facts = {"release": release, "cuda": cuda, "reads_ptx": reads, "compiler_emits_ptx": emits}
    if answer.driver_version < probe.OLDEST_DRIVER:
        advice = f"update it to release {RELEASE_FOR_CUDA_13} or newer; until then kernels run on the emulated device"
        yield problem(text, advice, **facts)
    elif emits and _numbers(reads) < _numbers(emits):
        yield ok(f"{text}: nvJitLink makes machine code of it first", **facts)
    else:
        yield ok(text, **facts)


def newest_ptx(driver_version: int) -> str:
    """The newest PTX that a driver of that number (12_040: CUDA 12.4) reads; beyond the table, its nearest end."""
    release = (driver_version // 1000, driver_version % 1000 // 10)
    known = [cuda for cuda in PTX_OF_CUDA if cuda <= release]
    return PTX_OF_CUDA[max(known, default=min(PTX_OF_CUDA))]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _dotted(cc: int) -> str:
    return f"{cc // 10}.{cc % 10}"


def libcuda(machine: Machine) -> Findings:
    """Driver libraries that programs may load: more than one is a lottery."""
    mapped = [path for path in machine.trial.get("mapped", ()) if _is_driver(path) and not path.startswith("/memfd:")]
    mapped = _without_wsl_parts(mapped)
    found = _findable(machine)
    facts = {"mapped": mapped, "findable": found}
    if stubs := [path for path in found if "stubs" in Path(path).parts]:
        yield problem(f"{stubs[0]} is a stub for linking, not a driver", REMEDIES[STUB], **facts)
    if len(mapped) > 1:
        advice = f"keep one: {_remedy(machine)}"
        yield problem(f"two drivers are loaded at once: {' and '.join(mapped)}", advice, **facts)
    elif len(found) > 1 and machine.is_wsl:
        text = f"a Linux driver is installed beside that of Windows: {', '.join(found)}"
        yield problem(text, _remedy(machine), **facts)
    elif len(found) > 1:
        yield note(f"{len(found)} driver libraries, the first is taken: {', '.join(found)}", _remedy(machine), **facts)
    elif not stubs:
        yield ok(mapped[0] if mapped else found[0] if found else "no driver library, and none is needed", **facts)


def _remedy(machine: Machine) -> str:
    if machine.is_wsl:
        return "apt purge 'libnvidia-compute-*', so that the one of Windows serves"
    return "remove the package or the LD_LIBRARY_PATH entry that brings the other one"


def _is_driver(path: str) -> bool:
    return os.path.basename(path).removeprefix("memfd:").startswith("libcuda.so")


def _without_wsl_parts(paths: list[str]) -> list[str]:
    """On WSL, libcuda.so.1 is a small library that loads the driver from the folder of Windows's drivers."""
    return [path for path in paths if not path.startswith("/usr/lib/wsl/drivers/")] or paths


def _findable(machine: Machine) -> list[str]:
    """Driver libraries where the loader looks, in its order, each once."""
    folders = [folder for folder in machine.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    listed = re.findall(r"^\s*libcuda\.so(?:\.1)? .*=> (.+)$", machine.ldconfig, re.MULTILINE)
    candidates = [os.path.join(folder, name) for folder in folders for name in ("libcuda.so.1", "libcuda.so")]
    candidates += [*listed, f"{WSL_LIBRARIES}/libcuda.so.1"]
    found: dict[tuple[int, int], str] = {}
    for path in filter(_is_64_bit, candidates):
        facts = os.stat(path)  # links to one file are one library
        found.setdefault((facts.st_dev, facts.st_ino), path)
    return list(found.values())


def _is_64_bit(path: str) -> bool:
    """Whether it is a 64-bit ELF file: a 32-bit driver beside the other is usual, and never loaded here."""
    try:
        with open(path, "rb") as file:
            return file.read(5) == b"\x7fELF\x02"
    except OSError:
        return False
