"""Life and death of machines: close, killed openers, hung and killed servers, leases, caps, and the unsafe mode."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tasks_lib.records import Lease, MachineSettings, now
from tasks_lib.records.errors import ConfigurationError, MachineLostError, NoDesktopError, ProvisionError
from tasks_lib.sandbox import Machine, _bubblewrap, _cgroup, _processes, _remains, provider, reap
from tasks_lib.sandbox._client import ControlClient
from tasks_lib.sandbox.computer import Computer

SMALL = MachineSettings(memory_mb=512, processes=64, disk_mb=64)
UNSAFE = SMALL.model_copy(update={"isolated": False})
MODES = [pytest.param(SMALL, id="isolated"), pytest.param(UNSAFE, id="unsafe")]
# Opens a machine, starts a script that forks away, says what it knows, and waits to be killed.
OPENER = """
import json, sys, threading, time
from tasks_lib.records import MachineSettings
from tasks_lib.sandbox import provider
machine = provider().open(MachineSettings.model_validate_json(sys.argv[1]), desktop=json.loads(sys.argv[2]))
script = '''
import os, time
if os.fork() == 0:
    os.setsid()
    open('away', 'w').close()
time.sleep(600)
'''
threading.Thread(target=machine.computer.run_script, args=(script,), daemon=True).start()
while not any(entry.path == 'away' for entry in machine.computer.list_files()):
    time.sleep(0.01)
