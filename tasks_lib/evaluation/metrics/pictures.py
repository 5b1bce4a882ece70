"""Pictures, by structural similarity."""

from __future__ import annotations

import base64
from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _say
from tasks_lib.records import Json


@metric("image-similar")
def image_similar(seen: Seen, want: Json, *, at_least: float = 0.9, aspect: float = 0.02, **_: Any) -> Judgement:
    """Pass where the picture looks like the gold picture: SSIM of both in grey, scaled to 512 pixels.

    Read both with ``image`` and ``what: grey``.

    Parameters
    ----------
    at_least : float
        The smallest SSIM that passes, -1 to 1.
    aspect : float
        Relative tolerance of the ratio of width to height.
    """
    if not isinstance(want, dict) or "grey" not in want:
        msg = "image-similar wants a gold picture that the getter 'image' reads with what: grey"
        raise CallError(msg)
    if not isinstance(seen.value, dict) or "grey" not in seen.value:
        msg = "image-similar compares what the getter 'image' reads with what: grey"
        raise CallError(msg)
    ratios = [picture["width"] / picture["height"] for picture in (seen.value, want)]
    if abs(ratios[0] - ratios[1]) > aspect * ratios[1]:
        said = f"width to height is {_say.number(round(ratios[0], 3))}"
        return Judgement(False, f"{said}, {_say.number(round(ratios[1], 3))} is wanted")
    one, other = (base64.b64decode(picture["grey"]) for picture in (seen.value, want))
    if (seen.value["width"], seen.value["height"]) != (want["width"], want["height"]):
        one = _resized(one, seen.value, want)
    found = caged("likeness.similarity", one, other, width=want["width"], height=want["height"])
    return Judgement(found >= at_least, f"the SSIM is {_say.number(found)}, at least {_say.number(at_least)} is wanted")


def _resized(grey: bytes, size: dict[str, Any], wanted: dict[str, Any]) -> bytes:
    from PIL import Image

    picture = Image.frombytes("L", (size["width"], size["height"]), grey)
    return picture.resize((wanted["width"], wanted["height"])).tobytes()
