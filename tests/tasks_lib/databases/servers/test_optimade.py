"""The OPTIMADE providers: `optimade-validator` passes, and the real client finds what each covers."""

from __future__ import annotations

import logging

import httpx
import pytest
from optimade.adapters import Structure
from optimade.client import OptimadeClient
from optimade.validator import ImplementationValidator

from tasks_lib.databases import Snapshot
from tasks_lib.databases.servers import RunningServer, start
from tasks_lib.databases.servers.optimade import BINARIES, LARGEST_PAGE

# The package reads `model_fields` of instances, thousands of times.
pytestmark = pytest.mark.filterwarnings("ignore:Accessing the 'model_fields':DeprecationWarning")


@pytest.fixture(scope="module")
def client(optimade: RunningServer) -> OptimadeClient:
    return OptimadeClient(base_urls=list(optimade.endpoints.values()), silent=True)


@pytest.mark.parametrize("provider", ["crystals", "binaries"])
def test_the_validator_passes_whole(optimade: RunningServer, provider: str, capsys: pytest.CaptureFixture[str]) -> None:
    _validate(optimade.endpoints[provider])


def test_the_validator_passes_oqmds_face(oqmd: RunningServer, capsys: pytest.CaptureFixture[str]) -> None:
    _validate(oqmd.endpoints["optimade"])


def _validate(url: str) -> None:
    validator = ImplementationValidator(base_url=url, verbosity=0)
    validator.validate_implementation()
    results = validator.results
    assert validator.valid, results.failure_messages
    assert results.success_count > 50
    assert (results.failure_count, results.internal_failure_count, results.optional_failure_count) == (0, 0, 0)


def test_the_client_finds_each_provider_by_its_rule(
    client: OptimadeClient, optimade: RunningServer, small_snapshot: Snapshot
) -> None:
    counts = client.count(filter='elements HAS "O"')["structures"]['elements HAS "O"']
    with_oxygen = [entry for entry in small_snapshot if "O" in entry.elements]
    covered = [entry for entry in with_oxygen if BINARIES.covers(entry)]
    assert counts == {optimade.endpoints["crystals"]: 8, optimade.endpoints["binaries"]: len(covered)}
    assert len(with_oxygen) == 8
    assert 0 < len(covered) < 8


def test_the_client_follows_all_pages(long_snapshot: Snapshot) -> None:
    query = "nelements>0"
    with start("optimade", long_snapshot) as server:
        url = server.endpoints["crystals"]
        got = OptimadeClient(base_urls=[url], silent=True).get(filter=query)["structures"][query][url]
        asked = [one.path for one in server.requests() if one.path.endswith("/structures")]
    assert [one["id"] for one in got["data"]] == [entry.id for entry in long_snapshot]
    assert asked == ["/crystals/v1/structures"] * 2


def test_a_structure_travels_whole(client: OptimadeClient, optimade: RunningServer, small_snapshot: Snapshot) -> None:
    query = 'id="matassay-9000014"'
    url = optimade.endpoints["binaries"]
    data = client.get(filter=query)["structures"][query][url]["data"][0]
    found = Structure(data).as_pymatgen
    wanted = small_snapshot.by_number[9_000_014].structure.to_pymatgen()
    assert found.matches(wanted, scale=False)
    assert found.composition == wanted.composition


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("_assay_band_gap>3 AND nelements=2", [10, 12, 14, 15]),
        ('chemical_formula_reduced="O2Ti"', [14, 15]),
        ('chemical_formula_anonymous="AB" AND elements HAS "O"', [12, 13]),
        ('elements HAS ALL "Fe","Al" AND nsites<=4', [17, 18]),
        ("_assay_energy_above_hull=0 AND nelements=3", [19]),
        ('_assay_space_group_symbol="Fd-3m" AND elements LENGTH 1', [3]),
        ("_assay_band_gap IS UNKNOWN AND nelements=1", [8, 9]),
    ],
)
def test_filters_reach_standard_and_own_fields(optimade: RunningServer, query: str, ids: list[int]) -> None:
    reply = httpx.get(f"{optimade.endpoints['crystals']}/v1/structures", params={"filter": query})
    found = [int(one["id"].removeprefix("matassay-")) - 9_000_000 for one in reply.json()["data"]]
    assert found == ids


