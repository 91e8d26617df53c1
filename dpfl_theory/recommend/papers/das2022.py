"""DP-FedAvg with clipping and DP-NormFedAvg: das2022 Theorem 4, with the noise of its Theorem 3.

The least bound over gamma, alpha, E and K is a geometric program. The prescribed K = 2 alpha gamma/(C rho^2), C = GE,
replaces alpha, or gamma where alpha is given. The bound right/(c - falling) on the left side's expectation is the least
t with right/t + falling <= c.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of, total
from dpfl_theory.core.inverse import prescribed, value
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SAME, Optimum, near_limit
from dpfl_theory.recommend.bound_minimizers.geometric import (
    Monomial,
    Program,
    Rows,
    inequalities,
    monomials,
    program_at,
)
from dpfl_theory.recommend.inputs import (
    Document,
    calibration,
    constant,
    given,
    of_budget,
    parameter,
    quote_option,
    relation,
    view,
)
from dpfl_theory.recommend.setting import Setting, bounded, rounded_up
from dpfl_theory.statements import get
from dpfl_theory.statements.das2022.run_symbols import SYMBOLS, excess

if TYPE_CHECKING:
    from dpfl_theory.core import Statement


@dataclass(frozen=True, kw_only=True)
class Das2022(Setting):
    r"""DP-FedAvg with clipping for n clients with convex, L-smooth, G-Lipschitz objectives.

    The privacy level is epsilon and delta, or rho. The accountant's noise determines rho by :math:`\sigma^2 = K C^2
    \rho^2/d`, as the paper's does, where :math:`\rho = \sqrt{q d \log(1/\delta)}/(n \epsilon)`. The default of gamma is
    :math:`L \|w_0 - w^*\|`, which minimises the term A of the bound.

    >>> Das2022(clients=100, cohort=100, dim=10, smoothness=2.0, lipschitz=1.0, distance=3.0, heterogeneity=0.0,
    ...          local_steps=2, alpha=1.0, rho=0.1).travel()
    6.0
    """

    described = DPFedAvg
    source = "das2022 Theorem 4 (a)"
    prescribing: ClassVar[str] = "das2022.theorem4a"
    """The printed statement; the bound may be its repair's."""
    bounding: ClassVar[str] = prescribing
    noise_of: ClassVar[str] = "das2022.theorem3"
    empty: ClassVar[Document] = {"unrounded": {}, "repaired": None}
    choices: ClassVar[Mapping[str, str]] = {"local_steps": "E", "alpha": "alpha", "gamma": "gamma", "rounds": "K"}
    shown: ClassVar[Mapping[str, str]] = {"eta": "eta", "beta": "eta", "C": "C", "rho": "rho"}
    speaks_of_noise: ClassVar[str] = "Theorem 4 depends on rho, here that of this noise: sigma^2 = K C^2 rho^2/d"

    clients: int = given(SYMBOLS["n"], "clients")
    cohort: float = given(SYMBOLS["r"])
    dim: int = given(SYMBOLS["d"], "dimension")
    smoothness: float = given(SYMBOLS["L"], "largest smoothness")
    lipschitz: float = given(SYMBOLS["G"], "lipschitz")
    distance: float = given(SYMBOLS["D"], "distance", kind="positive")
    heterogeneity: float = given(SYMBOLS["Delta"], "heterogeneity", remark=", Delta_i* = f_i(w*) - min f_i")
    local_steps: int | None = given(SYMBOLS["E"], free=True)
    alpha: float | None = given(SYMBOLS["alpha"], free=True)
    gamma: float | None = given(SYMBOLS["gamma"], optional=True, remark="; by default L times the distance")
    rounds: int | None = parameter(
        "number of communication rounds; bound-optimal makes at most these", "count", optional=True
    )
    rho: float | None = given(SYMBOLS["rho"], optional=True, remark="; in place of epsilon and delta")
    epsilon: float | None = of_budget("epsilon", optional=True)
    delta: float | None = of_budget("delta", optional=True)
    calibration: str = calibration()
    relation: str = relation(DPFedAvg)
    view: str = view()
    constant: float | None = constant("")

    @classmethod
    def undecided(cls, given: Mapping[str, Any]) -> list[str]:
        needed = ("epsilon", "delta", *(("constant",) if given.get("calibration") == "paper" else ()))
        missing = [name for name in needed if given.get(name) is None]
        if given.get("rho") is not None or not missing:
            return []
        *first, last = map(quote_option, needed)
        every = f"{', '.join(first)} and {last}"
        if len(missing) == len(needed):
            return [f"a privacy level: give `rho`, or {every}"]
        lacking = " and ".join(map(quote_option, missing))
        return [f"{lacking}, since rho is computed from {every}: give all of them, or `rho`"]

    def contradictions(self) -> Iterator[str]:
        budget = (self.epsilon, self.delta, self.constant)
        if self.rho is not None and any(v is not None for v in budget):
            yield f"{self.name} needs a privacy level: give `rho`, or `epsilon`, `delta` and `constant`, not both"
        yield from self.not_above("cohort", "clients", "give at most that")

    def travel(self) -> float:
        """gamma [F/X]: given, or the minimiser L ||w_0 - w*|| of G (L ||w_0 - w*||^2/gamma + gamma/L) rho."""
        return self.smoothness * self.distance if self.gamma is None else self.gamma

    def ratio(self) -> float:
        """rho: given, or that of Definition 2."""
        if self.rho is not None:
            return self.rho
        definition = get("das2022.definition2")
        known = {"q": self.constant, "epsilon": self.epsilon, "delta": self.delta, "n": self.clients, "d": self.dim}
        return value(definition, total(definition), known)

    def symbols(self) -> dict[str, float]:
        return {**super().symbols(), "rho": self.ratio(), "kappa": excess(self.cohort, self.clients)}

    def at(self, choice: Document) -> dict[str, float]:
        found = super().at(choice)
        return {**found, **prescribed(self.theorem(choice), found), "K": choice["rounds"]}

    def coefficient(self, theorem: Statement, at: Mapping[str, float]) -> float:
        (left,) = sides_of(theorem).lhs.values()
        return value(theorem, left, {**at, bounded(theorem).name: 1.0})

    def noise(self, at: Mapping[str, float]) -> Document:
        found = super().noise(at)
        own = {} if self.rho is None else {"calibration": "paper"}
        return {**found, "sigma_of_one_message": found["sigma"] * math.sqrt(self.cohort), **own}

    def cited(self, theorem: Statement, at: Mapping[str, float]) -> list[Document]:
        bound, noise = super().cited(theorem, at)
        return [{**bound, "role": "prescription and bound"}, noise]

    def trivial(self) -> tuple[float, str]:
        """f is L-smooth and G-Lipschitz, which bounds f(w_0) - f(w*) without any run."""
        return min(self.lipschitz * self.distance, self.smoothness * self.distance**2 / 2), "min(G D, L D^2/2)"

    def warnings(self) -> list[str]:
        if self.calibration == "paper":
            return [
                "Theorem 3 is refuted as printed: no constant q serves for every epsilon and number of rounds that it "
                "allows, a range that it takes from Abadi et al. 2016. "
                "Ask dpfl-theory privacy constant das2022.theorem3."
            ]
        if self.noise_by_server() and self.rho is None:
            return [
                "The certificate is for noise on the average, for any cohort. Clients that add the noise themselves "
                "need more, since few may take part (dpfl-theory privacy calibrate --noise per-client)."
            ]
        return []

    def printed(self) -> Document:
        known = {**self.symbols(), "gamma": self.travel()}
        exact = prescribed(get(self.prescribing), known)["K"]
        K = rounded_up(exact)
        own = {"statement": self.prescribing, "local_steps": self.local_steps, "alpha": self.alpha}
        # K is proportional to gamma, so the rounded K is the prescription for a slightly larger gamma.
        found = self.answer({**own, "gamma": known["gamma"] * K / exact, "rounds": K})
        real = {"rounds": exact, "gamma": known["gamma"]}
        longer = [] if self.rounds is None or self.rounds >= K else [f"These are more than `rounds={self.rounds}`."]
        chosen = "given" if self.gamma is not None else "L times the distance, which minimises the term A"
        end = "" if found["certificate"]["applies"] else ", but a hypothesis fails"
        reason = (
            f"eta = rho/(2 alpha L), C = G E and K = 2 alpha gamma/(C rho^2) are Theorem 4's; gamma was {chosen}. K = "
            f"{exact:.6g} is rounded up to {K}, and gamma is raised in proportion, so that the theorem holds for this "
            f"K{end}"
        )
        return {
            **found,
            "unrounded": {**real, "bound": self.claimed({**own, **real})},
            "certificate": {**found["certificate"], "reason": reason},
            "warnings": [*found["warnings"], *longer],
        }

    def least(self) -> Optimum:
        theorem, known, gamma = self.theorem({}), self.symbols(), self.travel()
        if self._hopeless():
            return Optimum(_nearest(theorem, known, gamma))
        return _minimize(theorem, known, self.rounds, self.trivial()[0], gamma)

    def bound_infimum(self) -> float:
        if self._hopeless():
            return math.inf
        free = self.alpha is None and self.rounds is None
        return _infimum(self.theorem({}), self.symbols()) if free else self.optimum().bound

    def _hopeless(self) -> bool:
        """Whether some hypothesis fails for every choice."""
        if self.unknown() is not None or self.ratio() >= 1:
            return True
        return self.alpha is None and bool(self.unmet(_nearest(self.theorem({}), self.symbols(), self.travel())))

    def levers(self) -> dict[str, float]:
        return {"rho": 0.0} if self.rho is not None else super().levers()


@dataclass(frozen=True, kw_only=True)
class Das2022Normalised(Das2022):
    """DP-NormFedAvg: as DP-FedAvg, with each update scaled to length C.

    The bound is for the clients' gaps weighted by GE/||u_i|| >= 1. Where clients differ, it contains the expectation
    of a weighted heterogeneity. No bound of it is known before a run, so there is no number.
    """

    described = DPNormFedAvg
    source = "das2022 Theorem 4 (b)"
    prescribing: ClassVar[str] = "das2022.theorem4b"
    bounding: ClassVar[str] = "das2022.theorem4b.repaired"

    def unknown(self) -> str | None:
        if self.heterogeneity == 0:
            return None
        return (
            "the bound contains an expectation of the clients' weighted heterogeneity, which is not known before a run"
        )

    def printed(self) -> Document:
        found = super().printed()
        choice, said = self.chosen(found), []
        if self.unknown():
            said.append(
                "The bound contains an expectation of the clients' weighted heterogeneity, which is not known before a "
                "run: the terms omit it, and there is no bound."
            )
        if self.cohort < self.clients:
            said.append(
                "Theorem 4 (b) is refuted for independent sampling with r < n, where the repaired bound is valid; for "
                "cohorts of exactly r clients the printed one is."
            )
        return {
            **found,
            "repaired": {
                "statement": self.bounding,
                "kappa": self.symbols()["kappa"],
                "bound": self.claimed(choice),
                "terms": self.terms(self.theorem(choice), self.at(choice)),
            },
            "warnings": [*said, *found["warnings"]],
        }


FREE = ("alpha", "gamma", "E")
Known = Mapping[str, float]
"""Values of the symbols, those of ``FREE`` where they are given."""


@cache
def _rows(theorem: Statement, given: frozenset[str]) -> Rows:
    s, chosen = symbols_of(theorem), prescription_of(theorem)
    K, t = sp.Symbol("K", positive=True), sp.Symbol("t", positive=True)
    other = "gamma" if "alpha" in given else "alpha"
    (solved,) = sp.solve(sp.Eq(chosen["K"].subs(s.C, chosen["C"]), K), s[other])

    def entered(expression: Any) -> Any:
        return sp.expand(expression.subs({s.C: chosen["C"]}).subs(s[other], solved).subs(s.K, K))

    (term,), unknown = sides_of(theorem).lhs.values(), {s[e.name]: 0 for e in theorem.expectations}
    (bounded,) = (s[e.name] for e in theorem.expectations if s[e.name] in term.free_symbols)
    coefficient = entered(sp.expand(term).coeff(bounded))
    constant = coefficient.as_coeff_Add()[0]
    falling = sp.expand(constant - coefficient)
    right = entered(total(theorem).subs(unknown))
    limits = [(right / t + falling) / constant, 1 / s.E]
    limits += [entered(small / large) for small, large in inequalities(theorem)]
    variables = [name for name in ("gamma", "E", "K", "t") if name not in given]
    return [monomials(x, variables) for x in (t, *limits)]


def _program(theorem: Statement, known: Known, rounds: int | None) -> Program:
    """The program; gamma is not a variable where alpha is given, since K represents it."""
    found = program_at(theorem, _rows(theorem, frozenset(FREE) & frozenset(known)), known)
    limit = [] if rounds is None else [[Monomial(1 / rounds, {"K": Fraction(1)})]]
    return replace(found, constraints=[*found.constraints, *limit])


def _infimum(theorem: Statement, known: Known) -> float:
    """The infimum of the bound where alpha and K are free, infinite where no choice meets the hypotheses."""
    limit = _program(theorem, known, None).without_falling("E").without_falling("K").solve()
    return math.inf if limit is None else limit.values["t"]


def _minimize(theorem: Statement, known: Known, rounds: int | None, trivial: float, gamma: float) -> Optimum:
    """The least bound, with its gamma, alpha, E and K; rounds: the largest K; gamma: as in `_nearest`."""
    program = _program(theorem, known, rounds)
    if "alpha" in known:
        found, lower, how = _whole(theorem, known, program, rounds)
    else:
        found, lower, how = _long(theorem, known, program, rounds, trivial)
    if found is None:
        return Optimum(_nearest(theorem, known, gamma), math.inf)
    free = "gamma" if "alpha" in known else "alpha"  # the one that is not given makes the prescribed K whole
    at = {"gamma": 1.0, "alpha": 1.0, **found, **known}
    return Optimum(_choice(theorem, at, round(found["K"]), free), lower, how)


def _nearest(theorem: Statement, known: Known, gamma: float) -> dict[str, Any]:
    """The choice that comes nearest to the hypotheses with this gamma, where that is not given."""
    at = {"gamma": gamma, "E": 1, **known}
    at.setdefault("alpha", max(1.0, 2 * at["rho"] * at["E"]))
    return _choice(theorem, at, rounded_up(prescribed(theorem, at)["K"]), "gamma")


def _choice(theorem: Statement, at: Known, K: int, free: str) -> dict[str, Any]:
    """The hyper-parameters of a whole K, which is proportional to the free one."""
    own = {**at, free: at[free] * K / prescribed(theorem, at)["K"]}
    return {"local_steps": round(own["E"]), "alpha": own["alpha"], "gamma": own["gamma"], "rounds": K}


HOW = "a geometric program in {} was solved, and its dual value is the lower bound, by the inequality of the means"
Found = tuple[dict[str, float] | None, float, str]
"""The variables, the lower limit, and the reason."""


def _long(theorem: Statement, known: Known, program: Program, rounds: int | None, trivial: float) -> Found:
    """Free alpha: the bound falls with K."""
    if "E" not in known:  # E is in the bound only by E/alpha, and may be as large as alpha >= 1 needs
        program = program.without_falling("E")
    found, K, lower = program.with_count("K", rounds, trivial)
    how = HOW.format("gamma, of which alpha follows,")
    if rounds is not None:
        how += ". It falls with K, so all allowed rounds are used"
    if found is None:
        return None, math.inf, how
    if rounds is None:
        how += (
            f". The bound falls with alpha and K without a limit, towards {lower:.6g}; K is the least with a bound of "
            f"at most {near_limit(program.infimum('K', None), trivial):.6g}"
        )
    values = {**found.values, "K": float(K)}
    if "E" not in known:  # alpha is proportional to E K/gamma by the prescribed K
        one = prescribed(theorem, {**values, **known, "E": 1, "alpha": 1})["K"]
        values["E"] = max(1.0, math.ceil(one / values["K"] - SAME))
        how += ", with the fewest local steps that alpha >= 1 allows"
    return values, lower, how


def _whole(theorem: Statement, known: Known, program: Program, rounds: int | None) -> Found:
    """Whole E and K, for given alpha: next to the real minimum, or to the prescription of a given gamma."""
    best, lower = (math.inf, dict[str, float]()), math.inf

    def tried(E: int, real: float) -> None:
        """Whole K next to a real one: for given E the bound is convex in log K."""
        nonlocal best, lower
        for K in _next(real):
            found = program.substitute({"E": E, "K": K}).solve()
            if found is not None:
                lower = min(lower, found.lower)
                best = min(best, (found.values["t"], {**found.values, "E": E, "K": K}), key=lambda f: f[0])

    given = int(known["E"]) if "E" in known else None
    if "gamma" in known:  # it fixes E K, and then fewer local steps are better
        one = prescribed(theorem, {**known, "E": 1})["K"]
        E = given or max(1, math.ceil(one / (rounds or math.inf)))
        tried(E, one / E)
    elif given is not None:
        point = program.substitute({"E": given}).solve()
        if point is not None:
            tried(given, point.values["K"])
    elif (relaxed := program.solve()) is not None:
        middle = max(1, math.floor(relaxed.values["E"] + SAME))
        for steps in (range(middle, 0, -1), itertools.count(middle + 1)):
            for E in steps:  # until even real K are worse, and with them all further E
                point = program.substitute({"E": E}).solve()
                if point is None or point.values["t"] >= best[0] * (1 - SAME):
                    lower = lower if point is None else min(lower, point.lower)
                    break
                tried(E, point.values["K"])
    how = HOW.format("E and K, of which gamma follows,") + (
        "; whole E and K next to the minimum were compared, until the bound, which is convex in their logarithms, is "
        "larger"
    )
    return (best[1], lower, how) if best[1] else (None, math.inf, how)


def _next(real: float) -> list[int]:
    """The whole numbers of at least 1 next to a real one."""
    return sorted({max(1, math.floor(real + SAME)), max(1, math.ceil(real - SAME))})
