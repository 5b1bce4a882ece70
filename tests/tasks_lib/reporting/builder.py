"""A realistic run written into a store document by document: several agents, every modality, every kind of ending."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from tasks_lib.records import (
    ActionRecord,
    Artifact,
    BlobRef,
    CollectedFile,
    Criterion,
    CriterionRecord,
    Decision,
    Deliverable,
    Difficulty,
    Ending,
    EpisodeResult,
    EpisodeSpec,
    Evidence,
    GetterCall,
    HandoffRecord,
    Initialise,
    MachineSettings,
    MetricCall,
    Modality,
    Observation,
    Outcome,
    Phase,
    Provision,
    RunManifest,
    RunSummary,
    Stage,
    Step,
    Task,
    Usage,
    Verdict,
    VoidReason,
    VoidRecord,
    WindowState,
    episode_id,
)
from tasks_lib.statistics import agent_rows
from tasks_lib.store import AttemptFolder, EpisodeFolder, RunFolder, Store

START = datetime(2026, 3, 14, 1, 30, tzinfo=UTC)
WIDTH, HEIGHT = 1440, 900
AGENTS = ("nop", "oracle", "random", "scripted-llm-alpha")
DIGEST = "ab" * 32


def _criterion(name: str, why: str, points: int = 1, *, stage: str = "main", kind: str = "result") -> Criterion:
    return Criterion(
        id=name,
        points=points,
        stage=stage,
        kind=kind,
        reads=GetterCall(getter="file", path="out.csv"),
        compares=MetricCall(metric="number", want=284.8, tolerance=0.1, unit="eV"),
        why=why,
    )


def _stage(name: str, modality: Modality, instruction: str, out: str, **more: object) -> Stage:
    return Stage(
        id=name,
        modality=modality,
        instruction=instruction,
        deliverables=(Deliverable(path=out, what="what the task asks for"),),
        **more,
    )


def tasks() -> dict[str, Task]:
    """The tasks of the run, by id."""
    found = [
        _task(
            "xps-c1s-two-peaks",
            "Fit the C 1s region with two peaks",
            "xps",
            Modality.GUI,
            "Open c1s.xy in Fityk. Subtract a linear background, fit two Voigt peaks and save the session as "
            "c1s.fit.\nExport the peak parameters to c1s.peaks.",
            "c1s.fit",
            [
                ("background", "The background is linear between 280 and 292 eV.", 1),
                ("main-peak", "The main peak lies at 284.8 eV, the position of adventitious carbon.", 2),
                ("second-peak", "The second peak lies at 286.3 eV, as C–O bonds give.", 1),
            ],
            hints=("The Auto Add button places one peak at the largest maximum.",),
        ),
        _task(
            "xrd-si-figure",
            "Plot the diffraction pattern of silicon",
            "figures",
            Modality.FIGURE,
            "Draw intensity against 2θ from si.csv as a line, with both axes labelled, and export si.png.",
            "si.png",
            [("axes", "Both axes carry a label with the unit.", 1), ("curve", "The line holds all data points.", 1)],
        ),
        _task(
            "si-lattice-constant",
            "Compute the conventional cell of silicon",
            "pymatgen",
            Modality.CODE,
            "Read si_primitive.cif, build the conventional cell and write a in Å to a.json.",
            "a.json",
            [("a", "The conventional cell of silicon has a = 5.431 Å.", 1)],
        ),
        _task(
            "naf-density",
            "Compute the density of NaF",
            "pymatgen",
            Modality.CODE,
            "Build NaF in the rock-salt structure with a = 4.634 Å and write its density in g/cm³ to density.json.",
            "density.json",
            [("density", "NaF has a density of 2.79 g/cm³.", 1)],
        ),
        _mixed_task(),
    ]
    return {task.id: task for task in found}


def _task(
    name: str,
    title: str,
    domain: str,
    modality: Modality,
    instruction: str,
    out: str,
    criteria: list[tuple[str, str, int]],
    hints: tuple[str, ...] = (),
) -> Task:
    return Task(
        id=name,
        title=title,
        suite="mattoolbench",
        domain=domain,
        modality=modality,
        difficulty=Difficulty.EASY,
        stages=(_stage("main", modality, instruction, out, hints=hints),),
        criteria=tuple(_criterion(key, why, points) for key, why, points in criteria),
    )


def _mixed_task() -> Task:
    return Task(
        id="mos2-bands-to-figure",
        title="From a MoS₂ cell to a figure of its diffraction pattern",
        suite="mattoolbench",
        domain="mixed",
        modality=Modality.MIXED,
        difficulty=Difficulty.MEDIUM,
        stages=(
            _stage(
                "pattern",
                Modality.CODE,
                "Compute the Cu Kα pattern of mos2.cif and write it to pattern.csv.",
                "pattern.csv",
                hands_over=(
                    Artifact(path="pattern.csv", as_path="in/pattern.csv"),
                    Artifact(path="mos2.cif", as_path="in/mos2.cif"),
                ),
            ),
            _stage("figure", Modality.FIGURE, "Draw in/pattern.csv as sticks and export pattern.png.", "pattern.png"),
        ),
        criteria=(
            _criterion(
                "handed-table", "The table has the columns two_theta and intensity.", stage="pattern", kind="hand-off"
            ),
            _criterion("strongest-line", "The strongest line lies at 14.4 degrees.", stage="pattern"),
            _criterion("figure-labels", "The figure labels both of its axes.", 2, stage="figure"),
        ),
    )


@cache
def screen(title: str, caption: str, *, dialog: bool = False, seed: int = 0) -> bytes:
    """Draw a desktop with one program on it, PNG."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "#35506b")
    draw = ImageDraw.Draw(image)
    font, small = ImageFont.load_default(18), ImageFont.load_default(14)
    draw.rectangle((40, 30, 1400, 860), fill="#f4f4f2", outline="#1b2a38")
    draw.rectangle((40, 30, 1400, 62), fill="#dfe3e6")
    draw.text((56, 36), title, fill="#202020", font=font)
    for number, name in enumerate(("File", "Edit", "Data", "Functions", "Fit", "Help")):
        draw.text((56 + 90 * number, 70), name, fill="#202020", font=small)
    draw.rectangle((60, 110, 1040, 820), fill="white", outline="#9aa4ab")
    points = []
    for x in range(960):
        energy = 292 - 12 * x / 960
        value = 0.08 + math.exp(-(((energy - 284.8) / 0.7) ** 2)) + 0.35 * math.exp(-(((energy - 286.3) / 0.8) ** 2))
        noise = 0.012 * math.sin(x * 12.9898 + seed * 78.233)
        points.append((70 + x, 800 - 560 * (value + noise)))
    draw.line(points, fill="#0a5c8a", width=2)
    draw.rectangle((1060, 110, 1380, 820), fill="#fafafa", outline="#9aa4ab")
    draw.text((1076, 122), caption, fill="#202020", font=small)
    if dialog:
        draw.rectangle((460, 320, 940, 560), fill="#fbfbfb", outline="#1b2a38")
        draw.text((480, 336), "Define background", fill="#202020", font=font)
        draw.rectangle((800, 510, 910, 542), fill="#dfe3e6", outline="#1b2a38")
        draw.text((838, 516), "OK", fill="#202020", font=small)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@cache
