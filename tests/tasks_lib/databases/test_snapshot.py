"""A snapshot on disk: equal content has equal bytes, and a broken file says what is broken."""

from __future__ import annotations

import hashlib
import lzma

import pytest

from tasks_lib.databases import Snapshot, load
from tasks_lib.records.errors import ConfigurationError


@pytest.fixture(scope="module")
def some():
    shipped = load()
    return Snapshot(shipped.header, shipped.entries[:8])


def test_it_reads_back_as_it_was_written(some, tmp_path):
    some.save(tmp_path / "s.xz")
    again = load(tmp_path / "s.xz")
    assert again.entries == some.entries
    assert again.header == some.header
    assert again.digest == some.digest


def test_equal_content_has_equal_bytes(some, tmp_path):
    Snapshot(some.header, reversed(some.entries)).save(tmp_path / "a.xz")
    some.save(tmp_path / "b.xz")
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()


def test_the_digest_is_of_the_text_not_of_the_compression(some, tmp_path):
    (tmp_path / "s.xz").write_bytes(lzma.compress(some.text(), preset=0))
    assert load(tmp_path / "s.xz").digest == some.digest == hashlib.sha256(some.text()).hexdigest()


def test_a_changed_value_changes_the_digest(some):
    first = some.entries[0]
    changed = first.model_copy(update={"name": "another name"})
    assert Snapshot(some.header, [changed, *some.entries[1:]]).digest != some.digest


def test_entries_are_found_by_every_id(some):
    entry = some.entries[3]
    assert some.by_number[entry.number] is some.by_id[entry.id] is entry
    assert some.by_mp(entry.mp_id) is some.by_mp(entry.mp_alpha_id) is entry
    with pytest.raises(KeyError):
        some.by_mp("mp-149")
    with pytest.raises(ValueError, match="a Materials Project id is"):
        some.by_mp("oqmd-12")


def test_no_number_stands_twice(some):
    with pytest.raises(ConfigurationError, match=f"{some.entries[0].number}.*twice"):
        Snapshot(some.header, [*some.entries, some.entries[0]])


def written(tmp_path, text: bytes):
    (tmp_path / "s.xz").write_bytes(lzma.compress(text))
    return tmp_path / "s.xz"


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigurationError, match="build it with"):
        load(tmp_path / "none.xz")


def test_a_file_of_another_kind(tmp_path):
    (tmp_path / "s.xz").write_bytes(b"{}\n")
    with pytest.raises(ConfigurationError, match="XZ-compressed"):
        load(tmp_path / "s.xz")


def test_a_compressed_file_cut_short(some, tmp_path):
    path = written(tmp_path, some.text())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ConfigurationError, match="cut short"):
        load(path)


def test_a_text_cut_short(some, tmp_path):
    with pytest.raises(ConfigurationError, match="ends with a line feed"):
        load(written(tmp_path, some.text()[:-10]))


@pytest.mark.parametrize("line", [b"{}", b"not json", b"", b'{"number": NaN}'])
def test_the_broken_line_is_named(some, tmp_path, line):
    lines = some.text().splitlines()
    lines[2] = line
    with pytest.raises(ConfigurationError, match="line 3 is no entry"):
        load(written(tmp_path, b"\n".join(lines) + b"\n"))


def test_a_header_of_another_format(some, tmp_path):
    text = some.text().replace(b'"format":"matassay-snapshot"', b'"format":"another"')
    with pytest.raises(ConfigurationError, match="line 1 is no header"):
        load(written(tmp_path, text))
