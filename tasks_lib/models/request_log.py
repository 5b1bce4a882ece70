"""The log of everything that a stage sent to models and got back: ``requests.jsonl``, pictures kept once as blobs."""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tasks_lib.models.protocol import Exchange
from tasks_lib.models.redaction import Redactor
from tasks_lib.records import BlobRef, ExchangeRecord, clean_json, clean_text, now
from tasks_lib.store import Store

# A reply longer than this is cut in the log, characters: an endpoint that sends megabytes must not fill the store.
LONGEST_REPLY = 400_000
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/]+={0,2})")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_TYPE_KEYS = ("media_type", "mimeType", "mime_type")


class RequestLog:
    """Writes a line for each try.

    Parameters
    ----------
    store : Store
    path : str
        The ``.jsonl`` file, of which this is the only writer.
    model : str
        The model's name in the settings.
    hide : Redactor
        Takes secrets out of whole lines.
    """

    def __init__(self, store: Store, path: str, model: str, hide: Redactor) -> None:
        self._store = store
        self._path = path
        self._model = model
        self._hide = hide
        self._lock = threading.Lock()
        self._call = 0

    def add(self, exchange: Exchange) -> None:
        """Write a try down; the first of a call begins a new number."""
        with self._lock:
            if exchange.attempt == 1 or self._call == 0:
                self._call += 1
            self._write(
                attempt=exchange.attempt,
                dialect=exchange.dialect,
                url=exchange.url,
                started=exchange.started,
                seconds=max(0.0, exchange.seconds),
                status=exchange.status,
                error=exchange.error,
                request=exchange.request,
                reply=exchange.reply,
            )

    def add_kept(self, dialect: str, url: str, request: Mapping[str, Any], reply: str) -> None:
        """Write down that a reply was kept from an earlier request, and nothing was sent."""
        with self._lock:
            self._call += 1
            self._write(
                attempt=0, dialect=dialect, url=url, started=now(), seconds=0.0, status=None, error="",
                request=request, reply=reply, from_cache=True,
            )  # fmt: skip

    def _write(
        self,
        *,
        attempt: int,
        dialect: str,
        url: str,
        started: datetime,
        seconds: float,
        status: int | None,
        error: str,
        request: Mapping[str, Any],
        reply: str,
        from_cache: bool = False,
    ) -> None:
        pictures: dict[str, BlobRef] = {}
        told = clean_json(self._without_pictures(dict(request), pictures))
        record = ExchangeRecord(
            call=self._call,
            attempt=attempt,
            model=self._model,
            dialect=dialect,
            url=self._hide(url),
            started=started,
            seconds=seconds,
            status=status,
            error=self._hide(error),
            request=self._hidden(told),
            pictures=tuple(pictures.values()),
            reply=_cut(self._hide(clean_text(reply))),
            from_cache=from_cache,
        )
        self._store.append_line(self._path, record.to_line())

    def _hidden(self, request: Any) -> Any:
        """Take secrets out of a request, also out of keys; what is no JSON any more is kept as text."""
        text = json.dumps(request, ensure_ascii=False)
        hidden = self._hide(text)
        if hidden == text:
            return request
        try:
            return json.loads(hidden)
        except ValueError:
            return hidden

    def _without_pictures(self, value: Any, found: dict[str, BlobRef]) -> Any:
        """Return JSON in which each picture is replaced by ``blob:`` and its digest; the pictures are in the store."""
        if isinstance(value, str):
            return _DATA_URL.sub(lambda match: self._put(match[2], match[1], found) or match[0], value)
        if isinstance(value, Mapping):
            media_type = next((value[key] for key in _TYPE_KEYS if isinstance(value.get(key), str)), None)
            data = value.get("data")
            if media_type is not None and isinstance(data, str) and _BASE64.fullmatch(data):
                name = self._put(data, media_type, found)
                if name:
                    return {**value, "data": name}
            return {str(key): self._without_pictures(entry, found) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self._without_pictures(entry, found) for entry in value]
        return value

    def _put(self, text: str, media_type: str, found: dict[str, BlobRef]) -> str | None:
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
        ref = self._store.put_blob(data, media_type)
        found.setdefault(ref.sha256, ref)
        return f"blob:{ref.sha256}"


def _cut(text: str) -> str:
    if len(text) <= LONGEST_REPLY:
        return text
    return f"{text[:LONGEST_REPLY]} [… {len(text) - LONGEST_REPLY} characters more]"
