"""Pictures on their way out and in: as the agent saw them, and never from anywhere but the document itself."""

from __future__ import annotations

import base64
import binascii
import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from tasks_lib.interop._faults import fault
from tasks_lib.records import BlobRef

LARGEST_PICTURE = 32 * 2**20
MOST_PIXELS = 64_000_000
_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
_PREFIX = "data:"
_UNREADABLE = (
    OSError, SyntaxError, EOFError, ValueError, struct.error, zlib.error, Image.DecompressionBombError,
)  # fmt: skip

# Stores a picture: bytes and media type to reference.
Keep = Callable[[bytes, str], BlobRef]


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as a file's bytes, with its size in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


def picture(data: bytes, place: str) -> Shown:
    """Look at the head of a picture that came from outside; its pixels are not decoded.

    Raises
    ------
    ConfigurationError
        If it is no PNG, JPEG or WebP, or too large.
    """
    if len(data) > LARGEST_PICTURE:
        raise fault(place, f"a picture has at most {LARGEST_PICTURE} bytes, got {len(data)}", "shrink it")
    try:
        with Image.open(io.BytesIO(data), formats=tuple(_TYPES)) as image:
            kind, (width, height) = image.format or "", image.size
    except (
        OSError,
        SyntaxError,
        EOFError,
        ValueError,
        struct.error,
        zlib.error,
        Image.DecompressionBombError,
    ) as error:
        raise fault(place, f"the picture is no PNG, JPEG or WebP ({type(error).__name__})", "mend it") from error
    if width * height > MOST_PIXELS or not width or not height:
        raise fault(place, f"a picture has at most {MOST_PIXELS} pixels, got {width} x {height}", "shrink it")
    return Shown(data, _TYPES[kind], width, height)


def from_data_uri(uri: str, place: str) -> Shown | None:
    """Read a picture that stands in the document itself; an address or a path is never followed and gives None.

    Raises
    ------
    ConfigurationError
        If it is no picture in base64.
    """
    if not uri.startswith(_PREFIX):
        return None
    head, comma, body = uri.partition(",")
    if not comma or not head.endswith(";base64") or not head.startswith("data:image/"):
        raise fault(place, f"a picture is 'data:image/…;base64,…', got {head[:60]!r}", "write it so, or leave it out")
    if len(body) > LARGEST_PICTURE * 4 // 3 + 4:
        raise fault(
            place, f"a picture has at most {LARGEST_PICTURE} bytes, got about {len(body) * 3 // 4}", "shrink it"
        )
    try:
        data = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise fault(place, f"the picture is no base64 ({error})", "mend it, or leave it out") from error
    return picture(data, place)


def data_uri(data: bytes, media_type: str) -> str:
    """Return a picture as text."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def as_shown(png: bytes, shown: tuple[int, int] | None) -> bytes:
    """Return the screenshot at the size at which the agent saw it: the coordinates in its reply belong to that.

    Parameters
    ----------
    png : bytes
        The recorded screenshot.
    shown : tuple of int or None
        Width and height, pixels; None for the screenshot's own.
    """
    if shown is None:
        return png
    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        if image.size == tuple(shown):
            return png
        out = io.BytesIO()
        image.convert("RGB").resize(shown, Image.Resampling.LANCZOS).save(out, "PNG")
    return out.getvalue()
