"""Leases: one winner, take-over, loss and release; time is a clock of the test's own."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tasks_lib.records import Lease, VoidReason
from tasks_lib.records.errors import LeaseHeldError, StoreError, policy_for
from tasks_lib.store import HeldLease, Store, acquire, expired, lease_path, new_owner

RESOURCE = "runs/r1/episodes/e1/attempt-001"


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_lease_lies_in_the_folder_of_its_resource(store, clock):
    held = acquire(store, RESOURCE, seconds=60, owner="me", clock=clock, flow_run_id="f1")
    assert store.list() == [f"{RESOURCE}/lease.json"]
    lease = store.read_document(lease_path(RESOURCE), Lease)
    assert lease == held.lease
    assert (lease.owner, lease.resource, lease.flow_run_id) == ("me", RESOURCE, "f1")
    assert lease.expires - lease.acquired == timedelta(seconds=60)
    assert lease.expires.tzinfo is UTC or lease.expires.utcoffset() == timedelta(0)


def test_a_bare_name_has_its_lease_under_leases(local_store, clock):
    acquire(local_store, "machine-7", seconds=60, clock=clock)
    assert local_store.list() == ["leases/machine-7/lease.json"]


def test_nobody_else_gets_a_lease_that_binds(store, clock):
    acquire(store, RESOURCE, seconds=60, owner="first", clock=clock)
    clock.advance(59.9)
    with pytest.raises(LeaseHeldError, match=r"held by first until 2026-01-01T00:01:00\+00:00") as caught:
        acquire(store, RESOURCE, seconds=60, owner="second", clock=clock)
    assert policy_for(caught.value).reason is VoidReason.STORE
    assert store.read_document(lease_path(RESOURCE), Lease).owner == "first"


def test_an_expired_lease_is_taken_over_and_its_holder_learns_it(store, clock):
    first = acquire(store, RESOURCE, seconds=60, owner="first", clock=clock)
    clock.advance(60)
    second = acquire(store, RESOURCE, seconds=60, owner="second", clock=clock)
    with pytest.raises(LeaseHeldError, match="stop this work"):
        first.renew()
    first.release()
    assert store.read_document(lease_path(RESOURCE), Lease) == second.lease


def test_renewal_pushes_the_expiry_and_records_the_machine(store, clock):
    held = acquire(store, RESOURCE, seconds=60, owner="first", clock=clock)
    clock.advance(50)
    held.renew(machine_id="m1", machine_pid=42, machine_start=12.5)
    clock.advance(50)
    with pytest.raises(LeaseHeldError):
        acquire(store, RESOURCE, seconds=60, owner="second", clock=clock)
    lease = store.read_document(lease_path(RESOURCE), Lease)
    assert (lease.machine_id, lease.machine_pid, lease.machine_start) == ("m1", 42, 12.5)
    held.renew(5)
    assert held.lease.machine_id == "m1"
    assert held.lease.expires == clock() + timedelta(seconds=5)


def test_a_late_holder_may_renew_as_long_as_nobody_came(local_store, clock):
    held = acquire(local_store, RESOURCE, seconds=60, owner="first", clock=clock)
    clock.advance(600)
    held.renew()
    with pytest.raises(LeaseHeldError):
        acquire(local_store, RESOURCE, seconds=60, owner="second", clock=clock)


def test_release_frees_at_once_and_stays_on_record(store, clock):
    with acquire(store, RESOURCE, seconds=60, owner="first", clock=clock) as held:
        pass
    assert store.read_document(lease_path(RESOURCE), Lease).released == clock()
    held.release()
    with pytest.raises(LeaseHeldError, match="was released"):
        held.renew()
    assert acquire(store, RESOURCE, seconds=60, owner="second", clock=clock).lease.released is None


def test_an_error_inside_releases_too(local_store, clock):
    with pytest.raises(ZeroDivisionError), acquire(local_store, RESOURCE, seconds=60, clock=clock):
        raise ZeroDivisionError
    assert local_store.read_document(lease_path(RESOURCE), Lease).released is not None


def test_a_fresh_lease_takes_nothing_over(local_store, clock):
    acquire(local_store, RESOURCE, seconds=60, clock=clock).release()
    with pytest.raises(LeaseHeldError, match="opened by another"):
        acquire(local_store, RESOURCE, seconds=60, clock=clock, fresh=True)


def test_a_lease_that_was_removed_cannot_be_renewed(local_store, clock):
    held = acquire(local_store, RESOURCE, seconds=60, clock=clock)
    local_store.delete(held.path)
    with pytest.raises(LeaseHeldError, match="taken over or removed"):
        held.renew()


def test_a_broken_lease_names_its_path(local_store, clock):
    local_store.write_bytes(lease_path(RESOURCE), b'{"owner": "x"}')
    with pytest.raises(StoreError, match=r"attempt-001/lease\.json is not a good Lease document: .*expires"):
        acquire(local_store, RESOURCE, seconds=60, clock=clock)


def test_expired_lists_what_nobody_holds_or_gave_up(store, clock):
    acquire(store, "runs/r1/a", seconds=10, owner="x", clock=clock)
    acquire(store, "runs/r1/b", seconds=10, owner="x", clock=clock).release()
    acquire(store, "runs/r1/c", seconds=30, owner="x", clock=clock)
    acquire(store, "machine-1", seconds=10, owner="x", clock=clock)
    store.write_bytes("runs/r1/a/other.json", b"{}")
    assert expired(store, clock=clock) == []
    clock.advance(10)
    assert [lease.resource for lease in expired(store, clock=clock)] == ["machine-1", "runs/r1/a"]
    assert [lease.resource for lease in expired(store, "runs", clock=clock)] == ["runs/r1/a"]
    clock.advance(20)
    assert [lease.resource for lease in expired(store, "runs", clock=clock)] == ["runs/r1/a", "runs/r1/c"]


HOLD = """
import sys
from tasks_lib.store import Store, acquire

