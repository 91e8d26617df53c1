"""Planted faults in the algorithms and their parts, and the runs that set the faulty code against the oracles; tests in
tests/mutants see that each fault is noticed.

A fault is a change of the source text of a module. Cases between them use every hyper-parameter of the module's
classes, on problems that `oracles.compare` knows by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from simulation.reductions import Zoo

from dpfl_theory.algorithms.averaging import over_cohort
from dpfl_theory.algorithms.fedavg import DPFedAvg, server_noise
from dpfl_theory.algorithms.scaffold import all_users
from dpfl_theory.core.algorithm import PlainGradient
from dpfl_theory.simulation import Cohort, Schedule

QUADRATICS, RECORDS = ("dense", "low-rank", "huber"), ("huber", "unequal")
Cases = list[tuple[Any, Sequence[str]]]
_STEPS = {"eta_l": 0.3, "eta_g": 1.2}
_NOISY = {"c": 1.0, "sigma": 0.2}
_RECORDS = {"C": 0.7, "s": 0.5, "sigma_g": 0.3}


def fedavg_cases(a: Zoo) -> Cases:
    """Algorithms that between them use every hyper-parameter, and the problems they run on."""
    clip = a.DPFedAvg(eta=Schedule(0.4, 0.8), E=3, beta=0.3, C=[1.0, 3.0, 2.0], sigma=[0.1, 0.5, 0.3])
    normalise = a.DPNormFedAvg(eta=[0.3, 0.2, 0.1], E=2, C=1.0, sigma=0.3).replaced(noise=server_noise)
    runs = ((clip, a.Cohort("poisson", 2.5)), (normalise, a.Cohort("fixed", 2)), (a.FedAvg(eta=0.3), a.Cohort()))
    return [(a.Simulation(run, cohort), QUADRATICS) for run, cohort in runs]


def cohort_cases(a: Zoo) -> Cases:
    return [
        *fedavg_cases(a),
        (a.Simulation(a.DPFedAvg(eta=0.3, E=2, C=2.0, sigma=0.3), a.Cohort("with-replacement", 4)), ("dense",)),
        (a.Simulation(a.DPTwoSidedFedAvg(**_STEPS, Q=2, **_NOISY), a.Cohort("with-replacement", 4)), ("dense",)),
        (a.Simulation(a.DPTwoSidedFedAvg(**_STEPS, Q=2, **_NOISY), a.Cohort("fixed", 2)), ("dense",)),
        (a.Simulation(a.Scaffold(**_STEPS, K=2), a.Cohort("fixed", 2)), ("dense",)),
        (a.Simulation(a.DPScaffold(**_STEPS, K=2, **_RECORDS), a.Cohort("fixed", 2)), RECORDS),
    ]


def scaffnew_cases(a: Zoo) -> Cases:
    return [
        (a.Simulation(a.DPScaffNew(eta=0.5, p=0.4, C=0.8, sigma=[0.1, 0.3, 0.2])), QUADRATICS),
        (a.Simulation(a.ScaffNew(eta=[0.3, 0.5, 0.2], p=0.5), gradient=a.NoisyGradient(0.2)), QUADRATICS),
    ]


def two_sided_cases(a: Zoo) -> Cases:
    steps = {"eta_l": Schedule([0.4, 0.3, 0.2], 0.8), "eta_g": [1.5, 0.7, 1.0], "Q": 3}
    sigma = [0.1, 0.5, 0.3]
    noisy = a.NoisyGradient(0.2)
    decaying, other = {"eta_l": 0.3, "eta_g": Schedule(1.5, 0.9), "Q": 2}, {"eta_l": 0.3, "eta_g": 1.5, "Q": 2}
    poisson = Cohort("poisson", 1.5)
    return [
        (
            a.Simulation(a.DPTwoSidedFedAvg(**steps, c=[0.5, 1.0, 2.0], sigma=sigma), Cohort("fixed", 2), noisy),
            ("dense",),
        ),
        (a.Simulation(a.DPTwoSidedFedAvg(**decaying, c=0.5, sigma=0.3), poisson), ("dense", "huber")),
        (a.Simulation(a.TwoSidedFedAvg(**decaying), poisson), ("huber",)),
        (a.Simulation(a.UnclippedTwoSidedFedAvg(**other, sigma=0.3), Cohort("with-replacement", 4)), ("low-rank",)),
    ]


def model_clipping_cases(a: Zoo) -> Cases:
    steps = {"eta_l": Schedule(0.4, 0.8), "Q": 3, "c": [1.0, 2.0, 3.0], "sigma": 0.2}
    other = {"eta_l": 0.3, "Q": 2, "c": 1.0, "sigma": [0.1, 0.2, 0.3]}
    return [
        (a.Simulation(a.ModelClippedFedAvg(**steps), Cohort("poisson", 1.5)), ("dense",)),
        (a.Simulation(a.ModelClippedFedAvg(**other), Cohort("fixed", 2), a.NoisyGradient(0.2)), ("huber",)),
    ]


def both_cases(a: Zoo) -> Cases:
    return two_sided_cases(a) + model_clipping_cases(a)


def error_feedback_cases(a: Zoo) -> Cases:
    clip21 = a.InformedClip21(gamma=Schedule(0.4, 0.8), tau=[0.3, 1.0, 2.0], sigma=0.2, memory=0.5)
    norm_ec = a.InformedNormEC(
        gamma=0.3, beta=[0.2, 0.4, 0.6], alpha=[0.1, 0.5, 2.0], sigma=[0.1, 0.2, 0.3], memory=[0.0, 1.0, 0.5]
    )
    dp_sgd = a.DPNormSGD(gamma=Schedule(0.4, 0.8), alpha=[0.0, 0.5, 2.0], sigma=[0.1, 0.2, 0.3])
    return [
        (a.Simulation(clip21, gradient=a.NoisyGradient(0.2)), ("dense",)),
        (a.Simulation(norm_ec), ("dense",)),
        (a.Simulation(dp_sgd, Cohort("poisson", 2.5)), ("dense",)),
        (a.Simulation(dp_sgd, Cohort("fixed", 2), a.NoisyGradient(0.3)), ("dense",)),
    ]


def scaffold_cases(a: Zoo) -> Cases:
    steps = {"eta_l": Schedule([0.3, 0.2, 0.1], 0.8), "eta_g": [1.5, 0.7, 1.0], "K": 3}
    run, noisy = a.Scaffold(**_STEPS, K=2), a.NoisyGradient(0.2)
    warm = run.replaced(warm_members=all_users).with_values(warm_start=2)
    return [
        (a.Simulation(a.Scaffold(**steps), Cohort("fixed", 2), noisy), ("dense",)),
        (a.Simulation(warm, Cohort("fixed", 2), noisy), ("dense",)),
        (a.Simulation(run.with_values(warm_start=2), Cohort("fixed", 2), noisy), ("dense",)),
    ]


def averaging_cases(a: Zoo) -> Cases:
    return two_sided_cases(a) + scaffold_cases(a)


def record_cases(a: Zoo) -> Cases:
    private = {"C": [0.3, 0.6, 1.2], "sigma_g": [0.5, 0.0, 2.0], "s": 0.7}
    return [
        (a.Simulation(kind(**_STEPS, K=2, **private), Cohort("fixed", 2)), RECORDS)
        for kind in (a.DPScaffold, a.RecordLevelFedAvg)
    ]


def gradient_cases(a: Zoo) -> Cases:
    oracles = (a.RecordGradient(0.7, [0.3, 0.6, 1.2], [0.5, 0.0, 2.0]), a.RecordGradient(0.5, "median", 0.4))
    run = a.TwoSidedFedAvg(eta_l=0.3, eta_g=1.0, Q=2)
    return [
        (a.Simulation(run, gradient=a.NoisyGradient([0.1, 0.4, 0.2])), ("dense",)),
        *((a.Simulation(run, Cohort("fixed", 2), oracle), RECORDS) for oracle in oracles),
    ]


def momentum_cases(a: Zoo) -> Cases:
    run = a.with_momentum(a.DPFedAvg)(eta=0.2, C=2.0, sigma=0.3, momentum=[0.0, 0.5, 0.8])
    return [(a.Simulation(run), ("dense",))]


def average_cases(a: Zoo) -> Cases:
    ratio = [1.0, 0.5, 0.9]
    run = a.Simulation(a.DPFedAvg(eta=0.2, C=2.0, sigma=0.3))
    return [(a.WeightedAverage(run, ratio, start), ("dense",)) for start in (False, True)]


Place = tuple[str, tuple[str, ...], Callable[[Zoo], Cases]]  # a module, its classes and the cases that run them
SCAFFNEW: Place = "algorithms.scaffnew", ("DPScaffNew", "ScaffNew", "UnclippedScaffNew"), scaffnew_cases
SIMULATION: Place = (
    "simulation.batched",
    ("Simulation",),
    lambda a: fedavg_cases(a) + averaging_cases(a) + scaffnew_cases(a) + error_feedback_cases(a),
)
OPERATIONS: Place = ("simulation.operations", *SIMULATION[1:])


def bounded(a: Any, o: Any, u: Any, threshold: Any, swapped: bool = False) -> Any:
    """The update, clipped or normalised to this threshold; with the other of both if swapped."""
    return o.clip(u, threshold) if a.clips != swapped else o.stretch(u, threshold)


own_noise = DPFedAvg.noise
FEDAVG_FAULTS: dict[str, dict[str, Callable[..., Any]]] = {
    "threshold E C for C": {"bound": lambda a, o, u, _: bounded(a, o, u, a.local_steps * a.threshold)},
    "clipping and normalising swapped": {"bound": lambda a, o, u, _: bounded(a, o, u, a.threshold, True)},
    "divisor |S| for r": {"divisor": over_cohort},
    "divisor n for r": {"divisor": lambda a, o, members: o.n},
    "sum for mean": {"divisor": lambda a, o, members: 1.0},
    "everybody takes part": {"members": lambda a, o: (o.cohort, o.everyone)[1]},
    "clients weighted by their number": {"weight": lambda a, o, i, members: np.arange(o.n)[:, None, None]},
    "variance for deviation": {"deviation": lambda a, o: a.sigma**2},
    "noise whatever the cohort": {"noise": lambda a, o, members: server_noise(a, o, members)},
    "cohort's share without its root": {"noise": lambda a, o, members: server_noise(a, o, members) * share(o)},
    "noise r times too small": {"noise": lambda a, o, members: o.sum_of_noises(members, a.sigma) / o.expected},
    "noise not multiplied by beta": {"noise": lambda a, o, members: own_noise(a, o, members) / a.global_step},
    "noise subtracted": {"noise": lambda a, o, members: -own_noise(a, o, members)},
    "noise on one coordinate": {"noise": lambda a, o, members: own_noise(a, o, members) * (np.arange(o.d) == 0)},
    "one noise for all replicates": {"noise": lambda a, o, members: own_noise(a, o, members)[:1]},
    "global step ignored": {"move": lambda a, o, w, step: w - a.local_step * step},
    "ascent": {"move": lambda a, o, w, step: w + a.global_step * step},
    "weight decay": {"move": lambda a, o, w, step: 0.999 * w - a.global_step * step},
    "E - 1 local steps": {"steps": lambda a, o, i: max(1, a.local_steps - 1)},
    "E + 1 local steps": {"steps": lambda a, o, i: a.local_steps + 1},
    "local steps with beta": {
        "local": lambda a, o, w, i: o.descend(w, i, a.global_step, a.local_steps, PlainGradient(o, i))
    },
    "model difference, not update": {"update": lambda a, o, w, y: w - y},
}
"""Parts of the round of DP-FedAvg, replaced."""


def share(o: Any) -> Any:
    """The cohort's number of members over the expected one."""
    return o.count(o.cohort) / o.expected


