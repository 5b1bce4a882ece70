"""Servers of the frozen snapshot on loopback, in the dialects that the real client libraries speak."""

from tasks_lib.databases.servers._upstream import check_base, check_sendable
from tasks_lib.databases.servers.database_server import DatabaseServer
from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings
from tasks_lib.databases.servers.relay import Recorder, Relay, RelayedReply, relay
from tasks_lib.databases.servers.request_log import RequestRecord
from tasks_lib.databases.servers.running import RunningServer, start

__all__ = [
    "DatabaseServer",
    "Dialect",
    "FaultSettings",
    "Recorder",
    "Relay",
    "RelayedReply",
    "RequestRecord",
    "RunningServer",
    "check_base",
    "check_sendable",
    "relay",
    "start",
]
