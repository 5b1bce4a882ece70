"""Which microscope an order is for, and the back end of one that is not simulated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tasks_lib.instruments.protocol import BackEnd, CriticalAction, SafetyPolicy, State
from tasks_lib.records import Document
from tasks_lib.records.errors import ConfigurationError

if TYPE_CHECKING:
    from tasks_lib.instruments.nanosurf.client import NanosurfBackEnd

BackEndName = Literal["twin", "replay", "nanosurf"]
# Never in an order: orders lie in the store, where everybody reads them.
TOKEN_VARIABLE = "MATASSAY_WORKER_TOKEN"  # the name of a variable, no secret


class InstrumentOrder(Document):
    """What every order at a microscope says of it.

    Attributes
    ----------
    back_end : {"twin", "replay", "nanosurf"}
        The twin, recorded files, or a microscope behind a worker.
    worker : str or None
        Address of the worker, on this machine's loopback; of `nanosurf` alone.
    folder : str or None
        Folder of recorded files; of `replay` alone.
    may_approach : bool
        Whether a real tip that is not engaged may be brought to the sample with nobody asked.
    """

    back_end: BackEndName = "twin"
    worker: str | None = None
    folder: str | None = None
    may_approach: bool = False

    @property
    def policy(self) -> SafetyPolicy:
        """What needs a person's word: to approach with a real tip, unless the order allows it."""
        asks = self.back_end == "nanosurf" and not self.may_approach
        return SafetyPolicy(needs_approval=frozenset({CriticalAction.APPROACH}) if asks else frozenset())

    def check_reach(self) -> None:
        """Refuse an order that does not say where its instrument is, or says it of another.

        Raises
        ------
        ConfigurationError
            Naming the option that is missing or too many.
        """
        for field, owner, what in (
            ("worker", "nanosurf", "the address of the worker, http://127.0.0.1:8765"),
            ("folder", "replay", "a folder of .nid files"),
        ):
            given = getattr(self, field)
            if self.back_end == owner and not given:
                msg = f"the instrument {owner} needs {what}: give --{field}"
                raise ConfigurationError(msg)
            if self.back_end != owner and given:
                msg = f"--{field} is for the instrument {owner}, and this order is for {self.back_end}"
                raise ConfigurationError(msg)

    def check_tip(self, state: State, name: str) -> None:
        """Refuse to begin with a real tip in the air, unless the order allows to approach.

        Raises
        ------
        ConfigurationError
            If so; nothing was touched.
        """
        if self.policy.needs_approval and not state.engaged:
            msg = (
                f"the tip of {name} is {state.approach}: engage it beside the instrument, or begin with --approach,"
                " which lets the program bring it to the sample"
            )
            raise ConfigurationError(msg)


def nanosurf_back_end(order: InstrumentOrder) -> NanosurfBackEnd:
    """Reach the worker of an order.

    Raises
    ------
    ConfigurationError
        If there is no address or no token.
    InstrumentLostError
        If no worker answers.
    InstrumentError
        If the token is wrong.
    """
    from tasks_lib.instruments.nanosurf import NanosurfBackEnd

    order.check_reach()
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        msg = f"set {TOKEN_VARIABLE} to the secret that the worker at {order.worker} was started with"
        raise ConfigurationError(msg)
    return NanosurfBackEnd(str(order.worker), token)


def replay_back_end(order: InstrumentOrder) -> BackEnd:
    """Open the recorded files of an order, to be served by their settings.

    Raises
    ------
    ConfigurationError
        If the folder has none.
    NidError
        If one of them holds no frame.
    """
    from tasks_lib.instruments.replay import ReplayBackEnd

    order.check_reach()
    return ReplayBackEnd(Path(str(order.folder)), order="settings")
