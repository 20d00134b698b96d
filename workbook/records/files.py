"""Reads and writes the files of records: records/<device>/<family>.json.

A file is written whole, beside the old one, and then takes its place; a folder is locked from the look at the old file
to that moment. So an interrupted or a second `ladder record` loses nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kernels.fingerprint import PROJECT
from workbook import writing
from workbook.records import schema
from workbook.records.schema import Document

FOLDER = PROJECT / "records"
WIDTH = 118  # columns of a line of JSON
LONGEST = 400  # digits of a number


class BadRecord(ValueError):
    """A file that is no record: the message names the file, the field and what is wrong."""


def path_of(folder: Path, device: str, family: str) -> Path:
    return folder / device / f"{family}.json"


def read(path: Path) -> Document | None:
    """The record, or None where there is no file. Raises BadRecord."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRecord(f"{shown(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_whole)
        schema.validate(document, path.parent.name, path.stem)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadRecord(f"{shown(path)}: {where}: this is no JSON, or not all of it ({error.msg})") from None
    except RecursionError:
        raise BadRecord(f"{shown(path)}: the document: nested too deeply") from None
    except schema.Wrong as error:
        raise BadRecord(f"{shown(path)}: {error}") from None
    return document


def read_all(folder: Path) -> list[Document]:
    """Every record below `folder`, by device and family. Raises BadRecord."""
    documents = [read(path) for path in sorted(folder.glob("*/*.json"))]
    return [document for document in documents if document is not None]


def update(path: Path, change: Callable[[Document | None], Document], replace: bool = False) -> None:
    """Put `change(old record or None)` in the file's place; with `replace`, whatever the file holds.

    What `change` raises leaves the file as it was, as do Ctrl-C, BadRecord and OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        document = change(None if replace else read(path))
        schema.validate(document, path.parent.name, path.stem)
        writing.replace(path, as_text(document))


def as_text(document: Document) -> str:
    """JSON for people and for diffs: one line for each counter, launch and list of samples."""
    return _dump(document, 0) + "\n"


def shown(path: Path) -> str:
    """The path from here where it lies below, else in full; what is no text in it, escaped."""
    with contextlib.suppress(ValueError):
        path = path.relative_to(Path.cwd())
    return str(path).encode("utf-8", "backslashreplace").decode()


def _dump(value: Any, depth: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if depth and (len(flat) + depth <= WIDTH or not any(isinstance(item, dict | list) for item in items)):
        return flat
    pad, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict):
        inner = [f"{json.dumps(key, ensure_ascii=False)}: {_dump(item, depth + 1)}" for key, item in value.items()]
        return "{" + pad + f",{pad}".join(inner) + end + "}"
    return "[" + pad + f",{pad}".join(_dump(item, depth + 1) for item in value) + end + "]"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone in the folder; the system lets go of the lock when the process ends, however it ends."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    for name in document if len(document) != len(pairs) else ():
        if sum(name == other for other, _ in pairs) > 1:
            raise schema.Wrong(json.dumps(name).strip('"'), "stands there twice in one object")
    return document


def _whole(digits: str) -> int:
    """Python itself refuses to read more than some thousand digits."""
    if len(digits) > LONGEST:
        raise schema.Wrong("the document", f"a number of {len(digits)} digits, {digits[:20]}...")
    return int(digits)


def _no_constant(name: str) -> Any:
    raise schema.Wrong("the document", f"{name} is no number of JSON")