def figure(width: int = 800, height: int = 600) -> bytes:
    """Draw what an agent would export as its figure, PNG."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.line((80, 40, 80, height - 70, width - 30, height - 70), fill="black", width=2)
    for angle, strength in ((14.4, 100), (32.7, 28), (39.5, 45), (49.8, 22), (58.3, 18)):
        x = 80 + (width - 120) * angle / 70
        draw.line((x, height - 70, x, height - 70 - (height - 130) * strength / 100), fill="#0a5c8a", width=3)
    draw.text((width / 2, height - 45), "2 theta / degrees", fill="black", font=ImageFont.load_default(18))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


CIF = """data_MoS2
_symmetry_space_group_name_H-M   'P 63/m m c'
_cell_length_a   3.160
_cell_length_b   3.160
_cell_length_c   12.294
_cell_angle_gamma   120
loop_
 _atom_site_label
 _atom_site_fract_x
 _atom_site_fract_y
 _atom_site_fract_z
 Mo1 0.3333 0.6667 0.25
 S1  0.3333 0.6667 0.621
"""
TABLE = "two_theta,intensity,hkl\n" + "".join(
    f"{angle},{strength},{name}\n"
    for angle, strength, name in (("14.40", "100.0", "0 0 2"), ("32.68", "28.1", "1 0 0"), ("39.54", "45.3", "1 0 3"))
)


@dataclass
class Builder:
    """Writes episodes of one run."""

    store: Store
    run: RunFolder
    results: list[EpisodeResult]
    clock: datetime = START

    def tick(self, seconds: float = 7.0) -> datetime:
        """Let time pass."""
        self.clock += timedelta(seconds=seconds)
        return self.clock

    def blob(self, data: bytes | str, media_type: str = "text/plain") -> BlobRef:
        """Store a file."""
        return self.store.put_blob(data.encode() if isinstance(data, str) else data, media_type)

    def sight(self, title: str, caption: str, *, dialog: bool = False, seed: int = 0) -> Observation:
        """Store a screenshot."""
        window = WindowState(id=7, title=title, x=40, y=62, width=1360, height=798, focused=True, pid=41)
        shot = self.blob(screen(title, caption, dialog=dialog, seed=seed), "image/png")
        return Observation(screenshot=shot, width=WIDTH, height=HEIGHT, windows=(window,))

    def machine(self, attempt: AttemptFolder, stage: str, *, desktop: bool) -> None:
        """Record that a machine came up and the task was set up on it."""
        folder = attempt.stage(stage)
        provision = Provision(
            machine_id=f"local-{stage}",
            provider="local",
            settings=MachineSettings(),
            desktop=desktop,
            started=self.tick(),
            seconds=0.71,
            facts={"Xvfb": "21.1.7"},
        )
        self.store.write_document(folder.provision, provision)
        self.store.write_document(
            folder.initialise,
            Initialise(machine_id=f"local-{stage}", placed=(), steps=(), finished=self.tick(2), seconds=1.9),
        )

    def line(self, index: int, reply: str, **more: object) -> str:
        """One line of a trajectory."""
        fields: dict[str, object] = {
            "decision": Decision.CONTINUE,
            "observation": Observation(),
            "usage": Usage(input_tokens=1850 + 40 * index, output_tokens=96, cost=0.0041),
            "model_seconds": 2.4,
            "action_seconds": 0.3,
            **more,
        }
        return Step(index=index, started=self.tick(4), reply=reply, **fields).to_line()

    def step(self, attempt: AttemptFolder, stage: str, index: int, reply: str, **more: object) -> None:
        """Record one step."""
        self.store.append_line(attempt.stage(stage).trajectory, self.line(index, reply, **more))

    def evidence(
        self,
        attempt: AttemptFolder,
        stage: str,
        steps: int,
        files: dict[str, BlobRef],
        *,
        missing: tuple[str, ...] = (),
        ending: Ending = Ending.DONE,
        final: Observation | None = None,
    ) -> Evidence:
        """Record what was left behind."""
        evidence = Evidence(
            stage=stage,
            ending=ending,
            steps=steps,
            files=tuple(CollectedFile(path=path, blob=ref) for path, ref in sorted(files.items())),
            missing=missing,
            final=final or Observation(),
            collected=self.tick(1),
        )
        self.store.write_document(attempt.stage(stage).evidence, evidence)
        return evidence

    def verdict(self, attempt: AttemptFolder, task: Task, records: list[CriterionRecord]) -> Verdict:
        """Record the verdict."""
        points, earned = sum(record.points for record in records), sum(record.earned for record in records)
        verdict = Verdict(
            task_id=task.id,
            task_digest=DIGEST,
            outcome=Outcome.PASS if points == earned else Outcome.FAIL,
            points=points,
            earned=earned,
            criteria=tuple(records),
        )
        self.store.write_document(attempt.verdict, verdict)
        return verdict

    def void(self, attempt: AttemptFolder, reason: VoidReason, phase: Phase, error: str, message: str) -> VoidRecord:
        """Record a VOID."""
        record = VoidRecord(reason=reason, phase=phase, exception=error, message=message, when=self.tick(30))
        self.store.write_document(attempt.void, record)
        return record


def judged(task: Task, passed: dict[str, bool], evidence: tuple[str, ...] = ()) -> list[CriterionRecord]:
    """Judge the criteria of a task as the mapping says; what it does not name passes."""
    records = []
    for criterion in task.criteria:
        good = passed.get(criterion.id, True)
        seen = 284.82 if good else 287.1
        records.append(
            CriterionRecord(
                id=criterion.id,
                kind=criterion.kind,
                stage=criterion.stage,
                points=criterion.points,
                passed=good,
                seen=seen if criterion.kind == "result" else ["two_theta", "intensity", "hkl"],
                wanted=284.8 if criterion.kind == "result" else ["two_theta", "intensity"],
                why=f"{seen} eV {'lies' if good else 'does not lie'} within 0.1 eV of 284.8 eV",
                evidence=evidence,
            )
        )
    return records


def click(x: int, y: int, kind: str = "single_click") -> tuple[ActionRecord, ActionRecord]:
    """Move and click, as an agent's actions are recorded."""
    return (
        ActionRecord(
            text=f"computer.mouse.move_abs({x}, {y})", kind="mouse.move_abs", arguments={"x": x, "y": y}, ok=True
        ),
        ActionRecord(text=f"computer.mouse.{kind}()", kind=f"mouse.{kind}", ok=True),
    )


