"""Planted faults in the algorithms and their parts, and which check of the smoke set notices which.

The faults are those of tests/simulation/faults.py and some more, in words "module: what goes wrong". All of them are
noticed by oracles and laws in tests/mutants; here the question is what a change shows within seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checks.test_rounds import FAULTS as ROUNDS
from mutants.test_algorithm_mutants import RECORD_FAULTS, RECORD_SUMS
from simulation.faults import EF, FAULTS, FEDAVG_FAULTS, SCAFFOLD, bounded

__all__ = ["CODE", "NOTICED", "PARTS", "RECORDS", "UNNOTICED"]

BOUND, REMEMBER = "o.clip(u, self.threshold)", "return memory + self.memory_step * sent"
MOVE = "self.estimate(o, estimate, mean + self.noise(o))\n        return self.move(o, w, self.direction(o, estimate)), "
MORE = [
    ("threshold ignored", EF, BOUND, "u"),
    ("clipped to half the threshold", EF, BOUND, "o.clip(u, 0.5 * self.threshold)"),
    ("noise missing", EF, "o.sum_of_noises(o.everyone, self.sigma) / o.n", "o.zero"),
    (
        "noise not remembered",
        EF,
        f"estimate = {MOVE}(estimate,",
        f"clean, estimate = self.estimate(o, estimate, mean), {MOVE}(clean,",
    ),
    ("memories never move", EF, REMEMBER, "return memory"),
    ("controls not updated", SCAFFOLD, "* total, self.keep(o, own, trained)", "* total, own"),
    ("no control variates", SCAFFOLD, "return c - own", "return o.zero"),
]

PARTS: dict[str, dict[str, Callable[..., Any]]] = {
    "fedavg: threshold ignored": {"bound": lambda a, o, u, _: bounded(a, o, u, 1e9)},
    "fedavg: clipped to half the threshold": {"bound": lambda a, o, u, _: bounded(a, o, u, 0.5 * a.threshold)},
    "fedavg: clipped to twice the threshold": {"bound": lambda a, o, u, _: bounded(a, o, u, 2.0 * a.threshold)},
    **{f"fedavg: {name}": parts for name, parts in FEDAVG_FAULTS.items()},
}
"""What goes wrong -> parts of the rounds of das2022's algorithms, replaced."""

CODE: dict[str, tuple[str, str, str]] = {
    **{f"{place[0].split('.')[1]}: {name.strip()}": (place[0], old, new) for name, place, old, new in (*FAULTS, *MORE)},
    **{f"simulate: {name}": ("simulation.simulate", old, new) for name, (old, new) in ROUNDS.items()},
}
"""What goes wrong -> the module, and its source text before and after."""

RECORDS: dict[str, tuple[str, str]] = {
    "linear_records: no ridge in the sum": ("weight * ridge * at[c, k]", "0.0 * at[c, k]"),
    **{f"linear_records: {name}": (old, new) for name, module, old, new in RECORD_FAULTS if module == RECORD_SUMS},
}
"""The same in the compiled sums of records' gradients, `kernels.linear_records`, which run interpreted."""

