"""Laws of every problem family: values, gradients, certified constants, kernels. New families are included
automatically.

A family is tested on the instances of its module's ``EXAMPLES``, or on its defaults. Each law is a function that
returns faults as a list of sentences, so that the last tests can plant false constants and see them detected.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracles.record_gradient import record_sum
from scipy.optimize import minimize

from dpfl_theory import kernels, problems
from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.problems.base import Constants, Problem
from dpfl_theory.problems.linear_model import LinearModel

Law = Callable[[Problem, Constants], list[str]]

CLIENTS = 4  # number of clients of a problem in the per-client laws


def _instances() -> list[tuple[str, dict[str, Any]]]:
    known = problems.examples()
    found = []
    for kind, constructor in problems.families().items():
        required = [p for p in inspect.signature(constructor).parameters.values() if p.default is p.empty]
        for parameters in known.get(kind) or ([] if required else [{}]):
            found.append((kind, parameters))
    return found


INSTANCES = _instances()
NAMES = [f"{kind}-{sum(one == kind for one, _ in INSTANCES[:k])}" for k, (kind, _) in enumerate(INSTANCES)]
"""The family, and the number of the instance in it."""


@functools.cache
def problem_of(name: str) -> Problem:
    kind, parameters = INSTANCES[NAMES.index(name)]
    return problems.make(kind, **parameters)


every_instance = pytest.mark.parametrize("name", NAMES)


def centre(problem: Problem) -> np.ndarray:
    w = problem.constants.w_star
    return np.zeros(problem.d) if w is None else w


def some_clients(problem: Problem) -> list[int]:
    return sorted({int(i) for i in np.linspace(0, problem.n - 1, CLIENTS)})


def points(problem: Problem, seed: int, scales: tuple[float, ...] = (0.1, 1.0, 10.0, 1e3)) -> list[np.ndarray]:
    """Points at several distances from the minimiser, also very far ones."""
    rng = np.random.default_rng(seed)
    w = centre(problem)
    unit = 1.0 + float(np.linalg.norm(w))
    return [w + s * unit * rng.standard_normal(problem.d) / math.sqrt(problem.d) for s in scales]


def client_hessian(problem: Problem, i: int, w: np.ndarray) -> np.ndarray:
    h = 1e-5 * (1.0 + float(np.max(np.abs(w))))
    columns = [
        (problem.client_gradient(i, w + h * e) - problem.client_gradient(i, w - h * e)) / (2 * h)
        for e in np.eye(problem.d)
    ]
    matrix = np.array(columns)
    return 0.5 * (matrix + matrix.T)


# --- laws ------------------------------------------------------------------------------------------------------------


def gradients_are_derivatives(problem: Problem, c: Constants) -> list[str]:
    rng = np.random.default_rng(1)
    wrong = []
    for w in points(problem, 2, (0.1, 1.0, 10.0)):
        h = 1e-6 * (1.0 + float(np.linalg.norm(w)))
        v = rng.standard_normal(problem.d)
        v /= np.linalg.norm(v)
        for i in some_clients(problem):
            slope = (problem.client_value(i, w + h * v) - problem.client_value(i, w - h * v)) / (2 * h)
            exact = float(problem.client_gradient(i, w) @ v)
            rounding = 1e-15 * abs(problem.client_value(i, w)) / h
            if abs(slope - exact) > 1e-5 * abs(exact) + c.L_i[i] * h + 10 * rounding + 1e-9:
                wrong.append(f"client {i}: slope {slope}, gradient {exact}")
        total = sum(problem.client_gradient(i, w) for i in range(problem.n)) / problem.n
        if not np.allclose(total, problem.gradient(w), rtol=1e-10, atol=1e-12):
            wrong.append("the gradient of f is not the clients' mean")
    return wrong


def smoothness_and_convexity_hold(problem: Problem, c: Constants) -> list[str]:
    """``mu ||v||^2 <= <grad f(w+v) - grad f(w), v> <= ||grad f(w+v) - grad f(w)|| ||v|| <= L ||v||^2``."""
    wrong = []
    clients: list[tuple[str, Callable[[np.ndarray], np.ndarray], float, float]] = [
        (f"client {i}", functools.partial(problem.client_gradient, i), float(c.L_i[i]), float(c.mu_i[i]))
        for i in some_clients(problem)
    ]
    clients.append(("f", problem.gradient, c.L_f, c.mu_f))
    pairs = [*zip(points(problem, 3), points(problem, 4)), *zip(points(problem, 5), points(problem, 6)[::-1])]
    near = centre(problem)
    pairs += [(near, near + 1e-3 * v) for v in points(problem, 7, (1.0, 1.0))]
    for who, gradient, L, mu in clients:
        for a, b in pairs:
            change, v = gradient(b) - gradient(a), b - a
            length = float(np.linalg.norm(v))
            rounding = 1e-13 * L * (float(np.linalg.norm(a)) + float(np.linalg.norm(b))) / length
            if float(np.linalg.norm(change)) > (L * (1 + 1e-12) + rounding) * length:
                wrong.append(f"{who}: smoothness {np.linalg.norm(change) / length} > {L}")
            if float(change @ v) < (mu * (1 - 1e-9) - rounding) * length**2:
                wrong.append(f"{who}: strong convexity {change @ v / length**2} < {mu}")
    return wrong


def smoothness_is_attained_where_claimed(problem: Problem, c: Constants) -> list[str]:
    """The Hessian's extreme eigenvalues at 0 meet mu_i and L_i, with equality where the certificate says so."""

    def attained(constant: str) -> bool:
        return constant in c.certificates and c.certificates[constant].kind == "eigenvalue"

    wrong = []
    for i in some_clients(problem)[:2]:
        values = np.linalg.eigvalsh(client_hessian(problem, i, np.zeros(problem.d)))
        slack = 1e-6 * c.L_i[i]
        if values[-1] > c.L_i[i] + slack or values[0] < c.mu_i[i] - slack:
            wrong.append(f"client {i}: eigenvalues {values[0]}..{values[-1]} leave [{c.mu_i[i]}, {c.L_i[i]}]")
        if attained("L_i") and values[-1] < c.L_i[i] - slack:
            wrong.append(f"client {i}: L_i = {c.L_i[i]} is said to be attained, but the Hessian at 0 has {values[-1]}")
        if attained("mu_i") and values[0] > c.mu_i[i] + slack:
            wrong.append(f"client {i}: mu_i = {c.mu_i[i]} is said to be attained, but the Hessian at 0 has {values[0]}")
    return wrong


