"""The rule ``bound-optimal``: certified, never worse than ``printed``, and not beaten by any choice that is tried."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recommend.cases import INPUTS

from dpfl_theory.recommend import get, recommend
from dpfl_theory.recommend.base import Setting

SEED = 20_261_123
TRIES = 4000
ROUNDING = 1e-9
"""By what a bound may be below the least value of real numbers, relatively, when all are computed in doubles."""


def scaffnew(draw: Callable[[st.SearchStrategy[Any]], Any]) -> dict[str, Any]:
    L = draw(st.floats(0.1, 100.0))
    return {
        "clients": draw(st.integers(1, 200)),
        "dim": draw(st.integers(1, 100)),
        "smoothness": L,
        "strong_convexity": L * 10 ** draw(st.floats(-4, 0)),
        "distance": 10 ** draw(st.floats(-2, 4)),
        "gradient_norm_at_optimum": draw(st.one_of(st.just(0.0), st.floats(1e-2, 1e3))),
        "clip": 10 ** draw(st.floats(-3, 1)),
        "epsilon": 10 ** draw(st.floats(-1, 3)),
        "delta": 1e-5,
        "constant": 4.0,
    }


RANDOM: dict[str, Callable[..., dict[str, Any]]] = {"dp-scaffnew": scaffnew}


def scaffnew_choice(setting: Any, best: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Anywhere in eta <= 1/L, p <= 1, T >= 1, and as often near the answer."""
    eta, p, T = 1 / setting.smoothness, 1.0, 1e4
    if rng.random() < 0.5:
        eta, p, T = (best[k] for k in ("eta", "p", "iterations"))
        eta, p, T = (x * math.exp(rng.normal(0, 10 ** rng.uniform(-4, 0))) for x in (eta, p, T))
    else:
        eta, p, T = (x * 10 ** rng.uniform(-4, 0) for x in (eta, p, T))
    return {"eta": min(eta, 1 / setting.smoothness), "p": min(p, 1.0), "iterations": max(1, round(T))}


CHOICES: dict[str, Callable[..., dict[str, Any]]] = {"dp-scaffnew": scaffnew_choice}
every = pytest.mark.parametrize("algorithm", sorted(RANDOM))


def bound_of(setting: Setting, choice: dict[str, Any]) -> float:
    """The statement's bound of a choice that meets its hypotheses, infinite otherwise."""
    found = setting.answer(choice)
    failing = [text for s in found["certificate"]["statements"] for text in s.get("failures", ())]
    return math.inf if failing or found["bound"] is None else float(found["bound"])


@every
@given(data=st.data())
def test_never_worse_than_printed(algorithm: str, data: st.DataObject) -> None:
    inputs = RANDOM[algorithm](data.draw)
    printed, best = (recommend(algorithm, rule, **inputs) for rule in ("printed", "bound-optimal"))
    if printed["bound"] is not None:
        assert best["bound"] <= printed["bound"] * (1 + ROUNDING)
        assert best["certificate"]["lower_bound"] <= printed["bound"] * (1 + ROUNDING)


@every
def test_no_choice_that_is_tried_beats_it(algorithm: str) -> None:
    rng = np.random.default_rng(SEED)
    kind = get(algorithm)
    setting = kind(**INPUTS[algorithm])
    found = setting.optimum()
    assert found.bound == pytest.approx(bound_of(setting, found.choice), rel=1e-12)
    tried = [bound_of(setting, CHOICES[algorithm](setting, found.choice, rng)) for _ in range(TRIES)]
    assert sum(map(math.isfinite, tried)) > TRIES / 4
    assert min(tried) >= found.lower * (1 - ROUNDING)
    assert min(tried) <= found.bound * 1.01, "the search comes nowhere near the answer, and decides nothing"


@every
def test_the_shape_of_printed(algorithm: str) -> None:
    printed, best = (recommend(algorithm, rule, **INPUTS[algorithm]) for rule in ("printed", "bound-optimal"))
    assert json.loads(json.dumps(best, allow_nan=False)) == best
    assert set(best) == {*printed, "vacuous", "would_help"}
    assert set(best["certificate"]) >= {*printed["certificate"], "optimal", "lower_bound", "gap", "how"}
    assert best["noise"].keys() == printed["noise"].keys()
    assert best["certificate"]["gap"] >= 0


def test_the_start_depends_on_the_step() -> None:
    """mu = .1, L = 1, ||h*||^2 = 10, ||x_0 - x*|| = 1 and noise .05 per iteration: Corollary 1 has 3.02."""
    inputs = {
        "clients": 1,
        "dim": 1,
        "smoothness": 1.0,
        "strong_convexity": 0.1,
        "distance": 1.0,
        "gradient_norm_at_optimum": math.sqrt(10),
        "clip": 1.0,
        "epsilon": math.sqrt(math.log(1e5) / 0.05),
        "delta": 1e-5,
        "constant": 1.0,
    }
    printed, best = (recommend("dp-scaffnew", rule, **inputs) for rule in ("printed", "bound-optimal"))
    assert printed["bound"] == pytest.approx(3.0185, abs=1e-4)
    assert best["bound"] == pytest.approx(1.05, rel=1e-5)
    assert best["certificate"]["lower_bound"] == pytest.approx(1.05, rel=1e-12)
    assert "is not below ||x_0 - x*||^2 = 1" in best["vacuous"]
    helping = best["would_help"]["epsilon"]
    enough, less = (recommend("dp-scaffnew", "bound-optimal", **{**inputs, "epsilon": helping * x}) for x in (1, 0.999))
    assert enough["vacuous"] is None
    assert less["vacuous"] is not None


def test_a_whole_scan_of_iterations_finds_no_less() -> None:
    """Every T with a fine grid of p and eta, where the shifts matter."""
    inputs = {**INPUTS["dp-scaffnew"], "gradient_norm_at_optimum": 80.0, "epsilon": 100.0, "distance": 60.0}
    setting: Any = get("dp-scaffnew")(**inputs)
    found = setting.optimum()
    mu, D2, H2 = 0.05, 60.0**2, 80.0**2
    noise = 200 * 4.0 * math.log(1e5) / 1e4
    eta = np.geomspace(1e-3, 1.0, 200)[:, None, None]
    square = np.append(np.geomspace(1e-4, 1.0, 400), mu)[None, :, None]
    T = np.arange(1, 400)[None, None, :]
    theta = np.maximum(1 - mu * eta, 1 - square)
    values = theta**T * (D2 + eta**2 / square * H2) + square / (1 - theta) * noise * T
    assert values.min() >= found.lower * (1 - ROUNDING)
    assert values.min() <= found.bound * 1.001
