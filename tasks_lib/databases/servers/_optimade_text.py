"""Text in OPTIMADE filters taken literally.

The reference server's transformer for Mongo (optimade 1.5) hands the text of CONTAINS, STARTS WITH and ENDS WITH on
as a regular expression. A parenthesis in the text then finds nothing or fails, and a hostile one runs for hours.
"""

from __future__ import annotations

import re
from typing import Any


def literal_transformer(mapper: Any) -> Any:
    """Return a transformer of filters for the collection whose resource mapper is given."""
    from optimade.filtertransformers.mongo import MongoTransformer

    class _Literal(MongoTransformer):  # type: ignore[misc, unused-ignore]
        def fuzzy_string_op_rhs(self, arg: list[Any]) -> dict[str, str]:
            return dict(super().fuzzy_string_op_rhs([*arg[:-1], re.escape(str(arg[-1]))]))

    return _Literal(mapper=mapper)