def lipschitz_constants_hold(problem: Problem, c: Constants) -> list[str]:
    wrong = []
    for w in [*points(problem, 8), *points(problem, 9, (1e4, 1e6))]:
        for i in range(problem.n):
            length = float(np.linalg.norm(problem.client_gradient(i, w)))
            if length > c.G_i[i] * (1 + 1e-12):
                wrong.append(f"client {i}: gradient norm {length} > G_i = {c.G_i[i]}")
    if c.G_max > c.G_record * (1 + 1e-12):
        wrong.append(f"G_max = {c.G_max} exceeds the single records' {c.G_record}")
    return wrong


def minimisers_are_stationary(problem: Problem, c: Constants) -> list[str]:
    wrong = []
    if c.w_star is not None:
        scale = 1.0 + c.L_f * float(np.linalg.norm(c.w_star))
        if float(np.linalg.norm(problem.gradient(c.w_star))) > 1e-10 * scale:
            wrong.append(f"gradient norm {np.linalg.norm(problem.gradient(c.w_star))} at w_star")
        if abs(problem.value(c.w_star) - c.f_star) > 1e-12 * (1.0 + c.f_star):
            wrong.append(f"f(w_star) = {problem.value(c.w_star)} is not f_star = {c.f_star}")
        if c.f_i_at_star is None or abs(float(np.mean(c.f_i_at_star)) - c.f_star) > 1e-12 * (1.0 + c.f_star):
            wrong.append("the mean of f_i(w_star) is not f_star")
        if float(np.min(c.f_i_at_star - c.f_i_star)) < -1e-12:
            wrong.append("some f_i(w_star) is below inf f_i")
    if c.w_i_star is not None:
        for i in some_clients(problem):
            scale = 1.0 + c.L_i[i] * float(np.linalg.norm(c.w_i_star[i]))
            if float(np.linalg.norm(problem.client_gradient(i, c.w_i_star[i]))) > 1e-10 * scale:
                wrong.append(f"client {i}: w_i_star is not stationary")
    return wrong


