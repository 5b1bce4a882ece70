"""Judges of their own work are found by their names."""

import pytest

from tasks_lib.evaluation.judges import Kinship, kinship


@pytest.mark.parametrize(
    ("judge", "contestant", "found"),
    [
        ("gpt-5-mini", "gpt-5-mini", Kinship.SAME),
        ("openai/gpt-5-mini-2025-08-07", "GPT-5-mini", Kinship.SAME),
        ("claude-sonnet-4-20250514", "anthropic/claude-sonnet-4-latest", Kinship.SAME),
        ("qwen3:8b", "qwen3", Kinship.SAME),
        ("gpt-5", "gpt-5-mini", Kinship.FAMILY),
        ("o3", "gpt-5", Kinship.FAMILY),
        ("gemini-2.5-flash", "google/gemma-3-27b-it", Kinship.FAMILY),
        ("gemini-2.5-flash", "gpt-5", Kinship.NONE),
        ("deepseek-chat", "grok-4", Kinship.NONE),
        ("gpt-5", "", Kinship.UNKNOWN),
    ],
)
def test_kinship(judge, contestant, found):
    assert kinship(judge, contestant) is found
    if contestant:
        assert kinship(contestant, judge) is found
