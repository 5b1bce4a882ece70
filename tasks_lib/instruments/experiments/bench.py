"""The microscope of an experiment: the twin with its truth, recorded files, or a real one behind its worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import Field

from tasks_lib.instruments.experiments.calibration import PidCalibration
from tasks_lib.instruments.experiments.friction_load import SWEEP_V, FrictionAgainstLoad
from tasks_lib.instruments.experiments.graphene import GrapheneLayers
from tasks_lib.instruments.experiments.indenter import IndenterIdentity
from tasks_lib.instruments.experiments.procedure import Experiment
from tasks_lib.instruments.experiments.report import Report, Truth
from tasks_lib.instruments.experiments.scenes import EXPERIMENTS, POINTS, experiment_scene
from tasks_lib.instruments.experiments.step_edge import StepEdge
from tasks_lib.instruments.protocol import BackEnd
from tasks_lib.instruments.reach import InstrumentOrder, nanosurf_back_end, replay_back_end
from tasks_lib.records import Json
from tasks_lib.records.errors import ConfigurationError

_SWEEP = "friction-load"
_NO_TRUTH: Truth = MappingProxyType({})


class ExperimentOrder(InstrumentOrder):
    """An experiment that is to be done, and where.

    Attributes
    ----------
    experiment : str
        One of `EXPERIMENTS`.
    seed : int
        Of the twin's sample and noise, and of a search.
    points : int
        Points and lines of the frames on the twin; elsewhere of the fine frames, as the first is scanned as it is set.
    setpoints_v, free_deflection_v, newton_per_volt
        As for `FrictionAgainstLoad`, away from the twin. No setpoints: those of the recorded files, or the preset ones.
    """

    experiment: str
    seed: int = Field(default=0, ge=0)
    points: int = Field(default=POINTS, ge=32, le=1024)
    setpoints_v: tuple[float, ...] = ()
    free_deflection_v: float | None = None
    newton_per_volt: float | None = Field(default=None, gt=0)

    def check_reach(self) -> None:
        """Refuse what cannot be done at the instrument of the order.

        Raises
        ------
        ConfigurationError
            If there is no such experiment, recorded files cannot answer it, or it has no use for what is given.
        """
        if self.experiment not in EXPERIMENTS:
            msg = f"there is no experiment {self.experiment!r}; take one of {', '.join(EXPERIMENTS)}"
            raise ConfigurationError(msg)
        if self.back_end == "replay" and self.experiment != _SWEEP:
            why = (
                "the gains that a search tries would not act on them"
                if self.experiment == "pid-calibration"
                else "the place of its later frames follows from the first one, and no file was recorded there"
            )
            msg = f"{self.experiment} cannot be done on recorded files: {why}; only {_SWEEP} can"
            raise ConfigurationError(msg)
        sweep = bool(self.setpoints_v) or self.free_deflection_v is not None or self.newton_per_volt is not None
        if sweep and (self.experiment != _SWEEP or self.back_end == "twin"):
            msg = f"setpoints, free deflection and N/V are for {_SWEEP} on recorded files or a microscope"
            raise ConfigurationError(msg)
        if self.setpoints_v and len(set(self.setpoints_v)) < 2:
            msg = f"friction against load needs two setpoints at least, not {self.setpoints_v}"
            raise ConfigurationError(msg)
        super().check_reach()


def _nothing() -> Json:
    return None


@dataclass(frozen=True)
class ExperimentBench:
    """A microscope and what is to be done at it.

    Attributes
    ----------
    experiment : Experiment
    back_end : BackEnd
    truth : callable
        What should have been found; nothing where nobody knows.
    memory : callable
        What a simulated instrument needs to go on; None for others.
    close : callable
        Lets go of the way to the microscope.
    """

    experiment: Experiment
    back_end: BackEnd
    truth: Callable[[Report], Truth] = lambda _: _NO_TRUTH
    memory: Callable[[], Json] = _nothing
    close: Callable[[], Json] = _nothing


def open_bench(order: ExperimentOrder, experiment_id: str, memory: Json = None) -> ExperimentBench:
    """Return the microscope of an order.

    Parameters
    ----------
    order : ExperimentOrder
    experiment_id : str
        Every experiment on the twin has a twin of its own, which bears its name.
    memory : Json
        What the last frame that was kept says of a simulated instrument: its clock and its noise go on there.

    Raises
    ------
    ConfigurationError
        If the order cannot be done there, or the way to the microscope is not given.
    InstrumentError, InstrumentLostError
        If a worker refuses the token or does not answer.
    """
    order.check_reach()
    if order.back_end == "twin":
        return _twin(order, experiment_id, memory)
    if order.back_end == "replay":
        replay = replay_back_end(order)
        return ExperimentBench(_sweep(order, order.setpoints_v or _recorded(replay)), replay)
    microscope = nanosurf_back_end(order)
    return ExperimentBench(_AWAY[order.experiment](order), microscope, close=microscope.close)


def _twin(order: ExperimentOrder, experiment_id: str, memory: Json) -> ExperimentBench:
    from tasks_lib.instruments.twin import Progress

    name = f"twin-{experiment_id}"
    scene = experiment_scene(order.experiment, seed=order.seed, points=order.points, instrument=name)
    microscope = scene.back_end.microscope
    if memory is not None:
        microscope.progress = Progress.of_json(memory)

    return ExperimentBench(scene.experiment, scene.back_end, scene.truth, lambda: microscope.progress.to_json())


def _recorded(replay: BackEnd) -> tuple[float, ...]:
    from tasks_lib.instruments.replay import ReplayBackEnd

    assert isinstance(replay, ReplayBackEnd)  # noqa: S101 - made by `replay_back_end`
    found = tuple(sorted({one.state.setpoint for one in replay.remaining}))
    if len(found) < 2:
        msg = f"friction against load needs files of two setpoints at least; all of {replay.name} have {found[0]:g} V"
        raise ConfigurationError(msg)
    return found


def _sweep(order: ExperimentOrder, setpoints_v: tuple[float, ...]) -> FrictionAgainstLoad:
    return FrictionAgainstLoad(
        setpoints_v, free_deflection_v=order.free_deflection_v, newton_per_volt=order.newton_per_volt
    )


_AWAY: Mapping[str, Callable[[ExperimentOrder], Experiment]] = MappingProxyType(
    {
        "pid-calibration": lambda order: PidCalibration(seed=order.seed),
        "step-edge": lambda order: StepEdge(points=order.points),
        _SWEEP: lambda order: _sweep(order, order.setpoints_v or SWEEP_V),
        "graphene-layers": lambda order: GrapheneLayers(points=order.points),
        "indenter": lambda order: IndenterIdentity(points=order.points),
    }
)
