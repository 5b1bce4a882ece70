"""What a machine and a provider of machines are, and how a provider is found by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from tasks_lib.records import Lease, MachineSettings, Provision
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox.computer import Computer


@runtime_checkable
class Machine(Protocol):
    """A machine that is up. It dies with the process that opened it, however that process ends."""

    id: str
    computer: Computer
    provision: Provision
    variables: Mapping[str, str]
    """What the environment of the scripts holds besides the machine's own; a secret in it must not be shown."""
    pid: int | None
    """Process of this host whose end is the machine's end; for the lease."""
    start_time: float | None
    """When that process started, s since boot."""

    def close(self) -> None:
        """End the machine and everything on it, and remove its folders; idempotent."""


class Provider(Protocol):
    """Makes machines."""

    name: str

    def problems(self, desktop: bool) -> list[str]:
        """Say what keeps this provider from making a machine here, each with what to do; empty where nothing does."""

    def open(
        self,
        settings: MachineSettings,
        *,
        desktop: bool,
        endpoints: dict[str, int] | None = None,
        python: Path | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Machine:
        """Make a machine and wait until it serves.

        Parameters
        ----------
        settings : MachineSettings
            Screen size and caps.
        desktop : bool
            Whether an X display with a window manager is wanted.
        endpoints : dict of str to int
            Services on this host's loopback, by name, that the machine may reach at the same port of its own loopback.
        python : Path, optional
            Interpreter that the agent's scripts run in; by default the running one.
        variables : mapping of str to str, optional
            Environment variables of the agent's scripts, such as the addresses of the endpoints.

        Raises
        ------
        NoDesktopError
            If a desktop is wanted and a program of it is missing.
        ProvisionError
            If the machine does not start.
        """


def provider(name: str = "local") -> Provider:
    """Return the provider of that name.

    Raises
    ------
    ConfigurationError
        If there is none.
    """
    from tasks_lib.sandbox.local import LocalProvider

    known = {LocalProvider.name: LocalProvider}
    if name not in known:
        msg = f"no machine provider is called {name!r}: choose one of {', '.join(sorted(known))}"
        raise ConfigurationError(msg)
    return known[name]()


def reap(lease: Lease) -> bool:
    """End a machine by what its lease says, from another process than its opener.

    A process is killed only where id and start time both are those of the lease, so a process id that was given to
    another process since is safe.

    Parameters
    ----------
    lease : Lease
        With ``machine_id``, and where it is known ``machine_pid`` and ``machine_start``.

    Returns
    -------
    bool
        True when nothing of the machine is left on this host; False where the lease names no machine or a machine of
        another host, or where something of it does not end.
    """
    from tasks_lib.sandbox import _remains

    return _remains.reap(lease)
