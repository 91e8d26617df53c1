"""das2022 Sections 3.1 and 4.1, and Figure 3's caption: the claims on normalisation compared with clipping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpfl_theory.algorithms.fedavg import DPFedAvg, DPNormFedAvg
from dpfl_theory.core import Check, Hypothesis, Sides, Source, Statement, Symbol, Symbols, checks
from dpfl_theory.core.check_inputs import Experiment, Outcome, Values
from dpfl_theory.core.formula import symbols_of, total
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.semantics.base import Vector
from dpfl_theory.semantics.operations import WorldOperations, run_round
from dpfl_theory.semantics.rational import Quadratics
from dpfl_theory.statements.das2022 import _corner_instances as corners
from dpfl_theory.statements.das2022 import _symbols as das
from dpfl_theory.statements.das2022 import eq4_and_5, theorem4
from dpfl_theory.statements.das2022._consistency import same_sides
from dpfl_theory.statements.das2022._experiments import alpha_form_experiment, step_experiment
from dpfl_theory.statements.symbolic import all_equal, equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

_C_LOW = Symbol("C_low", "least length of a client's update", (1, -1), "positive", r"C_{\mathrm{low}}")


def _shared(problem: Problem | None, values: Mapping[str, float]) -> str | None:
    if problem is None or problem.constants.interpolates:
        return None
    return "some f_i is smaller elsewhere than at w*"


SHARED = Hypothesis.custom(r"$f_i(w) \ge f_i(w^*)$ for all $i$ and $w$ (over-parameterisation)", _shared)


# Section 3.1: C <= C_low.


def _clow_sides(s: Symbols) -> Sides:
    return Sides(lhs={"difference": s.E_difference}, rhs={"excess": sp.Max(0, s.C - s.C_low)})


def _same_run(_: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """Both methods on f_i(w) = h_i |w - c_i|^2/2 in one dimension, in rational arithmetic, for as long as every update
    is at least C_low long: the mean difference of what a client sends in a round of either run."""
    curvature, centres, noise = ([Fraction(v) for v in instance[name]] for name in ("curvature", "centres", "noise"))
    eta, C_low, E = Fraction(instance["eta"]), Fraction(instance["C_low"]), int(instance["E"])
    C = C_low * Fraction(instance["C/C_low"])
    methods = [kind(eta=eta, beta=eta, E=E, C=C, sigma=0) for kind in (DPFedAvg, DPNormFedAvg)]
    world = Quadratics(curvature, [h * c for h, c in zip(curvature, centres)])
    points, cases = [Vector(Fraction(instance["w_0"]))] * 2, list[Values]()
    for k, zeta in enumerate(noise):
        o, messages = WorldOperations(world), []
        for w, method in zip(points, methods):
            updates = method.updates(o, w, o.cohort)
            if min(map(world.length, updates)) < C_low:
                return cases
            messages.append(method.messages(o, updates))
        points = [run_round(method, world, w).x - Vector(eta * zeta) for w, method in zip(points, methods)]
        apart = sum((world.length(a - b) for a, b in zip(*messages)), Fraction(0)) / world.clients
        cases.append(Values({"C": C, "C_low": C_low, "E_difference": apart}, {"round": k, "w": points[0].known}))
    return cases


def _client_difference(statement: Statement, _: Mapping[str, Any]) -> Outcome:
    """|C - min(||u||, C)| at the shortest update, ||u|| = C_low, against the entered right side: 0 where C = C_low/(1 +
    t), t where C = C_low + t, t > 0. A longer update never differs by more."""
    s, t = symbols_of(statement), sp.Symbol("t", positive=True)
    low, found = s.C_low, []
    # C, and the length that clipping leaves, min(C_low, C).
    for C, sent, reported in (
        (low / (1 + t), low / (1 + t), "C below C_low"),
        (low, low, "C at C_low"),
        (low + t, low, "C above C_low"),
    ):
        sides, exact = [total(statement, side).subs(s.C, C) for side in ("lhs", "rhs")], C - sent
        found.append((sides[0].subs(s.E_difference, exact), sp.simplify(sides[1]), f"difference, {reported}"))
    return all_equal(*found)


def _clow_experiment(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Huber clients so far from w* that no run of this length leaves their linear part, where ||u_i|| = E G.

    The observable is the same in every replicate, and a sample of equal values has no confidence limits: all clients
    take part and no noise is added, so that the run draws nothing and its value is its expectation.
    """
    import numpy as np

    found = step_experiment(statement, instance, "dp-normfedavg")
    constants, reach = found.problem.constants, found.reach
    assert reach is not None
    assert constants.w_star is not None
    distance = float(np.linalg.norm(found.start - constants.w_star))
    nearest = 2.0 * distance - reach.radius
    if nearest < constants.G_max / constants.L_max:
        raise ValueError(f"the run may come as near to w* as {nearest:.3g}, where updates are shorter")
    values = {**found.values, "C_low": found.values["E"] * float(constants.G_i.min())}
    silent = found.algorithm.with_values(sigma=0.0)  # type: ignore[attr-defined]
    return replace(
        found, algorithm=silent, values=values, random=False, notes={"least distance from w* in the run": nearest}
    )


