"""Settings: what stands in matassay.toml is used, what is wrong there is named with key and value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.cli.settings import load_settings, settings_file, store_url
from tasks_lib.episodes import EPISODES_AT_ONCE, least_free_bytes
from tasks_lib.episodes.engine import episodes_at_once
from tasks_lib.records.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)
    monkeypatch.delenv("MATASSAY_STORE", raising=False)


def _write(text: str) -> None:
    Path("matassay.toml").write_text(text, encoding="utf-8")


def test_without_a_file_everything_has_a_default() -> None:
    assert settings_file() is None
    assert load_settings().store.url == "artifacts"
    assert load_settings().run.concurrency == EPISODES_AT_ONCE == episodes_at_once(os.cpu_count() or 1)


@pytest.mark.parametrize(("cores", "episodes"), [(1, 2), (2, 4), (3, 6), (4, 8), (64, 8)])
def test_as_many_episodes_run_at_once_as_the_cores_bear(cores: int, episodes: int) -> None:
    assert episodes_at_once(cores) == episodes


def test_a_file_is_read() -> None:
    _write('[store]\nurl = "s3://lab/matassay"\n[run]\nconcurrency = 4\n[machine]\nwidth = 1920\nheight = 1080\n')
    settings = load_settings()
    assert (settings.store.url, settings.run.concurrency, settings.machine.width) == ("s3://lab/matassay", 4, 1920)


def test_the_option_wins_over_the_environment_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _write('[store]\nurl = "file-says"\n')
    settings = load_settings()
    assert store_url(None, settings) == "file-says"
    monkeypatch.setenv("MATASSAY_STORE", "environment-says")
    assert store_url(None, settings) == "environment-says"
    assert store_url("option-says", settings) == "option-says"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[run]\nconcurency = 4\n", "run.concurency"),
        ("[run]\nconcurrency = 0\n", "run.concurrency = 0"),
        ("[run]\nconcurency = 4\n", "no such key; there are budget_tokens, budget_usd, cache, concurrency, hints"),
        ("[agent]\nreplys = 'tools'\n", "help, "),
        ("[modles.x]\na = 1\n", "no such table; there are agent, databases, machine, models, run, serve, store"),
        ("[machine]\nwidth = 3\n", "machine.width = 3"),
        ("[what]\nx = 1\n", "what"),
        ("[run\n", "is no TOML"),
        ("[run]\nconcurrency = true\n", "run.concurrency"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    _write(text)
    with pytest.raises(ConfigurationError, match=r"matassay\.toml") as caught:
        load_settings()
    assert named in str(caught.value)


def test_a_named_file_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATASSAY_CONFIG", "elsewhere.toml")
    with pytest.raises(ConfigurationError, match=r"elsewhere\.toml"):
        settings_file()


def test_a_file_in_another_encoding_is_an_error() -> None:
    Path("matassay.toml").write_bytes("[store]\nurl = 'Å'\n".encode("latin-1"))
    with pytest.raises(ConfigurationError, match="is no TOML"):
        load_settings()


@pytest.mark.parametrize(("provider", "option"), [("cray", ()), ("local", ("--machine", "cray"))])
def test_the_machines_of_the_file_are_used_where_no_option_names_others(provider: str, option: tuple[str, ...]) -> None:
    _write(f'[machine]\nprovider = "{provider}"\n')
    result = CliRunner().invoke(app, ["run", "smoke", *option])
    assert result.exit_code == 2
    assert "no machine provider is called 'cray'" in " ".join(result.output.split())


def test_a_least_room_that_is_no_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("abc", "", "-1", "1.5"):
        monkeypatch.setenv("MATASSAY_MIN_FREE_MB", given)
        with pytest.raises(ConfigurationError, match=r"MATASSAY_MIN_FREE_MB is a whole number of MiB.*mend"):
            least_free_bytes()
    monkeypatch.setenv("MATASSAY_MIN_FREE_MB", "7")
    assert least_free_bytes() == 7 * 2**20
