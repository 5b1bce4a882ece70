"""Looking for a small picture on a screenshot.

Fonts, theme and animations of the desktop are pinned, so a button looks the same each time, and a small picture of it
finds it again wherever its window stands. The score is the normalised cross-correlation over the three colours,
``sum(t' p') / sqrt(sum(t'^2) sum(p'^2))`` with ``t'`` and ``p'`` the picture and the place less their mean colours.
It is 1 for the same pixels and does not see brightness or contrast; both are therefore looked at on their own, or a
greyed-out button would pass for a live one.

Both are cheap: sums over boxes give the mean and the contrast of every place. The correlation is asked only of the few
places that can pass; the whole map of it, which costs ten times as much, is made where none does, to say how near the
best one came.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tasks_lib.taskdefs.targets import Target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A score from which a place is the target; the same program on the same desktop gives 1.000.
THRESHOLD = 0.97
# What scores so much less than the best place is a lookalike of it, such as the same word in another font size.
MARGIN = 0.015
# Contrast of the place over that of the picture; a greyed-out label has about half of it.
CONTRAST = (0.85, 1.18)
# How far the mean colour may be off, levels of 255: less than between two backgrounds of one theme.
BRIGHTNESS = 7.0
# So many places at most are looked at; a picture that fits more of them is no target.
MOST_MATCHES = 64
# Pixels of places that are looked at one by one; where there are more, the whole map is as fast.
_MOST_GATHERED = 40_000_000
_GATHERED_AT_ONCE = 2_000_000

Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Match:
    """A place where a target was found.

    Attributes
    ----------
    x, y : int
        Top left pixel of the place.
    width, height : int
        Its size, pixels.
    score : float
        Normalised cross-correlation, in [-1, 1].
    """

    x: int
    y: int
    width: int
    height: int
    score: float

    @property
    def middle(self) -> tuple[int, int]:
        """The pixel in its middle."""
        return self.x + self.width // 2, self.y + self.height // 2


@dataclass(frozen=True, slots=True)
class Search:
    """What came of looking for a target.

    Attributes
    ----------
    matches : tuple of Match
        Best first, then from the top and from the left; places that overlap by more than half count once, and those
        that score more than `MARGIN` below the best do not count.
    best : float
        The best score, in [-1, 1]: of the matches, or of any place where there is none.
    but : str
        Why the best place is no match although its score would do; empty where that is not so.
    """

    matches: tuple[Match, ...]
    best: float = -1.0
    but: str = ""


def find_target(screen: NDArray[np.uint8], target: Target, box: Box | None = None) -> Search:
    """Find every place on a screen that shows a target.

    Parameters
    ----------
    screen : ndarray of uint8, shape (height, width, 3)
        The screenshot.
    target : Target
        What is looked for.
    box : tuple of int, optional
        Left, top, width and height of the part of the screen that is looked at, pixels; the whole by default.
    """
    left, top, right, bottom = _clipped(box, screen.shape[1], screen.shape[0])
    height, width = target.pixels.shape[:2]
    if right - left < width or bottom - top < height:
        return Search(())
    part = screen[top:bottom, left:right]
    scores = _scores_of_likely(part, target.pixels)
    matches, _, _ = _peaks(scores, part, target.pixels)
    if not matches:
        _, best, but = _peaks(_scores(part, target.pixels), part, target.pixels)
        return Search((), best, but if best >= THRESHOLD else "")
    best = max(match.score for match in matches)
    kept = [replace(match, x=left + match.x, y=top + match.y) for match in matches if match.score >= best - MARGIN]
    kept.sort(key=lambda match: (-round(match.score, 6), match.y, match.x))
    return Search(tuple(kept), best)


def _peaks(
    scores: NDArray[np.float32], part: NDArray[np.uint8], picture: NDArray[np.uint8]
) -> tuple[list[Match], float, str]:
    """Return the matches at the peaks of a map, the best score of all peaks, and why that one is no match."""
    height, width = picture.shape[:2]
    matches: list[Match] = []
    best, but = -1.0, ""
    for turn in range(MOST_MATCHES):
        y, x = divmod(int(scores.argmax()), scores.shape[1])
        # The map is of single precision; what is near the threshold is scored again.
        if turn and scores[y, x] < THRESHOLD - 0.01:
            break
        score, why = _score(part[y : y + height, x : x + width], picture)
        if score > best:
            best, but = score, why
        if score >= THRESHOLD and not why:
            matches.append(Match(x, y, width, height, score))
        scores[_before(y, height) : y + height // 2 + 1, _before(x, width) : x + width // 2 + 1] = -1.0
    return matches, best, but


def _before(start: int, size: int) -> int:
    return max(0, start - size // 2)


def _scores(part: NDArray[np.uint8], picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the score of every place, by its top left pixel; -1 where a place is flat."""
    import cv2
    import numpy as np

    height, width = picture.shape[:2]
    scores = cv2.matchTemplate(np.ascontiguousarray(part), np.ascontiguousarray(picture), cv2.TM_CCOEFF_NORMED)
    # On a flat place the quotient is rounding noise over rounding noise.
    total = np.zeros(scores.shape)
    for channel in range(3):
        sums, squares = map(np.asarray, cv2.integral2(np.ascontiguousarray(part[:, :, channel]), sdepth=cv2.CV_64F))
        total += _boxes(squares, height, width) - _boxes(sums, height, width) ** 2 / (height * width)
    flat = total < 0.01 * float(picture.var(axis=(0, 1)).sum()) * height * width
    return np.where(flat | ~np.isfinite(scores), np.float32(-1), scores)


