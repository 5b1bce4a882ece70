"""Who a machine's programs are on the host: where the opener is root, a user that owns nothing there.

Bubblewrap alone would leave root's programs root's own user without its powers. That is still the owner of every
setting below ``/proc/sys``, which the kernel lets its owner write: one line in ``kernel/core_pattern`` runs a program
outside. So root makes a user namespace whose user 1000 is nobody's on the host, and the machine's first process
becomes that user before it runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tasks_lib.records.errors import ProvisionError

INSIDE = 1000
# Free on common systems, and inside the 65536 ids that a container has where its root is not the host's.
OUTSIDE = 65_533
_SECONDS = 20.0
# Lives until its standard input ends. No namespace can be made inside the one it makes: an agent needs none, and each
# would open code of the kernel that is meant for root.
_MAKER = """
import ctypes, sys
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) != 0:
    sys.exit("unshare: errno %d" % ctypes.get_errno())
print("made", flush=True)
sys.stdin.readline()
with open("/proc/sys/user/max_user_namespaces", "w") as limit:
    limit.write("0")
print("closed", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """A user namespace, held by a descriptor, in which `INSIDE` is the host's user `OUTSIDE`."""

    descriptor: int

    def close(self) -> None:
        """Let go of the namespace; processes inside keep it."""
        with suppress(OSError):
            os.close(self.descriptor)

    @staticmethod
    def give(*paths: Path) -> None:
        """Make files and folders the machine's user's own; bubblewrap must still be able to enter the folders."""
        for path in paths:
            os.chown(path, OUTSIDE, OUTSIDE, follow_symlinks=False)
            if path.is_dir():
                path.chmod(0o755)


@lru_cache(maxsize=1)
def needed() -> bool:
    """Whether this process is a user that owns what no agent may touch."""
    return os.geteuid() == 0


def problem(readable: Sequence[Path]) -> str | None:
    """Say why machines opened by root cannot have a user of their own; None where they can or need not.

    Parameters
    ----------
    readable : sequence of Path
        Files and folders that any user must be able to read.
    """
    if not needed():
        return None
    if shutil.which("setpriv", path="/usr/bin:/bin") is None:
        return "setpriv is not installed, which gives up root inside a machine: apt-get install util-linux"
    for path in readable:
        status = path.stat()
        wanted = 0o005 if path.is_dir() else 0o004
        if status.st_mode & wanted != wanted:
            return (
                f"{path} can be read by root alone, and no machine of root's runs as root: "
                f"chmod -R go+rX {path}, or run MatAssay as an ordinary user"
            )
    try:
        make().close()
    except ProvisionError as error:
        return str(error)
    return None


def make() -> Identity:
    """Make the namespace; takes some 50 ms.

    Raises
    ------
    ProvisionError
        If the kernel refuses it.
    """
    maker = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _MAKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        text=True,
    )
    descriptor = -1
    try:
        assert maker.stdin is not None  # noqa: S101 - for mypy
        assert maker.stdout is not None  # noqa: S101
        if maker.stdout.readline().strip() != "made":
            raise OSError(_last_words(maker))
        for kind in ("uid_map", "gid_map"):
            Path(f"/proc/{maker.pid}/{kind}").write_text(f"0 0 1\n{INSIDE} {OUTSIDE} 1\n", encoding="ascii")
        descriptor = os.open(f"/proc/{maker.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        maker.stdin.write("\n")
        maker.stdin.flush()
        if maker.stdout.readline().strip() != "closed":
            raise OSError(_last_words(maker))
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        msg = (
            f"root cannot give a machine a user of its own ({error}): "
            "run MatAssay as an ordinary user, or allow user namespaces"
        )
        raise ProvisionError(msg) from error
    finally:
        _end(maker)
    return Identity(descriptor)


def _last_words(maker: subprocess.Popen[str]) -> str:
    with suppress(subprocess.TimeoutExpired):
        maker.wait(1.0)
    maker.kill()
    words = maker.stderr.read().strip().splitlines() if maker.stderr is not None else []
    return words[-1] if words else "it ended without a word"


def _end(maker: subprocess.Popen[str]) -> None:
    with suppress(OSError):
        if maker.stdin is not None:
            maker.stdin.close()
    try:
        maker.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        maker.kill()
        maker.wait()
    for stream in (maker.stdout, maker.stderr):
        if stream is not None:
            stream.close()


def become() -> list[str]:
    """Return the command that gives up root inside the namespace and becomes what follows it."""
    user = str(INSIDE)
    argv = ["/usr/bin/setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps", "-all"]
    return [*argv, "--ambient-caps", "-all", "--bounding-set", "-all", "--no-new-privs"]
