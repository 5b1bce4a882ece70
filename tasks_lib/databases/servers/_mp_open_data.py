"""The open-data buckets that the Materials Project's client reads beside REST: Delta tables over a small face of S3.

The client takes pre-built phase diagrams, and whole collections (a search without any condition), from S3 and not from
REST. With ``AWS_ENDPOINT_URL`` set to this face it finds both here. A table is built when it is first asked for, with
the client's own schema, and holds what the snapshot knows. Every other key is absent, as S3 says it.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tasks_lib.databases.servers import _mp_documents as documents
from tasks_lib.databases.snapshot import Snapshot

BUCKET = "materialsproject-build"
PHASE_DIAGRAMS = "objects/phase-diagrams"
# The client's mixed scheme is its default; a snapshot has one scale, so both names lead to the same hull.
THERMO_TYPES = (documents.THERMO_TYPE, "GGA_GGA+U_R2SCAN")
# Table to collection and the model whose schema the client reads it with.
_TABLES = {
    PHASE_DIAGRAMS: ("", "", ""),
    "collections/materials": ("core", "emmet.core.material", "MaterialsDoc"),
    "collections/summary": ("summary", "emmet.core.summary", "SummaryDoc"),
    "collections/thermo": ("thermo", "emmet.core.thermo", "ThermoDoc"),
    "collections/electronic-structure": (
        "electronic_structure",
        "emmet.core.electronic_structure",
        "ElectronicStructureDoc",
    ),
    "collections/elasticity": ("elasticity", "emmet.core.elasticity", "ElasticityDoc"),
    "collections/magnetism": ("magnetism", "emmet.core.magnetism", "MagnetismDoc"),
    "collections/provenance": ("provenance", "emmet.core.provenance", "ProvenanceDoc"),
}


class OpenData:
    """The buckets of one server.

    Parameters
    ----------
    snapshot : Snapshot
        What the tables hold.
    materials : sequence of Material
        Its entries with their documents.
    stack : ExitStack
        Removes the tables when the server closes.
    """

    def __init__(self, snapshot: Snapshot, materials: Sequence[documents.Material], stack: ExitStack) -> None:
        self._version = snapshot.name.replace(".", "-")
        self._materials = materials
        self._stack = stack
        self._lock = threading.Lock()
        self._root: Path | None = None
        self._made: set[str] = set()
        self._closed = False

    def routes(self, prefix: str) -> list[Route]:
        """Return the routes of the face under a prefix such as ``/open-data``."""
        return [
            Route(f"{prefix}/{{bucket}}", self._list, methods=["GET"]),
            Route(f"{prefix}/{{bucket}}/", self._list, methods=["GET"]),
            Route(f"{prefix}/{{bucket}}/{{key:path}}", self._object, methods=["GET"]),
        ]

    async def _object(self, request: Request) -> Response:
        bucket, key = request.path_params["bucket"], request.path_params["key"]
        root = await run_in_threadpool(self._holding, key)
        try:
            path = (root / bucket / key).resolve()
            is_there = path.is_relative_to(root) and path.is_file()
        except (OSError, ValueError):  # a name that no file can have: too long, or with a zero byte
            is_there = False
        if not is_there:
            return _xml(f"<Error><Code>NoSuchKey</Code><Key>{escape(key[:500])}</Key></Error>", 404)
        return FileResponse(path, media_type="application/octet-stream")

    async def _list(self, request: Request) -> Response:
        prefix, after = request.query_params.get("prefix", ""), request.query_params.get("start-after", "")
        delimiter = request.query_params.get("delimiter")
        root = await run_in_threadpool(self._holding, prefix)
        bucket = root / request.path_params["bucket"]
        keys, folders = [], set()
        # There is one bucket; any other name, also one that no folder can have, holds nothing.
        for path in sorted(one for one in bucket.rglob("*") if one.is_file()) if bucket.name == BUCKET else []:
            key = path.relative_to(bucket).as_posix()
            if not key.startswith(prefix) or key <= after:
                continue
            head, mark, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if mark:
                folders.add(prefix + head + mark)
            else:
                keys.append((key, path.stat().st_size))
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-11-30T00:00:00.000Z</LastModified>"
            f'<ETag>"0"</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>'
            for key, size in keys
        )
        common = "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(folders))
        return _xml(
            f"<ListBucketResult><Name>{escape(bucket.name)}</Name><Prefix>{escape(prefix)}</Prefix>"
            f"<KeyCount>{len(keys) + len(folders)}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>"
            f"{contents}{common}</ListBucketResult>",
            200,
        )

    def _holding(self, key: str) -> Path:
        """Return the folder of the buckets, with the table that a key or prefix lies in built."""
        with self._lock:
            if self._root is None:
                self._root = Path(tempfile.mkdtemp(prefix="open-data-")).resolve()
                self._stack.callback(self._remove)
            name = next((one for one in _TABLES if f"{key}/".startswith(f"{one}/")), None)
            try:
                if name is not None and name not in self._made and not self._closed:
                    self._make(name, self._root / BUCKET / name)
                    self._made.add(name)
            finally:
                if self._closed:  # the server closed meanwhile, and did not wait for the table
                    shutil.rmtree(self._root, ignore_errors=True)
            return self._root

    def _remove(self) -> None:
        self._closed = True
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)

    def _make(self, table: str, folder: Path) -> None:
        from importlib import import_module

        import pyarrow as pa
        from emmet.core.arrow import arrowize

        if table == PHASE_DIAGRAMS:
            diagrams, schema = _phase_diagrams(self._materials, self._version)
            _write(folder, diagrams, schema)
            return
        name, module, model_name = _TABLES[table]
        model = getattr(import_module(module), model_name)
        schema = pa.schema(arrowize(model)).insert(0, pa.field("version", pa.string()))
        rows = []
        for doc in documents.collection(name, self._materials):
            # The model wants a truth value where the snapshot knows none; the field's default says the least.
            known = {key: value for key, value in doc.items() if value is not None}
            dumped = model.model_validate({"theoretical": True, **known}).model_dump(context={"format": "arrow"})
            rows.append({"version": self._version, **dumped})
        _write(folder, rows, schema, partitioned=True)


def _phase_diagrams(materials: Sequence[documents.Material], version: str) -> tuple[list[dict[str, Any]], Any]:
    import pyarrow as pa
    from emmet.core.arrow import arrowize
    from emmet.core.types.pymatgen_types.phase_diagram_adapter import PhaseDiagramType
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(PhaseDiagramType)
    texts = ("chemsys", "version", "thermo_type")
    schema = pa.schema(
        [*(pa.field(name, pa.string()) for name in texts), pa.field("phase_diagram", arrowize(PhaseDiagramType))]
    )
    rows: list[dict[str, Any]] = []
    for system, diagram in _diagrams(materials):
        dumped = adapter.dump_python(diagram, context={"format": "arrow"})
        row = {"chemsys": system, "version": version, "phase_diagram": dumped}
        rows.extend({**row, "thermo_type": kind} for kind in THERMO_TYPES)
    return rows, schema


def _diagrams(materials: Sequence[documents.Material]) -> Iterator[tuple[str, Any]]:
    """Yield every chemical system of the snapshot whose elements all have a reference, with its phase diagram."""
    from pymatgen.analysis.phase_diagram import PhaseDiagram
    from pymatgen.entries.computed_entries import ComputedStructureEntry

    known = [one for one in materials if one.entry.value("energy_per_atom") is not None]
    entries = {one.entry.number: ComputedStructureEntry.from_dict(documents.computed_entry(one)) for one in known}
    for system in sorted({one.entry.chemical_system for one in known}):
        elements = set(system.split("-"))
        inside = [one.entry for one in known if elements.issuperset(one.entry.elements)]
        if elements <= {entry.elements[0] for entry in inside if len(entry.elements) == 1}:
            yield system, PhaseDiagram([entries[entry.number] for entry in inside])


def _write(folder: Path, rows: list[dict[str, Any]], schema: Any, *, partitioned: bool = False) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    folder.mkdir(parents=True)
    shaped = [{field.name: _shaped(row.get(field.name), field.type) for field in schema} for row in rows]
    table = pa.Table.from_pylist(shaped, schema=schema)
    write_deltalake(str(folder), table, partition_by=["version"] if partitioned else None)


def _shaped(value: Any, kind: Any) -> Any:
    """Give a value the shape of its Arrow type: pairs for maps, every field for structs."""
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_struct(kind):
        if isinstance(value, str):  # an entry's id: the model writes it as text, its schema takes it apart
            identifier, _, suffix = value.rpartition("-")
            value = {"identifier": identifier, "suffix": suffix, "separator": "-"}
        return {field.name: _shaped(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_shaped(one, kind.value_type) for one in value]
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return [(_shaped(key, kind.key_type), _shaped(one, kind.item_type)) for key, one in pairs]
    if pa.types.is_string(kind):
        return value.decode("utf-8") if isinstance(value, bytes) else str(getattr(value, "value", value))
    return value


def _xml(text: str, status: int) -> Response:
    return Response(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}', status, media_type="application/xml")
