"""One round of DP-FedAvg in a world: all quantities in the steps of zhang2021's proof, exactly and in the worst case.

`Phases` are the local phases of all clients, represented by their messages. Given x_t, clients run independently of
each other. So only the mean and the variance of a phase's message matter, and the cohort is drawn among these. The
world defines a client: a scalar quadratic in rational arithmetic (`ScalarRound`), or any smooth function in any
dimension. `performance` is for the steps (13), (14) and (16) to (18). The noise of every stochastic gradient takes the
values n and -n with equal probability, n being a separate vector for each client and local step. So a step is one
inequality between quadratic forms; clipping factors are numbers of the instance. `worst_round` is for (21) and its
consequences: a whole round without noise and clipping, one inequality between linear forms in function values and inner
products.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, TwoSidedFedAvg
from dpfl_theory.core import Check, Statement, Values, WorstCase
from dpfl_theory.core.formula import total
from dpfl_theory.lazy import PEPit
from dpfl_theory.semantics.base import EVEN, SKEWED, Vector, World, average, expected
from dpfl_theory.semantics.operations import draws, local_path, run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.zhang2021._symbols import StepLimits

F = Fraction
KINDS = ("clipped", "first", "second", "known", "common", "local", "sum")
_SQUARED = ("clipped", "common", "local", "first", "second")


class Phases:
    """Every client's local phase of Q steps from x, represented by its messages.

    The kinds are ``clipped`` Delta, ``known`` Delta~ (times alpha~), ``common`` (times alpha-bar), ``local`` (alpha-bar
    times the gradients without noise), ``first`` Delta - Delta~, ``second`` Delta~ - common, ``sum`` (the gradients
    without noise, summed). known: alpha~_i of every client; noisy: whether gradients have errors; thresholds: of every
    client, as the world's ``bounded`` takes them; None for no clipping.
    """

    def __init__(
        self, world: World, x: Vector, eta: Any, Q: int, known: Sequence[Any], *, noisy: bool, thresholds: Any = None
    ) -> None:
        self.world, self.x, self.eta, self.Q, self.noisy = world, x, eta, Q, noisy
        self.known, self.thresholds = known, thresholds
        self.algorithm = TwoSidedFedAvg(eta_l=eta, Q=Q)
        self.alpha = sum(known[1:], known[0]) / len(known)
        self.slope = average([world.gradient(i, x) for i in range(world.clients)])
        self._sent = {kind: [] for kind in KINDS}  # type: dict[str, list[Vector]]
        for i in range(world.clients):
            found = expected(world, lambda i=i: self._observed(i))  # type: ignore[misc]
            for kind, of_kind in self._sent.items():
                first = found[kind]
                world.declare(kind, i, variance=found[f"{kind}, squared"] - world.inner(first, first))
                of_kind.append(Vector(first))

    def _observed(self, i: int) -> dict[str, Any]:
        """The messages of client i's phase, and their squares."""
        world, alpha, known, path = self.world, self.alpha, self.known[i], self.path(i)
        moved = path[-1] - self.x
        clipped = moved if self.thresholds is None else world.bounded(moved, self.thresholds[i])
        total = self.Q * average([world.gradient(i, y) for y in path[:-1]])
        sent = {"clipped": clipped, "first": clipped - known * moved, "second": (known - alpha) * moved}
        sent |= {"known": known * moved, "common": alpha * moved, "local": -self.eta * alpha * total, "sum": total}
        sent = {kind: world.substitute_known(v) for kind, v in sent.items()}
        return {k: v.known for k, v in sent.items()} | {f"{k}, squared": world.square(v) for k, v in sent.items()}

    def path(self, i: int) -> tuple[Vector, ...]:
        """The points of client i's phase."""
        return local_path(self.algorithm, self.world, self.x, i, self.noisy)

    def message(self, kind: str, i: int, run: int = 0) -> Vector:
        """The message of client i in one of its runs, by its mean and its variance."""
        return self._sent[kind][i] + self.world.error(kind, i, run=run)

    def mean(self, kind: str) -> Vector:
        """The mean of all clients' messages."""
        return average([self.message(kind, i) for i in range(self.world.clients)])

    @cached_property
    def drifts(self) -> Any:
        """The middle line of (15): the mean over the clients of E sum_q ||grad f_i(x_q) - grad f_i(x)||^2."""

        def of_client(i: int) -> dict[str, Any]:
            first = self.world.gradient(i, self.x)
            return {"sum": sum(self.world.square(self.world.gradient(i, y) - first) for y in self.path(i)[:-1])}

        sums = [expected(self.world, lambda i=i: of_client(i))["sum"] for i in range(self.world.clients)]  # type: ignore[misc]
        return sum(sums[1:], sums[0]) / len(sums)

    def cohort(self, kind: str, P: int, sampling: str) -> dict[str, Any]:
        """E <grad f, (1/P) sum over the cohort>, as ``product``, and the mean ``square`` of that sum over P."""
        world = self.world

        def heard() -> dict[str, Any]:
            mean = average([self.message(kind, i, i.run) for i in draws(world, P, sampling)])
            return {"product": world.product(self.slope, mean), "square": world.square(mean)}

        return expected(world, heard)

    def symbols(self, P: int, sampling: str) -> dict[str, Any]:
        """The symbols of the proof (`_symbols.SYMBOLS`) in a round with this cohort."""
        world, Q, everyone = self.world, self.Q, range(self.world.clients)
        cohorts = {kind: self.cohort(kind, P, sampling) for kind in _SQUARED}
        clipped, known, common = (world.product(self.slope, self.mean(kind)) for kind in ("clipped", "known", "common"))
        return {
            **{"eta_l": self.eta, "alpha": self.alpha, "square": world.square(self.slope)},
            "cohort_product": cohorts["clipped"]["product"],
            **{"first_bias": clipped - known, "second_bias": known - common, "common_product": common},
            "local_square": world.square(self.mean("local")),
            "local_squares": sum(world.square(self.message("local", i)) for i in everyone),
            "far_square": world.square(Q * self.slope + self.mean("sum")) / Q,
            "drift_square": world.square(self.mean("sum") - Q * self.slope) / Q,
            **{f"cohort_{kind}": cohorts[kind]["square"] for kind in ("clipped", "common", "local")},
            **{f"{kind}_spread": cohorts[kind]["square"] for kind in ("first", "second")},
        }


