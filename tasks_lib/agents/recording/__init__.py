"""From what a person did on a desktop to the draft of an oracle."""

from tasks_lib.agents.recording.drafting import DONE, Draft, DraftStep, Frames, draft_of

__all__ = ["DONE", "Draft", "DraftStep", "Frames", "draft_of"]