def test_text_in_filters_is_literal(optimade: RunningServer) -> None:
    url = f"{optimade.endpoints['crystals']}/v1/references"
    for query, count in (('title CONTAINS "(2005)"', 1), ('title CONTAINS ".*"', 0), ('title STARTS "C. Kit"', 1)):
        assert httpx.get(url, params={"filter": query}).json()["meta"]["data_returned"] == count
    hostile = 'title CONTAINS "(a|a)*(.|.)*(.|.)*(.|.)*$x"'
    assert httpx.get(url, params={"filter": hostile}, timeout=5).json()["meta"]["data_returned"] == 0


def test_the_smaller_provider_does_not_know_the_others_fields(optimade: RunningServer) -> None:
    url = f"{optimade.endpoints['binaries']}/v1/info/structures"
    properties = httpx.get(url).json()["data"]["properties"]
    own = {name for name in properties if name.startswith("_")}
    assert own == {"_assaybin_band_gap", "_assaybin_density"}
    assert properties["_assaybin_band_gap"]["unit"] == "eV"


def test_values_of_the_literature_lead_to_their_reference(optimade: RunningServer) -> None:
    url = optimade.endpoints["crystals"]
    data = httpx.get(f"{url}/v1/structures/matassay-9000003").json()["data"]
    (cited,) = data["relationships"]["references"]["data"]
    reference = httpx.get(f"{url}/v1/references/{cited['id']}").json()["data"]
    assert reference["attributes"]["doi"] == "10.1000/example.gap"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"filter": "nelements = = 2"}, 400),
        ({"filter": "(" * 31 + "nelements=2" + ")" * 31}, 400),
        ({"filter": "NOT " * 31 + "nelements=2"}, 400),
        ({"filter": " OR ".join(["nelements=2"] * 600)}, 400),
        ({"page_limit": str(LARGEST_PAGE + 1)}, 403),
        ({"filter": 'NOT (elements HAS ONLY "Fe","O")'}, 400),
        ({"filter": 'nelements=1 OR NOT elements HAS ONLY "Fe"'}, 400),
        ({"email_address": "me"}, 400),
        ({"page_limit": "-1"}, 400),
        ({"page_offset": "1e99"}, 400),
        ({"page_above": "x"}, 400),
        ({"colour": "red"}, 400),
    ],
)
def test_hostile_and_wrong_queries_are_refused(optimade: RunningServer, query: dict[str, str], status: int) -> None:
    reply = httpx.get(f"{optimade.endpoints['crystals']}/v1/structures", params=query)
    assert reply.status_code == status
    assert reply.json()["errors"][0]["detail"]


def test_a_path_outside_the_providers_names_them(optimade: RunningServer) -> None:
    reply = httpx.get(f"{optimade.url}v1/structures")
    assert reply.status_code == 501
    assert optimade.endpoints["binaries"] in reply.json()["errors"][0]["detail"]


def test_nothing_is_logged_outside(small_snapshot: Snapshot, capfd: pytest.CaptureFixture[str]) -> None:
    with start("optimade", small_snapshot) as server:
        httpx.get(f"{server.endpoints['crystals']}/v1/structures?filter=wrong")
    assert capfd.readouterr() == ("", "")
    names = [name for name in logging.Logger.manager.loggerDict if name.partition(".")[0] == "optimade"]
    assert names
    handlers = [handler for name in names for handler in logging.getLogger(name).handlers]
    assert not [handler for handler in handlers if isinstance(handler, logging.FileHandler)]


def test_a_closed_server_leaves_nothing_of_its_own_behind(small_snapshot: Snapshot) -> None:
    start("optimade", small_snapshot).close()  # the first fills what all servers of the snapshot share
    from optimade.server.entry_collections.mongo import _CLIENTS

    before = {name for client in _CLIENTS.values() for name in client.list_database_names()}
    with start("optimade", small_snapshot):
        pass
    assert {name for client in _CLIENTS.values() for name in client.list_database_names()} == before


def test_times_carry_their_zone(optimade: RunningServer) -> None:
    for kind in ("structures", "references"):
        page = httpx.get(f"{optimade.endpoints['crystals']}/v1/{kind}?page_limit=2").json()
        assert [one["attributes"]["last_modified"] for one in page["data"]] == ["2026-11-30T00:00:00Z"] * 2