def gui_episode(
    build: Builder, episode: EpisodeFolder, task: Task, *, passes: bool, spec: EpisodeSpec
) -> EpisodeResult:
    """A desktop episode with clicks, a drag, a refused action and, if it fails, a wasted step."""
    attempt = episode.attempt(1)
    build.machine(attempt, "main", desktop=True)
    first = build.sight("Fityk 1.3.1: c1s.xy", "no peaks yet")
    opened = build.sight("Fityk 1.3.1: c1s.xy", "background: none", dialog=True)
    fitted = build.sight("Fityk 1.3.1: c1s.fit", "peak 1: 284.8 eV, peak 2: 286.3 eV")
    build.step(
        attempt,
        "main",
        1,
        "I open the menu.\n\n```python\ncomputer.mouse.move_abs(254, 77)\ncomputer.mouse.single_click()\n```",
        observation=first,
        actions=click(254, 77),
        settle_seconds=0.3,
    )
    refused = ActionRecord(
        text="computer.mouse.move_abs(2000, 77)",
        kind="mouse.move_abs",
        arguments={"x": 2000, "y": 77},
        ok=False,
        feedback="x lies between 0 and 1439, got 2000: give pixels of the screenshot",
    )
    build.step(
        attempt,
        "main",
        2,
        "```python\ncomputer.mouse.move_abs(855, 526)\ncomputer.mouse.double_click()\n```",
        observation=opened,
        actions=(*click(855, 526, "double_click"), refused),
        feedback="1 of 3 actions was refused: x lies between 0 and 1439, got 2000.",
    )
    index = 3
    if not passes:
        build.step(
            attempt,
            "main",
            3,
            "I believe that the fit has converged by now and that nothing is left to do here.",
            observation=fitted,
            wasted=True,
            feedback="The reply held no block: nothing was done.",
        )
        index = 4
    drag = ActionRecord(
        text="computer.mouse.drag(900, 300)", kind="mouse.drag", arguments={"x": 900, "y": 300}, ok=True
    )
    build.step(
        attempt,
        "main",
        index,
        "```python\ncomputer.mouse.move_abs(600, 200)\ncomputer.mouse.drag(900, 300)\n"
        "computer.mouse.move_abs(300, 640)\n"
        "computer.mouse.right_click()\n```\n```decision\nDONE\n```",
        observation=fitted,
        decision=Decision.DONE,
        actions=(click(600, 200)[0], drag, *click(300, 640, "right_click")),
        reasoning="The export is in the context menu.",
    )
    session = build.blob("# Fityk script\n@0 < 'c1s.xy'\nguess Voigt\nfit\n")
    final = build.sight("Fityk 1.3.1: c1s.fit", "exported", seed=3)
    build.evidence(attempt, "main", index, {"c1s.fit": session}, missing=() if passes else ("c1s.peaks",), final=final)
    shot = final.screenshot
    assert shot is not None
    verdict = build.verdict(
        attempt, task, judged(task, {} if passes else {"second-peak": False}, (session.sha256, shot.sha256))
    )
    return result_of(spec, task, verdict, steps=index)