def infima_are_below_everything(problem: Problem, c: Constants) -> list[str]:
    """At random points and along gradient descent, whose value is also at most ``L ||w_0 - w*||^2 / (2 T)`` above."""
    wrong = []
    steps = 400
    for i in some_clients(problem)[:3]:
        floor = c.f_i_star[i] - 1e-12 * (1.0 + abs(c.f_i_star[i]))
        low = [problem.client_value(i, w) for w in points(problem, 10)]
        w = start = centre(problem)
        for _ in range(steps):
            w = w - problem.client_gradient(i, w) / c.L_i[i]
        low.append(problem.client_value(i, w))
        if min(low) < floor:
            wrong.append(f"client {i}: found {min(low)} below inf f_i = {c.f_i_star[i]}")
        if c.w_i_star is not None:
            distance = float(np.linalg.norm(start - c.w_i_star[i]))
            above = low[-1] - c.f_i_star[i]
            if above > c.L_i[i] * distance**2 / (2 * steps) + 1e-12 * (1.0 + low[-1]):
                wrong.append(f"client {i}: gradient descent ends {above} above inf f_i = {c.f_i_star[i]}")
    if min(problem.value(w) for w in points(problem, 11)) < c.f_star - 1e-12 * (1.0 + c.f_star):
        wrong.append(f"f_star = {c.f_star} is not the infimum of f")
    return wrong


def _cvxpy_infimum(model: LinearModel, clients: list[int]) -> float:
    """The infimum of the mean of some clients' objectives, by a conic solver that shares no code with the package."""
    import cvxpy as cp

    data = model.data
    w = cp.Variable((data.classes, data.x.shape[1]))
    terms = []
    for i in clients:
        own = slice(data.offsets[i], data.offsets[i + 1])
        x, y = data.x[own], data.y[own]
        weight = 1.0 / (len(x) * len(clients))
        z = x @ w.T
        if data.loss == "softmax":
            terms.append(
                weight
                * (cp.sum(cp.log_sum_exp(z, axis=1)) - cp.sum(cp.multiply(np.eye(data.classes)[y.astype(int)], z)))
            )
        elif data.loss == "logistic":
            terms.append(weight * cp.sum(cp.logistic(-cp.multiply(y, z[:, 0]))))
        elif data.loss == "huber":
            t = data.threshold[own]
            terms += [weight / 2 * cp.sum(cp.huber(z[t == v, 0] - y[t == v], v)) for v in np.unique(t)]
        else:
            terms.append(weight / 2 * cp.sum_squares(z[:, 0] - y))
    goal = cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms)) + data.ridge / 2 * cp.sum_squares(w)))
    with warnings.catch_warnings():
        # Where the infimum is not attained the iterates diverge and the status is "inaccurate"; the value is compared.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        return float(goal.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10))


