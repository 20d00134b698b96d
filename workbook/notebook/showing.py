"""Shows code and figures in a notebook: sources as they stand in the project, tables, predictions beside counts."""

from __future__ import annotations

import ast
import contextlib
import difflib
import html
import inspect
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from workbook import families, report, units

if TYPE_CHECKING:
    from IPython.display import HTML, Markdown

    from kernels.ladder import Step
    from workbook.notebook.running import Ran
    from workbook.notebook.timings import Timings

AROUND = {"cost", "scratch"}
LEFT = ("step", "bound by", "kernel")  # columns of words; figures are flush right
IN_FULL = {"sect/req ld/st": "sectors per request, load / store", "conflicts": "bank conflicts", "regs": "registers",
           "occup. %": "occupancy, %"}


def show(what: str | Callable[..., Any], whole: bool = False) -> Markdown:
    """The source of a step's kernels and launches ("matmul/tiled"), or of a function. whole: all of the step's file."""
    if not isinstance(what, str):
        return _fenced(inspect.getsource(getattr(what, "py_func", what)), "python")
    step = families.find_step(what)
    return _fenced(step.plain_source if whole else _code(step), "python")


def changes(step: str) -> HTML:
    """What a step changed: the diff of kernels and launches against the step before."""
    found = families.find_step(step)
    if found.previous is None:
        raise ValueError(f"{found.id} is the first step: nothing comes before it")
    before, after = (_code(one).splitlines(keepends=True) for one in (found.previous, found))
    return _coloured("".join(difflib.unified_diff(before, after, found.previous.id, found.id, n=2)).splitlines())


def _coloured(diff: Sequence[str]) -> HTML:
    """A unified diff with what went and what came on grounds of their own, on a light theme as on a dark one."""
    from IPython.display import HTML

    grounds = {"-": "rgba(248, 81, 73, 0.2)", "+": "rgba(46, 160, 67, 0.2)"}
    lines = [_element("span", f"background-color: {grounds.get(line[:1], 'transparent')}", line) for line in diff]
    return HTML("<pre>" + "\n".join(lines) + "</pre>")


def _code(step: Step) -> str:
    """A step's file without docstring, imports, cost, claims, constants that only those use, and markers of exercises."""
    lines = step.plain_source.splitlines()
    body = [node for node in ast.parse(step.plain_source).body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)]
    kept = [node for node in body if not isinstance(node, ast.Assign) and getattr(node, "name", "") not in AROUND]
    used = {name for node in kept for name in _names(node)}
    for node in reversed([node for node in body if isinstance(node, ast.Assign)]):
        if used & {name for target in node.targets for name in _names(target)}:
            kept.append(node)
            used |= _names(node)
    parts = []
    for node in sorted(kept, key=lambda node: node.lineno):
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
        parts.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n".join(parts) + "\n"


def _names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def _fenced(code: str, language: str) -> Markdown:
    from IPython.display import Markdown

    return Markdown(f"```{language}\n{code.rstrip()}\n```")


@contextlib.contextmanager
def failing() -> Iterator[None]:
    """Run what is expected to fail, and print what the device says about it instead of a traceback."""
    try:
        yield
    except Exception as error:
        notes = [line for note in getattr(error, "__notes__", ()) for line in note.splitlines()]
        print("\n".join(notes or [f"{type(error).__name__}: {error}"]))
    else:
        print("nothing failed")


def machine_code(ran: Ran, words: str, rows: int | None = 40) -> None:
    """Print PTX and SASS of the kernel's line that holds these words, with how often warps ran them; `rows` of each at most.

    Raises ValueError for words that no line holds, or several.
    """
    from simt.report import source

    view = source.source_view(ran.subject().profile)
    print(source.text(view, ran.place_of(words, {line.place for line in view.lines}, "lines"), rows))


def table(timings: Timings) -> HTML:
    """Figures of steps, as `time` and `recorded` return them, under a line that says what they are of."""
    first = timings[0].step.partition("/")[2]
    columns = (
        report.STEP,
        (f"time, {timings.kind}", lambda row: units.duration(row.time_ns)),
        (f"x {first}", report.figure("speedup_first", units.digits)),
        ("x row above", report.figure("speedup_previous", units.digits)),
        *((IN_FULL.get(title, title), cell) for title, cell in report.REASONS),
    )
    return _html(timings.title, [title for title, _ in columns], [[cell(row) for _, cell in columns] for row in timings])


def published(ladder: str, device: str) -> HTML:
    """What others measured of the same problem on that device, with its source. Raises LookupError where none is on file."""
    from workbook.records.published import load

    found = next((found for found in load() if (found.ladder, found.device) == (ladder, device)), None)
    if found is None:
        raise LookupError(f"records/published has no {ladder} on {device}")
    rows = [[rung.name, rung.step or "-", f"{rung.value:,.0f}", f"{found.speedup(rung):.1f}"] for rung in found.kernels]
    title = f"{ladder} at {found.case}, measured by others on {found.gpu}: {found.source}"
    return _html(title, ["kernel", "step", f"{found.unit}, measured", "x first"], rows)


def _html(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> HTML:
    from IPython.display import HTML

    styles = ["text-align: left; white-space: nowrap" if head in LEFT else "text-align: right" for head in heads]

    def line(tag: str, cells: Sequence[str]) -> str:
        placed = [_element(tag, style, cell) for style, cell in zip(styles, cells, strict=True)]
        return f"<tr>{''.join(placed)}</tr>"

    body = "\n".join(line("td", cells) for cells in rows)
    caption = f'<caption style="caption-side: top; text-align: left">{html.escape(title)}</caption>'
    return HTML(f"<table>{caption}\n<thead>{line('th', heads)}</thead>\n<tbody>\n{body}\n</tbody></table>")


def _element(tag: str, style: str, text: str) -> str:
    return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'


def compare(what: str, guess: float | EllipsisType | None, found: float, tag: str = "counted") -> None:
    """Print a guess beside what was found. Without a guess, ... or None, print what to do, and not the answer."""
    shown = units.digits(found)
    if guess is None or guess is ...:
        print(f"{what}: write your guess first, in place of the dots, and run again")
    elif guess == found or (found and abs(guess / found - 1) < 0.005):
        print(f"{what}: you said {units.digits(guess)}, and that is what was {tag}")
    else:
        off = f", {units.digits(found / guess)}x your number" if guess else ""
        print(f"{what}: you said {units.digits(guess)}, {tag} {shown}{off}")
