"""Reading a reply: a decision, actions or a script, notes; or what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tasks_lib.agents.actions import Action, read_actions
from tasks_lib.records import Decision, Modality, clean_text
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs.target_calls import fill_targets
from tasks_lib.taskdefs.transcript import Fence, fences

LONGEST_REPLY = 200_000
LONGEST_SCRIPT = 100_000
LONGEST_MEMORY = 4_000
_WORD = re.compile(r"[^\s,;|/.!*`\"']+")
# DONE before FAIL before WAIT, whatever their order in the block.
_RANK = (Decision.DONE, Decision.FAIL, Decision.WAIT, Decision.CONTINUE)
# What a stage of each modality can do, by the language of the block.
BLOCKS: dict[Modality, tuple[str, ...]] = {
    Modality.GUI: ("python",),
    Modality.CODE: ("python",),
    Modality.FIGURE: ("veusz", "python"),
}


@dataclass(frozen=True, slots=True)
class Script:
    """A script to run: ``python`` or ``veusz``, and its text."""

    kind: Literal["python", "veusz"]
    text: str


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply asks for.

    Attributes
    ----------
    decision : Decision
        CONTINUE where none was given.
    actions : tuple of Action
        Empty where a script, a decision or a problem stands.
    script : Script or None
        The script to run.
    memory : str or None
        Notes for the next step; None leaves the notes as they are.
    problems : tuple of str
        What is wrong; where there is anything, nothing of the reply is done.
    notes : tuple of str
        What was left aside without harm.
    block : str
        Text of the block that the actions or the script were read from.
    """

    decision: Decision = Decision.CONTINUE
    actions: tuple[Action, ...] = ()
    script: Script | None = None
    memory: str | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    block: str = ""


def parse_reply(text: str, modality: Modality) -> ParsedReply:
    """Read a reply; never raises, never runs anything.

    The first block of each language counts. DONE, FAIL and WAIT override the other blocks: these are not done. A reply
    with one problem does nothing at all.

    Parameters
    ----------
    text : str
        What the agent answered.
    modality : Modality
        Of the stage: what a ``python`` block means.

    Returns
    -------
    ParsedReply
        What to do, or the problems.
    """
    if len(text) > LONGEST_REPLY:
        return ParsedReply(problems=(f"the reply has {len(text)} characters, at most {LONGEST_REPLY} are read",))
    blocks = fences(clean_text(text))
    usable = BLOCKS.get(modality, ())
    problems = [
        f"the block that opens in line {block.line} is never closed: the reply was cut, nothing of it was done"
        for block in blocks
        if not block.closed
    ]
    # What a native tool call that must not be done is written as: the reply does nothing, also when it is played again.
    refused = [
        line
        for block in blocks
        if block.language == "refused"
        for line in (block.body.strip() or "refused").split("\n")
    ]
    problems += [*refused[:5], "nothing of the reply was done"] if refused else []
    memory = next(
        (block.body[:LONGEST_MEMORY] for block in blocks if block.language == "memory" and block.closed), None
    )
    decision, wrong = _decision(blocks)
    problems += wrong
    work = [block for block in blocks if block.language in usable]
    notes = _notes(blocks, work, decision)
    if problems:
        return ParsedReply(memory=memory, problems=tuple(problems))
    if decision is not Decision.CONTINUE:
        return ParsedReply(decision, memory=memory, notes=tuple(notes))
    if not work:
        return ParsedReply(memory=memory, problems=(_nothing(blocks, usable),))
    first = work[0]
    if any(block.language != first.language for block in work):
        return ParsedReply(memory=memory, problems=("a reply holds a veusz block or a python block, not both",))
    if modality is Modality.CODE or first.language == "veusz":
        if not first.body.strip():
            return ParsedReply(memory=memory, problems=(f"the {first.language} block is empty",))
        if len(first.body) > LONGEST_SCRIPT:
            return ParsedReply(memory=memory, problems=(f"a script has at most {LONGEST_SCRIPT} characters",))
        script = Script("veusz" if first.language == "veusz" else "python", first.body + "\n")
        return ParsedReply(script=script, memory=memory, notes=tuple(notes), block=first.body)
    actions, bad = read_actions(first.body)
    if bad:
        return ParsedReply(memory=memory, problems=(*bad, "nothing of the block was done"))
    return ParsedReply(actions=actions, memory=memory, notes=tuple(notes), block=first.body)


def reply_problems(reply: str, modality: Modality) -> tuple[str, ...]:
    """Return what is wrong with a reply of a transcript; for these, what would be left aside is wrong too.

    A named target counts as the pixels that it stands for.
    """
    try:
        reply = fill_targets(reply, modality, lambda _: (0, 0))
    except TaskError as error:
        return (str(error),)
    parsed = parse_reply(reply, modality)
    return parsed.problems + parsed.notes


def _decision(blocks: tuple[Fence, ...]) -> tuple[Decision, list[str]]:
    given = [block.body for block in blocks if block.language == "decision"]
    words = [word.upper() for body in given for word in _WORD.findall(body)]
    known = {decision.value for decision in Decision}
    unknown = [word for word in words if word not in known]
    if unknown:
        msg = f"unknown decision {unknown[0][:40]!r}: write one of {', '.join(sorted(known))} and nothing else"
        return Decision.CONTINUE, [msg]
    if given and not words:
        return Decision.CONTINUE, [f"the decision block is empty: write one of {', '.join(sorted(known))}"]
    return next((decision for decision in _RANK if decision.value in words), Decision.CONTINUE), []


def _notes(blocks: tuple[Fence, ...], work: list[Fence], decision: Decision) -> list[str]:
    notes = []
    if work and decision is not Decision.CONTINUE:
        notes.append(f"the {work[0].language} block was not done, because {decision} overrides it")
    elif len(work) > 1 and len({block.language for block in work}) == 1:
        notes.append(f"only the first of {len(work)} {work[0].language} blocks was done")
    return notes


def _nothing(blocks: tuple[Fence, ...], usable: tuple[str, ...]) -> str:
    wanted = " or ".join(f"```{language}" for language in usable) or "a block of its modality"
    if decided := [block for block in blocks if block.language == "decision"]:
        return f"CONTINUE in line {decided[0].line}, but nothing to do: give a block {wanted}"
    others = sorted({block.language or "no language" for block in blocks} - {"memory"})
    seen = f"; it has blocks of {', '.join(others)}" if others else ""
    return f"the reply holds nothing that can be done{seen}: give a block {wanted}, or a ```decision block"
