"""What is particular to S3: which servers honour conditions, cut uploads, a server that is away or says no."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config

from tasks_lib.records import VoidReason
from tasks_lib.records.errors import StoreError, policy_for
from tasks_lib.store import Store
from tasks_lib.store._s3 import S3Backend


def cut_upload(server, bucket: str, key: str) -> None:
    """Begin a put of one MiB and die half-way, as a killed process does."""
    environment = server.environment
    client = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )
    url = urlsplit(client.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": key}))
    head = f"PUT {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: {1 << 20}\r\n\r\n"
    with socket.create_connection((url.hostname, url.port)) as connection:
        connection.sendall(head.encode() + b"x" * (1 << 19))
        connection.shutdown(socket.SHUT_WR)
        # The end of the stream: the server is done with what it got.
        while connection.recv(4096):
            pass


@pytest.mark.parametrize("name", ["rclone", "moto"])
def test_cut_upload_leaves_no_half_object(request, s3_environment, name):
    server = request.getfixturevalue(f"{name}_server")
    url = s3_environment(server)
    store = Store.open(url)
    store.write_bytes("a/old", b"old")
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    for key in ("a/old", "a/new"):
        cut_upload(server, bucket, f"{prefix}/{key}")
    assert store.read_bytes("a/old") == b"old"
    assert not store.exists("a/new")


def test_rclone_ignores_conditions_and_moto_honours_them(s3_environment, rclone_server, moto_server):
    assert not S3Backend(s3_environment(rclone_server).removeprefix("s3://")).conditional
    honest = S3Backend(s3_environment(moto_server).removeprefix("s3://"))
    assert honest.conditional
    assert honest.list("") == [], "the probe is not shown"


def test_a_put_that_is_repeated_after_a_cut_connection_still_wins(s3_environment, moto_server, monkeypatch):
    backend = S3Backend(s3_environment(moto_server).removeprefix("s3://"))
    assert backend.conditional
    call = backend.fs.call_s3

    def twice(method: str, **arguments: object) -> object:
        # botocore sends a put again when the answer to the first was lost.
        if method == "put_object":
            call(method, **arguments)
        return call(method, **arguments)

    monkeypatch.setattr(backend.fs, "call_s3", twice)
    assert backend.create("a", b"mine")
    assert backend.read("a") == b"mine"
    assert backend.swap("a", b"mine", b"next")
    assert not backend.swap("a", b"mine", b"other")
    assert backend.read("a") == b"next"


@pytest.mark.parametrize("name", ["rclone", "moto"])
def test_a_bucket_without_a_prefix_is_a_store(request, s3_environment, name):
    url = s3_environment(request.getfixturevalue(f"{name}_server"))
    bucket = url.removeprefix("s3://").partition("/")[0]
    store = Store.open(f"s3://{bucket}")
    path = url.rpartition("/")[2]
    assert store.create(path, b"1")
    assert not store.create(path, b"2")
    assert path in store.list()
    store.delete(path)


def assert_blames_the_store(caught: pytest.ExceptionInfo[StoreError]) -> None:
    assert policy_for(caught.value).reason is VoidReason.STORE
    assert "s3://" in str(caught.value)
    assert "check that the store is there" in str(caught.value)


def test_a_server_that_is_away_is_the_stores_fault(s3_environment, moto_server, monkeypatch):
    url = s3_environment(moto_server)
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    store = Store.open(url)
    for call in (lambda: store.write_bytes("a", b""), lambda: store.read_bytes("a"), lambda: store.list("a")):
        with pytest.raises(StoreError) as caught:
            call()
        assert_blames_the_store(caught)


def test_a_wrong_key_is_the_stores_fault(s3_environment, rclone_server, monkeypatch):
    url = s3_environment(rclone_server)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    store = Store.open(url)
    for call in (lambda: store.write_bytes("a", b""), lambda: store.create("a", b""), lambda: store.read_bytes("a")):
        with pytest.raises(StoreError) as caught:
            call()
        assert_blames_the_store(caught)
        assert "wrong" not in str(caught.value)


def test_a_bucket_that_is_not_there_is_the_stores_fault(s3_environment, moto_server):
    s3_environment(moto_server)
    store = Store.open("s3://no-such-bucket/prefix")
    with pytest.raises(StoreError) as caught:
        store.write_bytes("a", b"")
    assert_blames_the_store(caught)


def test_no_put_waits_for_a_server_to_say_continue(s3_environment, moto_server, monkeypatch):
    """A server that answers without that word would leave the writer waiting for ever."""
    seen: list[str | None] = []

    class AnswersAtOnce(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            seen.append(self.headers.get("Expect"))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    url = s3_environment(moto_server)
    with ThreadingHTTPServer(("127.0.0.1", 0), AnswersAtOnce) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{server.server_address[1]}")
        store = Store.open(url)
        store.write_bytes("empty", b"")
        store.write_bytes("full", b"x")
        server.shutdown()
        thread.join(30)
    assert seen == [None, None]
