"""What an agent was told in a step, in words, for formats that are conversations."""

from __future__ import annotations

from tasks_lib.agents import Brief, View, system_prompt
from tasks_lib.interop.trajectory import Play
from tasks_lib.records import Step

MOST_WINDOWS = 30
LONGEST_CLIPBOARD = 500


def system_words(play: Play) -> str:
    """Return the words with which a model is told who it is and how it answers."""
    first = play.steps[0]
    seen = first.observation
    view = View(brief=play.brief, step=1, steps_left=1, seconds_left=0.0, observation=seen)
    return system_prompt(view, first.shown or (seen.width, seen.height))


def task_words(brief: Brief) -> str:
    """Return the words in which the stage is told, without what changes from step to step."""
    parts = [f"# Task\n{brief.instruction.strip()}"]
    if brief.hints:
        parts.append("# Hints\n" + "\n".join(f"- {hint}" for hint in brief.hints))
    if brief.inputs:
        parts.append("# Files at the start\n" + "\n".join(f"- {path}" for path in brief.inputs))
    if brief.deliverables:
        parts.append("# Files to leave behind\n" + "\n".join(f"- {path}: {what}" for path, what in brief.deliverables))
    return "\n\n".join(parts)


def step_words(step: Step, before: Step | None) -> str:
    """Return what was told in one step: what came of the reply before, the screen, the marks, the notices."""
    parts = []
    if before is not None and before.feedback:
        parts.append(f"# What came of your last reply\n{before.feedback}")
    seen = step.observation
    if seen.windows:
        lines = [f"- {window.title}{' (in front)' if window.focused else ''}" for window in seen.windows[:MOST_WINDOWS]]
        parts.append("# Windows\n" + "\n".join(lines))
    if seen.clipboard:
        parts.append(f"# Clipboard\n{seen.clipboard[:LONGEST_CLIPBOARD]}")
    if step.marks:
        lines = [f"- {mark.id}: {mark.role} {mark.text!r} at {mark.box}" for mark in step.marks]
        parts.append("# Marks\n" + "\n".join(lines))
    if step.unchanged:
        parts.append("# Notice\nThe screen looks exactly as before your last reply.")
    parts.extend(f"# Notice\n{notice}" for notice in step.notices)
    return "\n\n".join(parts) or "Give the next reply."
