"""A run is stale when its code, a compiler or the model is another one now."""

from __future__ import annotations

import pytest

from simt import model
from workbook.records import environment, stale


def reasons(document, index=0):
    return stale.reasons(document, document["runs"][index])


def test_a_fresh_record_is_not_stale(document, measured):
    assert reasons(document) == reasons(measured) == []


def test_changed_code_is_named_with_both_fingerprints(document):
    now = document["runs"][0]["fingerprint"]
    document["runs"][0]["fingerprint"] = "0123456789ab"
    assert reasons(document) == [f"the code changed: fingerprint 0123456789ab -> {now}"]
    assert reasons(document, 1) == []


@pytest.mark.parametrize("field", environment.PACKAGES)
@pytest.mark.parametrize("kind", ["document", "measured"])
def test_another_compiler_makes_every_run_stale(request, kind, field):
    record = request.getfixturevalue(kind)
    now = record["env"][field]
    record["env"][field] = None
    assert reasons(record, 1) == [f"{environment.PACKAGES[field]} unknown -> {now}"]


def test_another_python_alone_is_not_stale(document):
    document["env"]["python"] = "3.99.1"
    assert reasons(document) == []


def test_another_model_makes_modelled_runs_stale_only(document, measured, monkeypatch):
    monkeypatch.setattr("simt.model.MODEL_VERSION", "99")
    assert reasons(document) == [f"the model of time: version {document['model']['version']} -> {model.MODEL_VERSION}"]
    assert reasons(measured) == []


def test_a_step_that_is_gone_is_stale(document):
    document["runs"][0]["step"] = "toy/gone"
    assert reasons(document) == ["toy/gone is gone from its ladder"]
