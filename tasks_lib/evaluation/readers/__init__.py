"""Parsers of the agent's files: bytes in, JSON out, `Unreadable` where the bytes are at fault; run by the cage."""
