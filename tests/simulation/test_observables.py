"""Observables: each against its definition in plain NumPy, its unit, its analytic range, and zero updates."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracles.compare import ENGINES, Play, play, problem_of, starting_points
from oracles.fedavg import bound, local_update
from scipy import stats
from short_forms import bound_of, clip, fedavg, normalise
from short_forms import scaffold as scaffold_run
from short_forms import two_sided as two_sided_run

import dpfl_theory.statements.travel_bound as reach_module
from dpfl_theory.algorithms.error_feedback import InformedNormEC, NormEC
from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew, UnclippedScaffNew
from dpfl_theory.algorithms.scaffold import lagging
from dpfl_theory.errors import InputError
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Problem
from dpfl_theory.problems.quadratic import Quadratic, from_matrices
from dpfl_theory.simulation import (
    Cohort,
    NoisyGradient,
    Schedule,
    Simulation,
    simulate,
)
from dpfl_theory.simulation.observables import Observable, Reach, catalogue, get, two_step_sizes
from dpfl_theory.statements.travel_bound import fedavg_reach

ALL = catalogue()


@dataclasses.dataclass
class Facts:
    """What one replicate's round looks like to plain NumPy."""

    problem: Problem
    w: np.ndarray
    u: np.ndarray  # all clients' updates (n, d)
    members: list[int]
    C: float
    option: str
    r: float
    noise: np.ndarray
    psi: float
    eta: float = math.nan
    E: int = 0

    @property
    def norms(self) -> np.ndarray:
        return np.linalg.norm(self.u, axis=1)

    @property
    def factors(self) -> np.ndarray:
        """min(1, C/||u_i||)."""
        return np.array([1.0 if length <= self.C else self.C / length for length in self.norms])

    @property
    def lengths(self) -> np.ndarray:
        """Of the clients' gradients at w."""
        return np.linalg.norm([self.problem.client_gradient(i, self.w) for i in range(self.problem.n)], axis=1)

    @property
    def values(self) -> np.ndarray:
        return np.array([self.problem.client_value(i, self.w) for i in range(self.problem.n)])

    @property
    def excess(self) -> np.ndarray:
        return self.values - self.problem.constants.f_i_star

    @property
    def delta(self) -> np.ndarray:
        return self.problem.constants.f_i_at_star - self.problem.constants.f_i_star

    def weighted(self, quantity: np.ndarray) -> float:
        """The mean of ``(C/||u_i||) quantity_i``, 0 where the quantity is 0 and +inf where only the update is."""
        terms = [
            0.0 if q == 0.0 else math.inf if length == 0.0 else self.C / length * q
            for q, length in zip(quantity, self.norms)
        ]
        return float(np.mean(terms))

    @property
    def products(self) -> np.ndarray:
        """<u_i, w - w*>."""
        return self.u @ (self.w - self.problem.constants.w_star)

    def progress(self, sent: str, longer: bool) -> float:
        """Mean of A_i with g_i as sent, over the clients whose update is longer than C, or over the others."""
        total = 0.0
        for u in self.u:
            if (np.linalg.norm(u) > self.C) == longer:
                g = u if sent == "none" else bound(u, sent, self.C)
                w_star = self.problem.constants.w_star
                moved = self.w - self.eta * g - w_star
                total += np.linalg.norm(moved) ** 2 - np.linalg.norm(self.w - w_star) ** 2
        return total / self.problem.n

    def path(self, i: int) -> list[np.ndarray]:
        """Client i's gradients along its local steps, one more than there are steps."""
        w, found = self.w.copy(), []
        for _ in range(self.E + 1):
            found.append(self.problem.client_gradient(i, w))
            w = w - self.eta * found[-1]
        return found

    @property
    def points(self) -> np.ndarray:
        """All clients' points before each of their local steps, (n, E, d)."""
        return np.array(
            [
                self.w - self.eta * np.cumsum([0.0 * g[0], *g[:-2]], axis=0)
                for g in map(self.path, range(self.problem.n))
            ]
        )

    def along(self, value: Callable[[list[np.ndarray]], float]) -> float:
        """The mean over the clients of a function of their gradients."""
        return float(np.mean([value(self.path(i)) for i in range(self.problem.n)]))

    def sum_of(self, sent: str) -> float:
        """Length of what the cohort sends, over n."""
        return float(np.linalg.norm(sum(bound(self.u[i], sent, self.C) for i in self.members))) / self.problem.n

    def snr(self) -> float:
        signal = float(np.linalg.norm(sum(bound(self.u[i], self.option, self.C) for i in self.members) / self.r))
        return signal / float(np.linalg.norm(self.noise))


