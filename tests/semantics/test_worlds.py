"""One description of a round in every world: exact moments, all functions of a class, and plain draws agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sampled_world import SampledWorld
from short_forms import two_sided

from dpfl_theory.algorithms.error_feedback import InformedClip21, InformedNormEC
from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.algorithms.scaffnew import DPScaffNew, ScaffNew, UnclippedScaffNew
from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, TwoSidedFedAvg
from dpfl_theory.checks.worst_case import solve
from dpfl_theory.core import Performance
from dpfl_theory.errors import InputError
from dpfl_theory.problems.quadratic import from_matrices
from dpfl_theory.semantics.base import SKEWED, RunIndex, Vector, World, average, expected, law
from dpfl_theory.semantics.moments import Moments
from dpfl_theory.semantics.operations import SAMPLINGS, RoundResult, draws, run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.simulation import Simulation, simulate

F = Fraction


# DP-ScaffNew

CURVATURES, OFFSETS = (F(1), F(1, 2), F(1, 4)), (F(1), F(-2), F(1, 3))


def from_zero(x: Vector, zero: Vector, clients: int = 3) -> Any:
    """ScaffNew's start: the server's vector, and the clients' vectors and control variates."""
    return x, ((x,) * clients, (zero,) * clients)


def iterations(world: World, start: Any, eta: Any, p: Any, T: int, star: Vector, sigma: int = 1) -> Mapping[str, Any]:
    now, algorithm = start, DPScaffNew(eta=eta, p=p, sigma=sigma)
    for t in range(T):
        now = run_round(algorithm, world, *now, t=t).following
    x, (points, controls) = now
    shifts = [world.gradient(i, star) for i in range(world.clients)]
    distance = sum((world.square(x - star) for x in points[1:]), world.square(points[0] - star))
    control = sum(world.square(h - g) for h, g in zip(controls, shifts))
    return {"distance": distance, "control": control, "server": world.square(x - star)}


@pytest.mark.parametrize("T", [1, 2, 3])
def test_scaffnew_has_the_moments_of_its_linear_recursion(T: int) -> None:
    """An iteration of second moments as matrices, written for this test, against the enumeration of coins with errors
    that are never drawn."""
    world = Quadratics(CURVATURES, OFFSETS, {"noise": F(1, 5)})
    eta, p, star = F(1, 2), F(1, 3), world.minimiser
    start = from_zero(Vector(F(2)), world.zero)
    found = expected(world, lambda: iterations(world, start, eta, p, T, star))

    n = 3
    shifts = [a * star.known - b for a, b in zip(CURVATURES, OFFSETS)]
    m = np.array([F(2) - star.known] * (n + 1) + [-h for h in shifts], dtype=object)  # x, x_i, h_i less their limits
    moments = np.outer(m, m)
    one, zero = F(1), F(0)
    quiet = np.full((2 * n + 1, 2 * n + 1), zero, dtype=object)
    quiet[0, 0] = one
    for i in range(n):
        quiet[1 + i, 1 + i], quiet[1 + i, 1 + n + i] = 1 - eta * CURVATURES[i], eta
        quiet[1 + n + i, 1 + n + i] = one
    loud, noise = np.full_like(quiet, zero), np.full((2 * n + 1, n), zero, dtype=object)
    for row in range(n + 1):
        loud[row, 1 : n + 1], noise[row] = F(1, n), F(1, n)
    for i in range(n):
        loud[1 + n + i, 1 + n + i] = one
        for j in range(n):
            loud[1 + n + i, 1 + j] = noise[1 + n + i, j] = p / eta * (F(1, n) - (i == j))
    for _ in range(T):
        silent = quiet @ moments @ quiet.T
        moments = (1 - p) * silent + p * (loud @ silent @ loud.T + F(1, 5) * noise @ noise.T)
    assert found["server"] == moments[0, 0]
    assert found["distance"] == sum(moments[i, i] for i in range(1, n + 1))
    assert found["control"] == sum(moments[i, i] for i in range(n + 1, 2 * n + 1))


def test_a_fault_in_the_round_changes_the_moments() -> None:
    """Noise that the control variates do not see."""
    world = Quadratics(CURVATURES, OFFSETS, {"noise": F(1, 5)})
    start = from_zero(Vector(F(2)), world.zero)

    def right() -> Mapping[str, Any]:
        return iterations(world, start, F(1, 2), F(1), 1, world.minimiser)

    def wrong() -> Mapping[str, Any]:
        return iterations(world, start, F(1, 2), F(1), 1, world.minimiser, sigma=0)

    assert expected(world, right)["control"] - expected(world, wrong)["control"] == 4 * F(1, 5) * 2


