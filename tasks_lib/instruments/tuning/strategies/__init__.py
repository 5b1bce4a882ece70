"""Search strategies by name, all behind one interface and one budget in scans."""

from collections.abc import Mapping
from types import MappingProxyType

from tasks_lib.instruments.tuning.search import Strategy
from tasks_lib.instruments.tuning.strategies.genetic import ga_plus, ga_published
from tasks_lib.instruments.tuning.strategies.model_based import cma_es, gp_ei, ramp_gp, tpe
from tasks_lib.instruments.tuning.strategies.ramp import integral_ramp
from tasks_lib.instruments.tuning.strategies.sampling import random, sobol

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "cma-es": cma_es,
        "ga-plus": ga_plus,
        "ga-published": ga_published,
        "gp-ei": gp_ei,
        "integral-ramp": integral_ramp,
        "ramp-gp": ramp_gp,
        "random": random,
        "sobol": sobol,
        "tpe": tpe,
    }
)

__all__ = [
    "STRATEGIES",
    "cma_es",
    "ga_plus",
    "ga_published",
    "gp_ei",
    "integral_ramp",
    "ramp_gp",
    "random",
    "sobol",
    "tpe",
]