NOTICED: dict[tuple[str, str], tuple[str, ...]] = {
    ("das2022.eq4", "nearly linear objective, E = 2"): ("fedavg: weight decay",),
    ("das2022.lemma9", "quadratics, the gap falls by 19% a round, eta L = 0.05"): (
        "simulate: the vectors after the rounds",
        "fedavg: E + 1 local steps",
    ),
    ("das2022.theorem4a", "nearly linear objective, longest travel"): ("fedavg: clipped to half the threshold",),
    ("das2022.theorem4b.repaired", "unequal clients, full participation"): (
        "fedavg: clipped to twice the threshold",
        "fedavg: sum for mean",
        "fedavg: clients weighted by their number",
    ),
    ("das2022.theorem4b.repaired", "unequal clients, independent r = 10"): (
        "fedavg: threshold E C for C",
        "fedavg: everybody takes part",
        "fedavg: E - 1 local steps",
        "cohort: poisson with 1 - r/n",
    ),
    ("das2022.theorem6", "equal quadratics at w*, noise alone, 2 of 4 clients"): (
        "fedavg: divisor n for r",
        "fedavg: variance for deviation",
        "fedavg: noise r times too small",
        "fedavg: noise not multiplied by beta",
        "fedavg: noise on one coordinate",
        "fedavg: model difference, not update",
        "fedavg: ascent",
    ),
    ("das2022.theorem6", "one dimension, noise leads, independent r = 2"): ("fedavg: cohort's share without its root",),
    ("das2022.theorem7", "unequal clients, independent r = 1, eta L = 0.01"): (
        "cohort: divisor n",
        "operations: divisor n",
    ),
    ("das2022.theorem7.alpha.repaired", "quadratics, 1 of 8 clients, largest E"): ("fedavg: threshold ignored",),
    ("hou2023.observation1", "dp-scaffnew, moderate noise: (tau, T) = (4, 24) against (24, 24)"): (
        "scaffnew: always communicating",
        "scaffnew: communicating with 1 - p",
        "scaffnew: noise on the average only",
    ),
    ("hou2023.observation3", "dp-fedavg, less noise: (tau, T) = (2, 24) against (1, 24)"): (
        "operations: noise on one coordinate",
    ),
    ("hou2023.observation4", "dp-fedavg, smaller threshold: (tau, T) = (2, 24) against (1, 24)"): (
        "two_step_sizes: noise missing",
        "averaging: clip after the noise",
        "operations: noise divided by |P_t|",
    ),
    ("hou2023.observation4", "dp-scaffnew, larger threshold: (tau, T) = (3, 24) against (2, 24)"): (
        "scaffnew: clip after the noise",
    ),
    ("hou2023.theorem1", "one client, one dimension, noise dominates"): (
        "scaffnew: h without the mean",
        "scaffnew: variance for deviation",
    ),
    ("hou2023.theorem1", "quadratics, hardly any communication"): (
        "scaffnew: h update without p",
        "scaffnew: gradients at the server's vector",
    ),
    ("hou2023.theorem1", "quadratics, one iteration"): (
        "scaffnew: h moves the other way",
        "scaffnew: h update with eta/p",
    ),
    ("hou2023.theorem1", "shared minimiser, noise dominates"): (
        "scaffnew: h with the wrong sign",
        "scaffnew: no control variates",
        "scaffnew: first client for all",
        "scaffnew: difference from the client's own vector",
        "scaffnew: clients keep their vectors",
        "scaffnew: sum for mean",
    ),
    ("noble2022.corollaryC.1.repaired", "second display, noise alone, two of four users"): (
        "gradients: variance for deviation",
    ),
    ("noble2022.corollaryC.1.repaired", "second display, one of four users, lagging, little noise"): (
        "scaffold: controls not updated",
        "scaffold: no control variates",
        "operations: all gradients at the server's vector",
        "operations: one gradient error for all steps",
        "operations: Q - 1 steps",
        "operations: ascent",
        "scaffold: control variates with the wrong sign",
        "scaffold: c_i without c",
        "scaffold: c_i with the wrong sign of y - x",
        "scaffold: c_i without K",
        "operations: control variates of another replicate",
        "gradients: one error for all steps",
    ),
    ("noble2022.lemmaC.1", "last local step, all records, 50 dimensions"): (
        "record_level: sensitivity C",
        "record_level: noise not divided by b",
    ),
    ("noble2022.theorem4.2.scaffold", "exponent of T where the term 'start' leads"): (
        "averaging: global step ignored",
    ),
    ("noble2022.theoremC.1.strongly-convex.repaired", "half of the users, with a ridge"): (
        "cohort: one client too many",
        "cohort: one cohort for all rounds",
        "cohort: partition off by one",
        "scaffold: c divided by |C_t|",
        "scaffold: c never moves",
    ),
    ("noble2022.theoremC.2.strongly-convex", "four users, T = 600, c = 1"): (
        "average: ratio ignored",
        "average: weights that fall",
    ),
    ("shulgin2025.clip21.descent", "quadratics, zero memories, short threshold"): (
        "error_feedback: clipped to half the threshold",
        "simulate: the vector before the last round",
        "error_feedback: step along the old estimate",
        "operations: squared length",
    ),
    ("shulgin2025.example1", "alpha = 5, K = 400"): (
        "error_feedback: ascent",
        "error_feedback: gradients at the origin",
        "error_feedback: normalised without alpha",
        "operations: alpha twice",
    ),
    ("shulgin2025.lemma2.repaired", "one client, its residual 1.79 R, round 41"): (
        "error_feedback: memories never move",
        "error_feedback: no beta in the memories",
        "error_feedback: server normalisation forgotten",
        "error_feedback: gradients sent, not differences",
        "operations: smoothed and scaled by alpha",
    ),
    ("shulgin2025.lemma3", "Huber, first round only"): (
        "operations: one noise for all replicates",
        "error_feedback: no beta in vhat",
        "error_feedback: noise without beta",
        "error_feedback: noise divided by n",
        "error_feedback: vhat starts at zero",
    ),
    ("shulgin2025.lemma3", "one client on the line"): (
        "error_feedback: noise missing",
        "error_feedback: noise not remembered",
        "error_feedback: memory of noisy messages",
        "batched: state of the round before",
    ),
    ("zhang2021.claim2.1", "k = 5, started at the optimum"): (
        "local_updates: threshold ignored",
        "local_updates: clipped to half the threshold",
        "local_updates: short vectors stretched",
        "two_step_sizes: models added to the server's",
    ),
    ("zhang2021.eq13", "one round, four records of six at a time, half of them clipped, with a ridge"): (
        "linear_records: no ridge in the length",
        "linear_records: no cross term in the length",
        "linear_records: ridge of clipped records in full",
        "linear_records: records of the first client",
        "linear_records: short gradients stretched",
        "linear_records: lengths of other records",
        "linear_records: no ridge in the sum",
        "cohort: one cohort for all replicates",
        "cohort: the absent are run",
        "gradients: divisor floor(sR)",
        "gradients: divisor R",
        "gradients: all records",
    ),
    ("zhang2021.eq20.repaired", "one round in two dimensions, privacy noise decides"): (
        "simulate: rounds 1 to K",
        "simulate: sums over one round more than divided by",
        "averaging: noise not multiplied by eta_g",
    ),
    ("zhang2021.theorem3.1.repaired.sharpened", "identical clients, what is left of the start"): (
        "fedavg: global step ignored",
        "fedavg: clipping and normalising swapped",
    ),
}
"""A Monte-Carlo check of the smoke set -> faults that it notices."""

