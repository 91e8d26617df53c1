"""Objectives of any size: the verdict is that of size 1, or a refusal that says why; never another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mutants.planting import plant
from short_forms import fedavg

from dpfl_theory.checks import exact, monte_carlo, worst_case
from dpfl_theory.checks.confidence import asymptotic_limits, least_lower_limit, lower_limit, upper_limit
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Expected, Experiment, Sides, Source, Statement, Symbol, Values, WorstCase, checks
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.problems.quadratic import from_matrices

SIZES = (1e-300, 1e-150, 1e-100, 1e-50, 1.0, 1e50, 1e100, 1e150, 1e300)
SYMBOLS = (
    Symbol("K", "rounds", (0, 0), "integer"),
    Symbol("L", "smoothness", (1, -2)),
    Symbol("D", "distance", (0, 1), "nonnegative"),
    Symbol("eta", "step", (-1, 2)),
    Symbol("gap", "suboptimality", (1, 0), "nonnegative"),
)
MEAN = Expected("gap", (("suboptimality", 1),), (1, 0), "E", "expected suboptimality")


def stated(share: Any, method: str, build: Callable[..., Any], *expected: Expected) -> Statement:
    """gap <= share L D^2 / 2, checked by one method at one size."""
    return Statement(
        id=f"sizes.{method}",
        kind="theorem",
        title="a bound that scales with the objective",
        source=Source("sizes", "here"),
        text="It holds.",
        symbols=SYMBOLS[: -len(expected) or None],
        expectations=expected,
        sides=lambda s: Sides({"gap": s.gap}, {"bound": share * s.L * s.D**2 / 2}),
        checks=checks(method, build, {"size": {}}),
    )


def run_of(size: float, sigma: float) -> Callable[..., Experiment]:
    """Gradient descent with noise on an objective of this size; all of its steps are those of size 1."""

    def build(_: Statement, __: Mapping[str, Any]) -> Experiment:
        matrices = size * np.array([np.diag([1.0, 0.5, 0.1]), np.diag([0.2, 1.0, 0.7])])
        problem = from_matrices(matrices, np.array([[1.0, -1.0, 0.5], [0.3, 2.0, -0.7]]))
        c = problem.constants
        algorithm = fedavg(0.5 / c.L_max, sigma=sigma * size, noise="average")
        values = {"L": c.L_max, "D": float(np.linalg.norm(c.w_star))}
        return Experiment(problem, algorithm, 20, np.zeros(3), values, replicates=256, random=sigma > 0.0)

    return build


def evidence_of(method: str, size: float, share: Any, sigma: float = 0.0) -> Evidence:
    if method == "monte-carlo":
        statement = stated(share, method, run_of(size, sigma), MEAN)
        return monte_carlo.run(statement, statement.checks[0], Settings())
    if method == "exact":
        values = {"L": Fraction(size), "D": Fraction(3), "gap": Fraction(size) * Fraction(9, 4)}
        statement = stated(share, method, lambda *_: Values(values))
        return exact.run(statement, statement.checks[0], Settings())
    statement = stated(share, method, lambda *_: descended(size))
    return worst_case.run(statement, statement.checks[0], Settings())


def descended(size: float) -> WorstCase:
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=size)
    minimum, start = f.stationary_point(), problem.set_initial_point()
    after = start - f.gradient(start) / size
    return WorstCase(problem, {"L": size, "gap": f(after) - f(minimum), "D^2": (start - minimum) ** 2})


TRUE, FALSE = sp.Integer(1), sp.Rational(1, 1000)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of the build's constants, at 1e300
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("share", "sigma", "verdict"), [(TRUE, 0.0, "holds"), (FALSE, 0.0, "violated")])
def test_runs_without_noise(size: float, share: Any, sigma: float, verdict: str) -> None:
    found = evidence_of("monte-carlo", size, share, sigma)
    assert found.verdict == verdict, found.reason


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # of the build's constants, at 1e300
@pytest.mark.parametrize("size", SIZES)
def test_runs_with_noise(size: float) -> None:
    """The same bits of the run, but for the size: so are the limits, and the ratio of the sides."""
    found, usual = (evidence_of("monte-carlo", s, TRUE, 0.3) for s in (size, 1.0))
    assert found.verdict == "holds", found.reason
    assert found.ratio == pytest.approx(usual.ratio, rel=1e-9)
    assert found.lhs is not None
    assert usual.lhs is not None
    assert found.lhs.high / size == pytest.approx(usual.lhs.high, rel=1e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("share", "verdict"), [(TRUE, "holds"), (FALSE, "violated")])
def test_exact_sides(size: float, share: Any, verdict: str) -> None:
    assert evidence_of("exact", size, share).verdict == verdict


@pytest.mark.parametrize("size", [1e-150, 1e150])
@pytest.mark.parametrize("share", [TRUE, FALSE])
def test_a_solver_that_cannot_tell_sizes_apart_says_so(size: float, share: Any) -> None:
    found = evidence_of("worst-case", size, share)
    assert found.verdict == "inconclusive"
    assert "which the solver cannot distinguish: choose units in which they are about 1" in found.reason


def test_worst_cases_of_size_one() -> None:
    assert evidence_of("worst-case", 1.0, TRUE).verdict == "holds"
    found = evidence_of("worst-case", 1.0, FALSE)
    assert found.verdict == "violated"
    assert "cannot distinguish" not in found.reason


@pytest.mark.parametrize("power", [-1000, -500, -170, 170, 500, 1000])
def test_limits_scale_bit_for_bit(power: int) -> None:
    x, unit = np.random.default_rng(0).exponential(size=300), 2.0**power
    pair = np.stack([x, 2 * x], axis=1)
    assert asymptotic_limits(unit * x, 1e-6) == tuple(unit * end for end in asymptotic_limits(x, 1e-6))
    assert lower_limit(unit * x, 1e-6) == unit * lower_limit(x, 1e-6)
    assert upper_limit(unit * x, 1e-6, 30 * unit) == unit * upper_limit(x, 1e-6, 30)
    assert least_lower_limit(unit * pair, 1e-6) == unit * least_lower_limit(pair, 1e-6)


def test_limits_that_lose_their_digits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "checks.confidence", "1e-50 <= largest <= 1e50", "largest > 0.0")
    with np.errstate(all="ignore"):
        low, high = asymptotic_limits(1e300 * np.random.default_rng(0).exponential(size=300), 1e-6)
    assert not (math.isfinite(low) and math.isfinite(high))


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (sp.exp(1000), "the right side is inf in floating point, which cannot be compared"),
        (-sp.exp(1000), "the right side is -inf in floating point, which cannot be compared"),
        (sp.Integer(10) ** 400, "the right side is inf in floating point"),
    ],
)
def test_a_bound_beyond_the_largest_number_decides_nothing(share: Any, message: str) -> None:
    for sigma in (0.0, 0.3):
        found = evidence_of("monte-carlo", 1.0, share, sigma)
        assert found.verdict == "inconclusive"
        assert message in found.reason


@pytest.mark.parametrize("share", [sp.zoo, sp.nan, sp.sqrt(-2)])
def test_a_bound_that_is_no_real_number_is_refused(share: Any) -> None:
    with pytest.raises(ValueError, match=r"the term 'bound' is .* at L = 1, D = .*, which is not a real number"):
        evidence_of("monte-carlo", 1.0, share)
