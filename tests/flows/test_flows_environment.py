from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flows import environment
from tasks_lib.records.errors import ConfigurationError


def test_state_folder_is_named_or_below_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert environment.state({}).root == tmp_path / ".state"
    assert environment.state({"MATASSAY_STATE": str(tmp_path / "x")}).root == tmp_path / "x"


def test_state_folder_is_private(tmp_path: Path) -> None:
    where = environment.State(tmp_path / "s").prepare()
    assert {folder.stat().st_mode & 0o777 for folder in (where.root, where.prefect_home, where.logs)} == {0o700}


@pytest.mark.parametrize("mode", ["inline", "serving"])
def test_nothing_calls_home_and_events_go_in_batches(mode: environment.Mode, tmp_path: Path) -> None:
    values = environment.settings_for(mode, environment.State(tmp_path))
    assert values["DO_NOT_TRACK"] == "1"
    assert values["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    batches = [name for name in values if name.endswith(("BATCH_SIZE", "FLUSH_INTERVAL"))]
    assert len(batches) == 7
    assert all(str(tmp_path) in values[name] for name in ("PREFECT_HOME", "PREFECT_RESULTS_LOCAL_STORAGE_PATH"))


@pytest.mark.parametrize("mode", ["inline", "serving"])
def test_prefect_knows_every_name(mode: environment.Mode, tmp_path: Path) -> None:
    values = {
        **environment.settings_for(mode, environment.State(tmp_path)),
        **environment.address(4321),
    }
    program = (
        "import warnings; warnings.simplefilter('error')\n"
        "from prefect.settings import get_current_settings as g\n"
        "s = g(); r = s.server.services.task_run_recorder\n"
        "print(s.api.url, s.server.api.port, r.batch_size, r.flush_interval, s.server.analytics_enabled,\n"
        "      s.results.default_serializer, s.runner.poll_frequency, s.server.ui.api_url, s.home)"
    )
    done = subprocess.run([sys.executable, "-c", program], env=values, capture_output=True, text=True, check=True)
    url = "http://127.0.0.1:4321/api"
    assert done.stdout.split() == [url, "4321", "50", "1.0", "False", "json", "2", url, str(tmp_path / "prefect")]


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    environ = {"PREFECT_LOGGING_LEVEL": "DEBUG"}
    environment.apply(environment.settings_for("inline", environment.State(tmp_path)), environ)
    assert environ["PREFECT_LOGGING_LEVEL"] == "DEBUG"
    assert environ["DO_NOT_TRACK"] == "1"


def test_a_port_is_bound_on_loopback_only() -> None:
    with environment.listen() as first:
        host, port = first.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(ConfigurationError, match=rf"port {port} .*--port"):
            environment.listen(port)
        with socket.create_connection((host, port), timeout=5):
            pass


def test_importing_the_package_does_not_import_prefect() -> None:
    program = "import sys, flows; from flows import engine; print('prefect' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_engine_is_one_for_the_process() -> None:
    import flows

    assert flows.engine is flows.engine
    with pytest.raises(AttributeError, match="motor"):
        flows.motor  # noqa: B018
