"""Worst cases of the steps in das2022's proofs: of one client's local phase, and of a whole round without noise.

A client's phase starts from w_k, and w* need not be its minimiser. Where both sides of a statement have a quantity of
either sign, it is subtracted from both (``shift``), so that the left side is never negative.

With few clients the expectation over cohorts is a finite sum, so a round of (13) with (34), or of (40) with (46), is
one inequality between quadratic forms. Noise adds the same to both sides. The lengths of the updates are given as
multiples of C, since norms are not linear forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.core import Check, Performance, Statement, WorstCase
from dpfl_theory.core import checks as made_of
from dpfl_theory.core.expressions import evaluate
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import PEPit
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, expected
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.performance import FunctionClass, declared
from dpfl_theory.statements.local_phase import LocalPhase, grid, step_size

_NONE = dict.fromkeys(
    (
        *("clipped_progress", "E_clipped_length", "unclipped_progress", "E_unclipped_gap", "E_unclipped_Delta"),
        *("normalised_progress", "E_unclipped_weighted_gap", "E_unclipped_weighted_Delta", "E_unclipped_share"),
    ),
    0,
)
"""The quantities that (34) and (46) add up over both cases: in either case those of the other one are zero."""


class _Step:
    """A local phase, its update u = sum of gradients, the way w_k - w*, and Delta_i."""

    def __init__(self, instance: Mapping[str, Any]) -> None:
        self.L, self.eta = step_size(instance)
        self.E = int(instance["E"])
        self.phase = LocalPhase("convex", self.L, self.eta, self.E)
        self.u = sum(self.phase.gradients[1:], self.phase.gradient(0))
        target = self.phase.problem.set_initial_point()
        self.way = self.phase.points[0] - target
        self.delta = self.phase.function(target) - self.phase.minimum
        self.excess = self.phase.value(0)
        """f_i(w_k) - f_i^*, which is the gap to f_i(w*) plus Delta_i."""
        self.gap = self.excess - self.delta
        self.product = self.u * self.way
        """B_i."""
        self.numbers = {"L": self.L, "eta": self.eta, "E": self.E}

    def case(self, values: Mapping[str, Any], label: str, shift: Any = None) -> WorstCase:
        return WorstCase(self.phase.problem, {**_NONE, **self.numbers, **values}, label, shift=shift)


def left_coefficient(statement: Statement, name: str, numbers: Mapping[str, Any]) -> float:
    """The coefficient of a symbol in ``lhs - rhs``, where that is positive, else 0: with a value that is a difference,
    the part that it subtracts from the left side."""
    difference = total(statement, "lhs") - total(statement, "rhs")
    return max(0.0, float(evaluate(difference.diff(symbols_of(statement)[name]), numbers, statement.id)))


def eq18(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The distance after the phase is added to both sides."""
    s = _Step(instance)
    after = (s.way - s.eta * s.u) ** 2
    values = {"update_squared": s.u**2, "approach": s.way**2 - after, "Delta": s.delta}
    return s.case(values, "(18), all on positive sides", after)


def clipped(_: Statement, instance: Mapping[str, Any], threshold: float = 4.0) -> WorstCase:
    """A client with ||u|| = C, in units in which that is 1, and C >= threshold E sqrt(L Delta); 4 is printed.

    With kappa = C/||u||, (22) over eta kappa reads eta kappa ||u||^2 + 3 ||u||^2/(8LE) <= 2 <u, w_k - w*>, under
    threshold^2 L E^2 Delta <= kappa^2 ||u||^2: the hypothesis is weakest and the left side largest at kappa = 1.
    """
    s = _Step(instance)
    s.phase.problem.add_constraint(threshold**2 * s.L * s.E**2 * s.delta <= s.u**2)
    values = {"C": 1, "C_hat": Fraction(1, s.E), "E_clipped_length": s.u**2}
    values["clipped_progress"] = s.eta**2 * s.u**2 - 2 * s.eta * s.product
    return s.case(values, "the bound at ||u|| = C with 2 eta <u, w_k - w*> on both sides", 2 * s.eta * s.product)


