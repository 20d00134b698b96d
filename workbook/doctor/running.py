"""What kernels run on, what compiles them, and whether both work."""

from __future__ import annotations

from simt.driver import probe
from workbook.doctor.finding import Findings, note, ok, problem
from workbook.doctor.machine import Machine
from workbook.units import duration


def backend(machine: Machine) -> Findings:
    """Which one would be used, and why."""
    from simt.driver.enable import DEFAULT_DEVICE, MODES

    mode = machine.environ.get("SIMT") or "auto"
    device = (machine.environ.get("SIMT_DEVICE") or DEFAULT_DEVICE).upper()
    answer = machine.driver
    no_gpu = answer if isinstance(answer, str) else probe.judge(*answer)
    if mode not in MODES:
        yield problem(f"none: SIMT={mode} is refused", f"set SIMT to {', '.join(MODES)}, or unset it", backend=None)
    elif mode == "off":
        yield problem("none: SIMT=off", "unset SIMT, or set SIMT=auto", backend="off")
    elif mode == "force":
        yield ok(f"emulated {device}: SIMT=force", backend="emulated", device=device.lower(), reason="SIMT=force")
    elif no_gpu:
        yield ok(f"emulated {device}: {no_gpu}", backend="emulated", device=device.lower(), reason=no_gpu)
    else:
        yield ok("the GPU: it is usable; SIMT=force would emulate one", backend="gpu", reason="usable")


def compiler(machine: Machine) -> Findings:
    """NVVM, by what it wrote into its PTX."""
    emits, version = machine.trial.get("ptx_version"), machine.trial.get("compiler_version", "")
    if emits is None:
        yield note("nothing was compiled: the self-test says why")
    else:
        yield ok(f"NVVM {version} emits PTX {emits}", version=version, emits_ptx=emits)


def self_test(machine: Machine) -> Findings:
    """A small kernel, compiled, run and compared."""
    trial = machine.trial
    if "error" in trial:
        text = " ".join([trial["error"], *trial.get("notes", [])])
        advice = "solve what is said above first; ./ladder test tells more"
        yield problem(f"failed: {text}", advice, **_plain(trial))
    elif trial.get("backend") == "off":
        yield note("compiled, not run: SIMT=off", **_plain(trial))
    elif trial["wrong_cells"]:
        text = f"{trial['wrong_cells']} of {trial['cells']} cells came out wrong on {_where(trial)}"
        yield problem(text, "./ladder test tells more", **_plain(trial))
    else:
        first, again = duration(1e9 * trial["first_s"]), duration(1e9 * trial["again_s"])
        text = f"a kernel compiled and ran in {first} on {_where(trial)}, again in {again}"
        yield ok(f"{text}; {trial['cells']} cells right", **_plain(trial))


def _where(trial: dict) -> str:
    return "the GPU" if trial.get("backend") == "gpu" else "the emulated device"


def _plain(trial: dict) -> dict:
    return {name: trial[name] for name in ("backend", "first_s", "again_s", "wrong_cells", "error") if name in trial}
