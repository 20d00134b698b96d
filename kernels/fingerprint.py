"""The fingerprint of a kernel file: what a record of a measurement is tied to.

fingerprint(path) -> 12 hex digits of SHA-256 over the tokens of the file and of every project file that it imports,
directly or not. Comments, docstrings and layout do not count, nor do file names. "from package import module" names the
module alone: the package's __init__ runs on the way, but nothing of it is taken. The value is the same on Python 3.11
to 3.14: an f-string is one token up to 3.11 and many from 3.12 on (PEP 701), so it is taken as the text it spans.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import token
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = Path(__file__).resolve().parent.name
DIGITS = 12

_END_OF_STATEMENT = "<newline>"
_STRUCTURE = {token.NEWLINE: _END_OF_STATEMENT, token.INDENT: "<indent>", token.DEDENT: "<dedent>"}
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, token.ENDMARKER}


def fingerprint(path: Path, project: Path = PROJECT) -> str:
    """Fingerprint of the file at `path`, whose imports of our package are looked up below the folder `project`."""
    own, *imported = (_digest(file.read_text(encoding="utf-8")) for file in project_files(path, project))
    return hashlib.sha256("".join([own, *sorted(imported)]).encode()).hexdigest()[:DIGITS]


def project_files(path: Path, project: Path = PROJECT) -> list[Path]:
    """The file itself, then every project file that it imports, directly or through another one."""
    found = [path.resolve()]
    for file in found:  # grows while we walk it
        found += [path for path in dict.fromkeys(_imported_files(file, project)) if path not in found]
    return found


def code_tokens(source: str) -> list[str]:
    """The tokens of `source` that decide what it does, with <newline>, <indent> and <dedent> for its structure."""
    source = source.replace("\r\n", "\n")
    codes: list[str] = []
    for statement in _statements(_joined_f_strings(source)):
        only_strings = len(statement) > 1 and all(kind == token.STRING for kind, _ in statement[:-1])
        if not only_strings:  # a docstring, wherever it stands
            codes += [text for _, text in statement]
    return codes


def _digest(source: str) -> str:
    return hashlib.sha256("\0".join(code_tokens(source)).encode()).hexdigest()


def _joined_f_strings(source: str) -> Iterator[tuple[int, str]]:
    """(kind, text) of each token; a whole f-string comes as one STRING, as it did up to Python 3.11."""
    lines = list(io.StringIO(source))
    depth, start = 0, (0, 0)
    for item in tokenize.generate_tokens(io.StringIO(source).readline):
        name = token.tok_name[item.type]
        if name.endswith("STRING_START"):
            start = start if depth else item.start
            depth += 1
        elif name.endswith("STRING_END"):
            depth -= 1
            if depth == 0:
                yield token.STRING, _between(lines, start, item.end)
        elif depth == 0 and item.type not in _LAYOUT:
            yield item.type, _STRUCTURE.get(item.type, item.string)


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from (line, column) to (line, column), lines counted from 1."""
    span = lines[start[0] - 1 : end[0]]
    span[-1] = span[-1][: end[1]]
    span[0] = span[0][start[1] :]
    return "".join(span)


def _statements(tokens: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Groups that end in <newline>; each <indent> and <dedent> stands alone. An empty line is no statement."""
    statement: list[tuple[int, str]] = []
    for kind, text in tokens:
        if kind in (token.INDENT, token.DEDENT):
            yield [(kind, text)]
        elif kind == token.NEWLINE:
            if statement:
                yield [*statement, (kind, text)]
            statement = []
        else:
            statement.append((kind, text))


def _imported_files(file: Path, project: Path) -> Iterator[Path]:
    """Files of our package from which the file's import statements take something."""
    inside = file.is_relative_to(project)
    package = ".".join(file.relative_to(project).parent.parts) if inside else ""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), filename=str(file))):
        found: list[Path | None] = []
        if isinstance(node, ast.Import):
            found = [_module_file(alias.name, project) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            own = _module_file(base, project)
            found = [_module_file(f"{base}.{alias.name}", project) or own for alias in node.names]
        yield from (path for path in found if path is not None)


def _module_file(module: str, project: Path) -> Path | None:
    """File of a dotted module name, or None where the name is no module of our package."""
    if module.partition(".")[0] != PACKAGE:
        return None
    stem = project.joinpath(*module.split("."))
    for file in (stem.with_suffix(".py"), stem / "__init__.py"):
        if file.is_file():
            return file.resolve()
    return None
