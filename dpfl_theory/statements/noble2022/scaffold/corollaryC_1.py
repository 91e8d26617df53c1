"""noble2022 Corollary C.1: how far gradients and control variates spread around their expectations in one round, given
the cohort, x^{t-1} and the past.

Checked on quadratics, over all draws of users' records, and for one user in the worst case. There are proofs for all M,
lM and K, each of which ends in the coefficients of ``sides()``, and counterexamples to the displays as printed.

First display, for all smooth F_i and all steps: errors have mean zero given all before them, so that their squares add
up.

Second and third display, for convex F_i and eta_l <= 2/nu. Given C^t, x^{t-1} and the past q = c^{t-1} - c_i^{t-1} is a
number, y^k = T(y^{k-1}) - eta_l (error + q) with T = id - eta_l grad F_i, and T is nonexpansive. So Var T(Y) <= Var Y
(half of E||T(Y) - T(Y')||^2 for an independent copy Y'), Var y^k <= Var y^{k-1} + eta_l^2 V, Var y^K <= K eta_l^2 V;
and K (c_i^t + q) = (x - y^K)/eta_l. The third is l^2 times the second: c^t - c^{t-1} is 1/M times the cohort's sum of
c_i^t - c_i^{t-1}.

The counterexamples are inside every hypothesis of the paper: smooth F_i that are bounded below and have bounded
gradients, records drawn at random, and Gaussian noise.

One user's two records have the gradients F'(x) + 1 and F'(x) - 1; one is drawn, so that varsigma^2 = sR = 1 and the
error is e = +-1 + w with w ~ N(0, tau^2), Sigma_g^2 = 2 tau^2 and V = 1 + 2 tau^2. Each left side below is a lower
bound of the true one, as a fraction: errors are unbounded, and what their tails may change is bounded by moments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

from dpfl_theory.algorithms.scaffold import Scaffold
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core import Check, Hypothesis, Performance, Sides, Statement, Values, WorstCase, battery, checks
from dpfl_theory.core.check_inputs import Case
from dpfl_theory.lazy import PEPit
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, World, average, expected
from dpfl_theory.semantics.operations import RoundResult, local_path, run_round
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.noble2022 import _symbols as noble
from dpfl_theory.statements.noble2022 import _worst_cases as worst
from dpfl_theory.statements.noble2022._runs import one_round
from dpfl_theory.statements.noble2022.scaffold._rounds import noise, records_of
from dpfl_theory.statements.relations import Formula, Proof, algebra, checked
from dpfl_theory.statements.symbolic import decided, errors, root, sides_at


def spreads(
    world: World, previous: RoundResult, eta: Any, K: int, size: int, part: str = "second"
) -> dict[tuple[int, ...], Any]:
    """The left side of a display after one round, for each cohort of this size.

    part: ``first``, the mean square of the cohort's average of c_i^t - (1/K) sum_k grad F_i(y_i^{k-1}); ``second``, the
    variance of the mean of its c_i^t; ``third``, that of c^t.

    >>> start = RoundResult(Vector(Fraction(1)))
    >>> spreads(Quadratics([-1], [0], {"error": 1}), start, Fraction(1, 2), 2, 1)
    {(0,): Fraction(13, 16)}
    """
    algorithm = Scaffold(eta_l=eta, eta_g=world.one, K=K)

    def observed() -> Mapping[tuple[tuple[int, ...], str], Any]:
        after = run_round(algorithm, world, *previous.following, size=size, errors=True)
        cohort, (seen, own) = after.cohort, after.state
        if part != "third":
            seen = average([own[i] for i in cohort])
        if part == "first":
            seen = seen - average([world.gradient(i, y) for i in cohort for y in after.paths[i][:K]])
        mean = world.substitute_known(seen).known
        return {(cohort, "share"): 1, (cohort, "mean"): mean, (cohort, "square"): world.square(seen)}

    found, out = expected(world, observed), {}
    for cohort in dict.fromkeys(cohort for cohort, _ in found):
        share, mean, square = (found[cohort, name] for name in ("share", "mean", "square"))
        share = world.one * share
        out[cohort] = square / share if part == "first" else square / share - world.inner(mean / share, mean / share)
    return out


def on_quadratics(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """A display on quadratics with V = 1, for every cohort; the control variates before the round differ."""
    for curvatures, K, step in product(*(instance[name] for name in ("curvatures", "K", "eta_l nu"))):
        a, part = [Fraction(str(v)) for v in curvatures], instance["part"]
        M, nu = len(a), max(abs(v) for v in a)
        world, eta = Quadratics(a, [0] * M, {"error": 1}), Fraction(str(step)) / nu
        own = tuple(Vector(Fraction(i)) for i in range(M))
        for size in range(1, M + 1):
            symbols = {"K": K, "M": M, "l": Fraction(size, M), "eta_l": eta, "nu": nu, **noise(Fraction(1))}
            at = {"curvatures": tuple(a), "K": K, "eta_l nu": step, "lM": size}
            found = spreads(world, RoundResult(Vector(Fraction(1)), (average(own), own)), eta, K, size, part)
            for cohort, spread in found.items():
                yield Values({**symbols, "spread": spread}, {**at, "cohort": cohort})


def over_records(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """A display over all draws of each cohort's steps. ``corrections``: c^{t-1} - c_i^{t-1} of each user."""
    world, K, part = records_of(instance), int(instance["K"]), instance["part"]
    M, eta = world.clients, Fraction(instance["eta_l nu"]) / world.smoothness
    own = tuple(Vector(-Fraction(q)) for q in instance["corrections"])
    before, symbols = RoundResult(Vector(Fraction(instance["start"])), (world.zero, own)), world.symbols
    symbols |= {"M": M, "K": K, "eta_l": eta, "nu": world.smoothness}
    for size in range(1, M + 1):
        at = {"K": K, "lM": size, "cohort": (), "sR": world.drawn, "tau": world.noise, "V": world.variance_bound}
        for cohort, spread in spreads(world, before, eta, K, size, part).items():
            yield Values({**symbols, "l": Fraction(size, M), "spread": spread}, {**at, "cohort": cohort})


