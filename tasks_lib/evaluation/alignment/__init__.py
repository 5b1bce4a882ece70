"""Scores trajectories of tool calls against references: the published numbers of M3-Bench, and what they rest on."""

from tasks_lib.evaluation.alignment.aggregation import AVERAGED, aggregate, average_score, groups
from tasks_lib.evaluation.alignment.assignment import Match, assign
from tasks_lib.evaluation.alignment.embedding import Embedding, embed
from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import DEFAULT_ENCODER, Encoder, SentenceEncoder, find_encoder
from tasks_lib.evaluation.alignment.files import (
    Limits,
    Oddity,
    TrajectoryFile,
    parse_trajectories,
    read_trajectories,
)
from tasks_lib.evaluation.alignment.metrics import Measures, measure
from tasks_lib.evaluation.alignment.report import AlignmentReport, Budget, GroupScore, MatchRecord, Scores, TaskScore
from tasks_lib.evaluation.alignment.scoring import PUBLISHED, TAU_STRONG, TAU_WEAK, Rules, score_files, score_task
from tasks_lib.evaluation.alignment.similarity import cosines, unit_vectors
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory, canonical_text, text_digest

__all__ = [
    "AVERAGED",
    "DEFAULT_ENCODER",
    "PUBLISHED",
    "TAU_STRONG",
    "TAU_WEAK",
    "AlignmentReport",
    "Budget",
    "Call",
    "Embedding",
    "EmbeddingCache",
    "Encoder",
    "GroupScore",
    "Limits",
    "Match",
    "MatchRecord",
    "Measures",
    "Oddity",
    "Rules",
    "Scores",
    "SentenceEncoder",
    "TaskScore",
    "Trajectory",
    "TrajectoryFile",
    "aggregate",
    "assign",
    "average_score",
    "canonical_text",
    "cosines",
    "embed",
    "find_encoder",
    "groups",
    "measure",
    "parse_trajectories",
    "read_trajectories",
    "score_files",
    "score_task",
    "text_digest",
    "unit_vectors",
]
