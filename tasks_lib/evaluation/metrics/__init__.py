"""Metrics by name; importing this package registers them."""

from tasks_lib.evaluation.metrics import numbers, pictures, presence, structures, tables, texts

__all__ = ["numbers", "pictures", "presence", "structures", "tables", "texts"]
