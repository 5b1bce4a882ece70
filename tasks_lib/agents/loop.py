"""The loop in which an agent works on a machine, within budgets that are kept from outside it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tasks_lib.agents._text_matching import ReadText
from tasks_lib.agents._work import (
    LONGEST_FEEDBACK,
    SCRIPT_SECONDS,
    TELLING,
    Outcome,
    cut,
    do_actions,
    on_screen,
    run_script,
)
from tasks_lib.agents.marks import Marker, marker_for
from tasks_lib.agents.parsing import LONGEST_REPLY, ParsedReply, parse_reply
from tasks_lib.agents.protocol import Agent, Brief, Reply, Turn, View
from tasks_lib.agents.repetition import Repetition
from tasks_lib.agents.screens import Screens
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.models import DeadlineError, Redactor
from tasks_lib.records import BlobRef, Budget, Decision, Ending, Mark, Observation, Stage, Step, now
from tasks_lib.records.errors import TransientEndpointError
from tasks_lib.sandbox import Computer, middle
from tasks_lib.sandbox.computer import QUIET_SECONDS

SETTLE_SECONDS = 5.0
WAIT_SECONDS = 10.0
# Above this share of the budget, time lost to a model's endpoint makes running out of time no fault of the agent.
OUTAGE_SHARE = 0.05

PutBlob = Callable[[bytes, str], BlobRef]


def play(
    agent: Agent,
    computer: Computer,
    stage: Stage,
    budget: Budget,
    on_step: Callable[[Step], None],
    put_blob: PutBlob,
    *,
    settings: AgentSettings | None = None,
    read_text: ReadText | None = None,
    redactor: Redactor | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Ending:
    """Let an agent work on a machine until it ends, or a budget does.

    Each step: observe, ask, parse, do, wait until the pixels are still, record. A reply that holds nothing to do is a
    wasted step and is told so; only DONE and FAIL end the episode, whatever return code a script had.

    Parameters
    ----------
    agent : Agent
        Who works; the caller closes it.
    computer : Computer
        The machine.
    stage : Stage
        What is to be done; the agent is shown its `Brief` alone.
    budget : Budget
        Steps, seconds and tokens.
    on_step : callable
        Gets each step as it is done.
    put_blob : callable
        Stores a picture: bytes and media type to reference.
    settings : AgentSettings, optional
        What the agent is shown besides, and when it is stopped; by default `AgentSettings` as it is made.
    read_text : ReadText, optional
        The OCR that marks are detected with; needed where the settings ask for marks.
    redactor : Redactor, optional
        Takes secrets out of replies and feedback; by default those of the environment.
    clock : callable
        Seconds, for tests.

    Returns
    -------
    Ending
        Why the work ended.

    Raises
    ------
    ConfigurationError
        If marks are asked for and there is no OCR.
    MachineLostError
        If the machine stops answering.
    ProgramStuckError
        If a program on the desktop does, once and for all.
    EndpointError
        If a model stops answering, or the time ran out after its failures had eaten a good part of it; a model that
        is merely slow ends as `Ending.SECONDS`.
    """
    hide = redactor if redactor is not None else Redactor.from_environment()
    wanted = settings if settings is not None else AgentSettings()
    budget = wanted.budget(budget)
    marker = marker_for(wanted.marks, computer, read_text) if stage.needs_desktop else None
    loop = _Loop(
        agent=agent,
        computer=computer,
        stage=stage,
        brief=Brief.of(stage),
        put_blob=put_blob,
        hide=hide,
        clock=clock,
        deadline=clock() + budget.seconds,
        marker=marker,
        history=deque(maxlen=wanted.history),
    )
    for index in range(1, budget.steps + 1):
        if loop.left() <= 0:
            return loop.out_of_time(budget)
        tokens_left = None if budget.tokens is None else budget.tokens - loop.tokens
        if tokens_left is not None and tokens_left <= 0:
            return Ending.TOKENS
        step = loop.step(index, budget.steps - index + 1, tokens_left)
        if step is None:
            return loop.out_of_time(budget)
        on_step(step)
        if stage.needs_desktop:
            computer.check_programs()
        if step.decision is Decision.DONE:
            return Ending.DONE
        if step.decision is Decision.FAIL:
            return Ending.GAVE_UP
        if wanted.stop_repetition is not None and step.repeats >= wanted.stop_repetition:
            return Ending.REPETITION
    return Ending.STEPS


@dataclass(slots=True)
class _Loop:
    """A stage being worked on, and what is remembered from step to step."""

    agent: Agent
    computer: Computer
    stage: Stage
    brief: Brief
    put_blob: PutBlob
    hide: Redactor
    clock: Callable[[], float]
    deadline: float
    marker: Marker | None
    history: deque[Turn]
    tokens: int = 0
    lost: float = 0.0
    memory: str = ""
    feedback: str = ""
    figure: bytes | None = None
    # Whether the last reply did nothing to the screen: what changes all the same changes by itself.
    idle: bool = True
    screens: Screens = field(default_factory=Screens)
    repetition: Repetition = field(default_factory=Repetition)

    def left(self) -> float:
        """Wall clock left, s."""
        return self.deadline - self.clock()

    def out_of_time(self, budget: Budget) -> Ending:
        """Tell an agent that was slow from one whose time an endpoint's failures took."""
        if self.lost > OUTAGE_SHARE * budget.seconds:
            msg = (
                f"{self.lost:.0f} of the {budget.seconds:.0f} s of the stage went to failures of the model's endpoint: "
                "see its log, then retry the episode"
            )
            raise TransientEndpointError(msg)
        return Ending.SECONDS

    def step(self, index: int, steps_left: int, tokens_left: int | None) -> Step | None:
        """Go through one step; None where the time ran out before there was a reply."""
        started = now()
        png, seen = self._observe()
        screen, unchanged = (0, False) if png is None else self.screens.look(png, idle=self.idle)
        marks, marked = self._mark(png, seen)
        notices = tuple(filter(None, [self.repetition.notice()]))
        view = View(
            brief=self.brief,
            step=index,
            steps_left=steps_left,
            seconds_left=self.left(),
            tokens_left=tokens_left,
            screenshot=png,
            figure=self.figure,
            observation=seen,
            unchanged=unchanged,
            marks=marks,
            marked=marked,
            notices=notices,
            feedback=self.feedback,
            memory=self.memory,
            history=tuple(self.history),
        )
        asked = self.clock()
        try:
            reply = self.agent.reply(view)
        except DeadlineError:
            return None
        answered = self.clock()
        self.lost += reply.lost
        # What is parsed is what is recorded: a secret that a model repeats does not reach the machine either.
        text = self.hide(reply.text)
        parsed = parse_reply(text, self.stage.modality)
        self.computer.set_marks({mark.id: mark.box for mark in (marks if reply.marks is None else reply.marks)})
        outcome, problems = self._do(parsed, reply, seen)
        done = self.clock()
        settled = 0.0 if problems else self._settle(parsed, png, QUIET_SECONDS if reply.quiet is None else reply.quiet)
        self._remember(index, parsed, reply, outcome, problems)
        self.idle = not outcome.records or all(record.kind in TELLING for record in outcome.records)
        # Without a screen, what came back stands for the state of affairs.
        self.repetition.note(screen or self.feedback, (parsed.decision, parsed.block or problems))
        return Step(
            index=index,
            started=started,
            observation=seen,
            marks=marks,
            unchanged=None if png is None else unchanged,
            repeats=self.repetition.repeats,
            notices=notices,
            reply=cut(text, LONGEST_REPLY),
            reasoning=cut(self.hide(reply.reasoning), LONGEST_REPLY),
            decision=parsed.decision,
            actions=tuple(outcome.records),
            feedback=self.feedback,
            wasted=bool(problems),
            shown=reply.shown,
            usage=reply.usage,
            model_seconds=max(0.0, answered - asked),
            action_seconds=max(0.0, done - answered),
            settle_seconds=max(0.0, settled),
        )

    def _mark(self, png: bytes | None, seen: Observation) -> tuple[tuple[Mark, ...], bytes | None]:
        if self.marker is None or png is None:
            return (), None
        marks, marked = self.marker.look(png, seen)
        # A field may show a secret, and a tree may name it.
        return tuple(mark.model_copy(update={"text": self.hide(mark.text)}) for mark in marks), marked

    def _observe(self) -> tuple[bytes | None, Observation]:
        if not self.stage.needs_desktop:
            return None, Observation()
        sight = self.computer.observe(screenshot=True)
        seen = sight.observation
        windows = tuple(window.model_copy(update={"title": self.hide(window.title)}) for window in seen.windows)
        screenshot = None if sight.png is None else self.put_blob(sight.png, "image/png")
        changes = {"clipboard": self.hide(seen.clipboard), "windows": windows, "screenshot": screenshot}
        return sight.png, seen.model_copy(update=changes)

    def _do(self, parsed: ParsedReply, reply: Reply, seen: Observation) -> tuple[Outcome, tuple[str, ...]]:
        """Do what was parsed; the second part is what is wrong, and then nothing was done."""
        if parsed.problems:
            return Outcome(), parsed.problems
        if parsed.script is not None:
            seconds = min(SCRIPT_SECONDS, self.left())
            if seconds <= 0:
                return Outcome(lines=["the time ended before the script was run"]), ()
            name = self.brief.figure_name if parsed.script.kind == "veusz" else "script"
            return run_script(self.computer, parsed.script, name, seconds, self.hide), ()
        actions, problems = on_screen(parsed.actions, reply.shown, (seen.width, seen.height))
        if problems:
            return Outcome(), (*problems[:5], "nothing of the block was done")
        return do_actions(self.computer, actions, self.left, self.clock), ()

    def _settle(self, parsed: ParsedReply, before: bytes | None, quiet: float) -> float:
        """Wait until the pixels are still; after WAIT, until they have changed as well; return the seconds it took."""
        waiting = parsed.decision is Decision.WAIT
        moving = waiting or any(action.kind not in TELLING for action in parsed.actions)
        if not moving or not self.stage.needs_desktop:
            return 0.0
        started = self.clock()
        limit = min(WAIT_SECONDS if waiting else SETTLE_SECONDS, self.left())
        # What changed while the agent thought counts; afterwards the checksum is enough and costs less than a picture.
        changed = not waiting or self.computer.observe(screenshot=True).png != before
        base = self.computer.digest() if waiting else 0
        while (rest := limit - (self.clock() - started)) > 0:
            self.computer.settle(quiet, limit=min(SETTLE_SECONDS, rest))
            if changed or self.computer.digest() != base:
                break
        return self.clock() - started

    def _remember(
        self, index: int, parsed: ParsedReply, reply: Reply, outcome: Outcome, problems: tuple[str, ...]
    ) -> None:
        outcome.records = [
            record.model_copy(update={"feedback": self.hide(record.feedback)}) for record in outcome.records
        ]
        if outcome.figure is not None:
            self.figure = outcome.figure
            last = outcome.records[-1]
            stored = self.put_blob(outcome.figure, "image/png").sha256
            outcome.records[-1] = last.model_copy(update={"arguments": {**last.arguments, "figure": stored}})
        lines = [*problems, *outcome.lines, *parsed.notes]
        if parsed.decision is Decision.WAIT and not self.stage.needs_desktop:
            lines.append("there is nothing to wait for: a script has ended when you are told of it")
        self.feedback = middle(self.hide("\n".join(lines)), LONGEST_FEEDBACK)
        if parsed.memory is not None:
            self.memory = parsed.memory
        if parsed.block:
            self.history.append(Turn(index, parsed.block, self.feedback))
        self.tokens += (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
