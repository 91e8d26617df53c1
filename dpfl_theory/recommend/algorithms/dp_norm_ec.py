"""DP-alpha-NormEC: shulgin2025 Corollary 2 for sigma, beta and gamma, Theorem 2 for the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpfl_theory.core.formula import symbols_of
from dpfl_theory.recommend.base import Document, Setting, calibration, parameter, relation, view

if TYPE_CHECKING:
    from dpfl_theory.core import Statement
    from dpfl_theory.privacy import Mechanism
    from dpfl_theory.recommend.bound_minimizers import Optimum

__all__ = ["SETTINGS", "Shulgin2025"]

SHARE = 0.01
"""Without ``rounds``: the term that falls with the rounds is at most this share of the other terms."""


@dataclass(frozen=True, kw_only=True)
class Shulgin2025(Setting):
    r"""DP-alpha-NormEC with server normalisation, for n clients with smooth objectives.

    The paper leaves :math:`\beta_0` and the number of rounds open. Without ``beta_0`` it is the value that minimises
    the bound as K grows. Without ``rounds`` their number is the least with :math:`\beta < \alpha + R` and with the only
    term that depends on K at most 1% of the others.

    >>> Shulgin2025(clients=10, dim=5, smoothness=1.0, smoothness_max=2.0, gap=3.0, residual=0.5, alpha=0.1,
    ...             epsilon=1.0, delta=1e-5).hidden_constant()
    2.0
    """

    name = "dp-norm-ec"
    title = "DP-alpha-NormEC"
    source = "shulgin2025 Corollary 2 and Theorem 2"
    usual_constant: ClassVar[float | None] = 4.0
    speaks_of_noise: ClassVar[str] = "sigma is a symbol of Theorem 2: its bound is that of this noise"

    clients: int = parameter("number of clients", "count", measured="clients", symbol="n")
    dim: int = parameter("dimension d", "count", measured="dimension", symbol="d")
    smoothness: float = parameter("smoothness constant L of f [F/X^2]", "positive", measured="smoothness", symbol="L")
    smoothness_max: float = parameter(
        "largest smoothness constant of the clients' objectives [F/X^2]",
        "positive",
        measured="largest smoothness",
        symbol="L_max",
    )
    gap: float = parameter("f(x_0) - inf f [F]", "positive", measured="gap", symbol="gap")
    residual: float = parameter(
        "R = max_i ||grad f_i(x_0) - v_i|| of the first memories v_i [F/X]",
        "positive",
        measured="first gradient",
        symbol="R",
    )
    alpha: float | None = parameter(
        "smoothing alpha of the normalisation [F/X]", "nonnegative", free=True, symbol="alpha"
    )
    beta_0: float | None = parameter("step of the memories times the rounds, beta_0 [F/X]", "positive", optional=True)
    rounds: int | None = parameter("number of communication rounds", "count", optional=True)
    epsilon: float = parameter("epsilon of the budget", "positive", symbol="epsilon")
    delta: float = parameter("delta of the budget", "probability", symbol="delta")
    calibration: str = calibration()
    relation: str = relation("zero-out", "replace")
    view: str = view("server")
    constant: float | None = parameter("constant of the noise, 4 by default", "positive", optional=True)

    def contradictions(self) -> Iterator[str]:
        if self.smoothness > self.smoothness_max:
            yield self.refused(
                "smoothness",
                f"it exceeds `smoothness_max={self.smoothness_max!r}`",
                "the mean of the f_i is L_max-smooth",
            )

    def hidden_constant(self) -> float:
        """c with sigma = c sqrt((K + 1) log(1/delta))/epsilon: the root of ``constant``.

        Gaussian releases compose to one whose noise multiplier falls with the root of their number, so the
        accountant's c does not depend on K.
        """
        constant = self.paper_constant()
        assert constant is not None
        return math.sqrt(constant)

    def released(self, found: Document, printed: bool = False) -> Mechanism:
        from dpfl_theory.privacy.mechanisms import get

        kind: Any = get(self.name)
        run = kind(clients=self.clients, relation=self.relation, view=self.view, rounds=found["rounds"])
        return run.with_(noise_multiplier=run.multiplier(found["noise"]["sigma"], 1.0))  # type: ignore[no-any-return]

    def symbols(self) -> dict[str, float]:
        return {**super().symbols(), "c": self.hidden_constant()}

    def printed(self) -> Document:
        from dpfl_theory.recommend.evaluate import cite, value
        from dpfl_theory.statements import get
        from dpfl_theory.statements.shulgin2025.corollary2 import best_beta_0

        corollary, known = get("shulgin2025.corollary2"), self.symbols()
        best = value(corollary, best_beta_0(symbols_of(corollary)), known)
        known["beta_0"] = best if self.beta_0 is None else self.beta_0
        exact = self._least_rounds(corollary, known)
        rounds = math.ceil(exact) if self.rounds is None else int(self.rounds)
        found = self.answer(self.choice(beta_0=known["beta_0"], alpha=known["alpha"], rounds=rounds))
        certificate = found["certificate"]
        unmet = [text for cited in certificate["statements"] for text in cited.get("failures", ())]
        return {
            **found,
            "unrounded": {} if self.rounds is not None else {"rounds": exact},
            "certificate": {
                **certificate,
                "reason": self._reason(unmet),
                "statements": [cite("prescription", corollary), *certificate["statements"]],
            },
        }

    def choice(self, *, beta_0: float, alpha: float, rounds: int, gamma: float | None = None) -> Document:
        """The hyper-parameters, sigma, beta and, without it, gamma by Corollary 2."""
        from dpfl_theory.recommend.evaluate import prescribed
        from dpfl_theory.statements import get

        known = {**self.symbols(), "beta_0": beta_0, "alpha": alpha, "K": rounds - 1}
        chosen = prescribed(get("shulgin2025.corollary2"), known)
        step = {} if gamma is None else {"gamma": gamma}
        return {**chosen, **step, "beta_0": beta_0, "alpha": alpha, "rounds": rounds}

    def at(self, choice: Document) -> dict[str, float]:
        """The values of all symbols of Theorem 2."""
        return {**self.symbols(), **choice, "K": choice["rounds"] - 1}

    def terms(self, choice: Document) -> dict[str, float]:
        """The terms of Theorem 2's bound [F/X], by name."""
        from dpfl_theory.recommend.evaluate import terms
        from dpfl_theory.statements import get

        return terms(get("shulgin2025.theorem2"), self.at(choice))

    def answer(self, choice: Document) -> Document:
        from dpfl_theory.recommend.evaluate import cite, failures
        from dpfl_theory.statements import get

        theorem, noise = get("shulgin2025.theorem2"), get("shulgin2025.noise")
        at, found = self.at(choice), self.terms(choice)
        unmet = failures(theorem, at)
        bound = None if unmet else math.fsum(found.values())
        vacuous = None if bound is None else bound >= self.trivial()[0]
        return {
            "gamma": choice["gamma"],
            "beta": choice["beta"],
            "beta_0": choice["beta_0"],
            "alpha": choice["alpha"],
            "rounds": choice["rounds"],
            "K": choice["rounds"] - 1,
            "bound": bound,
            "terms": found,
            "noise": {
                "sigma": choice["sigma"],
                "meaning": "standard deviation per coordinate of the noise on every client's normalised message",
                "calibration": self.calibration,
                "constant": at["c"] ** 2,
            },
            "unrounded": {},
            "certificate": {
                "bounds": "min over k of E||grad f(x^k)|| [F/X]",
                "applies": not unmet,
                "vacuous": vacuous,
                "trivial": self.trivial()[0],
                "statements": [cite("bound", theorem, at), cite("noise", noise)],
            },
            "warnings": self._warnings(unmet, vacuous),
        }

    def chosen(self, document: Document) -> Document:
        named = {name: document[name] for name in ("beta_0", "alpha", "rounds", "gamma")}
        return self.choice(**named)

    def trivial(self) -> tuple[float, str]:
        return math.sqrt(2 * self.smoothness * self.gap), "sqrt(2 L (f(x_0) - inf f))"

    def optimum(self) -> Optimum:
        from dpfl_theory.recommend.bound_minimizers.norm_ec import minimize_bound

        return minimize_bound(self)

    def bound_infimum(self) -> float:
        from dpfl_theory.recommend.bound_minimizers.norm_ec import bound_infimum

        return bound_infimum(self)

    def _least_rounds(self, corollary: Statement, known: dict[str, float]) -> float:
        """The least K + 1 with beta < alpha + R and a curvature term of at most ``SHARE`` of the others."""
        from dpfl_theory.recommend.evaluate import terms

        one = terms(corollary, {**known, "K": 0})
        others = math.fsum(v for name, v in one.items() if name != "curvature")
        contracting = math.floor(known["beta_0"] / (known["alpha"] + self.residual)) + 1
        return max(1.0, contracting, one["curvature"] / (SHARE * others))

    def _reason(self, unmet: list[str]) -> str:
        step = "was given" if self.beta_0 is not None else "minimises the bound as K grows (the paper does not fix it)"
        many = (
            "were given"
            if self.rounds is not None
            else f"are the least with beta < alpha + R and a curvature term of at most {SHARE:.0%} of the others "
            "(the paper does not fix them)"
        )
        end = ". A hypothesis of Theorem 2 fails" if unmet else ". Theorem 2 gives the bound"
        return f"sigma, beta and gamma are Corollary 2's; beta_0 {step}; the rounds {many}{end}"

    def _warnings(self, unmet: list[str], vacuous: bool | None) -> list[str]:
        said = [f"No bound is claimed: {text}." for text in unmet]
        if vacuous:
            said.append("The bound is not below sqrt(2 L gap), which bounds ||grad f(x_0)||: it promises nothing.")
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


SETTINGS: tuple[Any, ...] = (Shulgin2025,)
