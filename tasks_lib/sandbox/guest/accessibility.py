"""The accessibility tree that programs serve over D-Bus (AT-SPI 2), read whole and quickly.

The bus of its own that the tree lives on is started by the session bus when it is first asked for. Calls are sent in
batches, a level of the tree at a time: one call after the other would take ten times as long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from jeepney import DBusAddress, HeaderFields, MessageType, Properties, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection
from jeepney.low_level import Message

from .windows import Layer

_ACCESSIBLE = "org.a11y.atspi.Accessible"
_BUS = DBusAddress("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
_LAUNCHER = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
_STATUS = ("org.a11y.Bus", "/org/a11y/bus")
_REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
_SHOWING = 25  # bit of the state set
# What menus and open lists consist of; anything else at such a place is below them.
_IN_MENUS = frozenset({"check menu item", "menu", "menu item", "radio menu item", "tearoff menu item"})
_IN_LISTS = frozenset({"list item", "table cell", "tree item"})
# What lies outside such a parent is scrolled out of sight, whatever its state says; menus stick out of all parents.
_CLIPPING = frozenset({"filler", "layered pane", "panel", "scroll pane", "viewport"})
_STICKING_OUT = frozenset({"combo box", "menu", "menu bar", "popup menu"})
# Roles whose text is no name.
_WRITTEN = frozenset({"text", "entry", "spin button", "combo box"})
_LONGEST_TEXT = 80
# A table of a million cells is not walked through.
MOST_ELEMENTS = 2000
_MOST_CHILDREN = 200
_DEEPEST = 30
_BATCH = 100
# All that reading may take, and that one program may keep it waiting, s.
SECONDS = 4.0
_ANSWER_SECONDS = 1.0
_START_SECONDS = 10.0

Reference = tuple[str, str]
Box = tuple[int, int, int, int]


class SilentBusError(OSError):
    """The accessibility bus cannot be had, or a program on it does not answer."""


@dataclass(frozen=True, slots=True)
class Element:
    """A node of the tree that is to be seen.

    Attributes
    ----------
    role, name, text : str
        As the program says; `text` is what stands in a field.
    x, y, width, height : int
        Its box, screen pixels.
    pid : int
        Process of its program.
    window : str
        Name of the top-level window that it belongs to.
    """

    role: str
    name: str
    text: str
    x: int
    y: int
    width: int
    height: int
    pid: int
    window: str

    def as_dict(self) -> dict[str, Any]:
        """Return the element as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Node:
    reference: Reference
    pid: int
    window: str = ""
    clip: Box | None = None


