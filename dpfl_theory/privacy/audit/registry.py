"""The audited algorithms, and the mechanisms that they are compared with. **One line adds an algorithm.**

The line is an entry of `AUDITS` below, or of a dictionary of that name in the algorithm's own module: modules of
dpfl_theory.algorithms are scanned. They are below this layer, so their entries are plain data, the keywords of `Audit`:

    AUDITS = {"mine, full": {"algorithm": Mine(step=0.5, threshold=1.0, sigma=1.0),
                             "mechanism": {"algorithm": "dp-fedavg", "clients": 3, "noise_multiplier": 3.0}}}

The mechanism is the accountant's description of the algorithm (`dpfl_theory.privacy.mechanisms`). The audit is compared
with its certified upper limit. A test (tests/laws/test_privacy_audit.py) runs every line, and fails for an algorithm
with noise that has no line.
"""

from __future__ import annotations

import functools
import importlib
import math
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpfl_theory import algorithms
from dpfl_theory.algorithms import (
    DPSGD,
    Clip,
    Cohort,
    FedAvg,
    ModelClippedFedAvg,
    RecordGradient,
    ScaffNew,
    Scaffold,
    SmoothedNormalise,
    TwoSidedFedAvg,
    alpha_norm_ec,
    clip21,
)
from dpfl_theory.algorithms.base import Algorithm
from dpfl_theory.algorithms.bounding import Normalise
from dpfl_theory.descriptions.scaffnew import DPScaffNew
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.privacy.audit.canaries import Canary, canary
from dpfl_theory.privacy.audit.run import AuditResult, audit
from dpfl_theory.privacy.audit.view import Messages, scaffnew_messages
from dpfl_theory.privacy.events import Release, simplified
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.privacy.pld import epsilon_high
from dpfl_theory.privacy.tails import FullParticipation

__all__ = ["AUDITS", "Audit", "audits"]


@dataclass(frozen=True)
class Audit:
    """An algorithm and the mechanism that describes it for accountants.

    mechanism: with its rounds (1 where it gives none), or its parameters as a mapping with ``algorithm``, its name;
    clients, dimension: of the canaries;  canaries: keywords of `canary`, one dictionary for each, each run with all
    ``families`` of problems (quadratics have no records);  messages: for the server's view.
    """

    algorithm: Algorithm
    mechanism: Mechanism | Mapping[str, Any]
    clients: int = 3
    dimension: int = 2
    canaries: tuple[Mapping[str, Any], ...] = field(default_factory=lambda: ({},))
    messages: Messages | None = None
    families: tuple[str, ...] = ("huber", "quadratic")

    def mechanism_with_rounds(self) -> Mechanism:
        """The mechanism, with a number of rounds."""
        mechanism = self.mechanism
        if not isinstance(mechanism, Mechanism):
            mechanism = get(mechanism["algorithm"])(**{k: v for k, v in mechanism.items() if k != "algorithm"})
        return mechanism if mechanism.rounds is not None else mechanism.with_(rounds=1)

    def claimed(self, delta: float) -> tuple[float, float | None]:
        """The certified epsilon at this delta, and mu where the mechanism is Gaussian."""
        event = simplified(self.mechanism_with_rounds().event())
        tails = event.forward if isinstance(event, Release) and event.forward == event.backward else None
        return epsilon_high(event, delta), 1.0 / tails.z if isinstance(tails, FullParticipation) else None

    def rate(self) -> float:
        """The probability that the canary takes part in a round; it affects only the form of a score."""
        mechanism = self.mechanism_with_rounds()
        cohort, clients = getattr(mechanism, "cohort", None), getattr(mechanism, "clients", None)
        return float(cohort / clients) if cohort and clients else 1.0

    def pairs(self) -> list[Canary]:
        """The neighbouring data sets."""
        return [
            canary(family, clients=self.clients, dimension=self.dimension, **keywords)
            for keywords in self.canaries
            for family in self.families
        ]

    def run(
        self,
        *,
        delta: float,
        replicates: int = 400_000,
        seed: int = 0,
        confidence: float = 1.0 - 1e-6,
        algorithm: Algorithm | None = None,
        device: str | Engine = "cpu",
    ) -> list[AuditResult]:
        """One result for each canary, with ``replicates`` replicates each; they hold together with probability
        ``confidence``. ``algorithm`` replaces the audit's own (another implementation under the same claim)."""
        (claimed, claimed_mu), pairs = self.claimed(delta), self.pairs()
        return [
            audit(
                self.algorithm if algorithm is None else algorithm,
                pair,
                delta=delta,
                rounds=int(self.mechanism_with_rounds().rounds or 1),
                replicates=replicates,
                seed=seed + number,
                confidence=1.0 - (1.0 - confidence) / len(pairs),
                claimed=claimed,
                claimed_mu=claimed_mu,
                messages=self.messages,
                rate=self.rate(),
                device=device,
            )
            for number, pair in enumerate(pairs)
        ]


