"""OQMD's REST dialect: ``/oqmdapi/formationenergy`` as its users and `qmpy_rester` know it.

The reply has the shape of the real service: ``links``, ``resource``, ``data``, ``meta``, ``response_message``; a single
entry stands bare, not under ``data``. Two habits of the real service are left out on purpose, because they make sets
incomplete without a word: with ``sort_by`` it forgets what lies beyond ``limit``, and ``more_data_available`` is true
on the last page. The OPTIMADE face of this provider is served under ``/optimade``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from tasks_lib.databases.entry import Entry
from tasks_lib.databases.servers._dialects import Served
from tasks_lib.databases.servers.optimade import OQMD_FACE, build_provider
from tasks_lib.databases.servers.oqmd_filter import OqmdFilterError, parse
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.records import now

DEFAULT_LIMIT = 50
LARGEST_LIMIT = 1_000
FIELDS = (
    "name", "entry_id", "calculation_id", "icsd_id", "formationenergy_id", "duplicate_entry_id", "composition",
    "composition_generic", "prototype", "spacegroup", "volume", "ntypes", "natoms", "unit_cell", "sites", "band_gap",
    "delta_e", "stability", "fit", "calculation_label",
)  # fmt: skip
_PARAMETERS = frozenset({
    "fields", "fields!", "filter", "limit", "offset", "sort_by", "desc", "sort_offset", "format", "composition", "icsd",
    "noduplicate",
})  # fmt: skip
_SORTABLE = ("delta_e", "stability")
_TRUE = frozenset({"T", "t", "True", "true", "TRUE"})
_FALSE = frozenset({"F", "f", "False", "false", "FALSE"})
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_SUPPORTED = ("/oqmdapi/formationenergy", "/oqmdapi/formationenergy/<id>", "/optimade", "/heartbeat")


class _RefusedError(Exception):
    """A query that cannot be answered: becomes a 400 with the reason."""


def build(snapshot: Snapshot, url: str, stack: ExitStack) -> Served:
    """Return the app of this dialect.

    Parameters
    ----------
    snapshot : Snapshot
        What is served.
    url : str
        Where the app will answer, with a slash at its end.
    stack : ExitStack
        Gives the OPTIMADE face's memory back when the server closes.
    """
    rows = [row(entry) for entry in snapshot]
    by_id = {found["formationenergy_id"]: found for found in rows} | {found["entry_id"]: found for found in rows}

    async def listing(request: Request) -> Response:
        try:
            return JSONResponse(_page(request, rows))
        except (_RefusedError, OqmdFilterError) as error:
            return JSONResponse({"error": str(error), "detail": str(error)}, 400)

    async def single(request: Request) -> Response:
        number = request.path_params["number"]
        found = by_id.get(int(number)) if re.fullmatch(r"[0-9]{1,15}", number) else None
        if found is None:
            return JSONResponse({"detail": "Not found."}, 404)
        return JSONResponse({name: found[name] for name in _chosen(request)})

    async def heartbeat(request: Request) -> Response:
        return JSONResponse({"status": "OK", "snapshot": snapshot.name, "digest": f"sha256:{snapshot.digest}"})

    async def unsupported(request: Request) -> Response:
        detail = f"{request.url.path} is not served from the snapshot; served are {', '.join(_SUPPORTED)}"
        return JSONResponse({"detail": detail, "supported": list(_SUPPORTED)}, 501)

    face = f"{url}optimade"
    app = Starlette(
        routes=[
            Route("/heartbeat", heartbeat),
            Route("/oqmdapi/formationenergy", listing),
            Route("/oqmdapi/formationenergy/", listing),
            Route("/oqmdapi/formationenergy/{number}", single),
            Mount("/optimade", build_provider(OQMD_FACE, snapshot, face, stack)),
            Route("/{rest:path}", unsupported, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        ]
    )
    return Served(
        app=app,
        endpoints={"oqmd": f"{url}oqmdapi", "optimade": face},
        is_data=lambda path: "/formationenergy" in path or "/structures" in path,
    )


def row(entry: Entry) -> dict[str, Any]:
    """Return an entry as a row of the reply, with ``elements`` and ``strukturbericht`` for filters."""
    from pymatgen.core.composition import Composition

    amounts = Composition(entry.formula).get_el_amt_dict()
    sites = zip(entry.structure.species, entry.structure.positions, strict=True)
    return {
        "name": entry.formula,
        "entry_id": entry.oqmd_entry_id,
        "calculation_id": entry.oqmd_calculation_id,
        "icsd_id": None,
        "formationenergy_id": entry.oqmd_calculation_id + 10_000_000,
        "duplicate_entry_id": entry.oqmd_entry_id,
        "composition": " ".join(f"{symbol}{amounts[symbol]:g}" for symbol in sorted(amounts)),
        "composition_generic": entry.anonymous_formula,
        "prototype": entry.prototype,
        "spacegroup": entry.value("space_group_symbol"),
        "volume": entry.value("volume"),
        "ntypes": len(entry.elements),
        "natoms": entry.nsites,
        "unit_cell": [list(vector) for vector in entry.structure.lattice],
        "sites": [f"{symbol} @ {x:g} {y:g} {z:g}" for symbol, (x, y, z) in sites],
        "band_gap": entry.value("band_gap"),
        "delta_e": entry.value("formation_energy_per_atom"),
        "stability": entry.value("energy_above_hull"),
        "fit": "standard",
        "calculation_label": "static",
        "elements": entry.elements,
        "strukturbericht": entry.strukturbericht,
    }


def _page(request: Request, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    asked = request.query_params
    if asked.get("format", "json") != "json":
        msg = f"format {asked['format'][:20]!r} is not served: use format=json"
        raise _RefusedError(msg)
    found = _filtered(rows, asked.get("filter"), asked.get("composition"), asked.get("icsd"))
    found = _sorted(found, asked.get("sort_by"), asked.get("desc", "") in _TRUE)
    found = found[_count(asked.get("sort_offset"), 0) if asked.get("sort_by") else 0 :]
    limit, offset = _count(asked.get("limit"), DEFAULT_LIMIT) or DEFAULT_LIMIT, _count(asked.get("offset"), 0)
    comments = [f"parameter {name[:40]!r} is unknown and was ignored" for name in asked if name not in _PARAMETERS]
    if limit > LARGEST_LIMIT:
        comments.append(f"limit {limit} was lowered to {LARGEST_LIMIT}: follow links.next")
        limit = LARGEST_LIMIT
    names = _chosen(request)
    page = found[offset : offset + limit]
    following = _link(request, limit, offset + limit) if offset + limit < len(found) else None
    return {
        "links": {
            "next": following,
            "previous": _link(request, limit, max(offset - limit, 0)) if offset > 0 else None,
            "base_url": {"href": f"{request.base_url}oqmdapi", "meta": {"_oqmd_version": "1.0"}},
        },
        "resource": {},
        "data": [{name: one[name] for name in names} for one in page],
        "meta": {
            "query": {"representation": f"/formationenergy?{request.url.query}"},
            "api_version": "1.0",
            "time_stamp": now().strftime("%Y-%m-%d %H:%M:%S"),
            "data_returned": len(page),
            "data_available": len(found),
            "comments": "; ".join(comments),
            "query_tree": "",
            "more_data_available": following is not None,
        },
        "response_message": "OK",
    }


def _filtered(
    rows: Sequence[dict[str, Any]], text: str | None, composition: str | None, icsd: str | None
) -> list[dict[str, Any]]:
    found = list(rows)
    if icsd in _TRUE:
        found = []  # no entry of the snapshot is from the ICSD
    elif icsd is not None and icsd not in _FALSE:
        msg = f"icsd is True or False, got {icsd[:20]!r}"
        raise _RefusedError(msg)
    if composition:
        allowed, wanted = _composition(composition)
        found = [
            one
            for one in found
            if (wanted is None or one["composition"] == wanted)
            and (allowed is None or allowed.issuperset(one["elements"]))
        ]
    if text:
        condition = parse(text)
        found = [one for one in found if condition.matches(one)]
    return found


def _composition(text: str) -> tuple[frozenset[str] | None, str | None]:
    """Read ``Fe-O`` (a chemical system with its parts) or ``Fe2O3`` (one composition)."""
    from pymatgen.core.composition import Composition

    if "-" in text:
        symbols = text.strip().split("-")
        if not all(_SYMBOL.fullmatch(symbol) for symbol in symbols):
            msg = f"composition={text[:40]!r} is no list of element symbols joined by '-': write it as Fe-O"
            raise _RefusedError(msg)
        return frozenset(symbols), None
    try:
        amounts = Composition(text[:200], strict=True).reduced_composition.get_el_amt_dict()
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        msg = f"composition={text[:40]!r} is no formula: write it as Fe2O3 or Fe-O (braces are not served)"
        raise _RefusedError(msg) from error
    return None, " ".join(f"{symbol}{amounts[symbol]:g}" for symbol in sorted(amounts))


def _sorted(rows: list[dict[str, Any]], name: str | None, descending: bool) -> list[dict[str, Any]]:
    if not name:
        return rows
    if name not in _SORTABLE:
        msg = f"sort_by is one of {', '.join(_SORTABLE)}, got {name[:40]!r}"
        raise _RefusedError(msg)
    known = [one for one in rows if one[name] is not None]
    known.sort(key=lambda one: (-one[name] if descending else one[name], one["entry_id"]))
    return known + [one for one in rows if one[name] is None]


def _chosen(request: Request) -> list[str]:
    asked = request.query_params
    if asked.get("fields"):
        wanted = set(asked["fields"].split(","))
        return [name for name in FIELDS if name in wanted]
    if asked.get("fields!"):
        unwanted = set(asked["fields!"].split(","))
        return [name for name in FIELDS if name not in unwanted]
    return list(FIELDS)


def _count(text: str | None, default: int) -> int:
    """Read a count as the real service does: what is no count is the default."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else default


def _link(request: Request, limit: int, offset: int) -> str:
    return str(request.url.include_query_params(limit=limit, offset=offset))
