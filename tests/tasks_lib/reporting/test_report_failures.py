"""Kinds of failure in the pages and tables of a report."""

from __future__ import annotations

import csv
import io

from tasks_lib.records import Account, Failure, FailureClass, Outcome, RunSummary, Spending, SpendingLimit
from tasks_lib.reporting import write_report
from tasks_lib.statistics import agent_rows

WHY = "4 of 6 replies that clicked changed nothing on the screen"


def test_the_first_page_counts_kinds_by_agent_and_each_episode_says_its_own(reported, builder, tmp_path):
    before = reported.store.read_document(reported.run.summary, RunSummary)
    failure = Failure(kind=FailureClass.GROUNDING, stage="main", why=WHY)
    episodes = tuple(
        result.model_copy(update={"failure": failure if result.outcome is Outcome.FAIL else None})
        for result in before.episodes
    )
    summary = before.model_copy(update={"episodes": episodes, "rows": agent_rows(episodes)})
    write_report(reported.store, reported.run.run_id, builder.tasks(), tmp_path, summary=summary)
    failed = [result for result in episodes if result.failure is not None]
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<a href="#failures">Failures</a>' in index
    assert index.count(WHY) == min(len(failed), 40)
    by_agent = {agent: sum(result.agent == agent for result in failed) for agent in {r.agent for r in episodes}}
    cells = "".join(f'<td class="n">{by_agent[agent]}</td>' for agent in sorted(by_agent))
    assert f'<tr><th scope="row">grounding</th>{cells}</tr>' in index
    page = (tmp_path / "episodes" / f"{failed[0].id}.html").read_text(encoding="utf-8")
    assert "<b>Kind of failure:</b> grounding" in page
    rows = list(csv.DictReader(io.StringIO((tmp_path / "summary.csv").read_text(encoding="utf-8"))))
    told = {row["agent"]: int(row["failed_grounding"]) for row in rows if row["kind"] == "all"}
    assert told == by_agent
    assert {row["failed_deadlock"] for row in rows} == {"0"}


def test_a_run_without_known_kinds_has_no_such_section(reported):
    assert "Kinds of failure" not in reported.page("index.html")


def test_the_first_page_says_what_was_spent_at_models_and_of_which_budget(reported, builder, tmp_path):
    assert "Spent at models" not in reported.page("index.html")
    before = reported.store.read_document(reported.run.summary, RunSummary)
    spent = Spending(usd=1.25, tokens=9000, calls=7, estimated=2)
    account = Account(name="run <night>", limit=SpendingLimit(usd=1.0), spent=spent, closed=True)
    summary = before.model_copy(update={"accounts": (account,)})
    write_report(reported.store, reported.run.run_id, builder.tasks(), tmp_path, summary=summary)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<dt>Spent at models</dt>" in index
    assert "run &lt;night&gt;" in index
    assert "1.2500 US dollars and 9000 tokens in 7 calls (2 of them by an upper estimate" in index
    assert "and stopped there" in index
