"""Names and paths that become folders: good ones pass unchanged, bad ones are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks_lib.records import check_relative_path, episode_id, slug
from tasks_lib.records.identifiers import EpisodeId, RelativePath, RunId, Sha256, Slug

GOOD_PATHS = ("a", "out/c1s.fit", "a/b/c.d", ".hidden", "..a", "a..", "a b", "Å.csv", "ab:c", "...", "-")
BAD_PATHS = (
    *("", ".", "..", "/", "/a", "//a", "a/", "a//b", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b"),
    *("a\\b", "\\\\host\\x", "C:", "c:/x", "C:x", "a:b", "a\x00", "a\nb", "a\x7f", "a\ud800"),
)
GOOD_SLUGS = ("a", "0", "a-b", "a.b", "c1s-fit", "a--b--t1", "a.", "a-", "a" * 100)
BAD_SLUGS = ("", "-a", ".", "..", ".a", "A", "a_b", "a b", "a/b", "a\\b", "a\n", "é", "a" * 101)


@pytest.mark.parametrize("path", GOOD_PATHS)
def test_good_paths_pass_unchanged(path):
    assert check_relative_path(path) == path
    assert TypeAdapter(RelativePath).validate_python(path) == path


@pytest.mark.parametrize("path", BAD_PATHS)
def test_paths_that_leave_their_folder_are_refused(path):
    with pytest.raises(ValueError, match="relative to its folder"):
        check_relative_path(path)
    with pytest.raises(ValueError, match=r"path|at least|unicode"):
        TypeAdapter(RelativePath).validate_python(path)


def test_a_path_has_a_length():
    assert TypeAdapter(RelativePath).validate_python("a" * 400)
    with pytest.raises(ValueError, match="at most 400"):
        TypeAdapter(RelativePath).validate_python("a" * 401)


@given(st.text(st.sampled_from("ab./\\:\n.."), max_size=12))
def test_what_passes_stays_inside(tmp_path_factory, text):
    try:
        path = check_relative_path(text)
    except ValueError:
        return
    root = tmp_path_factory.getbasetemp()
    assert (root / path).resolve().is_relative_to(root.resolve())
    assert (root / path).resolve() != root.resolve()


@pytest.mark.parametrize("kind", [Slug, RunId])
@pytest.mark.parametrize("name", GOOD_SLUGS)
def test_good_names_pass(kind, name):
    assert TypeAdapter(kind).validate_python(name) == name


@pytest.mark.parametrize("kind", [Slug, RunId])
@pytest.mark.parametrize("name", BAD_SLUGS)
def test_bad_names_are_refused(kind, name):
    with pytest.raises(ValueError, match="string"):
        TypeAdapter(kind).validate_python(name)


@pytest.mark.parametrize("digest", ["", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 64 + "\n"])
def test_a_digest_is_64_hex_digits(digest):
    assert TypeAdapter(Sha256).validate_python("0af9" * 16)
    with pytest.raises(ValueError, match="pattern"):
        TypeAdapter(Sha256).validate_python(digest)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("C 1s fit", "c-1s-fit"),
        ("mattoolbench/xps/C1s_fit", "mattoolbench-xps-c1s-fit"),
        ("gpt-4.1", "gpt-4.1"),
        ("--a--b--", "a-b"),
        ("..", "x"),
        ("", "x"),
        ("Å", "x"),
    ],
)
def test_slugs(text, name):
    assert slug(text) == name


@given(st.text())
def test_every_text_gives_a_name_that_is_stable(text):
    name = slug(text)
    assert slug(name) == name
    assert TypeAdapter(EpisodeId).validate_python(name[:300].rstrip("-.") or "x")


@given(st.text(max_size=40), st.text(max_size=40), st.integers(1, 999))
def test_an_episodes_name_is_a_good_one_and_splits_in_three(task, agent, trial):
    name = episode_id(task, agent, trial)
    assert TypeAdapter(EpisodeId).validate_python(name) == name
    assert name.split("--") == [slug(task), slug(agent), f"t{trial}"]
