"""Write the gold of the database tasks: ``python -m infra.golds [--check] [DOMAIN...]``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

import infra.golds as package
from tasks_lib.databases import load

ROOT = Path(__file__).resolve().parents[2] / "taskdefs" / "mattoolbench"


def everything(domains: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Return every gold file: path below ``taskdefs/mattoolbench`` -> content."""
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("__"):
            importlib.import_module(f"{package.__name__}.{module.name}")
    snapshot = load()
    return {
        f"{task}/gold/{name}": data
        for task, gold in sorted(package.GOLDS.items())
        if not domains or task.split("/")[0] in domains
        for name, data in gold.files(snapshot).items()
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with ``--check`` compare them; 1 where one differs."""
    parser = argparse.ArgumentParser(prog="python -m infra.golds", description=__doc__)
    parser.add_argument("domains", nargs="*", metavar="DOMAIN", help="only these, such as mp")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    given = parser.parse_args(arguments)
    files = everything(tuple(given.domains))
    differing = [path for path, data in files.items() if not _same(ROOT / path, data)]
    for path in differing:
        if not given.check:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_bytes(files[path])
        print(f"{path}: {'differs from what the snapshot says' if given.check else 'written'}")
    print(f"{len(files)} gold files, {len(differing)} {'differ' if given.check else 'written'}")
    return 1 if given.check and differing else 0


def _same(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data


if __name__ == "__main__":
    sys.exit(main())