held = acquire(Store.open(sys.argv[1]), sys.argv[2], seconds=3600)
print(held.lease.owner, flush=True)
sys.stdin.read()
"""


def test_the_lease_of_a_killed_process_of_this_host_is_free_at_once(children, local_store):
    process = children.start(HOLD, local_store.url, RESOURCE)
    owner = process.stdout.readline().strip()
    with pytest.raises(LeaseHeldError, match="is held by"):
        acquire(local_store, RESOURCE, seconds=60)
    assert expired(local_store) == []
    process.kill()
    # Not waited for: the dead process is still in the table, as a zombie.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert [lease.owner for lease in expired(local_store)] == [owner]
    assert acquire(local_store, RESOURCE, seconds=60).lease.owner != owner


def test_a_process_number_that_was_given_again_is_another_owner(local_store):
    host, process = new_owner().split(":", 1)
    pid, started, rest = process.split(":")
    acquire(local_store, "a/b", seconds=3600, owner=f"{host}:{pid}:{int(started) - 1}:{rest}")
    assert acquire(local_store, "a/b", seconds=3600)


@pytest.mark.parametrize("owner", ["elsewhere/1234/1:999999:5:ab", "a person", "a:b:c:d", "vm:1:2"])
def test_of_an_owner_elsewhere_only_the_expiry_counts(local_store, clock, owner):
    acquire(local_store, RESOURCE, seconds=60, owner=owner, clock=clock)
    with pytest.raises(LeaseHeldError):
        acquire(local_store, RESOURCE, seconds=60, clock=clock)


@pytest.mark.parametrize("state", ["new", "expired", "released"])
def test_of_many_threads_one_gets_the_lease(store, store_url, clock, state):
    if state != "new":
        held = acquire(store, RESOURCE, seconds=60, owner="before", clock=clock)
        if state == "released":
            held.release()
        clock.advance(60)
    racers = 4
    stores = [Store.open(store_url) for _ in range(racers)]
    barrier = threading.Barrier(racers)

    def run(number: int) -> HeldLease | None:
        barrier.wait()
        try:
            return acquire(stores[number], RESOURCE, seconds=60, owner=f"racer {number}", clock=clock)
        except LeaseHeldError:
            return None

    with ThreadPoolExecutor(racers) as pool:
        won = [held for held in pool.map(run, range(racers)) if held is not None]
    assert len(won) == 1
    assert store.read_document(lease_path(RESOURCE), Lease) == won[0].lease


def test_take_over_and_a_late_renewal_cannot_both_succeed(store, store_url, clock):
    other = Store.open(store_url)
    for lap in range(3):
        resource = f"runs/r1/{lap}"
        late = acquire(store, resource, seconds=60, owner="late", clock=clock)
        clock.advance(60)
        barrier = threading.Barrier(2)

        def renew(late: HeldLease = late, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait()
            try:
                late.renew()
            except LeaseHeldError:
                return False
            return True

        def take(resource: str = resource, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait()
            try:
                acquire(other, resource, seconds=60, owner="reaper", clock=clock)
            except LeaseHeldError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            outcomes = [future.result() for future in (pool.submit(renew), pool.submit(take))]
        assert outcomes.count(True) == 1
        owner = store.read_document(lease_path(resource), Lease).owner
        assert owner == ("late" if outcomes[0] else "reaper")


RACE = """
import sys
from datetime import timedelta
from tasks_lib.records import now
from tasks_lib.records.errors import LeaseHeldError
from tasks_lib.store import Store, acquire

