"""Checks records: counts the modelled ones anew, and says of every one what no longer holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kernels.ladder import families
from workbook.records import figures, recount, schema, workers

if TYPE_CHECKING:
    from workbook.failure import Failure
    from workbook.records.recount import Trouble
    from workbook.records.schema import Document
    from workbook.records.workers import Plan


@dataclasses.dataclass(frozen=True)
class Checked:
    """One record, as far as it tells of `ladders`; `failures` are of steps that no longer run: (step id, why)."""

    document: Document
    ladders: tuple[str, ...]
    troubles: list[Trouble]
    failures: list[tuple[str, Failure]]

    @property
    def runs(self) -> int:
        return sum(_ladder(run) in self.ladders for run in self.document["runs"])


def check(plan: Plan, documents: Sequence[Document], watch: Callable[[str], None]) -> Iterator[Checked]:
    """Every one of these records, as soon as its device was counted. Measured ones are compared with the code alone."""
    modelled = {}
    for document in documents:
        ladders = _told(plan, document)
        if document["kind"] == schema.MODELLED:
            modelled[document["device"], document["family"]] = document, ladders
        else:
            yield Checked(document, ladders, recount.troubles(document, None, ladders), [])
    wanted = {ladder for _, ladders in modelled.values() for ladder in ladders}
    needed = {family: [name for name in ladders if name in wanted] for family, ladders in plan.items()}
    needed = {family: ladders for family, ladders in needed.items() if ladders}
    devices = list(dict.fromkeys(device for device, _ in modelled))
    for counted in workers.count(needed, devices, False, watch) if needed else ():
        now = counted.document
        document, ladders = modelled.pop((now["device"], now["family"]), (None, ()))
        if document is not None:
            runs = [run for run in now["runs"] if _ladder(run) in ladders]
            yield Checked(document, ladders, recount.troubles(document, runs, ladders), counted.failures)
    for document, ladders in modelled.values():  # all of their ladders are gone
        yield Checked(document, ladders, recount.troubles(document, [], ladders), [])


def lacking(plan: Plan, documents: Sequence[Document], devices: Sequence[str]) -> list[str]:
    """The ladders that no record tells of, or none on one of these devices."""
    told = {(ladder, document["device"]) for document in documents for ladder in figures.ladders_of(document)}
    ladders = [name for names in plan.values() for name in names]
    if devices:
        return [f"{ladder} on {device}" for ladder in ladders for device in devices if (ladder, device) not in told]
    return [ladder for ladder in ladders if ladder not in {name for name, _ in told}]


def _told(plan: Plan, document: Document) -> tuple[str, ...]:
    """The ladders of the plan that the record tells of, and those that are gone from its family."""
    told, family = figures.ladders_of(document), document["family"]
    return tuple(name for name in told if name in plan[family] or name not in families()[family])


def _ladder(run: dict) -> str:
    return run["step"].partition("/")[0]
