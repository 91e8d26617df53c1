"""shulgin2025's runs in rational numbers against plain NumPy; planted faults in them and in the entered formulas."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfl_theory.algorithms.error_feedback import ErrorFeedback
from dpfl_theory.checks import algebra, exact
from dpfl_theory.checks.settings import Settings
from dpfl_theory.core import Sides, Statement
from dpfl_theory.core.formula import prescription_of, sides_of, terms_at
from dpfl_theory.statements import all_statements, get
from dpfl_theory.statements.shulgin2025 import _line as line
from dpfl_theory.statements.shulgin2025 import theorem1, theorem2

SETTINGS = Settings(device="cpu")


def steps(factor: int) -> Callable[..., Any]:
    """Server steps that are a multiple of what they should be."""
    right = ErrorFeedback.move
    return lambda a, o, x, direction: right(a, o, x, factor * direction)


WHOLE = [("theorem1", "long runs on the line")]
WHOLE += [(id_, "whole runs on the line") for id_ in ("theorem1.sharpened", "theorem2")]
RESIDUALS = [(id_, "residuals after the update of runs on the line") for id_ in ("theorem1", "theorem1.sharpened")]


def run(id_: str, name: str, method: Any = exact, planted: Callable[[Statement], Statement] = lambda s: s) -> Any:
    statement = get(f"shulgin2025.{id_}")
    method_name = method.__name__.rsplit(".", 1)[-1].replace("_", "-")
    (check,) = (c for c in statement.checks if (c.method, c.name) == (method_name, name))
    return method.run(planted(statement), check, SETTINGS)


def plain(clients: Any, text: Any, rounds: int, noise: Any = None) -> np.ndarray:
    """|f'(x^k)| of Algorithm 1 on the line, (replicates, rounds); noise (replicates, rounds) on the mean message."""
    q, c = (np.array([float(Fraction(t)) for t in row]) for row in clients)
    x0, a, b, step = (float(Fraction(t)) for t in text[:4])
    alpha, beta = a * a, b * b
    gamma = step * beta / ((alpha + 1) * q.max())
    off = np.array([float(Fraction(text[4][i % len(text[4])])) for i in range(len(q))])
    replicates = 1 if noise is None else len(noise)
    x, v = np.full(replicates, x0), np.repeat((q * (x0 - c) - off)[None], replicates, axis=0)
    server, found = v.mean(axis=1), []
    for k in range(rounds):
        g = q * (x[:, None] - c)
        found.append(np.abs(g.mean(axis=1)))
        e = g - v
        sent = e / np.where(alpha + np.abs(e) > 0, alpha + np.abs(e), 1.0)
        v = v + beta * sent
        server = server + beta * (sent.mean(axis=1) + (0.0 if noise is None else noise[:, k]))
        x = x - gamma * np.sign(server)
    return np.array(found).T


def test_rational_runs_are_algorithm_1() -> None:
    found = iter(line.runs_on_the_line(theorem1.LINE))
    for clients in theorem1.LINE["clients"]:
        for text in theorem1.LINE["runs"]:
            exactly = [float(r.slope) for r in next(found).rounds]
            assert exactly == pytest.approx(plain(clients, text, len(exactly))[0].tolist(), rel=1e-9, abs=1e-9)