DEFINITIONS: dict[str, Callable[[Facts], float]] = {
    "suboptimality": lambda f: f.problem.value(f.w) - f.problem.constants.f_star,
    "gradient-norm-squared": lambda f: float(np.linalg.norm(f.problem.gradient(f.w))) ** 2,
    "gradient-norm": lambda f: float(np.linalg.norm(f.problem.gradient(f.w))),
    "distance-squared": lambda f: float(np.linalg.norm(f.w - f.problem.constants.w_star)) ** 2,
    "gradient-dissimilarity": lambda f: np.mean(f.lengths**2) - np.linalg.norm(f.problem.gradient(f.w)) ** 2,
    "gradient-log-dissimilarity": lambda f: np.log(
        np.mean(f.lengths**2) / np.linalg.norm(f.problem.gradient(f.w)) ** 2
    ),
    "unclipped-gap": lambda f: np.mean(np.where(f.norms <= f.C, f.values - f.problem.constants.f_i_at_star, 0.0)),
    "clipped-length": lambda f: np.mean(np.where(f.norms > f.C, f.norms, 0.0)),
    "unclipped-heterogeneity": lambda f: np.mean(np.where(f.norms <= f.C, f.delta, 0.0)),
    "unclipped-share": lambda f: np.mean(f.norms <= f.C),
    "weighted-excess": lambda f: f.weighted(f.excess),
    "weighted-heterogeneity": lambda f: f.weighted(f.delta),
    "unclipped-weighted-excess": lambda f: f.weighted(np.where(f.norms <= f.C, f.excess, 0.0)),
    "unclipped-weighted-heterogeneity": lambda f: f.weighted(np.where(f.norms <= f.C, f.delta, 0.0)),
    "snr": lambda f: f.snr(),
    "cohort-size": lambda f: len(f.members),
    "empty-cohort": lambda f: not f.members,
    "zero-updates": lambda f: np.sum(f.norms == 0.0),
    "smallest-update": lambda f: np.min(f.norms),
    "clipped-progress": lambda f: f.progress("clip", longer=True),
    "unclipped-progress": lambda f: f.progress("none", longer=False),
    "normalised-progress": lambda f: f.progress("normalise", longer=False),
    "inner-product": lambda f: np.mean(f.products),
    "unclipped-inner-product": lambda f: np.mean(np.where(f.norms <= f.C, f.products, 0.0)),
    "approach": lambda f: np.mean(
        np.linalg.norm(f.w - f.problem.constants.w_star) ** 2
        - np.linalg.norm(f.w - f.eta * f.u - f.problem.constants.w_star, axis=1) ** 2
    ),
    "update-squared": lambda f: np.mean(f.norms**2),
    "displacement-squared": lambda f: np.mean((f.eta * f.norms) ** 2),
    "end-distance-squared": lambda f: np.mean(
        np.linalg.norm(f.w - f.eta * f.u - f.problem.constants.w_star, axis=1) ** 2
    ),
    "local-mean-suboptimality": lambda f: f.problem.value(f.points.mean(axis=(0, 1))) - f.problem.constants.f_star,
    "local-suboptimality": lambda f: (
        np.mean([f.problem.value(w) for own in f.points for w in own]) - f.problem.constants.f_star
    ),
    "local-gradients-squared": lambda f: f.along(lambda g: sum(float(x @ x) for x in g[:-1])),
    "next-gradients-squared": lambda f: f.along(lambda g: sum(float(x @ x) for x in g[1:])),
    "gradient-change-squared": lambda f: f.along(
        lambda g: sum(float((b - a) @ (b - a)) for a, b in itertools.pairwise(g))
    ),
    "signal-squared": lambda f: float(np.linalg.norm(sum(bound(f.u[i], f.option, f.C) for i in f.members) / f.r) ** 2),
    "clipped-signal": lambda f: f.sum_of("clip"),
    "normalised-signal": lambda f: f.sum_of("normalise"),
    "bounding-difference": lambda f: np.mean(
        [np.linalg.norm(bound(u, "normalise", f.C) - bound(u, "clip", f.C)) for u in f.u]
    ),
    "clipped-alignment": lambda f: np.mean(f.factors) * np.linalg.norm(f.problem.gradient(f.w)) ** 2,
    "clipping-factor": lambda f: np.mean(f.factors),
    "clipping-factor-squared": lambda f: np.mean(f.factors) ** 2,
    "clipping-factor-deviation": lambda f: np.mean(np.abs(f.factors - np.mean(f.factors))),
    "clipping-factor-variance": lambda f: np.var(f.factors),
}


