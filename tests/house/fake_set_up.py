"""The launcher with its slow steps replaced. As a script: LADDER SECONDS ARGUMENTS..., where pip takes that long."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import time
import venv
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    """The launcher at that path, as a module."""
    loader = importlib.machinery.SourceFileLoader("launcher", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("launcher", loader))
    loader.exec_module(module)
    return module


class FakeSteps:
    """Leaves what the real steps leave: an empty venv; site-packages that name the checkout and hold one package."""

    def __init__(self, seconds: float = 0.0, failing: str = "", output: str = "") -> None:
        self.seconds, self.failing, self.output = seconds, failing, output
        self.names: list[str] = []

    def __call__(self, command, root, env, log, held, progress) -> int:
        name = next(word for word in ("venv", "pip", "-c") if word in command)
        self.names.append(name)
        if name == "venv":
            venv.create(Path(root, ".venv"), symlinks=True, with_pip=False)
        elif name == "pip":
            with Path(root, "installs").open("a") as file:
                file.write("x")
            time.sleep(self.seconds)
            (site,) = Path(root, ".venv", "lib").glob("python3.*/site-packages")
            (site / "numba").mkdir(exist_ok=True)
            (site / "__pycache__").mkdir(exist_ok=True)
            (site / "checkout.pth").write_text(f"{root}\n")
        log.write(self.output)
        return int(name == self.failing)


if __name__ == "__main__":
    launcher = load(Path(sys.argv[1]))
    launcher.run = FakeSteps(float(sys.argv[2]))
    sys.exit(launcher.main(sys.argv[3:]))
