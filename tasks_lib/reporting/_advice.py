"""What a person can do about a VOID, by its reason."""

from __future__ import annotations

from tasks_lib.records import VoidReason

ADVICE: dict[VoidReason, str] = {
    VoidReason.NO_DESKTOP: "Install the desktop programs: `matassay doctor --fix` does, or says which command to run.",
    VoidReason.PROVISION: "The machine did not start. Run `matassay doctor`, then retry the episode.",
    VoidReason.INITIALISE: "A program did not reach the state the task starts from. Look at the message, then retry; "
    "if it comes back, prove the task with `matassay prove --task`.",
    VoidReason.MACHINE_LOST: "The machine stopped answering. Check memory and load of the host, then retry.",
    VoidReason.PROGRAM_STUCK: "A desktop program waited for itself and took no more input. Retry the episode; where it "
    "comes back, see which release of the program runs.",
    VoidReason.ENDPOINT: "The model endpoint failed. Check its address, key and quota in matassay.toml, then retry.",
    VoidReason.BUDGET: "What the run or the night may spend at models is spent. Raise the budget, then retry the run.",
    VoidReason.TASK: "The task file cannot be read or has changed since the run began. Run `matassay lint`.",
    VoidReason.EVALUATOR: "The evaluator broke; the agent is not to blame. Mend it, then retry the episode: "
    "its stored evidence is judged, no machine is started.",
    VoidReason.TIMEOUT: "A limit of the harness ran out. Check the load of the host, then retry.",
    VoidReason.CANCELLED: "The episode was cancelled. Resume the run to do it.",
    VoidReason.DISK_FULL: "The disk is full. Free some room or move the store, then retry.",
    VoidReason.STORE: "The store did not answer or holds a broken document. Check it, then retry.",
    VoidReason.INTERNAL: "A fault of the harness. Please report it with the message below, then retry.",
}
