"""zhang2021 Section 2: the claims, eq. (7) and Table 1 computed a second time, and faults that must be detected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from short_forms import two_sided

from dpfl_theory.checks import algebra, exact, monte_carlo
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Sides, Statement
from dpfl_theory.core.formula import evaluate_side, sides_of, symbols_of
from dpfl_theory.problems.scalar import equation_8
from dpfl_theory.statements import get
from dpfl_theory.statements.zhang2021 import claim2_1, claim2_2, table1

F = Fraction


def clip(v: float, c: float) -> float:
    return v * min(1.0, c / abs(v)) if v else 0.0


def end_of(a: list[float], b: list[float], eta: float, Q: int, send: Callable[[float, float], float]) -> float:
    """The end of FedAvg on (a_i x - b_i)^2/2; send(x, x_Q) is a client's share of the next x."""
    x = 0.3
    for _ in range(20_000):
        new = 0.0
        for p, q in zip(a, b):
            y = x
            for _ in range(Q):
                y -= eta * p * (p * y - q)
            new += send(x, y) / len(a)
        if abs(new - x) < 1e-15:
            break
        x = new
    return x


EIGHT = ([1.0, 2.0, 6.0], [4.0, 1.0, -1.0])


@pytest.mark.parametrize(("k", "eta", "Q"), [(5.0, 0.1, 2), (4.5, 0.5, 1), (100.0, 0.01, 20)])
def test_clipped_models_end_at_the_printed_point(k: float, eta: float, Q: int) -> None:
    lam = (1 - eta) ** Q
    end = end_of([1.0] * 3, [-0.5, -0.5, k], eta, Q, lambda x, y: clip(y, 1.0))
    assert end == pytest.approx(lam / (3 - 2 * lam), abs=1e-12)
    assert end <= 1 < (k - 1) / 3


def test_a_small_k_is_no_example() -> None:
    """With k = 2 and lambda = 3/5 the stationary point is the optimum: without k > 4 the claim fails."""
    instance = {"k": ["2"], "c": ["1"], "eta_l": ["2/5"], "Q": [1]}
    check, claim = Check("exact", "planted", claim2_1.missed, instance), get("zhang2021.claim2.1")
    assert exact.run(replace(claim, hypotheses=()), check, Settings()).verdict == "violated"
    assert exact.run(claim, check, Settings()).verdict == "not-applicable"
    check = Check("exact", "planted", claim2_1.formula_cases, {**instance, "eta_l": ["1/10"]}, part="the formula")
    assert exact.run(get("zhang2021.claim2.1"), check, Settings()).verdict == "violated"


@pytest.mark.parametrize(
    ("c", "Q", "eta", "update", "gradient"),
    [(1.0, 1, 0.1, 0.0, 0.5), (1.0, 3000, 0.02, 2 / 3, 13 / 9)],
)
def test_table_1_by_iteration(c: float, Q: int, eta: float, update: float, gradient: float) -> None:
    assert end_of(*EIGHT, eta, Q, lambda x, y: x + clip(y - x, c)) == pytest.approx(update, abs=1e-9)
    x = 0.3
    for _ in range(2000 if Q == 1 else 3):
        new = 0.0
        for p, q in zip(*EIGHT):
            y = x
            for _ in range(Q):
                y -= eta * clip(p * (p * y - q), c)
            new += y / 3
        x = new
    assert x == pytest.approx(gradient, abs=1e-9)


def test_a_wrong_entry_is_noticed() -> None:
    wrong = {**table1.UPDATES, ("1", None): F(2, 3) + F(1, 10**9)}
    instance = {"clipping": "difference", "c": "1", "Q": None, "eta_l": ["1/50"]}
    check = Check("exact", "planted", partial(table1.entry_cases, table=wrong), instance)
    assert exact.run(get("zhang2021.table1.one-threshold"), check, Settings()).verdict == "violated"


@pytest.mark.parametrize(
    ("eta", "end"), [(0.14, 0.0), (1 / 6, 0.0), (0.2, 0.2), (0.25, 0.4), (2 / 7, 0.5), (1.0, 0.5), (1.4, 0.5)]
)
def test_larger_steps_bring_back_the_printed_entry(eta: float, end: float) -> None:
    """Updates clipped to 1, Q = 1: from eta_l = 2/7 on all runs end at the printed 1/2, and no clipping diverges."""
    for start in (-7.0, 0.3, 4.0, 1e3):
        x = start
        for _ in range(3000):
            x += sum(clip(-eta * p * (p * x - q), 1.0) for p, q in zip(*EIGHT)) / 3
        assert x == pytest.approx(end, abs=1e-9)
    assert float(table1.one_step(F(eta).limit_denominator(1000))) == pytest.approx(end, abs=1e-12)
    assert (abs(1 - 41 * eta / 3) > 1) == (eta > 6 / 41)


