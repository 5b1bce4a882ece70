"""Recorded `.nid` files served as an instrument: every analysis and flow runs on real frames, and nothing moves."""

from tasks_lib.instruments.replay._recordings import Recording, load
from tasks_lib.instruments.replay.backend import ReplayBackEnd

__all__ = ["Recording", "ReplayBackEnd", "load"]