UNNOTICED: dict[str, tuple[str, ...]] = {
    "what no statement of the catalogue runs": (
        "batched: schedule frozen",
        "batched: schedule one round late",
        "record_level: divisor floor(sR)",
        "error_feedback: noise on one coordinate",
        "error_feedback: noise without gamma",
        "fedavg: local steps with beta",
        "gradients: noise not divided by sR",
        "gradients: noise on one coordinate",
        "gradients: sensitivity C",
        "linear_records: threshold of another replicate",
        "two_step_sizes: nobody sends the origin",
        "two_step_sizes: noise forgotten",
        "averaging: damped steps",
        "averaging: first replicate's momentum for all",
        "averaging: momentum of the parameters",
        "averaging: momentum with the wrong sign",
        "averaging: velocity lost",
        "scaffold: one draw in a warm round",
        "scaffold: one warm round short",
        "scaffold: warm cohort ignored",
        "operations: noise where nobody takes part",
    ),
    "a part that a class inherits, which is not replaced in place": ("two_step_sizes: difference clipped",),
    "noise with the same law": (
        "operations: noise of another round",
        "fedavg: noise subtracted",
    ),
    "what bounds leave room for": (
        "average: iterates one round late",
        "operations: short vectors stretched",
        "error_feedback: threshold ignored",
        "average: the start is averaged",
        "average: the start is never averaged",
        "cohort: counts ignored",
        "cohort: members of another replicate",
        "cohort: poisson with r/(n + 1)",
        "cohort: the first client is never drawn",
        "fedavg: divisor |S| for r",
        "fedavg: noise whatever the cohort",
        "fedavg: one noise for all replicates",
        "operations: the cohort of the first round",
        "operations: the mean of all clients",
        "gradients: one noise for all steps",
        "gradients: records of the first round in all",
        "gradients: records of the first step in all",
        "record_level: divisor R",
        "scaffnew: h moves in every round",
        "scaffnew: threshold times eta",
        "operations: counts ignored",
        "two_step_sizes: divisor is not |P_t|",
        "operations: one noise for each client",
    ),
}
"""Why the smoke set does not notice a fault -> the faults."""
