"""The cache of embeddings: what is kept comes back, what is broken is as if it were not there."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment import Embedding, EmbeddingCache, embed, text_digest, unit_vectors
from tasks_lib.records.errors import EvaluatorError

ENCODER = "e" * 64
TEXTS = [f"text {index}" for index in range(1200)]


def _vector(text: str) -> list[float]:
    return np.random.default_rng(len(text) * 7919 + sum(text.encode())).normal(size=16).tolist()


def _vectors(number: int) -> dict[str, np.ndarray]:
    made = unit_vectors(np.random.default_rng(1).normal(size=(number, 384)))
    return {text_digest(text): vector for text, vector in zip(TEXTS, made, strict=False)}


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path / "state" / "embeddings.sqlite")


def _same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> bool:
    return found.keys() == wanted.keys() and all((found[key] == wanted[key]).all() for key in wanted)


def test_what_is_kept_comes_back_for_its_encoder_alone(cache: EmbeddingCache) -> None:
    vectors = _vectors(1200)
    assert cache.read(ENCODER, list(vectors)) == {}
    cache.write(ENCODER, vectors)
    assert _same(EmbeddingCache(cache.path).read(ENCODER, [*vectors, "missing"]), vectors)
    assert cache.read("f" * 64, list(vectors)) == {}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors_1 SET vector = substr(vector, 1, 100) WHERE text = ?",
        "UPDATE vectors_1 SET crc = crc + 1 WHERE text = ?",
        "UPDATE vectors_1 SET vector = 'words' WHERE text = ?",
        "UPDATE vectors_1 SET vector = NULL, crc = NULL WHERE text = ?",
        "UPDATE vectors_1 SET vector = (SELECT vector FROM vectors_1 WHERE text <> ?1 LIMIT 1) WHERE text = ?1",
    ],
)
def test_a_broken_entry_is_ignored_and_written_anew(damage: str, cache: EmbeddingCache) -> None:
    vectors = _vectors(3)
    cache.write(ENCODER, vectors)
    broken, *others = vectors
    database = sqlite3.connect(cache.path)
    with database:
        assert database.execute(damage, (broken,)).rowcount == 1
    database.close()
    assert _same(cache.read(ENCODER, list(vectors)), {key: vectors[key] for key in others})
    cache.write(ENCODER, {broken: vectors[broken]})
    assert _same(cache.read(ENCODER, list(vectors)), vectors)


@pytest.mark.parametrize("keep", [0, 50, 100, 5000])
def test_a_file_that_is_no_database_is_put_aside(keep: int, cache: EmbeddingCache) -> None:
    vectors = _vectors(100)
    cache.write(ENCODER, vectors)
    whole = cache.path.read_bytes()
    cache.path.write_bytes(whole[:keep] + b"rubbish, and more of it " * 400 + whole[keep + 9600 :])
    assert cache.read(ENCODER, list(vectors)).keys() < vectors.keys()
    cache.write(ENCODER, vectors)
    assert _same(cache.read(ENCODER, list(vectors)), vectors)


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    cache = EmbeddingCache(tmp_path / "file" / "embeddings.sqlite")
    cache.write(ENCODER, _vectors(1))
    assert cache.read(ENCODER, list(_vectors(1))) == {}


def test_many_threads_keep_all_they_write(cache: EmbeddingCache) -> None:
    vectors = list(_vectors(40).items())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: cache.write(ENCODER, dict([item])), vectors))
    assert _same(cache.read(ENCODER, [key for key, _ in vectors]), dict(vectors))


def test_a_writer_that_is_killed_leaves_whole_entries(cache: EmbeddingCache) -> None:
    script = (
        "import os, sys\n"
        "import numpy as np\n"
        "from pathlib import Path\n"
        "from tasks_lib.evaluation.alignment import EmbeddingCache\n"
        "cache = EmbeddingCache(Path(sys.argv[1]))\n"
        "cache.write('e' * 64, {'kept': np.arange(384, dtype=np.int32)})\n"
        "with cache._open() as database:\n"
        "    database.execute(\"INSERT INTO vectors_1 VALUES ('%s', 'lost', x'00', 0)\" % ('e' * 64))\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(cache.path)], check=False, timeout=120)
    assert ended.returncode == -9
    assert _same(cache.read(ENCODER, ["kept", "lost"]), {"kept": np.arange(384, dtype=np.int32)})


@given(st.lists(st.sampled_from(TEXTS[:30]), max_size=40), st.sets(st.sampled_from(TEXTS[:30])))
@settings(max_examples=40)
def test_the_cache_changes_no_vector_and_asks_for_what_is_missing_once(
    tmp_path_factory: pytest.TempPathFactory, encoder_of: Callable[..., Any], asked: list[str], before: set[str]
) -> None:
    cache = EmbeddingCache(tmp_path_factory.mktemp("cache") / "embeddings.sqlite")
    encoder = encoder_of(_vector)
    embed(before, encoder, cache)
    encoder.asked.clear()
    found = embed(asked, encoder, cache)
    assert sorted(text for batch in encoder.asked for text in batch) == sorted(set(asked) - before)
    assert found.encoded == len(set(asked) - before)
    plain = embed(asked, encoder_of(_vector))
    assert (found.rows(asked) == plain.rows(asked)).all()


def test_texts_are_encoded_shortest_first_and_kept_as_they_come(
    cache: EmbeddingCache, encoder_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks_lib.evaluation.alignment.embedding._KEPT_AT_ONCE", 2)

    def failing(text: str) -> list[float]:
        if text == "ccc":
            msg = "the encoder broke"
            raise RuntimeError(msg)
        return [1.0, len(text)]

    encoder = encoder_of(failing)
    with pytest.raises(RuntimeError):
        embed(["ccc", "a", "bb"], encoder, cache)
    assert encoder.asked == [["a", "bb"], ["ccc"]]
    assert cache.read(encoder.digest, [text_digest("a"), text_digest("bb"), text_digest("ccc")]).keys() == {
        text_digest("a"),
        text_digest("bb"),
    }


def test_an_encoder_has_to_give_one_vector_a_text(encoder_of: Callable[..., Any]) -> None:
    encoder = encoder_of(_vector)
    encoder.encode = lambda texts: np.zeros((1, 16))
    with pytest.raises(EvaluatorError, match="one row a text"):
        embed(["a", "b"], encoder)


def test_nothing_is_asked_for_no_text(encoder_of: Callable[..., Any]) -> None:
    encoder = encoder_of(_vector)
    assert embed([], encoder) == Embedding({}, 0)
    assert encoder.asked == []
