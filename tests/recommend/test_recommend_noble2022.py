"""dp-scaffold: noble2022 Theorem C.1 repaired, and the order of the noise, against a second transcription; and runs."""

from __future__ import annotations

import math
from typing import Any

import pytest
from recommend.cases import INPUTS, formulas

from dpfl_theory import privacy
from dpfl_theory.algorithms.record_level import DPScaffold
from dpfl_theory.algorithms.scaffold import all_users
from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Experiment
from dpfl_theory.core.evidence import Evidence
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of
from dpfl_theory.errors import InputError
from dpfl_theory.recommend import recommend
from dpfl_theory.simulation import Cohort, Simulation
from dpfl_theory.simulation.average import WeightedAverage
from dpfl_theory.simulation.observables import Reach
from dpfl_theory.statements import get
from dpfl_theory.statements.noble2022 import _runs

STRONG = INPUTS["dp-scaffold"]
CONVEX = {k: v for k, v in STRONG.items() if k != "strong_convexity"}


def sigma_star(i: dict[str, Any]) -> Any:
    """sigma_g* of Section 4.2."""
    lT = i["user_rate"] * i["rounds"]
    logs = math.log(2 * lT / i["delta"]) * math.log(2 / i["delta"])
    return i["record_rate"] * math.sqrt(lT * i["local_steps"] * logs) / (i["epsilon"] * math.sqrt(i["users"]))


@pytest.mark.parametrize("epsilon", [3.0, 0.03])
@pytest.mark.parametrize("mu", [None, 0.5, 0.01, 1.0])
@pytest.mark.parametrize("l", [0.25, 1.0, 0.04])
def test_against_a_second_transcription(mu: float | None, l: float, epsilon: float) -> None:  # noqa: E741
    changes = {"user_rate": l, "rounds": 50000, "epsilon": epsilon}
    i = {**CONVEX, **changes} | ({} if mu is None else {"strong_convexity": mu})
    found = formulas("dp-scaffold", **i)
    M, K, T, sR, D0, C = 100, 10, 50000, 800, 10.0, 20.0
    sigma = sigma_star(i)
    V = 2 / sR + (2 * C / sR) ** 2 * 2 * 41 * sigma**2
    W = 2 * V / (K * l * M)
    longest = l ** (2 / 3) / 24
    if mu is None:
        step = min(longest, D0 / math.sqrt(10 * T * W))
        terms = {"noise": 4 * math.sqrt(10 * W / T) * D0, "start": 48 * D0**2 / (l ** (2 / 3) * T)}
    else:
        log = max(1.0, math.log(mu**2 * D0**2 * T / W))
        longest = min(longest, l / (54 * mu))
        step = min(longest, 2 * log / (mu * T))
        decay = math.exp(-min(l / 108, mu * l ** (2 / 3) / 48) * T)
        terms = {"noise": 42 * log * W / (mu * T), "start": 1.6 * mu * D0**2 * decay}
    printed = longest / (K * math.sqrt(l * M))
    assert found["eta_g"] == pytest.approx(math.sqrt(l * M), rel=1e-12)
    assert found["eta_l"] == pytest.approx(step / (K * math.sqrt(l * M)), rel=1e-12)
    assert 1 - found["weight_ratio"] == pytest.approx((mu or 0.0) * step / 2, rel=1e-9, abs=1e-15)
    assert found["noise"]["sigma_g"] == pytest.approx(sigma, rel=1e-12)
    assert found["noise"]["sigma_of_one_step"] == pytest.approx(2 * C * sigma / sR, rel=1e-12)
    assert found["terms"] == pytest.approx(terms, rel=1e-9, abs=1e-300)
    assert found["bound"] == pytest.approx(sum(terms.values()), rel=1e-9)
    assert found["certificate"]["vacuous"] == (sum(terms.values()) >= 50.0 == found["certificate"]["trivial"])
    assert any("promises nothing" in w for w in found["warnings"]) == found["certificate"]["vacuous"]
    (said,) = (w for w in found["warnings"] if "The paper prints" in w)
    assert f"eta_l = {printed:.6g}," in said
    assert ("the same here" in said) == (step == longest)


