"""Structures and pictures, compared with gold."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageDraw

from tasks_lib.evaluation import METRICS, CallError, Judgement, Seen

See = Callable[..., Seen]
Bytes = Callable[[str], bytes]


def match(seen: Seen, want: Seen, **arguments: Any) -> Judgement:
    judgement = METRICS["structure-match"].function(seen, want.value, **arguments)
    assert isinstance(judgement, Judgement)
    return judgement


def poscar(edges: tuple[float, float, float], sites: list[tuple[str, float, float, float]]) -> bytes:
    symbols = list(dict.fromkeys(site[0] for site in sites))
    counts = [sum(site[0] == symbol for site in sites) for symbol in symbols]
    vectors = [f"{edges[0]} 0 0", f"0 {edges[1]} 0", f"0 0 {edges[2]}"]
    rows = [f"{x} {y} {z}" for symbol in symbols for name, x, y, z in sites if name == symbol]
    lines = ["cell", "1.0", *vectors, " ".join(symbols), " ".join(map(str, counts)), "Direct", *rows]
    return ("\n".join(lines) + "\n").encode()


SALT = [("Na", 0.0, 0.0, 0.0), ("Cl", 0.5, 0.5, 0.5)]


def test_one_crystal_in_three_formats(see: See, good: Bytes) -> None:
    want = see("structure", "r.cif", good("rutile.cif"))
    for name in ("rutile.vasp", "rutile.cjson"):
        judged = match(see("structure", name, good(name)), want)
        assert judged.passed
        assert judged.why.startswith(
            "Ti2O4 with 6 sites fits the wanted structure (ltol 0.05, stol 0.1, 2 deg), RMS distance 0"
        )


def test_order_and_origin_do_not_count(see: See) -> None:
    moved = [("Cl", 0.75, 0.75, 0.75), ("Na", 0.25, 0.25, 0.25)]
    one, other = (see("structure", "POSCAR", poscar((4, 4, 4.2), sites)) for sites in (SALT, moved))
    assert match(one, other).passed
    assert match(other, one).passed


@pytest.mark.parametrize(
    ("edges", "sites", "why"),
    [
        ((4, 4, 4.6), SALT, "does not fit"),
        ((4, 4, 4.2), [("Na", 0, 0, 0), ("Cl", 0.5, 0.5, 0.3)], "does not fit"),
        ((4, 4, 4.2), [("K", 0, 0, 0), ("Cl", 0.5, 0.5, 0.5)], "another composition"),
        ((4, 4, 4.2), [*SALT, ("Cl", 0.5, 0.0, 0.0)], "with 3 sites was found"),
        ((4, 4, 8.4), [*SALT, ("Na", 0, 0, 0.9), ("Cl", 0.5, 0, 0.2)], "with 4 sites was found"),
    ],
)
def test_near_misses(see: See, edges: Any, sites: Any, why: str) -> None:
    want = see("structure", "POSCAR", poscar((4, 4, 4.2), SALT))
    judged = match(see("structure", "POSCAR", poscar(edges, sites)), want)
    assert not judged.passed
    assert why in judged.why


def test_a_supercell_is_another_answer_unless_it_is_allowed(see: See) -> None:
    want = see("structure", "POSCAR", poscar((4, 4, 4.2), SALT))
    double = [(name, x, y, (z + shift) / 2) for name, x, y, z in SALT for shift in (0, 1)]
    seen = see("structure", "POSCAR", poscar((4, 4, 8.4), double))
    assert not match(seen, want).passed
    assert match(seen, want, primitive=True, same_sites=False).passed
    assert match(seen, want, supercell=True).passed
    assert match(want, seen, supercell=True).passed


def test_scaling(see: See) -> None:
    want = see("structure", "POSCAR", poscar((4, 4, 4.2), SALT))
    seen = see("structure", "POSCAR", poscar((4.4, 4.4, 4.62), SALT))
    assert not match(seen, want).passed
    assert match(seen, want, scale=True).passed


def test_the_rms_distance_is_a_limit(see: See) -> None:
    want = see("structure", "POSCAR", poscar((4, 4, 4.2), SALT))
    seen = see("structure", "POSCAR", poscar((4, 4, 4.2), [("Na", 0, 0, 0), ("Cl", 0.5, 0.5, 0.52)]))
    assert match(seen, want).passed
    judged = match(seen, want, max_rms=1e-3)
    assert not judged.passed
    assert "RMS distance" in judged.why


def test_gold_must_be_a_structure(see: See, good: Bytes) -> None:
    seen = see("structure", "r.cif", good("rutile.cif"))
    with pytest.raises(CallError):
        match(seen, Seen("TiO2"))
    assert not match(Seen("TiO2"), seen).passed


def drawing(shift: int = 0, size: tuple[int, int] = (400, 300)) -> bytes:
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for at in range(0, size[0], 20):
        draw.line([at, size[1] - 20, at + 15, 20 + (at * 7 + shift * 50) % 200], fill="black", width=3)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def test_pictures(see: See) -> None:
    def similar(one: bytes, other: bytes, **arguments: Any) -> Judgement:
        seen, want = (see("image", "a.png", data, what="grey") for data in (one, other))
        judgement = METRICS["image-similar"].function(seen, want.value, **arguments)
        assert isinstance(judgement, Judgement)
        return judgement

    assert similar(drawing(), drawing()).why == "the SSIM is 1, at least 0.9 is wanted"
    assert similar(drawing(size=(800, 600)), drawing(size=(800, 602))).passed
    assert not similar(drawing(1), drawing()).passed
    assert similar(drawing(1), drawing(), at_least=-1).passed
    assert similar(drawing(size=(400, 400)), drawing()).why == "width to height is 1, 1.333 is wanted"
    assert similar(drawing(size=(400, 301)), drawing(size=(400, 300)), at_least=-1).passed
    with pytest.raises(CallError):
        METRICS["image-similar"].function(Seen(1), {"grey": ""})


def test_both_orders_must_fit(see: See, good: Bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from pymatgen.analysis.structure_matcher import StructureMatcher

    from tasks_lib.evaluation.readers.structures import compare

    real, asked = StructureMatcher.fit, []

    def spy(self: Any, *pair: Any, **rest: Any) -> Any:
        asked.append(rest)
        return real(self, *pair, **rest)

    monkeypatch.setattr(StructureMatcher, "fit", spy)
    data = json.dumps(see("structure", "r.cif", good("rutile.cif")).value["structure"]).encode()
    limits = {"ltol": 0.05, "stol": 0.1, "angle_tol": 2.0}
    found = compare(data, data, **limits, primitive_cell=False, scale=False, attempt_supercell=False)
    assert found == {"match": True, "rms": 0.0, "largest": 0.0}
    assert asked == [{"symmetric": True}]
