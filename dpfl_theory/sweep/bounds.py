"""A statement's bound at the hyper-parameters of a cell, with the quantity measured there.

The symbols of a statement get their values from the problem, the algorithm and the run, which starts at 0. The sides
and the hypotheses are the statement's own. A symbol that is not a hyper-parameter of the run gets the value for which
the statement prescribes this run: das2022's rho follows from the noise, alpha and gamma from eta and K.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfl_theory import statements
from dpfl_theory.algorithms import Run
from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.checks.linear_form import linearise
from dpfl_theory.core import Statement
from dpfl_theory.problems.base import Problem
from dpfl_theory.sweep.algorithms import Hyper

__all__ = ["Bound", "bound_of", "observed_by", "refusal", "spoken_of"]

Symbols = Mapping[str, float]


@dataclass(frozen=True)
class Bound:
    """Both sides of a statement at a cell.

    bound, measured, error: the right side, the left one and its standard error over the replicates (None for a single
    replicate and for a least mean over rounds). met: whether the hypotheses are met, None where the run does not decide
    it; why: the reason. limit, of: where the left side is a multiple of one observable, the bound on this observable,
    and its column.
    """

    bound: float
    measured: float
    error: float | None
    met: bool | None
    why: str
    limit: float | None = None
    of: str | None = None

    @property
    def ratio(self) -> float:
        """Left side over right side, where that is positive."""
        return self.measured / self.bound if self.bound > 0.0 else math.nan

    def row(self, id_: str) -> dict[str, Any]:
        """The columns of a statement."""
        found: dict[str, Any] = {"bound": self.bound, "measured": self.measured, "measured_error": self.error}
        found |= {"ratio": self.ratio, "met": self.met, "hypotheses": self.why, "limit": self.limit, "of": self.of}
        return {f"{id_}:{name}": value for name, value in found.items()}


def _das2022(problem: Problem, model: Hyper, parameters: Symbols, rounds: int) -> tuple[dict[str, float], str]:
    """sigma = C rho sqrt(K/d), eta = rho/(2 alpha L), K = 2 alpha gamma/(C rho^2); G = C/E, as in Theorem 4."""
    c, own = problem.constants, _no_minimiser(problem)
    eta, C, E, K, L = parameters["eta"], parameters["C"], parameters["E"], float(rounds), c.L_max
    rho = parameters["sigma"] * math.sqrt(problem.d / K) / C
    alpha = rho / (2.0 * eta * L)
    r = float(getattr(model, "cohort", None) or problem.n)
    poisson = model.among and getattr(model, "sampling", None) in (None, "poisson")
    more = {"rho": rho, "alpha": alpha, "gamma": eta * L * C * K * rho, "G": C / E, "C_hat": C / E, "C": C, "E": E}
    more |= {"eta": eta, "K": K, "L": L, "n": float(problem.n), "r": r, "d": float(problem.d)}
    more["kappa"] = (1.0 - r / problem.n) / r if poisson else 0.0
    same = math.isclose(parameters["beta"], eta, rel_tol=1e-12)
    said = "" if same else f"beta = {parameters['beta']:.6g} is not eta = {eta:.6g}"
    return {**more, **own}, said or ("" if rho > 0 else "there is no noise, so that rho = 0 does not lie in (0, 1)")


def _no_minimiser(problem: Problem) -> dict[str, float]:
    c = problem.constants
    if c.w_star is None:
        return {"D": math.nan, "Delta": math.nan, "Delta_max": math.nan}
    deltas = c.delta_i_star
    return {"D": float(np.linalg.norm(c.w_star)), "Delta": float(deltas.mean()), "Delta_max": float(deltas.max())}


def _hou2023(problem: Problem, model: Hyper, parameters: Symbols, rounds: int) -> tuple[dict[str, float], str]:
    """Lemma 1's variance is p T v C^2 ln(1/delta)/epsilon^2: C = epsilon = 1, and v follows from the noise."""
    c, eta, p, delta = problem.constants, parameters["eta"], parameters["p"], 1e-5
    sigma = parameters.get("sigma", 0.0)
    psi = math.nan
    if c.w_star is not None:
        psi = problem.n * float(c.w_star @ c.w_star) + (eta / p) ** 2 * float(np.sum(problem.gradients_at_star**2))
    values = {"eta": eta, "p": p, "T": float(rounds), "L": c.L_max, "mu": c.mu_min, "N": float(problem.n)}
    values |= {"d": float(problem.d), "C": 1.0, "epsilon": 1.0, "delta": delta, "psi_0": psi}
    values["v"] = sigma**2 / (p * rounds * math.log(1.0 / delta))
    if "C" in parameters:
        return values, f"? whether clipping to C = {parameters['C']:.6g} was never active"
    return values, ""


def _shulgin2025(problem: Problem, model: Hyper, parameters: Symbols, rounds: int) -> tuple[dict[str, float], str]:
    """The memories start at 0: R is the largest norm of the first gradients."""
    c, zero = problem.constants, np.zeros(problem.d)
    R = max(float(np.linalg.norm(problem.client_gradient(i, zero))) for i in range(problem.n))
    values = {"gap": problem.value(zero) - c.f_star, "K": float(rounds - 1), "L": c.L_f, "L_max": c.L_max, "R": R}
    values |= {"n": float(problem.n), "d": float(problem.d), "residual_0": R}
    return {**values, **{name: parameters[name] for name in ("gamma", "alpha", "beta", "sigma")}}, ""


