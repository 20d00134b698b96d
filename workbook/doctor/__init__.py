"""`ladder doctor`: looks at an installation and says what is wrong with it, and what to do.

Needs the standard library and nothing that may be broken; what a check needs beyond, it imports itself. No check loads
the CUDA driver or the compiler into this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from workbook.doctor import gpu, packages, running, settings, system
from workbook.doctor.finding import Finding, Findings, one_line
from workbook.doctor.machine import Machine

SCHEMA = 1
Checks = dict[str, Callable[[Machine], Findings]]

# In the order shown. Those after cache look at what workbook.doctor.trial, a process of some seconds, found out.
CHECKS: Checks = {
    "python": system.python,
    "platform": system.platform,
    "disk": system.disk,
    "packages": packages.packages,
    "imports": packages.imports,
    "shadowing": packages.shadowing,
    "settings": settings.settings,
    "cache": settings.cache,
    "gpu": gpu.gpu,
    "driver": gpu.driver,
    "libcuda": gpu.libcuda,
    "numba.cuda": packages.numba_cuda,
    "variables": settings.variables,
    "compiler": running.compiler,
    "backend": running.backend,
    "self-test": running.self_test,
}


def examine(machine: Machine, checks: Checks = CHECKS) -> Iterator[tuple[str, Finding]]:
    """(check, finding) of every check, one or more of each; a check that breaks is a finding too."""
    for name, check in checks.items():
        try:
            for finding in check(machine):
                yield name, finding
        except Exception as error:
            advice = "solve what else is wrong first; if this stays, report it"
            yield name, Finding("failed", f"this check itself failed: {one_line(error)}", advice)


def is_well(findings: list[tuple[str, Finding]]) -> bool:
    return all(finding.status in ("ok", "note") for _, finding in findings)


def as_json(findings: list[tuple[str, Finding]]) -> dict[str, Any]:
    """What `ladder doctor --json` prints."""
    checks = [
        {"check": name, "status": each.status, "text": each.text, "advice": each.advice, "facts": each.facts}
        for name, each in findings
    ]
    return {"schema": SCHEMA, "well": is_well(findings), "checks": checks}