ALGORITHM_FAULTS: list[tuple[str, Place, str, str]] = [
    ("noise of another round", OPERATIONS, "self._k, clients, self.d", "self._k + 1, clients, self.d"),
    ("one noise for all replicates", OPERATIONS, "else normals[0])", "else normals[0][:1])"),
    ("noise on one coordinate", OPERATIONS, "else normals[0])", "else normals[0] * (self._xp.arange(self.d) == 0))"),
    ("state of the round before", SIMULATION, "o.state(inner))", "state.inner)"),
    ("schedule frozen", SIMULATION, "step_at(getattr(run, a), k)", "step_at(getattr(run, a), 0)"),
    ("schedule one round late", SIMULATION, "step_at(getattr(run, a), k)", "step_at(getattr(run, a), max(k - 1, 0))"),
    ("the cohort of the first round", OPERATIONS, "sample(self._context, self._k)", "sample(self._context, 0)"),
    ("the mean of all clients", OPERATIONS, "combine(self._xp.ascontiguousarray(values), members.counts)",
     "combine(self._xp.ascontiguousarray(values), 1.0 + 0.0 * members.counts)"),
    ("h with the wrong sign", SCAFFNEW, "(g - h)", "(g + h)"),
    ("no control variates", SCAFFNEW, "(g - h)", "g"),
    ("first client for all", SCAFFNEW, "o.sum(o.everyone, messages) / o.n", "messages[0]"),
    ("h moves the other way", SCAFFNEW, "(t.mean - t.sent[i])", "(t.sent[i] - t.mean)"),
    ("h update without p", SCAFFNEW, "self.probability / self.step", "1.0 / self.step"),
    ("h update with eta/p", SCAFFNEW, "self.probability / self.step", "self.step / self.probability"),
    ("h moves in every round", SCAFFNEW, "self.idle(o, h[i], x[i], exchange, i)",
     "self.control(o, h[i], exchange(), i)"),
    ("h without the mean", SCAFFNEW, "(t.mean - t.sent[i])", "(-t.sent[i])"),
    ("difference from the client's own vector", SCAFFNEW, "self.communicated(o, w, ends, h)",
     "self.communicated(o, w, o.each(o.everyone, lambda i: ends[i] - x[i] + w), h)"),
    ("clients keep their vectors", SCAFFNEW, "self.restart(o, after, ends[i])", "ends[i]"),
    ("always communicating", SCAFFNEW, "o.coin(self.probability)", "o.coin(1.0)"),
    ("communicating with 1 - p", SCAFFNEW, "o.coin(self.probability), communicate, skip",
     "o.coin(self.probability), skip, communicate"),
    ("sum for mean ", SCAFFNEW, "o.sum(o.everyone, messages) / o.n", "o.sum(o.everyone, messages)"),
    ("variance for deviation ", SCAFFNEW, "o.gaussian(self.sigma, i)", "o.gaussian(self.sigma**2, i)"),
    ("noise on the average only", SCAFFNEW, "o.gaussian(self.sigma, i)", "o.gaussian(self.sigma, i)[:1]"),
    ("threshold times eta", SCAFFNEW, "o.clip(u, self.threshold)", "o.clip(u, self.threshold * self.step)"),
    ("clip after the noise", SCAFFNEW, "return t.bounded[i] + noise[i]",
     "return self.bound(o, t.bounded[i] + noise[i], w)"),
    ("gradients at the server's vector", SCAFFNEW, "o.gradient(i, x[i])", "o.gradient(i, 0 * x[i] + w)"),
]  # fmt: skip