def of_one_user(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """Second display for one user, Var c_i^t over all functions of a class, from any point and any control variate;
    errors are +-xi. Without a class the first display, E||c_i^t - (1/K) sum_k g_k||^2, for all vectors g_k in place of
    the gradients. These may depend on all errors before, as may the errors' lengths."""
    K, (eta,) = int(instance["K"]), worst.floats(instance, **{"eta_l nu": 1})
    second = "class" in instance
    world, start, V = worst.opened(instance.get("class", "non-convex"), 1)
    world, any_ = world if second else AnyGradients(world.problem, V), Vector(PEPit.Point())
    state = (world.zero, (any_,)) if second else (any_, (world.zero,))
    part = "second" if second else "first"
    (spread,) = spreads(world, RoundResult(start, state), eta, K, 1, part).values()
    values = {**worst.sizes(1, 1, K, V), "nu": 1, "eta_l": eta, "spread": spread}
    return WorstCase(world.problem, values, f"the {part} display for {K} steps of a user against V/K")


class AnyGradients(FunctionClass):
    """One user whose gradients are any vectors, whose values cancel in the first display; these and the errors' lengths
    may depend on all errors before."""

    def __init__(self, problem: Any, variance: Any) -> None:
        super().__init__(problem, [None], variance)
        self._drawn: dict[tuple[Any, ...], Vector] = {}

    def gradient(self, client: int, x: Vector) -> Vector:
        self.resolved(x)
        return self._drawn.setdefault(self.resolved_multiples(x), Vector(PEPit.Point()))

    def size_of(self, name: Hashable) -> Any:
        return super().size_of((name, *self._fallen.items()))


def gradient_step(_: Statement, instance: Mapping[str, Any]) -> Performance:
    """||T(x) - T(y)||^2 <= ||x - y||^2 for T = id - eta_l grad F_i over all convex smooth functions."""
    (eta,) = worst.floats(instance, **{"eta_l nu": 1})
    world, x, _ = worst.opened("convex", 1, errs=False)
    y = Vector(world.problem.set_initial_point())
    ends = [local_path(TwoSidedFedAvg(eta_l=eta, Q=1), world, v)[-1] for v in (x, y)]
    what = "the distance of two points after a gradient step"
    return Performance(world.problem, world.square(ends[0] - ends[1]), world.square(x - y), what)


@algebra("first display, all steps and users")
def first_display(s: Formula) -> Proof:
    """Corollary C.1, first display: P_k = P_{k-1} + Q_k for the second moments P_k of a user's summed errors and Q_k of
    the k-th error. That error has mean zero given those before; so P_K <= K V. Given the cohort users are
    independent."""
    K, r, k, V = s.K, sp.Symbol("r", positive=True), sp.Symbol("k", integer=True, positive=True), sp.Symbol("V")
    users = sp.summation(1, (k, 1, r)) * sp.summation(V, (k, 1, K)) / (K * r) ** 2
    proved = users.subs(r, s.l * s.M).subs(V, noble.variance(s))
    return decided(errors(), {"noise": (s.rhs - proved) / noble.averaged(s)}, (sp.Symbol("theta"),))


@algebra("second and third display, all steps and users")
def other_displays(s: Formula) -> Proof:
    """Corollary C.1, second and third display, for eta_l nu = 2 theta, theta in [0, 1]."""
    K, share, stated = s.K, s.l, s.rhs
    eta, nu, V, r, theta, S, x, q = sp.symbols("eta_l nu V r theta S x q", positive=True)
    first, second, d, g, inner, mean = sp.symbols("E_1 E_2 d g p m", real=True)
    k, j = sp.symbols("k j", integer=True, positive=True)
    end = x - eta * (S + K * q)  # y^K, S the sum of the K noisy gradients
    spread = sp.summation(eta**2 * V, (k, 1, K))  # Var y^K
    several = sp.summation(spread / (K * eta) ** 2, (j, 1, r))  # Var c_i^t for r users
    identities = {
        "c_i - c + (x - y^K)/(K eta_l) is the mean of the K noisy gradients": (-q + (x - end) / (K * eta), S / K),
        "a variance is half of the mean square between two copies": (
            second - first**2,
            (2 * second - 2 * first**2) / 2,
        ),
        "a step's error adds its variance": ((second + eta**2 * V) - mean**2, (second - mean**2) + eta**2 * V),
        "||d - eta g||^2 = ||d||^2 - 2 eta (<d, g> - ||g||^2/nu) - eta (2/nu - eta) ||g||^2": (
            d**2 - 2 * eta * inner + eta**2 * g**2,
            d**2 - 2 * eta * (inner - g**2 / nu) - eta * (2 / nu - eta) * g**2,
        ),
    }
    unit, at = noble.averaged(s), {V: noble.variance(s), r: share * s.M}
    slacks = {
        "step": ((2 / nu - eta) * nu / 2).subs(eta, 2 * theta / nu),
        "second": (stated - (several / r**2).subs(at)) / unit,
        "third": (stated - (several / s.M**2).subs(at)) / unit,
    }
    return decided(identities, slacks, (theta, share))


_TAU = {"eta_l nu": "1/48", "tau": "1/100"}


def _two_steps(instance: Mapping[str, Any], left: Fraction, M: int = 1, **at: Any) -> Values:
    """One of M users takes K = 2 steps, nu = 1. ``tau``: of two records, at a distance of 1 from their mean, one is
    drawn, and there is noise of variance tau^2; ``V``: errors of variance V only."""
    eta, values = Fraction(instance["eta_l nu"]), {"K": 2, "M": M, "l": Fraction(1, M), "nu": 1, "spread": left}
    if "tau" in instance:
        at["tau"], Sigma = instance["tau"], root(2 * Fraction(instance["tau"]) ** 2)
        values |= {"R": 2, "s": Fraction(1, 2), "varsigma": 1, "Sigma": Sigma}
    else:
        values |= noise(at.setdefault("V", Fraction(instance["V"])))
    at |= {"F_2": 0, "M": M, "lM": 1} if M > 1 else {}
    return Values({**values, "eta_l": eta}, {**at, "K": 2, "eta_l nu": eta})


@checked("exact", "second display, 1 - cos x from pi, two steps of 1/(48 nu)", expected="violated", **_TAU)
def pendulum(_: Statement, instance: Mapping[str, Any]) -> Values:
    """F(x) = 1 - cos x (nu = 1, F* = 0, |F'| <= 1, C = 2) from x = pi, one user, K = 2.

    y^1 = pi - eta e_1, so that K c = e_1 + sin(eta e_1) + e_2, whose mean is 0. With z sin z >= z^2 - z^4/6 and
    sin(z)^2 >= z^2 - z^4/3 the second moment is at least E e_2^2 + (1 + eta)^2 E e_1^2 - (eta^3 + eta^4) E e_1^4/3.
    """
    eta, tau2 = Fraction(instance["eta_l nu"]), Fraction(instance["tau"]) ** 2
    second, fourth = 1 + tau2, 1 + 6 * tau2 + 3 * tau2**2
    left = (second + (1 + eta) ** 2 * second - (eta**3 + eta**4) * fourth / 3) / 4
    return _two_steps(instance, left, F="1 - cos x", x="pi")


@checked(
    *("exact", "second display, Huber, two steps of 3/nu"), expected="violated", **{"eta_l nu": "3", "tau": "1/10"}
)
def long_steps(_: Statement, instance: Mapping[str, Any]) -> Values:
    """F the Huber loss with F'(x) = clip(x, -w, w), w = 2 eta, from x = 0, one user, K = 2.

    y^1 = -eta e_1. Where |e_1| <= 2 this is K c = (1 - eta) e_1 + e_2; elsewhere |w_1| > 1, and what is lost is at most
    (1 - eta)^2 E e_1^2 w_1^2 = (1 - eta)^2 (tau^2 + 3 tau^4).
    """
    eta, tau2 = Fraction(instance["eta_l nu"]), Fraction(instance["tau"]) ** 2
    left = (1 + tau2 + (1 - eta) ** 2 * (1 + tau2 - tau2 - 3 * tau2**2)) / 4
    return _two_steps(instance, left, F=f"Huber, gradient clipped at {2 * eta}", x=0)


@checked(
    *("exact", "second display given C^t and x^{t-1} only, Huber, two steps of 2/nu"),
    expected="violated",
    M=2,
    **{"eta_l nu": "2", "tau": "1/100"},
)
def past_errors(_: Statement, instance: Mapping[str, Any]) -> Values:
    """Convex, given C^1 and x^0 only: first round after the warm start, K = 2, lM = 1, x^0 = 0, user 1 with F_1'(x) =
    clip(x, -w, w), w = 3 eta, the other F_i = 0; all users err by e.

    y^1 = -eta (e_1 - q), where q = c_1^0 - c^0 has the variance (1 - 1/M) Var e/2. Unclipped K c_1^1 = X + e_2 with X =
    (1 - eta) e_1 + eta q. As |q| <= 2 except for its normal part, |y^1| exceeds w by no more than its own normal part
    n, E n^2 = eta^2 tau^2 (1 + (1 - 1/M)/2). So clipping takes at most sqrt(E n^2) from the standard deviation of X.
    The fraction keeps E X^2 - 2 sqrt(E X^2 E n^2), its square root rounded up.
    """
    eta, tau, M = Fraction(instance["eta_l nu"]), Fraction(instance["tau"]), int(instance["M"])
    single, left = 1 + tau**2, 1 - Fraction(1, M)
    linear = ((1 - eta) ** 2 + eta**2 * left / 2) * single
    both = linear * eta**2 * tau**2 * (1 + left / 2)
    most = Fraction(isqrt(both.numerator * both.denominator) + 1, both.denominator)
    return _two_steps(instance, (linear - 2 * most + single) / 4, M, F_1=f"Huber, gradient clipped at {3 * eta}")


@checked(
    *("exact", "third display, over the cohorts too"), expected="violated", **{"eta_l nu": "1/48", "V": "1/1000000"}
)
def between_cohorts(_: Statement, instance: Mapping[str, Any]) -> Values:
    """With E[c^t] over the cohorts too, first round after the warm start: M = 2, lM = 1, K = 2, F_1 Huber with its
    gradient clipped at 2, F_2 = 0, x^0 = 1, errors of variance V only.

    Var c^1 >= Var E[c^1 | C^1] = (m_1 - m_2)^2/4, the means over the errors for the cohorts {1} and {2}. m_2 = E c^0,
    and m_1 - m_2 = (E F_1'(y^1) - 1)/4 where y^1 has the mean 1 - eta/2 and the variance 5 eta^2 V/4. Clipping moves
    F_1'(y) by at most (|y| - 2)_+ <= z^2/4, z = y - E y, so that |m_1 - m_2| >= (eta/2 - 5 eta^2 V/16)/4.
    """
    eta, V = Fraction(instance["eta_l nu"]), Fraction(instance["V"])
    gap = (eta / 2 - 5 * eta**2 * V / 16) / 4
    return _two_steps(instance, gap**2 / 4, 2, F_1="Huber, gradient clipped at 2")


_DISPLAY = "the first display, also for users that are not convex and long steps; the other two displays remain"
_STEP = "step of the proof: a gradient step is nonexpansive; that errors then add up as stated remains"
_CONVEX: list[list[str]] = [["1"], ["1", "0"], ["1", "1/2", "1/9"]]
_GRID: dict[str, Any] = {"curvatures": _CONVEX, "K": [1, 2, 3, 8], "eta_l nu": ["1/24", "1", "2"]}
_BENT: dict[str, Any] = {"curvatures": [["-1"], ["1", "-1"]], "K": [2, 5], "eta_l nu": ["1/24", "3"]}
_HUBER = [[["1", "-1", "3"], ["1", "1", "3"]], [["2", "0", "1"], ["0", "0", "1"]]]
_SINGLE = [[["1", "-1", "3"], ["1", "1", "3"], ["1/2", "4", "1"]]]
_EVEN = [[["1", "-1", "9"], ["1", "1", "9"]], [["1/2", "1", "9"], ["1/2", "-3", "9"]]]
_WAVES = [[["1", "-1", "3"], ["-2", "1", "1"]], [["1", "0", "1"], ["-1", "1/2", "1"]]]
"""Records (a, c, w): gradients a clip(x - c, -w, w)."""


def _records(users: list[Any], part: str, K: int, step: str, drawn: int = 1, noise: str = "1/4") -> dict[str, Any]:
    corrections = ["1/3", "-1/3"][: len(users)]
    rest = {"drawn": drawn, "noise": noise, "start": "1/2", "corrections": corrections}
    return {"users": users, "part": part, "K": K, "eta_l nu": step, **rest}


def _everywhere(build: Callable[..., Iterator[Values]], name: str, instance: Mapping[str, Any]) -> Check:
    """Both sides of the statement whether the hypotheses of its second and third display are met or not."""

    def cases(statement: Statement, instance: Mapping[str, Any]) -> Iterator[Case]:
        for v in build(statement, instance):
            yield Case(v.evidence_instance, *sides_at(statement, v.symbol_values))

    return Check("exact", f"first display, {name}", cases, instance, part=_DISPLAY)


def _worst(kind: str, K: int, step: str, expected: str = "holds") -> Check:
    instance = {"class": kind, "K": K, "eta_l nu": step}
    return Check("worst-case", f"{kind}, K = {K}, eta_l nu = {step}", of_one_user, instance, expected)


def _held(_: Statement) -> Iterator[Check]:
    """What holds of the three displays in both forms; eta_l nu <= 2 in the second and the third."""
    yield from (first_display, other_displays)
    for part, what, convex in (
        ("first", "first display", "convex"),
        ("second", "second display", "convex, eta_l nu <= 2"),
        ("third", "third display given the cohort", "convex, eta_l nu <= 2"),
    ):
        yield Check("exact", f"{what}, {convex}", on_quadratics, {"part": part, **_GRID})
        found = {
            "two Huber users": _records(_HUBER, part, 2, "2"),
            "two Huber users, equal variance": _records(_EVEN, part, 2, "1", noise="1/100"),
            "one Huber user, 3 steps, 2 of 3 records": _records(_SINGLE, part, 3, "1/24", 2, "0"),
        }
        yield from checks("exact", over_records, {f"{what}, every outcome, {name}": i for name, i in found.items()})
    waves, far = _records(_WAVES, "first", 2, "1"), _records(_HUBER, "first", 2, "5")
    yield _everywhere(on_quadratics, "some users concave, long steps", {"part": "first", **_BENT})
    yield _everywhere(over_records, "every outcome, two users that are not convex", waves)
    yield _everywhere(over_records, "every outcome, two Huber users, long steps", far)
    errors = {f"first display, martingale errors, K = {K}": {"K": K, "eta_l nu": "1/24"} for K in (2, 3)}
    yield from checks("worst-case", of_one_user, errors)
    steps = {f"a gradient step, eta_l nu = {step}": {"eta_l nu": step} for step in ("1/24", "2")}
    yield from checks("worst-case", gradient_step, steps, part=_STEP)
    yield from (_worst("convex", K, step) for K, step in ((1, "1/24"), (2, "1/24"), (2, "2"), (3, "1/24"), (3, "1")))


_BEYOND = {"part": "second", **_GRID, "eta_l nu": ["101/50"]}
_LONGEST = one_round(lambda values: 2.0, "second display")
"""eta~ nu = 2, so that eta_l nu = 2/(K eta_g) or less."""
_FAR = replace(
    one_round(lambda values: 8.0 * values["K"] * values["eta_g"], "second display, eta_l nu = 8"), edges=False
)

COROLLARY: Statement = noble.statement(
    **noble.named("noble2022.corollaryC.1"),
    hypotheses=(noble.SMOOTH, noble.GRADIENTS, noble.WHOLE),
    sides=lambda s: Sides({"spread": s.spread}, {"variance": noble.averaged(s)}),
    checks=battery(
        _held,
        _LONGEST(without={"just outside nu-smooth F_i": "neither side has nu"}),
        _FAR(violated="alone"),
        past_errors,
        pendulum,
        long_steps,
        between_cohorts,
        _worst("non-convex", 2, "1/24", "violated"),
        _worst("convex", 2, "3", "violated"),
    ),
    smoke=("convex, K = 2, eta_l nu = 3",),
    uses=("noble2022.lemmaC.1",),
)

REPAIRED: Statement = replace(
    COROLLARY,
    id="noble2022.corollaryC.1.repaired",
    hypotheses=(*COROLLARY.hypotheses, noble.CONVEX, Hypothesis(lambda s: s.eta_l <= 2 / s.nu)),
    checks=battery(
        _held,
        Check("exact", "just outside eta_l <= 2/nu", on_quadratics, _BEYOND, "not-applicable"),
        _LONGEST("quadratic"),
    ),
    smoke=(
        "second display, one of four users, lagging, little noise",
        "second display, noise alone, two of four users",
    ),
)

STATEMENTS = (COROLLARY, REPAIRED)
