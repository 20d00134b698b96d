"""Ladders, steps and cases; the rules that every ladder of the project keeps."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import kernels
from kernels import FAMILIES
from kernels.case import Case, ceil_div
from kernels.fingerprint import code_tokens
from kernels.ladder import (
    SECTIONS,
    Ladder,
    UnknownName,
    ladder_names,
    load_ladder,
    load_ladders,
    load_step,
    parse_doc,
)

FOLDER = Path(kernels.__file__).parent
LADDERS = [load_ladder(name) for name in ladder_names()]
STEPS = [step for ladder in LADDERS for step in ladder.steps]
LATER_STEPS = [step for step in STEPS if step.previous is not None]
DOC = "Title.\n\n" + "\n".join(f"{section}: {section.lower()}\n   goes on" for section in SECTIONS)

every_step = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
every_later_step = pytest.mark.parametrize("step", LATER_STEPS, ids=lambda step: step.id)


def ladder_of(*modules: str) -> Ladder:
    """The matmul ladder's functions over other steps."""
    real = load_ladder("matmul")
    return Ladder(
        "kernels.matmul",
        real.make,
        real.reference,
        real.tolerance,
        real.outputs,
        cases=[Case(m=1)],
        timed_case=Case(m=1),
        steps=modules,
    )


def test_a_case_reads_as_its_sizes():
    case = Case(m=4096, n=128, k=8)
    assert str(case) == "m=4096 n=128 k=8"
    assert repr(case) == "Case(m=4096, n=128, k=8)"
    assert dict(case) == {"m": 4096, "n": 128, "k": 8}


def test_equal_cases_are_one_key():
    assert {Case(m=1, n=2): "found"}[Case(n=2, m=1)] == "found"
    assert Case(m=1, n=2) != Case(m=1, n=3)


def test_a_case_cannot_change():
    with pytest.raises(TypeError):
        Case(m=1)["m"] = 2
    with pytest.raises(AttributeError):
        Case(m=1).m = 2


def test_a_size_that_a_case_lacks_is_named_with_the_case():
    with pytest.raises(KeyError, match="no size 'k' in this case: m=1 n=2"):
        Case(m=1, n=2)["k"]


def test_a_case_without_sizes_is_refused():
    with pytest.raises(ValueError, match="at least one size"):
        Case()


