"""What a record's file holds, schema 1, and what is wrong with one that does not hold it.

    {"schema": 1, "family": "matmul", "device": "h100", "kind": "modelled", "recorded": "2026-12-01",
     "env": {"python", "numba", "numba_cuda", "nvvm", "nvjitlink"; measured: and "driver", "cuda", "gpu", "host"},
     "model": {"version", "error_percent"},                                                          modelled only
     "method": {"timer", "seed"; modelled: "one_block_in"; measured: "warm_ups", "l2"},
     "runs": [{"step": "matmul/tiled", "fingerprint", "case": {axis: size},
               modelled: "time_ns", "sampled", "launches": [{"kernel", "grid", "block", "registers", "shared_bytes",
                         "local_bytes", "time_ns", "bound_by"}], "counters": {name: {"value", "tag"}}
               measured: "samples_ns", "clocks_mhz": {"sm", "memory"}, "temperature_c"}],
     "baselines": [{"ladder", "library", "case", "samples_ns", "clocks_mhz", "temperature_c"}]}      measured only

Times are whole nanoseconds of a whole run of the step, registers are per thread. What nvidia-smi or a package does not
say is null. Speedups, FLOP/s and percentages are derived when shown, never stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

SCHEMA = 1
MODELLED, MEASURED = "modelled", "measured"
LARGEST = 2**63 - 1
TAGS = ("exact", "estimated", "simulated", "modelled")  # from strong to weak

Document = dict[str, Any]
Check = Callable[[Any, str], None]


class Wrong(ValueError):
    """One field that is not what it has to be."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"{field or 'the document'}: {what}")


def validate(document: Any, device: str, family: str) -> None:
    """Raise Wrong for the first field that does not hold what schema 1 says, as the record of `device` and `family`."""
    if not isinstance(document, dict):
        raise Wrong("", f"must be an object, and is {_shown(document)}")
    if document.get("schema") != SCHEMA or isinstance(document["schema"], bool):
        raise Wrong("schema", f"must be {SCHEMA}, the only one that is known, and is {_or_missing(document.get('schema'))}")
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _DOCUMENTS:
        raise Wrong("kind", f"must be {MODELLED} or {MEASURED}, and is {_or_missing(kind)}")
    _DOCUMENTS[kind](document, "")
    for field, name in (("device", device), ("family", family)):
        if document[field] != name:
            raise Wrong(field, f"must be {name!r} in this file, and is {_shown(document[field])}")
    seen = set()
    for index, run in enumerate(document["runs"]):
        key = (run["step"], *sorted(run["case"].items()))
        if key in seen:
            raise Wrong(f"runs[{index}]", f"{run['step']} stands there twice for the same case")
        seen.add(key)


