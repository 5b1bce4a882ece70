"""A canary for a key: endpoints and models repeat it wherever they can, and nothing that a run writes holds it."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from typer.testing import CliRunner

from tasks_lib.agents import AgentSettings
from tasks_lib.agents.settings import SETTING
from tasks_lib.cli import app
from tasks_lib.episodes import Player, drive, load_work, plain_phases
from tasks_lib.episodes.asking import CACHE_SETTING
from tasks_lib.models import Canned, Fault, FaultKind, RetryPolicy, ScriptedEndpoint, ScriptedSession
from tasks_lib.records import ExchangeRecord, Outcome, Step, Verdict
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import load_task
from tasks_lib.taskdefs.transcript import fences

from ..models.faces import FACES  # noqa: TID252  # the endpoints of the clients' own tests
from .conftest import ONE_STAGE, MakeRun

# Each of its forms differs from all others. The variable's name does not tell that it is a secret.
CANARY = 'canary"4f1c/9d+77=e2~Qz'
VARIABLE = "OF_THE_MODEL"
ORACLE = load_task(next(ONE_STAGE.glob("*/*/*"))).transcript("oracle", "main")


def in_base64(before: int) -> str:
    """Base64 of the key behind so many bytes, without the characters that its neighbours have a part in."""
    return base64.b64encode(b"x" * before + CANARY.encode()).decode()[4 if before else 0 : -4]


FORMS = {
    "as it is": CANARY,
    "percent-encoded": quote(CANARY, safe=""),
    "percent-encoded in part": quote(CANARY),
    "JSON-escaped": json.dumps(CANARY)[1:-1],
    "JSON-escaped with slashes": json.dumps(CANARY)[1:-1].replace("/", r"\/"),
    **{f"base64 at {before}": in_base64(before) for before in range(3)},
}
EVERYTHING = " ".join(
    [
        *(form for name, form in FORMS.items() if "base64" not in name),
        *(
            base64.b64encode(f"{'y' * before}{CANARY}{'z' * after}".encode()).decode()
            for before in range(3)
            for after in range(3)
        ),
    ]
)


def texts(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what a file holds, its packed parts unpacked."""
    yield name, data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inner in archive.namelist():
                yield from texts(f"{name}/{inner}", archive.read(inner))


def leaks(root: Path, *said: str) -> list[str]:
    """Return where the key is found, and in which form: in files, in their names, and in what was printed."""
    found = []
    parts = [("(printed)", text.encode()) for text in said]
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        parts.append(("(names)", name.encode()))
        if path.is_file():
            parts += texts(name, path.read_bytes())
    for name, data in parts:
        found += [f"{name}: {form}" for form, text in FORMS.items() if text.encode() in data]
    return found


