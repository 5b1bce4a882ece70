"""A night against the last one that can be compared: the same tasks, the same agents, episode by episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scipy.stats import binomtest

from tasks_lib.agents import ASKED_AGENTS
from tasks_lib.agents.settings import SETTING, AgentSettings
from tasks_lib.episodes.decoding import SETTING as DECODING
from tasks_lib.records import Outcome, RunManifest, RunSummary
from tasks_lib.store import RunFolder, Store, runs

_LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """What changed between two runs, over the episodes that have a verdict in both.

    Attributes
    ----------
    before, after : str
        The runs.
    pairs : int
        Episodes with a verdict in both.
    gained, lost : tuple of str
        Episodes that pass now and did not, and the other way round.
    p_value : float
        Two-sided exact McNemar test of gained against lost.
    """

    before: str
    after: str
    pairs: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    p_value: float

    @property
    def verdict(self) -> Literal["better", "worse", "same"]:
        """Better or worse at the 5 % level, else the same."""
        if self.p_value >= _LEVEL:
            return "same"
        return "better" if len(self.gained) > len(self.lost) else "worse"

    def text(self) -> str:
        """Return the comparison as one sentence."""
        how = "the same as" if self.verdict == "same" else f"{self.verdict} than"
        return (
            f"{how} {self.before}: {len(self.gained)} episodes gained, {len(self.lost)} lost of "
            f"{self.pairs} pairs (exact McNemar test, p = {self.p_value:.3g})"
        )


def compare(before: RunSummary, after: RunSummary) -> Comparison:
    """Pair two runs by episode; VOID episodes are in neither."""
    passed = {result.id: result.outcome is Outcome.PASS for result in before.episodes if _has_verdict(result.outcome)}
    pairs = [
        (result.id, passed[result.id], result.outcome is Outcome.PASS)
        for result in after.episodes
        if _has_verdict(result.outcome) and result.id in passed
    ]
    gained = tuple(sorted(name for name, was, is_ in pairs if is_ and not was))
    lost = tuple(sorted(name for name, was, is_ in pairs if was and not is_))
    changed = len(gained) + len(lost)
    p_value = float(binomtest(len(gained), changed, 0.5).pvalue) if changed else 1.0
    return Comparison(before.run_id, after.run_id, len(pairs), gained, lost, p_value)


def _has_verdict(outcome: Outcome | None) -> bool:
    return outcome in {Outcome.PASS, Outcome.FAIL}


def _what(manifest: RunManifest) -> tuple[object, ...]:
    """Return what two runs have in common that can be compared, besides their players."""
    # A run of before these settings were recorded was asked by the defaults; one of a later release may have others.
    told = AgentSettings().told(hints=bool(manifest.settings.get("hints", True)))
    asked = {**told.model_dump(mode="json"), **(manifest.settings.get(SETTING) or {})}
    if not any(spec.agent in ASKED_AGENTS for spec in manifest.episodes):
        asked = {}
    return manifest.benchmark, manifest.task_set_digest, asked, manifest.settings.get(DECODING, {})


def last_comparable(store: Store, manifest: RunManifest) -> RunSummary | None:
    """Return the summary of the newest earlier run of the same tasks, benchmark, players and agent settings."""
    players = {(spec.agent, spec.model) for spec in manifest.episodes}
    best: RunManifest | None = None
    for run_id in runs(store):
        folder = RunFolder(store, run_id)
        if run_id == manifest.run_id or not (store.exists(folder.manifest) and store.exists(folder.summary)):
            continue
        other = store.read_document(folder.manifest, RunManifest)
        same = _what(other) == _what(manifest)
        earlier = other.created < manifest.created and (best is None or other.created > best.created)
        if same and earlier and {(spec.agent, spec.model) for spec in other.episodes} == players:
            best = other
    return None if best is None else store.read_document(RunFolder(store, best.run_id).summary, RunSummary)
