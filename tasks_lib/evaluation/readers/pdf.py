"""The text of a PDF, by pypdf."""

from __future__ import annotations

import io
import logging

from pypdf import PdfReader

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.records import Json

MOST_PAGES = 200
"""Further pages are not read."""
LONGEST_TEXT = 2_000_000
"""Further text is not read, characters."""


def read_pdf(data: bytes) -> dict[str, Json]:
    """Return ``{"pages": [text of each page], "sizes": [[width, height] in pt]}``.

    Raises
    ------
    Unreadable
        If the file is no PDF, is encrypted, broken or has no page.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    if b"%PDF-" not in data[:1024]:
        msg = "the file is no PDF: it does not start with '%PDF-'"
        raise Unreadable(msg)
    pages: list[str] = []
    sizes: list[list[float]] = []
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            msg = "the PDF is encrypted"
            raise Unreadable(msg)
        for page in reader.pages[:MOST_PAGES]:
            pages.append(page.extract_text())
            sizes.append([round(float(page.mediabox.width), 3), round(float(page.mediabox.height), 3)])
            if sum(map(len, pages)) > LONGEST_TEXT:
                break
    except (Unreadable, MemoryError):
        raise
    except Exception as error:
        msg = f"the PDF cannot be read ({type(error).__name__}): it is truncated or broken"
        raise Unreadable(msg) from error
    if not pages:
        msg = "the PDF has no page"
        raise Unreadable(msg)
    return {"pages": pages, "sizes": sizes}
