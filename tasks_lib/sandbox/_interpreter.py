"""Which folders of the host a Python interpreter needs, and what inside them an agent must not see."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tasks_lib.records.errors import ProvisionError

_QUESTION = (
    "import json, sys, sysconfig; paths = sysconfig.get_paths();"
    "print(json.dumps([sys.prefix, sys.base_prefix, sys.executable, paths['purelib'], paths['platlib']]))"
)
# Names under which this house, its gold included, may be installed inside an interpreter's own folders.
_OURS = ("tasks_lib", "flows", "taskdefs")
_SYSTEM = (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib64"))


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter, the folders it needs, and the package folders inside them."""

    executable: Path
    folders: tuple[Path, ...]
    packages: tuple[Path, ...]


def running() -> Interpreter:
    """Return the interpreter that runs this process."""
    return inspect(Path(sys.executable))


@lru_cache(maxsize=32)
def inspect(executable: Path) -> Interpreter:
    """Ask an interpreter where it lives.

    Raises
    ------
    ProvisionError
        If it does not run.
    """
    try:
        done = subprocess.run(
            [str(executable), "-I", "-c", _QUESTION], capture_output=True, timeout=30, check=True, text=True
        )
        prefix, base, seen, *packages = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as problem:
        msg = f"the Python interpreter {executable} of the episode does not run: {problem}; name one that does"
        raise ProvisionError(msg) from problem
    # The venv's python is a link into the base installation, perhaps over other links: each place must be there.
    wanted = {Path(prefix), Path(base), Path(base).resolve(), _root_of(Path(seen).resolve())}
    folders = tuple(sorted(path for path in wanted if not any(path.is_relative_to(s) for s in _SYSTEM)))
    forbidden = [path for path in folders if path in (Path("/"), Path.home())]
    if forbidden:
        msg = f"the Python interpreter {executable} claims the whole of {forbidden[0]}: use one in a folder of its own"
        raise ProvisionError(msg)
    return Interpreter(executable, folders, tuple(sorted({Path(path) for path in packages})))


def hidden(interpreters: Iterable[Interpreter]) -> list[Path]:
    """List folders that mounting the interpreters would show and that an agent must not see, sorted.

    These are this package, its flows and task definitions, wherever they lie inside a mounted folder: the checkout
    that holds the virtual environment, or copies that were installed into it.
    """
    chosen = list(interpreters)
    mounted = [folder for interpreter in chosen for folder in interpreter.folders] + [Path("/usr")]
    house = Path(__file__).resolve().parents[2]
    candidates = {house / name for name in _OURS}
    if (house / "pyproject.toml").is_file():
        candidates.add(house)
    candidates |= {package / name for interpreter in chosen for package in interpreter.packages for name in _OURS}
    candidates |= {folder / "share" / "matassay" for folder in mounted}
    return sorted(path for path in candidates if path.is_dir() and any(_inside(path, folder) for folder in mounted))


def _inside(path: Path, folder: Path) -> bool:
    return path != folder and (path.is_relative_to(folder) or path.resolve().is_relative_to(folder))


def _root_of(executable: Path) -> Path:
    """Return the installation of ``<root>/bin/python``."""
    return executable.parent.parent
