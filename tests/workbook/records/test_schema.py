"""Schema 1 accepts what is recorded, and names the field of anything else."""

from __future__ import annotations

import pytest

from workbook.records import schema

COUNTER = 'runs[1].counters["ptx__inst_executed"]'


def test_what_is_recorded_is_valid(document, measured):
    schema.validate(document, "h100", "toy")
    schema.validate(measured, "nvidia-toy", "toy")


@pytest.mark.parametrize("wrong", [None, [], 3, "text"])
def test_a_document_that_is_no_object_is_refused(wrong):
    with pytest.raises(schema.Wrong, match="the document: must be an object"):
        schema.validate(wrong, "h100", "toy")


def change(document, path, value):
    """Sets the entry at a path of keys and indices; DELETE removes it."""
    *folders, last = path
    for key in folders:
        document = document[key]
    if value is DELETE:
        del document[last]
    else:
        document[last] = value


DELETE = object()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["schema"], 2, "schema: must be 1, the only one that is known, and is 2"),
        (["schema"], True, "schema: must be 1"),
        (["schema"], DELETE, "schema: must be 1, the only one that is known, and is missing"),
        (["kind"], "guessed", 'kind: must be modelled or measured, and is "guessed"'),
        (["device"], "h200", "device: must be 'h100' in this file, and is \"h200\""),
        (["family"], "toys", "family: must be 'toy' in this file"),
        (["recorded"], "yesterday", "recorded: must be a date such as 2026-12-01"),
        (["env"], [], "env: must be an object, and is []"),
        (["env", "nvvm"], 13, "env.nvvm: must be text, and is 13"),
        (["env", "driver"], "570", "env.driver: schema 1 has no such field"),
        (["model", "error_percent"], "20", 'model.error_percent: must be a number >= 0, and is "20"'),
        (["runs"], {}, "runs: must be a list, and is {}"),
        (["runs"], [], "runs: must have at least 1 entries, and has 0"),
        (["runs", 2], DELETE, None),
        (["runs", 2, "step"], "tiled", 'runs[2].step: must be ladder/step, and is "tiled"'),
        (["runs", 2, "step"], "toy/fast", "runs[2]: toy/fast stands there twice for the same case"),
        (["runs", 0, "fingerprint"], "123", "runs[0].fingerprint: must be 12 hexadecimal digits"),
        (["runs", 0, "case"], {}, "runs[0].case: must be an object that is not empty"),
        (["runs", 0, "case", "m"], 0, 'runs[0].case["m"]: must be a whole number >= 1, and is 0'),
        (["runs", 0, "time_ns"], 1.5, "runs[0].time_ns: must be a whole number >= 1, and is 1.5"),
        (["runs", 0, "time_ns"], True, "runs[0].time_ns: must be a whole number >= 1, and is true"),
        (["runs", 0, "time_ns"], DELETE, "runs[0].time_ns: is missing"),
        (["runs", 0, "samples_ns"], [3], "runs[0].samples_ns: schema 1 has no such field"),
        (["runs", 0, "sampled"], 1, "runs[0].sampled: must be true or false, and is 1"),
        (["runs", 0, "launches", 0, "grid"], [1, 1], "runs[0].launches[0].grid: must have 3 entries, and has 2"),
        (["runs", 1, "counters", "ptx__inst_executed"], 7, f"{COUNTER}: must be an object, and is 7"),
        (["runs", 1, "counters", "ptx__inst_executed", "value"], -1, f"{COUNTER}.value: must be a whole number >= 0"),
        (["runs", 1, "counters", "ptx__inst_executed", "tag"], "sure", f"{COUNTER}.tag: must be one of exact, estimated"),
    ],
)
def test_a_wrong_field_is_named(document, path, value, said):
    change(document, path, value)
    if said is None:
        schema.validate(document, "h100", "toy")
    else:
        with pytest.raises(schema.Wrong) as caught:
            schema.validate(document, "h100", "toy")
        assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["env", "host"], DELETE, "env.host: is missing"),
        (["runs", 0, "samples_ns"], [], "runs[0].samples_ns: must have at least 1 entries"),
        (["runs", 0, "samples_ns", 4], "fast", 'runs[0].samples_ns[4]: must be a whole number >= 1, and is "fast"'),
        (["runs", 0, "counters"], {}, "runs[0].counters: schema 1 has no such field"),
        (["runs", 0, "clocks_mhz", "sm"], "high", 'runs[0].clocks_mhz.sm: must be a whole number >= 0, and is "high"'),
        (["baselines"], DELETE, "baselines: is missing"),
    ],
)
def test_a_wrong_field_of_a_measured_record_is_named(measured, path, value, said):
    change(measured, path, value)
    with pytest.raises(schema.Wrong) as caught:
        schema.validate(measured, "nvidia-toy", "toy")
    assert str(caught.value).startswith(said)
