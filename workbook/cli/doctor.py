"""`ladder doctor`: what is wrong with this installation, and what to do."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from workbook.doctor.finding import Finding

WIDTH = 80
LABEL, STATUS = 12, 9
COLOURS = {"ok": "green", "note": "yellow", "problem": "red", "failed": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Say what is wrong with this installation, and what to do."""
    from workbook import doctor as examination
    from workbook.doctor.machine import Machine

    findings = []
    for name, finding in examination.examine(Machine()):
        findings.append((name, finding))
        if not as_json:
            click.echo("\n".join(lines(name, finding)))
    if as_json:
        click.echo(json.dumps(examination.as_json(findings), indent=1))
    else:
        click.echo(verdict(findings))
    ctx.exit(0 if examination.is_well(findings) else 1)


def lines(name: str, finding: Finding) -> Iterable[str]:
    """One finding within 80 columns; a path, or what to do, that is longer stays whole."""
    word = finding.status if finding.status in ("ok", "note") else finding.status.upper()
    first = f"{name:{LABEL}}" + click.style(f"{word:{STATUS}}", fg=COLOURS[finding.status])
    margin = " " * (LABEL + STATUS)
    text = textwrap.wrap(finding.text, WIDTH - len(margin), break_long_words=False, break_on_hyphens=False)
    yield first + text[0]
    yield from (margin + line for line in text[1:])
    if finding.advice:
        yield f"{' ' * LABEL}do: {finding.advice}"  # on one line, since it may be a command to copy


def verdict(findings: list[tuple[str, Finding]]) -> str:
    wrong = dict.fromkeys(name for name, finding in findings if finding.status not in ("ok", "note"))
    return f"to fix: {', '.join(wrong)}" if wrong else "all is well"
