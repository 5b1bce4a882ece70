"""A Gymnasium environment over the tasks: an episode for each reset, a reply for each step, points as the reward.

Needs the extra ``gym``. Two resets of a task are as alike as two starts of its programs; wall clock is part of the
budget. The environment is therefore registered as not deterministic, by the name `ENVIRONMENT`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsFloat, TypedDict

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from PIL import Image

from tasks_lib.agents import View, system_prompt
from tasks_lib.agents.outside import shown_size, told
from tasks_lib.agents.parsing import LONGEST_REPLY
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.agents.tool_replies import Toolbox, reply_of
from tasks_lib.episodes.outside import OutsideEpisode, OutsideOrder, open_outside
from tasks_lib.models import ToolCall
from tasks_lib.records import Ending, MachineSettings
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import middle
from tasks_lib.store import Store
from tasks_lib.taskdefs import Select, choose, find_root, load_all

ENVIRONMENT = "MatAssay/Task-v0"
LONGEST_TEXT = 40_000
# Sampled replies are nonsense of at most this length; longer ones may be given all the same.
LONGEST_SAMPLE = 4_000
_SPENT = frozenset({Ending.STEPS, Ending.SECONDS, Ending.TOKENS, Ending.REPETITION})
# First and last signs of what is told as it is: Latin, Greek, punctuation, indices, units, arrows, mathematics, lines.
_RANGES = (
    ("\t", "\n"), (" ", "~"), ("\u00a0", "\u024f"), ("\u0370", "\u03ff"), ("\u2010", "\u2027"), ("\u2030", "\u205e"),
    ("\u2070", "\u209f"), ("\u2100", "\u214f"), ("\u2190", "\u22ff"), ("\u2500", "\u257f"),
)  # fmt: skip
SIGNS = "".join(chr(code) for first, last in _RANGES for code in range(ord(first), ord(last) + 1))
_SIGNS = frozenset(SIGNS)

Action = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Seen(TypedDict):
    """An observation: the screen (height, width, 3) as uint8, black without a desktop, and what is told in words."""

    screenshot: NDArray[np.uint8]
    text: str


class TaskEnv(gymnasium.Env[Seen, Action]):
    """Tasks as an environment.

    An action is a reply as a chat model gives it, with fenced blocks; or a call of a tool, a mapping with ``tool`` and
    ``arguments``; or several calls, which are done in one step. What cannot be done costs a step and is told in the
    next observation. The reward is the change of the earned share of the points: the rewards of an episode sum to its
    score less what the untouched start would earn.

    Every reset plays an episode of a run of its own: it is in the store with trajectory, evidence and verdict. An
    episode that is left by a reset or by `close` ends as given up and is judged.

    Parameters
    ----------
    tasks : sequence of str
        Ids of the tasks; a reset takes ``options={"task": id}``, or draws one.
    store : str
        Where runs are kept.
    taskdefs : str or Path, optional
        Root of the task definitions.
    machine : MachineSettings, optional
        Its screen is the size of the observations.
    asked : AgentSettings, optional
        What is shown and told: marks, hints and with them the set-up of tasks; and budgets that are cut.
    dense : bool
        Judge after every step. Without it the only reward is that of the last step, and steps take less time.
    render_mode : str, optional
        ``rgb_array``: `render` returns the screen.

    Raises
    ------
    ConfigurationError
        If a task is unknown.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012  # as the base class has it

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        store: str = "artifacts",
        taskdefs: str | Path | None = None,
        machine: MachineSettings | None = None,
        asked: AgentSettings | None = None,
        dense: bool = True,
        render_mode: str | None = None,
    ) -> None:
        if isinstance(tasks, str) or not tasks:
            msg = f"an environment takes a list of task ids, got {tasks!r}: `matassay tasks list` shows them"
            raise ConfigurationError(msg)
        self.render_mode = render_mode
        self._store = Store.open(store)
        self._root = find_root(None if taskdefs is None else Path(taskdefs)).resolve()
        chosen = choose(load_all(self._root), Select.of((), (), tuple(tasks)), what="the environment")
        for problem in chosen.problems:
            raise problem.error()
        self._tasks = {loaded.id: loaded for loaded in chosen.tasks}
        self._digest = chosen.digest
        self._machine = machine if machine is not None else MachineSettings()
        self._settings = asked if asked is not None else AgentSettings()
        self._dense = dense
        self._episode: OutsideEpisode | None = None
        self._earned: dict[str, int] = {}
        self._screen = self._black()
        self._text = ""
        shape = self._screen.shape
        self.observation_space = spaces.Dict(
            {
                "screenshot": spaces.Box(0, 255, shape, np.uint8),
                "text": spaces.Text(LONGEST_TEXT, min_length=0, charset=SIGNS),
            }
        )  # type: ignore[assignment]  # the space of a typed dict is one of dicts
        self.action_space = spaces.Text(LONGEST_SAMPLE, min_length=0, charset=SIGNS)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Of the draw of tasks; also the seed of the run.
        options : dict, optional
            ``task``: the id of the task.

        Raises
        ------
        ConfigurationError
            If the environment has no such task.
        EpisodeVoidError
            If the machine does not come up or the task cannot be set up.
        """
        super().reset(seed=seed)
        wanted = (options or {}).get("task")
        if wanted is not None and wanted not in self._tasks:
            msg = f"the environment has no task {wanted!r}; it has {', '.join(self._tasks)}"
            raise ConfigurationError(msg)
        self._leave()
        names = list(self._tasks)
        drawn = names[int(self.np_random.integers(len(names)))]
        order = OutsideOrder(
            player="gym",
            loaded=self._tasks[wanted or drawn],
            task_set_digest=self._digest,
            taskdefs=self._root,
            machine=self._machine,
            asked=self._settings,
            seed=int(self.np_random.integers(2**31)),
        )
        self._episode = open_outside(order, self._store)
        view = self._episode.view()
        self._episode.raise_void()
        self._earned = self._episode.earned() if self._dense else {}
        self._see(view)
        system = "" if view is None else system_prompt(view, shown_size(view), self._settings)
        return self._seen(), {**self._info(), "system": system}

    def step(self, action: Action) -> tuple[Seen, SupportsFloat, bool, bool, dict[str, Any]]:
        """Give a reply, or the calls of tools that make one.

        Returns
        -------
        tuple
            Observation, reward, whether the player ended the episode, whether a budget or a fault of the harness did,
            and info: ``run``, ``episode``, ``task``, ``stage``, ``points``, ``earned`` (points by criterion, where they
            are known), ``wasted``; at the end ``outcome`` and ``ending`` as well.
        """
        episode = self._playing()
        before = sum(self._earned.values())
        view = episode.answer(self._reply(action))
        if self._dense or view is None:
            # What was never judged keeps its last score: an outage is no loss of the player's.
            self._earned = episode.earned() or self._earned
        self._see(view)
        reward = (sum(self._earned.values()) - before) / episode.work.task.points
        spent = view is None and (episode.void is not None or episode.ending in _SPENT)
        return self._seen(), reward, view is None and not spent, spent, self._info()

    def evaluate(self) -> dict[str, int]:
        """Judge the present state; return the points of each criterion. It takes no time of the budget."""
        return self._playing(over=True).earned()

    def render(self) -> NDArray[np.uint8] | None:
        """Return the newest screen."""
        return self._screen.copy() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """End the episode under way; idempotent."""
        self._leave()

    def _playing(self, *, over: bool = False) -> OutsideEpisode:
        if self._episode is None or (self._episode.is_over and not over):
            msg = "there is no episode under way: call reset first"
            raise gymnasium.error.ResetNeeded(msg)
        return self._episode

    def _leave(self) -> None:
        if self._episode is not None:
            self._episode.leave()
            self._episode = None

    def _reply(self, action: Action) -> str:
        if isinstance(action, str):
            return action if len(action) <= LONGEST_REPLY else action[: LONGEST_REPLY + 1]
        given = [action] if isinstance(action, Mapping) or not isinstance(action, Sequence) else list(action)
        stage = self._playing().stage
        calls = [_call(number, entry) for number, entry in enumerate(given)]
        return reply_of("", calls, Toolbox.of(stage.modality, marks=self._settings.marks != "none")).text

    def _see(self, view: View | None) -> None:
        if view is not None:
            png = view.marked or view.screenshot
            self._text = told(view, self._settings, task=True)
        else:
            self._text = "The episode is over."
            final = None if self._episode is None else self._episode.final()
            blob = None if final is None else final.final.screenshot
            png = None if blob is None else self._store.get_blob(blob)
        if png is not None:
            with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
                self._screen = np.asarray(picture.convert("RGB"), np.uint8)

    def _seen(self) -> Seen:
        text = "".join(sign if sign in _SIGNS else ascii(sign)[1:-1] for sign in self._text)
        return {"screenshot": self._screen.copy(), "text": middle(text, LONGEST_TEXT - 100)}

    def _info(self) -> dict[str, Any]:
        episode = self._playing(over=True)
        work = episode.work
        info: dict[str, Any] = {
            "run": work.run_id,
            "episode": work.spec.id,
            "task": work.task.id,
            "stage": episode.stage.id,
            "points": work.task.points,
            "earned": dict(self._earned),
            "wasted": bool(episode.last and episode.last.wasted),
        }
        if episode.is_over:
            info["outcome"] = f"VOID({episode.void.reason})" if episode.void else str(_outcome(episode))
            info["ending"] = None if episode.ending is None else episode.ending.value
        return info

    def _black(self) -> NDArray[np.uint8]:
        return np.zeros((self._machine.height, self._machine.width, 3), np.uint8)


def _outcome(episode: OutsideEpisode) -> str:
    return "" if episode.verdict is None else episode.verdict.outcome.value


def _call(number: int, entry: Any) -> ToolCall:
    """Read a typed action; what it lacks is told the player, like a model's malformed call."""
    arguments = entry.get("arguments", {}) if isinstance(entry, Mapping) else None
    name = entry.get("tool") if isinstance(entry, Mapping) else None
    problem = ""
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        problem = 'an action is a text, or {"tool": name, "arguments": {...}}'
    try:
        raw = json.dumps(arguments, default=repr)
    except (ValueError, RecursionError):
        raw, problem = "", "the arguments are nested without end"
    named = name[:100] if isinstance(name, str) else ""
    return ToolCall(str(number), named, raw, None if problem else dict(arguments or {}), problem)


gymnasium.register(
    id=ENVIRONMENT, entry_point="tasks_lib.episodes.gym_env:TaskEnv", nondeterministic=True, order_enforce=False
)
