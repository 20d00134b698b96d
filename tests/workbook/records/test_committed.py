"""The records of this checkout: valid, complete, equal to a fresh count, and what the documents show."""

from __future__ import annotations

import pytest

import simt
from kernels.ladder import families, load_ladder
from simt import model
from workbook.cli.table import update
from workbook.records import files, recording, recount, table
from workbook.records.figures import ladders_of

ROOT = files.FOLDER.parent
DOCUMENTS = files.read_all(files.FOLDER)
H100 = [document for document in DOCUMENTS if document["device"] == "h100"]


def test_every_modelled_device_has_every_family():
    there = {(document["device"], document["family"]) for document in DOCUMENTS}
    assert {(device, family) for device in model.names() for family in families()} <= there


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: f"{document['device']}-{document['family']}")
def test_a_record_is_small_and_tells_of_every_step_at_every_size(document):
    assert files.path_of(files.FOLDER, document["device"], document["family"]).stat().st_size < 300_000
    assert set(ladders_of(document)) <= set(families()[document["family"]])
    for ladder in map(load_ladder, ladders_of(document)):
        there = {(run["step"], tuple(run["case"].items())) for run in document["runs"]}
        for case in recording.cases_of(ladder, document["device"]):
            assert {(step.id, tuple(case.items())) for step in ladder} <= there


def test_no_run_is_stale():
    assert table.stale_runs(DOCUMENTS) == [], "record what changed anew: ./ladder record FAMILY"


@pytest.mark.parametrize("document", H100, ids=lambda document: document["family"])
def test_a_fresh_count_equals_the_record(document):
    """The performance-regression test: no noise, no GPU. `./ladder record --check` does the same on all devices."""
    from workbook import target

    if simt.backend() != "emulated" or simt.device().name != "h100":
        pytest.skip("this session runs on another device; ./ladder record --check counts on all of them")
    ladders = ladders_of(document)
    made = recording.make(map(load_ladder, ladders), target.Emulated(simt.device()), prove=False)
    assert made.failures == []
    found = recount.troubles(document, made.runs, ladders)
    assert not found, "\n".join(map(str, found))


def test_the_documents_show_what_the_records_say():
    assert update(ROOT, files.FOLDER, check=True) == [], "./ladder table writes them anew"
