"""Write the generated inputs, and the gold of the pymatgen tasks: ``python -m infra.inputs [--check]``."""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from infra.inputs import (
    figures,
    microscopy,
    microscopy_dm,
    microscopy_fourier,
    microscopy_particles,
    mixed,
    mp,
    pymatgen,
    pymatgen_cells,
    pymatgen_sites,
    pymatgen_tables,
    pymatgen_vasp,
    xps,
    xps_fits,
    xps_regions,
)

ROOT = Path(__file__).resolve().parents[2] / "taskdefs" / "mattoolbench"


def everything() -> dict[str, bytes]:
    """Return every generated input: path below ``taskdefs/mattoolbench`` -> content."""
    domains = {
        "xps": xps.files() | xps_regions.files() | xps_fits.files(),
        "figures": figures.files(),
        "mixed": mixed.files(),
        "mp": mp.files(),
    }
    domains["microscopy"] = (
        microscopy.files() | microscopy_particles.files() | microscopy_fourier.files() | microscopy_dm.files()
    )
    domains["pymatgen"] = (
        pymatgen.files()
        | pymatgen_cells.files()
        | pymatgen_vasp.files()
        | pymatgen_sites.files()
        | pymatgen_tables.files()
    )
    return {f"{domain}/{path}": data for domain, found in domains.items() for path, data in found.items()}


def main() -> int:
    """Write the files, or with ``--check`` compare them; 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    check = parser.parse_args().check
    differs = False
    for path, data in sorted(everything().items()):
        target = ROOT / path
        same = target.is_file() and target.read_bytes() == data
        differs |= not same
        if not check and not same:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        print(f"{hashlib.sha256(data).hexdigest()}  {path}{'' if same else '  (differs)' if check else '  (written)'}")
    return 1 if check and differs else 0


if __name__ == "__main__":
    sys.exit(main())