def _scores_of_likely(part: NDArray[np.uint8], picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the score of every place whose mean colour and contrast are the target's; -1 for all others."""
    import cv2
    import numpy as np

    height, width = picture.shape[:2]
    area, size = height * width, (width, height)
    rows, columns = part.shape[0] - height + 1, part.shape[1] - width + 1
    part = np.ascontiguousarray(part)
    edge = cv2.BORDER_CONSTANT
    boxes = cv2.boxFilter(part, cv2.CV_32S, size, anchor=(0, 0), normalize=False, borderType=edge)
    sums = np.asarray(boxes)[:rows, :columns]
    squares = np.asarray(cv2.sqrBoxFilter(part, cv2.CV_64F, size, anchor=(0, 0), normalize=False, borderType=edge))
    wanted = picture.sum(axis=(0, 1), dtype=np.int64)
    # A hair wider than the bounds, which are kept by `_score`.
    room = BRIGHTNESS * area + 1
    likely = np.asarray(cv2.inRange(sums, wanted - room, wanted + room))
    scores = np.full((rows, columns), -1, dtype=np.float32)
    ys, xs = np.nonzero(likely)
    norms = squares[ys, xs].sum(axis=1) - (sums[ys, xs].astype(float) ** 2).sum(axis=1) / area
    pattern = picture.reshape(area, 3).astype(float)
    pattern -= pattern.mean(axis=0)
    ratios = norms / (pattern**2).sum()
    fits = (ratios >= CONTRAST[0] ** 2 - 1e-6) & (ratios <= CONTRAST[1] ** 2 + 1e-6)
    ys, xs, norms = ys[fits], xs[fits], norms[fits]
    if ys.size * area > _MOST_GATHERED:
        whole = _scores(part, picture)
        scores[ys, xs] = whole[ys, xs]
        return scores
    # A row of a place is one run of bytes where the colours stand side by side.
    places = np.lib.stride_tricks.sliding_window_view(part.reshape(part.shape[0], -1), (height, 3 * width))
    weights = pattern.reshape(-1).astype(np.float32)
    step = max(1, _GATHERED_AT_ONCE // area)
    for start in range(0, ys.size, step):
        some = slice(start, start + step)
        looked_at = places[ys[some], 3 * xs[some]].reshape(-1, 3 * area).astype(np.float32)
        products = np.einsum("ij,j->i", looked_at, weights)
        # The mean of the place falls out, because the pattern has none.
        scores[ys[some], xs[some]] = products / np.sqrt(norms[some] * float((pattern**2).sum()))
    return scores


def _boxes(integral: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    upper = integral[:-height, width:] - integral[:-height, :-width]
    sums: NDArray[np.float64] = integral[height:, width:] - integral[height:, :-width] - upper
    return sums


def _score(place: NDArray[np.uint8], picture: NDArray[np.uint8]) -> tuple[float, str]:
    """Return the score of a place, and how its contrast or colour differs from the target's."""
    p, t = place.astype(float), picture.astype(float)
    p_mean, t_mean = p.mean(axis=(0, 1)), t.mean(axis=(0, 1))
    p, t = p - p_mean, t - t_mean
    p_norm, t_norm = math.sqrt(float((p * p).sum())), math.sqrt(float((t * t).sum()))
    if p_norm < 1e-6 or t_norm < 1e-6:
        return 0.0, "the place is flat"
    ratio, shift = p_norm / t_norm, float(abs(p_mean - t_mean).max())
    why = ""
    if not CONTRAST[0] <= ratio <= CONTRAST[1]:
        why = f"the best place has {ratio:.2f} times its contrast, as where something is greyed out"
    elif shift > BRIGHTNESS:
        why = f"the best place is off by {shift:.0f} of 255 levels in a colour, as under the pointer or a selection"
    return float((p * t).sum()) / (p_norm * t_norm), why


def _clipped(box: Box | None, width: int, height: int) -> Box:
    x, y, w, h = box or (0, 0, width, height)
    return max(0, x), max(0, y), min(width, x + w), min(height, y + h)
