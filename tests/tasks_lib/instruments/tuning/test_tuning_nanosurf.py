"""A tuning at a microscope behind a worker: over HTTP, through both guards, with the twin where the sample is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.nanosurf import Desk, DeskServer
from tasks_lib.instruments.protocol import Instrument, Span
from tasks_lib.instruments.reach import TOKEN_VARIABLE
from tasks_lib.instruments.tuning.bench import Bench, open_bench
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.tuning.session import TuningFailedError, open_session
from tasks_lib.instruments.tuning.session_records import Role, ScanPlan
from tasks_lib.instruments.twin import TwinBackEnd
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store, acquire

from .conftest import BEFORE, PICTURE, MakeBench

TOKEN = "the-secret-of-this-test"


@pytest.fixture
def twin(bench: MakeBench) -> TwinBackEnd:
    twin = bench("cx").back_end
    assert isinstance(twin, TwinBackEnd)
    return twin


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Desk, DeskServer]]]:
    """Put a twin behind a guard, a desk and a server, as a worker does."""
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    with ExitStack() as stack:

        def start(twin: TwinBackEnd, port: int = 0) -> tuple[Desk, DeskServer]:
            desk = Desk(Instrument(twin, client="worker"), call_seconds=60)
            stack.callback(desk.close)
            return desk, stack.enter_context(DeskServer(desk, TOKEN, port=port))

        yield start


@pytest.fixture
def server(twin: TwinBackEnd, serve: Callable[..., tuple[Desk, DeskServer]]) -> DeskServer:
    return serve(twin)[1]


@pytest.fixture
def order(server: DeskServer, begin: Callable[..., TuningFolder]) -> Callable[..., TuningFolder]:
    def make(name: str = "t1", **fields: object) -> TuningFolder:
        plain = {"back_end": "nanosurf", "worker": server.url, "probe_lines": 8}
        return begin(name, **(plain | fields))

    return make


@pytest.fixture
def reach() -> Iterator[Callable[[TuningFolder], Bench]]:
    opened: list[Bench] = []

    def open_(folder: TuningFolder) -> Bench:
        opened.append(open_bench(folder.order(), folder.tuning_id))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


def test_gains_are_searched_on_bands_of_the_picture_and_the_picture_comes_back(
    twin: TwinBackEnd, order: Callable[..., TuningFolder], reach: Callable[..., Bench], play: Callable[..., list]
) -> None:
    folder = order()
    with open_session(folder, reach(folder)) as session:
        records = play(session)
        result = session.finish()
    assert result.instrument == "cx"
    assert {one.lines_done for one in records} == {8}
    assert all(one.memory is None and one.nid for one in records)
    after = twin.read()
    assert after.gains == result.gains
    assert after.scan == PICTURE
    assert after.engaged, "it was found engaged"
    start = folder.start()
    assert start is not None
    assert start.state.gains == BEFORE


def test_a_cut_tuning_goes_on_with_the_same_bands_and_the_first_gains(
    twin: TwinBackEnd, order: Callable[..., TuningFolder], reach: Callable[..., Bench], play: Callable[..., list]
) -> None:
    folder = order()
    session = open_session(folder, reach(folder))
    with session as first:
        made = play(first, until="gen-02")
    # As after `kill -9`: the instrument has the band and the gains of the last scan.
    twin.write({"lines": 8, "height_m": PICTURE.height_m / 8, "i": 777})
    with open_session(folder, reach(folder)) as second:
        again = play(second)
        result = second.finish()
    labels = [one.plan.label for one in made + again]
    assert len(labels) == len(set(labels)) == 2 + 3 + 2
    assert {one.lines_done for one in again} == {8}
    assert result.before.gains == BEFORE
    assert twin.read().scan == PICTURE


def test_a_tip_in_the_air_stays_there_unless_the_order_allows_to_approach(
    twin: TwinBackEnd, order: Callable[..., TuningFolder], reach: Callable[..., Bench], play: Callable[..., list]
) -> None:
    twin.withdraw()
    folder = order("asked")
    with (
        pytest.raises(ConfigurationError, match="the tip of cx is withdrawn: engage it"),
        open_session(folder, reach(folder)),
    ):
        pass
    assert not twin.read().engaged
    assert twin.read().scan == PICTURE, "nothing was touched"
    folder = order("allowed", may_approach=True)
    with open_session(folder, reach(folder)) as session:
        assert twin.read().engaged
        session.restore()
    assert not twin.read().engaged, "it is left as it was found"


def test_gains_that_the_instrument_does_not_have_are_refused_before_a_scan(
    twin: TwinBackEnd, order: Callable[..., TuningFolder], reach: Callable[..., Bench],
    monkeypatch: pytest.MonkeyPatch, serve: Callable[..., tuple[Desk, DeskServer]],
) -> None:  # fmt: skip
    spans = {name: span for name, span in twin.limits.spans.items() if name not in ("p", "d")}
    few = twin.limits.model_copy(update={"spans": spans})
    monkeypatch.setattr(twin, "_limits", few)
    twin.write({"p": 0})
    _, studio = serve(twin)
    folder = order("all", worker=studio.url)
    with (
        pytest.raises(ConfigurationError, match=r"p cannot be set: search without it, --p 0,0"),
        open_session(folder, reach(folder)),
    ):
        pass
    folder = order("i", worker=studio.url, box={"p": (0, 0), "d": (0, 0), "i": (500, 3000)})
    with open_session(folder, reach(folder)) as session:
        plan = ScanPlan(label="gen-01/scan-001", role=Role.SEARCH, gains=Gains(p=0, i=1500), number=0, generation=0)
        record = session.scan(plan)
        assert twin.read().gains == plan.gains
    assert record is not None
    assert record.score is not None


def test_a_box_beyond_the_laboratory_s_limits_is_refused(
    twin: TwinBackEnd, order: Callable[..., TuningFolder], reach: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch,
    serve: Callable[..., tuple[Desk, DeskServer]],
) -> None:  # fmt: skip
    spans = twin.limits.spans | {"i": Span(low=1, high=4000)}
    monkeypatch.setattr(twin, "_limits", twin.limits.model_copy(update={"spans": spans}))
    _, strict = serve(twin)
    folder = order(worker=strict.url)
    with (
        pytest.raises(ConfigurationError, match="i from 500 to 9000, and on cx i lies between 1 and 4000"),
        open_session(folder, reach(folder)),
    ):
        pass
    assert twin.read().gains == BEFORE


def test_a_worker_that_ends_in_a_search_is_told_of_and_the_next_process_restores_the_gains(
    twin: TwinBackEnd, begin: Callable[..., TuningFolder], reach: Callable[..., Bench], play: Callable[..., list],
    serve: Callable[..., tuple[Desk, DeskServer]], store: Store,
) -> None:  # fmt: skip
    desk, server = serve(twin)
    folder = begin(back_end="nanosurf", worker=server.url, probe_lines=8)

    def cut() -> None:
        with open_session(folder, reach(folder)) as session:
            play(session, until="gen-02")
            desk.close()
            play(session)

    with pytest.raises(TuningFailedError, match=r"has ended.*AND the previous gains, P 50, I 1000, D 0, could not be"):
        cut()
    assert twin.read().gains != BEFORE
    acquire(store, "instruments/cx", seconds=5).release()
    server.close()
    serve(twin, port=server.port)
    with open_session(folder, reach(folder)) as session:
        assert session.start.state.gains == BEFORE
    assert twin.read().gains == BEFORE