SCAFFNEW = {"scaffnew-lyapunov", "scaffnew-shifts", "message-squared"}
"""Tested on ScaffNew's runs below."""

MEMORIES = {"largest-residual", "estimate-noise"}
"""Tested on EF21's runs below."""


DIFFERENCES = {"descent-product"}
"""Of algorithms whose messages are differences of parameters: tested on runs with two step sizes below."""


STEPS = {o.name for o in two_step_sizes.OBSERVABLES}
"""Of local steps with two step sizes: tested below; with noise in tests/statements/test_zhang2021_runs.py."""


SCAFFOLD = {name for name in catalogue() if name.startswith("scaffold-")}
"""Tested against exact moments in tests/statements/test_noble2022_lemmas_runs.py."""


def test_every_observable_is_defined_here() -> None:
    assert set(ALL) == set(DEFINITIONS) | SCAFFNEW | MEMORIES | DIFFERENCES | STEPS | SCAFFOLD
    for name, observable in ALL.items():
        assert observable.name == name == get(name).name
        assert observable.latex
        assert observable.meaning
        assert get(observable) is observable


def facts_of(problem: Problem, play: Play, algorithm: Simulation, bound: str, k: int, s: int) -> Facts:
    h, run = play.rounds[k], algorithm.run
    w = play.servers[k, s]
    u = np.array([local_update(problem, i, w, run.local_step, run.local_steps) for i in range(problem.n)])
    members = [int(i) for i in np.flatnonzero(h.cohort[s])]
    r = algorithm.cohort.size or problem.n
    return Facts(
        problem,
        w,
        u,
        members,
        run.threshold,
        bound,
        r,
        h.noise[s],
        math.nan,
        run.local_step,
        run.local_steps,
    )


@pytest.mark.exhaustive(keep=4)
@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("bounding", ["clip", "normalise"])
@pytest.mark.parametrize("name", ["dense", "low-rank", "huber", "logistic", "softmax"])
def test_values_are_those_of_the_definition(name: str, bounding: str, engine: Any) -> None:
    problem = problem_of(name)
    eta = 0.5 / problem.constants.L_max
    start = starting_points(problem, 3)
    threshold = float(np.median(play(fedavg(eta, 3), problem, 1, start).rounds[0].update_norms))
    algorithm = fedavg(eta, 3, None, bound_of(bounding, threshold), Cohort("fixed", 3), 0.2 * threshold)
    run = play(algorithm, problem, 5, start, 2, engine=engine)
    for k, s in itertools.product(range(5), range(3)):
        facts = facts_of(problem, run, algorithm, bounding, k, s)
        for observable in ALL.values():
            if observable.name not in SCAFFNEW | MEMORIES | DIFFERENCES | STEPS | SCAFFOLD:
                found = float(observable.evaluate(run.rounds[k])[s])
                assert found == pytest.approx(float(DEFINITIONS[observable.name](facts)), rel=1e-9, abs=1e-13)


def test_psi_is_that_of_the_definition() -> None:
    problem, eta, p = problem_of("huber"), [0.3, 0.6], 0.4
    run = play(Simulation(UnclippedScaffNew(eta=eta, p=p, sigma=0.1)), problem, 8, starting_points(problem, 2))
    star = problem.constants.w_star
    for k, s in itertools.product(range(8), range(2)):
        expected = shifts = sent = 0.0
        for i in range(problem.n):
            x, h = (part[i, s] for part in run.states[k].inner)
            expected += np.linalg.norm(x - star) ** 2
            shifts += (eta[s] / p) ** 2 * np.linalg.norm(h - problem.client_gradient(i, star)) ** 2
            moved = x - eta[s] * (problem.client_gradient(i, x) - h)
            sent += np.linalg.norm(moved - run.servers[k, s]) ** 2 / problem.n
        for name, value in (
            ("scaffnew-lyapunov", expected + shifts),
            ("scaffnew-shifts", shifts),
            ("message-squared", sent),
        ):
            assert ALL[name].evaluate(run.rounds[k])[s] == pytest.approx(value, rel=1e-11), name


