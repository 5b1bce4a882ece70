"""The back end whose microscope is held by another process, on Windows as a rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import numpy as np
from pydantic import ValidationError

from tasks_lib.instruments.analysis import frame_validity
from tasks_lib.instruments.frame import Z_AXIS, Frame, Samples
from tasks_lib.instruments.nanosurf.messages import Facts, Fault, Progress
from tasks_lib.instruments.nid import NidError, read_nid
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    InstrumentError,
    InstrumentLostError,
    Limits,
    LineReport,
    OnLine,
    State,
    Value,
)
from tasks_lib.records import Record
from tasks_lib.records.errors import ConfigurationError, MatAssayError

M = TypeVar("M", bound=Record)

MAX_FRAME_BYTES = 512 * 2**20
_MAX_ANSWER_BYTES = 64 * 2**20
_CONNECT_SECONDS = 5.0
# A stop waits for nothing at the worker.
_STOP_SECONDS = 10.0
# How long the worker may keep a question about lines open.
_WAIT = 1.0


class NanosurfBackEnd:
    """Drives a microscope through its worker process.

    Parameters
    ----------
    url : str
        Where the worker, or a tunnel to it, listens on this machine's loopback.
    token : str
        What the worker was started with.
    seconds : float
        Time for an answer; longer than the worker gives its instrument.
    transport : httpx.BaseTransport, optional
        Another way than the network.

    Raises
    ------
    ConfigurationError
        If the address is not this machine's loopback.
    InstrumentLostError
        If no worker answers.
    InstrumentError
        If the token is wrong.
    """

    def __init__(
        self, url: str, token: str, *, seconds: float = 150.0, transport: httpx.BaseTransport | None = None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost") or parts.username:
            msg = (
                f"a worker is reached on this machine's loopback (http://127.0.0.1:8765), not at {url!r}: open a tunnel"
            )
            raise ConfigurationError(msg)
        self._seconds = seconds
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(seconds, connect=_CONNECT_SECONDS),
            trust_env=False,
            transport=transport,
        )
        self._saturated = False
        self._facts = self._get(Facts, "/v1/facts")

    @property
    def name(self) -> str:
        """Name of the instrument, as its worker has it."""
        return self._facts.name

    @property
    def limits(self) -> Limits:
        """What the worker's limits file allows."""
        return self._facts.limits

    def close(self) -> None:
        """Close the connection; the worker and its instrument stay as they are."""
        self._client.close()

    def read(self) -> State:
        """Return the state; `z_saturated` is that of the last frame."""
        return self._get(State, "/v1/state").model_copy(update={"z_saturated": self._saturated})

    def write(self, values: Mapping[str, Value]) -> None:
        """Set parameters."""
        wrong = sorted(name for name, value in values.items() if isinstance(value, float) and not math.isfinite(value))
        if wrong:
            msg = f"{', '.join(wrong)} is no finite number"
            raise InstrumentError(msg)
        self._post("/v1/set", {"values": dict(values)})

    def set_mode(self, mode: str) -> None:
        """Change the mode."""
        self._post("/v1/mode", {"name": mode})

    def select_lever(self, name: str) -> None:
        """Select a lever."""
        self._post("/v1/lever", {"name": name})

    def approach(self, timeout_s: float) -> None:
        """Engage the tip; the worker's own guard withdraws it where it does not engage."""
        self._post("/v1/approach", {"timeout_s": timeout_s}, self._seconds + timeout_s)

    def withdraw(self) -> None:
        """Lift the tip."""
        self._post("/v1/withdraw", {})

    def retract(self) -> None:
        """Move the tip away."""
        self._post("/v1/retract", {})

    def scan(self, name: str, on_line: OnLine) -> Frame:
        """Scan a frame; lines are asked for as they come, and the frame is the file that the instrument saved."""
        progress = self._parsed(Progress, self._post("/v1/scan", {"name": name}).content)
        try:
            self._follow(progress, on_line)
        except BaseException:
            # Whoever listened is gone, or the worker is: the scan must not go on by itself.
            with suppress(MatAssayError):
                self.stop()
            raise
        return self._frame(name)

    def stop(self) -> None:
        """End a scan at the next line, or an approach."""
        self._post("/v1/stop", {}, min(self._seconds, _STOP_SECONDS))

    def _follow(self, progress: Progress, on_line: OnLine) -> None:
        """Hand every line on until the scan has ended."""
        serial, seen, stopped = progress.serial, 0, False
        while True:
            if progress.serial != serial:
                msg = f"{self.name} began another scan meanwhile: somebody else drives it"
                raise InstrumentError(msg)
            for line in progress.lines:
                seen = line.index + 1
                goes_on = stopped or on_line(LineReport(line.index, _samples(line.forward), _samples(line.backward)))
                if not goes_on:
                    stopped = True
                    self.stop()
            if progress.fault is not None:
                raise _error(progress.fault)
            if not progress.running and seen >= progress.lines_done:
                return
            progress = self._get(Progress, f"/v1/lines?since={seen}&wait={_WAIT:g}")

    def _frame(self, name: str) -> Frame:
        content = self._request("GET", "/v1/frame", limit=MAX_FRAME_BYTES).content
        try:
            frame = read_nid(content, name=name).frame()
        except NidError as error:
            msg = f"{self.name} gave no readable frame: {error}"
            raise InstrumentError(msg) from error
        if frame.engaged is None:
            # Files of the vendor do not say; the instrument does, and its guard let no scan begin without contact.
            engaged = self.read().approach is ApproachStatus.ENGAGED
            frame = replace(frame, engaged=engaged)
        if any(channel == Z_AXIS for channel, _ in frame.channels):
            self._saturated = any(one.startswith(Z_AXIS) for one in frame_validity(frame).saturated)
        return frame

    def _get(self, model: type[M], path: str) -> M:
        return self._parsed(model, self._request("GET", path).content)

    def _post(self, path: str, order: dict[str, Any], seconds: float | None = None) -> httpx.Response:
        return self._request("POST", path, order=order, seconds=seconds)

    def _request(
        self,
        method: str,
        path: str,
        *,
        order: dict[str, Any] | None = None,
        seconds: float | None = None,
        limit: int = _MAX_ANSWER_BYTES,
    ) -> httpx.Response:
        time = httpx.Timeout(seconds or self._seconds, connect=_CONNECT_SECONDS)
        try:
            with self._client.stream(method, path, json=order, timeout=time) as response:
                content = bytearray()
                for part in response.iter_bytes():
                    content += part
                    if len(content) > limit:
                        msg = f"the worker at {self._client.base_url} sent more than {limit} bytes"
                        raise InstrumentLostError(msg)
        except httpx.TimeoutException as error:
            msg = f"the worker at {self._client.base_url} did not answer {path} within {seconds or self._seconds:g} s"
            raise InstrumentLostError(msg) from error
        except httpx.HTTPError as error:
            msg = f"the worker at {self._client.base_url} is gone ({error}): start it anew and look at the instrument"
            raise InstrumentLostError(msg) from error
        whole = httpx.Response(response.status_code, content=bytes(content))
        if whole.status_code != httpx.codes.OK:
            raise self._refusal(whole)
        return whole

    def _refusal(self, response: httpx.Response) -> InstrumentError | InstrumentLostError:
        try:
            fault = Fault.model_validate_json(response.content)
        except ValidationError:
            fault = Fault(
                kind="lost", message=f"the worker answered {response.status_code}, which is none of its answers"
            )
        if fault.kind == "lost" or response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            return InstrumentLostError(fault.message)
        return InstrumentError(fault.message)

    def _parsed(self, model: type[M], content: bytes) -> M:
        try:
            return model.model_validate_json(content)
        except ValidationError as error:
            msg = (
                f"the worker at {self._client.base_url} answers what is no {model.__name__}: {error.errors()[0]['msg']}"
            )
            raise InstrumentLostError(msg) from error


def _samples(values: list[float | None]) -> Samples:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _error(fault: Fault) -> InstrumentError | InstrumentLostError:
    return InstrumentLostError(fault.message) if fault.kind == "lost" else InstrumentError(fault.message)
