"""Task definitions: how they are loaded, what they are held to, and which of them a benchmark plays."""

from tasks_lib.taskdefs.benchmark import Benchmark, Select, choose, load_benchmark
from tasks_lib.taskdefs.findings import Finding, Severity, TaskFileError
from tasks_lib.taskdefs.lint import lint
from tasks_lib.taskdefs.rules import RULES
from tasks_lib.taskdefs.scaffold import LIKES, Scaffold, new_task
from tasks_lib.taskdefs.target_calls import TargetCall, TargetCallError, fill_targets, target_calls
from tasks_lib.taskdefs.targets import (
    PictureError,
    Target,
    cut_target,
    read_screen,
    read_target,
    target_files,
    write_target,
)
from tasks_lib.taskdefs.task import LoadedTask, load_task
from tasks_lib.taskdefs.taskset import Problem, TaskSet, find_root, load_all
from tasks_lib.taskdefs.transcript import Fence, fences, split_transcript

__all__ = [
    "LIKES",
    "RULES",
    "Benchmark",
    "Fence",
    "Finding",
    "LoadedTask",
    "PictureError",
    "Problem",
    "Scaffold",
    "Select",
    "Severity",
    "Target",
    "TargetCall",
    "TargetCallError",
    "TaskFileError",
    "TaskSet",
    "choose",
    "cut_target",
    "fences",
    "fill_targets",
    "find_root",
    "lint",
    "load_all",
    "load_benchmark",
    "load_task",
    "new_task",
    "read_screen",
    "read_target",
    "split_transcript",
    "target_calls",
    "target_files",
    "write_target",
]
