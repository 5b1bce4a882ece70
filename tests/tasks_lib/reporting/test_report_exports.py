"""The agent table for terminals, spreadsheets and scripts, and the report in a bucket."""

import csv
import io
import json

import pytest
from rich.console import Console

from tasks_lib.records import RunSummary
from tasks_lib.reporting import console_table, summary_csv, summary_json, write_report
from tasks_lib.store import Store


@pytest.fixture
def summary(reported) -> RunSummary:
    return reported.store.read_document(reported.run.summary, RunSummary)


def printed(table, width=160) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return out.getvalue()


def rows_of(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def test_console_table_has_a_row_for_each_agent(summary):
    rows = rows_of(printed(console_table(summary), width=100))
    assert rows["scripted-llm-alpha"] == ["6/10", "0", "60.0", "31–83", "60.0", "79.2", "2.1", "2.0", "40.0"]
    assert rows["random"] == ["0/8", "+2", "6", "0.0", "0–32", "0.0", "0.0", "2.0", "–", "100.0"]
    assert rows["nop"][0] == "0/10"
    assert rows["oracle"][0] == "10/10"


def test_console_table_of_80_columns_folds_names_and_never_a_figure(summary):
    text = printed(console_table(summary), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    figures = rows_of(printed(console_table(summary), width=100))["scripted-llm-alpha"]
    rows = rows_of(text)
    first, rest = next((name, name_rest) for name, name_rest in rows.items() if name.startswith("scripted"))
    assert rest == figures
    assert first + next(name for name in rows if name.endswith("alpha")) == "scripted-llm-alpha"


def test_console_table_with_parts(summary):
    text = printed(console_table(summary, parts=True))
    assert "pymatgen" in text
    assert len(summary.rows) == sum("/" in line for line in text.splitlines())


def test_console_table_prints_no_markup_and_no_escape_of_others(builder):
    summary = builder.summary("run-1", []).model_copy(update={"benchmark": "[red]x[/red]\x1b[2J\u202e"})
    text = printed(console_table(summary))
    assert "[red]x[/red]␛[2J⟦U+202E⟧" in text
    assert "\x1b" not in text


def test_console_table_without_agents(builder):
    assert "0 judged, 0 VOID, 0 pending" in printed(console_table(builder.summary("run-1", [])))


def test_csv_reads_back_with_full_precision(summary):
    rows = list(csv.DictReader(io.StringIO(summary_csv(summary), newline="")))
    assert len(rows) == len(summary.rows)
    for read, row in zip(rows, summary.rows, strict=True):
        assert (read["agent"], read["kind"], read["group"]) == (row.agent, row.kind, row.group)
        assert float(read["strict_rate"]) == row.strict_rate
        assert (float(read["strict_low"]), float(read["strict_high"])) == row.strict_interval
        assert read["steps_star"] == ("" if row.steps_star is None else str(row.steps_star))


def test_json_is_strict_and_says_null_for_what_is_missing(summary):
    document = json.loads(summary_json(summary), parse_constant=pytest.fail)
    assert document["counts"] == {"judged": 32, "void": 6, "pending": 2}
    nop = document["rows"][0]
    assert (nop["agent"], nop["steps_star"], nop["strict_rate"]) == ("nop", None, 0.0)


@pytest.fixture
def bucket(monkeypatch):
    moto = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "matassay-test",
        "AWS_SECRET_ACCESS_KEY": "matassay-test-pass",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="nights")
    yield "s3://nights/alpha"
    server.stop()


def test_report_of_a_run_in_a_bucket(bucket, builder, tmp_path):
    """Into the bucket beside the run, and from the bucket into a folder: the same pages."""
    store = Store.open(bucket)
    task = builder.tasks()["xps-c1s-two-peaks"]
    run = builder.RunFolder(store, "run-1")
    spec = builder.EpisodeSpec(
        id="xps-c1s-two-peaks--oracle--t1", task_id=task.id, task_digest="ab" * 32, agent="oracle", seed=1,
        modality=task.modality,
    )  # fmt: skip
    builder.write_manifest(store, run, (spec,))
    result = builder.gui_episode(builder.Builder(store, run, []), run.episode(spec.id), task, passes=True, spec=spec)
    store.write_document(run.summary, builder.summary("run-1", [result]))

    where = write_report(store, "run-1", {task.id: task})
    assert where == "s3://nights/alpha/runs/run-1/report/index.html"
    write_report(store, "run-1", {task.id: task}, tmp_path)
    here = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert here == [path.removeprefix("runs/run-1/report/") for path in store.list("runs/run-1/report")]
    for path in here:
        assert (tmp_path / path).read_bytes() == store.read_bytes(f"runs/run-1/report/{path}")