CLOW: Statement = Statement(
    id="das2022.clow",
    kind="corollary",
    source=Source(das.PAPER, "Section 3.1, last paragraph; Figure 2's caption"),
    symbols=(*das.symbols("C", "E", "eta", "L"), _C_LOW),
    expectations=das.expected("E_difference"),
    hypotheses=(Hypothesis(lambda s: s.C <= s.C_low),),
    sides=_clow_sides,
    checks=(
        Check("algebra", "the difference at the shortest update", _client_difference),
        *(
            Check(
                "exact",
                f"two clients in one dimension, C = {ratio} C_low" if verdict == "holds" else "just outside C <= C_low",
                _same_run,
                {
                    "curvature": ["1", "1/3"],
                    "centres": ["0", "-2"],
                    "eta": "1/10",
                    "E": 3,
                    "w_0": "40",
                    "C_low": "3",
                    "C/C_low": ratio,
                    "noise": ["1/7", "-2", "1/3", "5", "-1", "0", "2/9", "-3"],
                },
                verdict,
            )
            for ratio, verdict in (("1", "holds"), ("1/2", "holds"), ("51/50", "not-applicable"))
        ),
        *(Check("monte-carlo", name, _clow_experiment, i) for name, i in corners.FAR.items()),
    ),
)


# Section 4.1: the comparison of the two methods.


def _weights_sides(s: Symbols) -> Sides:
    return Sides(lhs={"clipping, (4)": s.E_gap}, rhs={"normalisation, (5)": s.E_weighted_gap})


def _methods_sides(s: Symbols) -> Sides:
    return Sides(lhs={"normalisation": s.E_gap}, rhs={"clipping": s.E_rival_gap})


_ONE_BOUND = "It decides the premise, that (4) and (5) have one right side; the claim is left to the runs."


def _same_bound(_: Statement, __: Mapping[str, Any]) -> Outcome:
    """'Both equations have the same RHS': (4) and (5), as entered; and (5) with every weight 1 is (4)."""
    four, five = symbols_of(eq4_and_5.EQ4), symbols_of(eq4_and_5.EQ5)
    return same_sides(eq4_and_5.EQ5, {five.E_weighted_gap: four.E_gap}, eq4_and_5.EQ4, "with weights of 1")


def _weights_of(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """n clients with gaps f_i(w) - f_i(w*) >= 0 and ||u_i|| = GE/(1 + t_i), t_i >= 0, as G-Lipschitz f_i have: the
    right side less the left one is the mean of t_i times the gap, no term of which is negative."""
    n, s = int(instance["n"]), symbols_of(statement)
    gaps, more = (sp.symbols(f"{symbol}1:{n + 1}", nonnegative=True) for symbol in ("g", "t"))
    lengths = [s.G * s.E / (1 + t) for t in more]
    plain = sum(gaps) / sp.Integer(n)
    weighted = sum(s.G * s.E / u * g for u, g in zip(lengths, gaps)) / sp.Integer(n)
    left, right = (total(statement, side) for side in ("lhs", "rhs"))
    difference = right.subs(s.E_weighted_gap, weighted) - left.subs(s.E_gap, plain)
    expected = sum(t * g for t, g in zip(more, gaps)) / sp.Integer(n)
    return equal(difference, expected, f"(5)'s left side less (4)'s, {n} clients")


def _both(statement: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Theorem 4's runs of both methods, with the same noise."""
    found = alpha_form_experiment(theorem4.A, instance, "dp-normfedavg")
    return replace(found, rival=alpha_form_experiment(theorem4.A, instance, "dp-fedavg"))


def _same_iterates(_: Statement, instance: Mapping[str, Any]) -> Experiment:
    """Theorem 4's run of normalisation."""
    return alpha_form_experiment(theorem4.B, instance, "dp-normfedavg")


SECTION: Statement = Statement(
    id="das2022.section4.1",
    kind="corollary",
    source=Source(
        das.PAPER,
        "Section 4.1, below (5); contribution (a) in Section 1; abstract",
    ),
    symbols=das.symbols("rho", "E", "K", "alpha", "gamma", "L", "G", "C", "eta", "D", "Delta_max"),
    expectations=das.expected("E_gap", "E_rival_gap"),
    hypotheses=(*theorem4.ASSUMPTIONS, SHARED),
    sides=_methods_sides,
    checks=(
        Check("algebra", "(4) and (5) have one bound", _same_bound, part=_ONE_BOUND),
        *(Check("monte-carlo", name, _both, i) for name, i in corners.NORMALISATION_WINS.items()),
        *(Check("monte-carlo", name, _both, i, "violated") for name, i in corners.CLIPPING_WINS.items()),
        *checks("monte-carlo", _both, {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ}, "not-applicable"),
    ),
    expected="violated",
    uses=("das2022.eq4", "das2022.eq5"),
)

WEIGHTS: Statement = Statement(
    id="das2022.section4.1.repaired",
    kind="corollary",
    source=Source(
        das.PAPER,
        "Section 4.1, below (5)",
    ),
    symbols=SECTION.symbols,
    expectations=das.expected("E_gap", "E_weighted_gap"),
    hypotheses=SECTION.hypotheses,
    sides=_weights_sides,
    checks=(
        *(Check("algebra", f"weights of at least 1, {n} clients", _weights_of, {"n": n}) for n in (1, 2, 4)),
        *checks("monte-carlo", _same_iterates, corners.SAME_RUN),
        *checks(
            "monte-carlo",
            _same_iterates,
            {**corners.OUTSIDE_ALPHA, **corners.OUTSIDE_LIPSCHITZ, **corners.APART},
            "not-applicable",
        ),
    ),
)

STATEMENTS = (CLOW, SECTION, WEIGHTS)
