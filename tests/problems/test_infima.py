"""A stated infimum that is too high is reported, not hidden: values below it by more than its certificate and rounding
explain end the run, on every engine; what they explain is rounded up to zero."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
from laws.test_problem_laws import INSTANCES, NAMES, problem_of
from short_forms import fedavg

from dpfl_theory import problems
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import select
from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.simulation import simulate

ENGINES = {"cpu": select("cpu"), "array": ArrayEngine(np, "array", "NumPy in CuPy's place")}
LINEAR = [name for name in NAMES if not name.startswith(("appendix-f", "quadratic", "zhang2021"))]
ATTAINED = [name for name in LINEAR if name != "logistic-synthetic-2"]
POSITIVE = [
    name for name in ATTAINED if name not in ("huber-1", "huber-planes-0", "least-squares-1", "least-squares-2")
]
every_engine = pytest.mark.parametrize("engine", ENGINES)


def planted(name: str, **constants: Any) -> Problem:
    """The problem of that name with constants that its data do not have."""
    kind, parameters = INSTANCES[NAMES.index(name)]
    problem = problems.make(kind, **parameters)
    problem.__dict__["constants"] = dataclasses.replace(problem.constants, **constants)
    return problem


def near(problem: Problem) -> np.ndarray:
    """w*, and points so close to it that rounding decides the sign of f - f* at most of them."""
    rng, star = np.random.default_rng(5), problem.constants.w_star
    assert star is not None
    size = 1.0 + np.abs(star).max()
    away = [scale * size * rng.standard_normal((16, problem.d)) for scale in 10.0 ** -np.arange(6.0, 17.0)]
    return np.vstack([star, *(star + step for step in away)])


def test_the_names_are_those_of_such_problems() -> None:
    """They are written out because minima of all problems take each process of a test run seconds to find."""
    assert [name for name in NAMES if isinstance(problem_of(name), LinearModel)] == LINEAR
    assert [name for name in LINEAR if problem_of(name).constants.w_star is not None] == ATTAINED
    assert [name for name in ATTAINED if problem_of(name).constants.f_star > 0.0] == POSITIVE


@every_engine
@pytest.mark.parametrize("name", ATTAINED)
def test_rounding_is_no_reason_to_end_a_run(name: str, engine: str) -> None:
    problem = problem_of(name)
    kernels = problem.kernels(ENGINES[engine])
    w = near(problem)
    gap = kernels.suboptimality(w)
    assert gap.shape == (len(w),)
    assert (gap >= 0.0).all()
    own = problem.constants.w_i_star
    excess = kernels.client_excess(w if own is None else np.vstack([w, own]))
    assert (excess >= 0.0).all()


def test_rounding_does_pass_below_zero() -> None:
    """So that what passes above is the tolerance."""
    below = 0
    for name in POSITIVE:
        problem = problem_of(name)
        values = ENGINES["cpu"].linear_values(problem.kernels(ENGINES["cpu"]).data, near(problem))
        below += int((values.mean(axis=1) < problem.constants.f_star).sum())
    assert below >= 50


@pytest.mark.exhaustive
@every_engine
@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("share", [1e-3, 1e-9])
def test_a_minimum_that_is_too_high_is_told(name: str, share: float, engine: str) -> None:
    c = problem_of(name).constants
    problem = planted(name, f_star=c.f_star * (1.0 + share))
    with pytest.raises(InputError, match=r"lies .* below the f_star of its constants, .* correct f_star"):
        problem.kernels(ENGINES[engine]).suboptimality(near(problem))


@pytest.mark.exhaustive(keep=8)
@every_engine
@pytest.mark.parametrize("name", POSITIVE)
def test_a_run_on_a_minimum_that_is_too_high_ends(name: str, engine: str) -> None:
    """A thousandth of f* below the truth: gradient descent that starts near w* gets there."""
    c = problem_of(name).constants
    assert c.w_star is not None
    start = c.w_star + np.sqrt(1e-3 * c.f_star / c.L_f / problem_of(name).d)
    descent = fedavg(local_step=1.0 / c.L_max)
    assert simulate(descent, problem_of(name), 20, start=start, device=ENGINES[engine])["suboptimality"].last >= 0.0
    with pytest.raises(InputError, match="below the f_star of its constants"):
        simulate(descent, planted(name, f_star=c.f_star * 1.001), 20, start=start, device=ENGINES[engine])


def test_an_infimum_of_a_client_that_is_too_high_is_told() -> None:
    reported = 0
    for name in ATTAINED:
        c = problem_of(name).constants
        if c.w_i_star is None or not (c.f_i_star > 0.0).any():
            continue
        problem = planted(name, f_i_star=c.f_i_star * 1.001)
        for engine in ENGINES.values():
            with pytest.raises(InputError, match="below the f_i_star of its constants"):
                problem.kernels(engine).client_excess(c.w_i_star)
        reported += 1
    assert reported >= 2


def test_a_heterogeneity_below_zero_is_told() -> None:
    """Delta_i* = f_i(w*) - inf f_i of clients that share their minimiser."""
    problem = problems.make("logistic-synthetic", clients=1, dimension=2, records=25, label_noise=0.3)
    assert problem.constants.delta_i_star == pytest.approx(0.0, abs=1e-12)
    wrong = dataclasses.replace(problem.constants, f_i_star=problem.constants.f_i_star * 1.001)
    with pytest.raises(InputError, match=r"f_0\(w\*\) = .* below the stated infimum of f_0"):
        _ = wrong.delta_i_star


def test_a_run_that_diverges_is_not_mistaken_for_a_wrong_minimum() -> None:
    problem = problem_of(POSITIVE[0])
    for engine in ENGINES.values():
        kernels = problem.kernels(engine)
        w = np.vstack([near(problem)[:3], np.full(problem.d, 1e200), np.full(problem.d, np.nan)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the array engine's own, on numbers beyond the largest
            gap = kernels.suboptimality(w)
        assert (gap[:3] >= 0.0).all()
        assert not gap[3] < 1e3
        assert np.isnan(gap[4])
