"""How the weights lie in memory, for the steps: GROUP neighbours along k share a scale; the last group may be shorter."""

from __future__ import annotations

GROUP = 128