@pytest.mark.parametrize("epsilon", [3.0, 0.03])
@pytest.mark.parametrize("changes", [{}, {"user_rate": 1.0}, {"dissimilarity": 0.0}, {"dissimilarity_factor": 2.0}])
def test_fedavg_against_a_second_transcription(changes: dict[str, float], epsilon: float) -> None:
    i: dict[str, Any] = {**INPUTS["dp-fedavg-record"], "rounds": 50000, "epsilon": epsilon, **changes}
    found = formulas("dp-fedavg-record", **i)
    l, B, G = i["user_rate"], i.get("dissimilarity_factor", 1.0), i["dissimilarity"]  # noqa: E741
    M, K, T, sR, D0, C = 100, 10, 50000, 800, 10.0, 20.0
    sigma = sigma_star(i)
    V = 2 / sR + (2 * C / sR) ** 2 * 2 * 41 * sigma**2
    c1 = V / (K * l * M) + 15 * (1 - l) * G**2 / (8 * l * M)
    c2 = 21 * G**2 / (32 * l * M)
    steps = [1 / (8 * (1 + B**2)), math.sqrt(3) * D0 / (2 * math.sqrt(c1 * T))]
    step = min(*steps, (3 * D0**2 / (4 * c2 * T)) ** (1 / 3) if G else math.inf)
    terms = {
        "noise": math.sqrt(3) * D0 * math.sqrt(V / (K * l * M * T)),
        "sampling of users": 0.75 * math.sqrt(10) * G * D0 * math.sqrt((1 - l) / (T * l * M)),
        "heterogeneity": 189 ** (1 / 3) / 4 * (D0**4 * G**2 / (l * M * T**2)) ** (1 / 3),
        "start": 6 * (1 + B**2) * D0**2 / T,
    }
    assert found["eta_g"] == pytest.approx(math.sqrt(l * M), rel=1e-12)
    assert found["eta_l"] == pytest.approx(step / (K * math.sqrt(l * M)), rel=1e-12)
    assert found["noise"]["sigma_g"] == pytest.approx(sigma, rel=1e-12)
    assert found["terms"] == pytest.approx(terms, rel=1e-9, abs=1e-300)
    assert found["bound"] == pytest.approx(sum(terms.values()), rel=1e-9)
    repaired, printed, noise = (s["id"] for s in found["certificate"]["statements"])
    assert (repaired, printed) == ("noble2022.theoremC.2.convex.repaired", "noble2022.theoremC.2.convex")
    assert noise == "noble2022.theorem4.1.third-party"
    (said,) = (w for w in found["warnings"] if "The paper prints" in w)
    assert f"eta_l = {1 / (8 * (1 + B**2) * K * math.sqrt(l * M)):.6g}," in said


