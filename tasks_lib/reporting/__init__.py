"""A run for people: the static report, the table for a terminal, exports for spreadsheets."""

from tasks_lib.reporting._console import console_table
from tasks_lib.reporting._export import summary_csv, summary_json
from tasks_lib.reporting._site import write_report
from tasks_lib.reporting._text import scrub
from tasks_lib.reporting.explaining import explain_outcome
from tasks_lib.reporting.explanation import Explanation, explanation_json, explanation_lines
from tasks_lib.reporting.gallery import FOLDER as GALLERY_FOLDER
from tasks_lib.reporting.gallery import PAGE as GALLERY_PAGE
from tasks_lib.reporting.gallery import EndState, gallery_page, small_picture

__all__ = [
    "GALLERY_FOLDER",
    "GALLERY_PAGE",
    "EndState",
    "Explanation",
    "console_table",
    "explain_outcome",
    "explanation_json",
    "explanation_lines",
    "gallery_page",
    "scrub",
    "small_picture",
    "summary_csv",
    "summary_json",
    "write_report",
]
