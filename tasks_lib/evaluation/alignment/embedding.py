"""Texts to rounded unit vectors: each distinct text once, from the cache where it is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import Encoder
from tasks_lib.evaluation.alignment.similarity import unit_vectors
from tasks_lib.evaluation.alignment.trajectories import text_digest
from tasks_lib.records.errors import EvaluatorError

# Texts are kept this many at a time, so that a long encoding that is stopped does not begin again from nothing.
_KEPT_AT_ONCE = 2048


@dataclass(frozen=True)
class Embedding:
    """Vectors of texts, and how many of them the encoder had to make."""

    vectors: Mapping[str, NDArray[np.int32]]
    encoded: int

    def rows(self, texts: Iterable[str]) -> NDArray[np.int32]:
        """Return the vectors of `texts`, one row each."""
        return np.array([self.vectors[text] for text in texts], dtype=np.int32)


def embed(texts: Iterable[str], encoder: Encoder, cache: EmbeddingCache | None = None) -> Embedding:
    """Embed texts.

    Parameters
    ----------
    texts : iterable of str
        Texts, each as often as it may be.
    encoder : Encoder
        Is asked for each distinct text that the cache does not hold, shortest texts first: a batch of texts of similar
        length wastes no work on padding.
    cache : EmbeddingCache, optional
        Where vectors are kept.

    Returns
    -------
    Embedding
        A vector for each distinct text.

    Raises
    ------
    EvaluatorError
        If the encoder does not give one vector a text.
    """
    digests = {text: text_digest(text) for text in dict.fromkeys(texts)}
    kept = cache.read(encoder.digest, list(digests.values())) if cache and digests else {}
    found = {text: kept[digest] for text, digest in digests.items() if digest in kept}
    missing = sorted((text for text in digests if text not in found), key=lambda text: (len(text), text))
    for start in range(0, len(missing), _KEPT_AT_ONCE):
        part = missing[start : start + _KEPT_AT_ONCE]
        vectors = encoder.encode(part)
        if vectors.ndim != 2 or len(vectors) != len(part):
            msg = f"encoder {encoder.name} gave an array of shape {vectors.shape} for {len(part)} texts: one row a text"
            raise EvaluatorError(msg)
        new = dict(zip(part, unit_vectors(vectors), strict=True))
        found |= new
        if cache:
            cache.write(encoder.digest, {digests[text]: vector for text, vector in new.items()})
    return Embedding(found, len(missing))
