"""Episodes: planning a run, the phases as plain functions, the course from what is missing to the verdict."""

from tasks_lib.episodes.asking import model_for
from tasks_lib.episodes.attempts import Attempt, begin, check_room, least_free_bytes, write_void
from tasks_lib.episodes.budgets import NightBudget, accounts_of, check_prices, raise_budgets, raise_night
from tasks_lib.episodes.conclusion import conclude, outcome_of, without_verdict
from tasks_lib.episodes.database_plan import check_databases, read_faults
from tasks_lib.episodes.decoding import check_decoding
from tasks_lib.episodes.driver import EpisodeVoidError, Phases, drive, plain_phases, run_episode
from tasks_lib.episodes.engine import EPISODES_AT_ONCE, Engine, Executor, RunOrder, ServeOrder, load_engine
from tasks_lib.episodes.explaining import explain_episode, find_episode
from tasks_lib.episodes.flaky import Difference, Flaky, Repeats, count_repeats, flaky_proofs
from tasks_lib.episodes.gallery import Unseen, end_states
from tasks_lib.episodes.grading import evaluate, hand_over, judged
from tasks_lib.episodes.live import act, collect, initialise, provision
from tasks_lib.episodes.live_databases import live_settings
from tasks_lib.episodes.model_checks import check_models
from tasks_lib.episodes.needs import build_environments, needs_of
from tasks_lib.episodes.plan import Player, episodes_for, make_manifest, open_run, unreadable_episodes
from tasks_lib.episodes.progress import Event, EventKind, Listener, listening, tell
from tasks_lib.episodes.proofs import (
    Proof,
    check_proof,
    check_proofs,
    players_for,
    proof_manifest,
    proof_rows,
    stuck_in,
    unproved,
)
from tasks_lib.episodes.rescoring import Rescored, rescore_run
from tasks_lib.episodes.sampling import Sample, draw
from tasks_lib.episodes.selection import (
    Selection,
    check_agent_settings,
    check_hints,
    check_played_by_agents,
    manifest_for,
)
from tasks_lib.episodes.services import database_settings
from tasks_lib.episodes.summary import summarise, write_summary
from tasks_lib.episodes.work import EpisodeWork, Missing, load_work, missing, read_manifest

__all__ = [
    "EPISODES_AT_ONCE",
    "Attempt",
    "Difference",
    "Engine",
    "EpisodeVoidError",
    "EpisodeWork",
    "Event",
    "EventKind",
    "Executor",
    "Flaky",
    "Listener",
    "Missing",
    "NightBudget",
    "Phases",
    "Player",
    "Proof",
    "Repeats",
    "Rescored",
    "RunOrder",
    "Sample",
    "Selection",
    "ServeOrder",
    "Unseen",
    "accounts_of",
    "act",
    "begin",
    "build_environments",
    "check_agent_settings",
    "check_databases",
    "check_decoding",
    "check_hints",
    "check_models",
    "check_played_by_agents",
    "check_prices",
    "check_proof",
    "check_proofs",
    "check_room",
    "collect",
    "conclude",
    "count_repeats",
    "database_settings",
    "draw",
    "drive",
    "end_states",
    "episodes_for",
    "evaluate",
    "explain_episode",
    "find_episode",
    "flaky_proofs",
    "hand_over",
    "initialise",
    "judged",
    "least_free_bytes",
    "listening",
    "live_settings",
    "load_engine",
    "load_work",
    "make_manifest",
    "manifest_for",
    "missing",
    "model_for",
    "needs_of",
    "open_run",
    "outcome_of",
    "plain_phases",
    "players_for",
    "proof_manifest",
    "proof_rows",
    "provision",
    "raise_budgets",
    "raise_night",
    "read_faults",
    "read_manifest",
    "rescore_run",
    "run_episode",
    "stuck_in",
    "summarise",
    "tell",
    "unproved",
    "unreadable_episodes",
    "without_verdict",
    "write_summary",
    "write_void",
]
