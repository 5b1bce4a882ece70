"""Folders as OSWorld and MatToolBench leave them: ``traj.jsonl``, ``result.txt``, a screenshot after each step."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from tasks_lib.agents import parse_reply
from tasks_lib.interop._faults import fault
from tasks_lib.interop._files import as_object, lines, read_file, text_in
from tasks_lib.interop._pictures import LARGEST_PICTURE, Shown, picture
from tasks_lib.interop._steps import Told, rest_of
from tasks_lib.interop.importing import Foreign
from tasks_lib.interop.pyautogui import translated
from tasks_lib.interop.trajectory import Play, Trajectory
from tasks_lib.records import BlobRef, Decision, Modality, Step, dump_json
from tasks_lib.store import Store

TRAJECTORY = "traj.jsonl"
LONGEST_LINE = 8 * 2**20
MOST_FOLDERS = 10_000
_DEEPEST = 12
_LARGEST_DETAIL = 4 * 2**20
_SPACE = {Modality.GUI: "computer", Modality.CODE: "python", Modality.FIGURE: "veusz", Modality.MIXED: "mixed"}
_RESET = re.compile(r"(?:screenshot-)?step_reset.*\.png")
_WORDS = {"DONE": Decision.DONE, "FAIL": Decision.FAIL, "WAIT": Decision.WAIT}


def export_osworld(store: Store, found: Iterable[Trajectory], out: Path) -> list[Path]:
    """Write one folder an episode, ``<action space>/<observation>/<player>/<trial>/<domain>/<task>``.

    Parameters
    ----------
    store : Store
        Holds the screenshots.
    found : iterable of Trajectory
    out : Path
        Root of the folders.

    Returns
    -------
    list of Path
        The folders written; the same trajectories give the same bytes.

    Raises
    ------
    ConfigurationError
        If a folder is there already.
    """
    written = []
    for trajectory in found:
        folder = out.joinpath(*_place(trajectory).parts)
        if (folder / TRAJECTORY).exists():
            raise fault(str(folder), "is there already", "give another --out, or remove it")
        folder.mkdir(parents=True, exist_ok=True)
        _write(store, trajectory, folder)
        written.append(folder)
    return written


def _place(trajectory: Trajectory) -> PurePosixPath:
    modality = trajectory.spec.modality or Modality.GUI
    seen = "screenshot" if any(_sights(play) for play in trajectory.plays) else "text"
    trial = f"trial-{trajectory.spec.trial}"
    parts = (_SPACE[modality], seen, trajectory.label, trial, trajectory.domain, trajectory.spec.task_id)
    return PurePosixPath(*parts)


def _sights(play: Play) -> bool:
    return any(step.observation.screenshot for step in play.steps)


def _write(store: Store, trajectory: Trajectory, folder: Path) -> None:
    rows: list[dict[str, Any]] = []
    for play in trajectory.plays:
        seen = _save(store, play.steps[0].observation.screenshot, folder, "reset", play.steps[0].started)
        for index, step in enumerate(play.steps):
            following = play.steps[index + 1] if index + 1 < len(play.steps) else None
            after = following.observation.screenshot if following else play.final
            ended = step.started + timedelta(seconds=step.model_seconds + step.action_seconds + step.settle_seconds)
            number = len(rows) + 1
            saved = _save(store, after, folder, str(number), ended)
            rows.append(
                {
                    "step_num": number,
                    "action_timestamp": _stamp(ended),
                    "action": _action(step, play.brief.modality),
                    "response": step.reply,
                    "reasoning": step.reasoning,
                    "reward": 0.0,
                    "done": False,
                    "info": {"decision": step.decision, "feedback": step.feedback, "wasted": step.wasted},
                    "screenshot_file": saved,
                    "matassay": {"stage": play.stage, "seen": seen, "step": rest_of(step)},
                }
            )
            seen = saved
    rows[-1]["reward"], rows[-1]["done"] = trajectory.share, True
    _text(folder / TRAJECTORY, "".join(_line(row) for row in rows))
    if trajectory.share is not None:
        # Here as in OSWorld a share of 1; MatToolBench writes the raw sum, which the details hold.
        _text(folder / "result.txt", f"{trajectory.share}\n")
    _text(folder / "eval_detail.json", dump_json(_detail(trajectory)))


def _detail(trajectory: Trajectory) -> dict[str, Any]:
    spec = trajectory.spec
    judged = trajectory.share is not None
    return {
        "task_id": spec.task_id,
        "task_digest": spec.task_digest,
        "instruction": "\n\n".join(play.brief.instruction for play in trajectory.plays),
        "agent": trajectory.label,
        "model": spec.model,
        "trial": spec.trial,
        "run": trajectory.run,
        "outcome": trajectory.outcome,
        "void": trajectory.void,
        "total_score": trajectory.earned if judged else None,
        "max_score": trajectory.points if judged else None,
        "precision": trajectory.share,
        "success_rate": float(trajectory.share == 1.0) if judged else None,
        "steps_taken": trajectory.steps,
        "subtasks": [{"id": one.criterion, "points": one.points, "passed": one.passed} for one in trajectory.judged],
    }


def _save(store: Store, ref: BlobRef | None, folder: Path, name: str, when: datetime) -> str | None:
    if ref is None:
        return None
    file = f"screenshot-step_{name}_{_stamp(when)}.png"
    (folder / file).write_bytes(store.get_blob(ref))
    return file


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y%m%d@%H%M%S%f")


def _action(step: Step, modality: Modality) -> str:
    return parse_reply(step.reply, modality).block or ("" if step.decision is Decision.CONTINUE else str(step.decision))


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def read_osworld(root: Path, *, task: str | None = None, player: str | None = None) -> Iterator[Foreign]:
    """Read every folder below `root` that holds a ``traj.jsonl``, one after another; links are not followed.

    Parameters
    ----------
    root : Path
        A folder of one episode, or of many.
    task, player : str, optional
        Override what the folders say.

    Raises
    ------
    ConfigurationError
        If a folder cannot be read; the message names file and line.
    """
    return (_read(folder, root, task, player) for folder in _folders(root))


def _folders(root: Path) -> Iterator[Path]:
    count = 0
    for place, names, files in os.walk(root):
        names.sort()
        if len(Path(place).relative_to(root).parts) >= _DEEPEST:
            names.clear()
        if TRAJECTORY in files:
            count += 1
            if count > MOST_FOLDERS:
                raise fault(str(root), f"holds more than {MOST_FOLDERS} trajectories", "import parts of it")
            yield Path(place)


def _read(folder: Path, root: Path, task: str | None, player: str | None) -> Foreign:
    detail = _read_detail(folder)
    plays: dict[str | None, list[Told]] = {}
    resets = sorted(path.name for path in folder.iterdir() if _RESET.fullmatch(path.name))
    seen = resets[0] if resets else None
    for place, row in lines(folder / TRAJECTORY, LONGEST_LINE):
        ours = row.get("matassay")
        stage: str | None = None
        rest = None
        if isinstance(ours, dict):
            stage, rest = text_in(ours, "stage", place), ours.get("step")
            seen = ours.get("seen")
        told = Told(
            place,
            _reply(row, place),
            text_in(row, "reasoning", place, ""),
            _screenshot(folder, seen, place),
            rest,
            _when(row.get("action_timestamp")),
        )
        plays.setdefault(stage, []).append(told)
        seen = row.get("screenshot_file")
    parts = folder.relative_to(root).parts or (folder.name,)
    return Foreign(
        place=str(folder / TRAJECTORY),
        task_id=task or str(detail.get("task_id") or folder.name),
        player=player or str(detail.get("agent") or (parts[-4] if len(parts) >= 4 else "osworld")),
        trial=_trial(detail, parts, str(folder)),
        plays=tuple(plays.items()),
        digest=str(detail.get("task_digest") or "")[:64],
        claim=_claim(folder, detail),
    )


def _read_detail(folder: Path) -> dict[str, Any]:
    file = folder / "eval_detail.json"
    return as_object(read_file(file, _LARGEST_DETAIL), str(file)) if file.exists() else {}


def _reply(row: dict[str, Any], place: str) -> str:
    """Return what the agent answered; a line with nothing but an action says it in our words."""
    if "response" in row:
        return text_in(row, "response", place)
    action = text_in(row, "action", place).strip()
    if action.upper() in _WORDS:
        return f"```decision\n{_WORDS[action.upper()]}\n```"
    return f"```python\n{translated(action, place)}\n```"


def _screenshot(folder: Path, name: object, place: str) -> Shown | None:
    if name is None:
        return None
    if not isinstance(name, str) or name != Path(name).name or name in {"", ".", ".."} or "\\" in name or "\0" in name:
        raise fault(place, f"screenshot_file is a file's name in the folder, got {str(name)[:100]!r}", "mend it")
    return picture(read_file(folder / name, LARGEST_PICTURE), f"{place}, {name}")


def _when(stamp: object) -> datetime | None:
    if not isinstance(stamp, str):
        return None
    for form in ("%Y%m%d@%H%M%S%f", "%Y%m%d@%H%M%S"):
        try:
            return datetime.strptime(stamp, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _trial(detail: dict[str, Any], parts: Sequence[str], place: str) -> int:
    given = detail.get("trial")
    if given is None:
        match = re.search(r"(\d{1,4})$", parts[-3]) if len(parts) >= 3 else None
        return max(1, int(match.group(1))) if match else 1
    if not isinstance(given, int) or isinstance(given, bool):
        raise fault(place, f"trial is a whole number, got {given!r}", "mend eval_detail.json")
    return given


def _claim(folder: Path, detail: dict[str, Any]) -> dict[str, Any]:
    file = folder / "result.txt"
    if not file.exists():
        return {}
    try:
        said = float(read_file(file, 4096).decode("utf-8"))
    except ValueError as error:
        raise fault(str(file), "holds no number", "mend or remove it") from error
    most = detail.get("max_score")
    return {"result": said, "of": most if isinstance(most, int | float) else None}
