"""What scripts for a microscope use of pywin32's `pythoncom`: which threads may use COM."""

from nanosurf import _apartment  # type: ignore[import-not-found]
from nanosurf._errors import com_error  # type: ignore[import-not-found]

__all__ = ["CoInitialize", "CoUninitialize", "com_error"]


def CoInitialize() -> None:  # noqa: N802
    """Let this thread use COM."""
    _apartment.enter()


def CoUninitialize() -> None:  # noqa: N802
    """End that."""
    _apartment.leave()