def independent_infimum(problem: Problem, clients: list[int]) -> float:
    if isinstance(problem, LinearModel):
        return _cvxpy_infimum(problem, clients)
    n = len(clients)
    result = minimize(
        lambda w: sum(problem.client_value(i, w) for i in clients) / n,
        np.zeros(problem.d),
        jac=lambda w: sum(problem.client_gradient(i, w) for i in clients) / n,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return float(result.fun)


def an_independent_solver_agrees(problem: Problem, c: Constants) -> list[str]:
    wrong = []
    cases = [("f_star", list(range(problem.n)), c.f_star)]
    cases += [(f"f_i_star of client {i}", [i], float(c.f_i_star[i])) for i in some_clients(problem)[:2]]
    for what, clients, stated in cases:
        found = independent_infimum(problem, clients)
        if abs(found - stated) > 1e-7 * max(abs(found), 0.1):
            wrong.append(f"{what} is {stated}, an independent solver finds {found}")
    return wrong


def _plain_local_phase(problem: Problem, w: np.ndarray, step: np.ndarray, steps: int) -> np.ndarray:
    out = np.zeros((problem.n, *w.shape))
    for i in range(problem.n):
        for s in range(len(w)):
            at = w[s].copy()
            for _ in range(steps):
                g = problem.client_gradient(i, at)
                out[i, s] += g
                at -= step[s] * g
    return out


def kernels_agree(problem: Problem, c: Constants) -> list[str]:
    """The numerics of the CPU and array engines (NumPy in CuPy's place) agree with the plain methods."""
    wrong = []
    rng = np.random.default_rng(12)
    replicates = 3
    w = centre(problem) + rng.standard_normal((replicates, problem.d))
    step = np.array([0.1, 0.5, 1.0]) / c.L_max
    updates = _plain_local_phase(problem, w, step, 3)
    norms = np.linalg.norm(updates, axis=2).T
    weights = rng.standard_normal((replicates, problem.n))
    threshold = np.median(norms, axis=1)
    clipped = np.minimum(1.0, threshold[:, None] / np.maximum(norms, 1e-300))
    own = centre(problem) + rng.standard_normal((problem.n, replicates, problem.d))
    values = np.array([[problem.client_value(i, v) for i in range(problem.n)] for v in w])
    some = rng.integers(
        0, problem.n, (2, replicates)
    )  # clients that take part: others in each replicate, perhaps one twice
    slots = centre(problem) + rng.standard_normal((2, replicates, problem.d))
    expected = {
        "updates": updates,
        "norms": norms,
        "combine": np.einsum("si,isk->sk", weights, updates),
        "clipped": np.einsum("si,isk->sk", weights * clipped, updates),
        "client_gradients": np.array([[problem.client_gradient(i, v) for v in own[i]] for i in range(problem.n)]),
        "gradients_of": np.array(
            [[problem.client_gradient(int(some[a, s]), slots[a, s]) for s in range(replicates)] for a in range(2)]
        ),
        "gradient": np.array([problem.gradient(v) for v in w]),
        "client_excess": np.maximum(values - c.f_i_star, 0.0),
        "suboptimality": np.maximum(values.mean(axis=1) - c.f_star, 0.0),
    }
    if isinstance(problem, LinearModel):
        sums = [[record_sum(problem.data, int(some[a, s]), slots[a, s], None, "median") for s in range(replicates)]
                for a in range(2)]  # fmt: skip
        expected["record_sums"] = np.array([[total for total, _ in row] for row in sums])
        expected["record_lengths"] = np.array([[length for _, length in row] for row in sums])
        expected["records"] = np.diff(problem.data.offsets)
    for engine in (kernels.select("cpu"), ArrayEngine(np, "array", "NumPy as stand-in")):
        k: Any = problem.kernels(engine)
        phase = k.local_phase(engine.asarray(w), engine.asarray(step), 3)
        found = {
            "updates": phase.updates(),
            "norms": phase.lengths,
            "combine": phase.combine(engine.asarray(weights)),
            "clipped": phase.bounded_combine(engine.asarray(weights), engine.asarray(threshold), False),
            "client_gradients": k.client_gradients(engine.asarray(own)),
            "gradients_of": k.gradients_of(engine.asarray(slots), engine.xp.asarray(some)),
            "gradient": k.gradient(engine.asarray(w)),
            "client_excess": k.client_excess(engine.asarray(w)),
            "suboptimality": k.suboptimality(engine.asarray(w)),
        }
        if isinstance(problem, LinearModel):
            found["record_sums"], found["record_lengths"] = k.record_sums(
                engine.asarray(slots), engine.xp.asarray(some), None, "median"
            )
            found["records"] = k.records
        for what, array in expected.items():
            if found[what].shape != array.shape:
                wrong.append(f"{engine.name}: {what} has shape {found[what].shape}, not {array.shape}")
                continue
            scale = float(np.max(np.abs(array))) + float(np.max(np.abs(values))) * what.startswith(("client_e", "sub"))
            error = float(np.max(np.abs(engine.to_host(found[what]) - array)))
            if not error <= 1e-12 * scale + 1e-14:
                wrong.append(f"{engine.name}: {what} differs by {error} at scale {scale}")
    return wrong


LAWS: list[Law] = [
    gradients_are_derivatives,
    smoothness_and_convexity_hold,
    smoothness_is_attained_where_claimed,
    lipschitz_constants_hold,
    minimisers_are_stationary,
    infima_are_below_everything,
    an_independent_solver_agrees,
    kernels_agree,
]


# --- tests -----------------------------------------------------------------------------------------------------------


def test_every_family_has_an_example() -> None:
    missing = set(problems.families()) - {kind for kind, _ in INSTANCES}
    assert not missing, f"families without EXAMPLES that have no defaults either: {sorted(missing)}"
    assert set(problems.examples()) <= set(problems.families())


@pytest.mark.exhaustive
@every_instance
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(name: str, law: Law) -> None:
    problem = problem_of(name)
    assert law(problem, problem.constants) == []


@every_instance
def test_the_same_parameters_give_the_same_problem(name: str) -> None:
    kind, parameters = INSTANCES[NAMES.index(name)]
    first, again = problem_of(name), problems.make(kind, **json.loads(json.dumps(parameters)))
    w = points(first, 13)[1]
    assert first.value(w) == again.value(w)
    assert (first.n, first.d) == (again.n, again.d)
    json.dumps(first.describe(), allow_nan=False)


@every_instance
def test_certificates_state_small_errors(name: str) -> None:
    c = problem_of(name).constants
    for constant in ("f_star", "f_i_star"):
        assert 0.0 <= c.certificates[constant].error <= 1e-10 * max(1.0, c.f_star), constant
    assert (c.w_star is None) == (c.f_i_at_star is None)


LOGISTIC = {"kind": "logistic-synthetic", "clients": 3, "dimension": 2, "records": 25, "label_noise": 0.3}
SCALAR = {"kind": "huber-scalar", "minimisers": [0.0, 1.0, 5.0], "thresholds": [1.0, 0.5, 2.0]}

FALSE_CONSTANTS: list[tuple[str, dict[str, Any], Law, Callable[[Constants], dict[str, Any]]]] = [
    ("low L_i", LOGISTIC, smoothness_is_attained_where_claimed, lambda c: {"L_i": 0.9 * c.L_i}),
    ("high L_i", LOGISTIC, smoothness_is_attained_where_claimed, lambda c: {"L_i": 1.1 * c.L_i}),
    ("low L_i, pairs", SCALAR, smoothness_and_convexity_hold, lambda c: {"L_i": 0.9 * c.L_i}),
    ("low L_f", LOGISTIC, smoothness_and_convexity_hold, lambda c: {"L_f": 0.2 * c.L_f}),
    ("high mu_i", LOGISTIC, smoothness_and_convexity_hold, lambda c: {"mu_i": c.mu_i + 0.1 * c.L_i}),
    ("high mu_f", LOGISTIC, smoothness_and_convexity_hold, lambda c: {"mu_f": c.mu_f + 0.1 * c.L_f}),
    ("low G_i", SCALAR, lipschitz_constants_hold, lambda c: {"G_i": 0.99 * c.G_i}),
    ("low G_record", SCALAR, lipschitz_constants_hold, lambda c: {"G_record": 0.99 * c.G_record}),
    ("w_star", LOGISTIC, minimisers_are_stationary, lambda c: {"w_star": c.w_star + 1e-7}),
    ("f_star", LOGISTIC, minimisers_are_stationary, lambda c: {"f_star": c.f_star + 1e-10}),
    ("high f_star", LOGISTIC, an_independent_solver_agrees, lambda c: {"f_star": c.f_star + 1e-6}),
    ("high f_i_star", LOGISTIC, infima_are_below_everything, lambda c: {"f_i_star": c.f_i_star + 1e-3}),
    ("low f_i_star", LOGISTIC, infima_are_below_everything, lambda c: {"f_i_star": c.f_i_star - 1e-1}),
    ("low f_i_star, solver", LOGISTIC, an_independent_solver_agrees, lambda c: {"f_i_star": c.f_i_star - 1e-6}),
]


@pytest.mark.parametrize(
    ("sample", "law", "fault"), [f[1:] for f in FALSE_CONSTANTS], ids=[f[0] for f in FALSE_CONSTANTS]
)
def test_laws_catch_false_constants(
    sample: dict[str, Any], law: Law, fault: Callable[[Constants], dict[str, Any]]
) -> None:
    problem = problems.make(**sample)
    assert law(problem, problem.constants) == []
    assert law(problem, dataclasses.replace(problem.constants, **fault(problem.constants)))


def test_laws_catch_a_wrong_gradient_and_a_wrong_kernel() -> None:
    model = problems.make("logistic-synthetic", clients=2, dimension=2, records=25, label_noise=0.3)
    assert isinstance(model, LinearModel)

    class Wrong(LinearModel):
        def client_gradient(self, i: int, w: np.ndarray) -> np.ndarray:
            return super().client_gradient(i, w) * (1.0 + 1e-4)

    wrong = Wrong(model.data)
    assert gradients_are_derivatives(wrong, model.constants)
    assert kernels_agree(wrong, model.constants)