def replies() -> list[Canned | Fault]:
    """What a hostile endpoint serves: the key in every place that there is, and a solution that passes."""

    def call(name: str, **arguments: str) -> Canned:
        return Canned("", reasoning="hm", calls=((name, json.dumps(arguments)),))

    pieces = [CANARY[start : start + 4] for start in range(0, len(CANARY), 4)]
    printing = (
        "import base64, json, sys, urllib.parse\n"
        f"key = ''.join({pieces!r})\n"
        "print(key, base64.b64encode(key.encode()).decode(), urllib.parse.quote(key, safe=''))\n"
        "print(json.dumps(key), file=sys.stderr)\n"
        "open('carried-out.txt', 'w').write('a' * 1000 + key)\n"
        "open('carried-out.b64', 'wb').write(base64.b64encode(b'z' + key.encode()))\n"
        "raise ValueError(key)\n"
    )
    scripts = [block.body for reply in ORACLE for block in fences(reply) if block.language == "python"]
    return [
        Fault(FaultKind.STATUS, 500, body=json.dumps({"error": {"message": EVERYTHING, "code": CANARY}})),
        Canned(EVERYTHING),
        Fault(FaultKind.GARBAGE, body=f"<p>{EVERYTHING}</p>"),
        Canned("", refusal=EVERYTHING),
        Fault(FaultKind.ERROR_WITHIN, body=json.dumps({"error": {"code": 503, "message": EVERYTHING}})),
        Canned("", reasoning="hm", calls=((CANARY, json.dumps({CANARY: EVERYTHING})), ("remember", f'"{EVERYTHING}'))),
        call("remember", notes=EVERYTHING),
        call("run_script", script=f"print('''{EVERYTHING}''')"),
        call("run_script", script=printing),
        *(call("run_script", script=script) for script in scripts),
        # A thought that is changed could not be given back: the last reply has no next request.
        Canned(EVERYTHING, reasoning=EVERYTHING, calls=(("done", "{}"),)),
    ]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where everything of a test is written; the key is in the environment alone."""
    monkeypatch.chdir(tmp_path)
    for name in ("MATASSAY_CONFIG", "MATASSAY_TASKDEFS", "MATASSAY_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv(VARIABLE, CANARY)
    return tmp_path


def open_session(endpoint: ScriptedEndpoint, provider: str, file: Path) -> ScriptedSession:
    session = endpoint.open(replies())
    session.token = CANARY
    file.write_text(
        f'[models.hostile]\nprovider = "{provider}"\nbase_url = "{session.base_url}"\nmodel = "scripted"\n'
        f'api_key_env = "{VARIABLE}"\nimage = {{ enabled = false }}\nattempts = 2\n',
        encoding="utf-8",
    )
    return session


def everything_was_said(store: Store, run: str, episode: str, session: ScriptedSession) -> None:
    """See that the key did come: a test in which nobody says it would find it nowhere."""
    place = RunFolder(store, run).episode(episode).attempt(1).stage("main")
    steps = store.read_lines(place.trajectory, Step)
    assert not session.queue
    assert sum("[redacted]" in step.feedback for step in steps) >= 2
    assert any("[redacted]" in step.reply for step in steps)
    assert any("[redacted]" in step.reasoning for step in steps)
    lines = store.read_lines(place.exchanges, ExchangeRecord)
    assert sum("[redacted]" in line.error for line in lines) >= 1
    assert sum("[redacted]" in line.reply for line in lines) >= 5
    assert any("[redacted]" in json.dumps(line.request) for line in lines)


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openai-responses"])
def test_no_key_is_in_what_an_episode_writes(
    provider: str, told: Path, store: Store, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RetryPolicy, "wait", lambda self, attempt, _=None: 0.0 if attempt < self.attempts else None)
    file = told / "models.toml"
    with ScriptedEndpoint(FACES[provider]) as endpoint:
        session = open_session(endpoint, provider, file)
        asked = AgentSettings(replies="tools", conversation="kept").model_dump(mode="json")
        settings = {SETTING: asked, CACHE_SETTING: True, "budget": {"tokens": 10_000_000}}
        manifest = make_run(ONE_STAGE, Player("llm", "hostile"), settings=settings)
        episode = manifest.episodes[0].id
        work = load_work(store, "r1", episode, ONE_STAGE, models_file=file)
        verdict = asyncio.run(drive(work, plain_phases()))
    assert verdict.outcome is Outcome.PASS
    everything_was_said(store, "r1", episode, session)
    assert any("replies" in path or "cache" in path for path in store.list())
    assert leaks(told) == []


def test_no_key_is_in_what_a_run_its_report_and_its_exports_write(told: Path) -> None:
    forms = ["osworld", "chat", *(["inspect"] if importlib.util.find_spec("inspect_ai") else [])]
    with ScriptedEndpoint(FACES["openai"]) as endpoint:
        session = open_session(endpoint, "openai", told / "matassay.toml")
        words = [
            "run", "--taskdefs", str(ONE_STAGE), "--store", "store", "--model", "hostile", "--no-model-check",
            "--cache", "--agent-setting", "replies=tools", "--agent-setting", "conversation=kept", "--resume", "night",
            "--budget-tokens", "10000000",
        ]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "tasks_lib.cli", *words], capture_output=True, text=True, check=False,
            env={**os.environ, "PREFECT_LOGGING_LEVEL": "DEBUG"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    store = Store.open("store")
    (path,) = [path for path in store.list("runs/night") if path.endswith("verdict.json")]
    assert store.read_document(path, Verdict).outcome is Outcome.PASS
    episode = path.split("/")[3]
    everything_was_said(store, "night", episode, session)
    said = [done.stdout, done.stderr]
    place = ["--store", "store", "--taskdefs", str(ONE_STAGE)]
    for more in (
        ["report", "night", *place],
        ["explain", episode, *place],
        *(
            ["trajectories", "export", "night", "--format", form, "--out", f"out-{form}", "--outcome", "all", *place]
            for form in forms
        ),
    ):
        result = CliRunner().invoke(app, more)
        assert result.exit_code == 0, result.output
        said.append(result.output)
    written = {str(path.relative_to(told)) for path in told.rglob("*") if path.is_file()}
    ends = [".eval"] if "inspect" in forms else []
    for kind in (*ends, "traj.jsonl", "night.jsonl", "index.html", "summary.json", "purse.json", "requests.jsonl"):
        assert any(name.endswith(kind) for name in written), kind
    (database,) = (told / name for name in written if name.endswith("inline.db"))
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM task_run").fetchone()[0] >= 5
    assert leaks(told, *said) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_is_planted_is_found(told: Path, form: str) -> None:
    clean = ("file.jsonl", "log.eval", "base.db")
    (told / clean[0]).write_text(f'{{"a": "{FORMS[form]}"}}', encoding="utf-8")
    with zipfile.ZipFile(told / clean[1], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.json", f"{'x' * 5000}{FORMS[form]}")
    with closing(sqlite3.connect(told / clean[2])) as connection:
        connection.execute("CREATE TABLE t (a TEXT)")
        connection.execute("INSERT INTO t VALUES (?)", (f"{'x' * 300}{FORMS[form]}",))
        connection.commit()
    found = leaks(told, FORMS[form])
    assert {f"{name}: {form}" for name in ("file.jsonl", "log.eval/inner.json", "base.db", "(printed)")} <= set(found)
    for name in clean:
        shutil.move(told / name, told.parent / name)
    assert leaks(told) == []
