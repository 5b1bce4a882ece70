"""An agent that answers from general knowledge alone: whatever it scores needs no tool and no database."""

from tasks_lib.agents.guess.agent import GuessAgent

__all__ = ["GuessAgent"]