@pytest.mark.parametrize("name", ALL)
def test_values_scale_with_the_unit(name: str) -> None:
    """Objective times c and parameters times x: the value is multiplied by ``c^F x^X`` for the observable's (F, X)."""
    c, x = 3.0, 0.5
    base = problem_of("dense")
    assert isinstance(base, Quadratic)
    scaled = dataclasses.replace(base, eigenvalues=base.eigenvalues * c / x**2, centres=base.centres * x)
    values = []
    for problem, F, X in ((base, 1.0, 1.0), (scaled, c, x)):
        algorithm: Any = fedavg(
            0.4 * X**2 / F, 3, None, clip(5.0 * F / X), Cohort("poisson", 2), 0.5 * F / X
        )  # fmt: skip
        if name in SCAFFNEW:
            algorithm = Simulation(DPScaffNew(eta=0.4 * X**2 / F, p=0.5, C=1.0 * X, sigma=0.2 * X))
        if name in MEMORIES:
            algorithm = Simulation(NormEC(gamma=0.1 * X, alpha=0.5 * F / X, beta=2.0 * F / X, sigma=0.3))
        if name in DIFFERENCES:
            algorithm = two_sided_run(0.4 * X**2 / F, 1.0, 3, threshold=1.0 * X, sigma=0.2 * X)
        if name in STEPS:
            algorithm = two_sided_run(0.4 * X**2 / F, 1.0, 3, gradient=NoisyGradient(0.2 * F / X))
        if name in SCAFFOLD:
            points, noise = lagging(X * starting_points(base, base.n)), NoisyGradient(0.2 * F / X)
            steps = 0.4 * X**2 / F, 1.2, 3
            algorithm = scaffold_run(*steps, Cohort("fixed", 2), noise, 1, True, warm_points=points)
        run = play(algorithm, problem, 2 if name in SCAFFOLD else 6, starting_points(base, 4) * X, 3)
        keep = [h for h in run.rounds if h.cohort is None or h.cohort.sum(axis=1).all()]
        values.append(np.array([ALL[name].evaluate(h) for h in keep]))
    F, X = ALL[name].unit
    assert len(values[0]) >= 2
    assert np.allclose(values[1], values[0] * c**F * x**X, rtol=1e-9)


def test_the_descent_product_is_that_of_the_definition() -> None:
    problem, eta, c = problem_of("huber"), 0.2, 0.3
    algorithm = two_sided_run(eta, 0.7, 2, threshold=c, sigma=0.4, cohort=Cohort("fixed", 3))
    run = play(algorithm, problem, 4, starting_points(problem, 2))
    for k, s in itertools.product(range(4), range(2)):
        h, w = run.rounds[k], run.servers[k, s]
        updates = [eta * local_update(problem, int(i), w, eta, 2) for i in np.flatnonzero(h.cohort[s])]
        mean = -np.mean([min(1.0, c / np.linalg.norm(u)) * u for u in updates], axis=0)
        found = ALL["descent-product"].evaluate(h)[s]
        assert found == pytest.approx(float(problem.gradient(w) @ mean), rel=1e-9, abs=1e-13)
        c_, star = problem.constants, np.linalg.norm(problem.gradients_at_star, axis=1)
        reach = Reach(float(np.linalg.norm(w - c_.w_star)), c_, star, math.inf, eta, 2)
        assert ALL["descent-product"].low(reach) <= found <= 0.0 <= ALL["descent-product"].high(reach)