_LATE: Any = ({}, {"timing": "late"})
_SHORT: Any = ({}, {"pull": 0.01})  # a short update is normalised to the same length
_REPLACE: Any = ({"relation": "replace"},)
# ScaffNew's control variates turn the message a little; against this pull the effect is negligible
_HARD: Any = {"pull": 1e6}

_clip = functools.partial(FedAvg, bounding=Clip(1.0))
_normalise = functools.partial(FedAvg, bounding=Normalise(1.0))
_average: Any = {"cohort": Cohort("poisson", 1.5), "noise": "average"}
_client: Any = {"cohort": Cohort("poisson", 1.5), "noise": "per-client"}
_fixed: Any = {"cohort": Cohort("fixed", 2), "noise": "average"}

_all = functools.partial(get("dp-fedavg"), clients=3)
_some = functools.partial(_all, cohort=1.5, sampling="poisson", noise="average", noise_multiplier=1.0)
_scaffnew = functools.partial(get(DPScaffNew.name), relation="replace")


def _controls(previous: Any, after: Any) -> Any:
    """SCAFFOLD's clients' messages at K = 1, up to the step size: the new control variate is the noisy gradient."""
    return after.c_i


def _records(**keywords: Any) -> Audit:
    """An audit of record-level privacy: every user has one record, which may be replaced."""
    described = {
        "users": 3,
        "records": 1,
        "user_rate": 1.0,
        "record_rate": 1.0,
        "noise_multiplier": 1.0,
        "local_steps": 1,
    }
    keywords["mechanism"] = {**described, **keywords["mechanism"]}
    return Audit(**keywords, canaries=_REPLACE, families=("huber",))


_ERROR_FEEDBACK: Any = {"clients": 3, "view": "third-party", "rounds": 2}
_noisy = RecordGradient(threshold=1.0, noise_multiplier=1.0)