COHORT: Place = "simulation.cohort", ("Cohort",), cohort_cases
COHORT_FAULTS = [
    ("poisson with 1 - r/n", COHORT, "u < self.divisor(n) / n", "u > self.divisor(n) / n"),
    ("poisson with r/(n + 1)", COHORT, "u < self.divisor(n) / n", "u < self.divisor(n) / (n + 1)"),
    ("one client too many", COHORT, "size = int(self.divisor(n))", "size = int(self.divisor(n)) + 1"),
    ("one cohort for all replicates", COHORT, "n, stream=COHORT)", "n, stream=COHORT)[:1] + xp.zeros((S, 1))"),
    ("one cohort for all rounds", COHORT, "context.replicates, k, n,", "context.replicates, 0, n,"),
    ("divisor n", COHORT, "self.size is None else float(self.size)", "self.size is None else float(n)"),
    ("counts ignored", COHORT, ".sum(axis=1).astype(xp.float64)", ".any(axis=1).astype(xp.float64)"),
    ("the first client is never drawn", COHORT, "* n).astype(xp.int64)", "* (n - 1) + 1).astype(xp.int64)"),
    ("partition off by one", COHORT, "size - 1, axis=1)[:, size - 1 : size]", "size, axis=1)[:, size : size + 1]"),
    ("the absent are run", COHORT, "xp.argsort(-self", "xp.argsort(self"),
    ("members of another replicate", COHORT, "xp.ascontiguousarray(order.T)", "xp.ascontiguousarray(order[::-1].T)"),
]  # fmt: skip