def test_local_steps_are_those_of_the_definition() -> None:
    """Of all clients, with full gradients, whoever is heard."""
    problem, eta, Q = problem_of("huber"), 0.2, 3
    run = play(two_sided_run(eta, 0.7, Q, cohort=Cohort("fixed", 2)), problem, 3, starting_points(problem, 2))
    for k, s in itertools.product(range(3), range(2)):
        w, paths = run.servers[k, s], []
        for i in range(problem.n):
            y, seen = w, []
            for _ in range(Q):
                seen.append(problem.client_gradient(i, y))
                y = y - eta * seen[-1]
            paths.append(seen)
        gradients = np.array(paths)  # (n, Q, d)
        drift = Q * np.linalg.norm(problem.gradient(w) - gradients.mean(axis=(0, 1))) ** 2
        apart = ((gradients - gradients[:, :1]) ** 2).sum(axis=(1, 2)).mean()
        sums = ((eta * gradients.sum(axis=1)) ** 2).sum()
        for name, due in (("local-mean-drift", drift), ("local-drifts", apart), ("local-updates-squared", sums)):
            assert ALL[name].evaluate(run.rounds[k])[s] == pytest.approx(due, rel=1e-9, abs=1e-13), name


def test_which_observables_need_only_the_state() -> None:
    """Those marked so have a value after the last round; the others say which part of a round they lack."""
    problem = problem_of("dense")
    algorithm = Simulation(ScaffNew(eta=0.3, p=0.5))
    run = play(algorithm, problem, 2, starting_points(problem, 2))
    after = algorithm.after(run.context, run.states[-1], 2)
    for observable in ALL.values():
        if observable.of_state and observable.name not in MEMORIES:
            assert observable.evaluate(after).shape == (2,)
        else:
            lacks = f"^observable '{observable.name}' needs .+, which this algorithm does not have$"
            with pytest.raises(InputError, match=lacks):
                observable.evaluate(after)


def test_memories_are_those_of_the_definition() -> None:
    """On alpha-NormEC's states, the one after the last round included."""
    problem = problem_of("huber")
    algorithm = Simulation(InformedNormEC(gamma=0.2, alpha=0.1, beta=0.3, sigma=0.4, memory=0.5))
    run = play(algorithm, problem, 5, starting_points(problem, 2))
    after = algorithm.after(run.context, run.states[-1], 5)
    for k, h in enumerate((*run.rounds, after)):
        for s in range(2):
            v, v_i, x = run.states[k].inner[0][s], run.states[k].inner[1][:, s], run.servers[k, s]
            missing = [np.linalg.norm(problem.client_gradient(i, x) - v_i[i]) for i in range(problem.n)]
            noise = np.linalg.norm(v - v_i.mean(axis=0))
            assert ALL["largest-residual"].evaluate(h)[s] == pytest.approx(max(missing), rel=1e-12)
            assert ALL["estimate-noise"].evaluate(h)[s] == pytest.approx(noise, rel=1e-9, abs=1e-15)
            assert k == 0 or noise > 0.01


def test_what_a_problem_without_minimiser_lacks_is_said() -> None:
    problem = make("logistic-synthetic", clients=2, dimension=3, records=2, label_noise=0.0)
    assert problem.constants.w_star is None
    algorithm = fedavg(0.1, bound=clip(0.01))
    for name in ("suboptimality", "gradient-norm-squared", "weighted-excess", "clipped-length", "unclipped-share"):
        simulate(algorithm, problem, 2, observe=[name], device="cpu")
    for name in ("distance-squared", "unclipped-gap", "unclipped-heterogeneity", "weighted-heterogeneity"):
        with pytest.raises(InputError, match=r"^observable .* the minimum is not attained: add a ridge$"):
            simulate(algorithm, problem, 2, observe=[name], device="cpu")
    assert fedavg_reach(algorithm, problem, 2, np.zeros(3)) is None


# --- zero updates, thresholds met exactly, silence --------------------------------------------------------------------


