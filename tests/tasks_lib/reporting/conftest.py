"""The builder of realistic runs, and one run with its report that tests only read."""

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tasks_lib.reporting import write_report
from tasks_lib.store import RunFolder, Store

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass(frozen=True)
class Reported:
    store: Store
    run: RunFolder
    folder: Path

    def page(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def builder() -> ModuleType:
    name = "reporting_builder"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("builder.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def reported(builder, tmp_path_factory) -> Reported:
    """A run of several agents and its report; read only."""
    folder = tmp_path_factory.mktemp("report")
    store = Store.open(str(folder / "store"))
    run = builder.build_run(store)
    write_report(store, run.run_id, builder.tasks(), folder / "report")
    return Reported(store, run, folder / "report")


@pytest.fixture(scope="session")
def chromium() -> str:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install the package chromium")
    return CHROMIUM


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.open(str(tmp_path / "store"))
