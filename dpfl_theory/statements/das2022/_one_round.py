"""Worst cases of a whole round of Algorithm 1, client sampling included, without noise: a step of das2022's recursions.

With few clients the expectation over cohorts is a finite sum, so a round of (13) with (34), or of (40) with (46), is
one inequality between quadratic forms. Noise adds the same to both sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.local_phase import step_size
from dpfl_theory.statements.model import Check

__all__ = ["checks", "one_round"]


def one_round(instance: Mapping[str, Any]) -> Performance:
    """E||w_{k+1} - w*||^2 <= ||w_k - w*||^2 + (1/n) sum_i (what the proof allows A_i), for r = 1.

    instance: L, ``eta L``, E; bounding ``clip`` or ``normalise``; sampling ``independent`` or ``fixed``; lengths: for
    each function the ratio C/||u_i|| as text, or ``short`` for a clipped method's client with ||u_i|| <= C; copies: how
    many clients share each function. Every f_i is convex and L-smooth with C >= 4 E sqrt(L Delta_i); w* is the origin,
    where the gradients sum to zero. all_Delta: whether the right side is that of Theorem 6's second form, which has
    3 eta E a Delta_i for every client, clipped or not, a = eta L E <= 1/4.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothConvexFunction

    L, eta = step_size(instance)
    E, lengths = int(instance["E"]), instance["lengths"]
    n, a = len(lengths), eta * L * E
    clients, every = n * int(instance.get("copies", 1)), bool(instance.get("all_Delta"))
    problem = PEP()
    functions = [problem.declare_function(SmoothConvexFunction, L=L) for _ in range(n)]
    origin = Point(is_leaf=False, decomposition_dict={})
    w, C2 = problem.set_initial_point(), None  # C^2, once it is known
    rest = origin
    for f in functions[:-1]:
        rest = rest - f.gradient(origin)
    functions[-1].add_point((origin, rest, Expression()))

    sent: list[Any] = []
    left, right = 0.0, w**2
    # A client whose length is given in terms of C defines C, so that it needs no equation.
    for f, length in sorted(zip(functions, lengths), key=lambda pair: pair[1] == "short"):
        low = f(f.stationary_point() if n > 1 else origin)  # a single function's w* is its own minimiser
        excess, delta = f(w) - low, f(origin) - low
        u = origin
        point = w
        for _ in range(E):
            u, point = u + f.gradient(point), point - eta * f.gradient(point)
        kappa = math.nan if length == "short" else float(Fraction(length))
        if C2 is None:
            C2 = Expression() if length == "short" else kappa**2 * u**2
        elif length != "short":
            problem.add_constraint(kappa**2 * u**2 == C2)
        problem.add_constraint(16 * L * E**2 * delta <= C2)
        if length == "short":
            problem.add_constraint(u**2 <= C2)
            sent.append(u)
            gap = eta * E * (2 - 2 * a - 4 * a**2)
            left += max(gap, 0.0) * excess / n
            right += (2 * eta * E * delta + max(-gap, 0.0) * excess) / n
            if every:
                right += eta * E * (3 * a - 2 * a * (1 + 2 * a)) * delta / n
            continue
        sent.append(kappa * u)
        if kappa <= 1:
            left += 3 * eta / (8 * L * E * kappa) * C2 / n
            if every:
                right += 3 * eta * E * a * delta / n
        else:
            gap = 2 * eta * E * kappa * (1 - 2 * a**2)
            left += max(gap, 0.0) * excess / n
            right += (2 * eta * E * kappa * delta + max(-gap, 0.0) * excess + eta**2 * C2) / n
    mean, square = sum(sent[1:], sent[0]) / n, sum(g**2 for g in sent) / n
    # The variance of the cohort's average for r = 1: (1 - 1/clients) square if independent, square - mean^2 for one.
    spread = (1 - 1 / clients) * square if instance["sampling"] == "independent" else square - mean**2
    left += (w - eta * mean) ** 2 + eta**2 * spread
    return Performance(problem, left, right, "one round, the clients' shares on positive sides")


_CLIP = (("short", "short"), ("1", "short"), ("1/2", "short"), ("1", "1"), ("1", "1/2"), ("short", "short", "short"))
_NORMALISE = (("2", "2"), ("1", "2"), ("1/2", "1/2"), ("100", "1"))
_IDENTICAL = ("100",)
"""Ten clients with one function whose update is much shorter than C: what independent sampling adds is not absorbed."""
_STEPS = ((1, "1/2"), (2, "1/5"), (1, "1/20"))


_NEAR = ("99/100",)
"""Two hundred clients with one function whose update is just longer than C: for long local phases (35) fails."""


def checks(bounding: str, samplings: tuple[str, ...] = ("independent", "fixed")) -> tuple[Check, ...]:
    """The round for several lengths, samplings, E and eta L, with the verdicts that they are known to give."""
    found = []
    for lengths in _CLIP if bounding == "clip" else (*_NORMALISE, _IDENTICAL):
        for sampling in samplings:
            for E, product in _STEPS:
                name = f"one round, {sampling}, r = 1, C/||u|| = ({', '.join(lengths)}), E = {E}, eta L = {product}"
                instance = {"L": "1", "eta L": product, "E": E, "sampling": sampling, "lengths": list(lengths)}
                if lengths == _IDENTICAL:
                    name, instance = f"ten clients, {name}", {**instance, "copies": 10}
                broken = lengths == _IDENTICAL and sampling == "independent"
                found.append(Check("worst-case", name, one_round, instance, "violated" if broken else "holds"))
    return tuple(found)


def short_phases() -> tuple[Check, ...]:
    """The clipped round for two thousand independent clients in two groups, eta L E up to 1/2."""
    found = []
    for lengths in (("short", "short"), ("1", "short"), ("1/2", "short"), ("1", "1")):
        for E, product in ((1, "1/8"), (1, "1/2"), (4, "1/16"), (4, "1/8")):
            instance = {"L": "1", "eta L": product, "E": E, "sampling": "independent", "lengths": list(lengths)}
            told = f"C/||u|| = ({', '.join(lengths)}), E = {E}, eta L = {product}"
            name = f"two thousand clients, independent, r = 1, {told}"
            found.append(Check("worst-case", name, one_round, {**instance, "copies": 1000}))
    return tuple(found)


def small_phases(products: tuple[tuple[int, str], ...], every: bool) -> tuple[Check, ...]:
    """The clipped round for two hundred independent clients in two groups, for the (E, eta L) given."""
    found = []
    for lengths in (("short", "short"), ("1", "short"), ("1/2", "short"), ("1", "1")):
        for E, product in products:
            instance = {"L": "1", "eta L": product, "E": E, "sampling": "independent", "lengths": list(lengths)}
            name = (
                f"two hundred clients, independent, r = 1, C/||u|| = ({', '.join(lengths)}), E = {E}, eta L = {product}"
            )
            found.append(Check("worst-case", name, one_round, {**instance, "copies": 100, "all_Delta": every}))
    return tuple(found)


def near_threshold(sampling: str) -> tuple[Check, ...]:
    """The clipped round for two hundred equal clients whose updates are a hundredth longer than C."""
    broken = sampling == "independent"
    found = []
    for E in (4, 5):
        instance = {"L": "1", "eta L": "1/2", "E": E, "sampling": sampling, "lengths": list(_NEAR), "copies": 200}
        name = f"two hundred clients, one round, {sampling}, r = 1, C/||u|| = 99/100, E = {E}, eta L = 1/2"
        found.append(Check("worst-case", name, one_round, instance, "violated" if broken else "holds"))
    return tuple(found)
