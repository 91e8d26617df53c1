"""noble2022 Lemmas C.8, C.9 and Theorems C.1, C.2, 4.2: their runs notice planted faults, and second derivations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

from dpfl_theory.checks import algebra, exact, monte_carlo, worst_case
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Check, Experiment, Statement
from dpfl_theory.core.formula import prescription_of, sides_of, symbols_of
from dpfl_theory.semantics.operations import WorldOperations
from dpfl_theory.statements import get
from dpfl_theory.statements.experiments import problem_of
from dpfl_theory.statements.noble2022 import _moments, _runs, theoremC_2
from dpfl_theory.statements.noble2022.scaffold import lemmaC_8, lemmaC_9, theoremC_1
from dpfl_theory.statements.relations import of


def still(algorithm: Any) -> Any:
    return algorithm.with_values(local_step=1e-300)


def without_the_global_step(algorithm: Any) -> Any:
    return algorithm.with_values(global_step=1.0)


def noise_not_averaged(algorithm: Any) -> Any:
    """Record gradients whose noise is the same for all users and local steps."""

    def gradient(a: Any, o: Any, i: Any, y: Any) -> Any:
        total, b = a.total(o, i, y)
        if not hasattr(o, "one_noise"):
            o.one_noise = o.gaussian(1.0, Ellipsis)[:1]
        return total / b + a.step_noise(o, i, b) * o.one_noise

    return replace(algorithm, run=algorithm.run.replaced(gradient=gradient))


def verdict(statement: Statement, name: str, fault: Callable[[Any], Any] | None, replicates: int | None = None) -> str:
    check = next(c for c in statement.checks if (c.method, c.name) == ("monte-carlo", name))

    def build(_: Any, instance: Any) -> Experiment:
        found: Experiment = check.make(statement, instance)
        return replace(
            found,
            algorithm=fault(found.algorithm) if fault else found.algorithm,
            replicates=replicates or found.replicates,
        )

    return monte_carlo.run(statement, replace(check, build=build), Settings()).verdict


LONG, NOISY = "256 users, long", "300 users, noise dominates"
EVERY = ("theoremC.1.explicit", "theoremC.1.explicit.sharpened", "lemmaC.8.repaired", "lemmaC.9.repaired")


@pytest.mark.slow
@pytest.mark.parametrize("id_", EVERY)
def test_a_lost_global_step_is_refuted(id_: str) -> None:
    """The lower limit is 1.22 times the right side at least."""
    assert verdict(get(f"noble2022.{id_}"), LONG, without_the_global_step, replicates=48) == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("id_", EVERY)
def test_noise_that_is_not_averaged_is_refuted(id_: str) -> None:
    assert verdict(get(f"noble2022.{id_}"), NOISY, noise_not_averaged, replicates=64) == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("id_", ["theorem4.2.scaffold", "theorem4.2.fedavg"])
def test_noise_that_is_not_averaged_is_refuted_at_the_private_noise_scale(id_: str) -> None:
    assert verdict(get(f"noble2022.{id_}"), "300 users, noise leads", noise_not_averaged) == "violated"


REPAIRED = {
    "lemmaC.8.repaired": 1 / 24, "lemmaC.9.repaired": 1 / 24, "theoremC.1.convex.repaired": 1 / 24,
    "theoremC.1.non-convex.repaired": 1 / 24, "theoremC.1.strongly-convex.repaired": 1 / 54,
    "theoremC.2.convex.repaired": 1 / 16, "theoremC.2.non-convex.repaired": 1 / 16,
    "theoremC.2.strongly-convex.repaired": 1 / 32,
}  # fmt: skip


@pytest.mark.parametrize("id_", REPAIRED)
def test_each_repaired_statement_has_a_run_below_the_longest_step(id_: str) -> None:
    """All users, nu = 1 (2 with the ridge), so that the limit is a number."""
    statement = get(f"noble2022.{id_}")
    (check,) = (c for c in statement.checks if "below the limit" in c.name)
    found = check.make(statement)
    run: Any = getattr(found.algorithm, "algorithm", found.algorithm).run  # type: ignore[attr-defined]
    eta = run.local_step * run.local_steps * run.global_step
    assert eta < 0.9 * min(REPAIRED[id_], 1 / (24 * found.values["nu"]) if "C.2" not in id_ else 1.0)


@pytest.mark.slow
def test_the_repaired_theorems_of_dp_fedavg_notice_faults() -> None:
    for part in ("convex", "non-convex"):
        fedavg = get(f"noble2022.theoremC.2.{part}.repaired")
        assert verdict(fedavg, NOISY, noise_not_averaged, replicates=64) == "violated"
        assert verdict(fedavg, LONG, without_the_global_step, replicates=48) == "violated"


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", ["C.1", "C.2"])
def test_the_strongly_convex_runs_notice_a_lost_global_step(part: str) -> None:
    strong = get(f"noble2022.theorem{part}.strongly-convex.repaired")
    lost = lambda a: replace(a, algorithm=without_the_global_step(a.algorithm))  # noqa: E731
    assert verdict(strong, "256 users, with a ridge", lost) == "violated"


@pytest.mark.slow
def test_the_strongly_convex_runs_of_dp_fedavg_notice_noise_that_is_not_averaged() -> None:
    strong = get("noble2022.theoremC.2.strongly-convex.repaired")
    shared = lambda a: replace(a, algorithm=noise_not_averaged(a.algorithm))  # noqa: E731
    assert verdict(strong, NOISY, shared) == "violated"


# The problems' constants


def test_the_runs_know_their_variance_and_dissimilarity() -> None:
    described = {
        "family": "points",
        "parameters": {"clients": 3, "spread": 0.7, "records": 4, "record_spread": 0.2, "threshold": 0.9, "ridge": 0.5},
    }
    problem = problem_of({"problem": described}, _runs.FAMILIES)
    centres = 0.7 * (-1.0) ** np.arange(3)
    y = centres[:, None] + 0.2 * (-1.0) ** np.arange(4)
    w = np.linspace(-5, 5, 4001)
    records = np.clip(w[:, None, None] - y, -0.9, 0.9) + 0.5 * w[:, None, None]
    users = records.mean(axis=2)
    assert records.std(axis=2).max() <= _runs.record_deviation(described, problem) + 1e-12
    for i in range(3):
        assert problem.client_gradient(i, w[70:71])[0] == pytest.approx(users[70, i])
    found = _runs.dissimilarity(problem)
    assert users.std(axis=1).max() == pytest.approx(found, rel=1e-3)
    assert users.std(axis=1).max() <= found + 1e-12
    assert problem.constants.L_max == pytest.approx(1.5)


def test_a_user_without_dissimilarity_divides_by_nothing() -> None:
    v = {"varsigma": 0.0, "s": 1.0, "R": 1.0, "Sigma": 0.0, "K": 1.0, "l": 1.0, "M": 3.0, "G": 0.0, "nu": 2.0, "B": 1.0,
         "D0": 1.0, "F0": 1.0, "T": 10.0}  # fmt: skip
    for part in ("CONVEX_REPAIRED", "NON_CONVEX_REPAIRED"):
        statement = getattr(theoremC_2, part)
        symbols = symbols_of(statement)
        eta_l = prescription_of(statement)["eta_l"].subs({symbols[k]: x for k, x in v.items() if k in symbols})
        assert float(eta_l) == pytest.approx(1 / 32 / math.sqrt(3))


def test_prescriptions_of_the_repaired_theorems_a_second_time() -> None:
    v = {"varsigma": 1.3, "s": 0.25, "R": 40.0, "Sigma": 2.7, "nu": 1.9, "K": 7.0, "l": 0.125, "M": 80.0, "mu": 0.3,
         "D0": 3.1, "F0": 4.3, "G": 0.9, "B": 1.4, "eta_g": math.sqrt(10)}  # fmt: skip
    W, users, drift = (1.3**2 / 10 + 2.7**2) / 70, 0.875 * 0.81 / 10, 1.9 * 0.81 / 10
    longest = {"C.1": 0.125 ** (2 / 3) / (24 * 1.9), "C.2": 1 / (8 * 2.96 * 1.9)}
    for T in (500.0, 9e3, 1e8):
        log = [2 * math.log(max(math.e, 0.09 * 3.1**2 * T / w)) / (0.3 * T)
               for w in (2 * W, 1.4 * W + 2.5 * users + 28 / 9 * drift / (0.3 * T))]  # fmt: skip
        shorter = {
            "C.1.convex": [3.1 / math.sqrt(20 * T * W)],
            "C.1.strongly-convex": [0.125 / (54 * 0.3), log[0]],
            "C.1.non-convex": [math.sqrt(12 * 4.3 / (35 * 1.9 * T * W))],
            "C.2.convex": [
                math.sqrt(0.75 * 3.1**2 / (T * (W + 15 / 8 * users))),
                math.cbrt(0.75 * 3.1**2 / (T * 21 / 32 * drift)),
            ],
            "C.2.strongly-convex": [log[1]],
            "C.2.non-convex": [
                math.sqrt(3 * 4.3 / (T * 1.9 * (2 * W + 18 / 5 * users))),
                math.cbrt(3 * 4.3 / (T * 1.9 * 8 / 5 * drift)),
            ],
        }
        for name, steps in shorter.items():
            statement = get(f"noble2022.theorem{name}.repaired")
            symbols = symbols_of(statement)
            at = {symbols[k]: sympy.Float(x, 17) for k, x in {**v, "T": T}.items() if k in symbols}
            prescribed = prescription_of(statement)["eta_l"].xreplace(at).evalf()
            eta = min(longest[name[:3]], *steps)
            assert float(prescribed) == pytest.approx(eta / (7 * math.sqrt(10)), rel=1e-12), (name, T)


def test_right_sides_of_the_repaired_theorems_a_second_time() -> None:
    v = {"varsigma": 1.3, "s": 0.25, "R": 40.0, "Sigma": 2.7, "nu": 1.9, "K": 7.0, "l": 0.125, "M": 80.0, "mu": 0.3,
         "T": 9000.0, "D0": 3.1, "F0": 4.3, "G": 0.9, "B": 1.4, "slope0": 0.0}  # fmt: skip
    V = 1.3**2 / 10 + 2.7**2
    W, T, G2, u = V / 70, 9000.0, 0.81, 0.875 * 0.81 / 10
    log = math.log(0.09 * 3.1**2 * T / (1.4 * W + 2.5 * u + 28 / 9 * 1.9 * G2 / (0.3 * T * 10)))
    wanted = {
        "theoremC.1.convex": 8 * math.sqrt(5) * 3.1 * math.sqrt(W / T) + 48 * 1.9 * 3.1**2 / (0.25 * T),
        "theoremC.1.strongly-convex": 84 * math.log(0.09 * 3.1**2 * T / (2 * W)) * W / (0.3 * T)
        + 1.6 * 0.3 * 3.1**2 * math.exp(-min(0.125 / 108, 0.3 * 0.25 / (48 * 1.9)) * T),
        "theoremC.1.non-convex": 2 * math.sqrt(16.8 * 1.9 * 4.3 * W / T) + 57.6 * 1.9 * 4.3 / (0.25 * T),
        "theoremC.2.convex": math.sqrt(3) * 3.1 * math.sqrt(W / T)
        + math.sqrt(5.625) * 3.1 * math.sqrt(u / T)
        + 2 * (9 / 16 * 21 / 32 * 1.9 * G2 / 10 * 3.1**4 / T**2) ** (1 / 3)
        + 6 * 2.96 * 1.9 * 3.1**2 / T,
        "theoremC.2.strongly-convex": 2.94 * log * W / (0.3 * T)
        + 5.25 * log * u / (0.3 * T)
        + 98 / 15 * log**2 * 1.9 * G2 / 10 / (0.3 * T) ** 2
        + 0.3 * 3.1**2 * math.exp(-0.3 * T / (16 * 2.96 * 1.9)),
        "theoremC.2.non-convex": 2 * math.sqrt(6 * 1.9 * 4.3 * W / T)
        + 2 * math.sqrt(10.8 * 1.9 * 4.3 * u / T)
        + 2 * (14.4 * (1.9 * 4.3) ** 2 * G2 / 10 / T**2) ** (1 / 3)
        + 24 * 2.96 * 1.9 * 4.3 / T,
    }
    for name, value in wanted.items():
        statement = get(f"noble2022.{name}.repaired")
        assert statement.sides is not None
        symbols = symbols_of(statement)
        right = sum(sides_of(statement).rhs.values()).subs({symbols[k]: x for k, x in v.items() if k in symbols})
        assert float(right) == pytest.approx(value, rel=1e-12), name


# The refuted forms


def test_the_huber_loss_of_lemma_c8_stays_where_it_is() -> None:
    """c = 1: 20000 runs of 100 rounds; the mean of every iterate, six standard errors of 1e-6, is above 0.999 D_0."""
    rng = np.random.default_rng(1)
    x, T = np.ones(20000), 100
    for _ in range(T):
        x = x - np.clip(x, -1, 1) / (1000 * T) + rng.normal(0, 0.01 / math.sqrt(2), x.shape) / (1000 * T)
        assert x.mean() > 0.999 - 6e-6
    assert 0.5 * 0.999**2 > 0.498 > math.sqrt(2) / 1000 + 0.01
    (one,) = lemmaC_8.short_steps(lemmaC_8.LEMMA, {"c": [1]})
    case = exact.compared(lemmaC_8.LEMMA, one)
    assert case.lhs == Fraction(2996, 3000) ** 2 / 2
    assert case.rhs == Fraction(5, 4) / 1000 + Fraction(1, 100)


@pytest.mark.parametrize("step", [1.0, 0.1, 1e-2, 1e-3, 1e-5])
def test_the_huber_loss_of_lemma_c9_for_every_step(step: float) -> None:
    """nu = k = 1 by a change of units, c = 1: F_0 = 1/2, V = 8 T. 10^5 runs; the least mean of F'(x^t)^2 is at least
    erfc(1/4) nu F_0 = 0.3618 less six standard errors."""
    rng = np.random.default_rng(2)
    T, V, eta = 4, 32.0, step / 24
    x = np.ones(100_000)
    for _ in range(T):
        x = x - eta * np.clip(x, -1, 1) + eta * rng.normal(0, math.sqrt(V), x.shape)
        square = np.clip(x, -1, 1) ** 2
        assert square.mean() >= math.erfc(0.25) / 2 - 6 * square.std() / math.sqrt(len(x))
    c, nu = 1.0, 287.0
    assert 8 * c / math.sqrt(nu) + 0.25 < math.erfc(0.25) < 8 * c / math.sqrt(284.0) + 0.25


@pytest.mark.parametrize("name", ["C.1.convex", "C.1.non-convex", "C.2.convex", "C.2.non-convex"])
def test_the_first_step_from_the_minimiser_is_refuted_by_run_and_worst_case(name: str) -> None:
    statement = get(f"noble2022.theorem{name}")
    for check in statement.checks:
        if (check.method, check.expected) == ("monte-carlo", "violated"):
            evidence = monte_carlo.run(statement, check, Settings())
            assert (evidence.verdict, evidence.rhs) == ("violated", 0.0)
            assert verdict(statement, check.name, still) != "violated"
        if check.method == "worst-case":
            assert worst_case.run(statement, check, Settings()).verdict == "violated"


@pytest.mark.slow
def test_the_printed_lemma_c9_is_refuted_by_runs() -> None:
    statement = get("noble2022.lemmaC.9")
    runs = [c for c in statement.checks if c.method == "monte-carlo"]
    assert len(runs) == 2
    for check in runs:
        assert monte_carlo.run(statement, check, Settings()).verdict == "violated"


# Proof steps


@pytest.mark.parametrize(("gain", "noise"), [(Fraction(1), Fraction(19, 8)), (Fraction(121, 288), Fraction(1, 8))])
def test_the_worst_case_of_the_descent_notices_wrong_constants(gain: Fraction, noise: Fraction) -> None:
    instance = {"M": 1, "size": 1, "K": 1}
    claim = (gain, noise, Fraction(1, 4))
    built = lemmaC_9.performance(lemmaC_9.REPAIRED, instance, claim)
    assert worst_case.solve(built).refuted is not None


@pytest.mark.slow
def test_the_combination_of_the_descent_notices_a_wrong_share_of_z() -> None:
    """z = lM/eta_g^2 has no upper end: 5/2 + z/5 exceeds 19/8 + z/4 only up to z = 5/2."""
    lemma = lemmaC_9.REPAIRED
    assert lemmaC_9.round_constants(lemma) == (Fraction(5, 12), Fraction(5, 2), Fraction(5, 12))
    assert lemmaC_9.combination(of(lemma)).true
    assert lemmaC_9.combination(of(lemma), alone="19/8", shared="1/4").true
    assert lemmaC_9.combination(of(lemma), alone="5/2", shared="1/5").true is None
    assert lemmaC_9.combination(of(lemma), alone="2").true is None


@pytest.mark.slow
def test_a_third_of_the_repaired_lemmas_is_noticed_by_rounds_and_algebra() -> None:
    """Of Lemma C.9, by worst cases and exact rounds too."""
    for lemma in (lemmaC_8.REPAIRED, lemmaC_9.REPAIRED):
        weak = lemma
        for term in sides_of(lemma).rhs:
            weak = changed(weak, term, Fraction(1, 3))
        found = {c.name: algebra.run(weak, c, Settings()).verdict for c in lemma.checks if c.method == "algebra"}
        assert found["the step size" + (", convex" if lemma is lemmaC_8.REPAIRED else "")] != "holds"
    for check in lemmaC_9.REPAIRED.checks:
        if check.method == "worst-case":
            assert worst_case.run(weak, check, Settings()).verdict == "violated"
        if check.method == "exact" and check.name.startswith("one round"):
            assert exact.run(weak, check, Settings()).verdict == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("lemma", [lemmaC_8.REPAIRED, lemmaC_9.REPAIRED], ids=lambda s: s.id)
def test_the_edges_of_the_repaired_lemmas(lemma: Statement) -> None:
    edges = [c for c in lemma.checks if c.name.startswith("just ") and c.method == "exact"]
    assert len(edges) == 6
    for check in edges:
        wanted = "not-applicable" if "outside" in check.name else "holds"
        assert exact.run(lemma, check, Settings()).verdict == check.expected == wanted


MISSTATED = [
    "lemmaC.8.repaired", "theoremC.2.strongly-convex.repaired", "theorem4.2.fedavg", "theoremC.1.explicit",
    "theoremC.1.convex", "theoremC.1.convex.repaired", "theoremC.1.non-convex.repaired",
    "theoremC.1.strongly-convex.repaired",
]  # fmt: skip


@pytest.mark.parametrize("id_", MISSTATED)
def test_a_constant_that_is_a_hundredth_off_is_outside_the_hypotheses(id_: str) -> None:
    """nu, mu, G and C, l and s, D_0 and F_0, T: the run is not simulated, and the reason names what is wrong."""
    outside = [c for c in get(f"noble2022.{id_}").checks if c.method == "monte-carlo" and "constants" in c.instance]
    assert outside
    for check in outside:
        evidence = monte_carlo.run(get(f"noble2022.{id_}"), check, Settings())
        assert evidence.verdict == check.expected == "not-applicable"
        (name,) = check.instance["constants"]
        described = {"nu": "nu-smooth", "mu": "mu-strongly", "G": "G^2", "C": "clipped", "l": "users", "s": "records"}
        assert {**described, "D0": "D0 = 0", "F0": "F0 = 0", "T": "T = 0"}[name] in evidence.reason


@pytest.mark.parametrize("theorem", [lemmaC_8.EXPLICIT, lemmaC_8.EXPLICIT_SHARPENED], ids=lambda s: s.id)
def test_standing_still_fails_in_fractions(theorem: Statement, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds whose local steps are shorter by this factor than prescribed."""
    instance = {"eta~ nu": "1/24", "T": [60, 120, 180, 240], "V": ["0", "1/1000"]}
    honest = WorldOperations.descend
    for pace, fine in ((Fraction(1), True), (Fraction(0), False), (Fraction(1, 20), False)):

        def slow(o: Any, y: Any, i: int, step: Any, steps: int, direction: Any, pace: Fraction = pace) -> Any:
            return honest(o, y, i, pace * step, steps, direction)

        monkeypatch.setattr(WorldOperations, "descend", slow)
        found = _moments.all_rounds(theorem, instance)
        assert all(exact.compared(theorem, values).excess <= 0 for values in found) is fine


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("theorem", [lemmaC_8.EXPLICIT, lemmaC_8.EXPLICIT_SHARPENED], ids=lambda s: s.id)
def test_a_thousandth_of_the_explicit_theorem_is_noticed(theorem: Statement) -> None:
    weak = theorem
    for term in sides_of(theorem).rhs:
        weak = changed(weak, term, Fraction(1, 1000))
    for check in theorem.checks:
        if check.method == "exact":
            wanted = "violated" if check.expected == "holds" else "not-applicable"
            assert exact.run(weak, check, Settings()).verdict == wanted, check.name


