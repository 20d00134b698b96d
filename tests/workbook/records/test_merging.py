"""New runs join old ones only where both were made in the same way."""

from __future__ import annotations

import copy

import pytest

from workbook.records import merging


def other_ladder(document):
    """The record as it would be of another ladder of the family."""
    old = copy.deepcopy(document)
    for run in old["runs"]:
        run["step"] = run["step"].replace("toy/", "toys/")
    for entry in old.get("baselines", ()):
        entry["ladder"] = "toys"
    return old


def test_without_an_old_record_the_new_one_stands_alone(document):
    assert merging.merge(None, document, ["toy"]) is document


def test_runs_of_the_same_ladder_are_replaced_those_of_others_kept(document, monkeypatch):
    monkeypatch.setattr("kernels.ladder.FAMILIES", {"toy": ("toys", "toy")})
    merged = merging.merge(other_ladder(document), document, ["toy"])
    steps = [run["step"] for run in merged["runs"]]
    assert steps == ["toys/slow", "toys/fast", "toys/wide", "toy/slow", "toy/fast", "toy/wide"]
    assert merging.merge(merged, document, ["toy"]) == merged
    assert merging.merge(merged, document, ["toy", "toys"]) == document


def test_modelled_and_measured_runs_never_share_a_file(document, measured):
    measured["device"] = "h100"
    with pytest.raises(merging.Mixed, match=r"records/h100/toy\.json is measured, and these runs are modelled"):
        merging.merge(measured, document, ["toy"])


@pytest.mark.parametrize("field", ["host", "driver", "gpu", "cuda"])
def test_runs_of_another_host_or_driver_are_refused_and_both_are_named(measured, field):
    old = copy.deepcopy(measured)
    old["env"][field] = "then"
    measured["env"][field] = "now"
    with pytest.raises(merging.Mixed) as caught:
        merging.merge(old, measured, ["toy"])
    assert str(caught.value) == (
        f"records/nvidia-toy/toy.json was measured on {field} then; here it is {field} now: begin it anew with --replace"
    )


def test_another_compiler_is_refused_only_where_old_runs_would_be_kept(document):
    old = other_ladder(document)
    old["env"]["numba_cuda"] = "0.1"
    with pytest.raises(merging.Mixed, match="keeps runs made with numba_cuda 0.1; here it is numba_cuda .*whole family, toy"):
        merging.merge(old, document, ["toy"])
    assert merging.merge(old, document, ["toy", "toys"]) == document


def test_another_model_is_refused_where_old_runs_would_be_kept(document):
    old = other_ladder(document)
    old["model"]["version"] = "0"
    with pytest.raises(merging.Mixed, match="version 0 of the model, and this is"):
        merging.merge(old, document, ["toy"])


def test_baselines_of_other_ladders_are_kept(measured):
    entry = {"ladder": "toy", "library": "l", "case": {"m": 1}, "samples_ns": [1], "clocks_mhz": {}, "temperature_c": None}
    measured["baselines"] = [entry]
    merged = merging.merge(other_ladder(measured), measured, ["toy"])
    assert [entry["ladder"] for entry in merged["baselines"]] == ["toys", "toy"]