class ScalarRound:
    """A round from x with clients f_i(x) = q_i (x - m_i)^2/2, q_i of either sign, in rational arithmetic.

    instance: q, m (one each per client, as texts), x, Q, ``eta Q L`` or eta_l, eta_g, P, sampling, c (absent: no
    clipping), noise s, law (``even``, or ``skew``), sigma (deviation of the privacy noise). L is the largest |q_i|.
    Independent noise is added in every local step, with mean 0 and variance s^2.
    """

    def __init__(self, instance: Mapping[str, Any]) -> None:
        q, m = (tuple(map(F, instance[name])) for name in ("q", "m"))
        self.x, self.Q, self.P, self.N = F(instance["x"]), int(instance["Q"]), int(instance["P"]), len(q)
        if not 1 <= self.P <= self.N:
            raise ValueError("P is not a number of clients")
        self.L = max(map(abs, q))
        self.eta = F(instance["eta_l"]) if "eta_l" in instance else F(instance["eta Q L"]) / (self.Q * self.L)
        self.eta_g = F(instance.get("eta_g", 1))
        self.sampling = str(instance.get("sampling", "without"))
        self.c = F(instance["c"]) if "c" in instance else None
        self.s, self.sigma = abs(F(instance.get("noise", 0))), F(instance.get("sigma", 0))
        shape = {"even": EVEN, "skew": SKEWED}[str(instance.get("law", "even"))]
        self.world = Quadratics(q, [h * at for h, at in zip(q, m, strict=True)], {"error": self.s**2}, shape)
        algorithm = TwoSidedFedAvg(eta_l=self.eta, Q=self.Q)
        ends = [local_path(algorithm, self.world, Vector(self.x), i)[-1].known for i in range(self.N)]
        # Without clipping no message depends on the errors' paths, and none is enumerated.
        known = [F(1) if self.c is None else self.c / max(self.c, abs(end - self.x)) for end in ends]
        given: dict[str, Any] = {"noisy": bool(self.s), "thresholds": None if self.c is None else [self.c] * self.N}
        self.phases = Phases(self.world, Vector(self.x), self.eta, self.Q, known, **given)

    @property
    def sigma_g(self) -> Fraction:
        """The largest |f_i' - f'| at x."""
        apart = (self.world.gradient(i, Vector(self.x)) - self.phases.slope for i in range(self.N))
        return max(F(abs(slope.known)) for slope in apart)

    def deviations(self) -> dict[str, Fraction]:
        """Means over the clients of E|alpha_i - alpha~_i| + |alpha~_i - alpha-bar|, and of the squares."""
        world, found = self.world, {"E_deviation": F(0), "E_square_deviation": F(0)}
        for i, own in enumerate(self.phases.known):

            def observed(i: int = i, own: Fraction = own) -> dict[str, Fraction]:
                path = self.phases.path(i)
                length = abs(world.resolved(path[-1] - path[0]).known)
                apart = abs((F(1) if self.c is None else self.c / max(self.c, length)) - own)
                return {"E_deviation": apart, "E_square_deviation": apart**2}

            for power, (name, noise) in enumerate(expected(world, observed).items(), start=1):
                found[name] += (noise + abs(own - self.phases.alpha) ** power) / self.N
        return found

    def outcomes(self) -> tuple[dict[Fraction, Fraction], Fraction]:
        """x_{t+1} -> its probability, without privacy noise, and the length of the longest stochastic gradient that may
        occur."""
        world, ends, lengths = self.world, dict[Fraction, Fraction](), [F(0)]
        algorithm = DPTwoSidedFedAvg(eta_l=self.eta, eta_g=self.eta_g, Q=self.Q, c=self.c, sigma=0)

        def run() -> dict[str, Fraction]:
            how: dict[str, Any] = {"size": self.P, "errors": bool(self.s), "sampling": self.sampling}
            after = run_round(algorithm, world, Vector(self.x), **how)
            x = world.resolved(after.x).known
            ends[x] = ends.get(x, F(0)) + world.weight
            for path in filter(None, after.paths):
                lengths.extend(abs(world.resolved(a - b).known) / self.eta for a, b in itertools.pairwise(path))
            return {}

        expected(world, run)
        return ends, max(lengths)

    def values(self, sampling: str | None = None) -> dict[str, Fraction]:
        """The symbols of the proof (`_symbols.SYMBOLS`) in this round, or one with another sampling; values of f are
        relative to f(x_t)."""
        found = self.phases.symbols(self.P, sampling or self.sampling)
        curvature, noise = sum(self.world.curvatures, F(0)) / self.N, self.sigma**2 / self.P
        descent = curvature * self.eta_g**2 * (found["cohort_clipped"] + noise) / 2
        return {
            **found,
            **{name: F(getattr(self, name)) for name in ("N", "P", "Q", "L", "eta_g", "sigma_g")},
            **{"d": F(1), "sigma_l": self.s, "noise_variance": self.sigma**2, "f_now": F(0)},
            **{"E_next": self.eta_g * found["cohort_product"] + descent, "drift_mean": self.phases.drifts},
        }


