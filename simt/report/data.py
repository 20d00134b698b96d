"""A report as one JSON document, for other programs.

{"schema": 1, "device": NAME, "launches": [{
    "kernel": NAME, "grid": [x, y, z], "block": [x, y, z],
    "metrics": {NAME: number},                      counters, and the rows of all sections
    "tags": {NAME: TAG},                            of each metric: "exact"; "sampled" where not all blocks were counted;
                                                    "estimated", "simulated" or "modelled", and then ", sampled"
    "errors": {NAME: number},                       of what is sampled: how far two halves of the sample lie from their mean
    "lines": [{"file", "line", "metrics": {NAME: number}}],
    "blocks_watched": of the grid, by the race checker in shared memory; 0 where it was not asked
    "checks": [NAME],                               of the checkers that looked
    "globally_watched": false where it had no room for all of the global memory that the launch touched
    "findings": [{"kind", "lines": [{"file", "line"}], "text"}],        kind: "race", "init", "sync"; "race note" where harmless
    "advice": [{"rule", "text", "remedy", "gain_percent", "file", "line"}]}]}
"""
from __future__ import annotations

import dataclasses
from typing import Any

from simt.observe.profile import Finding
from simt.report.rules import advice
from simt.report.sections import sections
from simt.report.subject import Subject

SCHEMA = 1
DIGITS = 6                  # that numbers which are no counts keep


def document(subjects: list[Subject], device: str) -> dict[str, Any]:
    """All launches, in their order."""
    return {"schema": SCHEMA, "device": device, "launches": [launch(subject) for subject in subjects]}


def launch(subject: Subject) -> dict[str, Any]:
    profile = subject.profile
    numbers, tags = metrics(subject)
    return {
        "kernel": subject.kernel,
        "grid": list(profile.grid),
        "block": list(profile.block),
        "metrics": numbers,
        "tags": tags,
        "errors": dict(profile.errors),
        "lines": [{"file": file, "line": line, "metrics": dict(counters)}
                  for (file, line), counters in sorted(profile.lines.items())],
        "blocks_watched": profile.blocks_watched,
        "checks": list(profile.checks),
        "globally_watched": profile.globally_watched,
        "findings": [finding(found) for found in profile.findings],
        "advice": [dataclasses.asdict(piece) for piece in advice(subject)],
    }


def metrics(subject: Subject) -> tuple[dict[str, float], dict[str, str]]:
    """Values and tags of all counters, and of every number in the sections."""
    profile = subject.profile
    numbers: dict[str, float] = dict(profile.counters)
    tags = {name: subject.tag(name) for name in numbers}
    facts: set[str] = set()
    for section in sections(subject):
        for row in section.rows:
            if row.metric and not isinstance(row.value, str) and row.metric not in numbers:
                numbers[row.metric] = row.value if isinstance(row.value, int) else float(f"{row.value:.{DIGITS}g}")
                tags[row.metric] = row.tag
                facts |= {row.metric} if row.fact else set()
    if profile.sampled:
        tags = {name: tag if name in facts or tag == "sampled" else f"{tag}, sampled" for name, tag in tags.items()}
    return numbers, tags


def finding(found: Finding) -> dict[str, Any]:
    return {
        "kind": f"{found.kind} note" if found.note else found.kind,
        "lines": [{"file": file, "line": line} for file, line in found.places],
        "text": f"{found.text}; {found.advice}",
    }