# Three clients, C = 1. FedAvg's noise multiplier is r sigma/C (zero-out) or r sigma/(2C) (replace); ScaffNew's is
# sigma/(2C) for the server, since a constant client is zero-out in its first message only: afterwards it sends its
# control variate. One round of ScaffNew is one of FedAvg for the third party. What is certified for clients' noise
# under Poisson sampling and for fixed cohorts is not attained by canaries, whose other clients send nothing.
AUDITS: dict[str, Audit] = {
    "FedAvg, clip, average": Audit(_clip(0.5, sigma=1 / 3, noise="average"), _all(noise_multiplier=1.0)),
    "FedAvg, clip, client": Audit(_clip(0.5, 3, 0.8, sigma=1 / 3), _all(noise_multiplier=1.0)),
    "FedAvg, clip, replace": Audit(
        _clip(0.5, 2, sigma=2 / 3, noise="average"), _all(noise_multiplier=1.0, relation="replace"), canaries=_REPLACE
    ),
    "FedAvg, clip, 3 rounds": Audit(
        _clip(0.5, 3, sigma=0.6, noise="average"), _all(noise_multiplier=1.8, rounds=3), canaries=_LATE
    ),
    "FedAvg, normalise, average": Audit(
        _normalise(0.5, 2, 0.3, sigma=1 / 3, noise="average"), _all(noise_multiplier=1.0), canaries=_SHORT
    ),
    "FedAvg, normalise, client": Audit(_normalise(0.5, sigma=1 / 3), _all(noise_multiplier=1.0), canaries=_SHORT),
    "FedAvg, normalise, client, 2 rounds": Audit(
        _normalise(0.5, 1, 0.7, sigma=0.5), _all(noise_multiplier=1.5, rounds=2), canaries=_LATE
    ),
    "FedAvg, clip, Poisson": Audit(_clip(0.5, sigma=2 / 3, **_average), _some()),
    "FedAvg, clip, Poisson, 3 rounds": Audit(_clip(0.5, sigma=2 / 3, **_average), _some(rounds=3)),
    "FedAvg, normalise, Poisson": Audit(_normalise(0.5, 3, sigma=2 / 3, **_average), _some()),
    "FedAvg, clip, client, Poisson": Audit(_clip(0.5, sigma=2 / 3, **_client), _some(noise="per-client")),
    "FedAvg, clip, fixed": Audit(
        _clip(0.5, sigma=0.5, **_fixed), _all(cohort=2, sampling="fixed", noise="average", noise_multiplier=1.0)
    ),
    "ScaffNew, third party": Audit(
        ScaffNew(0.5, 1.0, 1.0, math.sqrt(1 / 3)), _all(noise_multiplier=1.0), canaries=(_HARD,)
    ),
    "ScaffNew, server, coin": Audit(
        ScaffNew(0.5, 0.5, 1.0, 2.5),
        _scaffnew(noise_multiplier=1.25, communication_probability=0.5, rounds=3),
        canaries=({**_HARD, **_REPLACE[0]},),
        messages=scaffnew_messages,
    ),
    "ScaffNew, server, 2 rounds": Audit(
        ScaffNew(0.5, 1.0, 1.0, 2.0),
        _scaffnew(noise_multiplier=1.0, communication_probability=1.0, rounds=2),
        canaries=(_HARD, {**_HARD, "timing": "late"}),
        messages=scaffnew_messages,
    ),
    "TwoSidedFedAvg": Audit(TwoSidedFedAvg(0.5, 0.7, 2, 1.0, math.sqrt(1 / 3)), _all(noise_multiplier=1.0)),
    "TwoSidedFedAvg, 3 rounds": Audit(
        TwoSidedFedAvg(0.5, 1.0, 3, 1.0, math.sqrt(1.08)), _all(noise_multiplier=1.8, rounds=3), canaries=_LATE
    ),
    "TwoSidedFedAvg, fixed": Audit(
        TwoSidedFedAvg(0.5, 1.0, 1, 1.0, math.sqrt(1 / 2), Cohort("fixed", 2)),
        _all(cohort=2, sampling="fixed", noise="average", noise_multiplier=1.0),
    ),
    "TwoSidedFedAvg, with replacement": Audit(
        TwoSidedFedAvg(0.5, 1.0, 1, 1.0, math.sqrt(1 / 2), Cohort("with-replacement", 2)),
        _all(cohort=2, sampling="with-replacement", noise="average", noise_multiplier=1.0),
    ),
    "TwoSidedFedAvg, records": _records(
        algorithm=TwoSidedFedAvg(0.5, gradient=_noisy), mechanism={"algorithm": "dp-fedavg-record"}
    ),
    "ModelClippedFedAvg": Audit(ModelClippedFedAvg(0.5, 1.0, 2, math.sqrt(1 / 3)), _all(noise_multiplier=1.0)),
    "DPSGD, clip": Audit(DPSGD(0.5, Clip(1.0), 1 / 3), _all(noise_multiplier=1.0)),
    "DPSGD, smoothed normalisation, Poisson": Audit(
        DPSGD(0.5, SmoothedNormalise(0.1), 2 / 3, Cohort("poisson", 1.5)), _some(rounds=2)
    ),
    "EF21, Clip21, 2 rounds": Audit(
        clip21(0.5, 1.0, sigma=1.5), {**_ERROR_FEEDBACK, "algorithm": "dp-clip21", "noise_multiplier": 1.5}
    ),
    "EF21, alpha-NormEC, 2 rounds": Audit(
        alpha_norm_ec(0.5, 0.1, 0.4, server_normalisation=False, sigma=1.5),
        {**_ERROR_FEEDBACK, "algorithm": "dp-norm-ec", "noise_multiplier": 1.5},
    ),
    "Scaffold, third party": _records(
        algorithm=Scaffold(0.5, gradient=_noisy), mechanism={"algorithm": "dp-fedavg-record"}
    ),
    "Scaffold, server, 2 rounds": _records(
        algorithm=Scaffold(0.5, gradient=_noisy),
        mechanism={"algorithm": "dp-scaffold", "view": "server", "rounds": 2},
        messages=_controls,
    ),
}


@functools.cache
def audits() -> dict[str, Audit]:
    """All audits by name: those above, and those that modules of dpfl_theory.algorithms declare.

    >>> "FedAvg, clip, average" in audits()
    True
    """
    found = dict(AUDITS)
    for info in pkgutil.iter_modules(algorithms.__path__):
        declared = getattr(importlib.import_module(f"{algorithms.__name__}.{info.name}"), "AUDITS", {})
        for name, keywords in declared.items():
            if name in found:
                raise InputError(f"two audits are called {name!r}: give each its own name")
            found[name] = Audit(**keywords)
    return found
