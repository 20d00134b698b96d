"""Machine code on disk: found again, never trusted when damaged, never in a folder that others may write."""
from __future__ import annotations

import os

import pytest

from simt.jit import cache

CODE = b"object code"


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("SIMT_CACHE_DIR", str(folder))
    monkeypatch.delenv("SIMT_CACHE", raising=False)
    return folder


def test_code_is_found_by_its_text(place):
    cache.save("text", CODE)
    assert cache.load("text") == CODE
    assert cache.load("other text") == b""


@pytest.mark.parametrize("damage", [
    lambda raw: raw[:-1], lambda raw: raw[:20], lambda raw: b"", lambda raw: b"x" + raw[1:], lambda raw: raw[:-1] + b"?",
])
def test_a_damaged_entry_is_not_used_and_is_replaced(place, damage):
    cache.save("text", CODE)
    entry = place / cache.name_of("text")
    entry.write_bytes(damage(entry.read_bytes()))
    assert cache.load("text") == b""
    cache.save("text", CODE)
    assert cache.load("text") == CODE


def test_an_entry_under_anothers_name_is_not_used(place):
    cache.save("text", CODE)
    cache.save("other", b"other code")
    (place / cache.name_of("other")).replace(place / cache.name_of("text"))
    assert cache.load("text") == b""


def test_the_folder_is_private(place):
    cache.save("text", CODE)
    assert place.stat().st_mode & 0o777 == 0o700
    assert (place / cache.name_of("text")).stat().st_mode & 0o077 == 0


def test_a_folder_that_others_can_write_is_not_used(place):
    cache.save("text", CODE)
    place.chmod(0o777)
    assert cache.folder() is None
    assert cache.load("text") == b""


def test_a_link_is_not_used(place, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    assert cache.folder() is None


def test_off_means_off(place, monkeypatch):
    monkeypatch.setenv("SIMT_CACHE", "off")
    cache.save("text", CODE)
    assert not place.exists()


def test_without_a_home_the_temporary_folder_serves(tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "SIMT_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    assert cache.folder() == tmp_path / f"simt-cache-{os.getuid()}"


def test_what_was_used_longest_ago_goes_first_when_the_folder_is_full(place, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT_BYTES", 4000)
    monkeypatch.setattr(cache, "TRIM_SHARE", 16)
    for index in range(5):
        cache.save(f"text {index}", bytes(1000))
        os.utime(place / cache.name_of(f"text {index}"), (index, index))
    cache.save("the last", bytes(1000))
    kept = [index for index in range(5) if cache.load(f"text {index}")]
    assert cache.load("the last")
    assert kept == sorted(kept) and 0 not in kept
    assert sum(entry.stat().st_size for entry in place.iterdir()) <= 4000
