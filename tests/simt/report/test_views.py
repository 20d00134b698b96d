"""The report as text, JSON and HTML: complete, within its limits, and the same numbers everywhere."""
from __future__ import annotations

import dataclasses
import json
import os
from html.parser import HTMLParser

import numpy as np
import pytest

import simt
from simt.observe import names
from simt.observe.profile import Finding
from simt.report import data, html, text
from simt.report.advice import Advice
from simt.report.rules import advice
from simt.report.sections import sections
from simt.report.subject import TAGS, by_launch_shape
from tests.simt.report.conftest import copy


@pytest.fixture
def strided(launched):
    return launched("column", 8, 32, np.zeros((256, 1024), np.float32), np.zeros(256, np.float32)).subject


@pytest.fixture
def sampled(launched):
    return launched("copy", 256, 64, np.zeros(1 << 14, np.float32), np.zeros(1 << 14, np.float32), sample=16).subject


RACE = Finding("race", False, "thread (0, 0, 0) writes <tile>", "put cuda.syncthreads() between", (("k.py", 3), ("k.py", 4)), 7)
EQUAL = Finding("race", True, "both write 1", "harmless", (("k.py", 5),), 1)


def with_findings(subject):
    return dataclasses.replace(subject, profile=dataclasses.replace(subject.profile, findings=[RACE, EQUAL]))


# -- JSON

def check_document(document):
    """The schema, by hand: names and types of everything."""
    assert set(document) == {"schema", "device", "launches"} and document["schema"] == 1
    assert isinstance(document["device"], str)
    for launch in document["launches"]:
        assert set(launch) == {"kernel", "grid", "block", "metrics", "tags", "errors", "lines",
                               "blocks_watched", "checks", "globally_watched", "findings", "advice"}
        assert isinstance(launch["kernel"], str)
        assert all(len(launch[name]) == 3 and all(type(extent) is int for extent in launch[name]) for name in ("grid", "block"))
        assert set(launch["tags"]) == set(launch["metrics"])
        assert all(type(value) in (int, float) for value in launch["metrics"].values())
        assert {tag.removesuffix(", sampled") for tag in launch["tags"].values()} <= set(TAGS)
        for line in launch["lines"]:
            assert set(line) == {"file", "line", "metrics"} and type(line["line"]) is int
            assert all(type(value) is int for value in line["metrics"].values())
        for finding in launch["findings"]:
            assert set(finding) == {"kind", "lines", "text"}
            assert all(set(place) == {"file", "line"} for place in finding["lines"])
        for piece in launch["advice"]:
            assert set(piece) == {"rule", "text", "remedy", "gain_percent", "file", "line"}


def test_the_document_has_the_shape_that_is_promised(strided, sampled):
    document = data.document([with_findings(strided), sampled], "h100")
    check_document(json.loads(json.dumps(document)))
    assert [launch["kernel"] for launch in document["launches"]] == ["column", "copy"]


def test_the_document_holds_counters_and_derived_numbers(strided):
    launch, = data.document([strided], "h100")["launches"]
    assert launch["grid"] == [8, 1, 1] and launch["block"] == [32, 1, 1]
    assert launch["metrics"][names.GLOBAL_SECTORS_LD] == 256 and launch["tags"][names.GLOBAL_SECTORS_LD] == "exact"
    assert launch["metrics"]["launch__block_size"] == 32
    assert launch["tags"]["simt__time_ns"] == "modelled"
    assert set(strided.profile.counters) <= set(launch["metrics"])
    line = next(line for line in launch["lines"] if names.GLOBAL_SECTORS_LD in line["metrics"])
    assert line["metrics"][names.GLOBAL_SECTORS_LD] == 256
    assert any(piece["rule"] == "uncoalesced loads" and piece["line"] == line["line"] for piece in launch["advice"])


def test_sampled_counters_say_so_and_facts_do_not(sampled):
    tags = data.document([sampled], "h100")["launches"][0]["tags"]
    assert tags[names.GLOBAL_SECTORS_LD] == "sampled" and tags["simt__time_ns"] == "modelled, sampled"
    assert tags["launch__registers_per_thread"] == tags["launch__waves_per_multiprocessor"] == "exact"


def test_only_what_was_counted_in_every_block_is_exact(sampled, strided):
    counted = {row.metric for section in sections(sampled) for row in section.rows if not row.fact and row.metric}
    tags = data.document([sampled], "h100")["launches"][0]["tags"]
    assert names.INSTRUCTIONS in counted and "exact" not in {tags[name] for name in counted}
    shown = {row.tag for section in sections(sampled) for row in section.rows if not row.fact}
    assert shown == {"sampled", "estimated", "modelled"}
    assert {row.tag for section in sections(strided) for row in section.rows} == {"exact", "estimated", "modelled"}