class Accessibility:
    """Reader of the tree; one at a time.

    Parameters
    ----------
    session_bus : str
        D-Bus address of the desktop's session bus.
    """

    def __init__(self, session_bus: str) -> None:
        self._session_bus = session_bus
        self._connection: DBusConnection | None = None
        self._lock = threading.Lock()

    def enable(self) -> None:
        """Start the bus and its registry and say that the tree is wanted, all before any program starts.

        A Qt program that finds the registry not yet there serves no tree for as long as it runs.

        Raises
        ------
        SilentBusError
            If there is no accessibility bus to be had.
        """
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                self._enable()
            except (OSError, TimeoutError) as problem:
                # The session bus was started a moment ago.
                if time.monotonic() < end and isinstance(problem, FileNotFoundError | ConnectionRefusedError):
                    time.sleep(0.01)
                    continue
                msg = f"there is no accessibility bus ({problem}): install the system package at-spi2-core"
                raise SilentBusError(msg) from problem
            return

    def _enable(self) -> None:
        with open_dbus_connection(bus=self._session_bus) as session:
            wanted = Properties(_address(_STATUS, "org.a11y.Status")).set("IsEnabled", "b", True)
            reply = session.send_and_get_reply(wanted, timeout=_START_SECONDS)
        if reply.header.message_type is MessageType.error:
            raise SilentBusError(str(reply.body[0] if reply.body else "it refuses to start"))
        with self._lock:
            self._connection = self._connect()
            registry = self._connection.send_and_get_reply(_call(_REGISTRY, "GetChildren"), timeout=_START_SECONDS)
        if registry.header.message_type is MessageType.error:
            raise SilentBusError(str(registry.body[0] if registry.body else "its registry does not start"))

    def read(self, layers: Sequence[Layer]) -> tuple[list[Element], str]:
        """Return what is to be seen of the tree, and why that is not all of it; empty where it is.

        Parameters
        ----------
        layers : sequence of Layer
            The windows, uppermost first: what another window covers is left out.
        """
        with self._lock:
            end = time.monotonic() + SECONDS
            try:
                found, problem = self._walk(end)
            except (OSError, TimeoutError) as trouble:
                self._connection = None
                return [], f"the accessibility bus does not answer: {trouble}"
        popups = [layer for layer in layers if layer.popup]
        menus = {layer for layer in popups if any(one.role in _IN_MENUS and _in(one, layer) for one in found)}
        return [element for element in found if not _covered(element, layers, menus)], problem

    def _walk(self, end: float) -> tuple[list[Element], str]:
        if self._connection is None:
            self._connection = self._connect()
        bus = _Bus(self._connection, end)
        nodes = list(bus.programs())
        found: list[Element] = []
        for depth in range(_DEEPEST):
            if not nodes:
                return found, bus.problem
            level, nodes = nodes, []
            for node, element, children in bus.look(level, depth):
                if element is not None:
                    found.append(element)
                nodes += [replace(node, reference=child) for child in children]
            if len(found) + len(nodes) > MOST_ELEMENTS:
                return found[:MOST_ELEMENTS], f"there are more than {MOST_ELEMENTS} elements"
            if time.monotonic() > end:
                return found, f"reading took longer than {SECONDS:g} s"
        return found, bus.problem

    def _connect(self) -> DBusConnection:
        with open_dbus_connection(bus=self._session_bus) as session:
            reply = session.send_and_get_reply(new_method_call(_LAUNCHER, "GetAddress"), timeout=_START_SECONDS)
        if reply.header.message_type is MessageType.error:
            raise SilentBusError(str(reply.body[0] if reply.body else "no address"))
        return open_dbus_connection(bus=str(reply.body[0]))


class _Bus:
    """One reading of the tree."""

    def __init__(self, connection: DBusConnection, end: float) -> None:
        self._connection = connection
        self._end = end
        self._silent: set[str] = set()
        self.problem = ""

    def programs(self) -> Iterator[_Node]:
        """Return the root of every program."""
        (children,) = self._ask([_call(_REGISTRY, "GetChildren")])
        roots = [(str(name), str(path)) for name, path in (children or [[]])[0]]
        pids = self._ask([new_method_call(_BUS, "GetConnectionUnixProcessID", "s", (name,)) for name, _ in roots])
        for root, pid in zip(roots, pids, strict=True):
            if pid is not None:
                yield _Node(root, int(pid[0]))

    def look(self, nodes: Sequence[_Node], depth: int) -> Iterator[tuple[_Node, Element | None, list[Reference]]]:
        """Return element and children of every node that is to be seen; at depth 0 are programs, at 1 windows."""
        states = self._ask([_call(node.reference, "GetState") for node in nodes])
        seen = [
            node
            for node, state in zip(nodes, states, strict=True)
            if state is not None and (depth == 0 or _bit(state, _SHOWING))
        ]
        refs = [node.reference for node in seen]
        roles = self._ask([_call(ref, "GetRoleName") for ref in refs])
        names = self._ask([Properties(_address(ref, _ACCESSIBLE)).get("Name") for ref in refs])
        boxes = self._ask(
            [new_method_call(_address(ref, "org.a11y.atspi.Component"), "GetExtents", "u", (0,)) for ref in refs]
        )
        children = self._ask([_call(ref, "GetChildren") for ref in refs])
        written = [n for n, role in enumerate(roles) if role is not None and role[0] in _WRITTEN]
        texts = dict(zip(written, self._ask([_text_call(refs[n]) for n in written]), strict=True))
        # What has no name has a tooltip, as the buttons of tool bars do.
        nameless = [n for n, name in enumerate(names) if name is None or not name[0][1]]
        described = dict(
            zip(
                nameless,
                self._ask([Properties(_address(refs[n], _ACCESSIBLE)).get("Description") for n in nameless]),
                strict=True,
            )
        )
        for number, node in enumerate(seen):
            role = str((roles[number] or ["unknown"])[0])
            name = str((names[number] or [("s", "")])[0][1])
            if depth == 1:
                node = replace(node, window=name)
            below = [(str(bus), str(path)) for bus, path in (children[number] or [[]])[0]][:_MOST_CHILDREN]
            element = None
            box = _box(boxes[number])
            if box is not None:
                shown = _common(box, node.clip)
                if min(shown[2:]) > 0:
                    text = str((texts.get(number) or [""])[0])
                    named = name or str((described.get(number) or [("s", "")])[0][1])
                    element = Element(role, named, text, *shown, node.pid, node.window)
                if role in _STICKING_OUT and element is not None:
                    node = replace(node, clip=None)
                elif role in _CLIPPING:
                    node = replace(node, clip=shown)
            yield node, element, below

    def _ask(self, messages: Sequence[Message]) -> list[tuple[Any, ...] | None]:
        """Send calls and return the body of each answer; None for an error or no answer."""
        found: list[tuple[Any, ...] | None] = []
        for start in range(0, len(messages), _BATCH):
            found += self._ask_some(messages[start : start + _BATCH])
        return found

    def _ask_some(self, messages: Sequence[Message]) -> list[tuple[Any, ...] | None]:
        answers: list[tuple[Any, ...] | None] = [None] * len(messages)
        asked: dict[int, int] = {}
        for number, message in enumerate(messages):
            if message.header.fields.get(HeaderFields.destination) in self._silent:
                continue
            serial = next(self._connection.outgoing_serial)
            self._connection.send(message, serial=serial)
            asked[serial] = number
        end = min(self._end, time.monotonic() + _ANSWER_SECONDS)
        while asked:
            try:
                reply = self._connection.receive(timeout=max(end - time.monotonic(), 0.001))
            except TimeoutError:
                late = {str(messages[number].header.fields[HeaderFields.destination]) for number in asked.values()}
                self._silent |= late
                self.problem = f"{len(late)} programs do not answer"
                break
            number = asked.pop(reply.header.fields.get(HeaderFields.reply_serial, -1), -1)
            if number >= 0 and reply.header.message_type is MessageType.method_return:
                answers[number] = reply.body
                end = min(self._end, time.monotonic() + _ANSWER_SECONDS)
        return answers