def test_the_limits_with_noise_enclose_a_simulation() -> None:
    """min_k E|f'(x^k)| of 20000 replicates, whose standard error is at most that of the spread of the last slope; and
    for more noise, which changes signs, the limits are wide but still right."""
    rng = np.random.default_rng(5)
    instance = theorem1.LONG
    for sigma in (Fraction(1, 20), Fraction(1, 2)):
        runs = iter(line.runs_on_the_line(instance))
        for clients in instance["clients"]:
            for text in instance["runs"]:
                found, n, K = next(runs), len(clients[0]), 9
                moments = [theorem2.second_moment(k, n, 1, sigma, found.symbols["beta"]) for k in range(K + 1)]
                low, high = line.least_with_noise(found, K, moments)
                noise = float(sigma) / n**0.5 * rng.normal(size=(20_000, K + 1))
                slopes = plain(clients, text, K + 1, noise)
                k = int(slopes.mean(axis=0).argmin())
                error = 6 * slopes[:, k].std() / 20_000**0.5 + 1e-9
                assert float(low) - error <= slopes[:, k].mean() <= float(high) + error


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "name"), WHOLE)
@pytest.mark.parametrize("factor", [0, -1], ids=["still", "away"])
def test_whole_runs_need_the_step(id_: str, name: str, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An algorithm that never moves, or moves away from the minimiser, breaks the bounds."""
    assert run(id_, name).verdict == "holds"
    monkeypatch.setattr(ErrorFeedback, "move", steps(factor))
    assert run(id_, name).verdict == "violated"


def test_no_whole_run_is_left_out() -> None:
    found = [
        (s.id.split(".", 1)[1], c.name)
        for s in all_statements()
        if s.paper == "shulgin2025"
        for c in s.checks
        if c.method == "exact" and "runs on the line" in c.name
    ]
    assert sorted(found) == sorted([*WHOLE, *RESIDUALS])


@pytest.mark.parametrize(("id_", "name"), RESIDUALS)
def test_residuals_need_the_limit_of_the_step(id_: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps twice as long as the symbols say: the memories do not keep up."""
    assert run(id_, name).verdict == "holds"
    monkeypatch.setattr(ErrorFeedback, "move", steps(2))
    assert run(id_, name).verdict == "violated"


def test_noise_plays_a_part_in_the_whole_runs() -> None:
    """By the last round the noise has changed a sign with visible probability. It makes up a fifth of a bound that is
    below |f'(x^0)|."""
    statement = get("shulgin2025.theorem2")
    (check,) = (c for c in statement.checks if (c.method, c.name) == ("exact", "whole runs on the line"))
    sigma = Fraction(check.instance["sigma"])
    rows = []
    for found in line.runs_on_the_line(check.instance):
        n, beta, K = int(found.symbols["n"]), found.symbols["beta"], len(found.rounds) - 1
        moments = [theorem2.second_moment(k, n, 1, sigma, beta) for k in range(K + 1)]
        terms = terms_at(statement, "rhs", {**found.symbols, "K": K, "d": 1, "sigma": sigma})
        bound = sum(terms.values())
        share = terms["privacy noise"] / bound
        _, high = line.least_with_noise(found, K, moments)
        rows.append((bound / found.rounds[0].slope, share, high / min(r.slope for r in found.rounds)))
    assert all(bound < 1 for bound, _, _ in rows)
    assert max(share for _, share, _ in rows) > 0.18
    assert max(more for _, _, more in rows) > 1.5


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("lemma3", "second moment against the squared bound"),
        ("theorem2", "the noise term"),
        ("corollary2", "the noise term does not depend on K"),
    ],
)
def test_noise_terms_need_clean_memories(id_: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that take up their own noise leave the server no error at all: another algorithm."""

    def leaky(a: Any, o: Any, x: Any, state: Any) -> Any:
        clients = itertools.count()
        noisy = a.replaced(
            bound=lambda _, o, u: a.bound(o, u) + o.gaussian(1, next(clients)), noise=lambda _, o: o.zero
        )
        return right(noisy, o, x, state)

    right = ErrorFeedback.round

    assert run(id_, name).verdict == "holds"
    monkeypatch.setattr(ErrorFeedback, "round", leaky)
    assert run(id_, name).verdict == "violated"


def test_the_second_moment_is_that_of_simulated_messages() -> None:
    """n = 3, d = 2, K = 4, messages that depend on each other: 40000 replicates, six standard errors."""
    rng = np.random.default_rng(8)
    n, d, K, sigma, beta, replicates = 3, 2, 4, 0.7, 0.3, 40_000
    server, memories = np.zeros((replicates, d)), np.zeros((replicates, n, d))
    for _ in range(K + 1):
        messages = rng.normal(size=(replicates, 1, d)) + server[:, None] + rng.normal(size=(replicates, n, d))
        noise = sigma * rng.normal(size=(replicates, n, d))
        server = server + beta * (messages + noise).mean(axis=1)
        memories = memories + beta * messages
    squares = ((server - memories.mean(axis=1)) ** 2).sum(axis=1)
    found = float(theorem2.second_moment(K, n, d, Fraction(7, 10), Fraction(3, 10), message=Fraction(5)))
    assert squares.mean() == pytest.approx(found, abs=6 * squares.std() / replicates**0.5)


ENTERED = {
    ("theorem1", "descent inequalities added up"),
    ("theorem1.sharpened", "descent inequalities added up"),
    ("theorem1.sharpened", "below the restored bound"),
    ("theorem2", "noise accumulated by the server"),
    ("corollary1", "Theorem 1 with R and gamma"),
    ("corollary2", "Theorem 2 with the prescription"),
    ("corollary2", "order, alpha of order R"),
    ("corollary2", "order, alpha fixed: the eighth root"),
    ("corollary2", "order, alpha fixed and the best R: the sixth root"),
    ("lemma1", "(8) for three entries"),
    ("table1", "clipping"),
    ("lemma3", "the length of a Gaussian vector"),
    ("clip21.descent", "the descent lemma"),
    ("descent", "the inner product of gradient and direction"),
    ("descent.sharpened", "the largest angle"),
    ("descent.sharpened", "better than the factor 1"),
    ("eq12", "Corollary 1 at its best step"),
    ("eq12.repaired", "descent inequalities added up"),
    ("eq12.repaired", "the least D of the restored form"),
}


def times(statement: Statement, factor: Any) -> Statement:
    """The statement with every term of its right side multiplied."""
    made = sides_of(statement)
    return replace(statement, sides=lambda s: Sides(made.lhs, {k: v * factor for k, v in made.rhs.items()}))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("id_", "name"), sorted(ENTERED))
@pytest.mark.parametrize("factor", [Fraction(101, 100), 3])
def test_algebra_is_about_the_entered_formula(id_: str, name: str, factor: Any) -> None:
    """One hundredth more on every term of the right side, or three times as much, and the check that depends on it
    fails."""
    assert run(id_, name, algebra).verdict == "holds"
    assert run(id_, name, algebra, lambda statement: times(statement, factor)).verdict == "violated"


@pytest.mark.parametrize(
    ("id_", "module_name", "name"),
    [
        ("theorem1.sharpened", "theorem1", "below the restored bound"),
        ("descent.sharpened", "appendix_d", "better than the factor 1"),
    ],
)
def test_algebra_is_about_the_restored_form_that_it_is_compared_with(
    id_: str, module_name: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"dpfl_theory.statements.shulgin2025.{module_name}")
    true = module._sides

    def wrong(s: Any) -> Sides:
        return Sides(true(s).lhs, {term: v * Fraction(101, 100) for term, v in true(s).rhs.items()})

    monkeypatch.setattr(module, "_sides", wrong)
    assert run(id_, name, algebra).verdict == "violated"


@pytest.mark.exhaustive(keep=2)
@pytest.mark.parametrize(
    ("id_", "symbol", "name"),
    [
        ("eq12.any-D", "gamma", "D is arbitrary"),
        ("eq12.any-D", "R", "D is arbitrary"),
        ("eq12.repaired", "gamma", "the least D of the restored form"),
        *(("eq12.repaired", x, "residuals after the update") for x in ("R", "alpha", "beta", "gamma")),
        ("eq12.repaired", "gamma", "descent inequalities added up"),
        ("corollary2", "sigma", "Theorem 2 with the prescription"),
        ("corollary2", "gamma", "Theorem 2 with the prescription"),
    ],
)
def test_algebra_is_about_the_prescription(id_: str, symbol: str, name: str) -> None:
    """A third of one prescribed symbol: the true verdict is not found again."""

    def planted(statement: Statement) -> Statement:
        chosen = prescription_of(statement)
        return replace(statement, prescription=lambda s: {**chosen, symbol: chosen[symbol] / 3})

    assert run(id_, name, algebra).verdict == ("violated" if id_ == "eq12.any-D" else "holds")
    assert run(id_, name, algebra, planted).verdict == ("inconclusive" if id_ == "eq12.any-D" else "violated")


@pytest.mark.parametrize(("roots", "residual"), [(("1/4", "1"), "3/16"), (("0", "1/2"), "1"), (("2", "2"), "1")])
def test_what_an_update_leaves_is_attained(roots: tuple[str, str], residual: str) -> None:
    """A is the result of a residual of sqrt(alpha beta) - alpha, or of R itself."""
    from dpfl_theory.statements.shulgin2025._line import largest_residual, residual_after_update

    alpha, beta = (Fraction(t) ** 2 for t in roots)
    most = largest_residual(Fraction(1), alpha, beta)
    assert residual_after_update(Fraction(residual), alpha, beta) == most < 1
