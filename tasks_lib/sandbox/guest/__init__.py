"""What runs inside a machine: the control server, the desktop's start, input, windows, files and scripts.

The package is mounted on its own, read-only, and imports nothing else of the house: whatever the agent does inside the
machine, there is no gold, no store and no task definition to find beside it.
"""

PROTOCOL = 1

__all__ = ["PROTOCOL"]
