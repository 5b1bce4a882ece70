"""What a script of the agent cannot see, reach or break."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import Machine, _bubblewrap, provider

pytestmark = pytest.mark.usefixtures("needs_isolation")
SMALL = MachineSettings(memory_mb=512, processes=64, disk_mb=64)


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def host_port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hello)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def machine(host_port: int) -> Iterator[Machine]:
    machine = provider().open(SMALL, desktop=False, endpoints={"materials": host_port})
    yield machine
    machine.close()


def _ask(machine: Machine, expression: str, setup: str = "") -> object:
    done = machine.computer.run_script(
        f"import json, os, sys, socket, pathlib\n{setup}\nprint(json.dumps({expression}))\n"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_house_no_gold_no_store(machine: Machine, repository: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "gold.txt").write_text("42", encoding="utf-8")
    hidden = [
        str(repository / name)
        for name in ("tasks_lib", "flows", "taskdefs", "tests", "artifacts", "pyproject.toml", ".git")
    ]
    hidden += [
        str(tmp_path),
        str(Path.home() / ".ssh"),
        str(Path.home() / ".bashrc"),
        "/etc/shadow",
        "/etc/pip.conf",
        "/etc/xdg/pip",
        "/boot",
        "/sys",
    ]
    assert [p for p in hidden if _ask(machine, f"os.path.lexists({p!r})")] == []
    found = _ask(
        machine,
        "found",
        "import importlib.util\nfound = [n for n in ('tasks_lib', 'flows') if importlib.util.find_spec(n)]",
    )
    assert found == []


def test_settings_that_may_name_passwords_are_not_there(machine: Machine) -> None:
    names = {"pip.conf", "pip.ini", "uv.toml", ".netrc", ".pypirc", "credentials", ".condarc", "auth.toml", ".npmrc"}
    found = _ask(machine, f"[f for _, _, files in os.walk('/etc') for f in files if f in {names!r}]")
    assert found == []
    # The folder that any program of the host may put settings into is not there as a whole.
    shown = _ask(machine, "os.listdir('/etc/xdg') if os.path.isdir('/etc/xdg') else []")
    assert set(shown) <= {"QtProject", "autostart", "menus", "openbox"}  # type: ignore[call-overload]


def test_an_installed_copy_of_the_house_is_covered(tmp_path: Path) -> None:
    """A virtual environment that holds the package itself, and its own settings file with a password."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    packages = next((tmp_path / "env" / "lib").glob("python3*")) / "site-packages"
    for name in ("tasks_lib", "flows", "taskdefs"):
        (packages / name).mkdir()
        (packages / name / "gold.py").write_text("answer = 42\n", encoding="utf-8")
    (packages / "kept.py").write_text("here = True\n", encoding="utf-8")
    (tmp_path / "env" / "pip.conf").write_text("secret", encoding="utf-8")
    machine = provider().open(SMALL, desktop=False, python=tmp_path / "env" / "bin" / "python")
    try:
        code = (
            "import kept, sys, glob, os\nprint(kept.here, sys.prefix)\n"
            f"settings = {str(tmp_path / 'env' / 'pip.conf')!r}\n"
            f"found = glob.glob({str(packages)!r} + '/**/gold.py', recursive=True)\n"
            "print(found, repr(open(settings).read()))\n"
        )
        done = machine.computer.run_script(code)
        assert done.stdout.splitlines() == [f"True {tmp_path / 'env'}", "[] ''"], done.stderr
    finally:
        machine.close()


WRITER = """
bad = []
for folder in ['/', '/usr', '/etc', '/opt/matassay/guest', '/run/endpoints', '/usr/lib', sys.prefix, sys.base_prefix]:
    try:
        open(os.path.join(folder, 'mine'), 'w').close()
        bad.append(folder)
    except OSError:
        pass
for folder in ['/tmp', os.environ['HOME'], os.getcwd(), os.environ['TMPDIR']]:
    open(os.path.join(folder, 'mine'), 'w').close()
"""


def test_only_home_work_and_scratch_can_be_written(machine: Machine) -> None:
    assert _ask(machine, "bad", WRITER) == []


# Opened, never written: where this fails, a write would change the host.
HOST_SETTINGS = """
def is_settable(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True

def is_private_but_read(path):
    try:
        if os.lstat(path).st_mode & 0o004:
            return False
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True

# Of this machine's own process namespace; and what the kernel lets every user of a host open, to be told of pressure.
allowed = {'/proc/sys/kernel/ns_last_pid', '/proc/pressure/io', '/proc/pressure/cpu', '/proc/pressure/memory'}
seen, open_to_it = 0, []
for top, folders, files in os.walk('/proc'):
    if top == '/proc':
        folders[:] = [name for name in folders if not name.isdigit() and name not in ('self', 'thread-self')]
    for name in files:
        path = os.path.join(top, name)
        seen += 1
        if path not in allowed and (is_settable(path) or is_private_but_read(path)):
            open_to_it.append(path)
"""