@pytest.mark.slow
def test_draws_have_the_exact_moments() -> None:
    """Of 4000 samples every mean is within five standard errors: a false alarm once in 600 000."""
    world = Quadratics(CURVATURES, OFFSETS, {"noise": F(1, 5)})
    star, eta, p, T = world.minimiser, F(1, 2), F(1, 3), 3
    start = from_zero(Vector(F(2)), world.zero)
    exact = expected(world, lambda: iterations(world, start, eta, p, T, star))

    def number(v: Vector) -> Vector:
        return Vector(np.array([float(v.known)]))

    gradients = [lambda x, a=float(a), b=float(b): a * x - b for a, b in zip(CURVATURES, OFFSETS)]
    begin = from_zero(number(start[0]), number(world.zero))
    drawn = SampledWorld(gradients, 1, {"noise": 0.2}, seed=5)
    found = [expected(drawn, lambda: iterations(drawn, begin, 0.5, 1 / 3, T, number(star))) for _ in range(4000)]
    for name, value in exact.items():
        samples = np.array([f[name] for f in found])
        assert abs(samples.mean() - float(value)) < 5 * samples.std() / np.sqrt(len(samples)), name


def contraction(mu: float, p: float, n: int, eta: float) -> Performance:
    """E psi_{t+1} against max(1 - mu eta, 1 - p^2) psi_t, over all functions, without noise."""
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothStronglyConvexFunction

    problem = PEP()
    functions = [problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=1.0) for _ in range(n)]
    world = FunctionClass(problem, functions)
    star, rest, last = world.zero, world.zero, world.zero
    shifts = []
    for i in range(n - 1):
        shifts.append(Vector(Point()))
        rest, last = rest - world.gradient(i, star), last - shifts[-1]
    functions[-1].add_point((star.known, rest.known, Expression()))
    points = tuple(Vector(problem.set_initial_point()) for _ in range(n))
    state, algorithm = (points, (*shifts, last)), ScaffNew(eta=eta, p=p)

    def psi(state: Any) -> Any:
        points, controls = state
        squares = [world.square(x - star) for x in points]
        squares += [(eta / p) ** 2 * world.square(h - world.gradient(i, star)) for i, h in enumerate(controls)]
        return sum(squares[1:], squares[0])

    after = expected(world, lambda: {"psi": psi(run_round(algorithm, world, star, state).state)})["psi"]
    return Performance(problem, after, max(1 - mu * eta, 1 - p**2) * psi(state), "psi")


@pytest.mark.parametrize(("mu", "p", "n", "eta", "tight"), [(0.25, 0.5, 2, 1.0, True), (0.1, 0.9, 1, 0.5, False)])
def test_scaffnew_contracts_over_all_functions(mu: float, p: float, n: int, eta: float, tight: bool) -> None:
    """Where the control variates rule, 1 - p^2 is attained; elsewhere the truth is (1 - mu eta)^2."""
    found = solve(contraction(mu, p, n, eta))
    truth = max((1 - mu * eta) ** 2, 1 - p**2) / max(1 - mu * eta, 1 - p**2)
    assert found.dual == pytest.approx(truth, rel=1e-5)
    assert (truth == 1.0) == tight


# DP-SCAFFOLD and DP-FedAvg


def moments(world: World, state: RoundResult, star: Vector, count: int, K: int, size: int, eta: Any, eta_g: Any) -> Any:
    x = state.x
    for t in range(count):
        x = state.x
        kind = TwoSidedFedAvg if state.state is None else Scaffold
        algorithm = kind(local_step=eta, global_step=eta_g, local_steps=K)
        state = run_round(algorithm, world, *state.following, t=t, size=size, errors=True, unseen=True)
    drift = [world.square(y - x) for path in state.paths for y in path[1:]]
    return {
        "move": world.square(state.x - x),
        "distance": world.square(state.x - star),
        "drift": sum(drift[1:], drift[0]) / len(drift),
    }


def warm(world: Quadratics, x: Vector, K: int) -> tuple[Vector, ...]:
    """Control variates that are means of K noisy gradients at x."""
    return tuple(
        average([world.gradient(i, x) + world.error("error", "warm", i, k) for k in range(K)])
        for i in range(world.clients)
    )


