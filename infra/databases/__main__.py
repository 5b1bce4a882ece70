"""Build the materials snapshot, or verify one: ``python -m infra.databases build|verify``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from infra.databases.cache import Cache, default_folder
from tasks_lib.databases import load
from tasks_lib.databases.snapshot import DEFAULT
from tasks_lib.records.errors import ConfigurationError


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 when all is well, 1 where a check fails, 2 where the command cannot run."""
    parser = argparse.ArgumentParser(prog="python -m infra.databases", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="compute every entry and write the snapshot; prints its digest")
    building.add_argument("--to", type=Path, default=DEFAULT, help="file to write (default: the one in the package)")
    building.add_argument(
        "--cache", type=Path, default=default_folder(), help="folder of kept results (default: %(default)s)"
    )
    building.add_argument("--check", action="store_true", help="write nothing; exit 1 where the file's text differs")
    building.add_argument("--json", action="store_true", help="print JSON for a machine to read")
    verifying = commands.add_parser("verify", help="derive again what can be derived from a snapshot, and compare")
    verifying.add_argument(
        "--snapshot", type=Path, default=DEFAULT, help="file to verify (default: the one in the package)"
    )
    verifying.add_argument(
        "--energies", type=int, default=0, metavar="N", help="recompute every N-th energy with the potential"
    )
    options = parser.parse_args(arguments)
    try:
        return _build(options) if options.command == "build" else _verify(options)
    except (ConfigurationError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _build(options: argparse.Namespace) -> int:
    from infra.databases.build import build
    from infra.databases.potential import Potential
    from infra.databases.starts import all_starts

    snapshot = build(all_starts(), Potential(Cache(options.cache)), lambda line: print(line, file=sys.stderr))
    differs = options.check and load(options.to).digest != snapshot.digest
    if not options.check:
        options.to.parent.mkdir(parents=True, exist_ok=True)
        snapshot.save(options.to)
    size = options.to.stat().st_size
    if options.json:
        told = {"digest": snapshot.digest, "file": str(options.to), "entries": len(snapshot), "bytes": size}
        print(json.dumps({**told, "differs": differs}, sort_keys=True))
    elif options.check:
        print(f"{snapshot.digest}  {options.to.name}{'  (differs)' if differs else ''}")
    else:
        print(f"{snapshot.digest}  {options.to.name}  {len(snapshot)} entries, {size} bytes")
    return 1 if differs else 0


def _verify(options: argparse.Namespace) -> int:
    from infra.databases.verify import complaints

    snapshot = load(options.snapshot)
    found = list(complaints(snapshot, every=options.energies))
    for complaint in found:
        print(complaint, file=sys.stderr)
    print(f"{snapshot.digest}  {options.snapshot.name}  {len(snapshot)} entries, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