_TWO_SIDED = ("DPTwoSidedFedAvg", "TwoSidedFedAvg", "UnclippedTwoSidedFedAvg")
TWO_SIDED: Place = "algorithms.two_step_sizes", (*_TWO_SIDED, "ModelClippedFedAvg"), both_cases
AVERAGING: Place = "algorithms.averaging", (*_TWO_SIDED, "Scaffold"), averaging_cases
LENGTHS: Place = "simulation.local_updates", (*_TWO_SIDED, "ModelClippedFedAvg"), both_cases
EF: Place = (
    "algorithms.error_feedback", ("InformedClip21", "InformedNormEC", "DPNormSGD"), error_feedback_cases
)  # fmt: skip
SCAFFOLD: Place = "algorithms.scaffold", ("Scaffold",), scaffold_cases
RECORD_LEVEL: Place = "algorithms.record_level", ("DPScaffold", "RecordLevelFedAvg"), record_cases
MOMENTUM: Place = "algorithms.averaging", ("with_momentum",), momentum_cases
AVERAGE: Place = "simulation.average", ("WeightedAverage",), average_cases
NEW_FAULTS: list[tuple[str, Place, str, str]] = [
    ("clip after the noise", AVERAGING, "self.after(o, total / self.divisor(o, members)) + self.noise(o, members)",
     "self.bound(o, self.after(o, total / self.divisor(o, members)) + self.noise(o, members), updates)"),
    ("noise not multiplied by eta_g", AVERAGING, "+ self.noise(o, members)",
     "+ self.noise(o, members) / self.global_step"),
    ("global step ignored", AVERAGING, "self.sign * self.global_step * step", "self.sign * step"),
    ("counts ignored", OPERATIONS, "is None else members.counts)", "is None else 1.0 * (members.counts > 0.0))"),
    ("one noise for each client", OPERATIONS, "number = members.number\n",
     "number = members.number if members.counts is None else (members.counts**2).sum(axis=1)[:, None]\n"),
    ("noise divided by |P_t|", OPERATIONS, "(self._xp.sqrt(number) if many(number) else number**0.5)", "1.0"),
    ("noise where nobody takes part", OPERATIONS, "self._xp.sqrt(number)",
     "self._xp.sqrt(self._xp.maximum(number, 1.0))"),
    ("all gradients at the server's vector", OPERATIONS,
     "for _ in range(int(steps)):\n            y = y - step * direction(y)",
     "server = y\n        for _ in range(int(steps)):\n            y = y - step * direction(server)"),
    ("Q - 1 steps", OPERATIONS, "in range(int(steps))", "in range(max(1, int(steps) - 1))"),
    ("ascent", OPERATIONS, "y = y - step * direction(y)", "y = y + step * direction(y)"),
    ("one gradient error for all steps", OPERATIONS, "self._next(GRADIENT)", "0"),
    ("control variates of another replicate", OPERATIONS, "(members.counts > 0.0).T", "(members.counts[:1] > 0.0).T"),
    ("short vectors stretched", LENGTHS, "(0.0 if normalise else threshold)", "0.0"),
    ("threshold ignored", LENGTHS, "(0.0 if normalise else threshold)", "(0.0 if normalise else 1e9 * threshold)"),
    ("clipped to half the threshold", LENGTHS, "xp.where(over, threshold / xp", "xp.where(over, 0.5 * threshold / xp"),
    ("divisor is not |P_t|", TWO_SIDED, "return over_cohort(self, o, members)", "return o.expected"),
    ("noise missing", TWO_SIDED, "o.sum_of_noises(members, self.sigma) / o.expected", "o.zero"),
    ("difference clipped", TWO_SIDED, "        return y\n", """        return w + o.clip(y - w, self.threshold)

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return u
"""),
    ("nobody sends the origin", TWO_SIDED, "o.when(o.count(o.cohort) > 0, lambda: step, lambda: w)", "step"),
    ("noise forgotten", TWO_SIDED, "o.sum_of_noises(members, self.sigma) / self.divisor(o, members)", "o.zero"),
    ("models added to the server's", TWO_SIDED, "lambda: step, lambda: w", "lambda: w + step, lambda: w"),
    ("divisor R", RECORD_LEVEL, "return self.share * o.records(i)", "return o.records(i)"),
    ("divisor floor(sR)", RECORD_LEVEL, "return self.share * o.records(i)", "return b"),
    ("sensitivity C", RECORD_LEVEL, "self.relation_factor * self.threshold", "self.threshold"),
    ("noise not divided by b", RECORD_LEVEL, "self.threshold / self.size(o, i, b)", "self.threshold"),
    ("gradients at the origin", EF, "return o.gradient(i, w)", "return o.gradient(i, 0 * w)"),
    ("ascent", EF, "return o.gradient(i, w)", "return -o.gradient(i, w)"),
    ("noise without gamma", EF, "o.gaussian(self.sigma)", "o.gaussian(self.sigma) / self.global_step"),
    ("noise on one coordinate", EF, "o.gaussian(self.sigma)", "o.gaussian(self.sigma) * [1.0, *[0.0] * (o.d - 1)]"),
    ("normalised without alpha", EF, "o.smooth(u, self.smoothing)", "o.stretch(u, 1.0)"),
    ("memory of noisy messages", EF, "memories[i], sent[i], gradients[i]",
     "memories[i], sent[i] + self.noise(o), gradients[i]"),
    ("no beta in vhat", EF, "return before + self.memory_step * mean", "return before + mean"),
    ("no beta in the memories", EF, "return memory + self.memory_step * sent", "return memory + sent"),
    ("noise without beta", EF, "mean + self.noise(o)", "mean + self.noise(o) / self.memory_step"),
    ("noise divided by n", EF, "self.sigma) / o.n", "self.sigma) / o.n**1.5"),
    ("vhat starts at zero", EF, "return o.sum(o.everyone, memories) / o.n, memories", "return o.zero, memories"),
    ("step along the old estimate", EF, "estimate = self.estimate(o, estimate, mean + self.noise(o))\n        return ",
     "old, estimate = estimate, self.estimate(o, estimate, mean + self.noise(o))\n"
     "        return self.move(o, w, self.direction(o, old)), (estimate, memories)\n        return "),
    ("server normalisation forgotten", EF, "return o.stretch(estimate, 1)", "return estimate"),
    ("gradients sent, not differences", EF, "return g - memory", "return g"),
    ("control variates with the wrong sign", SCAFFOLD, "return c - own", "return own - c"),
    ("c divided by |C_t|", SCAFFOLD, "return 1 / o.n", "return 1 / o.count(self.members(o))"),
    ("c_i without c", SCAFFOLD, "t.own - t.c + self", "t.own + self"),
    ("c_i with the wrong sign of y - x", SCAFFOLD, "(t.w - t.y)", "(t.y - t.w)"),
    ("c_i without K", SCAFFOLD, "(self.local_steps * self.local_step)", "self.local_step"),
    ("c never moves", SCAFFOLD, "self.control_weight(o) * total", "0.0 * total"),
    ("one draw in a warm round", SCAFFOLD, "for _ in range(steps)) / steps", "for _ in range(1))"),
    ("warm cohort ignored", SCAFFOLD, "self.warm_members(o, o.cohort) if self.is_warm(o) else o.cohort", "o.cohort"),
    ("one warm round short", SCAFFOLD, "o.number < self.warm_start", "o.number < self.warm_start - 1"),
    ("momentum with the wrong sign", MOMENTUM, "state + (w - a.move(o, w, step))", "state - (w - a.move(o, w, step))"),
    ("momentum of the parameters", MOMENTUM, "* state + (w", "* w + (w"),
    ("damped steps", MOMENTUM, "(w - a.move(o, w, step))", "0.9 * (w - a.move(o, w, step))"),
    ("velocity lost", MOMENTUM, "return w - velocity, velocity", "return w - velocity, w - a.move(o, w, step)"),
    ("first replicate's momentum for all", MOMENTUM, "a.momentum * state", "a.momentum[:1] * state"),
    ("ratio ignored", AVERAGE, "context.per_replicate(self.ratio) * state.total", "state.total"),
    ("the start is averaged", AVERAGE, "float(self.with_start)", "1.0"),
    ("the start is never averaged", AVERAGE, "float(self.with_start)", "0.0"),
    ("weights that fall", AVERAGE, "context.per_replicate(self.ratio) *", "1.0 / context.per_replicate(self.ratio) *"),
    ("iterates one round late", AVERAGE, "server(inner) - state", "server(state.inner) - state"),
]  # fmt: skip