def code_episode(
    build: Builder, episode: EpisodeFolder, task: Task, *, passes: bool, spec: EpisodeSpec
) -> EpisodeResult:
    """A script, its output, a second try after a traceback."""
    attempt = episode.attempt(1)
    build.machine(attempt, "main", desktop=False)
    script = (
        "import json\nfrom pymatgen.core import Structure\n\n"
        "cell = Structure.from_file('si_primitive.cif')\nprint(cell)\n"
    )
    action = ActionRecord(text="python script", kind="python", ok=False, feedback="exit code 1", seconds=1.2)
    trace = "Traceback (most recent call last):\n  File \"script.py\", line 4\nNameError: name 'cell' is not defined"
    build.step(attempt, "main", 1, f"```python\n{script}```", actions=(action,), feedback=f"exit code 1\n{trace}")
    good = ActionRecord(text="python script", kind="python", ok=True, seconds=2.2)
    build.step(
        attempt,
        "main",
        2,
        f"I mend it.\n\n```python\n{script}json.dump({{'a': 5.431}}, open('a.json', 'w'))\n```\n```decision\nDONE\n```",
        actions=(good,),
        decision=Decision.DONE,
        feedback="exit code 0\nFull Formula (Si2)\nabc   :   3.866975   3.866975   3.866975\n",
    )
    name = task.stages[0].deliverables[0].path
    out = build.blob('{"a": 5.431}\n' if passes else '{"a": 3.867}\n', "application/json")
    build.evidence(attempt, "main", 2, {name: out})
    verdict = build.verdict(attempt, task, judged(task, {} if passes else {task.criteria[0].id: False}, (out.sha256,)))
    return result_of(spec, task, verdict, steps=2)


