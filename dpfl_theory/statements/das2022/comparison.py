"""das2022 Sections 3.1 and 4.1, and Figure 3's caption: the claims on normalisation compared with clipping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.core import Check, Experiment, Hypothesis, Sides, Source, Statement, Symbol, Values, battery
from dpfl_theory.lazy import numpy as np
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import eq4_and_5, theorem4
from dpfl_theory.statements.das2022._runs import NORMALISE, experiment
from dpfl_theory.statements.experiments import without_noise
from dpfl_theory.statements.relations import Formula, Proof, algebra, equal_sides, of

_C_LOW = Symbol("C_low", "least length of a client's update", (1, -1), "positive", r"C_{\mathrm{low}}")


# Section 3.1: C <= C_low.


def _same_run(_: Statement, instance: Mapping[str, Any]) -> Iterator[Values]:
    """Both methods on f_i(w) = h_i |w - c_i|^2/2 in one dimension, in rational arithmetic, for as long as every update
    is at least C_low long: the mean difference of what a client sends in a round of either run."""
    curvature, centres, noise = ([Fraction(v) for v in instance[name]] for name in ("curvature", "centres", "noise"))
    eta, C_low, E = Fraction(instance["eta"]), Fraction(instance["C_low"]), int(instance["E"])
    C = C_low * Fraction(instance["C/C_low"])
    methods = [kind(eta=eta, beta=eta, E=E, C=C, sigma=0) for kind in (DPFedAvg, DPNormFedAvg)]
    world = Quadratics(curvature, [h * c for h, c in zip(curvature, centres)])
    points = [Vector(Fraction(instance["w_0"]))] * 2
    for k, zeta in enumerate(noise):
        o, messages = WorldOperations(world), []
        for w, method in zip(points, methods):
            updates = method.updates(o, w, o.cohort)
            if min(map(world.length, updates)) < C_low:
                return
            messages.append(method.messages(o, updates))
        points = [run_round(method, world, w).x - Vector(eta * zeta) for w, method in zip(points, methods)]
        apart = sum((world.length(a - b) for a, b in zip(*messages)), Fraction(0)) / world.clients
        yield Values({"C": C, "C_low": C_low, "E_difference": apart}, {"round": k, "w": points[0].known})


@algebra("the difference at the shortest update")
def _client_difference(s: Formula) -> Proof:
    """|C - min(||u||, C)| at the shortest update, ||u|| = C_low, against the entered right side: 0 where C = C_low/(1 +
    t), t where C = C_low + t, t > 0. A longer update never differs by more."""
    low, t, found = s.C_low, sp.Symbol("t", positive=True), []
    # C, and the length that clipping leaves, min(C_low, C).
    for C, sent, reported in (
        (low / (1 + t), low / (1 + t), "C below C_low"),
        (low, low, "C at C_low"),
        (low + t, low, "C above C_low"),
    ):
        at = of(s.statement, C=C, E_difference=C - sent)
        found.append((at.lhs, sp.simplify(at.rhs), f"difference, {reported}"))
    return found


def _clow_experiment(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Huber clients so far from w* that no run of this length leaves their linear part, where ||u_i|| = E G.

    The observable is the same in every replicate, and a sample of equal values has no confidence limits: all clients
    take part and no noise is added, so that the run draws nothing and its value is its expectation.
    """
    found = experiment(statement, instance, "dp-normfedavg")
    constants, reach = found.problem.constants, found.reach
    assert reach is not None
    assert constants.w_star is not None
    distance = float(np.linalg.norm(found.start - constants.w_star))
    nearest = 2.0 * distance - reach.radius
    if nearest < constants.G_max / constants.L_max:
        raise ValueError(f"the run may come as near to w* as {nearest:.3g}, where updates are shorter")
    values = {**found.values, "C_low": found.values["E"] * float(constants.G_i.min())}
    return without_noise(found, values=values, random=False, notes={"least distance from w* in the run": nearest})


