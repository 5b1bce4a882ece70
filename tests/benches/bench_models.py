"""What the client of chat models costs on top of bare httpx, and 200 calls at a time.

Run it with ``.venv/bin/python tests/benches/bench_models.py [CALLS]``. The endpoint is a process of its own on
loopback; beside the time on the clock stands the time on the processor of the client's process alone, in which other
work on the machine does not count.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

import httpx

from tasks_lib.models import HttpChat, ImagePart, Message, ModelSettings, ScriptedEndpoint

REPLY = "I click on the button.\n```python\nmouse.move(400, 300)\nmouse.click()\n```\n```decision\nCONTINUE\n```" * 4
# As large as the PNG of a screen.
PICTURE = bytes(range(256)) * 800
AT_ONCE = 200


def serve(told: Connection, replies: int) -> None:
    """Serve in a process of its own until the other end hangs up."""
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open([REPLY] * replies)
        told.send((session.base_url, session.token))
        told.recv()


def bare(base_url: str, token: str, content: list[dict[str, object]]) -> Callable[[], str]:
    """Return a call as a script of ten lines would make it."""
    client = httpx.Client(trust_env=False)

    def call() -> str:
        body = {"model": "scripted", "messages": [{"role": "user", "content": content}]}
        answer = client.post(
            f"{base_url}/chat/completions", json=body, headers={"Authorization": f"Bearer {token}"}, timeout=60
        )
        return str(answer.json()["choices"][0]["message"]["content"])

    return call


def measured(call: Callable[[], str], calls: int) -> tuple[float, float, float]:
    """Return the median and the 95th percentile of the clock, and the processor's time per call, ms."""
    call()
    taken = []
    cpu = time.process_time()
    for _ in range(calls):
        began = time.perf_counter()
        if call() != REPLY:
            msg = "another reply than the endpoint's"
            raise RuntimeError(msg)
        taken.append(1e3 * (time.perf_counter() - began))
    cpu = 1e3 * (time.process_time() - cpu) / calls
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1], cpu


def main() -> None:
    """Measure and print."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, 6 * (calls + 1) + 4 * AT_ONCE), daemon=True
    )
    server.start()
    base_url, token = ours.recv()
    url = f"data:image/png;base64,{base64.b64encode(PICTURE).decode('ascii')}"
    text: dict[str, object] = {"type": "text", "text": "What now?"}
    settings = ModelSettings(base_url=base_url, model="scripted", max_tokens=None)
    whole = HttpChat("whole", settings.model_copy(update={"stream": False}), api_key=token, environ={})
    streamed = HttpChat("streamed", settings, api_key=token, environ={})
    ask = [Message.of("user", "What now?")]
    look = [Message.of("user", "What now?", ImagePart(PICTURE, "image/png"))]
    ways: dict[str, Callable[[], str]] = {
        "text, bare httpx": bare(base_url, token, [text]),
        "text, client": lambda: whole.complete(ask).text,
        "text, client, streamed": lambda: streamed.complete(ask).text,
        "picture, bare httpx": bare(base_url, token, [text, {"type": "image_url", "image_url": {"url": url}}]),
        "picture, client": lambda: whole.complete(look).text,
        "picture, client, streamed": lambda: streamed.complete(look).text,
    }
    sys.stdout.write(f"{calls} calls each, ms{'':13} {'median':>8} {'p95':>8} {'CPU':>8}\n")
    for name, call in ways.items():
        median, slow, cpu = measured(call, calls)
        sys.stdout.write(f"{name:30} {median:8.2f} {slow:8.2f} {cpu:8.2f}\n")
    for name, chat in (("whole", whole), ("streamed", streamed)):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            began, cpu = time.perf_counter(), time.process_time()
            texts = list(pool.map(lambda _, chat=chat: chat.complete(ask).text, range(AT_ONCE)))
            taken, spent = time.perf_counter() - began, time.process_time() - cpu
        good = sum(text == REPLY for text in texts)
        sys.stdout.write(f"{AT_ONCE} calls at a time, {name}: {taken:.2f} s, CPU {spent:.2f} s, {good} replies\n")
        chat.close()
    sys.stdout.write(f"{json.dumps({'reply characters': len(REPLY), 'picture bytes': len(PICTURE)})}\n")
    ours.send(None)
    server.join(10)


if __name__ == "__main__":
    main()
