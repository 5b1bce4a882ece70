"""How alike two free texts are: by a sentence encoder over chunks, so that no text is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment.embedding import embed
from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import Encoder
from tasks_lib.evaluation.alignment.similarity import cosines
from tasks_lib.records import Json, clean_text

# The encoder cuts at 256 tokens; a chunk stays below by a careful guess of how many it has.
_MOST_TOKENS = 240
_LETTERS_A_TOKEN = 3
_LONGEST_WORD = 400
# Sentence vectors of unrelated short texts of one kind lie near this cosine: it is worth nothing.
_UNRELATED = 0.6


class TextSimilarity:
    """Likeness of texts in [0, 1]; symmetric, 1 for equal texts.

    Parameters
    ----------
    texts : iterable of str
        Every text that will be compared; their chunks are embedded together, each once.
    encoder : Encoder
        Sentence encoder.
    cache : EmbeddingCache, optional
        Where vectors are kept.
    """

    def __init__(self, texts: Iterable[str], encoder: Encoder, cache: EmbeddingCache | None = None) -> None:
        self._chunks: Mapping[str, tuple[str, ...]] = {
            text: tuple(chunks(text)) for text in dict.fromkeys(clean_text(one) for one in texts)
        }
        whole = embed((chunk for parts in self._chunks.values() for chunk in parts), encoder, cache)
        self._vectors = {text: whole.rows(parts) for text, parts in self._chunks.items()}
        self._known: dict[tuple[str, str], float] = {}

    def __call__(self, one: str, other: str) -> float:
        """Compare two of the texts: chunks are paired, the alikest first, and a chunk alone counts 0."""
        first, second = sorted((clean_text(one), clean_text(other)))
        if first == second:
            return 1.0
        if (first, second) not in self._known:
            likeness = cosines(self._vectors[first], self._vectors[second])
            above = np.clip((likeness - _UNRELATED) / (1 - _UNRELATED), 0.0, 1.0)
            self._known[first, second] = _paired(above) / max(above.shape)
        return self._known[first, second]


def texts_of(value: Json) -> Iterator[str]:
    """Give every text within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_of(item)


def chunks(text: str) -> Iterator[str]:
    """Cut a text between words into chunks that the encoder reads whole."""
    part: list[str] = []
    tokens = 0
    for word in text.split() or [""]:
        for piece in (word[at : at + _LONGEST_WORD] for at in range(0, max(1, len(word)), _LONGEST_WORD)):
            more = _tokens(piece)
            if part and tokens + more > _MOST_TOKENS:
                yield " ".join(part)
                part, tokens = [], 0
            part.append(piece)
            tokens += more
    yield " ".join(part)


def _tokens(word: str) -> int:
    """Guess how many tokens a word has, rather too many: signs, digits and other scripts are one each."""
    letters = sum(sign.isascii() and sign.isalpha() for sign in word)
    return len(word) - letters + -(-letters // _LETTERS_A_TOKEN)


def _paired(likeness: NDArray[np.float64]) -> float:
    """Sum the likeness of chunks that are paired greedily."""
    total, left = 0.0, likeness.copy()
    for _ in range(min(left.shape)):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        if left[row, column] <= 0:
            break
        total += float(left[row, column])
        left[row, :] = left[:, column] = -1.0
    return total