def value_at(name: str, algorithm: Simulation, problem: Problem, w: list[float], engine: Any) -> float:
    run = play(algorithm, problem, 1, np.array([w]), engine=engine)
    return float(ALL[name].evaluate(run.rounds[0])[0])


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("family", ["quadratic", "huber"])
def test_zero_updates(engine: Any, family: str) -> None:
    """u_1 = 0 at client 1's minimiser: its excess is 0 and counts as 0, its heterogeneity is not and counts as +inf."""
    if family == "quadratic":
        problem: Problem = from_matrices(np.ones((2, 1, 1)), np.array([[0.0], [3.0]]))
        shared: Problem = from_matrices(np.ones((2, 1, 1)), np.array([[3.0], [3.0]]))
    else:
        problem = make("huber-scalar", minimisers=[0.0, 3.0], thresholds=[5.0, 5.0])
        shared = make("huber-scalar", minimisers=[3.0, 3.0], thresholds=[5.0, 5.0])
    algorithm = fedavg(0.5, 2, bound=normalise(9.0))
    expected = {"zero-updates": 1.0, "smallest-update": 0.0, "unclipped-share": 1.0, "clipped-length": 0.0}
    expected |= {"weighted-heterogeneity": math.inf, "unclipped-weighted-heterogeneity": math.inf}
    expected |= {"weighted-excess": 0.5 * 9.0 / 4.5 * 4.5, "unclipped-weighted-excess": 0.5 * 9.0 / 4.5 * 4.5}
    expected |= {"unclipped-heterogeneity": 9.0 / 8.0, "unclipped-gap": 9.0 / 8.0}
    for name, value in expected.items():
        assert value_at(name, algorithm, problem, [0.0], engine) == pytest.approx(value, rel=1e-14), name
    for name in ("weighted-excess", "weighted-heterogeneity", "unclipped-weighted-heterogeneity", "suboptimality"):
        assert value_at(name, algorithm, shared, [3.0], engine) == 0.0, name
    assert value_at("zero-updates", algorithm, shared, [3.0], engine) == 2.0


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_an_update_as_long_as_the_threshold_is_not_clipped(engine: Any) -> None:
    problem = from_matrices(np.eye(2)[None], np.zeros((1, 2)))
    for threshold, share, length in ((5.0, 1.0, 0.0), (np.nextafter(5.0, 0.0), 0.0, 5.0)):
        algorithm = fedavg(0.5, bound=clip(threshold))
        assert value_at("unclipped-share", algorithm, problem, [3.0, 4.0], engine) == share
        assert value_at("clipped-length", algorithm, problem, [3.0, 4.0], engine) == length


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_the_dissimilarity_of_gradients_that_vanish(engine: Any) -> None:
    """+inf where only the gradient of f is zero, 0 where all are; equal clients are not dissimilar."""
    apart: Problem = from_matrices(np.ones((2, 1, 1)), np.array([[-3.0], [3.0]]))
    together: Problem = from_matrices(np.ones((2, 1, 1)), np.array([[3.0], [3.0]]))
    algorithm = fedavg(0.5)
    difference, ratio = "gradient-dissimilarity", "gradient-log-dissimilarity"
    assert value_at(ratio, algorithm, apart, [0.0], engine) == math.inf
    assert value_at(difference, algorithm, apart, [0.0], engine) == 9.0
    assert value_at(ratio, algorithm, together, [3.0], engine) == 0.0
    assert value_at(difference, algorithm, together, [3.0], engine) == 0.0
    assert value_at(ratio, algorithm, together, [5.0], engine) == 0.0
    assert value_at(ratio, algorithm, apart, [1.0], engine) == pytest.approx(math.log(10.0), rel=1e-14)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_the_ratio_of_signal_to_no_noise(engine: Any) -> None:
    """+inf where only the noise is missing, 0 where no client takes part (the rule of DESIGN 7 for 0 times inf)."""
    problem = problem_of("dense")
    start = starting_points(problem, 8)
    silent = play(fedavg(0.1), problem, 1, start, engine=engine)
    assert np.all(ALL["snr"].evaluate(silent.rounds[0]) == math.inf)
    rare = play(fedavg(0.1, sigma=1.0, cohort=Cohort("poisson", 0.5)), problem, 6, start, engine=engine)
    for h in rare.rounds:
        empty, ratio = h.cohort.sum(axis=1) == 0.0, ALL["snr"].evaluate(h)
        assert np.all(ratio[empty] == 0.0)
        assert np.all((ratio[~empty] > 0.0) & (ratio[~empty] < math.inf))
    assert any(h.cohort.sum(axis=1).min() == 0.0 for h in rare.rounds)


# --- ranges -----------------------------------------------------------------------------------------------------------


