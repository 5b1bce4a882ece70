"""Charts of trajectory scores, as PNG."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tasks_lib.evaluation.alignment.threshold import ThresholdSweep
from tasks_lib.reporting._text import scrub

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours of Okabe and Ito, which colour-blind readers tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777")
_DPI = 100
_LONGEST_NAME = 28
# More bars in a group are too thin to be seen.
MOST_FILES = 8


def score_chart(scores: Mapping[str, Mapping[str, float | None]], title: str) -> bytes:
    """Draw the scores of several files side by side.

    Parameters
    ----------
    scores : mapping of str to mapping of str to float or None
        By file, at least one, then by the score's name, the same for all files; in [0, 1], None draws no bar.
    title : str
        Above it.

    Returns
    -------
    bytes
        PNG; of more than `MOST_FILES` files the first ones.
    """
    shown = dict(list(scores.items())[:MOST_FILES])
    names = list(next(iter(shown.values())))
    figure = _figure(max(6.4, 1.3 * len(names)), 3.6)
    axes = figure.add_subplot()
    width = 0.8 / len(shown)
    for position, (name, values) in enumerate(shown.items()):
        places = [index + (position - (len(shown) - 1) / 2) * width for index in range(len(names))]
        heights = [math.nan if (value := values[one]) is None else value for one in names]
        axes.bar(places, heights, width * 0.92, color=_COLOURS[position], label=_name(name))
    axes.set(ylim=(0, 1), ylabel="score", xlim=(-0.6, len(names) - 0.4))
    axes.set_xticks(range(len(names)), [one.replace("_", "\n") for one in names], fontsize=8)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.set_title(_name(title, 80), fontsize=10, loc="left")
    return _png(figure)


def family_chart(scores: Mapping[str, Mapping[str, float]], title: str) -> bytes:
    """Draw one score of several files by family, as a table of colours.

    Parameters
    ----------
    scores : mapping of str to mapping of str to float
        By file, then by family, at least one in all; a family that a file lacks stays white.
    title : str
        Above it.
    """
    import numpy as np

    families = sorted({family for values in scores.values() for family in values})
    table = np.array([[values.get(family, np.nan) for family in families] for values in scores.values()])
    figure = _figure(2.6 + 0.34 * max(8, len(families)), 1.3 + 0.34 * max(2, len(scores)))
    axes = figure.add_subplot()
    image = axes.imshow(table.reshape(len(scores), len(families)), vmin=0, vmax=1, cmap="cividis", aspect="auto")
    axes.set_xticks(range(len(families)), [_name(one, 12) for one in families], rotation=90, fontsize=8)
    axes.set_yticks(range(len(scores)), [_name(one) for one in scores], fontsize=8)
    figure.colorbar(image, ax=axes, pad=0.02)
    axes.set_title(_name(title, 80), fontsize=10, loc="left")
    return _png(figure)


def sweep_chart(sweep: ThresholdSweep) -> bytes:
    """Draw agreement over the threshold, with the optimum, its interval and the cosines of both kinds of pairs."""
    figure = _figure(6.4, 4.0)
    axes = figure.add_subplot()
    axes.axvspan(*sweep.interval, color=_COLOURS[0], alpha=0.12, label="95 % of the optimum")
    axes.plot([point.tau for point in sweep.curve], [point.agreement for point in sweep.curve], color=_COLOURS[0])
    axes.axvline(sweep.tau, color=_COLOURS[0], ls="--", label=f"best: {sweep.tau:.3f}")
    for point in sweep.published:
        axes.axvline(point.tau, color=_COLOURS[7], ls=":", lw=1)
    for same, place, colour in ((True, -0.06, _COLOURS[2]), (False, -0.11, _COLOURS[1])):
        found = [pair.similarity for pair in sweep.similarities if pair.same is same]
        label = f"{len(found)} pairs, {'the same' if same else 'not the same'} to people"
        axes.plot(found, [place] * len(found), "|", ms=9, color=colour, label=label)
    axes.set(xlim=(0, 1.01), ylim=(-0.15, 1.02), xlabel="threshold, cosine", ylabel="agreement with people")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0.0, 0.12))
    return _png(figure)


def _name(text: str, most: int = _LONGEST_NAME) -> str:
    """Return a name that a model's file may have given: one line, no formula, not endless, never left out."""
    plain = scrub(text).replace("\n", " ")
    shown = plain if len(plain) <= most else f"{plain[: most - 1]}…"
    # A legend leaves out what begins with an underscore.
    return shown.replace("$", "\\$").replace("_", " _", 1) if shown.startswith("_") else shown.replace("$", "\\$")


def _figure(width: float, height: float) -> Figure:
    # Not pyplot: it keeps figures, and asks for a screen.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=_DPI, layout="constrained")


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