@pytest.mark.slow
def test_the_strongly_convex_half_notices_a_tenth_of_its_constants() -> None:
    theorem = weak = theoremC_1.STRONGLY_CONVEX_REPAIRED
    for term in sides_of(theorem).rhs:
        weak = changed(weak, term, Fraction(1, 10))
    (check,) = (c for c in theorem.checks if c.name == "one user, one local step")
    assert exact.run(theorem, check, Settings()).verdict == "holds"
    assert exact.run(weak, check, Settings()).verdict == "violated"


def test_the_strongly_convex_cases_by_simulation() -> None:
    """V = 1/10, nu = 5, T = 240: the weighted mean excess of 20000 runs within six standard errors."""
    given = {"nu": ["5"], "T": [240], "V": ["1/10"]}
    case = next(_moments.one_step(theoremC_1.STRONGLY_CONVEX_REPAIRED, given))
    eta, a = float(case.evidence_instance["eta~"]), 5.0
    rng = np.random.default_rng(3)
    x, total, weights = np.ones(20000), np.zeros(20000), 0.0
    for t in range(1, 241):
        weight = (1 - eta / 2) ** -t
        total, weights = total + weight * a / 2 * x**2, weights + weight
        x = (1 - eta * a) * x + eta * rng.normal(0, math.sqrt(0.1), x.shape)
    mean = total / weights
    assert abs(mean.mean() - float(case.symbol_values["excess"])) < 6 * mean.std() / math.sqrt(len(mean))


def changed(statement: Statement, term: str, factor: Fraction) -> Statement:
    """The statement with one of its terms multiplied."""
    from dpfl_theory.core import Sides

    def sides(_: Any) -> Sides:
        assert statement.sides is not None
        given = sides_of(statement)
        return Sides(given.lhs, {k: v * (factor if k == term else 1) for k, v in given.rhs.items()})

    return replace(statement, sides=sides)


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("part", ["convex", "non-convex"])
@pytest.mark.parametrize("term", ["noise", "start"])
def test_a_changed_constant_of_theorem_c1_repaired_is_noticed(part: str, term: str) -> None:
    from dpfl_theory.statements.noble2022.scaffold import theoremC_1 as repaired

    statement = {"convex": repaired.CONVEX_REPAIRED, "non-convex": repaired.NON_CONVEX_REPAIRED}[part]
    lemma = {"convex": lemmaC_8.REPAIRED, "non-convex": lemmaC_9.REPAIRED}[part]
    outcome = repaired._at_sqrt("the lemma", lemma).make(changed(statement, term, Fraction(9, 10)))
    assert outcome.true is False
    check: Check = statement.checks[0]
    assert algebra.run(statement, check, Settings()).verdict == "holds"