def figure_episode(
    build: Builder, episode: EpisodeFolder, task: Task, *, passes: bool, spec: EpisodeSpec
) -> EpisodeResult:
    """A Veusz document and the picture that it exports."""
    attempt = episode.attempt(1)
    build.machine(attempt, "main", desktop=True)
    build.step(
        attempt,
        "main",
        1,
        "```veusz\nAdd('page', name='page1')\nTo('page1')\nAdd('graph', name='graph1')\nExport('si.png')\n```",
        actions=(ActionRecord(text="veusz script", kind="veusz", ok=True, seconds=1.1),),
        decision=Decision.DONE,
        feedback="exit code 0",
    )
    files = {"si.png": build.blob(figure(), "image/png"), "si.pdf": build.blob(b"%PDF-1.4\n%%EOF\n", "application/pdf")}
    build.evidence(attempt, "main", 1, files)
    verdict = build.verdict(attempt, task, judged(task, {} if passes else {"axes": False}, (files["si.png"].sha256,)))
    return result_of(spec, task, verdict, steps=1)


def mixed_episode(
    build: Builder, episode: EpisodeFolder, task: Task, *, passes: bool, spec: EpisodeSpec
) -> EpisodeResult:
    """Two stages and what the first gave the second; a failing one hands over no structure."""
    attempt = episode.attempt(1)
    table, cell = build.blob(TABLE, "text/csv"), build.blob(CIF, "chemical/x-cif")
    given = {"pattern.csv": table, "mos2.cif": cell} if passes else {"pattern.csv": table}
    for stage, files in (("pattern", given), ("figure", {"pattern.png": build.blob(figure(), "image/png")})):
        build.machine(attempt, stage, desktop=stage == "figure")
        kind = "python" if stage == "pattern" else "veusz"
        build.step(
            attempt,
            stage,
            1,
            f"```{kind}\nprint('pattern')\n```\n```decision\nDONE\n```",
            actions=(ActionRecord(text=f"{kind} script", kind=kind, ok=True, seconds=1.4),),
            decision=Decision.DONE,
            feedback="exit code 0\npattern",
        )
        build.evidence(attempt, stage, 1, files)
    records = judged(task, {} if passes else {"handed-table": False, "strongest-line": False})
    for artifact in task.stages[0].hands_over:
        build.store.write_document(
            episode.handoff_check("pattern", artifact.as_path),
            HandoffRecord(
                episode_id=spec.id,
                stage="pattern",
                to_stage="figure",
                path=artifact.path,
                as_path=artifact.as_path,
                blob=given.get(artifact.path),
                checks=(records[0],) if artifact.path == "pattern.csv" else (),
            ),
        )
    return result_of(spec, task, build.verdict(attempt, task, records), steps=2)