def unequal(subject):
    """The halves of its sample lie 2 % of the sectors from their mean."""
    errors = {names.GLOBAL_SECTORS_LD: subject.profile.counters[names.GLOBAL_SECTORS_LD] // 50}
    return dataclasses.replace(subject, profile=dataclasses.replace(subject.profile, errors=errors))


def test_the_error_of_the_sample_stands_beside_each_count(sampled):
    lines = text.report([unequal(sampled)]).splitlines()
    assert "sampled ±2 %" in next(line for line in lines if "global load sectors" in line)
    assert "sampled ±2 %" in next(line for line in lines if "sectors per load" in line)
    assert "sampled ±0 %" in next(line for line in lines if "global load requests" in line)
    assert any(line.strip() == "instruction mix, sampled ±0 %" for line in lines)
    assert "sampled ±2 %" in html.report([unequal(sampled)])
    launch, = data.document([unequal(sampled)], "h100")["launches"]
    assert launch["errors"] == {names.GLOBAL_SECTORS_LD: launch["metrics"][names.GLOBAL_SECTORS_LD] // 50}


def test_findings_are_told_with_their_lines_and_the_fix(strided):
    race, note = data.document([with_findings(strided)], "h100")["launches"][0]["findings"]
    assert race == {"kind": "race", "lines": [{"file": "k.py", "line": 3}, {"file": "k.py", "line": 4}],
                    "text": "thread (0, 0, 0) writes <tile>; put cuda.syncthreads() between"}
    assert note["kind"] == "race note"


# -- text

def test_text_stays_within_100_columns_and_says_that_times_are_modelled(strided, sampled):
    printed = text.report([with_findings(strided), sampled])
    wide = [line for line in printed.splitlines() if len(line) > text.WIDTH]
    assert wide == []
    assert "modelled, bound by launch; the model's error is not validated yet" in printed
    # 255 blocks in one class, of which one in 16, and the last block
    assert "~ sampled: 17 of 256 blocks were counted, the rest scaled up" in printed


def test_a_long_source_line_does_not_widen_the_page(made_up, monkeypatch):
    monkeypatch.setattr("linecache.getline", lambda file, line: "total += " + "x * " * 60)
    counters = {names.INSTRUCTIONS: 10**9, names.GLOBAL_REQUESTS_LD: 10**8, names.GLOBAL_SECTORS_LD: 32 * 10**8}
    printed = text.report([made_up(counters=counters, lines={("k.py", 3): counters})])
    assert "k.py:3: total += x * x" in printed and max(map(len, printed.splitlines())) <= text.WIDTH


def test_the_first_words_are_the_kernel_and_its_worst_line(strided):
    lines = text.report([strided]).splitlines()
    assert lines[0] == "column  (8, 1, 1) x (32, 1, 1)  on NVIDIA H100 SXM5 80 GB"
    worst = lines.index(next(line for line in lines if line.startswith("Worst lines")))
    assert "out[x] = a[x, 0]" in lines[worst + 1]


def test_a_sampled_count_is_marked_and_a_fact_is_not(sampled):
    lines = text.report([sampled]).splitlines()
    assert any("~" in line and names.GLOBAL_SECTORS_LD in line for line in lines)
    assert not any("~" in line for line in lines if "launch__" in line)


def test_the_listing_shows_every_line_of_the_kernel_with_its_counters(strided):
    printed = text.report([strided], source=True)
    line = next(line for line in printed.splitlines() if line.endswith("    out[x] = a[x, 0]"))
    # 256 + 32 sectors over 8 + 8 requests
    assert "18" in line.split()


def in_order(printed, *parts):
    places = [printed.index(part) for part in parts]
    return places == sorted(places)


def test_findings_come_first_then_advice_and_then_the_numbers(strided):
    subject = with_findings(strided)
    assert in_order(text.report([subject]), "\nFindings\n", "\nWorst lines", "\nAdvice", "\nSpeed of light\n", "\nOccupancy\n")
    assert in_order(html.report([subject]), 'class="finding"', "Worst lines", 'class="advice"', "Speed of light")


def test_the_last_words_are_what_to_do_first(strided, sampled):
    last = text.report([strided]).split("\n\n")[-1]
    assert last.startswith("Do first\n  conftest.py:") and "give one launch more work" in last
    assert text.report([strided, sampled]).split("\n\n")[-1].startswith("Do first, in ")
    last = text.report([with_findings(strided)]).split("\n\n")[-1]
    assert last == "Do first\n  race, k.py:3, k.py:4: put cuda.syncthreads() between\n"


def test_what_gains_nothing_is_not_to_be_done_first(launched):
    subject = launched("wide_sum", 1, 32, np.zeros(64, np.float32), np.zeros(32, np.float32)).subject
    nothing = [piece.gain_percent for piece in advice(subject) if piece.rule == "float64"]
    assert nothing == [0] and "float32(0)" not in text.report([subject]).split("\n\n")[-1]


def test_a_remedy_is_printed_once_and_little_gains_are_counted():
    pieces = [Advice("bank conflicts", f"line {line}", "pad the rows", 50.0 - line, "k.py", line) for line in range(9)]
    printed = list(text.advised([*pieces, Advice("bottleneck", "busy", "less work", None, "k.py", 1)]))
    assert [line.strip() for line in printed if "do:" in line] == \
        ["do: pad the rows", *["do: as for bank conflicts"] * 5, "do: less work"]
    assert printed[-1] == "  3 more with less gain: --json has all"


def test_files_below_the_current_folder_are_named_from_there(strided, monkeypatch):
    folder, file = os.path.split(__file__)
    monkeypatch.chdir(folder)
    conftest = os.path.join(folder, "conftest.py")
    race = dataclasses.replace(RACE, text=f"thread (0, 0, 0) writes at {conftest}:3: x", places=((conftest, 3),))
    subject = dataclasses.replace(strided, profile=dataclasses.replace(strided.profile, findings=[race]))
    printed = text.report([subject], source=True)
    assert "thread (0, 0, 0) writes at conftest.py:3: x" in printed and "Source: conftest.py\n" in printed
    assert folder not in printed and folder not in html.report([subject])
    monkeypatch.chdir(os.path.join(folder, "..", "..", "kernels"))
    assert f"Source: {conftest}\n" in text.report([subject], source=True)


def test_findings_are_printed_with_what_to_do(strided):
    printed = text.report([with_findings(strided)])
    assert "Findings\n  race\n    thread (0, 0, 0) writes <tile>\n    do: put cuda.syncthreads() between\n" in printed
    assert "\n  race, a note\n" in printed


def test_launches_of_one_shape_are_told_once(strided, sampled):
    slower = dataclasses.replace(strided, profile=dataclasses.replace(strided.profile, time_ns=9e9))
    groups = by_launch_shape([strided, sampled, slower])
    assert [len(group) for group in groups] == [2, 1] and groups[0][0] is slower
    printed = text.report([strided, sampled, slower])
    assert printed.count("column  (8, 1, 1) x (32, 1, 1)  on") == 1
    assert "the slowest of 2 launches in this shape, which take 9.00 s together" in printed


def test_no_launch_is_a_sentence():
    assert text.report([]) == "no kernel was launched\n"


# -- HTML

class Tags(HTMLParser):
    """Follows opening and closing tags."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href"} & {name for name, _ in attrs}
        assert not any(name.startswith("on") for name, _ in attrs)
        self.seen.add(tag)
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, found):
        self.text += found


def test_html_is_self_contained_well_formed_and_escaped(strided, sampled):
    reader = Tags()
    reader.feed(html.page([with_findings(strided), sampled], "a < b"))
    assert reader.open == [] and "script" not in reader.seen
    assert "thread (0, 0, 0) writes <tile>" in reader.text and "a < b" in reader.text
    assert names.GLOBAL_SECTORS_LD in reader.text and "4 KiB apart" in reader.text


def test_html_with_source_holds_ptx_and_sass_of_each_line_folded(strided):
    made = html.report([strided], source=True)
    reader = Tags()
    reader.feed(made)
    assert reader.open == []
    _, view = made.split("<summary>Source, PTX and SASS</summary>")
    line = view[view.index("out[x] = a[x, 0]"):].split("</details>")[0]
    assert "ld.global.f32" in line and "LDG.E" in line and "global loads: 32.0 sectors per request" in line
    assert view.count("<details>") > 2 and "<details open" not in view
    assert "LDG" not in html.report([strided])


def test_html_is_light(strided):
    assert len(html.report([strided])) < 40_000


# -- as a profile offers them

def test_a_profile_offers_all_three():
    import numba.cuda as cuda

    with simt.profile() as profile:
        copy[1, 32](cuda.to_device(np.ones(32, np.float32)), cuda.device_array(32, np.float32))
    check_document(json.loads(profile.to_json()))
    assert profile.report().startswith("copy  (1, 1, 1) x (32, 1, 1)")
    assert profile._repr_html_().startswith('<div class="simt-report">')