print(json.dumps([machine.id, machine.pid, machine.start_time]), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _isolation(request: pytest.FixtureRequest) -> None:
    if "isolated" in request.node.name and (problem := _bubblewrap.problem()):
        pytest.skip(problem)


@pytest.fixture
def opener(repository: Path) -> Iterator[object]:
    started: list[subprocess.Popen[str]] = []

    def start(settings: MachineSettings, desktop: bool) -> tuple[subprocess.Popen[str], str, int, float]:
        child = subprocess.Popen(
            [sys.executable, "-c", OPENER, settings.model_dump_json(), json.dumps(desktop)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=repository,
        )
        started.append(child)
        assert child.stdout is not None
        machine_id, pid, began = json.loads(child.stdout.readline())
        return child, machine_id, pid, began

    yield start
    for child in started:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                stream.close()


def _lease(machine_id: str | None, pid: int | None, began: float | None, host: str | None = None) -> Lease:
    return Lease(
        owner="test",
        resource="test",
        acquired=now(),
        expires=now(),
        machine_id=machine_id,
        machine_pid=pid,
        machine_start=began,
        host=socket.gethostname() if host is None else host,
    )


def _folder(machine_id: str) -> Path:
    return Path(tempfile.gettempdir()) / f"matassay-{os.getuid()}" / machine_id


@pytest.mark.parametrize("settings", MODES)
def test_close_leaves_nothing_and_is_idempotent(settings: MachineSettings) -> None:
    machine = provider().open(settings, desktop=False)
    assert machine.pid is not None
    assert machine.start_time is not None
    assert _processes.is_alive(machine.pid, machine.start_time)
    assert _folder(machine.id).is_dir()
    machine.computer.run_script(
        "import os\npath = '.'\nfor _ in range(1200):\n    os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)\n"
    )
    machine.close()
    machine.close()
    assert not _processes.is_alive(machine.pid, machine.start_time)
    assert _processes.marked(machine.id) == set()
    assert not _folder(machine.id).exists()
    assert _cgroup.find(machine.id).folders == ()
    with pytest.raises(MachineLostError, match="open a new machine"):
        machine.computer.probe()


@pytest.mark.parametrize("settings", MODES)
def test_provision_says_what_holds_the_machine(settings: MachineSettings) -> None:
    machine = provider().open(settings, desktop=False)
    try:
        provision = machine.provision
        assert (provision.machine_id, provision.provider, provision.desktop) == (machine.id, "local", False)
        assert provision.settings == settings
        assert set(provision.facts["caps"]) >= {"memory", "processes"}
        assert provision.facts["isolated"] is settings.isolated
        assert type(provision).from_json(provision.to_json()) == provision
    finally:
        machine.close()


@pytest.mark.parametrize("settings", MODES)
def test_no_process_survives_a_killed_opener(settings: MachineSettings, opener) -> None:
    child, machine_id, pid, began = opener(settings, False)
    before = _processes.marked(machine_id)
    assert len(before) >= 3  # control server, script, what it forked
    child.kill()
    child.wait()
    assert _processes.wait_gone(pid, began, 15.0)
    leftover = {found: start for found in before if (start := _processes.start_time(found)) is not None}
    for found, start in leftover.items():
        assert _processes.wait_gone(found, start, 15.0)
    assert _processes.marked(machine_id) == set()
    assert reap(_lease(machine_id, pid, began))  # the folders and groups are left to the reaper
    assert not _folder(machine_id).exists()
    assert _cgroup.find(machine_id).folders == ()


AWAY = """
import os, time
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.environ.clear()
            open(f'pid{number}', 'w').write(str(os.getpid()))
            time.sleep(600)
        os._exit(0)
while not all(os.path.exists(f'pid{n}') and open(f'pid{n}').read() for n in range(3)):
    pass
"""


def test_without_walls_a_script_still_leaves_no_process() -> None:
    machine = provider().open(UNSAFE, desktop=False)
    try:
        assert machine.computer.run_script(AWAY, seconds=60).returncode == 0
        pids = [int(machine.computer.get_file(f"pid{number}")) for number in range(3)]
        assert [_processes.start_time(pid) for pid in pids] == [None, None, None]
    finally:
        machine.close()


@pytest.mark.parametrize("settings", MODES)
def test_without_control_groups_the_memory_of_a_process_is_capped(
    settings: MachineSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cgroup, "find_places", list)
    machine = provider().open(settings, desktop=False)
    try:
        assert machine.provision.facts["caps"]["memory"].startswith("rlimit")
        done = machine.computer.run_script("print(len(bytearray(700 * 1024 * 1024)))")
        assert "MemoryError" in done.stderr
    finally:
        machine.close()
    assert _processes.marked(machine.id) == set()


@pytest.mark.desktop
def test_a_desktop_without_walls() -> None:
    machine = provider().open(UNSAFE.model_copy(update={"memory_mb": 2048}), desktop=True)
    try:
        machine.computer.os.open_program("xmessage", "-title", "a note", "hello")
        window = machine.computer.wait_for_window("a note", 60)
        sight = machine.computer.observe()
        assert sight.png is not None
        assert sight.png.startswith(b"\x89PNG")
        assert window.id in [w.id for w in sight.observation.windows]
        assert machine.provision.facts["isolated"] is False
    finally:
        machine.close()
    assert _processes.marked(machine.id) == set()


@pytest.mark.desktop
def test_no_desktop_survives_a_killed_opener(opener) -> None:
    child, machine_id, pid, began = opener(MachineSettings(), True)
    assert len(_processes.marked(machine_id)) >= 6  # also Xvfb, openbox, dbus-daemon
    child.kill()
    child.wait()
    assert _processes.wait_gone(pid, began, 15.0)
    assert reap(_lease(machine_id, pid, began))
    assert _processes.marked(machine_id) == set()


@pytest.mark.parametrize("settings", MODES)
def test_reap_ends_a_machine_from_another_process(settings: MachineSettings, opener) -> None:
    child, machine_id, pid, began = opener(settings, False)
    assert reap(_lease(machine_id, pid, began))
    assert _processes.marked(machine_id) == set()
    assert not _folder(machine_id).exists()
    assert child.poll() is None  # the opener itself is not the reaper's to end
    assert reap(_lease(machine_id, pid, began))


@pytest.mark.parametrize("settings", MODES)
def test_the_next_opener_clears_away_what_a_killed_one_left(settings: MachineSettings, opener) -> None:
    living = provider().open(settings, desktop=False)
    try:
        child, machine_id, _, _ = opener(settings, False)
        assert machine_id not in _remains.sweep()
        child.kill()
        child.wait()
        while _folder(machine_id).exists():  # the sweep of another session on this host may be at it already
            _remains.sweep()
        assert _processes.marked(machine_id) == set()
        assert _cgroup.find(machine_id).folders == ()
        assert living.computer.run_script("print(1)").stdout == "1\n"
    finally:
        living.close()


def test_reap_never_kills_a_reused_process_id() -> None:
    with subprocess.Popen(["sleep", "60"]) as bystander:
        began = _processes.start_time(bystander.pid)
        assert began is not None
        assert reap(_lease("local-000000000000", bystander.pid, began - 1.0))
        assert bystander.poll() is None
        assert not reap(_lease("local-000000000000", bystander.pid, began, host="elsewhere"))
        assert not reap(_lease(None, bystander.pid, began))
        reap(_lease("local-000000000000", bystander.pid, began))  # the right numbers, but not that machine's process
        assert bystander.poll() is None
        bystander.kill()


def test_reap_refuses_ids_that_are_paths(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="machine_id"):
        _lease("../../home", None, None)


@pytest.mark.parametrize("settings", MODES)
def test_a_killed_server_is_a_lost_machine(settings: MachineSettings) -> None:
    machine = provider().open(settings, desktop=False)
    try:
        assert machine.pid is not None
        os.kill(machine.pid, signal.SIGKILL)
        with pytest.raises(MachineLostError, match="gone"):
            machine.computer.run_script("print(1)")
    finally:
        machine.close()
    assert _processes.marked(machine.id) == set()


@pytest.mark.parametrize("settings", MODES)
def test_a_hung_server_is_a_lost_machine_and_can_be_closed(settings: MachineSettings) -> None:
    machine = provider().open(settings, desktop=False)
    try:
        assert machine.pid is not None
        os.kill(machine.pid, signal.SIGSTOP)
        with pytest.raises(MachineLostError, match=r"did not answer GET /probe within 0\.5 s"):
            machine.computer.probe(0.5)
    finally:
        machine.close()
    assert _processes.marked(machine.id) == set()


def test_a_wrong_token_is_refused(code_machine: Machine) -> None:
    path = str(_folder(code_machine.id) / "control.sock")
    stranger = Computer(ControlClient(path, "guess"))
    with pytest.raises(MachineLostError, match="token"):
        stranger.run_script("print(1)")
    with httpx.Client(transport=httpx.HTTPTransport(uds=path), base_url="http://machine") as bare:
        assert bare.get("/probe").status_code == 401
        assert bare.get("/nowhere").status_code == 401
    stranger.close()


def test_the_socket_is_private(code_machine: Machine) -> None:
    folder = _folder(code_machine.id).parent
    assert folder.stat().st_mode & 0o077 == 0


def test_a_machine_without_a_desktop_says_so(code_machine: Machine) -> None:
    for call in (
        code_machine.computer.observe,
        code_machine.computer.settle,
        code_machine.computer.mouse.single_click,
        code_machine.computer.clipboard.view_clipboard,
    ):
        with pytest.raises(NoDesktopError, match="no desktop"):
            call()


def test_missing_programs_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tasks_lib.sandbox.local._PROGRAM_PATH", str(tmp_path))
    assert "apt-get install dbus openbox xvfb" in provider().problems(True)[-1]
    with pytest.raises(NoDesktopError, match="apt-get install dbus openbox xvfb"):
        provider().open(SMALL, desktop=True)


def test_without_bubblewrap_it_refuses_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _bubblewrap.problem.cache_clear()
    try:
        assert "apt-get install bubblewrap" in provider().problems(False)[0]
        with pytest.raises(ProvisionError, match="--unsafe-local"):
            provider().open(SMALL, desktop=False)
    finally:
        _bubblewrap.problem.cache_clear()


def test_a_server_that_cannot_start_is_told_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "guest"
    broken.mkdir()
    (broken / "__init__.py").touch()
    (broken / "__main__.py").write_text("raise SystemExit('no luck today')\n", encoding="utf-8")
    monkeypatch.setattr("tasks_lib.sandbox.local._GUEST", broken)
    with pytest.raises(ProvisionError, match="no luck today"):
        provider().open(UNSAFE if _bubblewrap.problem() else SMALL, desktop=False)


def test_an_interpreter_that_does_not_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProvisionError, match="does not run"):
        provider().open(UNSAFE, desktop=False, python=tmp_path / "python")


def test_unknown_provider() -> None:
    with pytest.raises(ConfigurationError, match="local"):
        provider("cloud")


def test_a_long_temporary_folder_is_no_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    machine = provider().open(UNSAFE, desktop=False)
    try:
        assert machine.computer.run_script("print(1)").stdout == "1\n"
    finally:
        machine.close()