def test_only_a_single_local_step_is_hidden_by_all_users_noise() -> None:
    """100 users hide one step ten times better; so bound-optimal takes single steps, unless every message is seen."""
    i: dict[str, Any] = {**INPUTS["dp-fedavg-record"], "user_rate": 1.0, "record_rate": 1.0}
    i["calibration"] = "accountant"
    z = {K: recommend("dp-fedavg-record", "printed", **{**i, "local_steps": K, "rounds": 500 // K}) for K in (1, 2)}
    one, two = (z[K]["noise"]["sigma_g"] for K in (1, 2))
    assert one * 10 == pytest.approx(two, rel=1e-3)
    assert z[1]["noise"]["paper"]["sigma_g"] == pytest.approx(sigma_star({**i, "rounds": 500, "local_steps": 1}))
    assert z[2]["noise"]["paper"]["sigma_g"] == pytest.approx(sigma_star({**i, "rounds": 250, "local_steps": 2}))
    free = {name: value for name, value in i.items() if name != "local_steps"}
    best = recommend("dp-fedavg-record", "bound-optimal", **free)
    seen = recommend("dp-fedavg-record", "bound-optimal", **free, view="server")
    assert best["local_steps"] == 1 < seen["local_steps"]
    given = recommend("dp-fedavg-record", "bound-optimal", **i)  # ten of them
    assert best["bound"] < given["bound"]


def test_both_sides_of_every_choice_are_tried() -> None:
    """The law above would miss a lost choice if the noise limited every step, or none; likewise for vacuous."""
    loud, quiet = (formulas("dp-scaffold", **{**CONVEX, "epsilon": e, "rounds": 50000}) for e in (0.03, 3.0))
    assert loud["eta_l"] < 0.5 * quiet["eta_l"]
    assert loud["certificate"]["vacuous"]
    assert not quiet["certificate"]["vacuous"]
    strong = formulas("dp-scaffold", **{**STRONG, "epsilon": 3.0, "rounds": 50000})
    assert any("the same here" not in w and "times that" in w for w in strong["warnings"])


@pytest.mark.parametrize("i", [STRONG, CONVEX], ids=["strongly-convex", "convex"])
def test_it_is_what_the_repaired_statement_says(i: dict[str, Any]) -> None:
    """The statement's own expressions with SymPy's numbers; and the certificate cites its sources."""
    found = formulas("dp-scaffold", **i)
    case = "strongly-convex" if i is STRONG else "convex"
    repaired, printed, noise = found["certificate"]["statements"]
    assert (repaired["id"], repaired["verdict"]) == (f"noble2022.theoremC.1.{case}.repaired", "holds")
    assert (printed["id"], printed["verdict"]) == (f"noble2022.theoremC.1.{case}", "violated")
    assert (noise["id"], noise["verdict"]) == ("noble2022.theorem4.1.third-party", "violated")
    statement = get(repaired["id"])
    assert statement.sides is not None
    assert statement.prescription is not None
    values = {"M": 100, "l": 0.25, "R": 4000, "s": 0.2, "K": 10, "T": 500, "nu": 1.0, "mu": 0.5, "D0": 10.0}
    values |= {"varsigma": math.sqrt(2.0), "Sigma": math.sqrt(2 * 41) * found["noise"]["sigma_of_one_step"]}
    symbols = symbols_of(statement)
    at = {symbols[name]: value for name, value in values.items() if name in symbols}
    for name, expression in prescription_of(statement).items():
        assert found[name] == pytest.approx(float(expression.subs(at)), rel=1e-12)
    terms = {name: float(term.subs(at)) for name, term in sides_of(statement).rhs.items()}
    assert found["terms"] == pytest.approx(terms, rel=1e-12)
    assert found["bound"] == pytest.approx(sum(terms.values()), rel=1e-12)


def test_the_rounds_that_the_strongly_convex_case_needs() -> None:
    least = max(108 / 0.25, 48 / (0.5 * 0.25 ** (2 / 3)))
    short = formulas("dp-scaffold", **{**STRONG, "rounds": math.ceil(least) - 1})
    assert not short["certificate"]["applies"]
    assert short["bound"] is short["certificate"]["vacuous"] is None
    assert any("No bound is claimed" in w and "T = 431 is below max(108/l, " in w for w in short["warnings"])
    convex = formulas("dp-scaffold", **{**CONVEX, "rounds": 431})["bound"]
    assert any(f"Without `strong_convexity` the convex case applies too, with a bound: {convex:.6g}." == w
               for w in short["warnings"])  # fmt: skip
    assert formulas("dp-scaffold", **{**STRONG, "rounds": math.ceil(least)})["certificate"]["applies"]
    assert formulas("dp-scaffold", **{**CONVEX, "rounds": 1})["certificate"]["applies"]


def test_the_convex_case_is_named_where_its_bound_is_smaller() -> None:
    flat = {**CONVEX, "strong_convexity": 0.05}
    for epsilon, smaller in ((0.1, True), (3.0, False)):
        changes: dict[str, Any] = {"epsilon": epsilon, "rounds": 3000}
        strong, convex = (formulas("dp-scaffold", **{**i, **changes}) for i in (flat, CONVEX))
        assert (convex["bound"] < strong["bound"]) == smaller
        assert any(f"smaller bound: {convex['bound']:.6g}" in w for w in strong["warnings"]) == smaller


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user_rate": 0.255}, "M l = 25.5 is not a whole number"),
        ({"record_rate": 0.2001}, "R s = 800.4 is not a whole number"),
        ({"clip": 4.9}, "no shorter than mu D_0 = 5, above `clip` 4.9"),
    ],
)
def test_a_hypothesis_that_fails_ends_the_claim(changes: dict[str, Any], message: str) -> None:
    found = formulas("dp-scaffold", **{**STRONG, **changes})
    assert not found["certificate"]["applies"]
    assert found["bound"] is found["certificate"]["vacuous"] is None
    assert any("No bound is claimed" in w and message in w for w in found["warnings"])
    assert not any("Without `strong_convexity`" in w for w in found["warnings"])
    assert formulas("dp-scaffold", **{**STRONG, "clip": 5.0})["certificate"]["applies"]
    assert formulas("dp-scaffold", **{**CONVEX, "clip": 0.1})["certificate"]["applies"]


RUNS: dict[str, dict[str, Any]] = {
    "convex, all users": {"user_rate": 1.0, "rounds": 300, "clip": 1.5},
    "convex, half of the users, the printed noise": {"user_rate": 0.5, "rounds": 600, "clip": 1.5, "epsilon": 60.0},
    "strongly convex, half of the users": {"user_rate": 0.5, "rounds": 600, "clip": 6.0, "strong_convexity": 1.0},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_run_stays_below_the_bound_and_standing_still_does_not(name: str) -> None:
    """Eight users' Huber losses on the line around +-0.3, 200 records each at +-0.1 from there, so that varsigma^2 =
    0.01; nu = 1 and x* = 0, with a ridge nu = 2 and mu = 1. Gradients are at most 1.5; with the ridge at most 1.5 +
    |x|, which stays below the threshold 6. A verdict is wrong with probability 1e-6 at most."""
    ridge = RUNS[name].get("strong_convexity", 0.0)
    problem = _runs.points(8, spread=0.3, records=200, record_spread=0.1, threshold=1.5, ridge=ridge)
    i = {"users": 8, "records": 200, "record_rate": 0.5, "dim": 1, "smoothness": 1.0 + ridge, "distance": 1.0,
         "gradient_variance": 0.01, "local_steps": 2, "epsilon": 5.0, "delta": 1e-5,
         "calibration": "paper" if "printed" in name else "accountant", **RUNS[name]}  # fmt: skip
    found = recommend("dp-scaffold", "printed", **i)
    assert found["certificate"]["applies"]
    assert problem.constants.L_max == pytest.approx(i["smoothness"], rel=1e-12)
    assert problem.constants.w_star is not None
    assert problem.constants.w_star == pytest.approx([0.0], abs=1e-9)
    statement = get(found["certificate"]["statements"][0]["id"])
    size = int(8 * i["user_rate"])
    run = DPScaffold(
        eta_l=found["eta_l"], eta_g=found["eta_g"], K=i["local_steps"],
        C=i["clip"], s=i["record_rate"], sigma_g=found["noise"]["sigma_g"],
    )  # fmt: skip
    # the warm round stays at x^0, so that the T iterates are x^0, ..., x^{T-1}
    warm = run.replaced(warm_members=all_users).with_values(warm_start=1)
    algorithm = Simulation(warm, Cohort() if size == 8 else Cohort("fixed", size))
    values = {"M": 8, "l": i["user_rate"], "R": 200, "s": 0.5, "K": 2, "T": i["rounds"], "nu": 1.0 + ridge, "mu": ridge,
              "D0": 1.0, "varsigma": 0.1, "Sigma": math.sqrt(2) * found["noise"]["sigma_of_one_step"],
              "eta_g": found["eta_g"], "eta_l": found["eta_l"]}  # fmt: skip
    start, symbols = problem.constants.w_star + 1.0, {symbol.name for symbol in statement.symbols}

    def judged(algorithm: Simulation, replicates: int) -> Evidence:
        run = Experiment(
            problem,
            WeightedAverage(algorithm, found["weight_ratio"]),
            i["rounds"],
            start,
            {symbol: float(value) for symbol, value in values.items() if symbol in symbols},
            replicates=replicates,
            reach=Reach.anywhere(problem),
        )
        return monte_carlo.run(statement, Check("monte-carlo", name, lambda *_: run), Settings(alpha=1e-6))

    evidence = judged(algorithm, 12)
    assert evidence.verdict == "holds", evidence.reason
    assert evidence.rhs == pytest.approx(found["bound"], rel=1e-9)
    assert judged(algorithm.with_values(local_step=1e-300), 32).verdict == "violated"


@pytest.mark.slow
def test_noise_by_an_accountant() -> None:
    i = {**CONVEX, "users": 10, "records": 50, "user_rate": 0.5, "local_steps": 2, "rounds": 3}
    found = recommend("dp-scaffold", "printed", **{**i, "calibration": "accountant"})
    kind: Any = privacy.get("dp-scaffold")
    run = kind(users=10, records=50, user_rate=0.5, record_rate=0.2, local_steps=2, rounds=3)
    assert found["noise"]["sigma_g"] == pytest.approx(privacy.calibrate(run, epsilon=3.0, delta=2.5e-6), rel=2e-5)
    enough = run.with_(noise_multiplier=found["noise"]["sigma_g"])
    assert privacy.account(enough, delta=2.5e-6).epsilon.high <= 3.0
    assert not any("accountant" in w for w in found["warnings"])
    assert [cited["role"] for cited in found["certificate"]["statements"]] == ["prescription and bound", "printed"]
    assert any("one round with `user_rate=1`" in w for w in found["warnings"])
    every = recommend("dp-scaffold", "printed", **{**i, "user_rate": 1.0})
    assert any("for T rounds, so it covers all of these" in w for w in every["warnings"])


def test_the_constant_scales_the_noise() -> None:
    one, four = (formulas("dp-scaffold", **{**CONVEX, "constant": u}) for u in (1.0, 4.0))
    assert four["noise"]["sigma_g"] == pytest.approx(4 * one["noise"]["sigma_g"], rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strong_convexity": 1.5}, "`strong_convexity` is 1.5: it exceeds `smoothness=1.0`"),
        ({"distance": 0.0}, "`distance` is 0.0: give a positive number"),
        ({"user_rate": 0.005}, "`user_rate` is 0.005: of `users=100` it is less than one user"),
        ({"record_rate": 1e-4}, "`record_rate` is 0.0001: of `records=4000` it is less than one record"),
        ({"view": "users"}, "`view` is 'users': choose one of third-party, server"),
    ],
)
def test_what_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        formulas("dp-scaffold", **{**STRONG, **changes})
