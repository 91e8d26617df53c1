"""Worst cases of a whole round of Algorithm 1, client sampling included, without noise: a step of das2022's recursions.

With few clients the expectation over cohorts is a finite sum, so a round of (13) with (34), or of (40) with (46), is
one inequality between quadratic forms. Noise adds the same to both sides. The lengths of the updates are given as
multiples of C, since norms are not linear forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.core import Check, Statement, WorstCase
from dpfl_theory.core import checks as made_of
from dpfl_theory.core.formula import symbols_of
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector, expected
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.performance import FunctionClass
from dpfl_theory.statements.das2022._step_performance import left_coefficient
from dpfl_theory.statements.local_phase import step_size

__all__ = ["SHORT_PHASES", "checks", "groups", "near_threshold", "one_round", "outside"]


def one_round(statement: Statement, instance: Mapping[str, Any]) -> WorstCase:
    """One round, r = 1: E||w_{k+1} - w*||^2 against ||w_k - w*||^2 and what the proof allows the clients' A_i.

    instance: L, ``eta L``, E; sampling ``independent`` or ``fixed``; lengths: for each function the ratio C/||u_i|| as
    text, or ``short`` for a clipped method's client with ||u_i|| <= C; copies: how many clients share each function.
    Every f_i is convex and L-smooth with C >= 4 E sqrt(L Delta_i); w* is the origin, where the gradients sum to zero.

    A statement on the sum over K rounds is taken at K = 1 with the round's decrease for its ||w_0 - w*||^2: that is
    stronger than the statement, and its sum over K rounds gives the statement.
    """
    from PEPit import PEP, Expression
    from PEPit.functions import SmoothConvexFunction

    L, eta = step_size(instance)
    E, lengths = int(instance["E"]), instance["lengths"]
    n = len(lengths)
    clients = n * int(instance.get("copies", 1))
    apart = instance["sampling"] == "independent"
    weighted = "weighted_" if "E_unclipped_weighted_gap" in symbols_of(statement) else ""
    algorithm = (DPNormFedAvg if weighted else DPFedAvg)(eta=eta, beta=eta, E=E, C=1.0, sigma=int(apart))
    problem = PEP()
    functions = [problem.declare_function(SmoothConvexFunction, L=L) for _ in range(n)]
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
    rest = world.zero
    for i in range(n - 1):
        rest = rest - world.gradient(i, world.zero)
    functions[-1].add_point((world.zero.known, rest.known, Expression()))

    gap = heterogeneity = every = Expression(is_leaf=False, decomposition_dict={})
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
            C2 = Expression() if reported == "short" else kappa**2 * square
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


_CLIP = (("short", "short"), ("1", "short"), ("1/2", "short"), ("1", "1"), ("1", "1/2"), ("short", "short", "short"))
_NORMALISE = (("2", "2"), ("1", "2"), ("1/2", "1/2"), ("100", "1"))
_IDENTICAL = ("100",)
"""Ten clients with one function whose update is much shorter than C: the amount that independent sampling adds is not
absorbed."""
_STEPS = ((1, "1/2"), (2, "1/5"), (1, "1/20"))


_NEAR = ("99/100",)
"""Two hundred clients with one function whose update is just longer than C: for long local phases (35) fails."""


def checks(algorithm: str, samplings: tuple[str, ...] = ("independent", "fixed")) -> tuple[Check, ...]:
    """The round for several lengths, samplings, E and eta L, with the verdicts that they are known to give."""
    found = []
    for lengths in _CLIP if algorithm == "dp-fedavg" else (*_NORMALISE, _IDENTICAL):
        for sampling in samplings:
            for E, product in _STEPS:
                name = f"one round, {sampling}, r = 1, C/||u|| = ({', '.join(lengths)}), E = {E}, eta L = {product}"
                instance = {"L": "1", "eta L": product, "E": E, "sampling": sampling, "lengths": list(lengths)}
                if lengths == _IDENTICAL:
                    name, instance = f"ten clients, {name}", {**instance, "copies": 10}
                broken = lengths == _IDENTICAL and sampling == "independent"
                found.append(Check("worst-case", name, one_round, instance, "violated" if broken else "holds"))
    return tuple(found)


def outside(edge: str, E: int, sampling: str) -> tuple[Check, ...]:
    """A round with a step 2% longer than an edge of eta L E allows."""
    product = str(Fraction(51, 50) * Fraction(edge) / E)
    instance = {"L": "1", "eta L": product, "E": E, "sampling": sampling, "lengths": ["short", "short"]}
    return made_of("worst-case", one_round, {f"just outside eta L E <= {edge}, E = {E}": instance}, "not-applicable")


def groups(clients: str, copies: int, products: tuple[tuple[int, str], ...]) -> tuple[Check, ...]:
    """The clipped round for independent clients in two groups of ``copies`` equal ones, for the given (E, eta L).

    clients: their number in words.
    """
    found = []
    for lengths in (("short", "short"), ("1", "short"), ("1/2", "short"), ("1", "1")):
        for E, product in products:
            instance = {"L": "1", "eta L": product, "E": E, "sampling": "independent", "lengths": list(lengths)}
            message = f"C/||u|| = ({', '.join(lengths)}), E = {E}, eta L = {product}"
            name = f"{clients} clients, independent, r = 1, {message}"
            found.append(Check("worst-case", name, one_round, {**instance, "copies": copies}))
    return tuple(found)


SHORT_PHASES = groups("two thousand", 1000, ((1, "1/8"), (1, "1/2"), (4, "1/16"), (4, "1/8")))
"""eta L E up to 1/2."""


def near_threshold(sampling: str) -> tuple[Check, ...]:
    """The clipped round for two hundred equal clients whose updates are a hundredth longer than C."""
    broken = sampling == "independent"
    found = []
    for E in (4, 5):
        instance = {"L": "1", "eta L": "1/2", "E": E, "sampling": sampling, "lengths": list(_NEAR), "copies": 200}
        name = f"two hundred clients, one round, {sampling}, r = 1, C/||u|| = 99/100, E = {E}, eta L = 1/2"
        found.append(Check("worst-case", name, one_round, instance, "violated" if broken else "holds"))
    return tuple(found)
