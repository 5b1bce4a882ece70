"""Which agent plays an episode, and from what: the task's transcripts, a recorded trajectory, a model."""

from __future__ import annotations

from tasks_lib.agents import Agent, Targets, make_agent
from tasks_lib.episodes.asking import model_for, settings_of_agents
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.evaluation.ocr import read_screen
from tasks_lib.models import Redactor
from tasks_lib.records import Stage, Step, episode_id
from tasks_lib.records.errors import ConfigurationError, TaskError
from tasks_lib.store import AttemptFolder, RunFolder


def agent_for(work: EpisodeWork, stage: Stage, attempt: AttemptFolder, *, hide: Redactor | None = None) -> Agent:
    """Make the agent that the episode's spec names, for one stage.

    Parameters
    ----------
    work, stage, attempt
        What it plays, and where its requests to a model are logged.
    hide : Redactor, optional
        Secrets of the machine, which no log may hold.

    Raises
    ------
    ConfigurationError
        If the agent or its model is unknown.
    TaskError
        If the transcript that the agent plays is missing, or the task has no such near miss.
    """
    spec = work.spec
    return make_agent(
        spec.agent,
        transcript=_transcript(work, stage),
        trajectory=_recorded(work, stage) if spec.agent == "replay" else (),
        targets=Targets(work.taskdefs, read_screen),
        model=model_for(work, attempt, stage, hide=hide),
        model_name=spec.model,
        seed=spec.seed,
        hints=work.hints,
        settings=settings_of_agents(work),
    )


def _transcript(work: EpisodeWork, stage: Stage) -> tuple[str, ...]:
    spec = work.spec
    if spec.agent == "oracle":
        return _oracle(work, stage)
    if spec.agent == "scripted-llm":
        # Not every task ships one: without it the model says DONE at once.
        there = work.loaded.has_transcript("scripted", stage.id)
        return work.loaded.transcript("scripted", stage.id, hints=work.hints) if there else ()
    return ()


def _oracle(work: EpisodeWork, stage: Stage) -> tuple[str, ...]:
    variant = work.spec.variant
    if variant is None:
        return work.loaded.transcript("oracle", stage.id, hints=work.hints)
    try:
        return work.loaded.near_miss(variant, stage.id, hints=work.hints)
    except KeyError:
        msg = f"task {work.task.id} has no near miss {variant!r}: mend the run's manifest or the task file"
        raise TaskError(msg) from None


def _recorded(work: EpisodeWork, stage: Stage) -> tuple[Step, ...]:
    """Read the newest trajectory of the run and agent that the manifest's settings name as the one to replay."""
    source = work.manifest.settings.get("replay") or {}
    run, agent = str(source.get("run", "")), str(source.get("agent", "oracle"))
    episode = RunFolder(work.store, run).episode(episode_id(work.task.id, agent, work.spec.trial))
    for number in reversed(episode.attempts()):
        path = episode.attempt(number).stage(stage.id).trajectory
        if work.store.exists(path):
            return tuple(work.store.read_lines(path, Step))
    msg = f"run {run!r} holds no trajectory of {agent} on {work.task.id}: give --replay RUN, or RUN:AGENT"
    raise ConfigurationError(msg)
