"""The shapes of answers that an instruction shows: JSON such as ``{"gap_ev": number}``, and the columns of tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

Shape = dict[str, "Shape"] | list["Shape"] | str
"""An object, a list of one or more shapes, or the word that stands where a value goes."""
_DEEPEST = 8
_MOST = 200
_LIST_BEFORE = re.compile(r"(?i)\blists?\b[^.;:{}]{0,80}$")
_LIST_OF_OBJECTS = re.compile(r'(?i)\blists?\s+(?:of|with)\b[^."]{0,60}\bobjects?\b')
_NUMBERS = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=1
    )
} | {"fifteen": 15, "twenty": 20}


@dataclass(slots=True)
class _Reader:
    """Reads JSON as people write it in prose: bare words for values, dots for "and so on"."""

    text: str
    at: int = 0

    def value(self, depth: int = 0) -> Shape:
        self._blanks()
        if depth < _DEEPEST and self._next("{"):
            return self._object(depth)
        if depth < _DEEPEST and self._next("["):
            return self._list(depth)
        return self._word()

    def _object(self, depth: int) -> Shape:
        found: dict[str, Shape] = {}
        while self.at < len(self.text) and len(found) < _MOST:
            self._blanks(",")
            if self._next("}"):
                break
            key = self._word(":")
            if self._next(":"):
                found[key] = self.value(depth + 1)
            elif not self._blanks(",") and not self._next("}"):
                self.at += 1
            elif self.text[self.at - 1 : self.at] == "}":
                break
        return found

    def _list(self, depth: int) -> Shape:
        found: list[Shape] = []
        while self.at < len(self.text) and len(found) < _MOST:
            self._blanks(",")
            if self._next("]"):
                break
            before = self.at
            item = self.value(depth + 1)
            if item and item not in (".", "..", "...", "…"):
                found.append(item)
            if self.at == before:
                self.at += 1
        return found

    def _word(self, stop: str = "") -> str:
        """Read a quoted text, or a bare one up to the next sign of structure."""
        self._blanks()
        quoted = re.compile(r'"([^"\n]{0,200})"').match(self.text, self.at)
        if quoted is not None:
            self.at = quoted.end()
            return quoted[1]
        bare = re.compile(rf"[^,{{}}\[\]{re.escape(stop)}]{{0,200}}").match(self.text, self.at)
        self.at = bare.end() if bare else self.at
        return " ".join(bare[0].split()) if bare else ""

    def _blanks(self, more: str = "") -> bool:
        before = self.at
        while self.at < len(self.text) and (self.text[self.at].isspace() or self.text[self.at] in more):
            self.at += 1
        return self.at > before

    def _next(self, sign: str) -> bool:
        self._blanks()
        if self.text.startswith(sign, self.at):
            self.at += 1
            return True
        return False


def json_shapes(text: str) -> list[tuple[int, Shape]]:
    """Return where each JSON shape of a text starts, and what it is; objects and lists alone count."""
    found: list[tuple[int, Shape]] = []
    end = 0
    for match in re.finditer(r"[{\[]", text):
        if match.start() < end or len(found) >= _MOST:
            continue
        reader = _Reader(text, match.start())
        shape = reader.value()
        # "[1]" and "(0, 1]" of prose are no answers: an object has keys, a list quotes, dots or objects.
        plain = isinstance(shape, list) and not re.search(r'["….{]', text[match.start() : reader.at])
        if shape and not plain:
            one_of_many = isinstance(shape, dict) and _LIST_BEFORE.search(text[: match.start()][-120:])
            found.append((match.start(), [shape] if one_of_many else shape))
            end = reader.at
    return found


def json_shape(text: str, path: str) -> Shape | None:
    """Return the shape of the JSON file `path`: one that the text shows closest to its name, else one that it tells."""
    shapes = json_shapes(text)
    if shapes:
        places = [match.start() for match in re.finditer(re.escape(path), text)] or [0]
        return min(shapes, key=lambda shape: min(abs(shape[0] - place) for place in places))[1]
    told = _told_keys(text) or dict.fromkeys(keys(text), "value")
    if told:
        return [told] if _LIST_OF_OBJECTS.search(text) else told
    found = re.search(r"(?i)\blist of (?:the |their )?([\w ]{1,60})", text)
    return [found[1]] if found else None


def _told_keys(text: str) -> dict[str, Shape]:
    """Return the keys of ``"entry_id", a whole number; "gap" in eV`` with what is said of each."""
    found: dict[str, Shape] = {}
    for match in re.finditer(r'"([A-Za-z][A-Za-z0-9_]{0,40})"([^;."]{0,80})', text):
        meaning = match[2].strip(" ,") or "value"
        found[match[1]] = [meaning] if re.match(r"(?:the |a )?list\b", meaning) else meaning
    return found


def columns(text: str, path: str) -> list[str]:
    """Return the columns of a table that a text names, those closest to `path`; empty where it names none."""
    bare = re.sub(r"\([^()]{0,200}\)", "", text)
    lists = [
        (match.start(), _names(match[1]))
        for match in re.finditer(
            r"(?i)\b(?:columns?|header(?: line)?)\b(?: are| named| called)?:?\s+([^;\n.]{1,400})", bare
        )
    ]
    place = max(0, bare.find(path))
    lists = [(start, names) for start, names in lists if len(names) > 1]
    return min(lists, key=lambda entry: abs(entry[0] - place))[1] if lists else []


def keys(text: str) -> list[str]:
    """Return the keys that a text names in prose, as in "with the keys a, b and c"."""
    found = re.search(r"(?i)\bkeys?\b(?: are| named| called)?:?\s+([^;\n.]{1,400})", text)
    return _names(found[1]) if found else []


def _names(listed: str) -> list[str]:
    words = [word.strip(" `\"'") for word in re.split(r",|\band\b", listed)]
    names: list[str] = []
    for word in words:
        first = re.match(r"[A-Za-z][A-Za-z0-9_]*", word)
        if first is None or (" " in word and names and "_" not in first[0]):
            break
        names.append(first[0])
    return list(dict.fromkeys(names))[:40]


def how_many(text: str, default: int = 3) -> int:
    """Return how many items a text asks for, at most fifty."""
    found = re.search(rf"(?i)\b(?:any|exactly|first|top|the)\s+(\d{{1,2}}|{'|'.join(_NUMBERS)})\b", text)
    if found is None:
        return default
    word = found[1].casefold()
    return max(1, min(50, int(word) if word.isdecimal() and word.isascii() else _NUMBERS.get(word, default)))
