"""Apps of the reference server that share what costs time: the grammar of filters, and the documents in memory.

Every episode starts servers of its own. Building the grammar six times and filling the collections took half a second
of each start; neither depends on where a server answers.
"""

from __future__ import annotations

import functools
import logging
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tasks_lib.databases.snapshot import Snapshot

if TYPE_CHECKING:
    from fastapi import FastAPI
    from optimade.server.config import ServerConfig

Documents = Mapping[str, Iterable[dict[str, Any]]]
"""Name of a collection to its documents."""

# The factory changes lists of its own module while it runs, and servers may start in several threads at once.
_LOCK = threading.Lock()
_FILLED: weakref.WeakKeyDictionary[Snapshot, dict[str, Any]] = weakref.WeakKeyDictionary()


def quiet(name: str = "optimade") -> None:
    """Keep a logger of the package away from the console and from a folder of the whole machine.

    Left to itself, the package logs to both, from the import of its server on.
    """
    logger = logging.getLogger(name)
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def create(config: ServerConfig, tag: str) -> FastAPI:
    """Return an app of the reference server whose collections are empty and share one grammar."""
    from optimade.server import create_app as factory
    from optimade.server.entry_collections import entry_collections
    from optimade.server.routers import versions

    quiet(f"optimade.{tag}")
    with _LOCK:
        original = entry_collections.LarkParser
        entry_collections.LarkParser = parser_type()
        try:
            app: FastAPI = factory.create_app(config, logger_tag=tag)
            return app
        finally:
            entry_collections.LarkParser = original
            # The factory grows its own module's list on every call, and a second app would get /v1/versions.
            while versions in factory.MAIN_ENDPOINTS:
                factory.MAIN_ENDPOINTS.remove(versions)


def share(app: FastAPI, config: ServerConfig, snapshot: Snapshot, name: str, fill: Callable[[], Documents]) -> None:
    """Give an app the collections of a provider, filled at the first call and kept as long as the snapshot.

    Parameters
    ----------
    app : FastAPI
        From `create`.
    config : ServerConfig
        Its settings.
    snapshot : Snapshot
        What the documents come from.
    name : str
        The provider's.
    fill : callable
        Makes the documents. They must not depend on where the server answers.
    """
    from optimade.server.entry_collections.mongo import get_mongo_client

    with _LOCK:
        filled = _FILLED.setdefault(snapshot, {})
        if name not in filled:
            client, database = get_mongo_client(config), f"{name}-{uuid.uuid4().hex}"
            for collection, documents in fill().items():
                client[database][collection].insert_many(documents, ordered=False)
            weakref.finalize(snapshot, client.drop_database, database)
            filled[name] = client[database]
        for collection in filled[name].list_collection_names():
            app.state.entry_collections[collection].collection = filled[name][collection]


@functools.cache
def parser_type() -> type[Any]:
    """Return a class of filter parsers that share one grammar and keep nothing of a request.

    The package's own parser (optimade 1.5) keeps the tree in itself before it returns it, so that two requests at once
    can get one another's filter.
    """
    from optimade.exceptions import BadRequest
    from optimade.filterparser import LarkParser

    grammar = LarkParser()

    class SharedParser:
        version, variant, lark = grammar.version, grammar.variant, grammar.lark

        def parse(self, text: str) -> Any:
            try:
                return self.lark.parse(text)
            except Exception as error:
                raise BadRequest(detail=f"Unable to parse filter {text}. Lark traceback: \n{error}") from error

    return SharedParser
