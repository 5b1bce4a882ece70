"""Nanosurf's `.nid` files: read, written, and looked through for what is not a measurement."""

from tasks_lib.instruments.lever import Lever
from tasks_lib.instruments.nid._channels import Axis, NidChannel
from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._header import HeaderSection, NidHeader
from tasks_lib.instruments.nid._reader import NidFile, read_nid
from tasks_lib.instruments.nid._sanity import Finding, SanityReport, Trouble, sanity_report
from tasks_lib.instruments.nid._settings import Acquisition
from tasks_lib.instruments.nid._values import HeaderValue
from tasks_lib.instruments.nid._writer import write_nid

__all__ = [
    "Acquisition",
    "Axis",
    "Finding",
    "HeaderSection",
    "HeaderValue",
    "Lever",
    "NidChannel",
    "NidError",
    "NidFile",
    "NidHeader",
    "SanityReport",
    "Trouble",
    "read_nid",
    "sanity_report",
    "write_nid",
]
