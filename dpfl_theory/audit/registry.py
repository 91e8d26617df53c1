"""The audited algorithms, and the mechanisms that they are compared with. **One line adds an algorithm.**

The line is an entry of `AUDITS` below. For a described algorithm it has values, cohorts and canaries: mechanism and
noise follow from the description. The audit is compared with the mechanism's certified upper limit. A test
(tests/laws/test_privacy_audit.py) runs every line, and fails for an algorithm with noise that has no line.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpfl_theory import algorithms
from dpfl_theory.algorithms.averaging import SERVER_NOISE
from dpfl_theory.algorithms.error_feedback import DPNormSGD, ErrorFeedback
from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.algorithms.two_step_sizes import ModelClippedFedAvg
from dpfl_theory.audit.canaries import Canary, canary
from dpfl_theory.audit.run import AuditResult, audit
from dpfl_theory.audit.view import Messages, control_variates, scaffnew_messages
from dpfl_theory.core.algorithm import Setting
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.privacy.events import Release, simplified
from dpfl_theory.privacy.mechanisms import Mechanism, get
from dpfl_theory.privacy.pld import epsilon_high
from dpfl_theory.privacy.tails import FullParticipation
from dpfl_theory.simulation import Cohort, Simulation
from dpfl_theory.simulation.base import Algorithm


@dataclass(frozen=True)
class Audit:
    """An algorithm and the mechanism that describes it for accountants, with its rounds (1 where it gives none).

    clients, dimension: of the canaries;  canaries: keywords of `canary`, one dictionary for each, each run with all
    ``families`` of problems (quadratics have no records);  messages: for the server's view.
    """

    algorithm: Algorithm
    mechanism: Mechanism
    clients: int = 3
    dimension: int = 2
    canaries: tuple[Mapping[str, Any], ...] = field(default_factory=lambda: ({},))
    messages: Messages | None = None
    families: tuple[str, ...] = ("huber", "quadratic")

    def mechanism_with_rounds(self) -> Mechanism:
        """The mechanism, with a number of rounds."""
        return self.mechanism if self.mechanism.rounds is not None else self.mechanism.with_(rounds=1)

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


def described(
    name: str,
    noise_multiplier: float,
    values: Mapping[str, Any],
    *,
    cohort: Cohort | None = None,
    relation: str = "",
    view: str = "third-party",
    rounds: int = 1,
    server_noise: bool | None = None,
    claim: str = "",
    parts: Mapping[str, Callable[..., Any]] | None = None,
    messages: Callable[[Any], Messages] | None = None,
    **canaries: Any,
) -> Audit:
    """The audit of a described algorithm: its mechanism, and the noise of this multiplier under the relation.

    server_noise: whether the server adds the noise, as the description says by default;  claim: the name of another
    algorithm that has the same releases;  parts: those of the round that are replaced;  messages: from the run, how the
    server recovers them.

    >>> values = {"eta": 0.5, "beta": 0.5, "E": 1, "C": 1.0}
    >>> found = described("dp-fedavg", 1.5, values, cohort=Cohort("poisson", 1.5))
    >>> found.algorithm.run.sigma, found.mechanism.noise
    (1.0, 'average')
    """
    kind, clients, drawn = algorithms.get(name), canaries.get("clients", 3), cohort or Cohort()
    run: Any = kind(**values)
    setting = Setting(clients, drawn.size, drawn.scheme, relation or kind.relations[0], view, rounds)
    claimed = algorithms.get(claim or name)
    releases = claimed(**{a: getattr(run, a, None) for a in claimed.parameters}).releases(setting)
    if server_noise is not None:
        releases |= {"noise": "average" if server_noise else "per-client"}
    mechanism = get(claim or name)(**releases, noise_multiplier=noise_multiplier)
    noise = kind.noise_parameter()
    level = getattr(run, "threshold", 1.0)
    run = run.with_values(**{noise: mechanism.sigma(level)[noise] if noise == "sigma" else noise_multiplier})
    if server_noise:
        run = run.replaced(**next(one.parts for one in kind.readings if one.name == SERVER_NOISE))
    elif server_noise is None:
        run = run.under(setting)
    run = run.replaced(**(parts or {}))
    return Audit(Simulation(run, drawn), mechanism, messages=messages and messages(run), **canaries)


_LATE: Any = ({}, {"timing": "late"})
_SHORT: Any = ({}, {"pull": 0.01})  # a short update is normalised to the same length
_REPLACE: Any = ({"relation": "replace"},)
# ScaffNew's control variates turn the message a little; against this pull the effect is negligible
_HARD: Any = {"pull": 1e6}
_POISSON, _FIXED, _DRAWS = Cohort("poisson", 1.5), Cohort("fixed", 2), Cohort("with-replacement", 2)


def _fedavg(name: str, noise_multiplier: float, steps: int = 1, move: float = 0.5, **keywords: Any) -> Audit:
    values = {"eta": 0.5, "beta": move, "E": steps, "C": 1.0}
    return described(name, noise_multiplier, values, **keywords)


_clip, _normalise = functools.partial(_fedavg, "dp-fedavg"), functools.partial(_fedavg, "dp-normfedavg")


def _two_sided(noise_multiplier: float, move: float, steps: int = 1, **keywords: Any) -> Audit:
    values = {"eta_l": 0.5, "eta_g": move, "Q": steps, "c": 1.0}
    return described("dp-fedavg-two-sided", noise_multiplier, values, **keywords)


def _scaffnew(noise_multiplier: float, probability: float, **keywords: Any) -> Audit:
    return described(DPScaffNew.name, noise_multiplier, {"eta": 0.5, "p": probability, "C": 1.0}, **keywords)


def _records(name: str, **keywords: Any) -> Audit:
    """An audit of record-level privacy: every user has one record, which may be replaced."""
    values = {"eta_l": 0.5, "eta_g": 1.0, "K": 1, "C": 1.0, "s": 1.0}
    if name == "dp-sgd-record":
        values = {"eta": 0.5, "C": 1.0, "s": 1.0}
    return described(name, 1.0, values, canaries=_REPLACE, families=("huber",), **keywords)


def _central(name: str, noise_multiplier: float, **keywords: Any) -> Audit:
    """An audit of a round in which the server adds the noise; other values of the algorithm as ``more``."""
    values = {"eta": 0.5, "eta_s": 0.7, "E": 1, "C": 1.0, **keywords.pop("more", {})}
    return described(name, noise_multiplier, values, **keywords)


def _lots(noise_multiplier: float, share: float, **keywords: Any) -> Audit:
    """An audit of DP-SGD: every client has one record."""
    values = {"eta": 0.5, "C": 1.0, "s": share}
    return described("dp-sgd", noise_multiplier, values, families=("huber",), **keywords)


_all = functools.partial(get("dp-fedavg"), clients=3, noise_multiplier=1.0)

# Three clients, C = 1. A constant client is zero-out in ScaffNew's first message only: afterwards it sends its control
# variate. One round of ScaffNew is one of FedAvg for the third party. What is certified for clients' noise under
# Poisson sampling and for fixed cohorts is not attained by canaries, whose other clients send nothing.
AUDITS: dict[str, Audit] = {
    "dp-fedavg, server noise": _clip(1.0, server_noise=True),
    "dp-fedavg, client noise": _clip(1.0, 3, 0.8),
    "dp-fedavg, replace": _clip(1.0, 2, relation="replace", server_noise=True, canaries=_REPLACE),
    "dp-fedavg, 3 rounds": _clip(1.8, 3, rounds=3, server_noise=True, canaries=_LATE),
    "dp-normfedavg, server noise": _normalise(1.0, 2, 0.3, server_noise=True, canaries=_SHORT),
    "dp-normfedavg, client noise": _normalise(1.0, canaries=_SHORT),
    "dp-normfedavg, client noise, 2 rounds": _normalise(1.5, 1, 0.7, rounds=2, canaries=_LATE),
    "dp-fedavg, Poisson": _clip(1.0, cohort=_POISSON),
    "dp-fedavg, Poisson, 3 rounds": _clip(1.0, cohort=_POISSON, rounds=3),
    "dp-normfedavg, Poisson": _normalise(1.0, 3, cohort=_POISSON),
    "dp-fedavg, client noise, Poisson": _clip(1.0, cohort=_POISSON, server_noise=False),
    "dp-fedavg, fixed": _clip(1.0, cohort=_FIXED, server_noise=True),
    "dp-scaffnew, third party": _scaffnew(1.0, 1.0, claim="dp-fedavg-two-sided", canaries=(_HARD,)),
    "dp-scaffnew, server, coin": _scaffnew(
        1.25, 0.5, relation="replace", rounds=3, canaries=({**_HARD, **_REPLACE[0]},), messages=scaffnew_messages
    ),
    "dp-scaffnew, server, 2 rounds": _scaffnew(
        1.0,
        1.0,
        relation="replace",
        rounds=2,
        canaries=(_HARD, {**_HARD, "timing": "late"}),
        messages=scaffnew_messages,
    ),
    "dp-fedavg-two-sided": _two_sided(1.0, 0.7, 2),
    "dp-fedavg-two-sided, 3 rounds": _two_sided(1.8, 1.0, 3, rounds=3, canaries=_LATE),
    "dp-fedavg-two-sided, fixed": _two_sided(1.0, 1.0, cohort=_FIXED),
    "dp-fedavg-two-sided, with replacement": _two_sided(1.0, 1.0, cohort=_DRAWS),
    "dp-fedavg-record": _records("dp-fedavg-record"),
    "fedavg-model-clipping": Audit(
        Simulation(ModelClippedFedAvg(eta_l=0.5, Q=2, c=1.0, sigma=math.sqrt(1 / 3))), _all()
    ),
    "dp-norm-sgd, Poisson": Audit(
        Simulation(DPNormSGD(gamma=0.5, alpha=0.1, sigma=2 / 3), _POISSON),
        _all(cohort=1.5, sampling="poisson", noise="average", rounds=2),
    ),
    "dp-sgd-record": _records("dp-sgd-record", claim="dp-fedavg-record"),
    "dp-clip21, 2 rounds": described("dp-clip21", 1.5, {"gamma": 0.5, "tau": 1.0}, rounds=2),
    "dp-norm-ec, 2 rounds": described(
        "dp-norm-ec",
        1.5,
        {"gamma": 0.5, "beta": 0.4, "alpha": 0.1},
        rounds=2,
        parts={"direction": ErrorFeedback.direction},  # a step of known length hides the estimate
    ),
    "dp-scaffold, third party": _records("dp-scaffold", claim="dp-fedavg-record"),
    "dp-fedavg-mcmahan, Poisson": _central("dp-fedavg-mcmahan", 1.0, cohort=_POISSON),
    "dp-fedavg-adaptive, 2 rounds": _central("dp-fedavg-adaptive", 1.5, rounds=2, canaries=_LATE),
    "dp-fedavg-adaptive, replace, fixed": _central(
        "dp-fedavg-adaptive", 1.5, relation="replace", canaries=_REPLACE, cohort=_FIXED, more={"sigma_b": 3.0}
    ),
    "dp-fedavg-local, third party": _central("dp-fedavg-local", 0.6, view="third-party"),
    "dp-ftrl, 3 rounds": _central("dp-ftrl", 2.0, rounds=3, canaries=_LATE),
    "dp-ftrl, 2 trees": _central("dp-ftrl", 2.0, rounds=2, more={"restart": 1}),
    "dp-sgd": _lots(1.0, 1.0),
    "dp-sgd, lots, 2 rounds": _lots(1.0, 0.5, rounds=2),
    "dp-sgd, replace": _lots(1.0, 1.0, relation="replace", canaries=_REPLACE),
    "dp-fedavg-mcmahan, replace": _central("dp-fedavg-mcmahan", 1.0, relation="replace", canaries=_REPLACE),
    "dp-scaffold, server, 2 rounds": _records("dp-scaffold", view="server", rounds=2, messages=control_variates),
}
