r"""DP-ScaffNew: hou2023 Corollary 1 for the step size, the probability and the iterations, Theorem 1 for the bound.

The least bound is over eta, p and T jointly.
With :math:`u = \mu\eta` and :math:`s = p^2` the bound is :math:`\theta^T (D^2 + H^2 \eta^2/s) + \nu T s/(1 - \theta)`,
:math:`\theta = \max(1 - u, 1 - s)`. Where :math:`s < u` a smaller eta lowers it, so :math:`s \ge u`, and the bound is
`_parts`' start + shifts/s + noise s for given eta and T. For a given :math:`w = s/u` it first increases and then
decreases in u, so the least value is at an end of u:

* eta = 1/L, where :math:`s = \sqrt{shifts/noise}`, moved into [mu/L, 1]. In T that least value is convex as long as
  s = 1, then first rises and then falls, then is convex again (s = mu/L): whole T next to the two minima and to the
  points where the cases meet are compared.
* p = 1 with a shorter eta: no closed form; the whole edge is covered by cells whose lower limits are compared.
* eta and p -> 0: D^2 + nu T, at T = 1; it is not attained, and at least D^2, the value without moving.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar

from dpfl_theory.algorithms.scaffnew import DPScaffNew
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.core.inverse import prescribed
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.recommend.bound_minimizers import Optimum, count_for, cover
from dpfl_theory.recommend.inputs import Document, calibration, constant, given, of_budget, quote_option, relation
from dpfl_theory.recommend.setting import Setting, cite, rounded_up
from dpfl_theory.statements import get
from dpfl_theory.statements.hou2023.run_symbols import SYMBOLS


@dataclass(frozen=True, kw_only=True)
class Hou2023(Setting):
    r"""DP-ScaffNew for N clients with L-smooth, :math:`\mu`-strongly convex objectives and shifts :math:`h_0 = 0`.

    >>> setting = Hou2023(clients=2, dim=1, smoothness=1.0, strong_convexity=0.25, distance=1.0,
    ...            gradient_norm_at_optimum=2.0, clip=1.0, epsilon=1.0, delta=0.1, constant=1.0)
    >>> setting.at({"eta": 1.0, "p": 0.5, "iterations": 1})["psi_0"]
    17.0
    """

    described = DPScaffNew
    source = "hou2023 Corollary 1 and Theorem 1"
    bounding: ClassVar[str] = "hou2023.theorem1"
    noise_of: ClassVar[str] = "hou2023.lemma1"
    bounds: ClassVar[str] = "E psi_T, psi = ||x - x*||^2 + (eta^2/p^2) ||h - h*||^2 over the stacked clients [X^2]"
    empty: ClassVar[Document] = {"unrounded": {}}
    choices: ClassVar[Mapping[str, str]] = {"eta": "eta", "p": "p", "iterations": "T"}
    speaks_of_noise: ClassVar[str] = (
        "Theorem 1 has Lemma 1's noise in place of sigma; its constant v is the value that gives this noise"
    )

    clients: int = given(SYMBOLS["N"], "clients")
    dim: int = given(SYMBOLS["d"], "dimension")
    smoothness: float = given(SYMBOLS["L"], "largest smoothness")
    strong_convexity: float = given(SYMBOLS["mu"], "strong convexity")
    distance: float = given(SYMBOLS["D"], "stacked distance")
    gradient_norm_at_optimum: float = given(
        SYMBOLS["H"], "stacked gradient at the minimiser", remark="; the first shifts are 0, and h* the gradients at x*"
    )
    clip: float = given(SYMBOLS["C"])
    epsilon: float = of_budget("epsilon")
    delta: float = of_budget("delta")
    calibration: str = calibration()
    relation: str = relation(DPScaffNew)
    constant: float | None = constant("v")

    @classmethod
    def undecided(cls, given: Mapping[str, Any]) -> list[str]:
        if given.get("calibration") != "paper" or given.get("constant") is not None:
            return []
        return [f"{quote_option('constant')}: give the constant v of Lemma 1's noise, the paper's own"]

    def contradictions(self) -> Iterator[str]:
        yield from self.not_above("strong_convexity", "smoothness", "no function allows that: give mu <= L")
        if self.distance == 0 and self.gradient_norm_at_optimum == 0:
            yield self.refused(
                "distance", "with zero gradients at x* the start is the minimum", "give a positive distance"
            )

    def at(self, choice: Document) -> dict[str, float]:
        """With psi_0 = ||x_0 - x*||^2 + (eta^2/p^2) ||h*||^2 [X^2]."""
        found = super().at(choice)
        return {**found, "psi_0": found["D"] ** 2 + (found["eta"] / found["p"] * found["H"]) ** 2}

    def following(self, at: Mapping[str, float]) -> Document:
        return {"expected_communications": at["p"] * at["T"], "psi_0": at["psi_0"]}

    def trivial(self) -> tuple[float, str]:
        return self.distance**2, "||x_0 - x*||^2"

    def printed(self) -> Document:
        corollary, known = get("hou2023.corollary1"), self.symbols()
        if self.strong_convexity < self.smoothness:
            exact = prescribed(corollary, known)
        else:  # ln([1 - mu/L]^(-1)) is infinite; T* tends to 0
            exact = {"eta": 1 / self.smoothness, "p": 1.0, "T": 0.0}
        real = {"eta": exact["eta"], "p": exact["p"], "iterations": exact["T"]}
        found = self.answer({**real, "iterations": rounded_up(exact["T"])})
        total, start, certificate = found["bound"], found["psi_0"], found["certificate"]
        allowed, vacuous, unknown = exact["T"] >= 1, total >= start, self.gradient_norm_at_optimum > 0
        cited = cite("prescription", corollary, {**known, **exact, "psi_0": start})
        said = ["The bound is not below psi_0: it promises nothing beyond the start."] if vacuous else []
        if allowed and unknown:
            said.append(
                "Corollary 1 treats psi_0 as a constant; since the gradients at x* are not zero, other eta, p and T "
                "can have a smaller bound (hou2023.corollary1 is refuted)."
            )
        return {
            **found,
            "unrounded": {"iterations": exact["T"], "bound": self.bound(real) if allowed else None},
            "certificate": {
                **certificate,
                "reason": self._reason(exact["T"], total, start),
                "vacuous": vacuous,
                "trivial": start,
                "optimal": allowed and not unknown,  # over all eta, p and real T: Corollary 1, repaired
                "statements": [cited, *certificate["statements"]],
            },
            "warnings": [*said, *self.warnings()],
        }

    def least(self) -> Optimum:
        def bound(eta: float, p: float, T: int) -> float:
            return self.bound({"eta": eta, "p": p, "iterations": T})

        return _minimize(self.symbols(), bound)

    def varied(self, name: str, value: float) -> Hou2023:
        if name != "clients":
            return super().varied(name, value)
        scale = math.sqrt(value / self.clients)  # more clients like these: the stacked vectors are longer
        norms = {n: scale * getattr(self, n) for n in ("distance", "gradient_norm_at_optimum")}
        return replace(self, clients=int(value), **norms)

    def _reason(self, exact: float, total: float, start: float) -> str:
        first = "eta and p are Corollary 1's"
        if exact >= 1:
            first += f", T is its T* = {exact:.6g} rounded up"
        else:
            first += (
                f"; its T* = {exact:.6g} is below 1, where Theorem 1 does not apply: its bound grows with T from T = "
                "1, so T = 1 is the best value that it allows"
            )
        noise = "Lemma 1's"
        if self.calibration == "accountant":
            noise = f"the accountant's, Lemma 1's with v = {self.constant:.6g},"
        return (
            f"{first}. Theorem 1 then bounds E psi_T by {total:.6g}, {'no less than' if total >= start else 'below'} "
            f"psi_0 = {start:.6g}. The noise is {noise} for these p and T"
        )

    def warnings(self) -> list[str]:
        if self.calibration != "paper":
            return []
        return [
            "Lemma 1 is refuted as printed: no constant serves for every epsilon, delta and T that it allows, and pT "
            "is only the mean number of communications."
        ]


NEAR = 1e-6
"""Relative distance of the answer from the least value, where that is not attained."""
EXACT = 1e-10
"""For the covering of the edge p = 1: lower limits within this relative distance of the best value are not refined."""


POWERS = {"start": 0, "shifts": -1, "noise": 1}
"""Exponents of s in the bound's parts."""


