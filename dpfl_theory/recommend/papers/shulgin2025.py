"""DP-alpha-NormEC: shulgin2025 Corollary 2 for sigma, beta and gamma, Theorem 2 for the bound.

The least bound over gamma, beta, alpha and K at the noise of Corollary 2 is a geometric program. With N = K + 1 rounds,
gamma = way/N, beta = beta_0/N and a = alpha + R every term of the bound is a monomial, and none rises with N. So all
allowed rounds are used, or enough to come near the limit of the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from dpfl_theory.algorithms.error_feedback import NormEC
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.core.inverse import prescribed, value
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import SAME, SHARE, Optimum
from dpfl_theory.recommend.bound_minimizers.geometric import Program, Rows, inequalities, monomials, program_at
from dpfl_theory.recommend.inputs import Document, calibration, constant, given, of_budget, parameter, relation, view
from dpfl_theory.recommend.setting import Setting, cite, terms
from dpfl_theory.statements import get
from dpfl_theory.statements.shulgin2025.run_symbols import SYMBOLS

VARIABLES = ("way", "beta_0", "a", "N")


@cache
def _rows() -> Rows:
    """The monomials of the bound and of its hypotheses in the variables."""
    theorem, corollary = get("shulgin2025.theorem2"), get("shulgin2025.corollary2")
    s, own = symbols_of(theorem), symbols_of(corollary)
    way, beta_0, a, N = sp.symbols(" ".join(VARIABLES), positive=True)
    sigma = prescription_of(corollary)["sigma"].subs({own.K: N - 1})
    chosen = {s.sigma: sigma, s.gamma: way / N, s.beta: beta_0 / N, s.alpha: a - s.R, s.K: N - 1}
    limits = [small / large for small, large in inequalities(theorem)]
    limits += [s.R / (s.alpha + s.R), 1 / (s.K + 1)]
    sums = [total(theorem).subs(chosen), *(sp.simplify(x.subs(chosen)) for x in limits)]
    return [monomials(x, VARIABLES) for x in sums]


@dataclass(frozen=True, kw_only=True)
class Shulgin2025(Setting):
    r"""DP-alpha-NormEC with server normalisation, for n clients with smooth objectives.

    The paper leaves :math:`\beta_0` and the number of rounds open. Without ``beta_0`` it is the value that minimises
    the bound as K grows. Without ``rounds`` their number is the least with :math:`\beta < \alpha + R` and with the only
    term that depends on K at most 1% of the others.

    >>> setting = Shulgin2025(clients=10, dim=5, smoothness=1.0, smoothness_max=2.0, gap=3.0, residual=0.5, alpha=0.1,
    ...             epsilon=1.0, delta=1e-5)
    >>> setting.symbols()["c"]
    2.0
    """

    described = NormEC
    source = "shulgin2025 Corollary 2 and Theorem 2"
    bounding: ClassVar[str] = "shulgin2025.theorem2"
    noise_of: ClassVar[str] = "shulgin2025.noise"
    empty: ClassVar[Document] = {"unrounded": {}}
    usual_constant: ClassVar[float | None] = 4.0
    choices: ClassVar[Mapping[str, str]] = {name: name for name in ("gamma", "beta", "beta_0", "alpha", "rounds")}
    shown: ClassVar[Mapping[str, str]] = {"K": "K"}
    speaks_of_noise: ClassVar[str] = "sigma is a symbol of Theorem 2: its bound is that of this noise"

    clients: int = given(SYMBOLS["n"], "clients")
    dim: int = given(SYMBOLS["d"], "dimension")
    smoothness: float = given(SYMBOLS["L"], "smoothness")
    smoothness_max: float = given(SYMBOLS["L_max"], "largest smoothness")
    gap: float = given(SYMBOLS["gap"], "gap")
    residual: float = given(SYMBOLS["R"], "first gradient")
    alpha: float | None = given(SYMBOLS["alpha"], free=True)
    beta_0: float | None = given(SYMBOLS["beta_0"], optional=True)
    rounds: int | None = parameter("number of communication rounds", "count", optional=True)
    epsilon: float = of_budget("epsilon")
    delta: float = of_budget("delta")
    calibration: str = calibration()
    relation: str = relation(NormEC)
    view: str = view("server")
    constant: float | None = constant("v", usual=usual_constant)

    def contradictions(self) -> Iterator[str]:
        yield from self.not_above("smoothness", "smoothness_max", "the mean of the f_i is L_max-smooth")

    def symbols(self) -> dict[str, float]:
        """c is the root of the constant. Gaussian releases compose to one whose noise multiplier falls with the root of
        their number, so the accountant's c does not depend on K."""
        return {**super().symbols(), "c": math.sqrt(self.paper_constant() or 0.0)}

    def at(self, choice: Document) -> dict[str, float]:
        known = {**super().at(choice), "K": choice["rounds"] - 1}
        return {**known, "sigma": prescribed(get("shulgin2025.corollary2"), known)["sigma"]}

    def choice(self, *, beta_0: float, alpha: float, rounds: int, gamma: float | None = None) -> Document:
        """The hyper-parameters, sigma, beta and, without it, gamma by Corollary 2."""
        known = {**self.symbols(), "beta_0": beta_0, "alpha": alpha, "K": rounds - 1}
        step = {} if gamma is None else {"gamma": gamma}
        return {
            **prescribed(get("shulgin2025.corollary2"), known),
            **step,
            "beta_0": beta_0,
            "alpha": alpha,
            "rounds": rounds,
        }

    def chosen(self, document: Document) -> Document:
        return self.choice(**{name: document[name] for name in ("beta_0", "alpha", "rounds", "gamma")})

    def noise(self, at: Mapping[str, float]) -> Document:
        return {**super().noise(at), "constant": at["c"] ** 2}

    def trivial(self) -> tuple[float, str]:
        return math.sqrt(2 * self.smoothness * self.gap), "sqrt(2 L (f(x_0) - inf f))"

    def printed(self) -> Document:
        from dpfl_theory.statements.shulgin2025.theorem2 import best_beta_0

        corollary, known = get("shulgin2025.corollary2"), self.symbols()
        known.setdefault("beta_0", value(corollary, best_beta_0(symbols_of(corollary)), known))
        one = terms(corollary, {**known, "K": 0})
        others = math.fsum(v for name, v in one.items() if name != "curvature")
        contracting = math.floor(known["beta_0"] / (known["alpha"] + self.residual)) + 1
        exact = max(1.0, contracting, one["curvature"] / (SHARE * others))
        rounds = self.rounds or math.ceil(exact)
        found = self.answer(self.choice(beta_0=known["beta_0"], alpha=known["alpha"], rounds=rounds))
        step = "was given" if self.beta_0 else "minimises the bound as K grows (the paper does not fix it)"
        many = (
            "were given"
            if self.rounds
            else f"are the least with beta < alpha + R and a curvature term of at most {SHARE:.0%} of the others "
            "(the paper does not fix them)"
        )
        end = "Theorem 2 gives the bound" if found["certificate"]["applies"] else "A hypothesis of Theorem 2 fails"
        reason = f"sigma, beta and gamma are Corollary 2's; beta_0 {step}; the rounds {many}. {end}"
        statements = [cite("prescription", corollary), *found["certificate"]["statements"]]
        return {
            **found,
            "unrounded": {} if self.rounds else {"rounds": exact},
            "certificate": {**found["certificate"], "reason": reason, "statements": statements},
        }

    def program(self) -> Program:
        """The bound as a geometric program in way = gamma N, beta_0, a = alpha + R and N = K + 1."""
        fixed = {"beta_0": self.beta_0, "a": None if self.alpha is None else self.alpha + self.residual}
        own = {name: x for name, x in fixed.items() if x is not None}
        return program_at(get("shulgin2025.corollary2"), _rows(), self.symbols()).substitute(own)

    def least(self) -> Optimum:
        """All allowed rounds, or as many as the printed rule has, or as come near the limit of the bound."""
        first = 1 if self.alpha is None or self.rounds else self.printed()["rounds"]
        found, rounds, lower = self.program().with_count("N", self.rounds, self.trivial()[0], first)
        values = {} if found is None else found.values
        if found is not None and self.alpha is None:  # alpha = 0 where it costs nothing
            here = self.program().substitute({"N": float(rounds)})
            flat = here.substitute({"a": self.residual})
            other = flat.solve()
            if other is not None and flat.value(other.values) <= here.value(values) * (1 + SAME):
                values = {**other.values, "a": self.residual}
        alpha = max(0.0, values.get("a", 0.0) - self.residual) if self.alpha is None else self.alpha
        beta_0 = self.beta_0 or values.get("beta_0", self.residual)
        choice = self.choice(beta_0=beta_0, alpha=alpha, rounds=rounds)
        step = values.get("way", math.inf) / rounds  # the solver's step, if it is not the longest
        shorter = {**choice, "gamma": step}
        if step < choice["gamma"] and self.bound(shorter) < self.bound(choice):
            choice = shorter
        made = (
            "all given rounds are used"
            if self.rounds is not None
            else f"it tends to {lower:.6g}; their number is the printed rule's, or the least with a bound at most "
            f"{SHARE:.0%} above that"
        )
        how = (
            "a geometric program in gamma, beta and alpha was solved, and its dual value is the lower bound, by the "
            f"inequality of the means. It falls with the rounds: {made}"
        )
        return Optimum(choice, lower, how)

    def bound_infimum(self) -> float:
        return self.program().infimum("N", self.rounds)

    def warnings(self) -> list[str]:
        said = []
        if self.calibration == "paper":
            enough = self.epsilon <= 2 * math.log(1 / self.delta) and (self.constant is None or self.constant >= 4)
            said.append(
                "With constant 4 and epsilon <= 2 log(1/delta) this noise is sufficient (shulgin2025.noise.repaired)."
                if enough
                else "The paper's noise is not known to be sufficient for this epsilon and constant (see "
                "shulgin2025.noise): use `calibration=accountant`."
            )
        said.append(
            "The available copy of the paper lacks the displayed formulas: they were restored (see the statements)."
        )
        return said
