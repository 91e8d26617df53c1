"""Worst cases of a whole round of DP-FedAvg, client sampling included, for zhang2021's (21): any dimension, all smooth
functions, without noise and clipping.

With few clients the expectation over the cohorts is a finite sum, so the descent inequality is one between linear forms
in function values and inner products.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Performance
from dpfl_theory.statements.model import Check

__all__ = ["checks", "one_round"]


def one_round(
    instance: Mapping[str, Any], repaired: bool, sampling: float = 27 / 2, drift: float = 15.0
) -> Performance:
    """(21) for two clients with L = 1, without stochastic gradients, privacy noise and clipping.

    instance: P (1 or 2, without replacement), Q, ``eta Q L``, eta_g, class (``convex`` or ``non-convex``). A minimiser
    of f is the origin, where the gradients sum to zero; both sides are counted from f there. repaired: the right side
    of the repaired (21), with these constants before (L/P) eta_g^2 eta_l^2 Q^2 sigma_g^2 and eta_g eta_l^3 L^2 Q^3
    sigma_g^2.
    """
    from PEPit import PEP, Expression, Point
    from PEPit.functions import SmoothConvexFunction, SmoothFunction

    P, Q, eta_g = int(instance["P"]), int(instance["Q"]), float(Fraction(instance["eta_g"]))
    eta = float(Fraction(instance["eta Q L"])) / Q
    beta = eta_g * eta
    problem = PEP()
    kind = SmoothConvexFunction if instance["class"] == "convex" else SmoothFunction
    functions = [problem.declare_function(kind, L=1.0) for _ in range(2)]
    origin = Point(is_leaf=False, decomposition_dict={})
    at_origin = functions[0].gradient(origin)
    functions[1].add_point((origin, -at_origin, Expression()))
    least = (functions[0](origin) + functions[1](origin)) / 2

    def excess(y: Any) -> Any:
        """f(y) - f*. Functions that are not convex need to be told that f does not go below f*."""
        above = (functions[0](y) + functions[1](y)) / 2 - least
        if instance["class"] != "convex":
            slope = (functions[0].gradient(y) + functions[1].gradient(y)) / 2
            problem.add_constraint(slope**2 / 2 <= above)
        return above

    x = problem.set_initial_point()
    sums = []
    for f in functions:
        y, total = x, origin
        for _ in range(Q):
            g = f.gradient(y)
            y, total = y - eta * g, total + g
        sums.append(total)
    first = [f.gradient(x) for f in functions]
    mean, apart = (first[0] + first[1]) / 2, ((first[0] - first[1]) / 2) ** 2
    cohorts = list(itertools.combinations(range(2), P))
    left = beta * Q / 4 * mean**2
    for members in cohorts:
        left += excess(x - beta / P * sum((sums[i] for i in members), origin)) / len(cohorts)
    factor = drift * beta * eta**2 * Q**3
    factor += sampling / P * beta**2 * Q**2 if repaired else 12 * beta / P * factor
    return Performance(problem, left, excess(x) + factor * apart, "(21), counted from f*, L = 1")


_LIMIT = {"eta Q L": "91/1000", "eta_g": "1/11"}
_SHORT = {False: {"eta Q L": "1/100", "eta_g": "25/12"}, True: {"eta Q L": "1/100", "eta_g": "5/6"}}
"""The largest eta_g for this local step when one client takes part: eta_g eta_l = 1/(48Q), and 1/(120QL) repaired."""


def checks(repaired: bool) -> tuple[Check, ...]:
    """The round for both classes, one or both clients taking part, and one or two local steps.

    As printed it fails where one client takes part and the local step is small, so that the drift hides nothing.
    """
    steps = {"large local step": _LIMIT, "small local step": _SHORT[repaired]}
    found = []
    for kind, P, Q, (name, step) in itertools.product(("convex", "non-convex"), (1, 2), (1, 2), steps.items()):
        instance = {"class": kind, "P": P, "Q": Q, **step}
        broken = not repaired and P == 1 and step != _LIMIT
        title = f"one round, {kind}, {P} of 2 clients, Q = {Q}, {name}"
        found.append(
            Check("worst-case", title, lambda i: one_round(i, repaired), instance, "violated" if broken else "holds")
        )
    return tuple(found)