def nop_episode(build: Builder, episode: EpisodeFolder, task: Task, *, spec: EpisodeSpec) -> EpisodeResult:
    """An agent that says DONE and does nothing."""
    attempt = episode.attempt(1)
    for stage in task.stages:
        build.machine(attempt, stage.id, desktop=stage.needs_desktop)
        build.step(attempt, stage.id, 1, "```decision\nDONE\n```", decision=Decision.DONE)
        build.evidence(attempt, stage.id, 1, {}, missing=tuple(entry.path for entry in stage.deliverables))
        if stage.hands_over:
            break
    verdict = build.verdict(attempt, task, judged(task, {criterion.id: False for criterion in task.criteria}))
    return result_of(spec, task, verdict, steps=1)


def void_episode(build: Builder, episode: EpisodeFolder, task: Task, *, spec: EpisodeSpec) -> EpisodeResult:
    """Two attempts that broke: one before the machine was up, one in the middle of the act phase."""
    build.void(
        episode.attempt(1),
        VoidReason.PROVISION,
        Phase.PROVISION,
        "ProvisionError",
        "no display within 10 s: run doctor",
    )
    second = episode.attempt(2)
    build.machine(second, task.stages[0].id, desktop=True)
    sight = build.sight("Fityk 1.3.1: c1s.xy", "no peaks yet")
    build.step(
        second,
        task.stages[0].id,
        1,
        "```python\ncomputer.mouse.single_click()\n```",
        observation=sight,
        actions=click(700, 400),
    )
    record = build.void(
        second,
        VoidReason.ENDPOINT,
        Phase.ACT,
        "EndpointError",
        "the endpoint of model alpha answered 503 five times within 60 s: check its address and quota",
    )
    return EpisodeResult(
        **_named(spec, task), outcome=Outcome.VOID, void_reason=record.reason, points=task.points, earned=0,
        attempt=2, message=record.message,
    )  # fmt: skip


