from __future__ import annotations

from pathlib import Path

import pytest

from tasks_lib.episodes import Selection, check_decoding, manifest_for
from tasks_lib.episodes.decoding import SETTING
from tasks_lib.records import MachineSettings, RunManifest
from tasks_lib.records.errors import ConfigurationError

TABLE = '[models.small]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n{more}\n'


def planned(root: Path, file: Path, **changes: str) -> RunManifest:
    choice = Selection(
        models=("small",), models_file=file, machine=MachineSettings(), seed=0, hints=True, retries=0, **changes
    )
    return manifest_for(choice, root, run_id="r1", command=())


def write(folder: Path, more: str) -> Path:
    file = folder / "matassay.toml"
    file.write_text(TABLE.format(more=more), encoding="utf-8")
    return file


def test_a_manifest_says_how_its_models_decode(one_stage: Path, tmp_path: Path) -> None:
    file = write(tmp_path, 'temperature = 0.2\nseed = 7\nread_seconds = 5\nextra_body = { password = "hush-hush" }')
    manifest = planned(one_stage, file)
    recorded = manifest.settings[SETTING]["small"]
    assert (recorded["model"], recorded["temperature"], recorded["seed"]) == ("m", 0.2, 7)
    assert recorded["image"]["enabled"] is True
    assert "hush-hush" not in manifest.to_json()
    assert len(recorded["extra_body_sha256"]) == 64
    check_decoding(manifest, file)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("temperature = 0.3", r"\[models.small\] temperature = 0.2, and .*matassay.toml has 0.3: put it back"),
        ("", "temperature = 0.2, and .* has None"),
        ("temperature = 0.2\nimage = { enabled = false }", "image = "),
        ("temperature = 0.2\nextra_body = { top_k = 3 }", "extra_body_sha256 = None"),
    ],
)
def test_a_run_does_not_go_on_with_a_model_that_decodes_otherwise(
    one_stage: Path, tmp_path: Path, more: str, why: str
) -> None:
    manifest = planned(one_stage, write(tmp_path, "temperature = 0.2"))
    with pytest.raises(ConfigurationError, match=why):
        check_decoding(manifest, write(tmp_path, more))


def test_where_it_is_asked_and_for_how_long_may_change(one_stage: Path, tmp_path: Path) -> None:
    manifest = planned(one_stage, write(tmp_path, "temperature = 0.2"))
    file = write(tmp_path, "temperature = 0.2\nattempts = 9\nstall_seconds = 9.0")
    file.write_text(file.read_text(encoding="utf-8").replace(":9/", ":10/"), encoding="utf-8")
    check_decoding(manifest, file)
    check_decoding(manifest.model_copy(update={"settings": {}}), file)