@pytest.mark.parametrize("control", [True, False])
@pytest.mark.parametrize("count", [1, 2])
def test_scaffold_has_the_moments_of_affine_forms(control: bool, count: int) -> None:
    """Against a transcription with rows of coefficients, written for this test."""
    a, b = (F(2), F(-1, 2), F(1)), (F(1), F(3), F(0))
    world = Quadratics(a, b, {"error": F(1, 3)})
    K, size, eta, eta_g, start = 2, 2, F(1, 10), F(3, 2), Vector(F(2))

    def run() -> Mapping[str, Any]:
        own = warm(world, start, K)
        state = RoundResult(start, (average(own), own) if control else None)
        return moments(world, state, world.minimiser, count, K, size, eta, eta_g)  # type: ignore[no-any-return]

    assert expected(world, run) == by_rows(a, b, control, count, K, size, eta, eta_g, start.known)


def by_rows(
    a: Sequence[Fraction], b: Sequence[Fraction], control: bool, count: int, K: int, size: int,
    eta: Fraction, eta_g: Fraction, start: Fraction,
) -> dict[str, Fraction]:  # fmt: skip
    from itertools import combinations

    M, width = len(a), 1 + len(a) * K * (1 + count)
    star = sum(b, F(0)) / sum(a, F(0))

    def unit(j: int) -> Any:
        return np.array([F(int(k == j)) for k in range(width)], dtype=object)

    def square(v: Any) -> Fraction:
        return v[0] ** 2 + F(1, 3) * sum(v[1:] ** 2, F(0))  # type: ignore[no-any-return]

    x = start * unit(0)
    own = [sum(a[i] * x - b[i] * unit(0) + unit(1 + i * K + k) for k in range(K)) / K for i in range(M)]
    states, out = [(F(1), x, own)], {}
    for t in range(count):
        following, out = [], dict.fromkeys(("move", "distance", "drift"), F(0))
        for weight, x, own in states:
            c, ends, drift = sum(own) / M, [], F(0)
            for i in range(M):
                y = x
                for k in range(K):
                    g = a[i] * y - b[i] * unit(0) + unit(1 + (1 + t) * M * K + i * K + k)
                    y = y - eta * (g - own[i] + c if control else g)
                    drift += square(y - x) / (M * K)
                ends.append(y)
            out["drift"] += weight * drift
            cohorts = list(combinations(range(M), size))
            for cohort in cohorts:
                share = weight / len(cohorts)
                after = x + eta_g * sum(ends[i] - x for i in cohort) / size
                out["move"] += share * square(after - x)
                out["distance"] += share * square(after - star * unit(0))
                new = [own[i] - c + (x - ends[i]) / (K * eta) if i in cohort else own[i] for i in range(M)]
                following.append((share, after, new))
        states = following
    return out


def test_repeated_rounds_have_the_moments_of_their_enumeration() -> None:
    """Cohorts, errors, and control variates that start with errors: two rounds moved on as a matrix, against all draws
    of both; and the product of two forms with errors of their own."""
    world = Quadratics((F(2), F(-1, 2), F(1)), (F(1), F(3), F(0)), {"error": F(1, 3)})
    K, size, eta, eta_g, start = 2, 2, F(1, 10), F(3, 2), Vector(F(2))
    own = warm(world, start, K)
    first = RoundResult(start, (average(own), own))
    enumerated = expected(world, lambda: moments(world, first, world.minimiser, 2, K, size, eta, eta_g))

    algorithm = Scaffold(eta_l=eta, eta_g=eta_g, K=K)

    def round_(state: RoundResult) -> RoundResult:
        return RoundResult(*run_round(algorithm, world, *state.following, size=size, errors=True).following)

    found = Moments.from_state(world, first).after(round_, 2)
    assert found.square(found.state.x - world.minimiser) == enumerated["distance"]
    noisy = found.state.x + world.error("error")
    assert found.square(noisy) == found.square(found.state.x) + F(1, 3)
    assert found.product(noisy, found.state.x) == found.square(found.state.x)
    with pytest.raises(ValueError, match="returns 8 vectors"):
        found.after(lambda state: replace(state, paths=((state.x, state.x, state.x),)))


# Rounds against the algorithms that simulations run