def test_no_setting_of_the_host_kernel_can_be_written(machine: Machine) -> None:
    """Root's own user, even without root's powers, owns ``/proc/sys``: it could run programs outside."""
    seen, open_to_it = _ask(machine, "[seen, open_to_it]", HOST_SETTINGS)  # type: ignore[misc]
    assert seen > 100
    assert open_to_it == []


def test_the_machines_user_is_not_the_openers_when_that_is_root(machine: Machine) -> None:
    inside, outside = _ask(  # type: ignore[misc]
        machine,
        "found",
        "lines = open('/proc/self/uid_map').read().splitlines()\n"
        "found = next(map(int, line.split()[:2]) for line in lines if line.split()[0] == '1000')\nfound = list(found)",
    )
    assert inside == os.getuid() == 1000 or outside != 0
    held = _ask(machine, "[line.split()[1] for line in open('/proc/self/status') if line.startswith('Cap')]")
    assert set(held) == {"0" * 16}  # type: ignore[call-overload]


def test_no_namespace_can_be_made_inside(machine: Machine) -> None:
    """Each is a way to kernel code that only root reaches otherwise."""
    tried = _ask(
        machine,
        "results",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "results = [libc.unshare(flag) for flag in (0x10000000, 0x00020000, 0x40000000, 0x10020000)]",
    )
    assert tried == [-1, -1, -1, -1]


def test_an_ordinary_users_machine_is_shut_as_well() -> None:
    """The walls of an opener that is not root; tried as another user where this one is root."""
    argv = ["bwrap", *_bubblewrap._user(None), "--ro-bind", "/usr", "/usr", *_bubblewrap._links()]
    argv += ["--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", "id -u; unshare -U true || echo shut"]
    if os.getuid() == 0:
        argv = ["setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups", *argv]
    done = subprocess.run(argv, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode != 0 and os.getuid() == 0 and "namespace" in done.stderr:
        pytest.skip(f"no ordinary user may make namespaces here: {done.stderr}")
    assert done.stdout.split() == ["1000", "shut"], done.stderr


def test_user_and_environment(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _ask(machine, "[os.getuid(), os.uname().nodename, dict(os.environ)]")
    uid, node, environment = seen  # type: ignore[misc]
    assert (uid, node) == (1000, "machine")
    assert environment["HOME"] == "/home/user"
    assert environment["LANG"] == "C.UTF-8"
    assert environment["TZ"] == "UTC"
    assert "PYTHONPATH" not in environment
    assert not {name for name in os.environ if name.endswith(("KEY", "TOKEN", "SECRET"))} & set(environment)


PEEPER = """
opened = []
for name in ('mem', 'environ', 'fd/0', 'maps', 'root', 'cwd'):
    try:
        os.stat('/proc/1/' + name)
        open('/proc/1/' + name, 'rb').close()
        opened.append(name)
    except OSError:
        pass
"""


def test_the_servers_secrets_cannot_be_read(machine: Machine) -> None:
    assert _ask(machine, "opened", PEEPER) == []


KILLER = """
import os, signal
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV):
    os.kill(1, number)
print('sent')
"""


def test_the_server_cannot_be_killed_or_stopped_from_inside(machine: Machine) -> None:
    done = machine.computer.run_script(KILLER)
    assert done.stdout == "sent\n", done.stderr
    assert machine.computer.probe()["pid"] == 1


REACHER = """
import urllib.request
def reach(host, port):
    try:
        socket.create_connection((host, port), 2).close()
        return True
    except OSError:
        return False
def fetch(port, path):
    return urllib.request.urlopen(f'http://127.0.0.1:{port}/{path}').read().decode()
"""


def test_no_network_but_the_named_endpoint(machine: Machine, host_port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ways = f"[reach('127.0.0.1', {host_port}), reach('127.0.0.1', {port}), reach('8.8.8.8', 53)]"
        assert _ask(machine, ways, REACHER) == [True, False, False]
    answers = _ask(machine, f"[fetch({host_port}, i) for i in range(20)]", REACHER)
    assert answers == [f"hello /{i}" for i in range(20)]


def test_an_endpoint_that_is_down_is_a_closed_connection() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    machine = provider().open(SMALL, desktop=False, endpoints={"down": port})
    try:
        done = machine.computer.run_script(
            f"import urllib.request as u\nu.urlopen('http://127.0.0.1:{port}/', timeout=20)\n"
        )
        assert done.returncode == 1
        assert "timed out" not in done.stderr
    finally:
        machine.close()


@pytest.mark.parametrize("endpoints", [{"Bad Name": 8080}, {"low": 80}, {"none": 0}])
def test_impossible_endpoints_are_refused(endpoints: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="endpoint"):
        provider().open(SMALL, desktop=False, endpoints=endpoints)


def test_two_machines_do_not_see_each_other(machine: Machine) -> None:
    other = provider().open(SMALL, desktop=False)
    try:
        machine.computer.put_file("mine.txt", b"mine")
        assert all(entry.path != "mine.txt" for entry in other.computer.list_files())
        processes = _ask(other, "sorted(int(n) for n in os.listdir('/proc') if n.isdigit())")
        assert len(processes) == 2  # type: ignore[arg-type]
        assert other.id != machine.id
    finally:
        other.close()
    assert machine.computer.get_file("mine.txt") == b"mine"
