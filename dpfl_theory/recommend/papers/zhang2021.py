"""DP-FedAvg with two step sizes: zhang2021 Section 3.1's steps, Theorem 3.2's noise, repaired, and Corollary 3.2.1's
bound, repaired.

The least bound over both steps, Q and T is a geometric program. With way = eta_g eta_l Q T and reach = eta_l Q, the
drift rises with the reach, which is in no other term. All other terms fall with Q and T or do not depend on them. So
the least value is approached as the reach tends to 0, and T (and Q) to infinity where they are not given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SHARE, Optimum
from dpfl_theory.recommend.bound_minimizers.geometric import Program, Rows, inequalities, monomials, program_at
from dpfl_theory.recommend.inputs import Document, calibration, given, of_budget, parameter, relation, view
from dpfl_theory.recommend.setting import Setting, cite
from dpfl_theory.statements import get
from dpfl_theory.statements.zhang2021.run_symbols import SYMBOLS

if TYPE_CHECKING:
    from dpfl_theory.core import Statement


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

    described = DPTwoSidedFedAvg
    source = "zhang2021 Section 3.1 and Corollary 3.2.1, repaired"
    bounding: ClassVar[str] = "zhang2021.corollary3.2.1.repaired"
    noise_of: ClassVar[str] = "zhang2021.theorem3.2.repaired"
    paper_noise_only = "the bound"
    choices: ClassVar[Mapping[str, str]] = {"eta_g": "eta_g", "eta_l": "eta_l", "rounds": "T", "local_steps": "Q"}
    shown: ClassVar[Mapping[str, str]] = {"c": "c"}
    speaks_of_noise: ClassVar[str] = (
        "Corollary 3.2.1, repaired, has the paper's noise in place of sigma: its bound is only that of this noise"
    )

    clients: int = given(SYMBOLS["N"], "clients")
    cohort: float = given(SYMBOLS["P"], kind="positive")
    dim: int = given(SYMBOLS["d"], "dimension")
    smoothness: float = given(SYMBOLS["L"], "largest smoothness")
    lipschitz: float = given(SYMBOLS["G"], "lipschitz")
    gap: float = given(SYMBOLS["gap"], "gap", kind="positive")
    dissimilarity: float = given(SYMBOLS["sigma_g"], "largest dissimilarity")
    gradient_variance: float | None = parameter(
        "variance of a stochastic gradient (sigma_l^2)",
        "nonnegative",
        unit="F^2/X^2",
        optional=True,
        remark="; 0, for full gradients, by default",
    )
    local_steps: int | None = given(SYMBOLS["Q"], free=True)
    rounds: int | None = given(SYMBOLS["T"], free=True)
    epsilon: float = of_budget("epsilon")
    delta: float = of_budget("delta")
    calibration: str = calibration("paper")
    relation: str = relation(DPTwoSidedFedAvg)
    view: str = view()

    def contradictions(self) -> Iterator[str]:
        yield from self.not_above("cohort", "clients", "give at most that")
        if self.cohort != round(self.cohort):
            yield self.refused("cohort", "every cohort has exactly P clients", "give a whole number")

    def symbols(self) -> dict[str, float]:
        sigma_l = math.sqrt(self.gradient_variance or 0.0)
        return {**super().symbols(), "c_prime": self.lipschitz, "sigma_l": sigma_l}

    def at(self, choice: Document) -> dict[str, float]:
        found = super().at(choice)
        return {**found, "c": found["eta_l"] * found["Q"] * self.lipschitz}

    def cited(self, theorem: Statement, at: Mapping[str, float]) -> list[Document]:
        return [cite("bound", theorem, at), cite("noise", get(self.noise_of), at)]

    def trivial(self) -> tuple[float, str]:
        return min(self.lipschitz**2, 2 * self.smoothness * self.gap), "min(G^2, 2 L (f(x_0) - inf f))"

    def warnings(self) -> list[str]:
        return [
            "The noise is proved to be sufficient for clients that take part independently; the accounting is for "
            "cohorts of exactly P clients, as in the bound. The bound is only for the paper's own noise."
        ]

    def longest(self, T: int, Q: int) -> float:
        """The local step 1/(sqrt(T) Q L) of Section 3.1."""
        return 1 / (math.sqrt(T) * Q * self.smoothness)

    def printed(self) -> Document:
        assert self.rounds is not None
        assert self.local_steps is not None
        T, Q = self.rounds, self.local_steps
        steps = {"eta_g": math.sqrt(Q * self.cohort), "eta_l": self.longest(T, Q)}
        found = self.answer({**steps, "rounds": T, "local_steps": Q})
        reason = (
            "eta_g = sqrt(QP) and eta_l = 1/(sqrt(T) Q L) are Section 3.1's, c = eta_l Q G is the longest difference, "
            "and sigma is Theorem 3.2's, repaired"
        )
        return {**found, "certificate": {**found["certificate"], "reason": reason}}

    def least(self) -> Optimum:
        if unmet := self._impossible():
            T, Q = self.rounds or 1, self.local_steps or 1
            steps = {"eta_g": 1.0, "eta_l": self.longest(T, Q)}
            return Optimum({**steps, "rounds": T, "local_steps": Q}, unmet=tuple(unmet))
        known, trivial = self.symbols(), self.trivial()[0]
        near, own, counts = _limit(known).solve(), _program(known), {n: int(known[n]) for n in ("Q", "T") if n in known}
        still = own.without_rising("reach")
        if "T" in counts:
            found, counts["Q"], _ = still.with_count("Q", counts.get("Q"), trivial)
        else:
            counts.setdefault("Q", 1)
            found, counts["T"], _ = still.substitute({"Q": float(counts["Q"])}).with_count("T", None, trivial)
        T, Q = counts["T"], counts["Q"]
        if near is None or found is None:
            return Optimum({"eta_g": 1.0, "eta_l": self.longest(T, Q), "rounds": T, "local_steps": Q})
        here = own.substitute({"Q": float(Q), "T": float(T)})
        value = here.without_rising("reach").value(found.values)
        reach = min(_reach(here, value, trivial), self.longest(T, Q) * Q)
        choice = {"eta_g": found.values["way"] / (reach * T), "eta_l": reach / Q, "rounds": T, "local_steps": Q}
        how = (
            "a geometric program in eta_g eta_l Q T was solved for eta_l -> 0, and for Q and T -> infinity where these "
            "are not given; its dual value is the lower bound, by the inequality of the means; this eta_l is so short "
            f"that the drift adds at most {SHARE:.0%}, and no longer than Section 3.1's; T and Q come within "
            f"{SHARE:.0%}"
        )
        return Optimum(choice, near.lower, how)

    def bound_infimum(self) -> float:
        """Infinite where no choice meets the hypotheses."""
        if self._impossible() or (found := (limit := _limit(self.symbols())).solve()) is None:
            return math.inf
        return limit.value(found.values)

    def _impossible(self) -> list[str]:
        """The hypotheses that fail for all steps."""
        return self.unmet({"eta_g": 1e-300, "eta_l": 1e-300, "rounds": self.rounds or 10**15, "local_steps": 1})

    def levers(self) -> dict[str, float]:
        most = math.log(1 / self.delta) / 2  # beyond this epsilon the noise is not known to be sufficient
        return {**super().levers(), "epsilon": most}


@cache
def _rows() -> Rows:

    theorem = get(Zhang2021.bounding)
    s = symbols_of(theorem)
    way, reach = sp.symbols("way reach", positive=True)
    steps = {s.eta_l: reach / s.Q, s.eta_g: way / (reach * s.T)}
    sums = [total(theorem), *(small / large for small, large in inequalities(theorem))]
    return [monomials(x.subs(steps, simultaneous=True), ("way", "reach", "Q", "T")) for x in sums]


def _program(known: Mapping[str, float]) -> Program:
    """The program at the symbols' values; Q and T are variables where they have none."""

    counts = {name: float(known[name]) for name in ("Q", "T") if name in known}
    return program_at(get(Zhang2021.bounding), _rows(), known).substitute(counts)


def _limit(known: Mapping[str, float]) -> Program:
    """The program as the reach tends to 0, and Q and T to infinity where they are not given."""
    return _program(known).without_rising("reach").without_falling("Q").without_falling("T")


def _reach(program: Program, value: float, trivial: float) -> float:
    """The longest eta_l Q within its limits that adds at most a small share to the bound."""
    drift = sum(m.coefficient for m in program.objective if m.exponents.get("reach"))
    room = SHARE * value if value >= trivial else min(SHARE * value, (trivial - value) / 2)
    limits = [row[0].coefficient for row in program.constraints if set(row[0].exponents) == {"reach"}]
    longest = (1 - 1e-12) / max(limits)
    return min(longest, math.sqrt(room / drift)) if drift > 0 else longest
