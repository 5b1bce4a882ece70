"""The page that asks: served to one browser of this machine.

Nothing but 127.0.0.1 is listened on. The address that the person is told holds a token that is good once: the browser
that comes first gets a cookie for it, and only that browser is served. What models wrote is shown as text.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from importlib.resources import files

from flask import Flask, Request, Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import WSGIRequestHandler, make_server

from tasks_lib.reporting._render import environment
from tasks_lib.reporting.preference._ballots import BallotBox
from tasks_lib.reporting.preference._records import Preferred, Side
from tasks_lib.reporting.preference._showing import shown_text, shown_trajectory
from tasks_lib.reporting.preference._study import Study

HOST = "127.0.0.1"
_COOKIE = "matassay"
_LARGEST_BODY = 4096
_STATIC = {"style.css": "text/css", "preference.css": "text/css", "preference.js": "text/javascript"}
# No names in a text that are too short to be told from words.
_SHORTEST_NAME = 3
_HIDDEN = "▒▒▒"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: a browser would then say that the page's own forms come from nowhere.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PreferencePage:
    """Asks one person about the pairs of a study; a context manager.

    Parameters
    ----------
    study : Study
    box : BallotBox
        Where answers go.
    hidden : sequence of str
        Names that are blotted out in everything that is shown, beside the names of the two files.

    Attributes
    ----------
    url : str
        What the person opens.
    finished : threading.Event
        Set when the person says that it is done.
    """

    def __init__(self, study: Study, box: BallotBox, hidden: Sequence[str] = ()) -> None:
        self._study = study
        self._box = box
        self.finished = threading.Event()
        self._lock = threading.Lock()
        self._token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        # Cookies know hosts and paths, not ports: another server of this host must not be sent ours.
        self._room = f"/{secrets.token_urlsafe(16)}/"
        self._templates = environment(_masked([study.record.first, study.record.second, *hidden]))
        self._server = make_server(HOST, 0, self._app(), threaded=True, request_handler=_Quiet)
        self._origin = f"http://{HOST}:{self._server.server_port}"
        self.url = f"{self._origin}{self._room}?token={self._token}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="preference page", daemon=True)
        self._thread.start()

    def __enter__(self) -> PreferencePage:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(5.0)
        self._server.server_close()

    def _app(self) -> Flask:
        app = Flask(__name__, static_folder=None)
        app.config.update(MAX_CONTENT_LENGTH=_LARGEST_BODY, MAX_FORM_PARTS=8)
        app.before_request(self._guard)
        app.after_request(_with_headers)
        app.register_error_handler(HTTPException, _refusal)
        app.add_url_rule(self._room, "show", self._show, methods=["GET"])
        app.add_url_rule(f"{self._room}answer", "answer", self._answer, methods=["POST"])
        app.add_url_rule(f"{self._room}finish", "finish", self._finish, methods=["POST"])
        app.add_url_rule(f"{self._room}<name>", "static", self._static, methods=["GET"])
        return app

    def _guard(self) -> Response | None:
        if request.headers.getlist("Host") != [self._origin.removeprefix("http://")]:
            return _said("This page is called by its address on loopback alone.", HTTPStatus.FORBIDDEN)
        if request.path == self._room and request.method == "GET" and "token" in request.args:
            return self._admit(request.args["token"])
        if not request.path.startswith(self._room) or not self._is_admitted(request):
            return _said("Open the address that matassay printed.", HTTPStatus.FORBIDDEN)
        # A page of another site could make this browser send its cookie; it cannot make it lie about its origin.
        if request.method == "POST" and request.headers.get("Origin") != self._origin:
            return _said("Only the page itself may send answers.", HTTPStatus.FORBIDDEN)
        return None

    def _admit(self, token: str) -> Response:
        with self._lock:
            good = self._token is not None and _equal(token, self._token)
            if good:
                self._token = None
        if good:
            answer = self._to_page()
            answer.set_cookie(_COOKIE, self._cookie, path=self._room, httponly=True, samesite="Strict")
            return answer
        if self._is_admitted(request):
            return self._to_page()
        text = "This address is wrong or was opened before in another browser: go on there, or start the command anew."
        return _said(text, HTTPStatus.FORBIDDEN)

    def _is_admitted(self, asked: Request) -> bool:
        return _equal(asked.cookies.get(_COOKIE, ""), self._cookie)

    def _to_page(self) -> Response:
        return Response(status=HTTPStatus.SEE_OTHER, headers={"Location": self._room})

    def _show(self, problem: str = "") -> Response:
        index, pairs = self._box.next, self._study.pairs
        known = {"number": self._box.answered, "pairs": len(pairs), "problem": problem}
        if index is None:
            page = self._templates.get_template("preference-done.html.j2").render(**known)
        else:
            pair = pairs[index]
            page = self._templates.get_template("preference.html.j2").render(
                **known,
                index=index,
                question=shown_text(pair.question),
                sides=[(Side.LEFT, shown_trajectory(pair.left)), (Side.RIGHT, shown_trajectory(pair.right))],
            )
        return Response(page, status=HTTPStatus.INSUFFICIENT_STORAGE if problem else HTTPStatus.OK)

    def _answer(self) -> Response:
        choice, index = request.form.get("choice", ""), request.form.get("index", -1, type=int)
        try:
            if choice == "back":
                self._box.take_back()
            elif (preferred := self._preferred(choice, index)) is None:
                return _said("An answer is left, right or tie, about one of the pairs.", HTTPStatus.BAD_REQUEST)
            else:
                # An answer about another pair than the next one comes of a key pressed twice, or of an old page.
                self._box.answer(index, preferred)
        except OSError as error:
            return self._show(f"The answer could not be kept: {error.strerror or error}. Make room, and answer again.")
        return self._to_page()

    def _preferred(self, choice: str, index: int) -> Preferred | None:
        if not 0 <= index < len(self._study.pairs) or choice not in {*Side, Preferred.TIE}:
            return None
        if choice == Preferred.TIE:
            return Preferred.TIE
        return Preferred.FIRST if choice == self._study.pairs[index].first_on else Preferred.SECOND

    def _finish(self) -> Response:
        answer = _said("The answers are kept. This page can be closed.", HTTPStatus.OK)
        answer.call_on_close(self.finished.set)
        return answer

    def _static(self, name: str) -> Response:
        if name not in _STATIC:
            return _said("There is no such page.", HTTPStatus.NOT_FOUND)
        data = (files("tasks_lib.reporting") / "templates" / name).read_bytes()
        return Response(data, content_type=f"{_STATIC[name]}; charset=utf-8")


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:
        """Say nothing of requests: the first one holds the token."""


def _masked(names: Sequence[str]) -> Callable[[str], str]:
    words = sorted({name for name in names if len(name) >= _SHORTEST_NAME}, key=lambda name: (-len(name), name))
    if not words:
        return lambda text: text
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
    return lambda text: pattern.sub(_HIDDEN, text)


def _equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _said(text: str, status: HTTPStatus) -> Response:
    return Response(text + "\n", status=status, content_type="text/plain; charset=utf-8")


def _refusal(error: HTTPException) -> Response:
    return _said(error.name, HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR))


def _with_headers(answer: Response) -> Response:
    answer.headers.update(_HEADERS)
    return answer