_SHOWN = ("N", "P", "Q", "L", "eta_l", "eta_g", "sigma_l", "sigma_g", "square", "alpha")


def rounds(_: Statement, instance: Mapping[str, Any], instead: Mapping[str, str] | None = None) -> Iterator[Values]:
    """One round from every point x, for every sampling, of the instance.

    instead: symbols that take another quantity of `ScalarRound.values`, by its name.
    """
    once = {x: ScalarRound({**instance, "x": x}) for x in instance["x"]}
    for sampling in instance.get("samplings", [instance.get("sampling", "without")]):
        for x in instance["x"]:
            values = once[x].values(sampling)
            values |= {symbol: values[other] for symbol, other in (instead or {}).items()}
            yield Values(values, {"x": x, "sampling": sampling, **{name: values[name] for name in _SHOWN}})


# Worst cases: of the phases' messages.

_SHIFT = 2
"""A factor of a bound of the inner products. The product is added to both sides of an equality between them, so that
they are positive."""


def performance(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """lhs <= rhs, or rhs <= lhs for ``direction`` ``>=``, of the statement in one round, L = 1.

    instance: N, P, Q, ``eta Q L``; sampling; noisy; factors: the clipping factors alpha_i of the ways in which a
    client's noises fall, in turn (1 where there are none); known: the factors alpha~_i.
    """
    N, P, Q = (int(instance[name]) for name in ("N", "P", "Q"))
    eta, noisy = float(Fraction(instance["eta Q L"])) / Q, bool(instance["noisy"])
    problem = PEPit.PEP()
    functions = declared(problem, "non-convex", N)
    noises = {("error", 0, i, q): PEPit.Point() for i in range(N) for q in range(Q)} if noisy else {}
    symbols = {symbol.name for symbol in statement.quantities}
    products = bool({"cohort_product", "common_product"} & symbols)
    variance: Any = 0.0
    if noisy:
        # sigma_l^2, at least every noise's square. The steps without it hold for noises of any size; a scalar that is
        # on no side would only burden the solver.
        first, *rest = noises.values()
        spoken = products or "sigma_l" in symbols
        variance = PEPit.Expression() if spoken else first**2
        for n in noises.values() if spoken else rest:
            problem.add_constraint(n**2 <= variance)
    turn = itertools.cycle(float(Fraction(v)) for v in instance["factors"]) if "factors" in instance else None
    ways = list(itertools.product((1.0, -1.0), repeat=Q if noisy else 0))
    world = FunctionClass(problem, functions, sizes=noises)
    known = [float(Fraction(v)) for v in instance.get("known", ["1"] * N)]
    thresholds = None if turn is None else [{way: next(turn) for way in ways} for _ in range(N)]
    phases = Phases(world, world.zero, eta, Q, known, noisy=noisy, thresholds=thresholds)
    values = phases.symbols(P, str(instance["sampling"]))
    values |= {"N": float(N), "P": float(P), "Q": float(Q), "L": 1.0, "sigma_l^2": variance}
    direction = instance.get("direction", "<=")
    what = f"{statement.id} in one round, L = 1"
    if not products:
        return WorstCase(problem, values, what, direction=direction)
    sums = sum(world.square(phases.message("sum", i)) for i in range(N))
    shift = _SHIFT * eta * (Q * values["square"] + sums / Q + Q * variance)
    left = tuple(s.name for s in total(statement, "lhs" if direction == "<=" else "rhs").free_symbols)
    return WorstCase(problem, values, what, left, shift, direction)


PHASES: dict[str, dict[str, Any]] = {
    "one of two clients, Q = 2, noise": {"N": 2, "P": 1, "Q": 2, "noisy": True, "eta Q L": "129/1000"},
    "two of three clients, Q = 2": {"N": 3, "P": 2, "Q": 2, "noisy": False, "eta Q L": "129/1000"},
    "both clients, Q = 2, noise": {"N": 2, "P": 2, "Q": 2, "noisy": True, "eta Q L": "1/20"},
}
CLIPPED = {"factors": ["1", "1/2", "1/10"], "known": ["1", "1/3", "1/2"]}
"""Factors that perhaps no single function gives: the steps hold for all of them."""


def step_checks(
    samplings: Sequence[str] = ("without",),
    verdict: Callable[[str, Mapping[str, Any]], str] = lambda direction, instance: "holds",
    directions: Sequence[str] = ("<=",),
    clipped: bool = False,
) -> Iterator[Check]:
    """A worst-case check for every phase, sampling and direction; ``verdict`` gives the known verdict of each."""
    for (name, phase), sampling, direction in itertools.product(PHASES.items(), samplings, directions):
        instance: dict[str, Any] = {**phase, "sampling": sampling, "direction": direction}
        if clipped:
            instance |= {"factors": CLIPPED["factors"], "known": CLIPPED["known"][: phase["N"]]}
        title = f"{name}, {sampling}" + (f", {direction}" if len(directions) > 1 else "")
        yield Check("worst-case", title, performance, instance, verdict(direction, instance))


# Local steps without clipping.


def local_steps(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A_1, or the middle line of (15), or the squared updates of (19), against the statement's right side.

    instance: Q; ``eta Q L``; clients, 1 or 2, with x_t at the origin (absent: one client, and x_t anywhere); noisy:
    every noise takes the values n and -n with equal probability; middle. L = 1, f_i smooth and not convex. With two
    clients both gradients differ from grad f(x_t) by the same length, so that sigma_g is that length.
    """
    Q, N = int(instance["Q"]), int(instance.get("clients", 1))
    noisy, eta = bool(instance.get("noisy")), float(Fraction(instance["eta Q L"])) / Q
    problem = PEPit.PEP()
    variance: Any = PEPit.Expression() if noisy else 0.0  # sigma_l^2, at least every noise's square
    world = FunctionClass(problem, declared(problem, "non-convex", N), variance)
    x = world.zero if "clients" in instance else Vector(problem.set_initial_point())
    phases = Phases(world, x, eta, Q, [1.0] * N, noisy=noisy)
    values = phases.symbols(N, "without")
    if instance.get("middle"):
        values["drift_square"] = phases.drifts
    apart = world.square(world.gradient(0, x) - phases.slope) if N == 2 else 0.0
    values |= {"N": float(N), "L": 1.0, "Q": float(Q), "sigma_l^2": variance, "sigma_g^2": apart}
    return WorstCase(problem, values, f"{statement.id}, L = 1")


# A whole round.


def worst_round(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The statement, (21) or the theorem with T = 1, for two clients with L = 1, without stochastic gradients, privacy
    noise and clipping.

    instance: P (1 or 2, without replacement), Q, ``eta Q L``, eta_g, class (``convex`` or ``non-convex``). A minimiser
    of f is the origin, where the gradients sum to zero; values of f are relative to the value there. In the theorem
    f(x^0) - E f(x^1) replaces f(x^0) - f*, which is larger, and the amount by which it may be below zero is added to
    both sides.
    """
    P, Q, eta_g = int(instance["P"]), int(instance["Q"]), float(Fraction(instance["eta_g"]))
    eta = float(Fraction(instance["eta Q L"])) / Q
    problem = PEPit.PEP()
    world = FunctionClass(problem, declared(problem, instance["class"], 2))
    least = world.mean_value(world.minimiser_at_origin())

    def excess(y: Vector) -> Any:
        """f(y) - f*. Functions that are not convex need the condition that f is not below f*."""
        above = world.mean_value(y) - least
        if instance["class"] != "convex":
            problem.add_constraint(world.square(world.mean_gradient(y)) / 2 <= above)
        return above

    x, algorithm = Vector(problem.set_initial_point()), TwoSidedFedAvg(eta_l=eta, eta_g=eta_g, Q=Q)
    following = expected(world, lambda: {"next": excess(run_round(algorithm, world, x, size=P, unseen=True).x)})["next"]
    first = [world.gradient(i, x) for i in range(2)]
    mean, apart = average(first).known, world.square((first[0] - first[1]) / 2)
    now = excess(x)
    zeros = "sigma_l noise_variance G E_deviation E_square_deviation first_bias second_bias first_spread second_spread"
    values = {**dict.fromkeys(("L", "d", "T", "alpha", "gamma_1", "gamma_2"), 1.0), **dict.fromkeys(zeros.split(), 0.0)}
    values |= {"N": 2.0, "P": float(P), "Q": float(Q), "eta_l": eta, "eta_g": eta_g}
    if statement.kind == "step":
        values |= {"square": mean**2, "sigma_g^2": apart, "f_now": now, "E_next": following}
        return WorstCase(problem, values, f"{statement.id}, from f*, L = 1")
    unit = eta_g * eta * Q / 4  # every quantity is multiplied by it, so that the start has the factor 1
    values |= {"E_aligned": unit * mean**2, "sigma_g^2": unit * apart, "gap": unit * (now - following)}
    return WorstCase(problem, values, f"{statement.id}, from f*, L = 1", shift=following)


_LIMIT = {"eta Q L": "91/1000", "eta_g": "1/11"}
_SHORT = {"eta Q L": "1/100", "eta_g": "25/12"}
"""The largest eta_g for this local step when one client takes part: eta_g eta_l = 1/(48Q)."""


def at_limit(limits: StepLimits, P: int, product: str) -> dict[str, str]:
    """The step eta_l with this eta_l QL, and the largest eta_g for it."""
    least = min(Fraction(P, limits.product), Fraction(P, limits.pairs * (P - 1)) if P > 1 else Fraction(P))
    return {"eta Q L": product, "eta_g": str(least / Fraction(product))}


def round_checks(limits: StepLimits | None = None, products: Sequence[str] = ()) -> Iterator[Check]:
    """The round for both classes, one or both clients taking part, and one or two local steps; for each of the products
    eta_l QL with the largest eta_g of these limits. None: (21) as printed, at two steps inside the printed limits.

    As printed it fails where one client takes part and the local step is small, so that the drift hides nothing.
    """
    for kind, P, Q, large in itertools.product(("convex", "non-convex"), (1, 2), (1, 2), (True, False)):
        step = (_LIMIT if large else _SHORT) if limits is None else at_limit(limits, P, products[0 if large else 1])
        name = f"one round, {kind}, {P} of 2 clients, Q = {Q}, {'large' if large else 'small'} local step"
        known = "violated" if limits is None and P == 1 and not large else "holds"
        yield Check("worst-case", name, worst_round, {"class": kind, "P": P, "Q": Q, **step}, known)
