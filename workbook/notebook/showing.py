"""Shows code and figures in a notebook: sources as they stand in the project, tables, predictions beside counts."""

from __future__ import annotations

import ast
import contextlib
import difflib
import html
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbook import families, report, units

if TYPE_CHECKING:
    from IPython.display import HTML, Markdown

    from kernels.ladder import Step
    from workbook.notebook.running import Ran
    from workbook.results import Row

AROUND = {"cost", "scratch"}
COLUMNS = (report.STEP, ("time", lambda row: units.duration(row.time_ns)), *report.RESULT[1:3], *report.REASONS)


def show(what: str | Callable[..., Any], whole: bool = False) -> Markdown:
    """The source of a step's kernels and launches ("matmul/tiled"), or of a function. whole: all of the step's file."""
    if not isinstance(what, str):
        return _fenced(inspect.getsource(getattr(what, "py_func", what)), "python")
    step = families.find_step(what)
    return _fenced(step.plain_source if whole else _code(step), "python")


def changes(step: str) -> Markdown:
    """What a step changed: the diff of kernels and launches against the step before."""
    found = families.find_step(step)
    if found.previous is None:
        raise ValueError(f"{found.id} is the first step: nothing comes before it")
    before, after = (_code(one).splitlines(keepends=True) for one in (found.previous, found))
    return _fenced("".join(difflib.unified_diff(before, after, found.previous.id, found.id, n=2)), "diff")


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


def table(rows: Sequence[Row]) -> HTML:
    """Figures of steps, as `time` returns them."""
    from IPython.display import HTML

    head = "".join(f"<th>{html.escape(title)}</th>" for title, _ in COLUMNS)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell(row))}</td>" for _, cell in COLUMNS) + "</tr>" for row in rows)
    return HTML(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def compare(what: str, predicted: float | None, found: float, tag: str = "counted") -> None:
    """Print a prediction beside what was found. `predicted` None: nothing was predicted yet."""
    shown = units.digits(found)
    if predicted is None:
        print(f"{what}: {tag} {shown}. You have not predicted it: write a number above, run that cell, then this one")
    elif predicted == found or (found and abs(predicted / found - 1) < 0.005):
        print(f"{what}: you said {units.digits(predicted)}, and that is what was {tag}")
    else:
        off = f", {units.digits(found / predicted)}x your number" if predicted else ""
        print(f"{what}: you said {units.digits(predicted)}, {tag} {shown}{off}")
