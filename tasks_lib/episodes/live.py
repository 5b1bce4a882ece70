"""The live phases: a machine comes up, the task is set up on it, the agent works, the evidence is gathered.

Nothing after `collect` touches the machine.
"""

from __future__ import annotations

import hashlib
import mimetypes
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from tasks_lib.agents import Agent, play
from tasks_lib.episodes.asking import secrets_of, settings_of_agents
from tasks_lib.episodes.plan import HUMAN
from tasks_lib.episodes.players import agent_for
from tasks_lib.episodes.progress import tell
from tasks_lib.episodes.services import ServedMachine, Services
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.evaluation.ocr import read_screen
from tasks_lib.models import Redactor
from tasks_lib.records import (
    CollectedFile,
    Ending,
    Evidence,
    Initialise,
    Json,
    Launch,
    Observation,
    PlacedFile,
    SetupRecord,
    SetupStep,
    Stage,
    Step,
    now,
)
from tasks_lib.records.errors import ActionError, InitialiseError, ProvisionError
from tasks_lib.sandbox import Computer, FileEntry, Machine, environments, provider
from tasks_lib.store import AttemptFolder

# Caps on what `collect` takes: a work folder full of junk must not fill the store.
_MOST_FILES = 64
_LARGEST_FILE = 32 * 2**20
_LARGEST_SUM = 128 * 2**20


def provision(work: EpisodeWork, attempt: AttemptFolder, stage: Stage) -> Machine:
    """Open a machine for a stage and write ``provision.json``; the caller closes it.

    Raises
    ------
    NoDesktopError
        If the stage needs a desktop and the provider has none.
    ProvisionError
        If the machine does not come up, or the Python environment of its scripts is not built.
    """
    settings, place = work.manifest.machine, attempt.stage(stage.id)
    python, facts = _python(work, stage)
    services = Services(work, stage, place)
    try:
        machine = provider(settings.provider).open(
            settings,
            desktop=stage.needs_desktop,
            endpoints=services.ports,
            python=python,
            variables=services.variables,
        )
    except BaseException:
        services.close(work.store, place)
        raise
    served = ServedMachine(machine, services, work.store, place)
    try:
        provision = machine.provision
        record = provision.model_copy(update={"facts": {**provision.facts, **facts}})
        work.store.write_document(place.provision, record)
    except BaseException:
        served.close()
        raise
    return served


def _python(work: EpisodeWork, stage: Stage) -> tuple[Path | None, dict[str, Json]]:
    """Return the interpreter of the stage's environment, and what the record says of that; None: the harness's own."""
    if stage.environment is None:
        return None, {}
    environment = environments.find(stage.environment, work.taskdefs)
    if not environment.is_built:
        msg = (
            f"the Python environment {stage.environment!r} is not built: run `matassay environments build "
            f"{stage.environment}`, then `matassay retry {work.run_id}`"
        )
        raise ProvisionError(msg)
    return environment.python, {"environment": {"name": environment.name, "packages": environment.digest}}


