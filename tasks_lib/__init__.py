"""MatAssay's library: pure Python, no orchestrator, every piece usable from a script or a notebook."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("matassay")
except PackageNotFoundError:  # a source tree that nobody installed
    __version__ = "0.0.0+source"

__all__ = ["__version__"]
