"""`matassay databases serve|query`, run as a person does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from tasks_lib.cli.databases import databases_app
from tasks_lib.databases import MISSING, PROPERTIES, Crystal, Entry, Header, Snapshot

PROGRAM = [sys.executable, "-c", "from tasks_lib.cli.databases import databases_app; databases_app()"]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    crystal = Crystal(
        lattice=((2.1, 2.1, 0.0), (0.0, 2.1, 2.1), (2.1, 0.0, 2.1)),
        species=("Mg", "O"),
        positions=((0.0, 0.0, 0.0), (0.5, 0.5, 0.5)),
    )
    entry = Entry(
        number=9_000_001,
        origin="by hand",
        relaxation="none",
        formula="MgO",
        anonymous_formula="AB",
        elements=("Mg", "O"),
        structure=crystal,
        properties=dict.fromkeys(PROPERTIES, MISSING),
    )
    path = tmp_path_factory.mktemp("snapshot") / "one.jsonl.xz"
    header = Header(name="one-entry", version="1", statement="for tests", methods={})
    Snapshot(header, [entry]).save(path)
    return path


def test_query_prints_what_the_server_says(snapshot: Path) -> None:
    address = "oqmdapi/formationenergy?filter=element_set=Mg,O&fields=name,band_gap"
    ran = CliRunner().invoke(databases_app, ["query", "oqmd", address, "--snapshot", str(snapshot)])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["data"] == [{"name": "MgO", "band_gap": None}]


def test_query_knows_the_key_itself(snapshot: Path) -> None:
    arguments = ["query", "mp", "/materials/summary/?_fields=formula_pretty", "--snapshot", str(snapshot)]
    ran = CliRunner().invoke(databases_app, arguments)
    assert json.loads(ran.stdout)["data"] == [{"formula_pretty": "MgO"}]


def test_a_refused_query_shows_the_reason_and_ends_with_2(snapshot: Path) -> None:
    arguments = ["query", "oqmd", "oqmdapi/formationenergy?filter=colour=red", "--snapshot", str(snapshot)]
    ran = CliRunner().invoke(databases_app, arguments)
    assert ran.exit_code == 2
    assert "colour" in json.loads(ran.stdout)["detail"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_until_it_is_ended(snapshot: Path, tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "requests.jsonl"
    served = subprocess.Popen(
        [
            *PROGRAM,
            "serve",
            "mp",
            "--json",
            "--snapshot",
            str(snapshot),
            "--log",
            str(log),
            "--fault",
            "rate_limited=1",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert served.stdout is not None
        said = json.loads(served.stdout.readline())
        assert said["faults"]["rate_limited"] == 1
        url, headers = f"{said['url']}materials/summary/", {"X-API-KEY": said["environment"]["MP_API_KEY"]}
        assert [httpx.get(url, headers=headers).status_code for _ in range(2)] == [429, 200]
        served.send_signal(number)
        assert served.wait(30) == 0
    finally:
        served.kill()
        served.wait()
        served.stdout.close() if served.stdout else None
    assert '"fault":"rate_limited"' in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["sql"], "a dialect is one of"),
        (["oqmd", "--fault", "rate_limited"], "NAME=VALUE"),
        (["oqmd", "--fault", "colour=red"], "there are latency_seconds"),
        (["oqmd", "--fault", "rate_limited=-1"], "rate_limited"),
        (["mp", "--fault", "misnamed_next=true"], "needs pages with links"),
        (["mp", "--api-key-env", "NO_SUCH_VARIABLE"], "holds no key"),
    ],
)
def test_wrong_orders_say_what_to_do(snapshot: Path, arguments: list[str], word: str) -> None:
    ran = subprocess.run(
        [*PROGRAM, "serve", *arguments, "--snapshot", str(snapshot)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 2
    assert word in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr
