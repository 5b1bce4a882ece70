"""References of the published shape that nobody wrote: to measure a scoring without anyone's data."""

from tasks_lib.evaluation.alignment.synthetic.generator import PUBLISHED_SHAPE, Shape, synthetic_references
from tasks_lib.evaluation.alignment.synthetic.tools import synthetic_tools

__all__ = ["PUBLISHED_SHAPE", "Shape", "synthetic_references", "synthetic_tools"]
