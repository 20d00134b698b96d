"""Names of counters."""
from __future__ import annotations

import pytest

from simt.observe import names


def test_no_two_counters_share_a_name():
    constants = [value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)]
    every = constants + [names.instructions(kind) for kind in names.KINDS]
    assert len(every) == len(set(every))


def test_an_unknown_instruction_kind_lists_what_there_is():
    assert names.instructions("fp32") == "ptx__inst_executed_fp32"
    with pytest.raises(ValueError, match="no instruction kind 'float'; there are fp32, fp64"):
        names.instructions("float")
