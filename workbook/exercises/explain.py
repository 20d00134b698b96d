"""Makes one readable screen of an error: the reader's line first, then what it means, without what only its maker needs."""

from __future__ import annotations

import ast
import linecache
import re
from pathlib import Path

from workbook.exercises.entry import PROJECT
from workbook.exercises.result import Kind, Trouble
from workbook.exercises.stubs import relative
from workbook.failure import Failure

# What errors of kernels, of the driver and of the compiler say for a traceback or a GPU, and a reader of this screen skips.
_NOISE = re.compile(
    r"CUDA_ERROR_\w+: |\(a GPU's process is lost|Failed in \w+ mode |During: |in kernel \w+, |<source elided>|… \d+ more"
    r"|There are \d+ candidate|- Of which |Overload (?:in|of) function|With argument\(s\)|No match\.|- Resolution failure|None$"
    r"|raised from |NumbaRuntimeError: "
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")
_INSTALLED = re.compile(r" \([^()]*site-packages[^()]*\)")
_QUOTED = re.compile(r'\s*File "(?P<path>[^"]+)", line (?P<line>\d+):?$')
_UNKNOWN = re.compile(r"NameError: (?:global )?name '(?P<name>\w+)' is not defined")

# The first that fits the whole text: the kind of trouble, and a title. {what} is what was being done.
_TITLES: tuple[tuple[str, Kind, str], ...] = (
    (r"^Ended while", "error", "the file ends the program{doing}"),
    (r"HostRead", "host", "the result is computed on the host{doing}"),
    (r"(?P<what>\b(?:read|write|store|load|access|atomic)[\w ]* out of bounds)(?:\n|$)", "bounds", "{what}{doing}"),
    (r"CUDA_ERROR_(?:ILLEGAL|MISALIGNED)_ADDRESS|misaligned", "bounds", "an illegal access to memory{doing}"),
    (r"LAUNCH_TIMEOUT", "hang", "a kernel does not end{doing}"),
    (r"TypingError|LoweringError|UnsupportedError|Failed in cuda mode", "error", "the kernel does not compile"),
)


def located(path: Path, line: int | None) -> str:
    """`at exercises/first/map.py:20: the line's text`."""
    if line is None:
        return f"in {relative(path)}"
    return f"at {relative(path)}:{line}: {linecache.getline(str(path), line).strip()}"


def remember(path: Path, source: str) -> None:
    """Quote the file as it is now: it may be saved again before there is something to tell."""
    lines = [f"{line}\n" for line in source.split("\n")]
    linecache.cache[str(path)] = len(source), None, lines, str(path)  # without a time, nobody asks whether it is out of date


def closed(path: Path, error: OSError) -> Trouble:
    """A file that cannot be read."""
    return Trouble("import", f"{relative(path)} cannot be read: {error.strerror}", ("`exercise reset` makes it anew",))


def told(found: Failure, path: Path, kind: Kind = "error") -> Trouble:
    """The failure of a file that raised, as a screen about the reader's line."""
    text = "\n".join([found.what, *found.lines])
    title, line = found.what, _line(found, path)
    for pattern, meant, form in _TITLES:
        if fits := re.search(pattern, text):
            doing = f", {found.what.partition(' while ')[2]}".replace("running running", "running")
            kind, title = meant, form.format(doing=doing, what=fits.groupdict().get("what"))
            break
    lines = [line for line in found.lines if not line.startswith("at ")]
    lines = [_ADDRESS.sub("", _INSTALLED.sub("", line)) for line in _unquoted(lines) if not _NOISE.match(line.strip())]
    return Trouble(kind, title, tuple([located(path, line), *(text.replace(f"{PROJECT}/", "") for text in lines)]), line)


def _line(found: Failure, path: Path) -> int | None:
    """Where a name that does not exist is used, what the compiler quotes, or what the failure's first line names."""
    text = "\n".join(found.lines)
    if unknown := _UNKNOWN.search(text):
        for node in ast.walk(ast.parse("".join(linecache.getlines(str(path))))):
            if isinstance(node, ast.Name) and node.id == unknown["name"]:
                return node.lineno
    quoted = [match for match in map(_QUOTED.match, found.lines) if match and Path(match["path"]).name == path.name]
    if quoted:
        return int(quoted[-1]["line"])
    named = re.search(rf"^at {re.escape(str(path))}:(\d+)", text, flags=re.MULTILINE)
    return int(named[1]) if named else None


def _unquoted(lines: list[str]) -> list[str]:
    """Without the compiler's quotations of the file, which the reader has open, and without blank lines."""
    kept: list[str] = []
    quoting = False
    for line in lines:
        quoting = bool(_QUOTED.match(line)) or (quoting and bool(line.strip()))
        if line.strip() and not quoting:
            kept.append(line)
    return list(dict.fromkeys(kept))
