"""Whether a live database is well formed: a few questions of each kind, read through ingest."""

from __future__ import annotations

from pydantic import Field

from tasks_lib.databases.ingest import materials_project, optimade, oqmd
from tasks_lib.databases.ingest._shown import without_key
from tasks_lib.databases.ingest.findings import Collected, Effect, Fault, Finding
from tasks_lib.databases.ingest.pages import Limits, walk, walk_counted
from tasks_lib.databases.ingest.replies import Fetch
from tasks_lib.records import Record, Text
from tasks_lib.records.errors import ConfigurationError

_FEW = 2


class Question(Record):
    """One question and what came of it."""

    url: Text
    pages: int
    items: int = Field(description="accepted")
    announced: int | None = Field(description="how many the database says there are")
    whole: bool = Field(description="whether the database was read to its end")
    findings: tuple[Finding, ...]


class SourceReport(Record):
    """What is to be said of a database."""

    dialect: Text
    url: Text
    questions: tuple[Question, ...]

    @property
    def reachable(self) -> bool:
        """Whether any question was answered."""
        return any(one.items or one.announced is not None for one in self.questions)

    @property
    def well_formed(self) -> bool:
        """Whether it answered and broke no rule."""
        effects = {found.effect for one in self.questions for found in one.findings}
        return self.reachable and not effects & {Effect.MALFORMED, Effect.REJECTED, Effect.INCOMPLETE}


def check_source(dialect: str, base: str, fetch: Fetch, *, pages: int = 5) -> SourceReport:
    """Ask a database for some pages in each way in which clients do.

    Parameters
    ----------
    dialect : str
        ``mp``, ``oqmd`` or ``optimade``.
    base : str
        Base address as clients are given it; an OPTIMADE provider's without ``/v1``.
    fetch : callable
        Gets an address, see `Fetcher`.
    pages : int
        Most pages of each question.

    Raises
    ------
    ConfigurationError
        If there is no such dialect.
    """
    base = base.rstrip("/")
    asked: list[tuple[str, Collected]] = []
    many, few = Limits(pages=pages), Limits(pages=min(pages, _FEW))
    if dialect == "optimade":
        url = f"{base.removesuffix('/v1')}/v1/structures"
        asked.append((url, walk(fetch, url, optimade.read_page, many)))
        chosen = f"{url}?response_fields=nsites,elements,nelements"
        asked.append((chosen, walk(fetch, chosen, optimade.read_page, few)))
        for parameter in ("page_offset", "page_number"):
            counted = walk_counted(fetch, url, optimade.read_page, parameter=parameter, limits=few)
            # A provider may have one way of paging only, and says so of the others.
            if [one.fault for one in counted.findings] != [Fault.UNREACHABLE]:
                asked.append((f"{url}?{parameter}=…", counted))
    elif dialect == "oqmd":
        url = f"{base}/oqmdapi/formationenergy?limit=50"
        asked.append((url, walk(fetch, url, oqmd.read_page, many)))
        chosen = f"{url}&fields=name,entry_id,delta_e,stability"
        asked.append((chosen, walk(fetch, chosen, oqmd.read_page, few)))
        asked.append((f"{url}&offset=…", walk_counted(fetch, url, oqmd.read_page, parameter="offset", limits=few)))
    elif dialect == "mp":
        for collection, fields in (
            ("summary", "material_id,formula_pretty,energy_above_hull,band_gap,density,deprecated"),
            ("thermo", "material_id,thermo_id,thermo_type,energy_above_hull"),
        ):
            url = f"{base}/materials/{collection}/?_limit=100&_fields={fields}"
            got = walk_counted(fetch, url, materials_project.read_page, parameter="_skip", limits=many)
            asked.append((url, got))
    else:
        msg = f"a dialect is mp, oqmd or optimade, got {dialect!r}: choose one of them"
        raise ConfigurationError(msg)
    return SourceReport(dialect=dialect, url=without_key(base), questions=tuple(_question(*one) for one in asked))


def _question(url: str, got: Collected) -> Question:
    # That we stopped after some pages is no fault, and says nothing but that there is more.
    findings = tuple(one for one in got.findings if one.fault is not Fault.LIMIT)
    if "/thermo/" in url:
        findings += materials_project.read_hulls(got.items).findings[:5]
    return Question(
        url=without_key(url),
        pages=got.pages,
        items=len(got.items),
        announced=got.announced,
        whole=got.complete,
        findings=findings,
    )
