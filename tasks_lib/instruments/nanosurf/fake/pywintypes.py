"""The one name of pywin32's `pywintypes` that scripts for a microscope use."""

from nanosurf._errors import com_error  # type: ignore[import-not-found]

__all__ = ["com_error"]
