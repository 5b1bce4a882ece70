from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from PIL import Image

from tasks_lib.agents import AgentSettings, Brief, parse_reply, task_prompt
from tasks_lib.agents.figure_templates import BASE, KINDS, kind_of_figure, read_template, template_for
from tasks_lib.records import Modality
from tasks_lib.taskdefs import find_root, load_task
from tasks_lib.taskdefs.transcript import fences

ALL = [*KINDS, BASE]
DATA = b"X_COLUMN,Y_COLUMN,SECOND_COLUMN\n1,2,3\n2,3,5\n3,1,4\n"


def brief(instruction, *deliverables):
    return Brief(Modality.FIGURE, instruction, deliverables=deliverables or (("plot.vsz", "the document"),))


@pytest.mark.parametrize(
    ("instruction", "kind"),
    [
        ("Plot the XPS core level against binding energy.", "photoelectron"),
        ("Show the Raman shift of three spectra.", "raman"),
        ("The FTIR spectrum has wavenumbers and transmittance.", "infrared"),
        ("Draw both patterns over 2θ.", "diffraction"),
        ("Plot the band structure along the k-path.", "bands"),
        ("Show the capacity at each rate, C-rates as labels.", "rates"),
        ("What a battery cycler exported: cycle number and coulombic efficiency.", "cycling"),
        ("Plot the hysteresis of the magnet.", BASE),
        ("What the microramanscope and the paraxrd show.", BASE),
    ],
)
def test_the_kind_is_read_from_what_is_told(instruction, kind):
    assert kind_of_figure(brief(instruction)) == kind
    assert template_for(brief(instruction)) == read_template(kind)


def test_words_on_files_count_and_hints_do_not():
    assert kind_of_figure(brief("Plot it.", ("si_xrd.pdf", "the pattern"))) == "diffraction"
    told = Brief(Modality.FIGURE, "Plot it.", hints=("As in Raman.",), deliverables=(("a.pdf", "x"),))
    assert kind_of_figure(told) == BASE


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("figures/cell-cycling", "cycling"),
        ("figures/film-diffraction", "diffraction"),
        ("mixed/anatase-reference-overlay", "diffraction"),
    ],
)
def test_figure_tasks_that_ship_have_a_kind(folder, kind):
    task = load_task(find_root() / "mattoolbench" / folder).task
    (figure,) = (stage for stage in task.stages if stage.modality is Modality.FIGURE)
    assert kind_of_figure(Brief.of(figure)) == kind


@pytest.mark.parametrize("kind", ALL)
def test_a_template_is_a_reply_that_can_be_done_and_stands_whole_in_the_prompt(kind):
    text = read_template(kind)
    parsed = parse_reply(f"```veusz\n{text}```", Modality.FIGURE)
    assert parsed.problems == ()
    assert parsed.script.text == text
    # What has to be replaced is seen to be so.
    assert "DATA.csv" in text
    instruction = KINDS[kind][0] if kind in KINDS else "Plot it."
    shown = fences(task_prompt(brief(instruction), AgentSettings(help="template+hints")))
    assert [(block.language, block.body + "\n") for block in shown] == [("veusz", text)]


@pytest.mark.skipif(shutil.which("veusz") is None, reason="no veusz here: install the desktop programs")
def test_veusz_draws_every_template_as_it_is(tmp_path):
    (tmp_path / "DATA.csv").write_bytes(DATA)
    for kind in ALL:
        (tmp_path / f"{kind}.vsz").write_text(read_template(kind), encoding="utf-8")
    exports = [part for kind in ALL for part in ("--export", f"{kind}.png")]
    done = subprocess.run(
        ["veusz", *exports, *(f"{kind}.vsz" for kind in ALL)],
        cwd=tmp_path,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Traceback" not in done.stderr
    drawn = {}
    for kind in ALL:
        drawn[kind] = (tmp_path / f"{kind}.png").read_bytes()
        with Image.open(tmp_path / f"{kind}.png") as picture:
            seen = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture.convert("RGBA")).convert("L")
        dark = sum(value < 128 for value in seen.tobytes())
        assert 1000 < dark < 0.2 * seen.width * seen.height, kind
    assert len(set(drawn.values())) == len(ALL)
