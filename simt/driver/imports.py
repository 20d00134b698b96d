"""Changes to modules that are not imported yet: applied right after their import, whoever does it."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Change = Callable[[ModuleType], None]


def after_import(changes: dict[str, list[Change]]) -> None:
    """Apply each module's changes now if it is imported, else once it is."""
    waiting = {}
    for name, todo in changes.items():
        if name in sys.modules:
            _apply(sys.modules[name], todo)
        else:
            waiting[name] = todo
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find a module, and adds the changes to its execution."""

    def __init__(self, changes: dict[str, list[Change]]) -> None:
        self._changes = changes

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._changes:
            return None
        spec = _search(self, name, path, target)
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader, self._changes[name])
        return spec


class _Loader(importlib.abc.Loader):
    """A module's own loader, and the changes after it."""

    def __init__(self, loader: importlib.abc.Loader, changes: list[Change]) -> None:
        self._loader = loader
        self._changes = changes

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module shall look as if nothing had happened: inspect and importlib.resources ask its loader.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _apply(module, self._changes)


def _search(
    asking: _Finder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        if finder is not asking and (find := getattr(finder, "find_spec", None)):
            if spec := find(name, path, target):
                return spec
    return None


def _apply(module: ModuleType, changes: list[Change]) -> None:
    for change in changes:
        change(module)
