"""What a loaded module is kept under in the cache."""
from __future__ import annotations

import itertools

from simt.runtime.program import digest

HEAD = [".version 8.0", ".target sm_80", ".address_size 64"]
COMMON = [f".common .global .align 8 .u64 environment_of_{name};" for name in ("kernel", "first", "second")]
REST = [".visible .shared .align 16 .b8 tile[64];", ".visible .entry kernel()", "{", "ret;", "}"]


def test_where_common_variables_are_declared_makes_no_difference():
    texts = ["\n".join([*HEAD, one, REST[0], *others, *REST[1:]]) for one, *others in itertools.permutations(COMMON)]
    assert len(set(texts)) == 6 and len({digest(text) for text in texts}) == 1


def test_anything_else_does():
    whole = [*HEAD, *COMMON, *REST]
    changed = [whole[:at] + whole[at + 1:] for at in range(len(whole))]
    changed += [[*whole, "// more"], [*HEAD, *COMMON, *REST[1:], REST[0]]]
    assert len({digest("\n".join(lines)) for lines in [whole, *changed]}) == len(changed) + 1
