"""Veusz documents."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.records import Json

_WHAT = ("settings", "widgets", "datasets", "dataset", "imports")


@getter("veusz-document")
def read_document(
    context: Context,
    path: str,
    setting: str | None = None,
    settings: list[str] | None = None,
    what: str = "settings",
    type: str | None = None,
    name: str | None = None,
    default: Json = None,
    unit: str | None = None,
) -> Seen:
    """Read a setting, the widgets or the data of a saved Veusz document (.vsz); it is parsed and never run.

    Parameters
    ----------
    setting : str or null
        Absolute path, such as ``/page1/graph1/x/label``: one value. With ``*`` for names that the agent is free to
        choose, such as ``/*/*/x/label``, or with `type`: a list over all widgets that fit, in document order.
    settings : list of str or null
        With `type`: several settings relative to each widget; a list of objects, setting -> value, one a widget. What
        belongs together in one plot, such as its data and its axis, is compared together.
    what : str
        ``settings``; ``widgets``: list of ``{path, type}``; ``datasets``: sorted names; ``dataset``: the values of the
        one called `name`; ``imports``: list of ``{command, file, …}``, data that stays linked to a file.
    type : str or null
        Only widgets of this type, such as ``axis``, ``xy``, ``key``, ``label``; `setting` is then relative to each,
        such as ``label`` or ``PlotLine/color``.
    name : str or null
        The dataset for ``what: dataset``.
    default : Json
        The value that Veusz takes where the document does not say it; a document holds only what was changed. For
        `settings`: an object, setting -> such a value.
    unit : str or null
        The unit of the value.
    """
    if what not in _WHAT:
        msg = f"what is one of {', '.join(_WHAT)}, got {what!r}"
        raise CallError(msg)
    document = caged("veusz.read_veusz", context.read(path))
    if what == "widgets":
        rows = [{"path": p, "type": t} for p, t in document["widgets"].items() if type in (None, t) and p != "/"]
        return Seen(rows)
    if what == "datasets":
        return Seen(sorted(document["datasets"]))
    if what == "imports":
        return Seen(document["imports"])
    if what == "dataset":
        if name not in document["datasets"]:
            there = ", ".join(sorted(document["datasets"])[:12]) or "none"
            msg = f"the document holds no dataset {name!r}; it holds: {there}"
            raise Unreadable(msg)
        return Seen(document["datasets"][name]["values"], unit=unit)
    if settings is not None:
        return Seen(_together(document, settings, type, default))
    if setting is None:
        return Seen(document["settings"])
    return Seen(_setting(document, setting, type, default), unit=unit)


def _together(document: dict[str, Any], settings: list[str], kind: str | None, default: Json) -> Json:
    if kind is None or (default is not None and not isinstance(default, dict)):
        msg = f"settings stand with type, and their default is an object, got type {kind!r} and default {default!r}"
        raise CallError(msg)
    found, usual = document["settings"], default or {}
    return [
        {name: found.get(f"{path}/{name}", usual.get(name)) for name in settings}
        for path, type_of_it in document["widgets"].items()
        if type_of_it == kind
    ]


def _setting(document: dict[str, Any], setting: str, kind: str | None, default: Json) -> Json:
    settings, widgets = document["settings"], document["widgets"]
    if kind is not None:
        if setting.startswith("/"):
            msg = f"with type the setting is relative to the widget, such as 'label': got {setting!r}"
            raise CallError(msg)
        return [settings.get(f"{path}/{setting}", default) for path, found in widgets.items() if found == kind]
    if not setting.startswith("/"):
        msg = f"setting is an absolute path, such as /page1/graph1/x/label, or stands with type: got {setting!r}"
        raise CallError(msg)
    if "*" in setting:
        depth = setting.count("/")
        found = [v for p, v in settings.items() if p.count("/") == depth and fnmatchcase(p, setting)]
        if not found and default is not None:
            return [default]
        return found
    if setting in settings:
        return settings[setting]
    parents = [setting.rsplit("/", cut)[0] for cut in range(1, setting.count("/"))]
    if not any(parent in widgets for parent in parents if parent):
        there = ", ".join(list(widgets)[1:13])
        msg = f"the document has no widget for {setting}; it has: {there}"
        raise Unreadable(msg)
    if default is None:
        msg = f"the document does not set {setting}: it is left at Veusz's own value"
        raise Unreadable(msg)
    return default
