"""How alike two pictures are; scikit-image does the work."""

from __future__ import annotations

import numpy as np
from skimage.metrics import structural_similarity


def similarity(seen: bytes, wanted: bytes, *, width: int, height: int) -> float:
    """Return the structural similarity (SSIM, Wang et al. 2004) of two grey pictures of one size, in [-1, 1]."""
    one, other = (np.frombuffer(data, dtype=np.uint8).reshape(height, width) for data in (seen, wanted))
    value = structural_similarity(one, other, data_range=255)  # type: ignore[no-untyped-call]
    return round(float(value), 6)
