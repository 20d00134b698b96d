"""A report for a notebook: one self-contained piece of HTML without scripts, light, readable in dark themes too."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from simt.observe.profile import Finding
from simt.report import html_source
from simt.report import source as code
from simt.report.advice import Advice
from simt.report.lines import COLUMNS, listing
from simt.report.rules import advice
from simt.report.sections import Section, Table, sections, tagged
from simt.report.subject import Subject, by_launch_shape, path, quoted
from simt.report.text import GROUPS, HOT, cell, sampled, shape, shown, subject_findings, together, watched
from simt.report.units import digits, duration

STYLE = """
.simt-report { font: 13px/1.45 system-ui, sans-serif; max-width: 62em; }
.simt-report h3 { font-size: 15px; margin: 1em 0 .2em; }
.simt-report table { border-collapse: collapse; margin: .2em 0 .6em; font-size: 12px; }
.simt-report th { text-align: right; font-weight: 600; padding: 1px 8px; border-bottom: 1px solid #8886; }
.simt-report td { text-align: right; padding: 1px 8px; white-space: pre; }
.simt-report th:first-child, .simt-report td:first-child { text-align: left; }
.simt-report td.name, .simt-report td.code { text-align: left; font-family: ui-monospace, monospace; }
.simt-report td.name, .simt-report .tag { opacity: .65; }
.simt-report tr.now { background: #4a90d922; }
.simt-report summary { cursor: pointer; font-weight: 600; margin: .3em 0; }
.simt-report .advice { border-left: 3px solid #d9904a; padding: 0 0 0 .7em; margin: .5em 0; }
.simt-report .finding { border-left: 3px solid #d94a4a; padding: 0 0 0 .7em; margin: .5em 0; }
.simt-report code { font-family: ui-monospace, monospace; }
"""
NOW, CODE = ' class="now"', ' class="code"'
OPEN = ("Speed of light",)


def report(subjects: list[Subject], *, source: bool = False) -> str:
    """All launches: those of one kernel and shape are told once, by the slowest. source: with PTX and SASS of each line."""
    groups = by_launch_shape(subjects)
    body = "".join("".join(launch(group, source)) for group in groups[:GROUPS]) or "<p>no kernel was launched</p>"
    more = len(groups) - GROUPS
    rest = f"<p>{more} more kernels or shapes took less time and are not shown</p>" if more > 0 else ""
    return f'<div class="simt-report"><style>{STYLE}</style>{body}{rest}</div>'


def page(subjects: list[Subject], title: str, *, source: bool = False) -> str:
    """The same as a file of its own."""
    return f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>' \
        f"<body>{report(subjects, source=source)}</body></html>\n"


def launch(group: list[Subject], with_source: bool) -> Iterator[str]:
    """One kernel in one shape: what is wrong, what to do, and then the numbers."""
    subject, profile = group[0], group[0].profile
    yield f"<h3>{escape(subject.kernel)} {escape(shape(subject))}</h3><p>{escape(subject.device.title)}"
    if subject.time_ns:
        yield f": <b>{duration(subject.time_ns)}</b> modelled, bound by {escape(profile.bound_by)}; {escape(subject.error)}"
    yield from (f"<br>{line}" for line in together(group))
    if profile.sampled:
        yield f"<br>{escape(profile.sampling_told)}"
    yield "</p>"
    yield from findings(subject_findings(group))
    yield from (f"<p>{escape(said)}</p>" for said in watched(group))
    if subject.hot_lines:
        yield f"<p>Worst lines, by {escape(subject.weighed_by + sampled(subject))}</p>"
        yield table(("part", ""), [(f"{100 * part:.1f} %", quoted(place)) for place, part in subject.hot_lines[:HOT]], code=1)
    yield from advised(advice(subject))
    for section in sections(subject):
        yield details(section.title, section_body(section), section.title in OPEN)
    yield details("Counters of each line", listed(subject), False)
    if with_source:
        yield details("Source, PTX and SASS", html_source.source(code.source_view(profile)), False)


def advised(pieces: Iterable[Advice]) -> Iterator[str]:
    for piece in pieces:
        gain = "" if piece.gain_percent is None else f", at most {digits(piece.gain_percent)} %"
        said = f"<code>{escape(piece.text)}</code><br>{escape(piece.remedy)}"
        yield f'<div class="advice"><b>{escape(piece.rule + gain)}</b><br>{said}</div>'


def findings(found: Iterable[Finding]) -> Iterator[str]:
    for finding in found:
        kind = f"{finding.kind}, a note" if finding.note else finding.kind
        yield f'<div class="finding"><b>{escape(kind)}</b><br>{escape(finding.text)}<br>{escape(finding.advice)}</div>'


def details(title: str, body: str, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{body}</details>"


def section_body(section: Section) -> str:
    rows = "".join(f'<tr><td>{escape(row.label)}</td><td>{escape(shown(row))}</td>'
                   f'<td class="tag">{escape(tagged(row.tag, row.spread))}</td><td class="name">{escape(row.metric)}</td></tr>'
                   for row in section.rows)
    note = f'<p class="tag">{escape(section.note)}</p>' if section.note else ""
    return f"<table>{rows}</table>{''.join(titled(each) for each in section.tables)}{note}"


def titled(made: Table) -> str:
    return f"<p>{escape(made.title)}</p>{table(made.head, made.rows)}"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], code: int | None = None) -> str:
    """code: the column that holds source text. A row whose last cell points at the launch itself is marked."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><tr>{cells}</tr>{''.join(table_row(row, code) for row in rows)}</table>"


def table_row(row: tuple[str, ...], code: int | None) -> str:
    cells = (f"<td{CODE if index == code else ''}>{escape(text)}</td>" for index, text in enumerate(row))
    return f"<tr{NOW if row[-1] == '<- now' else ''}>{''.join(cells)}</tr>"


def listed(subject: Subject) -> str:
    """Counters per line beside its text."""
    head = ("line", "part", *(name for name, _ in COLUMNS), "")
    made = ""
    for file, lines in listing(subject).items():
        rows = [(f"{line.line}", f"{100 * line.part:.1f} %" if line.part else "",
                 *(cell(value(line.counters)) for _, value in COLUMNS), line.text) for line in lines]
        made += f"<p>{escape(path(file))}; part of the {escape(subject.weighed_by + sampled(subject))}</p>" \
            f"{table(head, rows, code=len(head) - 1)}"
    return made
