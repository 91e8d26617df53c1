"""The constants that a problem gives to the algorithms' formulas, each with its certificate.

The start is 0 throughout: initial distances, gaps and gradients are those of the zero vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpfl_theory.problems.base import Array, Certificate, Problem
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.recommend.inputs import CONSTANTS, Document, inputs_of
from dpfl_theory.recommend.setting import Setting


class MissingConstantError(Exception):
    """A constant that the problem does not have: the reason, and a change of the problem that helps.

    besides: a change that helps without another ridge, if one exists.
    """

    def __init__(self, why: str, remedy: str, besides: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy
        self.besides = besides


@dataclass(frozen=True)
class Measured:
    """A constant and the reason for its value; an error without a bound is NaN."""

    value: float
    certificate: Certificate

    def describe(self) -> Document:
        """Plain data: ``value``, ``kind``, ``error`` (None without a bound), ``text``."""
        c = self.certificate
        error = None if math.isnan(c.error) else c.error
        return {"value": self.value, "kind": c.kind, "error": error, "text": c.text}


def _computed(value: float, text: str) -> Measured:
    return Measured(value, Certificate("closed-form", 0.0, text))


def _constant(problem: Problem, value: float, name: str, label: str) -> Measured:
    found = problem.constants.certificates[name]
    return Measured(value, Certificate(found.kind, found.error, f"{label}: {found.text}"))


def _records(problem: LinearModel) -> Measured:
    sizes = np.diff(problem.data.offsets)
    return _computed(int(sizes.min()), f"the fewest records of a client; the most are {int(sizes.max())}")


def _strong_convexity(problem: Problem) -> Measured:
    if not problem.constants.mu_min > 0.0:
        raise MissingConstantError(f"{problem.name} without ridge is not strongly convex", "give `ridge`")
    return _constant(problem, problem.constants.mu_min, "mu_i", "smallest of the clients'")


def _lipschitz(problem: Problem) -> Measured:
    if not math.isfinite(problem.constants.G_max):
        ridge = f" with ridge {problem.data.ridge:g}" if isinstance(problem, LinearModel) else ""
        message = f"the gradients of {problem.name}{ridge} are not bounded"
        raise MissingConstantError(message, "leave `ridge` out")
    return _constant(problem, problem.constants.G_max, "G_i", "largest of the clients'")


def _minimiser(problem: Problem) -> Array:
    c = problem.constants
    if c.w_star is None:
        message = f"the minimum of {problem.name} is not attained ({c.certificates['f_star'].text})"
        raise MissingConstantError(message, "give `ridge`, or fewer `features`", "give fewer `features`")
    return c.w_star


def _distance(problem: Problem, copies: int = 1) -> Measured:
    value = math.sqrt(copies) * float(np.linalg.norm(_minimiser(problem)))
    known = problem.constants.certificates
    found = known.get("w_star", known["f_star"])
    stacked = f", times the root of {copies} clients" if copies > 1 else ""
    if "w_star" not in known:  # the certificate is for f, not for w*: it does not bound the error of the distance
        text = f"length of the computed w*{stacked}; f(w*): {found.text}"
        return Measured(value, Certificate("computed", math.nan, text))
    error = math.sqrt(copies) * found.error
    return Measured(value, Certificate(found.kind, error, f"||0 - w*||{stacked}: {found.text}"))


def _gradient_at_star(problem: Problem) -> Measured:
    w_star, known = _minimiser(problem), problem.constants.certificates
    value = float(np.linalg.norm([problem.client_gradient(i, w_star) for i in range(problem.n)]))
    text = f"root of the sum of ||grad f_i||^2 over {problem.n} clients at the computed w*"
    if "w_star" not in known:
        return Measured(value, Certificate("computed", math.nan, text))
    error = float(np.linalg.norm(problem.constants.L_i)) * known["w_star"].error
    return Measured(value, Certificate(known["w_star"].kind, error, text))


def _heterogeneity(problem: Problem) -> Measured:
    _minimiser(problem)
    c = problem.constants
    least, own = c.certificates["f_star"], c.certificates["f_i_star"]
    text = f"mean of f_i(w*) - inf f_i; f(w*): {least.text}; inf f_i: {own.text}"
    return Measured(float(c.delta_i_star.mean()), Certificate(own.kind, least.error + own.error, text))


def gap_at_start(problem: Problem) -> float:
    """f(0) - inf f [F]."""
    return problem.value(np.zeros(problem.d)) - problem.constants.f_star


def _gap(problem: Problem) -> Measured:
    return _constant(problem, gap_at_start(problem), "f_star", "f(0) - inf f")


def _residual(problem: Problem) -> Measured:
    zero = np.zeros(problem.d)
    value = max(float(np.linalg.norm(problem.client_gradient(i, zero))) for i in range(problem.n))
    return _computed(value, "the largest ||grad f_i(0)||: the first memories are 0")


@lru_cache(maxsize=8)  # a search, which each rule asks for
def _gradient_variance(problem: LinearModel) -> Measured:
    from dpfl_theory.problems.heterogeneity import sigma_local

    found = sigma_local(problem, tries=1)
    text = (
        f"variance of a record's gradient about its client's, at any w; {found.justification}; at least "
        f"{found.low**2:.6g}"
    )
    return Measured(found.high**2, Certificate("norm-bound", 0.0, text))


@lru_cache(maxsize=8)
def _dissimilarity(problem: LinearModel) -> Measured:
    from dpfl_theory.problems.heterogeneity import sigma_global

    found = sigma_global(problem, tries=1)
    text = f"the largest ||grad f_i(w) - grad f(w)|| over all w; {found.justification}; at least {found.low:.6g}"
    return Measured(found.high, Certificate("norm-bound", 0.0, text))


MEASURES: dict[str, Callable[[Any], Measured]] = {
    "clients": lambda p: _computed(p.n, "the partition's number of clients"),
    "dimension": lambda p: _computed(p.d, "the number of parameters, that of the bias included"),
    "records": _records,
    "largest smoothness": lambda p: _constant(p, p.constants.L_max, "L_i", "largest of the clients'"),
    "smoothness": lambda p: _constant(p, p.constants.L_f, "L_f", "of f"),
    "strong convexity": _strong_convexity,
    "lipschitz": _lipschitz,
    "distance": _distance,
    "stacked distance": lambda p: _distance(p, p.n),
    "stacked gradient at the minimiser": _gradient_at_star,
    "heterogeneity": _heterogeneity,
    "gap": _gap,
    "first gradient": _residual,
    "gradient variance": _gradient_variance,
    "largest dissimilarity": _dissimilarity,
}
"""The measures for fields of a `Setting`; those of records need a `LinearModel`."""


def constants_of(problem: Problem) -> dict[str, Document]:
    """The constants of a problem: the meaning, value and certificate of each, or the reason why it does not exist.

    >>> from dpfl_theory.problems import make
    >>> known = constants_of(make("logistic-synthetic", clients=4, dimension=2, records=10))
    >>> known["strong convexity"]["value"], known["lipschitz"]["kind"]
    (None, 'norm-bound')
    """
    found: dict[str, Document] = {}
    for name, one in CONSTANTS.items():
        try:
            found[name] = {"meaning": one.text, **MEASURES[name](problem).describe()}
        except MissingConstantError as absent:
            found[name] = {"meaning": one.text, "value": None, "kind": None, "error": None, "text": absent.why}
    return found


def measures_of(
    kind: type[Setting], problem: Problem, given: Collection[str] = ()
) -> tuple[dict[str, Measured], dict[str, MissingConstantError]]:
    """The inputs of an algorithm that a problem gives, without those that are ``given``, and the needed inputs that
    the problem does not have."""
    found: dict[str, Measured] = {}
    absences: dict[str, MissingConstantError] = {}
    for name, one in inputs_of(kind).items():
        if one.measured and name not in given:
            try:
                found[name] = MEASURES[one.measured](problem)
            except MissingConstantError as absent:
                if not one.optional:
                    absences[name] = absent
    return found, absences