def test_section_2_1_s_reading_gives_the_printed_entries_and_a_wrong_one_is_noticed() -> None:
    """For Q = 1 the gradient is clipped to 1: 1/2 at every step. With the update clipped to 1 it would be 0 there."""
    for eta in (0.001, 0.1, 0.14):
        x = 0.3
        for _ in range(40_000):
            x += sum(eta * clip(-p * (p * x - q), 1.0) for p, q in zip(*EIGHT)) / 3
        assert x == pytest.approx(0.5, abs=1e-9)
    statement = get("zhang2021.table1.update-clipping")
    (check,) = (c for c in statement.checks if c.name == "c = 1, at every step that was tried")
    assert exact.run(statement, check, Settings()).verdict == "holds"
    planted = {**table1.PRINTED, ("1", 1): F(0)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table1, "PRINTED", planted)
        assert exact.run(statement, check, Settings()).verdict == "violated"


def test_the_clipped_gradient_is_no_gradient_in_two_dimensions() -> None:
    """The typo at Claim 2.2: the derivatives across of c (x_1, 2 x_2)/||.|| differ."""
    import sympy as sp

    x1, x2, c = sp.symbols("x1 x2 c", positive=True)
    r = sp.sqrt(x1**2 + 4 * x2**2)
    first, second = c * x1 / r, 2 * c * x2 / r
    across = sp.diff(first, x2), sp.diff(second, x1)
    assert sp.simplify(across[0] + 4 * c * x1 * x2 / r**3) == 0
    assert sp.simplify(across[1] + 2 * c * x1 * x2 / r**3) == 0


@pytest.mark.parametrize("Q", [1, 2, 7])
def test_more_local_steps_reach_the_optimum_where_all_curvatures_are_equal(Q: int) -> None:
    """The typo at Table 1: nothing is clipped, and Q > 1 does not move the stationary point."""
    b = [-0.5, -0.5, 5.0]
    assert end_of([1.0] * 3, b, 0.1, Q, lambda x, y: y) == pytest.approx(sum(b) / 3, abs=1e-9)
    assert abs(end_of(*EIGHT, 0.02, 2, lambda x, y: y)) > 0.01


def test_the_factor_over_all_randomness_differs_from_the_drawn_one_without_noise() -> None:
    """The typo at the bound of |alpha_i - alpha~_i|: one of two clients drawn, Q = 1, round 1."""
    a, eta = F(1, 4), F(1, 10)
    c = eta / 2
    drawn = [c / max(c, eta * abs(x - 1)) for x in (a, -a)]
    mean = c / max(c, eta * abs((a - 1 - a - 1) / 2))
    assert (drawn, mean) == ([1 / (2 * (1 - a)), 1 / (2 * (1 + a))], F(1, 2))