@cache
def _parts() -> dict[str, tuple[list[str], Callable[..., float]]]:
    """The terms of the right side with psi_0 written out, where s = p^2 >= mu eta: of s^0, 1/s and s, as functions."""

    theorem = get("hou2023.theorem1")
    s = symbols_of(theorem)
    D, H, square = sp.symbols("D H square", nonnegative=True)
    right = total(theorem).subs(s.psi_0, D**2 + (s.eta / s.p) ** 2 * H**2)
    (theta,) = right.atoms(sp.Max)
    right = sp.expand_mul(right.subs(theta, 1 - s.mu * s.eta).subs(s.p, sp.sqrt(square)))
    parts = {name: right.coeff(square, power) for name, power in POWERS.items()}
    if sp.simplify(right - sum(parts[name] * square**power for name, power in POWERS.items())) != 0:
        raise ValueError(f"{theorem.id} does not have the form start + shifts/p^2 + noise p^2")
    made = {}
    for name, part in parts.items():
        symbols = sorted(part.free_symbols, key=str)
        made[name] = ([x.name for x in symbols], sp.lambdify(symbols, part, "math"))
    return made


class _Bound:
    """The parts at given eta and T, in double precision."""

    def __init__(self, known: Mapping[str, float]) -> None:
        self.known = known
        self.mu, self.most = self.known["mu"], 1 / self.known["L"]

    def part(self, name: str, eta: float, T: float) -> float:
        names, function = _parts()[name]
        at = {**self.known, "eta": eta, "T": T}
        return float(function(*(float(at[n]) for n in names)))

    def square(self, eta: float, T: float) -> float:
        """The best p^2 in [mu eta, 1]."""
        least = self.mu / self.known["L"] if eta == self.most else self.mu * eta  # exactly 1 where mu = L
        return min(1.0, max(least, math.sqrt(self.part("shifts", eta, T) / self.part("noise", eta, T))))

    def fall(self, eta: float) -> float:
        """-ln theta."""
        return -math.log1p(-self.mu * eta) if self.mu * eta < 1 else math.inf

    def best_real_T(self, eta: float, square: float) -> float:
        """The T >= 1 at which start + shifts/s + noise s is least: it is psi theta^T + c T."""
        fall = self.fall(eta)
        if math.isinf(fall):
            return 1.0
        psi = (self.part("start", eta, 1) + self.part("shifts", eta, 1) / square) * math.exp(fall)
        ratio = fall * psi / (self.part("noise", eta, 1) * square)
        return max(1.0, math.log(ratio) / fall) if ratio > 0 else 1.0


