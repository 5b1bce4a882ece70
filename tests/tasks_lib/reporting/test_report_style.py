"""The style sheet: contrast by the formula of WCAG 2.2, in both colour schemes, and nothing from outside."""

import re
from importlib.resources import files

import pytest

STYLE = (files("tasks_lib.reporting") / "templates" / "style.css").read_text(encoding="utf-8")
# Text and the ground it stands on.
PAIRS = [
    *[(text, ground) for text in ("ink", "soft", "link") for ground in ("page", "card", "well")],
    *[(name, f"{name}-bg") for name in ("pass", "fail", "void", "pending", "notice")],
    *[(name, ground) for name in ("pass", "fail", "void", "pending", "notice") for ground in ("page", "card")],
]


def colours(scheme: str) -> dict[str, str]:
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.S)
    light = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", blocks[0]))
    dark = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", blocks[1]))
    printed = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", blocks[2]))
    return {"light": light, "dark": {**light, **dark}, "print": {**light, **dark, **printed}}[scheme]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_text_has_contrast(scheme):
    found = colours(scheme)
    weak = {}
    for text, ground in PAIRS:
        light, dark = sorted((luminance(found[text]), luminance(found[ground])), reverse=True)
        ratio = (light + 0.05) / (dark + 0.05)
        if ratio < 4.5:
            weak[text, ground] = round(ratio, 2)
    assert weak == {}


def test_nothing_from_outside():
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert len(STYLE) < 20_000