CENTRES = np.array([[2.0, -1.0], [0.0, 3.0], [-4.0, 1.0]])
MATRICES = np.array([[[1.0, 0.2], [0.2, 0.5]], [[0.25, 0.0], [0.0, 1.0]], [[0.6, -0.3], [-0.3, 0.4]]])


def plain() -> tuple[Any, SampledWorld]:
    """The problem f_i(w) = ||A_i (w - c_i)||^2/2, and its world."""
    problem = from_matrices(MATRICES, CENTRES)
    gradients = [lambda x, i=i: problem.client_gradient(i, x) for i in range(3)]
    return problem, SampledWorld(gradients, 2, {}, seed=1)


def simulated(algorithm: Any, problem: Any, rounds: int) -> Any:
    return simulate(algorithm, problem, rounds, 1, 0, start=np.array([5.0, -3.0]), device="cpu").final[0]


@pytest.mark.parametrize("threshold", [None, 0.7])
def test_fedavg_is_the_algorithm_that_runs(threshold: float | None) -> None:
    problem, world = plain()
    x, fedavg = Vector(np.array([5.0, -3.0])), DPTwoSidedFedAvg(eta_l=0.3, eta_g=1.5, Q=3, c=threshold, sigma=0)
    for _ in range(4):
        x = run_round(fedavg, world, x).x
    algorithm = two_sided(0.3, global_step=1.5, local_steps=3, threshold=threshold)
    assert x.known == pytest.approx(simulated(algorithm, problem, 4), rel=1e-12)


@pytest.mark.parametrize("threshold", [None, 0.7])
def test_scaffnew_is_the_algorithm_that_runs(threshold: float | None) -> None:
    problem, world = plain()
    own = {"eta": 0.3, "p": 1, "sigma": 0}
    scaffnew = DPScaffNew(**own, C=threshold) if threshold else UnclippedScaffNew(**own)
    now = Vector(np.array([5.0, -3.0])), None
    for _ in range(4):
        now = run_round(scaffnew, world, *now).following
    assert now[0].known == pytest.approx(simulated(Simulation(scaffnew), problem, 4), rel=1e-12)


def test_scaffold_is_the_algorithm_that_runs() -> None:
    problem, world = plain()
    now, scaffold = (Vector(np.array([5.0, -3.0])), None), Scaffold(eta_l=0.3, eta_g=1.5, K=3)
    for _ in range(4):
        now = run_round(scaffold, world, *now).following
    assert now[0].known == pytest.approx(simulated(Simulation(scaffold), problem, 4), rel=1e-12)


