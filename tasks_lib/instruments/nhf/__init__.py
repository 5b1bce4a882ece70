"""`.nhf` files of Nanosurf Studio: read into typed settings and float64 samples, and written from frames.

The format is HDF5; what its groups and attributes mean is known from one recorded file (version 1.1) and from the
vendor's published reader (versions 1.1 and 2.x).
"""

from tasks_lib.instruments.lever import Lever
from tasks_lib.instruments.nhf._apart import read_nhf_apart
from tasks_lib.instruments.nhf._errors import NhfError
from tasks_lib.instruments.nhf._reader import NhfFile, read_nhf
from tasks_lib.instruments.nhf._settings import NhfSettings
from tasks_lib.instruments.nhf._writer import write_nhf

__all__ = ["Lever", "NhfError", "NhfFile", "NhfSettings", "read_nhf", "read_nhf_apart", "write_nhf"]