def initialise(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Initialise:
    """Put the inputs and the artifacts handed over into the work folder, run the set-up steps, write the record.

    Raises
    ------
    InitialiseError
        If an input cannot be placed or a program does not show its window.
    """
    started = time.monotonic()
    files = {**_inputs(work, stage), **_handed_over(work, stage)}
    try:
        placed = [_place(machine.computer, path, files[path]) for path in sorted(files)]
        steps = [_set_up(machine.computer, step) for step in stage.setup_for(hints=work.hints)]
        if steps:
            machine.computer.check_programs()
    except ActionError as error:
        # To an agent it would be feedback; the set-up is the task's, and it did not reach its state.
        msg = f"the set-up of task {work.task.id}, stage {stage.id}, failed: {error}"
        raise InitialiseError(msg) from error
    record = Initialise(
        machine_id=machine.id,
        placed=tuple(placed),
        steps=tuple(steps),
        finished=now(),
        seconds=time.monotonic() - started,
    )
    work.store.write_document(attempt.stage(stage.id).initialise, record)
    return record


def _place(computer: Computer, path: str, data: bytes) -> PlacedFile:
    computer.put_file(path, data)
    return PlacedFile(path=path, sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def _inputs(work: EpisodeWork, stage: Stage) -> dict[str, bytes]:
    return {entry.path: work.loaded.input_bytes(entry.path) for entry in stage.inputs}


def _handed_over(work: EpisodeWork, stage: Stage) -> dict[str, bytes]:
    """Read what earlier stages handed over; what is not there is not given."""
    given: dict[str, bytes] = {}
    for earlier in work.task.stages[: work.task.stages.index(stage)]:
        for artifact in earlier.hands_over:
            path = work.folder.handoff(earlier.id, artifact.as_path)
            if work.store.exists(path):
                given[artifact.as_path] = work.store.read_bytes(path)
    return given


def _set_up(computer: Computer, step: SetupStep) -> SetupRecord:
    started = time.monotonic()
    if isinstance(step, Launch):
        computer.os.open_program(step.launch, *step.arguments)
        window = computer.wait_for_window(step.window, step.seconds)
        if step.maximise:
            computer.os.maximize_window(window.id)
        text, detail = f"launch {step.launch}", f"window {window.title!r}"
    else:
        for key in step.keys:
            computer.keyboard.press(key)
        text, detail = "keys " + " ".join(step.keys), ""
    computer.settle()
    return SetupRecord(step=text, seconds=time.monotonic() - started, detail=detail)


def act(
    work: EpisodeWork,
    attempt: AttemptFolder,
    stage: Stage,
    machine: Machine,
    *,
    player: Agent | None = None,
    clock: Callable[[], float] = time.monotonic,
    on_step: Callable[[Step], None] = lambda _: None,
    kept: Callable[[Step], Iterable[Step]] = lambda step: (step,),
) -> Ending:
    """Let the agent work until it ends or a budget is spent; every step is in the store before the next begins.

    Parameters
    ----------
    work, attempt, stage, machine
        What is played, where it is kept, and on what.
    player : Agent, optional
        In the place of the agent that the spec names; it is closed in the end.
    clock : callable
        Seconds, for the budget.
    on_step : callable
        Gets each step after it is in the store.
    kept : callable
        What is kept for a step of the loop: other steps may have come before it.
    """
    if player is None and work.spec.agent == HUMAN:
        from tasks_lib.episodes import human  # it needs the phases of this module

        return human.act(work, attempt, stage, machine)
    path = attempt.stage(stage.id).trajectory

    def record(step: Step) -> None:
        for one in kept(step):
            work.store.append_line(path, one.to_line())
            on_step(one)
            tell("step", work.run_id, work.spec.id, attempt=attempt.number, stage=stage.id, step=one.index)

    # The key of a database is the stage's own, and still no text for a model or a report.
    hide = secrets_of(work.models) | Redactor.from_environment(machine.variables)
    put_blob = work.store.put_blob
    asked = settings_of_agents(work)
    with closing(player if player is not None else agent_for(work, stage, attempt, hide=hide)) as agent:
        ending = play(
            agent,
            machine.computer,
            stage,
            stage.budget,
            record,
            put_blob=put_blob,
            redactor=hide,
            settings=asked,
            read_text=read_screen,
            clock=clock,
        )
    if isinstance(machine, ServedMachine):
        machine.check()
    return ending


def collect(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine, ending: Ending) -> Evidence:
    """Gather the files of the work folder, the windows and the final frame; write ``evidence.json``."""
    evidence = gather(work, attempt, stage, machine.computer, ending)
    work.store.write_document(attempt.stage(stage.id).evidence, evidence)
    return evidence


def gather(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, computer: Computer, ending: Ending) -> Evidence:
    """Return what `collect` would write now; files and the frame are in the store, the evidence is not."""
    wanted = [entry.path for entry in stage.deliverables]
    entries = {entry.path: entry for entry in computer.list_files()}
    taken, refused = _choose(entries, wanted)
    # The listing ends somewhere in a heap of files: what was asked for is looked for by its name as well.
    unlisted = [path for path in wanted if path not in entries]
    files = []
    secrets = secrets_of(work.models)
    for path in [*unlisted, *taken]:
        try:
            data = computer.get_file(path)
        except (ActionError, FileNotFoundError) as error:
            if path in unlisted and isinstance(error, FileNotFoundError):
                continue
            # Something of the agent's was still at it when the files were listed.
            refused.append(f"{path} could not be read: {error}")
            continue
        if path in unlisted and len(data) > _LARGEST_FILE:
            refused.append(f"{path} has {len(data)} bytes, the cap is {_LARGEST_FILE}")
            continue
        if secrets.known_in(data) or secrets(path) != path:
            # No script is given one: whoever wrote it means to carry it out of here with the evidence.
            refused.append(f"{path} holds a secret of the harness's environment")
            continue
        files.append(CollectedFile(path=path, blob=work.store.put_blob(data, _media_type(path))))
    return Evidence(
        stage=stage.id,
        ending=ending,
        steps=len(work.store.read_lines(attempt.stage(stage.id).trajectory, Step)),
        files=tuple(sorted(files, key=lambda entry: entry.path)),
        missing=tuple(sorted(set(wanted) - {entry.path for entry in files})),
        refused=tuple(map(secrets, refused)),
        final=_final_sight(work, stage, computer),
        collected=now(),
    )


def _choose(entries: dict[str, FileEntry], wanted: list[str]) -> tuple[list[str], list[str]]:
    """Take deliverables first, then other files by name, as the caps allow; say what is left out and why."""
    taken: list[str] = []
    refused: list[str] = []
    total = 0
    for path in sorted(entries, key=lambda name: (name not in wanted, name)):
        entry = entries[path]
        if entry.kind != "file":
            reason = f"is a {entry.kind}"
        elif entry.size > _LARGEST_FILE:
            reason = f"has {entry.size} bytes, the cap is {_LARGEST_FILE}"
        elif len(taken) >= _MOST_FILES:
            reason = f"is one file more than {_MOST_FILES}"
        elif total + entry.size > _LARGEST_SUM:
            reason = f"would make the sum larger than {_LARGEST_SUM} bytes"
        else:
            taken.append(path)
            total += entry.size
            continue
        refused.append(f"{path} {reason}")
    return taken, refused[:_MOST_FILES]


def _media_type(path: str) -> str:
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _final_sight(work: EpisodeWork, stage: Stage, computer: Computer) -> Observation:
    if not stage.needs_desktop:
        return Observation()
    computer.settle()
    sight = computer.observe(screenshot=True)
    if sight.png is None:
        return sight.observation
    return sight.observation.model_copy(update={"screenshot": work.store.put_blob(sight.png, "image/png")})
