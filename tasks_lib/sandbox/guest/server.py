"""The control server: a Flask application whose every request carries the machine's token."""

from __future__ import annotations

import hmac
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, jsonify, request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from werkzeug.exceptions import HTTPException

from . import PROTOCOL
from .actions import ACTION
from .faults import RefusedError
from .files import MAX_FILE_BYTES, WorkFolder
from .scripts import ScriptRequest, Scripts
from .settings import GuestSettings

if TYPE_CHECKING:
    from .session import Session

TOKEN_HEADER = "X-MatAssay-Token"
# After this the connection of ``GET /screen`` speaks RFB.
SCREEN_GREETING = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: rfb\r\n\r\n"
_MAX_JSON_BYTES = 8 * 1024 * 1024


class _SettleRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    quiet: float = Field(default=0.4, gt=0, le=30)
    limit: float = Field(default=5.0, gt=0, le=120)


class _NewsRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    events: int = Field(ge=0)
    frames: int = Field(ge=0)


class _StuckRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    seconds: float = Field(gt=0, le=120)


class _WindowRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str = Field(max_length=500)
    seconds: float = Field(gt=0, le=600)


def create_app(
    token: str, settings: GuestSettings, files: WorkFolder, scripts: Scripts, session: Session | None
) -> Flask:
    """Build the application.

    Parameters
    ----------
    token : str
        Every request must carry it in the header `TOKEN_HEADER`.
    settings, files, scripts
        The machine's settings, work folder and script runner.
    session : Session or None
        The desktop; None on a machine without one, where requests for it are refused with 409.
    """
    app = Flask("guest", static_folder=None)
    expected = token.encode()

    @app.before_request
    def check() -> tuple[Response, int] | None:
        given = request.headers.get(TOKEN_HEADER, "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, expected):
            return jsonify(error="the token is missing or wrong", kind="token"), 401
        request.max_content_length = MAX_FILE_BYTES if request.path == "/file" else _MAX_JSON_BYTES
        if (request.content_length or 0) > request.max_content_length:
            return jsonify(error=f"a request has at most {request.max_content_length} bytes", kind="too-big"), 413
        return None

    @app.errorhandler(RefusedError)
    def refuse(refusal: RefusedError) -> tuple[Response, int]:
        return jsonify(error=refusal.message, kind=refusal.kind), refusal.status

    @app.errorhandler(ValidationError)
    def refuse_shape(problem: ValidationError) -> tuple[Response, int]:
        first = problem.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "request"
        return jsonify(error=f"{place}: {first['msg']}, got {str(first['input'])[:200]!r}", kind="action"), 400

    @app.errorhandler(Exception)
    def fail(problem: Exception) -> tuple[Response, int]:
        if isinstance(problem, HTTPException):
            kind = "too-big" if problem.code == 413 else "action"
            return jsonify(error=problem.description or problem.name, kind=kind), problem.code or 500
        print(f"{request.method} {request.path}: {type(problem).__name__}: {problem}", file=sys.stderr, flush=True)  # noqa: T201
        return jsonify(error=f"the control server failed: {type(problem).__name__}: {problem}", kind="broken"), 500

    _add_machine(app, settings, files, scripts)
    _add_desktop(app, session)
    return app


def _add_machine(app: Flask, settings: GuestSettings, files: WorkFolder, scripts: Scripts) -> None:
    @app.get("/probe")
    def probe() -> Response:
        return jsonify(
            protocol=PROTOCOL,
            desktop=settings.desktop,
            width=settings.width if settings.desktop else 0,
            height=settings.height if settings.desktop else 0,
            work=settings.work,
            isolated=settings.isolated,
            python=platform.python_version(),
            kernel=platform.release(),
            pid=os.getpid(),
        )

    @app.post("/script")
    def script() -> Response:
        return jsonify(scripts.run(ScriptRequest.model_validate_json(request.get_data())).as_dict())

    @app.get("/file")
    def get_file() -> Response:
        return Response(files.read(_path()), mimetype="application/octet-stream")

    @app.put("/file")
    def put_file() -> Response:
        files.write(_path(), request.get_data())
        return jsonify(ok=True)

    @app.get("/files")
    def list_files() -> Response:
        entries, truncated = files.entries()
        return jsonify(entries=[asdict(entry) for entry in entries], truncated=truncated)


def _add_desktop(app: Flask, session: Session | None) -> None:
    def desktop() -> Session:
        if session is None:
            msg = "this machine has no desktop: a code stage runs scripts and files only"
            raise RefusedError(msg, "no-desktop")
        return session

    @app.get("/screenshot")
    def screenshot() -> Response:
        here = desktop()
        here.desktop.check()
        return Response(here.screen.png(), mimetype="image/png")

    @app.get("/observe")
    def observe() -> Response:
        return jsonify(desktop().observe())

    @app.get("/accessible")
    def accessible() -> Response:
        return jsonify(desktop().accessible())

    @app.get("/digest")
    def digest() -> Response:
        return jsonify(digest=desktop().screen.digest())

    @app.post("/settle")
    def settle() -> Response:
        wanted = _SettleRequest.model_validate_json(request.get_data())
        return jsonify(desktop().settle(wanted.quiet, wanted.limit))

    @app.post("/stuck")
    def stuck() -> Response:
        wanted = _StuckRequest.model_validate_json(request.get_data())
        return jsonify(windows=[window.as_dict() for window in desktop().stuck(wanted.seconds)])

    @app.post("/action")
    def action() -> Response:
        return jsonify(desktop().perform(ACTION.validate_json(request.get_data())))

    @app.post("/window")
    def window() -> Response:
        wanted = _WindowRequest.model_validate_json(request.get_data())
        return jsonify(desktop().wait_for_window(wanted.title, wanted.seconds).as_dict())

    @app.get("/clipboard")
    def clipboard() -> Response:
        return jsonify(text=desktop().clipboard.text())

    _add_recording(app, desktop)

    @app.get("/installed")
    def installed() -> Response:
        return jsonify(installed=desktop().which(request.args.get("program", "")) is not None)


def _add_recording(app: Flask, desktop: Callable[[], Session]) -> None:
    @app.post("/recording")
    def start_recording() -> Response:
        desktop().start_recording()
        return jsonify(ok=True)

    @app.post("/recording/news")
    def recording_news() -> Response:
        have = _NewsRequest.model_validate_json(request.get_data())
        return jsonify(desktop().recorder.news(have.events, have.frames))

    @app.get("/recording/frame")
    def recording_frame() -> Response:
        number = request.args.get("number", "")
        return Response(desktop().recorder.frame(int(number) if number.isdecimal() else -1), mimetype="image/png")

    @app.delete("/recording")
    def stop_recording() -> Response:
        desktop().recorder.stop()
        return jsonify(ok=True)

    @app.get("/screen")
    def screen() -> Response:
        desktop().viewer.show(request.environ["werkzeug.socket"], SCREEN_GREETING)
        return _Spent()


class _Spent(Response):
    """The answer of a request whose connection served something else than HTTP: there is nothing left to say."""

    def __call__(self, environ: Any, start_response: Any) -> Any:
        raise ConnectionAbortedError


def _path() -> str:
    return request.args.get("path", "")
