"""Time and recall of the OCR engines on drawn screens and on screens of real programs.

Not a test: run it by name, ``pytest tests/benches/bench_ocr.py -m bench -s``, or as a script. It reads texts back,
those of the drawn screens by a seed, those of Gwyddion, Fityk and ImageJ as a person read them. It prints for each
engine that is installed the share found and the CPU time a screen, that of its child processes included.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
import time
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation import ocr
from tasks_lib.records.errors import EvaluatorError

WORDS = (
    "Data", "Functions", "Fit", "Session", "Remove Shirley BG", "Gaussian", "Voigt", "PseudoVoigt", "center 284.81",
    "hwhm 0.6095", "height 4992.21", "WSSR 655.432", "c1s.xy", "Binding energy (eV)", "Intensity (a.u.)",
    "Export peaks", "2θ (°)", "active points 109", "Save as image", "Lorentzian",
)  # fmt: skip
DRAWN = 3
SIZE = (1440, 900)
REAL = Path(__file__).parents[1] / "fixtures" / "evaluation" / "screens"


def draw(seed: int) -> tuple[bytes, list[str]]:
    """Draw a screen of 20 texts in sizes and colours of a desktop; the same seed gives the same screen."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable drawing, no secret
    picture = Image.new("RGB", SIZE, (240, 240, 240))
    painter = ImageDraw.Draw(picture)
    words = chance.sample(WORDS, len(WORDS))
    for at, word in enumerate(words):
        place = (40 + 460 * (at % 3), 40 + 120 * (at // 3))
        back, ink = chance.choice([("white", "black"), ("#336699", "white"), ("#f0f0f0", "#404040")])
        painter.rectangle([place[0] - 6, place[1] - 4, place[0] + 300, place[1] + 26], fill=back)
        painter.text(place, word, fill=ink, font=ImageFont.load_default(chance.choice([13, 15, 18])))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue(), words


def real() -> list[tuple[bytes, list[str]]]:
    """Return the screens of real programs with the texts that a person read on them."""
    told = json.loads((REAL / "screens.json").read_text(encoding="utf-8"))
    return [((REAL / f"{name}.png").read_bytes(), told[name]["texts"]) for name in sorted(told)]


def spent() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def measure(engine: str, screens: list[tuple[bytes, list[str]]]) -> dict[str, float]:
    """Return recall (0 to 1), the number of texts, CPU seconds and wall seconds a screen."""
    found = wanted = 0
    cpu, begun = spent(), time.perf_counter()
    for png, words in screens:
        text = "\n".join(line.text for line in ocr.read_screen(png, None, engine)).replace(" ", "").casefold()
        found += sum(word.replace(" ", "").casefold() in text for word in words)
        wanted += len(words)
    count = len(screens)
    return {
        "recall": found / wanted,
        "texts": wanted,
        "cpu": (spent() - cpu) / count,
        "wall": (time.perf_counter() - begun) / count,
    }


@pytest.mark.bench
def test_bench_ocr() -> None:
    sets = {"drawn": [draw(seed) for seed in range(1, DRAWN + 1)], "real": real()}
    for engine in ocr.engines():
        begun = time.perf_counter()
        try:
            ocr.read_screen(draw(0)[0], (0, 0, 400, 120), engine)
        except EvaluatorError as error:
            sys.stdout.write(f"\n{engine}: left out: {error}\n")
            continue
        sys.stdout.write(f"\n{engine}: first use {time.perf_counter() - begun:.1f} s\n")
        for name, screens in sets.items():
            figures = measure(engine, screens)
            sys.stdout.write(
                f"  {name}: recall {figures['recall']:.3f} of {figures['texts']} texts, "
                f"CPU {figures['cpu']:.1f} s and wall {figures['wall']:.1f} s a screen\n"
            )
            assert figures["recall"] > 0.4


if __name__ == "__main__":
    test_bench_ocr()
