"""The Materials Project's REST dialect, as the `mp-api` client speaks it.

Served are the collections that the snapshot can fill, under ``/materials/<collection>/``. Every request but the
heartbeat needs the key in ``X-API-KEY``. Phase diagrams and whole collections the client takes from S3: see
``_mp_open_data``. What else the client can ask for answers 501 and names what is served.
"""

from __future__ import annotations

import functools
import hmac
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tasks_lib.databases.identifiers import mp_number
from tasks_lib.databases.servers import _mp_documents as documents
from tasks_lib.databases.servers import _mp_queries as queries
from tasks_lib.databases.servers._dialects import OPEN_DATA, Served
from tasks_lib.databases.servers._mp_conditions import readers_for
from tasks_lib.databases.servers._mp_open_data import OpenData
from tasks_lib.databases.servers._mp_parameters import BadRequestError, UnprocessableError
from tasks_lib.databases.snapshot import Snapshot
from tasks_lib.records import now

# The client warns where the server's emmet is older than its own least one.
EMMET_VERSION = "0.87.3"

_ID = ("material_ids", "deprecated")
_CHEMISTRY = ("formula", "chemsys", "elements", "exclude_elements")
_SYMMETRY = ("crystal_system", "spacegroup_number", "spacegroup_symbol")
_BATCH = ("batch_id", "batch_id_eq_any", "batch_id_not_eq", "batch_id_neq_any", "license")
_FLAGS = ("is_stable", "theoretical", "is_gap_direct", "is_metal", "has_reconstructed")
_SIZES = ("nsites", "nelements", "volume", "density", "density_atomic")
_ENERGIES = (
    "energy_per_atom", "uncorrected_energy_per_atom", "formation_energy_per_atom", "energy_above_hull",
    "equilibrium_reaction_energy_per_atom",
)  # fmt: skip
_MAGNETIC = (
    "num_magnetic_sites", "num_unique_magnetic_sites", "total_magnetization", "total_magnetization_normalized_vol",
    "total_magnetization_normalized_formula_units",
)  # fmt: skip
_MODULI = ("k_voigt", "k_reuss", "k_vrh", "g_voigt", "g_reuss", "g_vrh")
_OTHER_NUMBERS = (
    "band_gap", "cbm", "vbm", "efermi", "universal_anisotropy", "homogeneous_poisson", "e_total", "e_ionic",
    "e_electronic", "n", "e_ij_max", "weighted_surface_energy", "weighted_work_function", "surface_anisotropy",
    "shape_factor",
)  # fmt: skip


@dataclass(frozen=True)
class _Collection:
    special: tuple[str, ...]
    numeric: tuple[str, ...]
    default_fields: tuple[str, ...] = ("material_id", "last_updated")


_COLLECTIONS = {
    "core": _Collection(
        (*_ID, *_CHEMISTRY, *_SYMMETRY, *_BATCH, "task_ids"), _SIZES, ("material_id", "formula_pretty", "last_updated")
    ),
    "summary": _Collection(
        (*_ID, *_CHEMISTRY, *_SYMMETRY, *_BATCH, *_FLAGS, "possible_species", "has_props", "ordering"),
        (*_SIZES, *_ENERGIES, *_MAGNETIC, *_MODULI, *_OTHER_NUMBERS),
        ("material_id",),
    ),
    "thermo": _Collection(
        (*_ID, *_CHEMISTRY, *_BATCH, "thermo_ids", "thermo_types", "is_stable"), (*_SIZES, *_ENERGIES)
    ),
    "electronic_structure": _Collection(
        (*_ID, *_CHEMISTRY, *_BATCH, "is_gap_direct", "is_metal", "magnetic_ordering"), (*_SIZES, "band_gap", "efermi")
    ),
    "elasticity": _Collection(
        (*_ID, *_CHEMISTRY, *_BATCH),
        (*_SIZES, *_MODULI, "elastic_anisotropy", "poisson"),
        ("material_id", "formula_pretty"),
    ),
    "magnetism": _Collection((*_ID, *_CHEMISTRY, *_BATCH, "ordering"), (*_SIZES, *_MAGNETIC)),
    "provenance": _Collection((*_ID, *_CHEMISTRY, *_BATCH), _SIZES, ("material_id", "formula_pretty", "last_updated")),
}
SUPPORTED = ("/heartbeat", *(f"/materials/{name}/" for name in _COLLECTIONS))


