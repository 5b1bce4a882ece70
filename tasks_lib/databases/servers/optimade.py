"""The OPTIMADE dialect: the reference server of the `optimade` package over the snapshot, once per provider.

Providers differ in coverage by a written rule, so that asking several of them means something:

* ``crystals``: every entry, with its computed and measured properties;
* ``binaries``: entries of at most two elements and at most eight sites; of properties only band gap and density;
* the OPTIMADE face of the OQMD dialect: every entry, with OQMD's own fields (``_oqmd_delta_e`` and so on).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tasks_lib.databases.entry import Entry
from tasks_lib.databases.servers import _optimade_app
from tasks_lib.databases.servers import _optimade_documents as documents
from tasks_lib.databases.servers._dialects import Served
from tasks_lib.databases.servers._optimade_text import literal_transformer
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.databases.vocabulary import PROPERTIES
from tasks_lib.records.errors import ConfigurationError

if TYPE_CHECKING:
    from optimade.server.config import ServerConfig

PAGE_LIMIT = 20
_NEGATED_ONLY = re.compile(r"NOT\s*\([^()]{0,1000}HAS\s+ONLY|NOT\s+\S{1,200}\s+HAS\s+ONLY")
_COUNTED = ("page_limit", "page_offset", "page_number")
_OTHER_PAGING = ("page_above", "page_below", "page_cursor")
_QMPY_NAMES = {"limit": "page_limit", "offset": "page_offset", "fields": "response_fields"}
LARGEST_PAGE = 500
LONGEST_FILTER = 8_000
DEEPEST_FILTER = 30
# A hundred comparisons take the reference server a second.
MOST_COMPARISONS = 200
MOST_SORT_FIELDS = 10
_COMPARISON = re.compile(r"<=|>=|!=|[<>=]|\b(?:HAS|CONTAINS|STARTS|ENDS|LENGTH|KNOWN|UNKNOWN)\b")
# Leftovers of the builder, and values that are no single number or text, stay in the snapshot.
_NOT_SERVED = frozenset({"largest_force", "largest_stress", "decomposes_to", "site_moments", "elastic_tensor"})


@dataclass(frozen=True)
class Provider:
    """What a provider covers and how it calls itself.

    Attributes
    ----------
    name : str
        Last part of its base URL.
    prefix : str
        Of its own fields, without the underscores.
    title, rule : str
        For people, served in ``meta.provider``.
    covers : callable
        Whether an entry is among its structures.
    fields : dict
        Name after the prefix to property of the vocabulary, or ``prototype`` or ``nsites``.
    """

    name: str
    prefix: str
    title: str
    rule: str
    covers: Callable[[Entry], bool]
    fields: dict[str, str]


CRYSTALS = Provider(
    name="crystals",
    prefix="assay",
    title="MatAssay crystals",
    rule="every entry of the snapshot, with its computed and measured properties",
    covers=lambda entry: True,
    fields={name: name for name in (*PROPERTIES, "prototype") if name not in _NOT_SERVED},
)
BINARIES = Provider(
    name="binaries",
    prefix="assaybin",
    title="MatAssay small binaries",
    rule="entries of at most two elements and at most eight sites; band gap and density only",
    covers=lambda entry: len(entry.elements) <= 2 and entry.nsites <= 8,
    fields={"band_gap": "band_gap", "density": "density"},
)
OQMD_FACE = Provider(
    name="optimade",
    prefix="oqmd",
    title="MatAssay in OQMD's dialect",
    rule="every entry of the snapshot, with the fields that OQMD serves",
    covers=lambda entry: True,
    fields={
        "delta_e": "formation_energy_per_atom",
        "stability": "energy_above_hull",
        "band_gap": "band_gap",
        "volume": "volume",
        "spacegroup": "space_group_symbol",
        "prototype": "prototype",
        "natoms": "nsites",
    },
)
PROVIDERS = (CRYSTALS, BINARIES)
_TEXTS = frozenset({"space_group_symbol", "crystal_system", "point_group", "magnetic_ordering", "prototype"})
_COUNTS = frozenset({"space_group_number", "nsites"})
_TRUTHS = frozenset({"is_stable", "band_gap_is_direct"})


def build(snapshot: Snapshot, url: str, stack: ExitStack) -> Served:
    """Return an app with every provider of `PROVIDERS` under its name.

    Parameters
    ----------
    snapshot : Snapshot
        What is served.
    url : str
        Where the app will answer, with a slash at its end.
    stack : ExitStack
        Gives the providers' memory back when the server closes.
    """
    endpoints = {provider.name: f"{url}{provider.name}" for provider in PROVIDERS}

    async def heartbeat(request: Request) -> Response:
        return JSONResponse(
            {"status": "OK", "snapshot": snapshot.name, "digest": f"sha256:{snapshot.digest}", "providers": endpoints}
        )

    async def unsupported(request: Request) -> Response:
        detail = f"{request.url.path} is not served; the base URLs are {', '.join(endpoints.values())}"
        return JSONResponse({"errors": [{"status": "501", "title": "Not Implemented", "detail": detail}]}, 501)

    mounts = [Mount(f"/{one.name}", build_provider(one, snapshot, endpoints[one.name], stack)) for one in PROVIDERS]
    rest = Route("/{rest:path}", unsupported, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
    app = Starlette(routes=[Route("/heartbeat", heartbeat), *mounts, rest])
    return Served(app=app, endpoints=endpoints, is_data=lambda path: "/structures" in path)


def build_provider(provider: Provider, snapshot: Snapshot, base_url: str, stack: ExitStack) -> ASGIApp:
    """Return the reference server for one provider, its structures in memory.

    Raises
    ------
    ConfigurationError
        If the `optimade` package is not installed.
    """
    _optimade_app.quiet()
    try:
        from bson.codec_options import CodecOptions
        from optimade.server.entry_collections.mongo import get_mongo_client
    except ImportError as error:
        msg = "the OPTIMADE dialect needs the package 'optimade[server]': install matassay with the extra 'databases'"
        raise ConfigurationError(msg) from error

    config = _settings(provider, base_url)
    app = _optimade_app.create(config, provider.name)
    stack.callback(lambda: get_mongo_client(config).drop_database(config.mongo_database))
    collections = app.state.entry_collections
    for one in collections.values():
        one.transformer = literal_transformer(one.resource_mapper)
    _optimade_app.share(app, config, snapshot, provider.name, lambda: _documents(provider, snapshot))
    for one in collections.values():
        # Else times leave without a zone, which the standard does not allow and its models do not notice.
        one.collection = one.collection.with_options(codec_options=CodecOptions(tz_aware=True))
    collections["links"].insert([documents.link(provider.name, provider.title, provider.rule, base_url)])
    return _Bounded(app, renames=provider is OQMD_FACE)


def _documents(provider: Provider, snapshot: Snapshot) -> dict[str, list[dict[str, Any]]]:
    covered = [entry for entry in snapshot if provider.covers(entry)]
    references, ids = documents.references(snapshot, covered)
    return {
        "references": references,
        "structures": [documents.structure(one, provider.fields, ids) for one in covered],
    }


class _Bounded:
    """Refuses filters that would cost too much, and speaks the paging of `qmpy_rester`."""

    def __init__(self, app: ASGIApp, renames: bool) -> None:
        self._app = app
        self._renames = renames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if self._renames:
                asked = Request(scope).query_params.multi_items()
                query = urlencode([(_QMPY_NAMES.get(key, key), value) for key, value in asked])
                scope = {**scope, "query_string": query.encode("ascii")}
            detail = _objection(Request(scope))
            if detail:
                error = {"status": "400", "title": "Bad Request", "detail": detail}
                await JSONResponse({"errors": [error]}, 400)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _objection(request: Request) -> str | None:
    """Say why a query is refused before the reference server sees it; it fails on these with 500."""
    text = request.query_params.get("filter", "")
    if len(text) > LONGEST_FILTER or _depth(text) > DEEPEST_FILTER:
        return (
            f"a filter has at most {LONGEST_FILTER} characters and {DEEPEST_FILTER} levels of parentheses and NOT, "
            f"got {len(text)} and {_depth(text)}: split the query"
        )
    comparisons = len(_COMPARISON.findall(text))
    if comparisons > MOST_COMPARISONS:
        return f"a filter has at most {MOST_COMPARISONS} comparisons, got {comparisons}: split the query"
    sorts = request.query_params.get("sort", "").count(",") + 1
    if sorts > MOST_SORT_FIELDS:
        return f"sort has at most {MOST_SORT_FIELDS} fields, got {sorts}: leave some away"
    if _NEGATED_ONLY.search(text):
        return "NOT over HAS ONLY is not served: say with HAS ANY which elements are to be there, or filter the reply"
    if "@" not in request.query_params.get("email_address", "@"):
        return "email_address is an address with an @: leave it away or write one"
    hint = request.query_params.get("api_hint")
    if hint is not None and not re.fullmatch(r"v[0-9]{1,3}(\.[0-9]{1,3})?", hint):
        return f"api_hint is a version such as v1 or v1.2, got {hint[:40]!r}"
    for name in _COUNTED:
        value = request.query_params.get(name)
        if value is not None and not re.fullmatch(r"[0-9]{1,9}", value):
            return f"{name} is a whole number from 0 to 999999999, got {value[:40]!r}"
    if any(name in request.query_params for name in _OTHER_PAGING):
        return f"{', '.join(_OTHER_PAGING)} are not served: use page_offset, or follow links.next"
    return None


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest + text.count("NOT")


def _settings(provider: Provider, base_url: str) -> ServerConfig:
    from optimade.server.config import ServerConfig

    return ServerConfig.model_validate(
        {
            "insert_test_data": False,
            "database_backend": "mongomock",
            # Memory of this process is shared by name: a name of its own keeps servers apart.
            "mongo_database": f"{provider.name}-{uuid.uuid4().hex}",
            "page_limit": PAGE_LIMIT,
            "page_limit_max": LARGEST_PAGE,
            "base_url": base_url,
            # The entries are ours and tested; checking each again at every reply takes half of its time.
            "validate_api_response": False,
            "provider": {
                "prefix": provider.prefix,
                "name": provider.title,
                "description": provider.rule,
                "homepage": None,
            },
            "implementation": {"name": "MatAssay", "version": "1"},
            "provider_fields": {"structures": [_described(name, of) for name, of in provider.fields.items()]},
        }
    )


def _described(name: str, of: str) -> dict[str, str]:
    kind = PROPERTIES.get(of)
    typed = "string" if of in _TEXTS else "integer" if of in _COUNTS else "boolean" if of in _TRUTHS else "float"
    meaning = kind.meaning if kind else {"prototype": "AFLOW label of the structure type", "nsites": "sites"}[of]
    described = {"name": name, "type": typed, "description": meaning}
    if kind and kind.unit:
        described["unit"] = kind.unit
    return described
