"""Provider ``local``: machines made of namespaces of this host, or with ``--unsafe-local`` of its processes alone."""

from __future__ import annotations

import compileall
import json
import os
import secrets
import select
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks_lib.records import MachineSettings, Provision, now
from tasks_lib.records.errors import MachineLostError, NoDesktopError, ProvisionError
from tasks_lib.sandbox import _bubblewrap, _cgroup, _endpoints, _identity, _interpreter, _processes, _remains
from tasks_lib.sandbox._client import ControlClient
from tasks_lib.sandbox.computer import Computer
from tasks_lib.sandbox.guest.settings import GuestSettings

_GUEST = Path(__file__).resolve().parent / "guest"
_MIB = 1024 * 1024
_START_SECONDS = 45.0
_NO_DESKTOP_CODE = 69  # exit code of the guest: a program of the desktop is missing
# Program of the desktop -> system package.
_PROGRAMS = {"Xvfb": "xvfb", "openbox": "openbox", "dbus-daemon": "dbus"}
_PROGRAM_PATH = "/usr/bin:/bin:/usr/local/bin:/usr/games"
# Enters the groups named first, then becomes the command: no code of the agent's is ever in this line.
_JOIN = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1" || exit 71; shift; n=$((n-1)); done; exec "$@"'


class LocalProvider:
    """Makes machines on this host; see `tasks_lib.sandbox.machine.Provider`."""

    name = "local"

    def problems(self, desktop: bool) -> list[str]:
        """Say what is missing, each with what to do."""
        found = [problem] if (problem := _bubblewrap.problem()) is not None else []
        missing = _missing_programs() if desktop else []
        if missing:
            packages = " ".join(sorted(_PROGRAMS[name] for name in missing))
            found.append(f"the desktop needs {', '.join(missing)}: apt-get install {packages}")
        return found

    def open(
        self,
        settings: MachineSettings,
        *,
        desktop: bool,
        endpoints: dict[str, int] | None = None,
        python: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> LocalMachine:
        """Make a machine; see `tasks_lib.sandbox.machine.Provider.open`."""
        ports = endpoints or {}
        _endpoints.check(ports)
        missing = _missing_programs() if desktop else []
        if missing:
            packages = " ".join(sorted(_PROGRAMS[name] for name in missing))
            msg = f"this host has no {', '.join(missing)}, which a desktop needs: apt-get install {packages}"
            raise NoDesktopError(msg)
        _sweep_once()
        problem = _bubblewrap.problem() if settings.isolated else None
        if problem is not None:
            msg = f"{problem}. Or run with --unsafe-local, which gives the agent's programs the run of this host"
            raise ProvisionError(msg)
        machine = LocalMachine(settings, desktop=desktop, variables=variables or {})
        try:
            machine.start(ports, python)
        except OSError as error:
            # A program that vanished, a full disk (told by the cause), no process left: the host's fault.
            machine.close()
            msg = f"machine {machine.id} did not start: {error}: run `matassay doctor`"
            raise ProvisionError(msg) from error
        except BaseException:
            machine.close()
            raise
        return machine


class LocalMachine:
    """A machine of provider ``local``; see `tasks_lib.sandbox.machine.Machine`."""

    computer: Computer
    provision: Provision

    def __init__(self, settings: MachineSettings, *, desktop: bool, variables: Mapping[str, str]) -> None:
        self.id = f"local-{secrets.token_hex(6)}"
        self.pid: int | None = None
        self.start_time: float | None = None
        self.variables: Mapping[str, str] = dict(variables)
        self._settings = settings
        self._desktop = desktop
        self._folders = _bubblewrap.Folders(_remains.new_root(self.id))
        self._group = _cgroup.Cgroup(())
        self._process: subprocess.Popen[bytes] | None = None
        self._client: ControlClient | None = None
        self._forwarder: Any = None
        self._identity: _identity.Identity | None = None
        self._lock: int | None = None
        self._closing = threading.Lock()
        self._closed = False

    def start(self, endpoints: dict[str, int], python: Path | None) -> None:
        """Start the machine and wait for its first answer.

        Raises
        ------
        ProvisionError, NoDesktopError
            With the last words of the control server.
        """
        began, clock = now(), time.monotonic()
        _make_private(self._folders.root.parent)
        self._folders.make()
        self._lock = _remains.hold(self._folders.root)
        _compile_guest()
        server = _interpreter.running()
        scripts = server if python is None else _interpreter.inspect(python)
        limits = _cgroup.Limits(self._settings.memory_mb * _MIB, self._settings.processes)
        self._group, capped = _cgroup.create(self.id, limits)
        capped.setdefault("memory", "rlimit (data segment of each process)")
        capped.setdefault(
            "processes", "rlimit" if os.geteuid() != 0 else "none: the kernel exempts root from its limit"
        )
        if self._settings.isolated:
            self._forwarder = _endpoints.serve(endpoints, self._folders.endpoints)
            if _identity.needed():
                self._identity = _identity.make()
                self._identity.give(self._folders.home, self._folders.work, *self._folders.endpoints.iterdir())
        guest = self._guest_settings(endpoints, scripts, python, capped)
        token = secrets.token_urlsafe(32)
        self._launch(server, scripts, token, guest)
        self._client = ControlClient(str(self._socket_path), token)
        self.computer = Computer(self._client)
        facts = self._first_answer()
        self.provision = Provision(
            machine_id=self.id,
            provider=LocalProvider.name,
            settings=self._settings,
            desktop=self._desktop,
            started=began,
            seconds=time.monotonic() - clock,
            facts=facts | {"caps": capped, "endpoints": dict(sorted(endpoints.items()))},
        )

    def close(self) -> None:
        """End the machine.

        Raises
        ------
        MachineLostError
            If a process of the machine survives; its folders are removed all the same.
        """
        with self._closing:
            if self._closed:
                return
            self._closed = True
            if self._client is not None:
                self._client.close()
            if self.pid is not None and self.start_time is not None and _processes.is_alive(self.pid, self.start_time):
                _processes.kill(self.pid)
            if self._process is not None:
                if self._process.stdin is not None:
                    with suppress(OSError):
                        self._process.stdin.close()
                if self.pid is None:  # never came far enough to name its first process
                    self._process.kill()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(5.0)
                if self._process.poll() is None:
                    self._process.kill()
                    self._process.wait(5.0)
            survivors = self._survivors()
            if self._forwarder is not None:
                self._forwarder.close()
            if self._identity is not None:
                self._identity.close()
            removed = self._group.remove()
            _remains.remove_folder(self._folders.root)
            if self._lock is not None:
                os.close(self._lock)
        if survivors or not removed:
            msg = f"machine {self.id}: processes {sorted(survivors)} did not end when it was closed; end them by hand"
            raise MachineLostError(msg)

    @property
    def _scratch(self) -> int:
        """Size of each folder in memory, bytes: together at most half of the machine's memory."""
        return self._settings.memory_mb * _MIB // 8

    @property
    def _socket_path(self) -> Path:
        return self._folders.root / "control.sock"

    def _survivors(self) -> set[int]:
        if self._settings.isolated and not self._group.folders:
            # The kernel ends a process namespace with its first process, and that one has been waited for.
            alive = self.pid is not None and self.start_time is not None
            if alive and not _processes.wait_gone(self.pid or 0, self.start_time or 0.0, 5.0):
                return {self.pid or 0}
            return set()
        if self._settings.isolated:
            end = time.monotonic() + 5.0
            while self._group.pids() and time.monotonic() < end:
                time.sleep(0.002)
            if not self._group.pids():
                return set()
        return _remains.end_processes(self.id, self._group)

    def _guest_settings(
        self,
        endpoints: dict[str, int],
        scripts: _interpreter.Interpreter,
        python: Path | None,
        capped: dict[str, str],
    ) -> GuestSettings:
        inside = self._settings.isolated
        folders = self._folders
        return GuestSettings(
            desktop=self._desktop,
            width=self._settings.width,
            height=self._settings.height,
            home=_bubblewrap.HOME if inside else str(folders.home),
            work=_bubblewrap.WORK if inside else str(folders.work),
            runtime=_bubblewrap.RUNTIME if inside else str(folders.root / "run"),
            python=str(scripts.executable),
            programs=str(python.parent) if python is not None else None,
            endpoints={port: f"{_bubblewrap.ENDPOINTS}/{port}.sock" for port in endpoints.values()} if inside else {},
            variables=dict(self.variables),
            file_mb=self._settings.disk_mb,
            data_mb=self._settings.memory_mb if capped["memory"].startswith("rlimit") else None,
            processes=self._settings.processes if capped["processes"] == "rlimit" else None,
            isolated=inside,
            accessibility=self._settings.accessibility,
        )

    def _launch(
        self, server: _interpreter.Interpreter, scripts: _interpreter.Interpreter, token: str, guest: GuestSettings
    ) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        info_read, info_write = os.pipe()
        try:
            listener.bind(str(self._socket_path))
            listener.listen(64)
            parent = _bubblewrap.GUEST_PARENT if guest.isolated else str(self._folders.root / "opt")
            # PATH and the rest of the programs' environment are the guest's to make: this is the server's own.
            environment = {
                "PATH": _PROGRAM_PATH,
                "PYTHONPATH": parent,
                "PYTHONDONTWRITEBYTECODE": "1",
                "LANG": "C.UTF-8",
                "HOME": guest.home,
                _processes.VARIABLE: self.id,
            }
            argv = [
                str(server.executable),
                "-P",
                "-s",
                "-m",
                "guest",
                "--machine",
                self.id,
                "--fd",
                str(listener.fileno()),
            ]
            if guest.isolated:
                kinds = list(dict.fromkeys((server, scripts)))
                folders, user = self._folders, self._identity
                argv = _bubblewrap.command(folders, kinds, _GUEST, info_write, environment, self._scratch, user) + argv
            else:
                Path(parent).mkdir()
                (Path(parent) / "guest").symlink_to(_GUEST)
            joins = [str(path) for path in self._group.joins]
            kept = [listener.fileno(), *([info_write] if guest.isolated else [])]
            kept += [self._identity.descriptor] if self._identity is not None else []
            with (self._folders.root / "log").open("wb") as log:
                self._process = subprocess.Popen(
                    ["/bin/sh", "-c", _JOIN, "sh", str(len(joins)), *joins, *argv],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    env=environment,
                    cwd=self._folders.work,
                    start_new_session=True,
                    pass_fds=kept,
                )
        finally:
            listener.close()
            os.close(info_write)
            first = _read_to_end(info_read, _START_SECONDS) if guest.isolated and self._process is not None else b""
            os.close(info_read)
        self._know_first_process(first)
        self._tell(f"{token}\n{guest.model_dump_json()}\n")

    def _know_first_process(self, first: bytes) -> None:
        if self._process is None:
            return
        if not self._settings.isolated:
            self.pid = self._process.pid
        else:
            try:
                self.pid = int(json.loads(first)["child-pid"])
            except (ValueError, KeyError, TypeError) as problem:
                raise self._failed("bubblewrap started no process") from problem
        self.start_time = _processes.start_time(self.pid)

    def _tell(self, text: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        except OSError as problem:
            raise self._failed("the control server ended at once") from problem

    def _first_answer(self) -> dict[str, Any]:
        try:
            return self.computer.probe(_START_SECONDS)
        except MachineLostError as problem:
            raise self._failed(str(problem)) from problem

    def _failed(self, what: str) -> ProvisionError | NoDesktopError:
        code = None
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(1.0)
        try:
            words = (self._folders.root / "log").read_bytes()[-2000:].decode("utf-8", "replace").strip()
        except OSError:
            words = ""
        if code == _NO_DESKTOP_CODE:
            return NoDesktopError(words)
        ended = "still runs" if code is None else f"ended with code {code}"
        return ProvisionError(f"machine {self.id} did not start: {what}; it {ended}. Its last words: {words or 'none'}")


@lru_cache(maxsize=1)
def _sweep_once() -> None:
    """Clear away, once a process, what openers that were killed left on this host."""
    _remains.sweep()


@lru_cache(maxsize=1)
def _compile_guest() -> None:
    """Compile the guest once: inside the machine its folder is read-only, and each start would do it anew."""
    compileall.compile_dir(str(_GUEST), quiet=2)


def _missing_programs() -> list[str]:
    return [name for name in _PROGRAMS if shutil.which(name, path=_PROGRAM_PATH) is None]


def _make_private(folder: Path) -> None:
    """Make a folder that only this user can enter, and refuse one that somebody else made.

    Raises
    ------
    ProvisionError
        If it is a link, another user's, or open to others.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    status = folder.lstat()
    if folder.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        msg = f"{folder} is not a private folder of this user: remove it or point TMPDIR elsewhere"
        raise ProvisionError(msg)


def _read_to_end(descriptor: int, seconds: float) -> bytes:
    """Read what bubblewrap says until it closes its end."""
    end = time.monotonic() + seconds
    text = b""
    while (left := end - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            break
        piece = os.read(descriptor, 4096)
        text += piece
        if not piece or text.rstrip().endswith(b"}"):
            break
    return text


__all__ = ["LocalMachine", "LocalProvider"]