def _named(spec: EpisodeSpec, task: Task) -> dict[str, object]:
    return {
        "id": spec.id, "task_id": task.id, "agent": "-".join(filter(None, (spec.agent, spec.model))),
        "trial": spec.trial, "modality": task.modality, "domain": task.domain,
    }  # fmt: skip


def result_of(spec: EpisodeSpec, task: Task, verdict: Verdict, *, steps: int) -> EpisodeResult:
    """The row that the summary holds for a judged episode."""
    return EpisodeResult(
        **_named(spec, task), outcome=verdict.outcome, points=verdict.points, earned=verdict.earned, steps=steps,
        self_ended=True, seconds=14.0 + steps, attempt=1,
    )  # fmt: skip


_PLAYS = {
    Modality.GUI: gui_episode,
    Modality.CODE: code_episode,
    Modality.FIGURE: figure_episode,
    Modality.MIXED: mixed_episode,
}


def build_run(store: Store, run_id: str = "smoke-20260314", *, trials: int = 2) -> RunFolder:
    """Write a whole run: oracle passes, nop fails, the model passes some, three VOIDs, one episode not begun.

    Parameters
    ----------
    store : Store
    run_id : str, optional
    trials : int, optional

    Returns
    -------
    RunFolder
    """
    run = RunFolder(store, run_id)
    build = Builder(store, run, [])
    known = tasks()
    specs = tuple(
        EpisodeSpec(
            id=episode_id(task.id, agent, trial),
            task_id=task.id,
            task_digest=DIGEST,
            agent="scripted-llm" if agent.startswith("scripted") else agent,
            model="alpha" if agent.startswith("scripted") else None,
            trial=trial,
            seed=1000 + trial,
            modality=task.modality,
        )
        for trial in range(1, trials + 1)
        for task in known.values()
        for agent in AGENTS
    )
    write_manifest(store, run, specs)
    for number, spec in enumerate(specs):
        build.results.append(_play(build, run.episode(spec.id), known[spec.task_id], spec, number))
    store.write_document(run.summary, summary(run_id, build.results))
    return run


def _play(build: Builder, episode: EpisodeFolder, task: Task, spec: EpisodeSpec, number: int) -> EpisodeResult:
    if spec.agent == "nop":
        return nop_episode(build, episode, task, spec=spec)
    if spec.agent == "random" and task.modality is not Modality.CODE:
        return void_episode(build, episode, task, spec=spec)
    if spec.agent == "random" and spec.trial > 1:
        return EpisodeResult(**_named(spec, task), outcome=None, points=task.points, earned=0)
    passes = spec.agent == "oracle" or (spec.agent == "scripted-llm" and number % 3 != 0)
    return _PLAYS[task.modality](build, episode, task, passes=passes, spec=spec)


def write_manifest(store: Store, run: RunFolder, specs: tuple[EpisodeSpec, ...]) -> RunManifest:
    """Write the manifest."""
    manifest = RunManifest(
        run_id=run.run_id,
        benchmark="smoke",
        created=START,
        seed=20260314,
        episodes=specs,
        task_set_digest="cd" * 32,
        machine=MachineSettings(),
        versions={"matassay": "0.1.0", "pymatgen": "2026.10.24", "prefect": "3.9.1", "python": "3.11.2"},
        settings={"hints": True, "retries": 1},
        command=("matassay", "run", "smoke", "--trials", "2"),
    )
    store.write_document(run.manifest, manifest)
    return manifest


def summary(run_id: str, results: list[EpisodeResult]) -> RunSummary:
    """The aggregate of episodes."""
    void = sum(result.outcome is Outcome.VOID for result in results)
    pending = sum(result.outcome is None for result in results)
    return RunSummary(
        run_id=run_id,
        benchmark="smoke",
        written=START + timedelta(hours=1),
        episodes=tuple(results),
        rows=agent_rows(results),
        done=len(results) - void - pending,
        void=void,
        pending=pending,
    )
