"""From a request to the desk and back, without a network: the server and the fake in one process share this."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

from pydantic import ValidationError

from tasks_lib.instruments.nanosurf.desk import Desk
from tasks_lib.instruments.nanosurf.messages import ApproachOrder, Fault, FaultKind, NameOrder, ScanOrder, SetOrder
from tasks_lib.instruments.protocol import InstrumentLostError, RefusedError
from tasks_lib.records import Record
from tasks_lib.records.errors import MatAssayError

JSON = "application/json"
NID = "application/octet-stream"
_STATUS: Mapping[FaultKind, int] = {"invalid": 400, "denied": 401, "refused": 409, "failed": 422, "lost": 504}


class InvalidRequestError(Exception):
    """A request that says nothing that can be carried out."""


def answer(desk: Desk, method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
    """Carry out a request.

    Parameters
    ----------
    desk : Desk
        Who carries it out.
    method, target : str
        As in HTTP; the target is a path with a query.
    body : bytes
        JSON, or nothing.

    Returns
    -------
    status, media type, content
        4xx for what was asked wrongly or could not be done, 504 for an instrument that does not answer.
    """
    try:
        done = _dispatch(desk, method, target, body)
    except InvalidRequestError as error:
        return fault("invalid", str(error))
    except RefusedError as error:
        return fault("refused", str(error))
    except InstrumentLostError as error:
        return fault("lost", str(error))
    except MatAssayError as error:
        return fault("failed", str(error))
    if isinstance(done, bytes):
        return 200, NID, done
    return 200, JSON, _json(done)


def fault(kind: FaultKind, message: str) -> tuple[int, str, bytes]:
    """Return the answer that says what is wrong."""
    return _STATUS[kind], JSON, _json(Fault(kind=kind, message=message[:4000]))


def _dispatch(desk: Desk, method: str, target: str, body: bytes) -> Record | list[Any] | bytes | None:
    parts = urlsplit(target)
    query = parse_qs(parts.query)
    reads: dict[str, Callable[[], Record | bytes]] = {
        "/v1/facts": desk.facts,
        "/v1/state": desk.state,
        "/v1/lines": lambda: desk.progress(int(_number(query, "since")), _number(query, "wait")),
        "/v1/frame": desk.frame,
    }
    orders: dict[str, Callable[[], Record | list[Any] | None]] = {
        "/v1/set": lambda: desk.set(_parsed(SetOrder, body).values),
        "/v1/mode": lambda: desk.set_mode(_parsed(NameOrder, body).name),
        "/v1/lever": lambda: desk.select_lever(_parsed(NameOrder, body).name),
        "/v1/approach": lambda: desk.approach(_parsed(ApproachOrder, body).timeout_s),
        "/v1/withdraw": desk.withdraw,
        "/v1/retract": desk.retract,
        "/v1/scan": lambda: _scan(desk, _parsed(ScanOrder, body)),
        "/v1/stop": desk.stop,
    }
    if method == "GET" and parts.path in reads:
        return reads[parts.path]()
    if method == "POST" and parts.path in orders:
        return orders[parts.path]()
    msg = f"there is no {method[:10]} {parts.path[:100]}"
    raise InvalidRequestError(msg)


def _scan(desk: Desk, order: ScanOrder) -> Record:
    return desk.begin_scan(order.name, continuous=order.continuous)


def _parsed(model: type[Any], body: bytes) -> Any:
    try:
        return model.model_validate(json.loads(body or b"{}", parse_constant=_no_constant))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InvalidRequestError(msg) from None
    except (ValueError, RecursionError) as error:
        msg = f"the body is no JSON: {error}"
        raise InvalidRequestError(msg) from None


def _no_constant(text: str) -> NoReturn:
    msg = f"{text} is no number"
    raise ValueError(msg)


def _number(query: dict[str, list[str]], name: str) -> float:
    text = query.get(name, ["0"])[0]
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1e6:
        msg = f"{name} lies between 0 and 1e6, not at {text[:20]!r}"
        raise InvalidRequestError(msg)
    return value


def _json(done: Record | list[Any] | None) -> bytes:
    if isinstance(done, list):
        plain: Any = [one.model_dump(mode="json") for one in done]
    else:
        plain = {} if done is None else done.model_dump(mode="json")
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()
