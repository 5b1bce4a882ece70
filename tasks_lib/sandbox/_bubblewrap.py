"""The command that shuts a machine in: what of the host it sees, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tasks_lib.sandbox import _identity
from tasks_lib.sandbox._interpreter import Interpreter, hidden, running

HOME = "/home/user"
WORK = "/home/user/work"
RUNTIME = "/run/machine"
GUEST_PARENT = "/opt/matassay"
ENDPOINTS = "/run/endpoints"
# What programs read of /etc. Not the whole: as root, bubblewrap's user may read files that hold secrets.
_ETC = [
    "ImageMagick-6",
    "ImageMagick-7",
    "X11",
    "alternatives",
    "ca-certificates.conf",
    "dbus-1",
    "dconf",
    "debian_version",
    "fonts",
    "gai.conf",
    "ghostscript",
    "glvnd",
    "gtk-2.0",
    "gtk-3.0",
    "gtk-4.0",
    "host.conf",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "libpaper.d",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "papersize",
    "perl",
    "protocols",
    "pulse",
    "python3",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    # Of /etc/xdg what desktops read: every program may keep its settings there, pip's with an index and its password.
    "xdg/QtProject",
    "xdg/autostart",
    "xdg/menus",
    "xdg/openbox",
]
_PASSWD = "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nuser:x:1000:1000:user:/home/user:/bin/sh\n"
_GROUP = "root:x:0:\nuser:x:1000:\n"
_HOSTS = "127.0.0.1 localhost machine\n::1 localhost\n"


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders of one machine on the host, all below one root."""

    root: Path
    home: Path = field(init=False)
    work: Path = field(init=False)
    endpoints: Path = field(init=False)
    etc: Path = field(init=False)
    empty: Path = field(init=False)

    def __post_init__(self) -> None:
        for name in ("home", "work", "endpoints", "etc", "empty"):
            object.__setattr__(self, name, self.root / name)

    def make(self) -> None:
        """Make the folders and the small files of the machine's ``/etc``."""
        for folder in (self.home, self.work, self.endpoints, self.etc):
            folder.mkdir(mode=0o700, parents=True)
        for name, text in (("passwd", _PASSWD), ("group", _GROUP), ("hosts", _HOSTS), ("hostname", "machine\n")):
            (self.etc / name).write_text(text, encoding="utf-8")
        self.empty.touch()
        # Any user's to read, whatever the umask; nobody else enters the folder that they lie in.
        for path in (self.etc, self.endpoints, self.empty, *self.etc.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Say why bubblewrap cannot shut machines in here; None where it can (tried once, about 20 ms)."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"
    trial = [
        program,
        "--unshare-all",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/usr",
        "/usr",
    ]
    trial += [*_links(), "--proc", "/proc", "--dev", "/dev", "--", "/usr/bin/true"]
    try:
        done = subprocess.run(trial, capture_output=True, timeout=20, check=False, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not run: {error}"
    if done.returncode != 0:
        return (
            f"bubblewrap cannot make its namespaces ({done.stderr.strip()[:300]}): allow unprivileged user namespaces "
            "(sysctl kernel.unprivileged_userns_clone=1; on Ubuntu also kernel.apparmor_restrict_unprivileged_userns=0)"
        )
    if not _identity.needed():
        return None
    if "--perms" not in _options():
        return "root needs bubblewrap 0.5 or later: upgrade it, or run MatAssay as an ordinary user"
    guest = Path(__file__).resolve().parent / "guest"
    return _identity.problem([guest, guest / "main.py", *running().folders])


def command(
    folders: Folders,
    interpreters: Sequence[Interpreter],
    guest: Path,
    info_fd: int,
    environment: dict[str, str],
    scratch: int,
    identity: _identity.Identity | None = None,
) -> list[str]:
    """Return the bubblewrap command up to the machine's own.

    Parameters
    ----------
    folders : Folders
        The machine's own folders, the only ones that it may write to.
    interpreters : sequence of Interpreter
        Mounted read-only at their own places; this house inside them is covered.
    guest : Path
        The package that runs inside.
    info_fd : int
        Descriptor that bubblewrap writes the process id of the machine's first process to.
    environment : dict of str to str
        The whole environment of the first process.
    scratch : int
        Size of each folder that lies in memory, bytes.
    identity : Identity, optional
        User namespace of the machine's user; needed where this process is root, and inherited by the command.
    """
    program = shutil.which("bwrap") or "bwrap"
    argv = [program, *_user(identity), "--new-session", "--as-pid-1", "--info-fd", str(info_fd)]
    argv += ["--hostname", "machine", "--clearenv"]
    for name, value in environment.items():
        argv += ["--setenv", name, value]
    argv += ["--ro-bind", "/usr", "/usr", *_links()]
    argv += _parents(Path("/etc") / name for name in _ETC)
    for name in _ETC:
        if (Path("/etc") / name).exists():
            argv += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]
    for path in sorted(folders.etc.iterdir()):
        argv += ["--ro-bind", str(path), f"/etc/{path.name}"]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    for place in ("/tmp", "/var", "/run", "/dev/shm"):  # noqa: S108
        # These lie in memory: without a size a full one would leave the machine no memory to go on.
        argv += [*(("--size", str(scratch)) if "--size" in _options() else ()), *_perms("1777"), "--tmpfs", place]
    argv += _interpreter_mounts(interpreters, folders.empty)
    argv += [*_parents([Path(GUEST_PARENT) / "guest", Path(HOME)]), "--ro-bind", str(guest), f"{GUEST_PARENT}/guest"]
    argv += ["--ro-bind", str(folders.endpoints), ENDPOINTS]
    argv += ["--bind", str(folders.home), HOME, "--bind", str(folders.work), WORK]
    argv += [*_perms("0777"), "--dir", RUNTIME, "--remount-ro", "/", "--chdir", WORK, "--"]
    return [*argv, *(_identity.become() if identity is not None else ())]


def _user(identity: _identity.Identity | None) -> list[str]:
    """Return the options that say which user the machine's first process is, and in which namespaces."""
    if identity is None:
        closed = ["--unshare-user", "--disable-userns"] if "--disable-userns" in _options() else []
        return ["--unshare-all", *closed, "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"]
    argv = ["--userns", str(identity.descriptor)]
    argv += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    # What giving up root needs, and is given up with it.
    return [
        *argv,
        "--cap-drop",
        "ALL",
        *(part for name in ("SETUID", "SETGID", "SETPCAP") for part in ("--cap-add", f"CAP_{name}")),
    ]


def _perms(mode: str) -> list[str]:
    return ["--perms", mode] if "--perms" in _options() else []


def _parents(places: Iterable[Path]) -> list[str]:
    """Make the folders that mounts lie in; left to bubblewrap, some are closed to all but its own user."""
    folders = dict.fromkeys(parent for place in places for parent in reversed(place.parents) if parent != Path("/"))
    return [part for folder in folders for part in (*_perms("0755"), "--dir", str(folder))]


def _interpreter_mounts(interpreters: Sequence[Interpreter], empty: Path) -> list[str]:
    """Mount the interpreters' folders, cover this house inside them, and mount again what lies inside the cover."""
    folders = sorted({folder for interpreter in interpreters for folder in interpreter.folders})
    argv: list[str] = []
    for folder in folders:
        argv += [*_parents([folder]), "--ro-bind", str(folder), str(folder)]
        argv += _cover_settings(folder, empty)
    for cover in hidden(interpreters):
        argv += ["--tmpfs", str(cover)]
        for folder in folders:
            if folder.is_relative_to(cover):
                argv += [*_parents([folder]), "--ro-bind", str(folder), str(folder)]
                argv += _cover_settings(folder, empty)
    return argv


def _cover_settings(folder: Path, empty: Path) -> list[str]:
    """Cover pip's settings: they may name an index with a password."""
    settings = folder / "pip.conf"
    return ["--ro-bind", str(empty), str(settings)] if settings.exists() else []


@lru_cache(maxsize=1)
def _options() -> frozenset[str]:
    """List what this bubblewrap knows: ``--perms`` since 0.5, ``--size`` since 0.7, ``--disable-userns`` since 0.8."""
    done = subprocess.run(["bwrap", "--help"], capture_output=True, timeout=20, check=False, text=True)
    return frozenset(word for word in (done.stdout + done.stderr).split() if word.startswith("--"))


def _links() -> list[str]:
    """Return the links of a merged /usr, or the mounts where it is not merged."""
    argv = []
    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        path = Path("/") / name
        if path.is_symlink():
            argv += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            argv += ["--ro-bind", str(path), str(path)]
    return argv