def outside(observable: Observable, reach: Reach, values: np.ndarray) -> list[str]:
    """Which values leave the observable's range; rounding may take 1e-9 of it."""
    low, high = observable.low(reach), observable.high(reach)
    room = 1e-9 * max(abs(v) for v in (low, high, 0.0) if math.isfinite(v)) + 1e-13
    wrong = []
    if values.max() > high + room:
        wrong.append(f"{observable.name} reaches {values.max()}, above {high}")
    if values.min() < low - room:
        wrong.append(f"{observable.name} reaches {values.min()}, below {low}")
    return wrong


RANGED = ["dense", "low-rank", "huber", "logistic", "shared", "shared huber", "scalar"]


def ranged_problem(name: str) -> Problem:
    return {
        "shared": lambda: make("quadratic", clients=5, dimension=3, heterogeneity=0.0, seed=4),
        "shared huber": lambda: make("huber", clients=5, dimension=3, records=2, heterogeneity=0.0, threshold=0.3),
        "scalar": lambda: make("huber-scalar", minimisers=[-4.0, 0.0, 6.0], thresholds=[1.0, 0.5, 2.0]),
    }.get(name, lambda: problem_of(name))()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", RANGED)
def test_ranges_hold_within_the_reach(name: str) -> None:
    """Small and large steps, one and several local steps, both boundings, all cohorts, little and much noise."""
    problem = ranged_problem(name)
    n, L, d = problem.n, problem.constants.L_max, problem.d
    star = problem.constants.w_star
    finite = 0
    cases = itertools.product((0.3, 1.0, 1.9, 3.5), (1, 4), ("clip", "normalise"), (0.05, 2.0))
    for case, (factor, E, bounding, noise) in enumerate(cases):
        cohort = (Cohort(), Cohort("fixed", 2), Cohort("poisson", 0.4 * n))[case % 3]
        start = star + 3.0 * np.random.default_rng(case).standard_normal(d)
        norms = np.linalg.norm([local_update(problem, i, start, 0.5 / L, E) for i in range(n)], axis=1)
        C = float(np.median(norms))
        algorithm = fedavg(
            factor / L,
            E,
            0.5 / L,
            bound_of(bounding, C),
            cohort,
            noise * C / math.sqrt(d),
            ("per-client", "average")[case % 2],
        )
        reach = fedavg_reach(algorithm, problem, 12, start)
        assert reach is not None
        observed = [o for o in ALL.values() if o.name not in SCAFFNEW | MEMORIES | DIFFERENCES | STEPS | SCAFFOLD]
        run = simulate(algorithm, problem, 12, 40, case, observed, start=start, series=True, device="cpu")
        for o in observed:
            assert outside(o, reach, run[o.name].every_round) == [], (case, o.name)
            finite += math.isfinite(o.high(reach))
        assert np.sqrt(run["distance-squared"].every_round.max()) <= reach.radius
    assert finite >= 8 * 32  # ranges that never end would hold, too


def test_a_radius_that_is_too_small_is_noticed() -> None:
    problem = problem_of("dense")
    start = starting_points(problem, 1)[0]
    algorithm = fedavg(0.3, 2, bound=clip(2.0), sigma=1.0)
    reach = fedavg_reach(algorithm, problem, 12, start)
    assert reach is not None
    ranged = ["distance-squared", "suboptimality", "gradient-norm-squared"]
    run = simulate(algorithm, problem, 12, 40, 0, ranged, start=start, series=True, device="cpu")
    farthest = math.sqrt(run["distance-squared"].every_round.max())
    for name, share in (("distance-squared", 0.99), ("suboptimality", 0.3), ("gradient-norm-squared", 0.1)):
        small = dataclasses.replace(reach, radius=share * farthest)
        assert outside(ALL[name], reach, run[name].every_round) == []
        assert outside(ALL[name], small, run[name].every_round), name