def _shown(value: Any) -> str:
    """The value as JSON: ASCII, and short."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _or_missing(value: Any) -> str:
    return "missing" if value is None else _shown(value)


def _text(pattern: str = r".+", form: str = "text") -> Check:
    """Of printable characters only: these words end up in tables, files and terminals."""

    def check(value: Any, field: str) -> None:
        if not isinstance(value, str) or not value.isprintable() or not re.fullmatch(pattern, value):
            raise Wrong(field, f"must be {form}, and is {_shown(value)}")

    return check


def _whole(least: int) -> Check:
    """Up to LARGEST, so that sums and ratios of a few stay within what a float holds."""

    def check(value: Any, field: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise Wrong(field, f"must be a whole number >= {least}, and is {_shown(value)}")
        if value > LARGEST:
            raise Wrong(field, f"must be a whole number up to 2**63 - 1, and has {len(str(value))} digits")

    return check


def _number(value: Any, field: str) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LARGEST:
        raise Wrong(field, f"must be a number >= 0, and is {_shown(value)}")


def _flag(value: Any, field: str) -> None:
    if not isinstance(value, bool):
        raise Wrong(field, f"must be true or false, and is {_shown(value)}")


def _or_null(inner: Check) -> Check:
    return lambda value, field: None if value is None else inner(value, field)


def _list(inner: Check, least: int = 0, most: int | None = None) -> Check:
    def check(value: Any, field: str) -> None:
        if not isinstance(value, list):
            raise Wrong(field, f"must be a list, and is {_shown(value)}")
        if len(value) < least or (most is not None and len(value) > most):
            raise Wrong(field, f"must have {least if most else f'at least {least}'} entries, and has {len(value)}")
        for index, item in enumerate(value):
            inner(item, f"{field}[{index}]")

    return check


def _table(inner: Check, key: Check | None = None) -> Check:
    """An object with any keys."""

    def check(value: Any, field: str) -> None:
        if not isinstance(value, dict) or not value:
            raise Wrong(field, f"must be an object that is not empty, and is {_shown(value)}")
        for name, item in value.items():
            if key is not None:
                key(name, f"{field}: the key {_shown(name)}")
            inner(item, f"{field}[{_shown(name)}]")

    return check


def _object(**members: Check) -> Check:
    """An object with these keys and no others."""

    def check(value: Any, field: str) -> None:
        if not isinstance(value, dict):
            raise Wrong(field, f"must be an object, and is {_shown(value)}")
        for name in value:
            if name not in members:
                name = name if name.isidentifier() and name.isascii() else _shown(name)
                raise Wrong(f"{field}.{name}" if field else name, f"schema {SCHEMA} has no such field")
        for name, inner in members.items():
            inside = f"{field}.{name}" if field else name
            if name not in value:
                raise Wrong(inside, "is missing")
            inner(value[name], inside)

    return check


_NAME, _VERSION = _text(), _or_null(_text())
_WORD = _text(r"[a-z][a-z0-9_]*", "a lower-case word")
_CASE = _table(_whole(1), _text(r"[a-z][a-z0-9_]*", "the name of an axis"))
_SHAPE = _list(_whole(1), 3, 3)
_STEP = _text(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*", "ladder/step")
_FINGERPRINT = _text(r"[0-9a-f]{12}", "12 hexadecimal digits")
_DATE = _text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date such as 2026-12-01")
_TAG = _text("|".join(TAGS), f"one of {', '.join(TAGS)}")

_COMPILERS = {name: _VERSION for name in ("python", "numba", "numba_cuda", "nvvm", "nvjitlink")}
_HEAD = {"schema": _whole(SCHEMA), "family": _WORD, "device": _NAME, "kind": _NAME, "recorded": _DATE}
_RUN = {"step": _STEP, "fingerprint": _FINGERPRINT, "case": _CASE}
_SAMPLES = {
    "samples_ns": _list(_whole(1), 1),
    "clocks_mhz": _object(sm=_or_null(_whole(0)), memory=_or_null(_whole(0))),
    "temperature_c": _or_null(_whole(0)),
}
_LAUNCH = _object(
    kernel=_NAME,
    grid=_SHAPE,
    block=_SHAPE,
    registers=_whole(0),
    shared_bytes=_whole(0),
    local_bytes=_whole(0),
    time_ns=_whole(1),
    bound_by=_NAME,
)

_DOCUMENTS = {
    MODELLED: _object(
        **_HEAD,
        env=_object(**_COMPILERS),
        model=_object(version=_NAME, error_percent=_or_null(_number)),
        method=_object(timer=_NAME, seed=_whole(0), one_block_in=_whole(1)),
        runs=_list(
            _object(
                **_RUN,
                time_ns=_whole(1),
                sampled=_flag,
                launches=_list(_LAUNCH, 1),
                counters=_table(_object(value=_whole(0), tag=_TAG), _NAME),
            ),
            1,
        ),
    ),
    MEASURED: _object(
        **_HEAD,
        env=_object(**_COMPILERS, driver=_VERSION, cuda=_VERSION, gpu=_NAME, host=_NAME),
        method=_object(timer=_NAME, seed=_whole(0), warm_ups=_whole(1), l2=_NAME),
        runs=_list(_object(**_RUN, **_SAMPLES), 1),
        baselines=_list(_object(ladder=_WORD, library=_NAME, case=_CASE, **_SAMPLES)),
    ),
}