def build(snapshot: Snapshot, url: str, api_key: str, stack: ExitStack) -> Served:
    """Return the app of this dialect.

    Parameters
    ----------
    snapshot : Snapshot
        What is served.
    url : str
        Where the app will answer, with a slash at its end.
    api_key : str
        The key that requests must carry.
    stack : ExitStack
        Removes the open data's tables when the server closes.
    """
    materials = [documents.Material(entry, snapshot) for entry in snapshot]

    async def heartbeat(request: Request) -> Response:
        return JSONResponse(
            {
                "status": "OK",
                "time": now().isoformat(),
                "version": EMMET_VERSION,
                "db_version": snapshot.name,
                "access_controlled_batch_ids": [],
                "snapshot": snapshot.name,
                "digest": f"sha256:{snapshot.digest}",
            }
        )

    async def unsupported(request: Request) -> Response:
        detail = f"{request.method} {request.url.path} is not served from the snapshot; served by GET are {SUPPORTED}"
        return JSONResponse({"detail": detail, "supported": list(SUPPORTED)}, 501)

    routes = [Route("/heartbeat", heartbeat), Route("/heartbeat/", heartbeat)]
    for name, collection in _COLLECTIONS.items():
        routes += _routes(name, collection, functools.cache(partial(documents.collection, name, materials)))
    routes += OpenData(snapshot, materials, stack).routes(OPEN_DATA)
    routes.append(Route("/{rest:path}", unsupported, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]))
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return Served(
        app=_Keyed(app, api_key),
        endpoints={"mp": url, "open_data": f"{url.rstrip('/')}{OPEN_DATA}"},
        is_data=lambda path: path.startswith("/materials/"),
    )


def _routes(name: str, collection: _Collection, docs: Callable[[], list[documents.Doc]]) -> list[Route]:
    readers = readers_for(collection.special, collection.numeric)

    async def search(request: Request) -> Response:
        try:
            query = queries.read(request.query_params.multi_items(), readers, collection.default_fields)
        except BadRequestError as error:
            return JSONResponse({"detail": str(error)}, 400)
        except UnprocessableError as error:
            return JSONResponse({"detail": error.detail}, 422)
        data, total = queries.answer(query, docs(), keep_order_of_ids=name == "summary")
        meta = {
            "api_version": EMMET_VERSION,
            "time_stamp": now().isoformat(),
            "total_doc": total,
            "max_limit": queries.LARGEST_LIMIT,
            "default_fields": list(collection.default_fields),
        }
        return JSONResponse({"data": data, "meta": meta})

    async def single(request: Request) -> Response:
        material_id = f"mp-{request.path_params['digits_or_letters']}"
        try:
            number = mp_number(material_id)
            doc = next((one for one in docs() if mp_number(one["material_id"]) == number), None)
        except ValueError:
            doc = None
        if doc is None:
            return JSONResponse({"detail": f"Item with material_id = {material_id[:80]} not found"}, 404)
        fields = request.query_params.get("_fields")
        return JSONResponse({"data": [queries.project(doc, tuple(fields.split(",")) if fields else None)]})

    # Only what is spelt as an id is one: /materials/core/blessed_tasks/ is another route, and not served.
    return [
        Route(f"/materials/{name}/", search),
        Route(f"/materials/{name}", search),
        Route(f"/materials/{name}/mp-{{digits_or_letters}}/", single),
        Route(f"/materials/{name}/mp-{{digits_or_letters}}", single),
    ]


class _Keyed:
    """Lets requests with the right key through; heartbeat and open data need none, as with the real ones."""

    def __init__(self, app: ASGIApp, api_key: str) -> None:
        self._app = app
        self._api_key = api_key.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = scope["type"] != "http" or scope["path"].rstrip("/") == "/heartbeat"
        if is_open or scope["path"].startswith(f"{OPEN_DATA}/"):
            await self._app(scope, receive, send)
            return
        given = Request(scope).headers.get("x-api-key", "")
        if not given:
            detail = "No API key found in request: send it in the header X-API-KEY"
            await JSONResponse({"detail": detail, "message": detail}, 401)(scope, receive, send)
        elif not hmac.compare_digest(given.encode("utf-8", "replace"), self._api_key):
            detail = "Invalid API key: this server does not know the key in the header X-API-KEY"
            await JSONResponse({"detail": detail, "message": detail}, 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)