ORACLES: Place = "simulation.gradients", ("NoisyGradient", "RecordGradient"), gradient_cases
PART_FAULTS: list[tuple[str, Place, str, str]] = [
    ("short vectors stretched", OPERATIONS, "self._bounded(u, threshold, False)", "self._bounded(u, threshold, True)"),
    ("squared length", OPERATIONS, "self._xp.sqrt((u * u).sum(axis=-1, keepdims=True))",
     "(u * u).sum(axis=-1, keepdims=True)"),
    ("alpha twice", OPERATIONS, "total = alpha + self", "total = 2.0 * alpha + self"),
    ("smoothed and scaled by alpha", OPERATIONS, "there, 1.0 / self", "there, alpha / self"),
    ("divisor n", OPERATIONS, "return self._cohort.divisor(self.n)", "return float(self.n)"),
    ("divisor floor(sR)", ORACLES, "self.share * size", "whole_part(self.share, size)"),
    ("divisor R", ORACLES, "self.share * size", "1.0 * size"),
    ("sensitivity C", ORACLES, "2.0 * used", "1.0 * used"),
    ("records of the first step in all", ORACLES, "own.counts, step)", "own.counts, 0)"),
    ("records of the first round in all", ORACLES, "subsets(context.replicates, k,", "subsets(context.replicates, 0,"),
    ("one noise for all steps", ORACLES, "k, NOISE, clients, step)", "k, NOISE, clients)"),
    ("noise not divided by sR", ORACLES, "spread = 2.0 * used", "spread = 2.0 * used * expected"),
    ("noise on one coordinate", ORACLES, "NOISE, clients, step)", "NOISE, clients, step) * np.eye(w.shape[2])[0]"),
    ("all records", ORACLES, "if self.share < 1.0", "if self.share < 0.0"),
    ("variance for deviation", ORACLES, "context.per_replicate(self.deviation)",
     "(context.per_replicate(self.deviation) ** 2)"),
    ("one error for all steps", ORACLES, "k, GRADIENT, clients, step)", "k, GRADIENT, clients)"),
]  # fmt: skip

FAULTS = [*ALGORITHM_FAULTS, *COHORT_FAULTS, *NEW_FAULTS, *PART_FAULTS]
"""What goes wrong, where, and the source text before and after."""
