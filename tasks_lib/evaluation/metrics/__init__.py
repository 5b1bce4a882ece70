"""Metrics by name; importing this package registers them."""

from tasks_lib.evaluation.metrics import members, numbers, pictures, presence, regions, structures, tables, texts

__all__ = ["members", "numbers", "pictures", "presence", "regions", "structures", "tables", "texts"]
