"""The pictures of a tuning in the store: after every group of scans, and at its end."""

from __future__ import annotations

from tasks_lib.instruments.frame import Frame
from tasks_lib.instruments.nid import read_nid
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.tuning.pictures import before_after_picture, history_picture, overlay_picture
from tasks_lib.instruments.tuning.session import TuningSession
from tasks_lib.instruments.tuning.session_records import ScanRecord, TuningResult


def draw_group(session: TuningSession, group: str) -> dict[str, str]:
    """Draw the history and the best scan so far beside the previous gains; return the paths in the store by name."""
    return _draw(session, group, session.best)


def draw_result(session: TuningSession, result: TuningResult) -> dict[str, str]:
    """Draw the history, and a fresh frame with the best gains beside one with the previous gains."""
    return _draw(session, "result", _first_judged(session, result.after.labels))


def _draw(session: TuningSession, group: str, shown: ScanRecord | None) -> dict[str, str]:
    folder = session.folder
    title = f"{folder.tuning_id}: {session.order.strategy}, {len(session.trials)} of {session.order.budget} scans"
    made = {"history": history_picture(session.recent(), title)}
    before = _first_judged(session, tuple(one.plan.label for one in session.group("before")))
    after = _frame(folder, shown)
    if after is not None and shown is not None:
        made["best"] = overlay_picture(after, f"best, {shown.plan.label}")
        first = _frame(folder, before)
        if first is not None:
            made["before-after"] = before_after_picture(first, after)
    paths = {name: folder.picture(group, name) for name in made}
    for name, data in made.items():
        folder.store.write_bytes(paths[name], data)
    return paths


def _first_judged(session: TuningSession, labels: tuple[str, ...]) -> ScanRecord | None:
    found = (session.record(label) for label in labels)
    return next((one for one in found if one is not None and not one.void), None)


def _frame(folder: TuningFolder, record: ScanRecord | None) -> Frame | None:
    if record is None or record.nid is None:
        return None
    return read_nid(folder.store.read_bytes(record.nid)).frame()