def _covered(element: Element, layers: Sequence[Layer], menus: Collection[Layer]) -> bool:
    """Whether something else than the element's own window is uppermost at its middle."""
    layer = next((layer for layer in layers if _in(element, layer)), None)
    if layer is None or (layer.pid is not None and layer.pid != element.pid):
        return True
    if layer.popup:
        return element.role not in (_IN_MENUS if layer in menus else _IN_LISTS)
    return bool(element.window) and layer.title != element.window


def _in(element: Element, layer: Layer) -> bool:
    x, y = element.x + element.width // 2, element.y + element.height // 2
    return layer.x <= x < layer.x + layer.width and layer.y <= y < layer.y + layer.height


def _common(box: Box, clip: Box | None) -> Box:
    """Return what two boxes have in common; its width or height is 0 or less where that is nothing."""
    if clip is None:
        return box
    left, top = max(box[0], clip[0]), max(box[1], clip[1])
    right, bottom = min(box[0] + box[2], clip[0] + clip[2]), min(box[1] + box[3], clip[1] + clip[3])
    return left, top, right - left, bottom - top


def _box(answer: tuple[Any, ...] | None) -> Box | None:
    """Return the extents that a program told; None where there are none, as of what is not laid out."""
    if answer is None or answer[0][2] <= 0 or answer[0][3] <= 0:
        return None
    x, y, width, height = map(int, answer[0])
    return x, y, width, height


def _call(reference: Reference, method: str) -> Message:
    return new_method_call(_address(reference, _ACCESSIBLE), method)


def _text_call(reference: Reference) -> Message:
    return new_method_call(_address(reference, "org.a11y.atspi.Text"), "GetText", "ii", (0, _LONGEST_TEXT))


def _address(reference: Reference, interface: str) -> DBusAddress:
    return DBusAddress(reference[1], reference[0], interface)


def _bit(state: tuple[Any, ...], number: int) -> bool:
    words = state[0]
    return number // 32 < len(words) and bool(words[number // 32] >> (number % 32) & 1)