@pytest.mark.parametrize("kind", [DPFedAvg, DPNormFedAvg], ids=["clipped", "normalised"])
def test_das2022_fedavg_is_the_algorithm_that_runs(kind: type[DPFedAvg]) -> None:
    problem, world = plain()
    x, fedavg = Vector(np.array([5.0, -3.0])), kind(eta=0.3, beta=0.2, E=3, C=0.7, sigma=0)
    for _ in range(4):
        x = run_round(fedavg, world, x).x
    assert x.known == pytest.approx(simulated(Simulation(fedavg), problem, 4), rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("kind", [InformedClip21, InformedNormEC])
def test_error_feedback_is_the_algorithm_that_runs(kind: Any, share: float) -> None:
    problem, world = plain()
    x = Vector(np.array([5.0, -3.0]))
    v_i = tuple(share * world.gradient(i, x) for i in range(3))
    now: Any = x, (average(v_i), v_i)
    own = {"tau": 0.4} if kind is InformedClip21 else {"alpha": 0.2, "beta": 0.5}
    run = kind(gamma=0.3, **own, sigma=0, memory=share)
    for _ in range(6):
        now = run_round(run, world, *now).following
    assert now[0].known == pytest.approx(simulated(Simulation(run), problem, 6), rel=1e-12)


def test_the_noise_of_messages_stays_in_the_estimate_alone() -> None:
    """After one round of Clip21 x moves by gamma v: of its variance V/n, gamma^2 V/n is in x, and none in v_i."""
    world = Quadratics(CURVATURES, OFFSETS, {"noise": F(1, 5)})

    def run(noise: bool) -> Mapping[str, Any]:
        after = run_round(InformedClip21(gamma=F(1, 2), tau=F(1), sigma=int(noise), memory=0), world, Vector(F(2)))
        estimate, memories = after.state
        return {"x": world.square(after.x), "v": world.square(estimate), "v_i": world.square(memories[0])}

    loud, quiet = (expected(world, lambda noise=noise: run(noise)) for noise in (True, False))
    assert [loud[k] - quiet[k] for k in ("x", "v", "v_i")] == [F(1, 60), F(1, 15), 0]


def test_a_zero_message_is_normalised_to_zero() -> None:
    world = Quadratics([1], [0])
    assert world.normalised(world.zero) == world.zero
    assert world.normalised(Vector(F(-3)), F(1)) == Vector(F(-3, 4))


def test_a_length_that_was_told_bounds_a_message() -> None:
    from PEPit import PEP, Point

    world = FunctionClass(PEP(), [])
    v = Vector(Point())
    with pytest.raises(TypeError, match="declare its length"):
        world.bounded(v, 1)
    world.set_length(v, 4)
    found = [
        w.known.decomposition_dict[v.known] for w in (world.bounded(v, 1), world.bounded(v, 5), world.normalised(v, 4))
    ]
    assert found == [1 / 4, 1, 1 / 8]


@pytest.mark.parametrize("kind", [DPFedAvg, DPNormFedAvg])
def test_a_description_that_bounds_messages_of_unknown_length_is_refused_in_words(kind: Any) -> None:
    from PEPit import PEP

    problem = PEP()
    world = FunctionClass(problem, declared(problem, "convex", 1))
    with pytest.raises(InputError, match="not linear forms, as worst cases need"):
        run_round(kind(eta=0.5, beta=0.5, E=1, C=1.0, sigma=0), world, Vector(problem.set_initial_point()))


def test_clients_outside_the_cohort_take_steps_only_where_asked_and_each_run_only_once() -> None:
    world, algorithm = Quadratics([1, 2], [0, 0], {"error": 1}), TwoSidedFedAvg(eta_l=F(1, 2), eta_g=1, Q=2)
    for unseen, sampling, taken in ((False, "without", [3, 0]), (True, "without", [3, 3]), (False, "shared", [3, 0])):
        world.restart([0])
        size = 2 if sampling == "shared" else 1
        found = run_round(algorithm, world, Vector(F(4)), size=size, errors=True, unseen=unseen, sampling=sampling)
        assert [len(path) for path in found.paths] == taken
        assert found.cohort == (0,) * size
        assert found.x == found.paths[0][-1]
        assert set(found.x.errors) == {("error", 0, 0, 0), ("error", 0, 0, 1)}


@pytest.mark.parametrize("n", [1, 2, 5])
def test_clients_that_join_independently_are_the_mean_and_errors(n: int) -> None:
    """das2022 line 3 at r = 1: the second moment over all 2^n cohorts is that of the mean and an error of every message
    with n (1 - 1/n) of its square."""
    messages, x = [Vector(F(k * k - 3)) for k in range(n)], Vector(F(7))
    world = Quadratics([1] * n, [0] * n, lambda name: (n - 1) * messages[name[1]].known ** 2)

    def counted() -> Mapping[str, Any]:
        heard = [m for m in messages if world.coin(F(1, n))]
        return {"after": world.square(sum(heard, x))}

    errors = average([m + world.error("noise", i) for i, m in enumerate(messages)])
    world.restart([])
    assert expected(world, counted)["after"] == world.square(x + errors)


def test_errors_that_are_looked_at_fall_on_two_values() -> None:
    """A clipped message: with |2 + e| and e = +-1 clipped to 3/2, the mean is (3/2 + 1)/2."""
    world = Quadratics([1], [0], {"error": 1})

    def run() -> Mapping[str, Any]:
        sent = world.bounded(Vector(F(2)) + world.error("error"), F(3, 2))
        again = world.substitute_known(Vector(F(0)) + world.error("error"))
        return {"mean": sent.known, "square": world.square(sent), "same": sent.known * again.known}

    assert expected(world, run) == {"mean": F(5, 4), "square": (F(9, 4) + 1) / 2, "same": (F(3, 2) - 1) / 2}
    two = Quadratics([1], [0], {"error": 2})
    with pytest.raises(ValueError, match="is not the square of a fraction"):
        expected(two, lambda: {"x": two.bounded(two.error("error"), F(1)).known})


def test_a_skewed_error_has_mean_zero_variance_one_and_its_own_values() -> None:
    """Of e = -1/2 with probability 4/5 and 2 with 1/5: E e = 0, E e^2 = 1, E e^3 = 3/2; and |2 + 2 e| bounded by 1 is 1
    in both cases."""
    world = Quadratics([1], [0], {"error": 4}, SKEWED)

    def run() -> Mapping[str, Any]:
        e = world.resolved(world.error("error")).known / 2
        sent = world.bounded(Vector(F(2)) + world.error("error"), F(1)).known
        return {"first": e, "second": e**2, "third": e**3, "sent": sent}

    assert expected(world, run) == {"first": 0, "second": 1, "third": F(3, 2), "sent": 1}


def test_a_cohort_with_replacement_draws_every_tuple_equally_often() -> None:
    world, seen = Quadratics([1] * 3, [0] * 3), dict[Any, Fraction]()

    def run() -> Mapping[str, Any]:
        cohort = world.cohort(2, replacement=True)
        seen[cohort] = seen.get(cohort, F(0)) + world.weight
        return {"distinct": len(set(cohort))}

    assert expected(world, run) == {"distinct": 2 * F(6, 9) + F(3, 9)}
    assert set(seen.values()) == {F(1, 9)}
    assert len(seen) == 9
    drawn = SampledWorld([lambda x: x] * 3, 1, {}, seed=2)
    found = [drawn.cohort(2, replacement=True) for _ in range(9000)]  # 1000 each, within five deviations of 30
    assert all(abs(found.count(members) - 1000) < 150 for members in seen)


def test_draws_of_a_client_are_runs_of_their_own_or_the_same_run() -> None:
    """Two draws of one client with errors of variance 1: their mean has the variance 1/2 where each draw runs, and 1
    where the client runs once."""
    world = Quadratics([1], [0], {"error": 1})
    for sampling, due in (("anew", F(1, 2)), ("shared", F(1))):

        def run(sampling: str = sampling) -> Mapping[str, Any]:
            mean = average([world.error("error", i, run=i.run) for i in draws(world, 2, sampling)])
            return {"square": world.square(mean)}

        assert expected(world, run)["square"] == due
    assert law(("error", 0, RunIndex(1))) == ("error", 0)
    assert law(("error", 0, 1)) == ("error", 0, 1)
    with pytest.raises(ValueError, match="is not one of"):
        draws(world, 1, "twice")


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("threshold", [None, F(1, 5)])
def test_a_round_with_replacement_has_the_moments_of_its_enumeration(sampling: str, threshold: Fraction | None) -> None:
    """Two local steps with skewed errors, and two draws of two clients: E x and E x^2 against sums over cohorts and
    errors that are written for this test."""
    from itertools import product

    a, b, x, eta, eta_g = (F(2), F(-1, 2)), (F(1), F(3)), F(1), F(1, 10), F(3, 2)
    world = Quadratics(a, b, {"error": 4}, SKEWED)

    algorithm = DPTwoSidedFedAvg(eta_l=eta, eta_g=eta_g, Q=2, c=threshold, sigma=0)

    def run() -> Mapping[str, Any]:
        after = run_round(algorithm, world, Vector(x), size=2, errors=True, sampling=sampling)
        return {"first": world.substitute_known(after.x).known, "second": world.square(after.x)}

    def message(i: int, noise: tuple[Fraction, ...]) -> Fraction:
        y = x
        for n in noise:
            y -= eta * (a[i] * y - b[i] + 2 * n)
        return y - x if threshold is None else max(-threshold, min(threshold, y - x))

    values = {F(-1, 2): F(4, 5), F(2): F(1, 5)}
    first = second = F(0)
    cohorts = [(0, 1), (1, 0)] if sampling == "without" else list(product(range(2), repeat=2))
    for i, j in cohorts:
        for noise in product(values, repeat=4):
            weight = F(1, len(cohorts))
            for n in noise:
                weight *= values[n]
            other = noise[:2] if sampling == "shared" and i == j else noise[2:]
            end = x + eta_g * (message(i, noise[:2]) + message(j, other)) / 2
            first, second = first + weight * end, second + weight * end**2
    assert expected(world, run) == {"first": first, "second": second}


def test_what_is_known_by_its_moments_has_the_declared_variance() -> None:
    world = Quadratics([1], [0], {"error": 4})
    world.declare("error", 1, variance=F(9))
    pair = world.error("error", 1) + world.error("error", 1, run=1) + world.error("error", 2)
    assert expected(world, lambda: {"square": world.square(pair)}) == {"square": 9 + 9 + 4}


def test_a_bounded_message_over_functions_is_a_multiple_for_each_way_of_its_errors() -> None:
    """E of (x + e) times 1 where e = n and 1/2 where e = -n: (3/4) x + n/4, whose length over all x and n of length 1
    at most is 1; and twice the first factor makes it 7/4."""
    from PEPit import PEP, Point
    from PEPit.functions import SmoothConvexFunction

    for factor, due in ((1.0, 1.0), (2.0, (1.25 + 0.75) ** 2)):
        problem, n = PEP(), Point()
        f = problem.declare_function(SmoothConvexFunction, L=1.0)
        world = FunctionClass(problem, [f], sizes={("error",): n})
        x = Vector(problem.set_initial_point())
        problem.add_constraint(n**2 <= world.square(x))
        ways = {(1.0,): factor, (-1.0,): 0.5}

        def run(world: FunctionClass = world, x: Vector = x, ways: Any = ways) -> Mapping[str, Any]:
            return {"sent": world.bounded(x + world.error("error"), ways).known}

        sent = expected(world, run)["sent"]
        found = solve(Performance(problem, sent**2, world.square(x), "the mean message"))
        assert found.dual == pytest.approx(due, rel=1e-5)
        assert world.variance(("error",)).decomposition_dict == (n**2).decomposition_dict
    with pytest.raises(TypeError, match="is not a linear form"):
        world.bounded(x, 1.0)


def test_every_choice_is_made_once() -> None:
    world = Quadratics([1, 1, 1], [0, 0, 0])
    seen = []

    def run() -> Mapping[str, Any]:
        path = (world.coin(F(1, 3)), world.cohort(2) if world.coin(F(1, 2)) else None)
        seen.append((path, world.weight))
        return {"one": 1}

    assert expected(world, run) == {"one": 1}
    assert len(seen) == len({path for path, _ in seen}) == 8
    assert sum(weight for _, weight in seen) == 1


def test_local_steps_without_errors_look_at_a_new_gradient_each() -> None:
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction

    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction, L=1.0)
    world = FunctionClass(problem, [f])
    x = Vector(problem.set_initial_point())
    fedavg = TwoSidedFedAvg(eta_l=0.1, eta_g=1.0, Q=3)
    expected(world, lambda: {"move": world.square(run_round(fedavg, world, x).x - x)})
    assert len(f.list_of_points) == 3