_Reader = Callable[[Problem, Hyper, Symbols, int], tuple[dict[str, float], str]]
_SPOKEN: Mapping[str, tuple[_Reader, tuple[str, ...]]] = {
    "dp-fedavg": (_das2022, ("das2022.theorem4a", "das2022.theorem6", "das2022.eq4")),
    "dp-normfedavg": (_das2022, ("das2022.theorem4b", "das2022.theorem7", "das2022.eq5")),
    "dp-scaffnew": (_hou2023, ("hou2023.theorem1",)),
    "scaffnew": (_hou2023, ("hou2023.theorem1",)),
    "dp-norm-ec": (_shulgin2025, ("shulgin2025.theorem1", "shulgin2025.theorem2")),
}


_CLIPPED = ("hou2023.theorem1.clipped",)
"""Statements on runs with active clipping, while the functions above assume that clipping is never active."""


def spoken_of(name: str) -> list[str]:
    """The statements that concern an algorithm's runs.

    >>> spoken_of("dp-scaffnew")
    ['hou2023.theorem1', 'hou2023.theorem1.sharpened']
    """
    own = _SPOKEN.get(name, (None, ()))[1]
    every = [s.id for s in statements.all_statements() if s.sides is not None and s.kind in ("theorem", "corollary")]
    return [id_ for id_ in every if any(id_ == one or id_.startswith(one + ".") for one in own) and id_ not in _CLIPPED]


def refusal(id_: str, names: Sequence[str], every: int) -> str | None:
    """Why a statement cannot be evaluated for runs of any of these algorithms."""
    if every > 1:
        return f"every is {every}: {id_} concerns all rounds; leave every at 1"
    if any(id_ in spoken_of(name) for name in names):
        return None
    known = [one for name in names for one in spoken_of(name)]
    hint = f"give one of {', '.join(known)}" if known else f"its bounds are known for {', '.join(_SPOKEN)}"
    return f"statements holds {id_!r}: it does not concern runs of {', '.join(names)}; {hint}"


def observed_by(ids: Sequence[str]) -> list[str]:
    """The observables in these statements."""
    expectations = [e for id_ in ids for e in statements.get(id_).expectations]
    return list(dict.fromkeys(name for e in expectations for name, _ in e.parts))


def bound_of(id_: str, problem: Problem, model: Hyper, parameters: Symbols, run: Run, own: slice) -> Bound:
    """The statement's bound at a cell, whose replicates are ``own`` of the run."""
    statement = statements.get(id_)
    rounds = int(run.configuration["rounds"])
    values, said = _SPOKEN[model.name][0](problem, model, parameters, rounds)
    met, why = _hypotheses(statement, problem, values, said)
    try:
        lhs, rhs = linearise(statement, values)
    except (ArithmeticError, TypeError, ValueError):
        return Bound(math.nan, math.nan, None, False, f"{why}; its formula has no value here")
    replicates = {
        expectation.column(name): _by_replicate(run, expectation.when, name, rounds, own)
        for expectation in statement.expectations
        for name, _ in expectation.parts
    }
    means = {column: float(found.mean()) for column, found in replicates.items()}
    left, right = (math.fsum(side.evaluate(means).values()) for side in (lhs, rhs))
    constant, slopes = lhs.total()
    slopes = {column: slope for column, slope in slopes.items() if slope != 0.0}
    error = limit = of = None
    if own.stop - own.start > 1 and all(found.shape[0] > 1 for found in replicates.values()):
        each = sum(slope * replicates[column] for column, slope in slopes.items())
        error = float(np.std(each, ddof=1)) / math.sqrt(own.stop - own.start)
    if len(slopes) == 1:
        ((column, slope),) = slopes.items()
        of = _shown(statement, column)
        limit = (right - constant) / slope if slope > 0.0 and of is not None else None
    return Bound(right, left, error, met, why, limit, of if limit is not None else None)


def _by_replicate(run: Run, when: str, name: str, rounds: int, own: slice) -> Any:
    """The samples whose mean estimates an expectation, (replicates,); the least mean over rounds, (1,)."""
    stream = run[name]
    if when == "least":
        return stream.every_round[:rounds, own].mean(axis=1).min(keepdims=True)
    return (stream.last if when == "end" else stream.mean)[own]


def _shown(statement: Statement, column: str) -> str | None:
    """The column of results with the mean of the observable that an expectation's column streams."""
    for expectation in statement.expectations:
        for name, _ in expectation.parts:
            if expectation.column(name) == column and expectation.when != "least":
                return name if expectation.when == "end" else f"{name}_average"
    return None


def _hypotheses(statement: Statement, problem: Problem, values: Symbols, said: str) -> tuple[bool | None, str]:
    failed = unmet(statement, values, problem)
    if failed is not None:
        return False, f"not met: {failed[0]}: {failed[1]}"
    if said.startswith("?"):
        return None, f"the run does not show{said[1:]}"
    return (False, f"not met: {said}") if said else (True, "met")
