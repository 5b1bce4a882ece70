"""Time and recall of the OCR engine on drawn screens.

Not a test: run it by name, ``pytest tests/benches/bench_ocr.py -m bench -s``, or as a script. It draws texts such as a
fitting program shows, reads them back, and prints the share found and the CPU time a screen.
"""

from __future__ import annotations

import io
import random
import sys
import time

import pytest
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.evaluation import ocr

WORDS = (
    "Data", "Functions", "Fit", "Session", "Remove Shirley BG", "Gaussian", "Voigt", "PseudoVoigt", "center 284.81",
    "hwhm 0.6095", "height 4992.21", "WSSR 655.432", "c1s.xy", "Binding energy (eV)", "Intensity (a.u.)",
    "Export peaks", "2θ (°)", "active points 109", "Save as image", "Lorentzian",
)  # fmt: skip
SCREENS = 3
SIZE = (1440, 900)


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


def measure(engine: str) -> dict[str, float]:
    """Return recall (0 to 1), CPU seconds a screen and seconds to load."""
    begun = time.perf_counter()
    ocr.read_screen(draw(0)[0], (0, 0, 400, 120), engine)
    loaded = time.perf_counter() - begun
    found = wanted = 0
    cpu = time.process_time()
    for seed in range(1, SCREENS + 1):
        png, words = draw(seed)
        text = "\n".join(line.text for line in ocr.read_screen(png, None, engine)).replace(" ", "").casefold()
        found += sum(word.replace(" ", "").casefold() in text for word in words)
        wanted += len(words)
    return {"recall": found / wanted, "cpu": (time.process_time() - cpu) / SCREENS, "load": loaded}


@pytest.mark.bench
def test_bench_ocr() -> None:
    for engine in ocr.engines():
        figures = measure(engine)
        sys.stdout.write(
            f"\n{engine}: recall {figures['recall']:.3f} of {SCREENS * len(WORDS)} texts, "
            f"{figures['cpu']:.1f} s CPU a screen of {SIZE[0]}x{SIZE[1]}, first use {figures['load']:.1f} s\n"
        )
        assert figures["recall"] > 0.5


if __name__ == "__main__":
    test_bench_ocr()
