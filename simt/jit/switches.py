"""Settings of the environment that are on unless they say off."""
from __future__ import annotations

import os

OFF = ("off", "0", "no")


def is_off(name: str) -> bool:
    return os.environ.get(name, "").lower() in OFF