@pytest.mark.parametrize(("size", "tiles"), [(1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (4096, 128)])
def test_ceil_div_counts_the_tiles_of_32_that_cover_a_size(size, tiles):
    assert ceil_div(size, 32) == tiles


def test_a_step_is_named_by_the_word_in_its_file_name():
    steps = ladder_of("s10_naive", "s50_register_2d").steps
    assert [step.name for step in steps] == ["naive", "register_2d"]
    assert [step.id for step in steps] == ["matmul/naive", "matmul/register_2d"]
    assert [step.previous for step in steps] == [None, steps[0]]


@pytest.mark.parametrize("module", ["tiled", "s_tiled", "s3_tiled", "s30tiled", "s30_", "30_tiled"])
def test_a_step_out_of_form_is_refused(module):
    with pytest.raises(ValueError, match="must be named sNN_word"):
        ladder_of(module)


@pytest.mark.parametrize("modules", [("s20_coalesced", "s10_naive"), ("s10_naive", "s10_other")])
def test_step_numbers_must_rise(modules):
    with pytest.raises(ValueError, match="numbers must rise"):
        ladder_of(*modules)


def test_a_step_without_a_file_says_so():
    with pytest.raises(FileNotFoundError, match="matmul/absent: no file for kernels.matmul.s10_absent"):
        ladder_of("s10_absent").step("absent").source  # noqa: B018  the property does the work


def test_a_step_is_found_by_name_and_by_id():
    tiled = load_step("matmul/tiled")
    assert load_ladder("matmul").step("tiled") is tiled
    assert load_ladder("matmul").step("matmul/tiled") is tiled


def test_an_unknown_step_suggests_the_nearest():
    with pytest.raises(UnknownName, match="there is no step of matmul 'tild'; did you mean 'tiled'"):
        load_step("matmul/tild")


def test_an_unknown_ladder_suggests_the_nearest():
    with pytest.raises(UnknownName, match="there is no ladder 'matmull'; did you mean 'matmul'"):
        load_step("matmull/tiled")


def test_a_name_like_no_other_gets_the_list_only():
    with pytest.raises(UnknownName, match=r"there is no ladder 'zzz'; there are: .*matmul"):
        load_ladder("zzz")


def test_a_family_stands_for_all_its_ladders(monkeypatch):
    monkeypatch.setattr("kernels.ladder.FAMILIES", {"dense": ("matmul", "dense.other")})
    monkeypatch.setattr("kernels.ladder.importlib.import_module", lambda path: SimpleNamespace(LADDER=path))
    assert load_ladders("dense") == ("kernels.matmul", "kernels.dense.other")
    assert load_ladders("other") == ("kernels.dense.other",)
    with pytest.raises(UnknownName, match="no ladder 'densse'; did you mean 'dense'"):
        load_ladders("densse")


def test_an_id_without_a_ladder_is_refused():
    with pytest.raises(ValueError, match="write ladder/step"):
        load_step("tiled")


def test_a_docstring_splits_into_its_sections():
    doc = parse_doc(DOC)
    assert doc["title"] == "Title."
    assert doc["Why faster"] == "why faster goes on"
    assert list(doc) == ["title", *SECTIONS]


@pytest.mark.parametrize(
    "broken",
    [DOC.replace("Cost:", "Costs:"), DOC + "\nSource: again", DOC.replace("Launch:", "Cost:", 1), ""],
    ids=["missing", "twice", "order", "empty"],
)
def test_a_docstring_out_of_form_is_refused(broken):
    with pytest.raises(ValueError, match="matmul/x: the docstring needs"):
        parse_doc(broken, where="matmul/x")


def test_descriptions_are_read_without_importing_numba():
    code = (
        "import sys; from kernels.ladder import load_step; step = load_step('matmul/double_buffer');"
        "step.doc; step.source; step.fingerprint; step.diff(); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=FOLDER.parent, check=True)


def test_a_diff_shows_what_a_step_changed():
    lines = load_step("matmul/coalesced").diff().splitlines()
    assert lines[:2] == ["--- s10_naive.py", "+++ s20_coalesced.py"]
    assert "-    row, col = cuda.grid(2)" in lines
    assert "+    col, row = cuda.grid(2)" in lines
    assert load_step("matmul/naive").diff() == ""


def test_only_kernels_written_in_the_file_are_its_kernels():
    step = load_step("matmul/warp_tile")  # has device functions, and a kernel of another step
    assert list(step.kernels) == ["kernel"]
    assert step.kernels["kernel"] is step.module.kernel


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_every_step_file_is_registered(ladder):
    files = sorted(path.stem for path in ladder.steps[0].path.parent.glob("s[0-9]*_*.py"))
    assert [step.path.stem for step in ladder.steps] == files


def test_every_folder_with_steps_is_listed_in_a_family():
    folders = {path.parent.relative_to(FOLDER) for path in FOLDER.rglob("s[0-9]*_*.py")}
    assert {".".join(folder.parts) for folder in folders} == {package for packages in FAMILIES.values() for package in packages}


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_every_ladder_is_found_under_its_name(ladder):
    assert load_ladder(ladder.name) is ladder
    assert all(step.ladder == ladder.name for step in ladder)


@every_step
def test_changed_names_the_step_before(step):
    assert step.changed_from == (step.previous.name if step.previous else None)


@every_step
def test_a_step_has_what_a_ladder_asks_for(step):
    assert all(step.doc[section] for section in ("title", *SECTIONS))
    assert step.kernels
    assert isinstance(step.claims, tuple)


@every_later_step
def test_a_step_is_here_for_a_claim_that_moves_a_counter(step):
    assert step.claims
    assert all(claim.after < claim.before for claim in step.claims)


@every_step
def test_a_step_fits_on_two_screens(step):
    assert len(step.source.splitlines()) <= 120


def test_what_is_shown_of_a_step_has_no_markers_of_exercises():
    steps = load_ladder("matmul").steps
    assert any("# gap:" in step.source for step in steps)
    for step in steps:
        assert not re.search(r"# (gap:|instead|end gap)|#- ", step.plain_source + step.diff())
        assert code_tokens(step.plain_source) == code_tokens(step.source)
