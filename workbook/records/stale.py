"""Why a record no longer tells of this code: what a run was made from is not what is here now."""

from __future__ import annotations

import functools
from typing import Any

from kernels.broken import Broken
from kernels.ladder import UnknownName, load_step
from simt import model
from workbook.records import environment, schema
from workbook.records.schema import Document


def reasons(document: Document, run: dict[str, Any]) -> list[str]:
    """What has changed since the run was recorded, each "what: then -> now"; empty while it still holds."""
    return [*_code(run), *_versions(document)]


def _code(run: dict[str, Any]) -> list[str]:
    try:
        now = _fingerprint(run["step"])
    except UnknownName:
        return [f"{run['step']} is gone from its ladder"]
    except Broken as error:
        return [f"the code is broken: {error}"]
    return [] if now == run["fingerprint"] else [f"the code changed: fingerprint {run['fingerprint']} -> {now}"]


@functools.cache
def _fingerprint(step_id: str) -> str:
    """Of the step as it is; a process's own code does not change under it."""
    return load_step(step_id).fingerprint


def _versions(document: Document) -> list[str]:
    then, now = document["env"], environment.compilers()
    changed = [
        f"{package} {then[field] or 'unknown'} -> {now[field] or 'unknown'}"
        for field, package in environment.PACKAGES.items()
        if then[field] != now[field]
    ]
    if document["kind"] == schema.MODELLED and document["model"]["version"] != model.MODEL_VERSION:
        changed.append(f"the model of time: version {document['model']['version']} -> {model.MODEL_VERSION}")
    return changed
