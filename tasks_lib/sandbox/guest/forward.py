"""Bytes carried between a socket that accepts and one that is connected to: how an endpoint gets into a machine."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

_PART = 64 * 1024
# Each is three open files of the process that plays the episode, which may play others beside it.
MAX_CONNECTIONS = 64
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Forwarder:
    """Forwards every connection of the given listeners, in one thread of its own.

    Parameters
    ----------
    routes : list of (socket, connect)
        A listening socket, and a coroutine function that opens the connection it leads to.
    """

    def __init__(self, routes: list[tuple[socket.socket, Callable[[], Awaitable[_Streams]]]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._routes = routes
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="forwarder", daemon=True)
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Close the listeners and every connection; idempotent."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)
        for listener, _ in self._routes:
            listener.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            servers = [
                self._loop.run_until_complete(asyncio.start_server(self._handler(connect), sock=listener))
                for listener, connect in self._routes
            ]
            self._ready.set()
            self._loop.run_forever()
            for server in servers:
                server.close()
            for task in list(self._tasks):
                task.cancel()
            if ending := set(self._tasks):  # the set itself shrinks as they end
                self._loop.run_until_complete(asyncio.wait(ending, timeout=2.0))
        finally:
            self._ready.set()
            self._loop.close()

    def _handler(
        self, connect: Callable[[], Awaitable[_Streams]]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is None or len(self._tasks) >= MAX_CONNECTIONS:
                writer.close()
                return
            self._tasks.add(task)
            try:
                await _join(reader, writer, connect)
            except asyncio.CancelledError:
                pass
            finally:
                self._tasks.discard(task)

        return handle


def unix_listener(path: Path) -> socket.socket:
    """Return a socket that listens on a unix path; only this user may connect."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(64)
    return listener


def loopback_listener(port: int) -> socket.socket:
    """Return a socket that listens on 127.0.0.1."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener


async def _join(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connect: Callable[[], Awaitable[_Streams]]
) -> None:
    try:
        far_reader, far_writer = await connect()
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(_carry(reader, far_writer), _carry(far_reader, writer))
    finally:
        writer.close()
        far_writer.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(_PART):
            writer.write(part)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()
