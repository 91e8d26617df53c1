"""DP-FedAvg with two step sizes: zhang2021 Section 3.1's steps, Theorem 3.2's noise, repaired, and Corollary 3.2.1's
bound, repaired."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpfl_theory.recommend.base import Document, Setting, calibration, parameter, relation, view

if TYPE_CHECKING:
    from dpfl_theory.privacy import Mechanism
    from dpfl_theory.recommend.bound_minimizers import Optimum

__all__ = ["SETTINGS", "Zhang2021"]

BOUND = "zhang2021.corollary3.2.1.repaired"
NOISE = "zhang2021.theorem3.2.repaired"


@dataclass(frozen=True, kw_only=True)
class Zhang2021(Setting):
    r"""DP-FedAvg with a local and a global step for N clients with L-smooth objectives, convex or not.

    The threshold is :math:`c = \eta_l Q G`, the largest length of a client's difference, so that clipping never acts.

    >>> setting = Zhang2021(clients=1000, cohort=100, dim=10, smoothness=1.0, lipschitz=1.0, gap=2.0,
    ...                            dissimilarity=0.0, local_steps=2, rounds=2_000_000, epsilon=1.0, delta=1e-5)
    >>> found = setting.printed()
    >>> found["eta_l"] * 2 * 2_000_000**0.5, found["certificate"]["applies"]
    (1.0, True)
    """

    name = "dp-fedavg-two-sided"
    title = "DP-FedAvg with two step sizes"
    source = "zhang2021 Section 3.1 and Corollary 3.2.1, repaired"
    paper_noise_only = "the bound"
    speaks_of_noise: ClassVar[str] = (
        "Corollary 3.2.1, repaired, has the paper's noise in place of sigma: its bound is only that of this noise"
    )

    clients: int = parameter("number of clients N", "count", measured="clients", symbol="N")
    cohort: float = parameter("clients P in a round", "positive", symbol="P")
    dim: int = parameter("dimension d", "count", measured="dimension", symbol="d")
    smoothness: float = parameter(
        "smoothness constant L of every client's objective [F/X^2]",
        "positive",
        measured="largest smoothness",
        symbol="L",
    )
    lipschitz: float = parameter(
        "bound G of the length of every stochastic gradient [F/X]", "positive", measured="lipschitz", symbol="G"
    )
    gap: float = parameter("f(x_0) - inf f [F]", "positive", measured="gap", symbol="gap")
    dissimilarity: float = parameter(
        "sigma_g, the largest ||grad f_i(x) - grad f(x)|| [F/X]",
        "nonnegative",
        measured="largest dissimilarity",
        symbol="sigma_g",
    )
    gradient_variance: float | None = parameter(
        "variance sigma_l^2 of a client's stochastic gradient [F^2/X^2]; 0, for full gradients, by default",
        "nonnegative",
        optional=True,
    )
    local_steps: int | None = parameter("local steps Q in a round", "count", free=True, symbol="Q")
    rounds: int | None = parameter("communication rounds T", "count", free=True, symbol="T")
    epsilon: float = parameter("epsilon of the budget", "positive", symbol="epsilon")
    delta: float = parameter("delta of the budget", "probability", symbol="delta")
    calibration: str = calibration("paper")
    relation: str = relation("zero-out", "replace")
    view: str = view("third-party")

    def contradictions(self) -> Iterator[str]:
        if self.cohort > self.clients:
            yield self.refused("cohort", f"it exceeds `clients={self.clients}`", "give at most that")
        if self.cohort != round(self.cohort):
            yield self.refused("cohort", "every cohort has exactly P clients", "give a whole number")

    def released(self, found: Document, printed: bool = False) -> Mechanism:
        from dpfl_theory.privacy.mechanisms import get

        kind: Any = get("dp-fedavg")
        some = self.cohort < self.clients
        run = kind(
            clients=self.clients,
            cohort=self.cohort if some else None,
            sampling="fixed" if some else "full",
            relation=self.relation,
            view=self.view,
            rounds=found["rounds"],
        )
        average = found["noise"]["sigma"] / math.sqrt(self.cohort)
        return run.with_(noise_multiplier=run.multiplier(average, found["c"]))  # type: ignore[no-any-return]

    def symbols(self) -> dict[str, float]:
        sigma_l = math.sqrt(self.gradient_variance or 0.0)
        return {**super().symbols(), "c_prime": self.lipschitz, "sigma_l": sigma_l}

    def local_step(self, T: int, Q: int) -> float:
        """1/(sqrt(T) Q L), from Section 3.1."""
        return 1 / (math.sqrt(T) * Q * self.smoothness)

    def printed(self) -> Document:
        assert self.rounds is not None
        assert self.local_steps is not None
        T, Q = self.rounds, self.local_steps
        steps = {"eta_g": math.sqrt(Q * self.cohort), "eta_l": self.local_step(T, Q)}
        return self.answer({**steps, "rounds": T, "local_steps": Q})

    def at(self, choice: Document) -> dict[str, float]:
        """The values of all symbols of the bound and of the noise."""
        T, Q = choice["rounds"], choice["local_steps"]
        steps = {"eta_g": choice["eta_g"], "eta_l": choice["eta_l"], "T": T, "Q": Q}
        return {**self.symbols(), **steps, "c": choice["eta_l"] * Q * self.lipschitz}

    def terms(self, choice: Document) -> dict[str, float]:
        """The terms of the bound [F^2/X^2], by name."""
        from dpfl_theory.recommend.evaluate import terms
        from dpfl_theory.statements import get

        return terms(get(BOUND), self.at(choice))

    def answer(self, choice: Document) -> Document:
        from dpfl_theory.recommend.evaluate import cite, failures, prescribed
        from dpfl_theory.statements import get

        bounding, noise, at = get(BOUND), get(NOISE), self.at(choice)
        unmet, found = failures(bounding, at), self.terms(choice)
        bound = None if unmet else math.fsum(found.values())
        sigma = math.sqrt(prescribed(noise, at)["noise_variance"])
        return {
            "eta_g": at["eta_g"],
            "eta_l": at["eta_l"],
            "rounds": int(at["T"]),
            "local_steps": int(at["Q"]),
            "c": at["c"],
            "bound": bound,
            "terms": found,
            "noise": {
                "sigma": sigma,
                "meaning": "standard deviation per coordinate of the noise on every client's difference [X]",
                "calibration": self.calibration,
            },
            "certificate": {
                "reason": "eta_g = sqrt(QP) and eta_l = 1/(sqrt(T) Q L) are Section 3.1's, c = eta_l Q G is the "
                "longest difference, and sigma is Theorem 3.2's, repaired",
                "bounds": "(1/T) sum_t E||grad f(x^t)||^2 over t = 0..T-1 [F^2/X^2]",
                "applies": not unmet,
                "vacuous": None if bound is None else bound >= self.trivial()[0],
                "trivial": self.trivial()[0],
                "statements": [cite("bound", bounding, at), cite("noise", noise, at)],
            },
            "warnings": [
                *(f"No bound is claimed: {text}." for text in unmet),
                "The noise is proved to be sufficient for clients that take part independently; the accounting is for "
                "cohorts of exactly P clients, as in the bound. The bound is only for the paper's own noise.",
            ],
        }

    def trivial(self) -> tuple[float, str]:
        return min(self.lipschitz**2, 2 * self.smoothness * self.gap), "min(G^2, 2 L (f(x_0) - inf f))"

    def optimum(self) -> Optimum:
        from dpfl_theory.recommend.bound_minimizers.two_sided import minimize_bound

        return minimize_bound(self)

    def bound_infimum(self) -> float:
        from dpfl_theory.recommend.bound_minimizers.two_sided import bound_infimum

        return bound_infimum(self)

    def levers(self) -> dict[str, float]:
        most = math.log(1 / self.delta) / 2  # beyond this epsilon the noise is not known to be sufficient
        return {**super().levers(), "epsilon": most}

    def varied(self, name: str, value: float) -> Self:
        if name != "clients":
            return super().varied(name, value)
        return replace(self, clients=int(value), cohort=max(1, round(self.cohort * value / self.clients)))


SETTINGS: tuple[Any, ...] = (Zhang2021,)
