"""Cuts the stub of an exercise from its answer, by markers in the answer's comments.

    # gap: load one cell of each tile, then wait | 5 lines      # planted
    …the answer…                                               …the answer…
    # end gap                                                   # instead
                                                                #- …a line with the bug…
                                                                # end planted

A gap becomes `# TODO: load one cell of each tile, then wait (5 lines)` and a placeholder: `pass`, or the `#-` lines after an
`# instead`, where the rest would not compile without them. What is planted becomes the `#-` lines alone, without a trace. The
number of lines is that of the answer without its blank lines and comments, and checked.

A stub keeps the docstring up to a line that begins with "Answer:", but for a step's "Changed:", and drops what only the ladder
needs (`cost`, `CLAIMS`), with the imports and constants that nothing else uses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbook.exercises.entry import PROJECT, Exercise

ONLY_FOR_LADDERS = ("cost", "CLAIMS")
COMMAND = "./ladder exercise check"
THERE_ARE = "`# gap: task | 3 lines`, `# planted`, `# instead`, `# end gap` and `# end planted`"

_MARKER = re.compile(r"(?P<indent>\s*)# (?P<word>gap:|planted$|instead$|end gap$|end planted$)(?P<text>.*)")
_LOOKS_LIKE_ONE = re.compile(r"\s*#\s*(gap\b|planted\b|instead\b|end\s*(gap|planted)\b)", re.IGNORECASE)
_GAP = re.compile(r" (?P<task>\S.*?) \| (?P<lines>\d+) lines?$")
_BUGGY = re.compile(r"\s*#-( (?P<code>.*))?$")


class BrokenMarkers(ValueError):
    """Markers of an answer that do not fit together; the message names file and line."""


@dataclass
class _Region:
    """What stands between two markers; `placeholder` is None before an `# instead`."""

    kind: str
    first: int
    indent: str
    task: str
    promised: int
    answer: list[str]
    placeholder: list[str] | None = None


def stub(exercise: Exercise) -> str:
    """The text of the exercise's stub. Raises BrokenMarkers, OSError."""
    source = exercise.answer_path.read_text(encoding="utf-8")
    return cut(source, exercise.answer, exercise.name)


def cut(source: str, where: str, name: str) -> str:
    """The stub of the answer `source`, which stands in the file `where`, for the exercise `name`. Raises BrokenMarkers."""
    kinds = {kind for kind, _, _ in answer_regions(source, where)}  # an error in it names lines of the whole file
    try:
        ast.parse(source)
    except SyntaxError as error:
        raise BrokenMarkers(f"{where}:{error.lineno}: no valid Python: {error.msg}") from None
    lines = list(_filled(_shown_docstring(_without_ladder_parts(source)).splitlines(), where))
    text = f"{_header(name, kinds)}{_tidy(lines)}"
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise BrokenMarkers(f"{where}: its stub is no valid Python, {error.msg}: {(error.text or '').strip()}") from None
    return text


def answer_regions(source: str, where: str = "answer") -> Iterator[tuple[str, str, list[str]]]:
    """("gap" or "planted", the task, the lines of the answer) of each marked region. Raises BrokenMarkers."""
    for part in _parts(source.splitlines(), where):
        if isinstance(part, _Region):
            yield part.kind, part.task, part.answer


def _header(name: str, kinds: set[str]) -> str:
    """`kinds` of regions: a file without a gap is complete, and wrong."""
    todo = "complete" if "gap" in kinds else "mend"
    return f"# Exercise {name}: {todo} this file, then run  {COMMAND} {name}\n"


# --- regions ------------------------------------------------------------------------------------------------------------


def _filled(lines: list[str], where: str) -> Iterator[str]:
    """The lines of the stub."""
    regions = 0
    for part in _parts(lines, where):
        if isinstance(part, str):
            yield part
            continue
        regions += 1
        if part.kind == "gap":
            many = "1 line" if part.promised == 1 else f"{part.promised} lines"
            yield f"{part.indent}# TODO: {part.task} ({many})"
        yield from part.placeholder or [f"{part.indent}pass"]
    if not regions:
        raise BrokenMarkers(f"{where}: nothing is marked: an exercise needs a `# gap: …` or a `# planted`")


def _parts(lines: list[str], where: str) -> Iterator[str | _Region]:
    """Lines outside the markers, and regions."""
    region: _Region | None = None
    for number, line in enumerate(lines, start=1):
        at = f"{where}:{number}"
        marker = _MARKER.fullmatch(line)
        if marker is None:
            if _LOOKS_LIKE_ONE.match(line):
                raise BrokenMarkers(f"{at}: no such marker: {line.strip()}; there are {THERE_ARE}")
            if region is None:
                yield line
            else:
                _take(region, line, at)
        elif marker["word"] in ("gap:", "planted"):
            if region is not None:
                raise BrokenMarkers(f"{at}: a region begins inside that of line {region.first}, which has no end before")
            region = _opened(marker, number, at)
        elif region is None:
            raise BrokenMarkers(f"{at}: # {marker['word']} without a beginning before it")
        elif marker["word"] == "instead":
            _begin_placeholder(region, at)
        else:
            yield _closed(region, marker["word"].removeprefix("end "), at)
            region = None
    if region is not None:
        raise BrokenMarkers(f"{where}:{region.first}: the {region.kind} has no `# end {region.kind}`")