def test_a_wrong_entry_at_larger_steps_is_noticed() -> None:
    check = Check("exact", "planted", table1.longer_cases, {"eta_l": ["2/7", "1"]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table1, "one_step", lambda _: F(0))
        assert exact.run(get("zhang2021.table1.one-threshold"), check, Settings()).verdict == "violated"
    with pytest.raises(ValueError, match="does not attract"):
        table1.longer_cases(get("zhang2021.table1"), {"eta_l": ["8/5"]})
    with pytest.raises(ValueError, match="does not attract"):
        table1.longer_cases(get("zhang2021.table1"), {"eta_l": ["3/20"]})


def test_the_parameters_of_the_proof_fail_on_its_own_problem() -> None:
    """Q = 1 and eta_l = 1/max |f_i'(x*)| = 1/6 on problem (8): the typo recorded at Claim 2.2."""
    assert end_of(*EIGHT, 1 / 6, 1, lambda x, y: x + clip(y - x, 0.5)) == pytest.approx(0.5, abs=1e-12)
    (point,) = equation_8().stationary("difference", step="1/6", steps=1, threshold=2)
    assert (point.point, point.stability, point.slopes[0]) == (0, "repelling", F(-23, 18))


@pytest.mark.parametrize("scale", [F(1, 1000), F(1), F(50)])
def test_the_witness_never_clips_at_the_optimum(scale: Fraction) -> None:
    clients = claim2_2.scalar({"a": ["1", "2", "6"], "b": ["4", "1", "-1"]})
    step = claim2_2.witness(clients, scale)
    assert all(step * abs(a * (a * clients.optimum - b)) <= scale for a, b in zip(clients.a, clients.b))
    too_long = clients.round_map("difference", step=3 * scale, steps=1, threshold=scale)
    assert claim2_2.off_optimum(clients, too_long) > 0  # that step is clipped at the optimum, or unstable


def test_equal_losses_are_no_success() -> None:
    """With Q = 5 nothing is clipped on problem (8): both methods end at the same point."""
    instance = {"a": ["1", "2", "6"], "b": ["4", "1", "-1"], "runs": [["1/50", 5, "1"]]}
    check = Check("exact", "planted", claim2_2.better, instance)
    assert exact.run(get("zhang2021.claim2.2b"), check, Settings()).verdict == "violated"


@pytest.mark.parametrize(("name", "right"), [("zhang2021.eq7.repaired", True), ("zhang2021.eq7", False)])
def test_the_derivative_of_the_huberised_loss_is_the_clipped_gradient(name: str, right: bool) -> None:
    a, b, c, eta, Q, h = F(2), F(-3), F(1), F(1, 10), 3, F(1, 10**9)
    weight = claim2_2.reweighting(a, eta, Q)

    def loss(x: Fraction) -> Any:
        return evaluate_side(get(name), "lhs", {"a": a, "b": b, "weight": weight, "c": c, "residual": a * x - b})

    y = x = F(5)
    for _ in range(Q):
        y -= eta * a * (a * y - b)
    sent = clip(float(x - y), float(c))  # the decrease of x by clipping in a round
    slope = (loss(x + h) - loss(x - h)) / (2 * h)
    assert bool(np.isclose(float(slope), sent)) == right


def test_a_wrong_offset_of_the_huberised_loss_is_noticed() -> None:
    repaired: Statement = get("zhang2021.eq7.repaired")
    (check,) = (c for c in repaired.checks if c.name == "clipped part")
    sides, s = sides_of(repaired), symbols_of(repaired)
    offset = -(s.c**2) / (2 * s.weight)
    wrong = replace(repaired, sides=lambda s: Sides({**sides.lhs, "offset": offset}, sides.rhs))
    assert exact.run(repaired, check, Settings()).verdict == "holds"
    assert exact.run(wrong, check, Settings()).verdict == "violated"


def test_the_printed_loss_is_refuted_by_its_units_and_its_derivative() -> None:
    printed = get("zhang2021.eq7")
    assert algebra.homogeneous(printed).true is False
    assert algebra.homogeneous(get("zhang2021.eq7.repaired")).true is True


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("seed", range(6))
def test_every_round_leads_nearer_from_everywhere(seed: int) -> None:
    """Claim 2.2's first sentence in plain NumPy: singular clients, starts far away in all directions, clipped runs.

    Beyond R the distance falls by eta m/2 or more in every round, within R by the factor 1 - eta mu.
    """
    rng = np.random.default_rng(seed)
    n, d, c = 5, 3, 0.7
    rows, labels = rng.standard_normal((n, 1 + seed % 2, d)), rng.standard_normal((n, 1 + seed % 2)) * 3
    if seed >= 4:
        rows[:, :, -1] = 0.0  # f does not depend on the last coordinate, and its gradients at x* are not zero
    hessians = np.einsum("imd,ime->ide", rows, rows)
    mean = hessians.mean(axis=0)
    eigenvalues = np.linalg.eigvalsh(mean)
    mu, L = eigenvalues[eigenvalues > 1e-9][0], max(np.linalg.eigvalsh(h)[-1] for h in hessians)
    star = np.linalg.pinv(mean) @ np.einsum("imd,im->d", rows, labels) / n
    star = star + rng.standard_normal(d) * (seed >= 4) * [0.0, 0.0, 1.0]  # one of many solutions

    def gradients(x: np.ndarray) -> np.ndarray:
        return np.einsum("imd,im->id", rows, np.einsum("imd,d->im", rows, x) - labels)

    G = np.linalg.norm(gradients(star), axis=1).max()
    C = G + L / mu * max(2 * G, 3 * c * L)
    eta, R = c / C, (C - G) / L
    m = mu * R - G
    way = mean @ rng.standard_normal(d)
    x, clipped, inside = star + 4 * R * way / np.linalg.norm(way), 0, 0
    for _ in range(100_000):
        g = eta * gradients(x)
        length = np.linalg.norm(g, axis=1)
        clipped += int((length > c).any())
        before = np.linalg.norm(x - star)
        x = x - (g * np.minimum(1.0, c / np.maximum(length, 1e-300))[:, None]).mean(axis=0)
        after = np.linalg.norm(x - star)
        if before > R:
            assert not inside
            assert after <= before - eta * m / 2 + 1e-12 * before
        else:
            inside += 1
            assert after <= (1 - eta * mu) * before + 1e-11
        if inside > 50:
            break
    assert clipped > 20
    assert inside > 50


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in claim2_2.RUNS if "just below" not in name])
def test_a_run_that_stands_still_is_noticed(name: str) -> None:
    """Also one whose rate is half of the required one; and the runs that start beyond R do clip."""
    statement = get("zhang2021.claim2.2a")
    (check,) = (c for c in statement.checks if c.name == name)
    experiment = check.make(statement)
    clipped = experiment.notes["clients clipped at the start"]
    assert (clipped > 0) == (check.instance["distance"] > 1)
    still = replace(experiment, algorithm=two_sided(1e-12, threshold=float(check.instance["c"])))
    planted = replace(check, build=lambda *_: still)
    assert monte_carlo.run(statement, planted, Settings()).verdict == "violated"


def test_a_step_beyond_the_prescribed_one_is_not_covered() -> None:
    """With ten times the step the radius falls below 2 G*/mu, and the statement's own hypothesis rejects the run."""
    statement = get("zhang2021.claim2.2a")
    (check,) = (c for c in statement.checks if c.name == "six quadratics in four dimensions")
    experiment = check.make(statement)
    long = replace(experiment, values={**experiment.values, "eta_l": 10 * experiment.values["eta_l"]})
    assert monte_carlo.run(statement, replace(check, build=lambda *_: long), Settings()).verdict == "not-applicable"