def test_an_error_before_a_gradient_is_enumerated_over_functions() -> None:
    """E (y - eta f'(y))^2 for y = x + e is at most (1 - eta mu)^2 (x^2 + V), which quadratics attain."""
    from PEPit import PEP, Expression
    from PEPit.functions import SmoothStronglyConvexFunction

    problem, variance = PEP(), Expression()
    f = problem.declare_function(SmoothStronglyConvexFunction, mu=0.5, L=1.0)
    problem.add_constraint(variance >= 0)
    world = FunctionClass(problem, [f], variance)
    f.add_point((world.zero.known, world.zero.known, Expression()))
    x = Vector(problem.set_initial_point())

    def run() -> Mapping[str, Any]:
        y = x + world.error("e")
        return {"after": world.square(world.resolved(y) - 0.5 * world.gradient(0, y))}

    found = solve(Performance(problem, expected(world, run)["after"], world.square(x) + variance, "one step"))
    assert found.dual == pytest.approx(0.75**2, rel=1e-5)


def test_the_mean_of_functions_has_its_minimiser_at_the_origin_and_an_excess_above_its_bound() -> None:
    """||grad f(x)||^2 <= 2 (f(x) - f(0)) over two convex functions, neither of which need be least at the origin, and
    tight; so with f* of which nothing is known but f >= f* at x and at x - grad f(x); without the second, refuted."""
    from PEPit import PEP

    def largest(known: str) -> Any:
        problem = PEP()
        world = FunctionClass(problem, declared(problem, "convex", 2))
        x = Vector(problem.set_initial_point())
        slope = world.mean_gradient(x)
        if known == "minimiser":
            gap = world.mean_value(x) - world.mean_value(world.minimiser_at_origin())
        else:
            gap = world.excess(x)
        if known == "a step further":
            world.excess(x - slope)
        return solve(Performance(problem, world.square(slope), 2 * gap, known))

    assert largest("minimiser").dual == pytest.approx(1, abs=1e-6)
    assert largest("a step further").dual == pytest.approx(1, abs=1e-6)
    assert largest("nothing").refuted is not None
