"""What a judge is shown of a trajectory: bounded, without secrets, and as data that cannot end where it stands.

Everything is one JSON object, so quotes and line ends of tools and models are escapes within it. The signs of fences
and tags are escapes as well, and so are control and format characters, which could turn or hide text. The marks around
the object hold a digest of it: whoever wrote a part of it cannot know them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks_lib.evaluation.alignment import Call, Trajectory
from tasks_lib.models import Redactor
from tasks_lib.records import Json

LONGEST_DIGEST = 48_000
SHORTEST_DIGEST = 4_000
_TICKET = 16
_DEEPEST = 32
_NOT_PLAIN = re.compile(r"[<>`]|[^ -~\n]")
# Characters of a result and of a call's arguments at most; the first pair with which the whole fits is taken.
_LADDER = ((4000, 2000), (2000, 2000), (1000, 1000), (500, 500), (200, 300), (60, 200), (0, 60))


@dataclass(frozen=True)
class Digest:
    """What is shown: the JSON, the ticket that only who reads this request can know, and whether something was cut."""

    text: str
    ticket: str
    cut: bool

    @property
    def sha256(self) -> str:
        """Of the JSON in UTF-8."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


def make_digest(
    prediction: Trajectory,
    *,
    question: str,
    reference: Trajectory | None = None,
    hide: Redactor | None = None,
    longest: int = LONGEST_DIGEST,
) -> Digest:
    """Write down what a judge is shown.

    Where the whole is too long, results are cut first, then arguments, then calls in the middle are left out; what was
    cut says so and how long it was.

    Parameters
    ----------
    prediction : Trajectory
        With results and a final reply.
    question : str
        The task.
    reference : Trajectory, optional
        Shown without results, and so are its alternatives: what a judge may not count against who took one. The
        prediction's own alternatives are never shown.
    hide : Redactor, optional
        Takes secrets out; by default none is known.
    longest : int, optional
        Characters at most, at least `SHORTEST_DIGEST`.

    Raises
    ------
    ValueError
        If `longest` is below `SHORTEST_DIGEST`.
    """
    if longest < SHORTEST_DIGEST:
        msg = f"a digest has room for at least {SHORTEST_DIGEST} characters, got {longest}: raise the limit"
        raise ValueError(msg)
    writer = _Writer(hide or Redactor(), longest)
    text = next((text for text in writer.attempts(prediction, question, reference) if len(text) <= longest), None)
    if text is None:
        # Text that is nearly all escapes: only the ends of everything fit.
        text, writer.cut = writer.barest(question, prediction.final_reply), True
    return Digest(text, hashlib.sha256(text.encode("utf-8")).hexdigest()[:_TICKET], writer.cut)


@dataclass
class _Writer:
    hide: Redactor
    longest: int
    cut: bool = False

    def attempts(self, prediction: Trajectory, question: str, reference: Trajectory | None) -> Iterator[str]:
        """Give the JSON with less and less of what is long."""
        ways = (reference, *reference.alternatives) if reference else ()
        kept = max(len(one.calls) for one in (prediction, *ways))
        rungs = [(*rung, kept) for rung in _LADDER]
        while kept > 2:
            kept //= 2
            rungs.append((*_LADDER[-1], kept))
        for results, arguments, most in rungs:
            self.cut = False
            shown: dict[str, Json] = {"task": self._short(question, self.longest // 8)}
            if reference is not None:
                shown["reference_calls"] = self._calls(reference, None, arguments, most)
                if reference.alternatives:
                    shown["alternative_references"] = [
                        self._calls(one, None, arguments, most) for one in reference.alternatives
                    ]
            shown["calls"] = self._calls(prediction, results, arguments, most)
            shown["final_reply"] = self._short(prediction.final_reply, self.longest // 4)
            yield self._written(shown)

    def barest(self, question: str, reply: str) -> str:
        # An escape has at most six characters, a pair of them twelve; the frame and the remarks take the rest.
        room = self.longest // 40
        note = "too long to be shown"
        return self._written(
            {"task": self._short(question, room), "calls": note, "final_reply": self._short(reply, room)}
        )

    def _calls(self, trajectory: Trajectory, results: int | None, arguments: int, most: int) -> list[Json]:
        calls = list(zip(trajectory.step_of, trajectory.calls, strict=True))
        if len(calls) <= most:
            return [self._call(step, call, results, arguments) for step, call in calls]
        self.cut = True
        head, tail = calls[: most - most // 2], calls[len(calls) - most // 2 :]
        return [
            *(self._call(step, call, results, arguments) for step, call in head),
            {"left_out": f"{len(calls) - most} calls"},
            *(self._call(step, call, results, arguments) for step, call in tail),
        ]

    def _call(self, step: int, call: Call, results: int | None, arguments: int) -> dict[str, Json]:
        shown = {
            "step": step + 1,
            "tool": self._short(call.tool, 200),
            "arguments": self._arguments(call.text, arguments),
        }
        return shown if results is None else {**shown, "result": self._result(call.result, results)}

    def _arguments(self, text: str, most: int) -> Json:
        # The JSON itself where it is short and no deeper than one writes it, else a text.
        return json.loads(text) if len(text) <= most and _depth(text) <= _DEEPEST else self._short(text, most)

    def _result(self, result: Json, most: int) -> str:
        if result is None:
            return "(no result was recorded)"
        try:
            return self._short(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False), most)
        except RecursionError:
            self.cut = True
            return "(the result is nested too deep to be shown)"

    def _short(self, text: str, most: int) -> str:
        # Before it is cut: half a secret would not be found any more.
        text = self.hide(text)
        if len(text) <= most:
            return text
        self.cut = True
        tail = most // 4
        note = f"[…{len(text) - most} of {len(text)} characters left out…]"
        return f"{text[: most - tail]} {note} {text[len(text) - tail :]}"

    def _written(self, shown: Json) -> str:
        """Return JSON; what is longer than `longest` already is left as it is, it will not be shown."""
        text = self.hide(json.dumps(shown, ensure_ascii=False, indent=1))
        return text if len(text) > self.longest else _NOT_PLAIN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    sign = found.group()
    if sign in "<>`" or unicodedata.category(sign)[0] in "CZ" or _is_selector(ord(sign)):
        return "".join(f"\\u{unit:04x}" for unit in _units(sign))
    return sign


def _is_selector(code: int) -> bool:
    """Say whether a character changes the look of the one before and is not seen itself."""
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


def _depth(text: str) -> int:
    """Return how deep JSON nests, brackets within strings included."""
    steps = ({"[": 1, "{": 1, "]": -1, "}": -1}.get(sign, 0) for sign in text)
    return max(itertools.accumulate(steps), default=0)


def _units(sign: str) -> Sequence[int]:
    data = sign.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[start : start + 2], "big") for start in range(0, len(data), 2)]
