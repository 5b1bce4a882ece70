"""Play a code task and a GUI task with a small real model on loopback, and say how it went.

``make small-model`` or ``.venv/bin/python -m infra.small_model`` sets up the model's own environment, serves it, checks
it with `matassay models check`, runs the tasks, prints the figures and ends the server. The model is text-only and so
small that it solves next to nothing; what the run proves is that prompts, client, loops and records work with tokens
that a model has really made.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from infra.small_model.figures import figures, table
from infra.small_model.serve import KEY_VARIABLE
from tasks_lib.records import now
from tasks_lib.store import Store

ROOT = Path(__file__).parents[2]
STATE = ROOT / ".state"
PLACE = STATE / "small-model"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
TASKS = ("kspacing-mesh", "import-region")
MODEL = "small"

_SETTINGS = """\
# Written by infra/small_model; the server and its key live as long as the run.
[models.{name}]
provider = "openai"
base_url = "{base_url}"
model = "{model}"
api_key_env = "{key_variable}"
temperature = 0.3
seed = 1
max_tokens = 256
read_seconds = 600
extra_body = {{ repeat_penalty = 1.15 }}
image = {{ enabled = false }}
price_per_million = {{ input = 0, output = 0 }}
"""


def python() -> Path:
    """Return the interpreter of the model's environment; set it up where it is missing or of other requirements."""
    interpreter, stamp = PLACE / "bin" / "python", PLACE / "requirements.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not (stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted):
        print(f"setting up {PLACE.relative_to(ROOT)} (about 230 MB)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PLACE)], check=True)
        subprocess.run(
            [str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r",
             str(REQUIREMENTS)], check=True,
        )  # fmt: skip
        stamp.write_text(wanted, encoding="utf-8")
    return interpreter


@contextlib.contextmanager
def served(gguf: Path | None, threads: int, key: str) -> Iterator[dict[str, str]]:
    """Serve the model; yields the address and the model's name."""
    words = [str(python()), str(Path(__file__).with_name("serve.py")), "--threads", str(threads)]
    if gguf is not None:
        words += ["--gguf", str(gguf.resolve()), "--name", gguf.stem.lower()]
    log = STATE / "logs" / "small-model.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as errors:
        server = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, KEY_VARIABLE: key}
        )
        try:
            line = server.stdout.readline()
            if not line:
                sys.exit(f"the model's server did not start: see {log}")
            yield json.loads(line)
        finally:
            server.stdin.close()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stdout.close()


def main() -> int:
    """Do all of it; returns the exit code of the first command that failed, else 0. A failed task is no failure."""
    parser = argparse.ArgumentParser(prog="python -m infra.small_model", description=__doc__)
    parser.add_argument("--store", default=str(ROOT / "artifacts"), help="where the run is kept")
    parser.add_argument(
        "--task", action="append", metavar="ID", help=f"instead of {' and '.join(TASKS)}; may be repeated"
    )
    parser.add_argument("--run", metavar="NAME", help="the run's name; one that is there goes on")
    parser.add_argument("--steps", type=int, default=12, help="replies to a task at most; the tasks allow more")
    parser.add_argument("--gguf", type=Path, help="another model's weights")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="processor cores for the model")
    options = parser.parse_args()

    # The commands run in the project's folder, whoever calls from where.
    store = options.store if "://" in options.store else str(Path(options.store).resolve())
    key, name = secrets.token_hex(24), options.run or f"{now():%Y%m%d-%H%M%S}-small-model"
    settings = STATE / "small-model.toml"
    with served(options.gguf, options.threads, key) as endpoint:
        settings.write_text(
            _SETTINGS.format(name=MODEL, key_variable=KEY_VARIABLE, **endpoint), encoding="utf-8", newline="\n"
        )
        environment = {**os.environ, "MATASSAY_CONFIG": str(settings), KEY_VARIABLE: key}
        matassay = [sys.executable, "-m", "tasks_lib.cli"]
        tasks = [word for task in options.task or TASKS for word in ("--task", task)]
        run = ["run", *tasks, "--agent", "llm", "--model", MODEL, "--store", store, "--resume", name]
        run += ["--agent-setting", f"steps={options.steps}"]
        for words in (["models", "check", MODEL], run):
            code = subprocess.run([*matassay, *words], env=environment, cwd=ROOT, check=False).returncode
            if code and words is not run:
                return code
    print(table(figures(Store.open(store), name)))
    return code


if __name__ == "__main__":
    sys.exit(main())
