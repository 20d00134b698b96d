"""Puts new runs into a record, and refuses where old and new ones would not be comparable."""

from __future__ import annotations

from kernels.ladder import families
from workbook.records import environment, schema
from workbook.records.schema import Document

HOST = ("gpu", "host", "driver", "cuda")


class Mixed(ValueError):
    """Old and new runs that do not belong into one file; the message names both sides and what to do."""


def merge(old: Document | None, new: Document, ladders: list[str]) -> Document:
    """The new record, with the old runs of other ladders than these. Raises Mixed."""
    if old is None:
        return new
    name = f"records/{new['device']}/{new['family']}.json"
    if old["kind"] != new["kind"]:
        raise Mixed(f"{name} is {old['kind']}, and these runs are {new['kind']}: {_anew}")
    if new["kind"] == schema.MEASURED:
        _refuse(name, "was measured on", old, new, HOST, _anew)
    kept = [run for run in old["runs"] if run["step"].partition("/")[0] not in ladders]
    if not kept:
        return new
    whole = f"record the whole family, {new['family']}, or {_anew}"
    _refuse(name, "keeps runs made with", old, new, tuple(environment.PACKAGES), whole)
    if old.get("model") != new.get("model"):
        versions = f"version {old['model']['version']} of the model, and this is {new['model']['version']}"
        raise Mixed(f"{name} keeps runs made with {versions}: {whole}")
    merged = {**new, "runs": _in_order(new["family"], [*kept, *new["runs"]])}
    if new["kind"] == schema.MEASURED:
        merged["baselines"] = [*(entry for entry in old["baselines"] if entry["ladder"] not in ladders), *new["baselines"]]
    return merged


_anew = "begin it anew with --replace"


def _refuse(name: str, how: str, old: Document, new: Document, fields: tuple[str, ...], remedy: str) -> None:
    differing = [field for field in fields if old["env"][field] != new["env"][field]]
    if differing:
        there, here = (
            ", ".join(f"{field} {document['env'][field] or 'unknown'}" for field in differing) for document in (old, new)
        )
        raise Mixed(f"{name} {how} {there}; here it is {here}: {remedy}")


def _in_order(family: str, runs: list[dict]) -> list[dict]:
    """Ladder by ladder, as the family lists them."""
    order = {ladder: index for index, ladder in enumerate(families().get(family, ()))}
    return sorted(runs, key=lambda run: order.get(run["step"].partition("/")[0], len(order)))
