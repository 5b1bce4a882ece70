"""The third layer of a machine's teardown: a flow run whose heartbeat stops is set to Crashed."""

from __future__ import annotations

from datetime import timedelta

from prefect.automations import Automation
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from flows.serving.settings import TAG

NAME = "matassay: flow runs without a heartbeat have crashed"
_ENDS = ("Completed", "Failed", "Cancelled", "Crashed")


def crash_zombies(heartbeat: float) -> Automation:
    """Return the automation; three missed heartbeats are a crash.

    Parameters
    ----------
    heartbeat : float
        Seconds between two heartbeats of a flow run.
    """
    return Automation(
        name=NAME,
        description="A flow run that was killed together with its runner is red after three missed heartbeats.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={f"prefect.flow-run.{name}" for name in ("heartbeat", *_ENDS)},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            match_related=ResourceSpecification(
                {"prefect.resource.id": [f"prefect.tag.{TAG}"], "prefect.resource.role": ["tag"]}
            ),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=3 * heartbeat),
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message="no heartbeat for three periods: killed?")],
    )


async def ensure(automation: Automation) -> None:
    """Create an automation on the server, or bring the one of its name up to date."""
    async with get_client() as client:
        for old in await client.read_automations_by_name(automation.name):
            await client.delete_automation(old.id)
    await automation.acreate()