def _opened(marker: re.Match[str], line: int, at: str) -> _Region:
    kind = marker["word"].removesuffix(":")
    if kind == "planted":
        return _Region(kind, line, marker["indent"], "", 0, [])
    gap = _GAP.fullmatch(marker["text"])
    if gap is None:
        raise BrokenMarkers(f"{at}: a gap reads `# gap: what to do | 5 lines`, not {marker.string.strip()}")
    return _Region(kind, line, marker["indent"], gap["task"], int(gap["lines"]), [])


def _begin_placeholder(region: _Region, at: str) -> None:
    if region.placeholder is not None:
        raise BrokenMarkers(f"{at}: a second `# instead` in the region of line {region.first}")
    region.placeholder = []


def _take(region: _Region, line: str, at: str) -> None:
    """A line of the answer, or one of the placeholder."""
    if region.placeholder is None:
        region.answer.append(line)
        return
    buggy = _BUGGY.fullmatch(line)
    if buggy is None:
        raise BrokenMarkers(f"{at}: after `# instead`, lines read `#- code`, not {line.strip()!r}")
    region.placeholder.append(f"{region.indent}{buggy['code'] or ''}".rstrip())


def _closed(region: _Region, kind: str, at: str) -> _Region:
    if kind != region.kind:
        raise BrokenMarkers(f"{at}: # end {kind} closes the {region.kind} of line {region.first}")
    if region.kind == "planted" and region.placeholder is None:
        raise BrokenMarkers(f"{at}: what is planted needs an `# instead` and `#- code` lines before its end")
    code = [line for line in region.answer if line.strip() and not line.strip().startswith("#")]
    if region.kind == "gap" and len(code) != region.promised:
        said = f"the gap of line {region.first} promises {region.promised} lines, its answer has {len(code)}"
        raise BrokenMarkers(f"{at}: {said}")
    if region.placeholder == [] and region.kind == "gap":
        raise BrokenMarkers(f"{at}: `# instead` without a line of code: leave it out")
    return region


# --- what only the answer needs -----------------------------------------------------------------------------------------


def _without_ladder_parts(source: str) -> str:
    """Without `cost` and `CLAIMS`, the comments above them, and the imports and constants that only they use."""
    tree = ast.parse(source)
    lines = source.splitlines()
    gone = [node for node in tree.body if set(_defined(node)) & set(ONLY_FOR_LADDERS)]
    unused: set[str] = set()
    found = gone
    while found:  # a constant of CLAIMS may have been the last to use an import
        unused = _used(gone) - _used([node for node in tree.body if node not in gone])
        found = [node for node in tree.body if node not in gone and _is_constant(node) and set(_defined(node)) & unused]
        gone = [*gone, *found]
    for node in gone:
        for index in range(_first_line(node, lines) - 1, node.end_lineno or node.lineno):
            lines[index] = "\0"
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and unused & {_bound(name) for name in node.names}:
            _shorten_import(node, unused, lines)
    return "\n".join(line for line in lines if line != "\0") + "\n"


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign)


def _first_line(node: ast.stmt, lines: list[str]) -> int:
    """The statement's first line, or that of its decorators or of the comments directly above."""
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
    while first > 1 and lines[first - 2].startswith("#") and not _MARKER.fullmatch(lines[first - 2]):
        first -= 1
    return first


def _shorten_import(node: ast.Import | ast.ImportFrom, unused: set[str], lines: list[str]) -> None:
    kept = [name for name in node.names if _bound(name) not in unused]
    for index in range(node.lineno - 1, node.end_lineno or node.lineno):
        lines[index] = "\0"
    if kept:
        node.names = kept
        lines[node.lineno - 1] = ast.unparse(node)


def _bound(name: ast.alias) -> str:
    return (name.asname or name.name).partition(".")[0]


def _defined(node: ast.stmt) -> Iterator[str]:
    """Names that a statement at the top of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        yield from (found.id for found in ast.walk(target) if isinstance(found, ast.Name))


def _used(nodes: list[ast.stmt]) -> set[str]:
    """Names that the statements read."""
    return {
        found.id
        for node in nodes
        for found in ast.walk(node)
        if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Load)
    }


def _shown_docstring(source: str) -> str:
    """Without what gives the answer away in the module's docstring: a step's Changed, and all from "Answer:" on."""
    tree = ast.parse(source)
    if not (tree.body and "\n" in (ast.get_docstring(tree) or "")):
        return source
    lines, end = source.splitlines(), tree.body[0].end_lineno or 1
    docstring = "\n".join(lines[: end - 1])
    docstring = re.sub(r"^Answer:.*\Z", "", docstring, flags=re.MULTILINE | re.DOTALL).rstrip()
    docstring = re.sub(r"^Changed:.*\n(?:[ \t].*\n)*", "", docstring, flags=re.MULTILINE)
    return "\n".join([docstring, *lines[end - 1 :]]) + "\n"


def _tidy(lines: list[str]) -> str:
    """At most two blank lines in a row, none at the end."""
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip() + "\n"


def relative(path: Path) -> str:
    """As a person would type it from the project's folder."""
    return str(path.relative_to(PROJECT)) if path.is_relative_to(PROJECT) else str(path)
