"""The smoke set: a few fast checks of every paper and method, which CI runs on every change.

Chosen to fail when something that others rest on is broken: bounds that are nearly attained (a ratio near 1 leaves no
room for a wrong kernel or noise), left sides that are known, refutations by known factors, and both outcomes of the
units check. Its tests plant such faults in every algorithm and say which check notices which. A statement with a check
that is known to refute it has no other one here, so that no verdict hides another. Every method of every paper is
there; a test names the pairs that are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpfl_theory.statements.model import Check, Statement

__all__ = ["SMOKE", "smoke_set"]

SMOKE: Mapping[str, tuple[tuple[str, str], ...]] = {
    # units that agree, units that do not, and what follows from them by algebra
    "das2022.theorem4b": (("algebra", "units"), ("monte-carlo", "shared minimiser, full participation")),
    "noble2022.theoremC.1.non-convex": (("algebra", "units"),),
    "shulgin2025.theorem2": (("algebra", "units"), ("monte-carlo", "quadratics, noise dominates")),
    "zhang2021.theorem3.2.every-T": (("algebra", "the exponent"), ("privacy", "the smallest constant")),
    # rational arithmetic: attained, and refuted by a known factor
    "das2022.fact1": (("exact", "equality on a quadratic"),),
    "das2022.eq12": (("exact", "independent sampling, half a client expected"),),
    "hou2023.corollary1": (("exact", "shifts unknown, two clients, opposite gradients"),),
    "hou2023.corollary1.repaired": (("exact", "little noise"),),
    # the solver: a bound that is attained, and a refutation
    "das2022.lemma9": (
        ("worst-case", "conclusion 2, convex, tau = 1, eta L = 1"),
        ("monte-carlo", "quadratics, the gap falls by 19% a round, eta L = 0.05"),
    ),
    "das2022.lemma10.smooth-alone": (("worst-case", "non-convex, eta L = 1"),),
    "hou2023.contraction": (("worst-case", "N = 2, mu = 1/4, p = 1/2, eta L = 1"),),
    "zhang2021.eq15": (("worst-case", "2 clients, Q = 1, eta_l Q L = 129/1000"),),
    "shulgin2025.clip21.descent": (
        ("exact", "quadratics on the line"),
        ("worst-case", "convex, gamma L = 1"),
        ("monte-carlo", "quadratics, zero memories, short threshold"),
    ),
    "noble2022.corollaryC.1": (("worst-case", "convex, K = 2, eta_l nu = 3"),),
    "zhang2021.claim2.1": (("exact", "printed formula"), ("monte-carlo", "k = 5, started at the optimum")),
    "noble2022.lemmaC.2": (("exact", "quadratics"), ("monte-carlo", "heterogeneous quadratics")),
    # kernels, noise and observables: quadratics, records, cohorts of each kind, control variates, error feedback
    "das2022.eq4": (("monte-carlo", "nearly linear objective, E = 2"),),
    "das2022.theorem4a": (
        ("monte-carlo", "moderate heterogeneity, 3 of 10 clients"),
        ("monte-carlo", "nearly linear objective, longest travel"),
    ),
    "das2022.theorem4b.repaired": (
        ("monte-carlo", "unequal clients, full participation"),
        ("monte-carlo", "unequal clients, independent r = 10"),
    ),
    "das2022.theorem6": (
        ("monte-carlo", "Huber, shared minimiser, full participation, eta L = 0.3"),
        ("monte-carlo", "one dimension, noise leads, independent r = 2"),
        ("monte-carlo", "equal quadratics at w*, noise alone, 2 of 4 clients"),
    ),
    "das2022.theorem7": (("monte-carlo", "unequal clients, independent r = 1, eta L = 0.01"),),
    "das2022.theorem7.alpha.repaired": (("monte-carlo", "quadratics, 1 of 8 clients, largest E"),),
    "hou2023.theorem1": (
        ("algebra", "Lemma 1's variance in the recursion"),
        ("monte-carlo", "quadratics, one iteration"),
        ("monte-carlo", "quadratics, hardly any communication"),
        ("monte-carlo", "breast cancer with ridge, sorted by label"),
        ("monte-carlo", "shared minimiser, noise dominates"),
        ("monte-carlo", "one client, one dimension, noise dominates"),
    ),
    "shulgin2025.theorem1": (
        ("monte-carlo", "one quadratic, first round only"),
        ("monte-carlo", "breast cancer sorted by label"),
    ),
    # what every part of a round does: clipping in force, two step sizes, records with a ridge, memories and their
    # noise, control variates, weighted averages
    "hou2023.observation1": (("monte-carlo", "dp-scaffnew, moderate noise: (tau, T) = (4, 24) against (24, 24)"),),
    "hou2023.observation3": (("monte-carlo", "dp-fedavg, less noise: (tau, T) = (2, 24) against (1, 24)"),),
    "hou2023.observation4": (
        ("monte-carlo", "dp-fedavg, smaller threshold: (tau, T) = (2, 24) against (1, 24)"),
        ("monte-carlo", "dp-scaffnew, larger threshold: (tau, T) = (3, 24) against (2, 24)"),
    ),
    "noble2022.corollaryC.1.repaired": (
        ("monte-carlo", "second display, one of four users, lagging, little noise"),
        ("monte-carlo", "second display, noise alone, two of four users"),
    ),
    "noble2022.lemmaC.1": (("monte-carlo", "last local step, all records, 50 dimensions"),),
    "noble2022.theorem4.2.scaffold": (("monte-carlo", "exponent of T where the term 'start' leads"),),
    "noble2022.theoremC.1.strongly-convex.repaired": (("monte-carlo", "half of the users, with a ridge"),),
    "noble2022.theoremC.2.strongly-convex": (("monte-carlo", "four users, T = 600, c = 1"),),
    "shulgin2025.example1": (("monte-carlo", "alpha = 5, K = 400"),),
    "shulgin2025.lemma2.repaired": (("monte-carlo", "one client, its residual 1.79 R, round 41"),),
    "shulgin2025.lemma3": (("monte-carlo", "one client on the line"), ("monte-carlo", "Huber, first round only")),
    "zhang2021.eq13": (
        ("monte-carlo", "one round, four records of six at a time, half of them clipped, with a ridge"),
    ),
    "zhang2021.eq20.repaired": (("monte-carlo", "one round in two dimensions, privacy noise decides"),),
    "zhang2021.theorem3.1.repaired.sharpened": (("monte-carlo", "identical clients, what is left of the start"),),
    # accountants: the Gaussian mechanism, its composition, subsampling, Renyi divergences, the papers' own formulas
    "das2022.definition5.repaired": (("privacy", "beyond what is stated: epsilon <= 3.78"),),
    "das2022.theorem3": (("privacy", "no constants, when all rounds are seen"),),
    "hou2023.lemma1.repaired": (("privacy", "the smallest constant"),),
    "noble2022.claim4.1.server": (("privacy", "the worst data at s = 1"),),
    "noble2022.claim4.1.third-party.repaired": (("privacy", "cohorts that alternate, exactly"),),
    "noble2022.eq5": (("privacy", "Gaussian mechanism and randomised response"),),
    "noble2022.lemmaB.2": (("privacy", "randomised response on a sample, exactly"),),
    "noble2022.lemmaB.7": (("privacy", "certified limits of the true divergence"),),
    "noble2022.table1.rounds": (("privacy", "the largest T"),),
    "noble2022.table1.rounds.repaired": (("privacy", "the largest T"),),
    "noble2022.theorem4.1.third-party": (("privacy", "Step 1 as Renyi DP"),),
    "shulgin2025.noise.repaired": (("privacy", "the smallest constant"),),
    "zhang2021.theorem3.2": (("privacy", "no constants, 80 of 1920 clients in a round"),),
}
"""Statement -> the (method, name) of its checks that belong to the smoke set."""


def smoke_set(pairs: Sequence[tuple[Statement, Check]]) -> list[tuple[Statement, Check]]:
    """Those of the planned checks that belong to the smoke set.

    >>> from dpfl_theory.checks.runner import plan
    >>> from dpfl_theory.statements import get
    >>> [c.name for _, c in smoke_set(plan([get("das2022.lemma10.smooth-alone")]))]
    ['non-convex, eta L = 1']
    """
    return [(statement, c) for statement, c in pairs if (c.method, c.name) in SMOKE.get(statement.id, ())]