def share_beyond(
    algorithm: Simulation, rounds: int, factor: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[float, int]:
    """How many of 4000 replicates leave ``factor`` times the reach that is stated to fail with probability 0.2."""
    monkeypatch.setattr(reach_module, "FAILURE", 0.2)
    problem = make("quadratic", clients=6, dimension=2, heterogeneity=0.0, smoothness=1e-9, seed=1)
    start = problem.constants.w_star
    reach = fedavg_reach(algorithm, problem, rounds, start)
    assert reach is not None
    run = simulate(algorithm, problem, rounds, 4000, 5, ["distance-squared"], start=start, series=True, device="cpu")
    farthest = np.sqrt(run["distance-squared"].every_round.max(axis=0))
    return float(np.mean(farthest > factor * reach.radius)), 4000


@pytest.mark.exhaustive(keep=1)
@pytest.mark.parametrize("noise", ["per-client", "average"])
@pytest.mark.parametrize("cohort", [Cohort(), Cohort("poisson", 1.5), Cohort("fixed", 2)])
def test_the_reach_fails_no_more_often_than_stated(noise: str, cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an almost flat objective the noise alone moves the server, and most of the way is noise's: the stated failure
    probability holds (rate 1e-9), and a reach 2.5 times smaller is exceeded more often than stated."""
    algorithm = fedavg(1.0, bound=clip(1e-6), sigma=1.0, cohort=cohort, noise=noise)
    beyond, replicates = share_beyond(algorithm, 30, 1.0, monkeypatch)
    assert stats.binom.sf(beyond * replicates - 1, replicates, 0.2) > 1e-9
    too_small, _ = share_beyond(algorithm, 30, 0.4, monkeypatch)
    assert stats.binom.sf(too_small * replicates - 1, replicates, 0.2) < 1e-9


@pytest.mark.slow
def test_the_reach_counts_participations() -> None:
    """Without noise, every client pulls the same way for K rounds and the server goes exactly beta C K."""
    problem = make("huber-scalar", minimisers=[0.0, 0.0], thresholds=[1.0, 1.0])
    algorithm = fedavg(1e-3, 5, 0.5, clip(2.0), Cohort("fixed", 1))
    start = np.array([50.0])
    reach = fedavg_reach(algorithm, problem, 10, start)
    assert reach is not None
    assert reach.radius == pytest.approx(50.0 + 0.5 * 2.0 * 10, rel=1e-14)
    run = simulate(algorithm, problem, 10, start=start, device="cpu")
    assert abs(run.final[0, 0] - 50.0) == pytest.approx(0.5 * 2.0 * 10, rel=1e-14)
    random = dataclasses.replace(algorithm, cohort=Cohort("poisson", 1))
    wide = fedavg_reach(random, problem, 10, start)
    assert wide is not None
    assert wide.radius == pytest.approx(50.0 + 0.5 * 2.0 * 20)  # at most all clients in all rounds
    assert reach.threshold == 2.0
    assert (reach.step, reach.local_steps) == (1e-3, 5)


@pytest.mark.parametrize(
    "change",
    [
        {"bound": None}, {"local_step": Schedule(0.1)}, {"global_step": Schedule(0.1)},
        {"local_step": [0.1, 0.2]}, {"bound": clip([1.0, 2.0])}, {"sigma": [0.1, 0.2]},
    ],
)  # fmt: skip
def test_where_no_reach_is_known_there_is_none(change: dict[str, Any]) -> None:
    algorithm = fedavg(**{"local_step": 0.1, "bound": clip(1.0), **change})
    assert fedavg_reach(algorithm, problem_of("dense"), 5, np.zeros(4)) is None


def test_updates_are_not_shorter_than_the_floor_says() -> None:
    """||u_i|| >= floor ||grad f_i(w)|| for steps up to 1/L and any E; somewhere the two are within a factor of 2."""
    closest = math.inf
    for name, E, factor in itertools.product(("dense", "huber", "logistic"), (1, 2, 5, 20), (0.01, 0.2, 1.0)):
        problem = problem_of(name)
        c = problem.constants
        reach = Reach(1.0, c, np.zeros(problem.n), 1.0, factor / c.L_max, E)
        for w in starting_points(problem, 5):
            for i in range(problem.n):
                gradient = float(np.linalg.norm(problem.client_gradient(i, w)))
                update = float(np.linalg.norm(local_update(problem, i, w, factor / c.L_max, E)))
                assert update >= reach.update_floor * gradient * (1 - 1e-9)
                closest = min(closest, update / (reach.update_floor * gradient))
    assert closest < 2.0
    assert Reach(1.0, c, np.zeros(problem.n), 1.0, 1.01 / c.L_max, 2).update_floor == 0.0
