"""Memory of a gui episode of 50 steps with pictures, in a fresh and in a kept conversation, and whether it grows.

Run it with ``.venv/bin/python tests/benches/bench_agents.py [STEPS]``. The endpoint and each episode are processes of
their own; the desktop is a real one, its screenshots are drawn here so that every step shows another screen.
"""

from __future__ import annotations

import contextlib
import gc
import io
import multiprocessing
import os
import random
import sys
import tempfile
import tracemalloc
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

import psutil
from PIL import Image, ImageDraw

from tasks_lib.agents import AgentSettings, LlmAgent, play
from tasks_lib.models import HttpChat, ImageSettings, ModelSettings, RequestLog, ScriptedEndpoint
from tasks_lib.models.redaction import Redactor
from tasks_lib.records import Budget, Deliverable, MachineSettings, Modality, Stage, Step
from tasks_lib.sandbox import Sight, provider
from tasks_lib.store import Store

REPLY = "I read the clipboard. " * 40 + "\n```python\ncomputer.clipboard.view_clipboard()\n```"
SIZE = (1440, 900)
MIB = 2**20


def serve(told: Connection, replies: int) -> None:
    """Serve in a process of its own until the other end hangs up."""
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open([f"{number}. {REPLY}" for number in range(replies)])
        told.send((session.base_url, session.token))
        told.recv()


def drawn(number: int) -> bytes:
    """Draw a screen of windows and text, another one for each number; PNG."""
    found = random.Random(number)  # noqa: S311  # a picture, no secret
    picture = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(picture)
    for _ in range(40):
        left, top = found.randrange(SIZE[0]), found.randrange(SIZE[1])
        pen.rectangle((left, top, left + 200, top + 120), fill=tuple(found.randrange(256) for _ in range(3)))
    for row in range(0, SIZE[1], 14):
        pen.text((10, row), "".join(chr(found.randrange(33, 126)) for _ in range(200)), fill="black")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


class Screens:
    """A computer whose screenshots are drawn."""

    def __init__(self, computer: Any) -> None:
        self._computer = computer
        self._seen = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._computer, name)

    def observe(self, *, screenshot: bool = True) -> Sight:
        """Look at the desktop; the picture is one of ours."""
        self._seen += 1
        sight: Sight = self._computer.observe(screenshot=screenshot)
        return sight.model_copy(update={"png": drawn(self._seen)}) if screenshot else sight


def episode(told: Connection, base_url: str, token: str, settings: AgentSettings, steps: int, *, traced: bool) -> None:
    """Play in a process of its own; tell the MiB in use at the end of each step: of objects, or resident."""
    stage = Stage(
        id="main",
        modality=Modality.GUI,
        instruction="Measure the loop, nothing else.",
        deliverables=(Deliverable(path="out.txt", what="nothing"),),
    )
    asked = ModelSettings(base_url=base_url, model="scripted", image=ImageSettings(max_long_edge=1456))
    machine = provider("local").open(MachineSettings(), desktop=True, endpoints={}, python=Path(sys.executable))
    process, used = psutil.Process(), []
    with contextlib.closing(machine), tempfile.TemporaryDirectory() as folder:
        os.environ["MATASSAY_STATE"] = folder
        store = Store.open(f"{folder}/store")
        log = RequestLog(store, "requests.jsonl", "scripted", Redactor())
        agent = LlmAgent(HttpChat("m", asked, api_key=token, environ={}, on_exchange=log.add), settings=settings)

        def on_step(step: Step) -> None:
            store.append_line("trajectory.jsonl", step.to_line())
            if traced:
                gc.collect()
            used.append((tracemalloc.get_traced_memory()[0] if traced else process.memory_info().rss) / MIB)

        if traced:
            tracemalloc.start()
        computer: Any = Screens(machine.computer)
        with contextlib.closing(agent):
            play(agent, computer, stage, Budget(steps=steps, seconds=3600), on_step, store.put_blob, settings=settings)
    told.send(used)


def played(
    spawn: SpawnContext, address: tuple[str, str], settings: AgentSettings, steps: int, *, traced: bool
) -> list[float]:
    """Play in a new process and return what it told."""
    ours, theirs = spawn.Pipe()
    child = spawn.Process(target=episode, args=(theirs, *address, settings, steps), kwargs={"traced": traced})
    child.start()
    theirs.close()
    found: list[float] = ours.recv()
    child.join()
    return found


def main() -> None:
    """Measure and print."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    ways = {
        "fresh": AgentSettings(),
        "fresh, previous screenshot": AgentSettings(previous_screenshot=True),
        "kept": AgentSettings(conversation="kept"),
        "kept, 20,000 tokens": AgentSettings(conversation="kept", context_tokens=20_000),
    }
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=serve, args=(theirs, 2 * len(ways) * steps), daemon=True)
    server.start()
    address = ours.recv()
    sys.stdout.write(f"{steps} steps, a PNG of {len(drawn(1)) / 1024:.0f} KiB each\n")
    sys.stdout.write(
        f"{'conversation':28} {'resident MiB':>13} {'objects MiB at 10':>18} {'at the end':>11}  KiB a step\n"
    )
    for name, settings in ways.items():
        resident = played(spawn, address, settings, steps, traced=False)
        objects = played(spawn, address, settings, steps, traced=True)
        growth = 1024 * (objects[-1] - objects[9]) / (steps - 10)
        sys.stdout.write(f"{name:28} {max(resident):13.0f} {objects[9]:18.2f} {objects[-1]:11.2f} {growth:11.1f}\n")
    ours.send(None)
    server.join(10)


if __name__ == "__main__":
    main()
