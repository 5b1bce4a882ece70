"""An S3 bucket through s3fs: puts are atomic; exclusive creation and swaps by conditional writes, or by claims."""

from __future__ import annotations

import errno
import functools
import os
import uuid
from typing import Any

from aiobotocore.session import AioSession  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from botocore.handlers import add_expect_header  # type: ignore[import-untyped]
from s3fs import S3FileSystem

from tasks_lib.store._backend import PRIVATE, Backend
from tasks_lib.store._claims import Claims


class S3Backend(Backend):
    """Objects of a bucket under a prefix.

    Guarantees: an object is whole or absent (a put is atomic). Where the server honours ``If-None-Match`` and
    ``If-Match`` on puts (AWS S3, MinIO, Ceph, moto; tried out once per process), the server itself picks the one
    winner. Where it ignores them (``rclone serve s3``), `Claims` serialises the writers; see there for what that
    rests on. Writers of both kinds on one path do not mix: all processes of a run see the same server.
    """

    failures = (OSError, BotoCoreError, ClientError)

    def __init__(self, root: str) -> None:
        super().__init__(_file_system(), root, f"s3://{root}")
        self._bucket, _, self._prefix = root.partition("/")
        self._claims = Claims(self.fs, root)

    def write(self, path: str, data: bytes) -> None:
        with self.guard("write", path):
            self.fs.pipe_file(self.absolute(path), data)

    def create(self, path: str, data: bytes) -> bool:
        with self.guard("create", path):
            if self._occupied(path):
                return False
            if self.conditional:
                return self._put_if(path, data, IfNoneMatch="*")
            with self._claims.alone(path) as check:
                if self._occupied(path):
                    return False
                check()
                self.fs.pipe_file(self.absolute(path), data)
                return True

    def swap(self, path: str, old: bytes, new: bytes) -> bool:
        with self.guard("swap", path):
            try:
                if self.conditional:
                    # The tag comes first: if the object changes after that, the put is refused.
                    tag = self.fs.info(self.absolute(path))["ETag"]
                    return self.fs.cat_file(self.absolute(path)) == old and self._put_if(path, new, IfMatch=tag)
                with self._claims.alone(path) as check:
                    if self.fs.cat_file(self.absolute(path)) != old:
                        return False
                    check()
                    self.fs.pipe_file(self.absolute(path), new)
                    return True
            except FileNotFoundError:
                return False

    def append(self, path: str, line: bytes) -> None:
        # S3 cannot append. The object is written anew: a put is atomic, so no line is ever torn, and a trajectory
        # of 50 steps stays far below the size where this would be felt.
        with self.guard("append to", path):
            try:
                before = bytes(self.fs.cat_file(self.absolute(path)))
            except FileNotFoundError:
                before = b""
            self.fs.pipe_file(self.absolute(path), before[: before.rfind(b"\n") + 1] + line)

    def free_bytes(self) -> int | None:
        return None

    @functools.cached_property
    def conditional(self) -> bool:
        """Whether the server refuses a put whose condition does not hold, tried out on an object of our own."""
        # The object stays: deleting it would race with others who try the same.
        probe = f"{PRIVATE}/probe"
        self.fs.pipe_file(self.absolute(probe), b"")
        return not (self._put_if(probe, b"", IfNoneMatch="*") or self._put_if(probe, b"", IfMatch='"0"'))

    def _occupied(self, path: str) -> bool:
        try:
            return bool(self.fs.info(self.absolute(path))["type"] == "file")
        except FileNotFoundError:
            return False

    def _put_if(self, path: str, data: bytes, **condition: str) -> bool:
        key = f"{self._prefix}/{path}" if self._prefix else path
        writer = uuid.uuid4().hex
        try:
            self.fs.call_s3(
                "put_object", Bucket=self._bucket, Key=key, Body=data, Metadata={"writer": writer}, **condition
            )
        except OSError as error:
            if not _refused(error):
                raise
            # A put that is repeated after a cut connection is refused because of itself: ask who wrote.
            return self._writer(key) == writer
        return True

    def _writer(self, key: str) -> str | None:
        try:
            facts: dict[str, Any] = self.fs.call_s3("head_object", Bucket=self._bucket, Key=key)
        except FileNotFoundError:
            return None
        writer: str | None = facts.get("Metadata", {}).get("writer")
        return writer


def _refused(error: OSError) -> bool:
    cause = error.__cause__
    if not isinstance(cause, ClientError):
        return False
    status = cause.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    # 409: AWS saw a second conditional put on the same key under way.
    return status in {409, 412} or error.errno == errno.EEXIST


def _file_system() -> Any:
    """Open s3fs with what botocore finds in the environment; other servers than AWS get the plain dialect."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    # How often botocore tries again is left to AWS_MAX_ATTEMPTS and AWS_RETRY_MODE.
    config: dict[str, Any] = {"connect_timeout": 10, "read_timeout": 60}
    client: dict[str, Any] = {}
    if endpoint:
        config |= {
            "signature_version": "s3v4",
            "s3": {"addressing_style": "path"},
            "response_checksum_validation": "when_required",
            "request_checksum_calculation": "when_required",
        }
        client["region_name"] = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    # botocore asks servers for "100 Continue" before every body. One that answers at once instead, as rclone does to
    # an empty body, now and then leaves aiohttp waiting for ever: the time limit on reading has no hold on that.
    session = AioSession()
    session.unregister("before-call.s3", add_expect_header)
    # Without a cache of listings: other processes write too. A private instance: the environment may have changed.
    return S3FileSystem(
        endpoint_url=endpoint or None,
        config_kwargs=config,
        client_kwargs=client,
        session=session,
        use_listings_cache=False,
        skip_instance_cache=True,
    )