def _minimize(known: Mapping[str, float], bound: Callable[[float, float, int], float]) -> Optimum:
    """The choice with the least right side of Theorem 1, which is ``bound`` of eta, p and T; known: the other symbols'
    values."""
    parts = _Bound(known)

    def ending(T: int) -> tuple[float, float, int]:
        """The best choice with eta = 1/L."""
        square = parts.square(parts.most, T)
        return parts.most, math.sqrt(square), T

    best = min((ending(T) for T in _whole(parts)), key=lambda choice: bound(*choice))
    value = bound(*best)
    limit = _not_moving(parts)
    covered, other = _edge(parts, min(value, limit))
    if other is not None and bound(*other) < value:
        best, value = other, bound(*other)
    how = (
        "for given T the bound is start + shifts/p^2 + noise p^2: its minimum over p has a closed form, and over eta "
        "it is at eta = 1/L, at p = 1 or in the limit eta -> 0; whole T next to the minima of its convex pieces were "
        "compared, "
        "and the edge p = 1 was covered by cells"
    )
    if limit < value:
        eta = _short(parts, limit)
        best = (eta, math.sqrt(parts.mu * eta), 1)
        value = bound(*best)
        how += (
            f". The least value {limit:.6g} is approached as eta and p tend to 0, where nothing moves, but not attained"
        )
    eta, p, T = best
    return Optimum({"eta": eta, "p": p, "iterations": T}, min(value, limit, covered), how)


def _whole(parts: _Bound) -> set[int]:
    """The candidates for the T that minimises the least bound at eta = 1/L."""
    eta, found = parts.most, {1}
    for square in (1.0, parts.mu * eta):
        best, meeting = parts.best_real_T(eta, square), count_for(partial(_above, parts, square))
        found |= {math.floor(best), math.ceil(best), meeting, max(1, meeting - 1)}
    return found


def _above(parts: _Bound, square: float, T: int) -> bool:
    """Whether the best unconstrained p^2 at eta = 1/L, which falls with T, is above this value."""
    return parts.part("shifts", parts.most, T) / parts.part("noise", parts.most, T) / square**2 > 1


def _not_moving(parts: _Bound) -> float:
    """The limit of the bound as eta and p^2 = mu eta tend to 0, at T = 1: D^2 + nu."""
    eta = parts.most
    noise = parts.part("noise", eta, 1) * parts.mu * eta  # in noise s, s = mu eta, eta drops out
    return parts.known["D"] ** 2 + noise


def _short(parts: _Bound, limit: float) -> float:
    """An eta with which the bound is within ``NEAR`` of the limit: it adds at most H^2 eta/mu."""
    shifts = parts.known["H"] ** 2 / parts.mu
    return min(parts.most, NEAR * limit / shifts) if shifts > 0 else parts.most


def _edge(parts: _Bound, best: float) -> tuple[float, tuple[float, float, int] | None]:
    """A lower limit at p = 1 for all eta and T, at most ``best``, and a better choice, if one was found.

    On a cell [a, b] of eta, theta is no less than that of b, psi_0 than that of a, and the noise's term than that of b.
    """
    D, H = parts.known["D"], parts.known["H"]

    def limit(a: float, b: float) -> float:
        fall, psi, c = parts.fall(b), D**2 + (a * H) ** 2, parts.part("noise", b, 1)
        if math.isinf(fall):
            return c
        ratio = fall * psi / c
        T = max(1.0, math.log(ratio) / fall) if ratio > 0 else 1.0
        return psi * math.exp(-fall * T) + c * T

    def least(eta: float) -> tuple[float, int]:
        """The least value for this eta over whole T."""
        T = parts.best_real_T(eta, 1.0)
        names = ("start", "shifts", "noise")
        return min((sum(parts.part(n, eta, t) for n in names), t) for t in (max(1, math.floor(T)), math.ceil(T)))

    shortest = min(parts.most, parts.part("noise", parts.most, 1) * parts.most / best)  # noise by itself is best there
    cells, b = list[tuple[float, float]](), parts.most
    while b > shortest:
        a = max(shortest, b / 1.25)
        cells.append((a, b))
        b = a
    lower, _, eta = cover(cells, limit, lambda eta: least(eta)[0], lambda a, b: (a + b) / 2, best, EXACT, 20_000)
    return lower, None if eta is None else (eta, 1.0, least(eta)[1])