_RUN = {
    **{"curvature": ["1", "1/3"], "centres": ["0", "-2"], "eta": "1/10", "E": 3, "w_0": "40", "C_low": "3"},
    "noise": ["1/7", "-2", "1/3", "5", "-1", "0", "2/9", "-3"],
}
CLOW: Statement = das.statement(
    id="das2022.clow",
    kind="corollary",
    source=Source(das.PAPER, "Section 3.1, last paragraph; Figure 2's caption"),
    symbols=das.NOTATION(_C_LOW).also("C", "E", "eta", "L"),
    hypotheses=(Hypothesis(lambda s: s.C <= s.C_low),),
    sides=lambda s: Sides(lhs={"difference": s.E_difference}, rhs={"excess": sp.Max(0, s.C - s.C_low)}),
    checks=battery(
        _client_difference,
        (
            Check("exact", f"two clients in one dimension, C = {ratio} C_low", _same_run, {**_RUN, "C/C_low": ratio})
            for ratio in ("1", "1/2")
        ),
        Check("exact", "just outside C <= C_low", _same_run, {**_RUN, "C/C_low": "51/50"}, "not-applicable"),
        NORMALISE.by(_clow_experiment)("linear-part"),
    ),
)


# Section 4.1: the comparison of the two methods.


@algebra(
    "(4) and (5) have one bound",
    part="It decides the premise, that (4) and (5) have one right side; the claim is left to the runs.",
)
def _same_bound(_: Formula) -> Proof:
    """'Both equations have the same RHS': (4) and (5), as entered; and (5) with every weight 1 is (4)."""
    four = of(eq4_and_5.EQ4)
    five = of(eq4_and_5.EQ5, E_weighted_gap=four.E_gap)
    return equal_sides(five, four, "of das2022.eq5 with weights of 1 against das2022.eq4")


def _weights_of(n: int) -> Check:
    """n clients with gaps f_i(w) - f_i(w*) >= 0 and ||u_i|| = GE/(1 + t_i), t_i >= 0, as G-Lipschitz f_i have: the
    right side less the left one is the mean of t_i times the gap, no term of which is negative."""

    @algebra(f"weights of at least 1, {n} clients", n=n)
    def check(s: Formula, n: int) -> Proof:
        gaps, more = (sp.symbols(f"{symbol}1:{n + 1}", nonnegative=True) for symbol in ("g", "t"))
        lengths = [s.G * s.E / (1 + t) for t in more]
        plain = sum(gaps) / sp.Integer(n)
        weighted = sum(s.G * s.E / u * g for u, g in zip(lengths, gaps)) / sp.Integer(n)
        expected = sum(t * g for t, g in zip(more, gaps)) / sp.Integer(n)
        difference = of(s.statement, E_weighted_gap=weighted, E_gap=plain).slack
        return difference, expected, f"(5)'s left side less (4)'s, {n} clients"

    return check


def _both(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Theorem 4's runs of both methods, with the same noise."""
    found = experiment(theorem4.A, instance, "dp-normfedavg")
    return replace(found, rival=experiment(theorem4.A, instance, "dp-fedavg"))


SECTION: Statement = das.statement(
    id="das2022.section4.1",
    kind="corollary",
    source=Source(das.PAPER, "Section 4.1, below (5); contribution (a) in Section 1; abstract"),
    symbols=das.NOTATION.also("gamma", "C", "eta", "D", "Delta_max"),
    hypotheses=(*theorem4.ASSUMPTIONS, das.COMMON),
    sides=lambda s: Sides(lhs={"normalisation": s.E_gap}, rhs={"clipping": s.E_rival_gap}),
    checks=battery(
        _same_bound,
        NORMALISE.by(_both, edges=True)(
            "normalisation-wins",
            violated="clipping-wins",
            without={"two clients apart in one dimension": "the repaired form has it"},
        ),
    ),
    uses=("das2022.eq4", "das2022.eq5"),
)

WEIGHTS: Statement = replace(
    SECTION,
    id="das2022.section4.1.repaired",
    source=Source(das.PAPER, "Section 4.1, below (5)"),
    sides=lambda s: Sides(lhs={"clipping, (4)": s.E_gap}, rhs={"normalisation, (5)": s.E_weighted_gap}),
    checks=battery(
        map(_weights_of, (1, 2, 4)),
        # Theorem 4's run of normalisation.
        NORMALISE.by(lambda _, instance: experiment(theorem4.B, instance, "dp-normfedavg"), edges=True)("same-run"),
    ),
    uses=(),
)

STATEMENTS = (CLOW, SECTION, WEIGHTS)