def eq23(_: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A_i of an unclipped client, with its inner product; the part that (23) adds to -2 eta B_i is left."""
    s = _Step(instance)
    values = {"unclipped_progress": s.eta**2 * s.u**2 - 2 * s.eta * s.product, "unclipped_B": s.product}
    values |= {"E_unclipped_gap": s.gap, "E_unclipped_Delta": s.delta}
    return s.case(values, "eta^2 ||u||^2 against what (23) adds to -2 eta B_i")


def eq31(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """The quantity that (31) subtracts from E times the gap is added to both sides."""
    s = _Step(instance)
    gap = left_coefficient(statement, "E_gap", s.numbers)
    taken = s.E * s.excess - gap * s.gap
    return s.case({"E_gap": s.gap, "Delta": s.delta, "B": s.product}, "(31), all on positive sides", taken)


def eq31_sum(_: Statement, instance: Mapping[str, Any]) -> Performance:
    """(31) with the sum of tau^2 for tau < E in place of E^3: the display's middle."""
    s = _Step(instance)
    drift = 2 * s.eta**2 * s.L**2 * sum(tau**2 for tau in range(s.E))
    right = s.product + s.E * s.delta + drift * s.excess
    what = f"E (f_i(w_k) - f_i^*) against B_i + E Delta + {drift:.6g} times the same"
    return Performance(s.phase.problem, s.E * s.excess, right, what)


def unclipped(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A client with ||u|| <= C."""
    return _unclipped(statement, _Step(instance))


def _unclipped(statement: Statement, s: _Step) -> WorstCase:
    values = {"C_hat": 1, "unclipped_progress": s.eta**2 * s.u**2 - 2 * s.eta * s.product}
    values |= {"E_unclipped_gap": s.gap, "E_unclipped_Delta": s.delta}
    taken = left_coefficient(statement, "E_unclipped_gap", {**s.numbers, "C_hat": 1}) * s.delta
    return s.case(values, "an unclipped client's bound, all on positive sides", taken + 2 * s.eta * s.product)


def lengthened(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """A client with ||u|| <= C whose update is sent with length C, without eta^2 C^2, which both sides have.

    Taken at ||u|| = C. Elsewhere z_i = C/||u_i|| multiplies everything that is left.
    """
    s = _Step(instance)
    square = s.eta**2 * s.u**2
    values = {"C_hat^2": s.u**2 / s.E**2, "normalised_progress": square - 2 * s.eta * s.product}
    values |= {"E_unclipped_weighted_gap": s.gap, "E_unclipped_weighted_Delta": s.delta, "E_unclipped_share": 1}
    taken = left_coefficient(statement, "E_unclipped_weighted_gap", s.numbers) * s.delta
    message = "a lengthened client's bound without eta^2 C^2, all on positive sides"
    return s.case(values, message, taken + 2 * s.eta * s.product - square)


def checks(build: Callable[..., Any], products: tuple[str, ...], prefix: str = "", part: str = "") -> tuple[Check, ...]:
    """A worst-case check for one to four local steps at each product eta L. Where the first of them is the largest that
    the hypotheses allow, also one just outside."""
    found = grid(**{"E": (1, 2, 3, 4), "eta L": products, "L": ("1",)})
    inside = made_of("worst-case", build, {prefix + name: i for name, i in found.items()}, part=part)
    return inside if part else (*inside, *outside(build, products[0]))


def cases(**builds: Callable[..., Any]) -> tuple[Check, ...]:
    """Worst-case checks of a bound that adds up cases, each by its own build."""
    found = grid(**{"E": (2, 4), "eta L": ("1/2", "1/5"), "L": ("1",)})
    named = ((build, {f"{case}, {name}": i for name, i in found.items()}) for case, build in builds.items())
    return tuple(check for build, instances in named for check in made_of("worst-case", build, instances))


def outside(build: Callable[..., Any], edge: str, **more: Any) -> tuple[Check, ...]:
    """A step 2% longer than eta L <= edge allows."""
    beyond = {"E": 2, "eta L": str(Fraction(51, 50) * Fraction(edge)), "L": "1", **more}
    return made_of("worst-case", build, {f"just outside eta L <= {edge}": beyond}, "not-applicable")


def one_round(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One round, r = 1: E||w_{k+1} - w*||^2 against ||w_k - w*||^2 and what the proof allows the clients' A_i.

    instance: L, ``eta L``, E; sampling ``independent`` or ``fixed``; lengths: for each function the ratio C/||u_i|| as
    text, or ``short`` for a clipped method's client with ||u_i|| <= C; copies: how many clients share each function.
    Every f_i is convex and L-smooth with C >= 4 E sqrt(L Delta_i); w* is the origin, where the gradients sum to zero.

    A statement on the sum over K rounds is taken at K = 1 with the round's decrease for its ||w_0 - w*||^2: that is
    stronger than the statement, and its sum over K rounds gives the statement.
    """
    L, eta = step_size(instance)
    E, lengths = int(instance["E"]), instance["lengths"]
    n = len(lengths)
    clients = n * int(instance.get("copies", 1))
    apart = instance["sampling"] == "independent"
    weighted = "weighted_" if "E_unclipped_weighted_gap" in symbols_of(statement) else ""
    algorithm = (DPNormFedAvg if weighted else DPFedAvg)(eta=eta, beta=eta, E=E, C=1.0, sigma=int(apart))
    problem = PEPit.PEP()
    functions = declared(problem, "convex", n, L=L)
    sent: dict[int, Vector] = {}
    # Where clients join independently, their average is the mean plus an error of every message. For r = 1 a message is
    # sent with probability 1/clients, and its error has 1 - 1/clients of its second moment.
    world = FunctionClass(
        problem,
        functions,
        lambda name: (1 - 1 / clients) * n * world.square(sent[name[2]]),  # type: ignore[index]
    )
    w, o = Vector(problem.set_initial_point()), WorldOperations(world)
    C2: Any = None  # C^2, once it is known
    world.minimiser_at_origin()
    gap = heterogeneity = every = PEPit.Expression(is_leaf=False, decomposition_dict={})
    length, share = Fraction(0), Fraction(0)  # mean length of the clipped updates, over C
    # A client whose length is given in terms of C defines C, so that it needs no equation.
    for i, reported in sorted(enumerate(lengths), key=lambda pair: pair[1] == "short"):
        # A single function's w* is its own minimiser.
        low = functions[i](functions[i].stationary_point()) if n > 1 else world.value(i, world.zero)
        excess, delta = world.value(i, w) - low, world.value(i, world.zero) - low
        update = algorithm.message(o, w, i)
        gradients = [world.gradient(i, y) for y in o.paths[i][:E]]
        square = world.square(sum(gradients[1:], gradients[0]))  # of the update
        kappa = 1.0 if reported == "short" else float(Fraction(reported))
        if C2 is None:
            C2 = PEPit.Expression() if reported == "short" else kappa**2 * square
        elif reported != "short":
            problem.add_constraint(kappa**2 * square == C2)
        problem.add_constraint(16 * L * E**2 * delta <= C2)
        every += delta / n
        if reported == "short":
            problem.add_constraint(square <= C2)
        world.set_length(update, 1 / kappa)  # in units of C; a short one stays as it is
        sent[i] = algorithm.bound(o, update, None)
        if reported != "short" and kappa <= 1:
            length += 1 / (n * Fraction(kappa))
            continue
        gap += kappa * (excess - delta) / n
        heterogeneity += kappa * delta / n
        share += Fraction(1, n)

    def moved() -> dict[str, Any]:
        return {"after": world.square(run_round(algorithm, world, w, size=None if apart else 1).x)}

    after = expected(world, moved)["after"]

    s, start = symbols_of(statement), world.square(w)
    # Without noise where the statement has it as a term of its own; else with eta^2 d sigma^2 = (eta C rho)^2, K = 1.
    rho = 0.0 if statement.prescription is None else 0.5
    numbers = {"L": L, "eta": eta, "E": E, "K": 1, "r": 1, "n": clients, "d": 1, "epsilon": 1, "delta": Fraction(1, 2)}
    numbers |= {"q": sp.Rational(rho * clients) ** 2 / sp.log(2), "rho": rho, "alpha": rho / (2 * eta * L)}
    numbers |= {"kappa": Fraction(clients - 1, clients) if apart else 0, "E_unclipped_share": share}
    gamma = Fraction(eta) * Fraction(L) * E * Fraction(rho)  # over C_hat
    values = {**numbers, "C_hat^2": C2 / E**2, "Delta": every}
    values |= {"gamma": sp.Rational(gamma) * s.C_hat, "E_clipped_length": sp.Rational(E * length) * s.C_hat}
    values |= {"distance^2": start, "next_distance^2": after, "D^2": start - after - (eta * rho) ** 2 * C2}
    values |= {f"E_unclipped_{weighted}gap": gap, f"E_unclipped_{weighted}Delta": heterogeneity}
    taken = left_coefficient(statement, f"E_unclipped_{weighted}gap", {**numbers, "C_hat": 1, "gamma": gamma})
    shift = taken * heterogeneity if "next_distance" in s else taken * heterogeneity + after / (eta * E)
    return WorstCase(problem, values, "one round, the clients' shares on positive sides", shift=shift)


_OUT = "not-applicable"
_CLIP = (("short", "short"), ("1", "short"), ("1/2", "short"), ("1", "1"), ("1", "1/2"), ("short", "short", "short"))
_NORMALISE = (("2", "2"), ("1", "2"), ("1/2", "1/2"), ("100", "1"))
_IDENTICAL = ("100",)
"""Ten clients with one function whose update is much shorter than C: the amount that independent sampling adds is not
absorbed."""
_STEPS = ((1, "1/2"), (2, "1/5"), (1, "1/20"))


def _round(
    name: str, sampling: str, lengths: tuple[str, ...], E: int, product: str, expected: str = "holds", copies: int = 1
) -> Check:
    """The check of a round, L = 1, under a name with {} in place of the lengths and the step."""
    instance = {"L": "1", "eta L": product, "E": E, "sampling": sampling, "lengths": list(lengths)}
    instance |= {} if copies == 1 else {"copies": copies}
    at = f"C/||u|| = ({', '.join(lengths)}), E = {E}, eta L = {product}"
    return Check("worst-case", name.format(at), one_round, instance, expected)


def round_checks(algorithm: str, samplings: tuple[str, ...] = ("independent", "fixed")) -> Iterator[Check]:
    """The round for several lengths, samplings, E and eta L, with the verdicts that they are known to give."""
    for lengths in _CLIP if algorithm == "dp-fedavg" else _NORMALISE:
        for sampling in samplings:
            for E, product in _STEPS:
                yield _round(f"one round, {sampling}, r = 1, {{}}", sampling, lengths, E, product)
    for sampling in samplings if algorithm != "dp-fedavg" else ():
        verdict, name = "violated" if sampling == "independent" else "holds", "ten clients, one round, {}, r = 1, {{}}"
        for E, product in _STEPS:
            yield _round(name.format(sampling), sampling, _IDENTICAL, E, product, verdict, 10)


def round_outside(edge: str, E: int, sampling: str) -> Check:
    """A round with a step 2% longer than an edge of eta L E allows."""
    product = str(Fraction(51, 50) * Fraction(edge) / E)
    return _round(f"just outside eta L E <= {edge}, E = {E}", sampling, ("short", "short"), E, product, _OUT)


def groups(clients: str, copies: int, products: tuple[tuple[int, str], ...]) -> Iterator[Check]:
    """The clipped round for independent clients in two groups of ``copies`` equal ones, for the given (E, eta L).

    clients: their number in words.
    """
    for lengths in (("short", "short"), ("1", "short"), ("1/2", "short"), ("1", "1")):
        for E, product in products:
            yield _round(
                f"{clients} clients, independent, r = 1, {{}}", "independent", lengths, E, product, copies=copies
            )


SHORT_PHASES = tuple(groups("two thousand", 1000, ((1, "1/8"), (1, "1/2"), (4, "1/16"), (4, "1/8"))))
"""eta L E up to 1/2."""


def near_threshold(sampling: str) -> Iterator[Check]:
    """The clipped round for two hundred equal clients whose updates are a hundredth longer than C: for independent
    clients and long local phases (35) fails."""
    verdict = "violated" if sampling == "independent" else "holds"
    for E in (4, 5):
        name = f"two hundred clients, one round, {sampling}, r = 1, C/||u|| = 99/100, E = {E}, eta L = 1/2"
        yield _round(name, sampling, ("99/100",), E, "1/2", verdict, 200)