store = Store.open(sys.argv[1])
store.exists("warm")
print("ready", flush=True)
for line in sys.stdin:
    try:
        print(acquire(store, line.strip(), seconds=3600).lease.owner, flush=True)
    except LeaseHeldError:
        print("held", flush=True)
"""


def test_of_many_processes_one_gets_the_lease(children, store):
    racers = [children.start(RACE, store.url) for _ in range(3)]
    assert [process.stdout.readline() for process in racers] == ["ready\n"] * 3
    long_ago = Clock()
    for lap in range(4):
        resource = f"runs/r1/{lap}"
        if lap % 2:
            acquire(store, resource, seconds=60, owner="before", clock=long_ago)
        for process in racers:
            children.tell(process, resource)
        answers = [process.stdout.readline().strip() for process in racers]
        owners = [answer for answer in answers if answer != "held"]
        assert len(owners) == 1
        assert store.read_document(lease_path(resource), Lease).owner == owners[0]


class Workers(RuleBasedStateMachine):
    """Any order of acquiring, renewing, releasing and waiting: never two who may believe that they hold the lease."""

    workers = st.integers(0, 2)

    @initialize()
    def begin(self) -> None:
        self.store = Store.open(str(self.folder / os.urandom(8).hex()))
        self.clock = Clock()
        self.holds: dict[int, HeldLease] = {}

    def binding(self) -> list[int]:
        return [worker for worker, held in self.holds.items() if held.lease.expires > self.clock()]

    @rule(worker=workers, seconds=st.integers(1, 50))
    def acquire(self, worker: int, seconds: int) -> None:
        before = self.binding()
        try:
            held = acquire(self.store, RESOURCE, seconds=seconds, owner=f"w{worker}", clock=self.clock)
        except LeaseHeldError:
            assert before, "a free lease was refused"
        else:
            assert not before, "a bound lease was given away"
            self.holds[worker] = held

    @rule(worker=workers)
    def renew(self, worker: int) -> None:
        if worker in self.holds:
            before = self.binding()
            try:
                self.holds[worker].renew()
            except LeaseHeldError:
                assert worker not in before, "a holder lost a lease that bound"
                del self.holds[worker]
            else:
                assert before in ([], [worker])

    @rule(worker=workers)
    def release(self, worker: int) -> None:
        if worker in self.holds:
            self.holds.pop(worker).release()

    @rule(seconds=st.integers(1, 60))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @invariant()
    def one_holder_at_most(self) -> None:
        assert len(self.binding()) <= 1
        if self.binding():
            written = self.store.read_document(lease_path(RESOURCE), Lease)
            assert written == self.holds[self.binding()[0]].lease


def test_no_order_of_events_gives_two_holders(tmp_path):
    from hypothesis.stateful import run_state_machine_as_test

    Workers.folder = tmp_path
    checks = settings(
        max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    run_state_machine_as_test(Workers, settings=checks)
