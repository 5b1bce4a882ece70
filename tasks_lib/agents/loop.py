"""The loop in which an agent works on a machine, within budgets that are kept from outside it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks_lib.agents._work import (
    LONGEST_FEEDBACK,
    SCRIPT_SECONDS,
    Outcome,
    do_actions,
    on_screen,
    run_script,
    tail,
)
from tasks_lib.agents.parsing import ParsedReply, parse_reply
from tasks_lib.agents.protocol import Agent, Brief, Reply, Turn, View
from tasks_lib.models import DeadlineError, Redactor
from tasks_lib.records import BlobRef, Budget, Decision, Ending, Observation, Stage, Step, now

if TYPE_CHECKING:
    from tasks_lib.sandbox import Computer

HISTORY = 3
SETTLE_SECONDS = 5.0
WAIT_SECONDS = 10.0

PutBlob = Callable[[bytes, str], BlobRef]


@dataclass(slots=True)
class _Episode:
    """What the loop remembers from step to step."""

    memory: str = ""
    feedback: str = ""
    frame: bytes | None = None
    figure: bytes | None = None
    tokens: int = 0
    history: deque[Turn] = field(default_factory=lambda: deque(maxlen=HISTORY))


def play(
    agent: Agent,
    computer: Computer,
    stage: Stage,
    budget: Budget,
    on_step: Callable[[Step], None],
    put_blob: PutBlob,
    *,
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
        Stores a screenshot: bytes and media type to reference.
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
    MachineLostError
        If the machine stops answering.
    EndpointError
        If a model stops answering; a model that is merely slow ends as `Ending.SECONDS`.
    """
    hide = redactor if redactor is not None else Redactor.from_environment()
    brief = Brief.of(stage)
    deadline = clock() + budget.seconds
    state = _Episode()

    def left() -> float:
        return deadline - clock()

    for index in range(1, budget.steps + 1):
        if left() <= 0:
            return Ending.SECONDS
        if budget.tokens is not None and state.tokens >= budget.tokens:
            return Ending.TOKENS
        started = now()
        png, observation = _observe(computer, put_blob, hide, desktop=stage.needs_desktop)
        view = View(
            brief=brief,
            step=index,
            steps_left=budget.steps - index + 1,
            seconds_left=left(),
            tokens_left=None if budget.tokens is None else budget.tokens - state.tokens,
            screenshot=png,
            figure=state.figure,
            observation=observation,
            unchanged=png is not None and png == state.frame,
            feedback=state.feedback,
            memory=state.memory,
            history=tuple(state.history),
        )
        if view.seconds_left <= 0:
            return Ending.SECONDS
        asked = clock()
        try:
            reply = agent.reply(view)
        except DeadlineError:
            return Ending.SECONDS
        answered = clock()
        text = hide(reply.text)
        parsed = parse_reply(text, stage.modality)
        outcome, problems = _do(computer, brief, parsed, reply, observation, left, clock)
        done = clock()
        settled = _settle(computer, stage, parsed, png, left, clock) if not problems else 0.0
        state.feedback = hide(_feedback(outcome, problems, parsed))
        _remember(state, parsed, reply, index, png)
        records = [record.model_copy(update={"feedback": hide(record.feedback)}) for record in outcome.records]
        if outcome.figure is not None:
            state.figure = outcome.figure
            shown = put_blob(outcome.figure, "image/png").sha256
            records[-1] = records[-1].model_copy(update={"arguments": {**records[-1].arguments, "figure": shown}})
        on_step(
            Step(
                index=index,
                started=started,
                observation=observation,
                reply=text,
                reasoning=hide(reply.reasoning),
                decision=parsed.decision,
                actions=tuple(records),
                feedback=state.feedback,
                wasted=bool(problems),
                shown=reply.shown,
                usage=reply.usage,
                model_seconds=max(0.0, answered - asked),
                action_seconds=max(0.0, done - answered),
                settle_seconds=max(0.0, settled),
            )
        )
        if parsed.decision is Decision.DONE:
            return Ending.DONE
        if parsed.decision is Decision.FAIL:
            return Ending.GAVE_UP
    return Ending.STEPS


def _observe(
    computer: Computer, put_blob: PutBlob, hide: Redactor, *, desktop: bool
) -> tuple[bytes | None, Observation]:
    if not desktop:
        return None, Observation()
    sight = computer.observe(screenshot=True)
    seen = sight.observation
    changes: dict[str, object] = {
        "clipboard": hide(seen.clipboard),
        "windows": tuple(window.model_copy(update={"title": hide(window.title)}) for window in seen.windows),
    }
    if sight.png is not None:
        changes["screenshot"] = put_blob(sight.png, "image/png")
    return sight.png, seen.model_copy(update=changes)


def _do(
    computer: Computer,
    brief: Brief,
    parsed: ParsedReply,
    reply: Reply,
    seen: Observation,
    left: Callable[[], float],
    clock: Callable[[], float],
) -> tuple[Outcome, tuple[str, ...]]:
    if parsed.problems:
        return Outcome(), parsed.problems
    if parsed.script is not None:
        seconds = min(SCRIPT_SECONDS, left())
        if seconds <= 0:
            return Outcome(lines=["the time ended before the script was run"]), ()
        name = brief.figure_name if parsed.script.kind == "veusz" else "script"
        return run_script(computer, parsed.script, name, seconds), ()
    if parsed.actions:
        actions, problems = on_screen(parsed.actions, reply.shown, (seen.width, seen.height))
        if problems:
            return Outcome(), (*problems[:5], "nothing of the block was done")
        return do_actions(computer, actions, left, clock), ()
    return Outcome(), ()


def _settle(
    computer: Computer,
    stage: Stage,
    parsed: ParsedReply,
    before: bytes | None,
    left: Callable[[], float],
    clock: Callable[[], float],
) -> float:
    """Wait until the pixels are still; after WAIT, until they have changed as well; return the seconds it took."""
    if not stage.needs_desktop or parsed.decision in (Decision.DONE, Decision.FAIL):
        return 0.0
    started = clock()
    waiting = parsed.decision is Decision.WAIT
    end = min(WAIT_SECONDS if waiting else SETTLE_SECONDS, left())
    # What changed while the agent thought counts; afterwards the checksum is enough and costs less than a picture.
    changed = not waiting or computer.observe(screenshot=True).png != before
    base = computer.digest() if waiting else 0
    while (rest := end - (clock() - started)) > 0:
        computer.settle(limit=min(SETTLE_SECONDS, rest))
        if changed or computer.digest() != base:
            break
    return clock() - started


def _feedback(outcome: Outcome, problems: tuple[str, ...], parsed: ParsedReply) -> str:
    return tail("\n".join([*problems, *outcome.lines, *parsed.notes]), LONGEST_FEEDBACK)


def _remember(state: _Episode, parsed: ParsedReply, reply: Reply, index: int, png: bytes | None) -> None:
    state.frame = png
    if parsed.memory is not None:
        state.memory = parsed.memory
    if parsed.block:
        state.history.append(Turn(index, parsed.block, state.feedback))
    state.tokens += (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
