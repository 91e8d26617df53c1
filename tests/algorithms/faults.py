"""Planted faults in the algorithms and their parts, and the runs that set the faulty code against the oracles; tests in
tests/mutants see that each fault is noticed.

A fault is a change of the source text of a module. Cases between them use every hyper-parameter of the module's
classes, on problems that `oracles.compare` knows by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from algorithms.reductions import Zoo

from dpfl_theory.algorithms import Cohort, Schedule
from dpfl_theory.descriptions.scaffold import all_users

QUADRATICS, RECORDS = ("dense", "low-rank", "huber"), ("huber", "unequal")
Cases = list[tuple[Any, Sequence[str]]]
_STEPS = {"eta_l": 0.3, "eta_g": 1.2}
_NOISY = {"c": 1.0, "sigma": 0.2}
_RECORDS = {"C": 0.7, "s": 0.5, "sigma_g": 0.3}


def fedavg_cases(a: Zoo) -> Cases:
    """Algorithms that between them use every hyper-parameter, and the problems they run on."""
    clip = a.FedAvg(
        Schedule(0.4, 0.8), 3, 0.3, a.Clip([1.0, 3.0, 2.0]), a.Cohort("poisson", 2.5), [0.1, 0.5, 0.3]
    )  # fmt: skip
    normalise = a.FedAvg([0.3, 0.2, 0.1], 2, None, a.Normalise(1.0), a.Cohort("fixed", 2), 0.3, "average")
    return [(clip, QUADRATICS), (normalise, QUADRATICS), (a.FedAvg(0.3), QUADRATICS)]


def cohort_cases(a: Zoo) -> Cases:
    return [
        *fedavg_cases(a),
        (a.FedAvg(0.3, 2, None, a.Clip(2.0), a.Cohort("with-replacement", 4), 0.3), ("dense",)),
        (a.Simulation(a.DPTwoSidedFedAvg(**_STEPS, Q=2, **_NOISY), a.Cohort("with-replacement", 4)), ("dense",)),
        (a.Simulation(a.DPTwoSidedFedAvg(**_STEPS, Q=2, **_NOISY), a.Cohort("fixed", 2)), ("dense",)),
        (a.DPSGD(0.3, a.Clip(1.0), 0.2, a.Cohort("with-replacement", 4)), ("dense",)),
        (a.Simulation(a.Scaffold(**_STEPS, K=2), a.Cohort("fixed", 2)), ("dense",)),
        (a.Simulation(a.DPScaffold(**_STEPS, K=2, **_RECORDS), a.Cohort("fixed", 2)), RECORDS),
    ]


def scaffnew_cases(a: Zoo) -> Cases:
    return [
        (a.ScaffNew(0.5, 0.4, 0.8, [0.1, 0.3, 0.2]), QUADRATICS),
        (a.ScaffNew([0.3, 0.5, 0.2], 0.5, gradient=a.NoisyGradient(0.2)), QUADRATICS),
    ]


def two_sided_cases(a: Zoo) -> Cases:
    steps = {"eta_l": Schedule([0.4, 0.3, 0.2], 0.8), "eta_g": [1.5, 0.7, 1.0], "Q": 3}
    sigma = [0.1, 0.5, 0.3]
    noisy, dense = a.NoisyGradient(0.2), ("dense",)
    decaying, other = {"eta_l": 0.3, "eta_g": Schedule(1.5, 0.9), "Q": 2}, {"eta_l": 0.3, "eta_g": 1.5, "Q": 2}
    poisson = Cohort("poisson", 1.5)
    return [
        (a.Simulation(a.DPTwoSidedFedAvg(**steps, c=[0.5, 1.0, 2.0], sigma=sigma), Cohort("fixed", 2), noisy), dense),
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


def dp_sgd_cases(a: Zoo) -> Cases:
    return [
        (a.DPSGD(Schedule(0.4, 0.8), a.Clip([0.5, 2.0, 4.0]), [0.1, 0.2, 0.3], Cohort("poisson", 2.5)), ("dense",)),
        (a.DPSGD(0.3, a.Normalise(0.7), 0.2, Cohort("fixed", 2), a.NoisyGradient(0.3)), ("dense",)),
        (a.DPSGD(0.3, a.SmoothedNormalise([0.0, 0.5, 2.0]), 0.2), ("dense",)),
    ]


def ef21_cases(a: Zoo) -> Cases:
    psi = a.SmoothedNormalise([0.1, 0.5, 2.0])
    return [
        (a.EF21(Schedule(0.4, 0.8), a.Clip([0.3, 1.0, 2.0]), 0.7, False, 0.2, 0.5, a.NoisyGradient(0.2)), ("dense",)),
        (a.EF21(0.3, psi, [0.2, 0.4, 0.6], True, [0.1, 0.2, 0.3], [0.0, 1.0, 0.5]), ("dense",)),
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
    return [(a.ServerMomentum(a.FedAvg(0.2, sigma=0.3), [0.0, 0.5, 0.8]), ("dense",))]


def average_cases(a: Zoo) -> Cases:
    ratio = [1.0, 0.5, 0.9]
    return [(a.WeightedAverage(a.FedAvg(0.2, sigma=0.3), ratio, start), ("dense",)) for start in (False, True)]


Place = tuple[str, tuple[str, ...], Callable[[Zoo], Cases]]  # a module, its classes and the cases that run them
FEDAVG: Place = "algorithms.fedavg", ("FedAvg",), fedavg_cases
SCAFFNEW: Place = "algorithms.scaffnew", ("ScaffNew",), scaffnew_cases
BOUNDED = "self.bounding.combined(context, phase, cohort / r)"


def bounded(factor: str, normalised: str = "Normalise") -> str:
    """The same with a multiple of the threshold, and other updates normalised than should be."""
    level = "self.bounding.level(context)"
    kind = f"type(self.bounding).__name__ == {normalised!r}"
    both = f"phase.bounded_combine(cohort / r, {factor} * {level}, {kind})"
    return f"({both} if {level} is not None else phase.combine(cohort / r))"


ALGORITHM_FAULTS: list[tuple[str, Place, str, str]] = [
    ("threshold E C for C", FEDAVG, BOUNDED, bounded("self.local_steps")),
    ("divisor |S| for r", FEDAVG, "cohort / r)", "cohort / xp.maximum(cohort.sum(axis=1, keepdims=True), 1))"),
    ("divisor n for r", FEDAVG, "cohort / r)", "cohort / context.problem.n)"),
    ("sum for mean", FEDAVG, "cohort / r)", "cohort)"),
    ("everybody takes part", FEDAVG, "cohort / r)", "xp.ones_like(cohort) / r)"),
    ("variance for deviation", FEDAVG, "context.per_replicate(self.sigma)", "context.per_replicate(self.sigma) ** 2"),
    ("noise whatever the cohort", FEDAVG, "deviation * xp.sqrt(cohort.sum(axis=1) / r)", "deviation"),
    ("cohort's share without its root", FEDAVG, "xp.sqrt(cohort.sum(axis=1) / r)", "(cohort.sum(axis=1) / r)"),
    ("noise r times too small", FEDAVG, "xp.sqrt(cohort.sum(axis=1) / r)", "xp.sqrt(cohort.sum(axis=1)) / r"),
    ("noise placements swapped", FEDAVG, 'self.noise == "per-client"', 'self.noise == "average"'),
    ("noise not multiplied by beta", FEDAVG, "beta[:, None] * (signal + noise)", "beta[:, None] * signal - noise"),
    ("noise subtracted", FEDAVG, "(signal + noise)", "(signal - noise)"),
    ("noise of another round", FEDAVG, "normal(context.replicates, k, 1", "normal(context.replicates, k + 1, 1"),
    ("one noise for all replicates", FEDAVG, "SERVER_NOISE)[0]", "SERVER_NOISE)[0][:1]"),
    ("noise on one coordinate", FEDAVG, "SERVER_NOISE)[0]", "SERVER_NOISE)[0] * (xp.arange(w.shape[1]) == 0)"),
    ("global step ignored", FEDAVG, "eta if self.global_step is None", "eta if True"),
    ("schedule frozen", FEDAVG, "step_at(self.local_step, k)", "step_at(self.local_step, 0)"),
    ("schedule one round late", FEDAVG, "step_at(self.local_step, k)", "step_at(self.local_step, max(k - 1, 0))"),
    ("E - 1 local steps", FEDAVG, "eta, self.local_steps)", "eta, max(1, self.local_steps - 1))"),
    ("E + 1 local steps", FEDAVG, "eta, self.local_steps)", "eta, self.local_steps + 1)"),
    ("local steps with beta", FEDAVG, "local_phase(w, eta,", "local_phase(w, beta,"),
    ("clipping and normalising swapped", FEDAVG, BOUNDED, bounded("1.0", normalised="Clip")),
    ("model difference, not update", FEDAVG, "beta[:, None] * (signal", "beta[:, None] * (eta[:, None] * signal"),
    ("ascent", FEDAVG, "return w - beta", "return w + beta"),
    ("weight decay", FEDAVG, "return w - beta", "return 0.999 * w - beta"),
    ("clients weighted by their number", FEDAVG, "cohort / r)", "cohort * xp.arange(cohort.shape[1]) / r)"),
    ("h with the wrong sign", SCAFFNEW, "k, 0) - state.h_i", "k, 0) + state.h_i"),
    ("no control variates", SCAFFNEW, "k, 0) - state.h_i", "k, 0)"),
    ("first client for all", SCAFFNEW, "sent.mean(axis=0)", "sent[0]"),
    ("h moves the other way", SCAFFNEW, "(mean[None] - sent)", "(sent - mean[None])"),
    ("h update without p", SCAFFNEW, "(self.probability / eta)", "(1.0 / eta)"),
    ("h update with eta/p", SCAFFNEW, "(self.probability / eta)", "(eta / self.probability)"),
    ("h moves in every round", SCAFFNEW, "h_i=xp.where(everyone,", "h_i=xp.where(everyone | True,"),
    ("h without the mean", SCAFFNEW, "(mean[None] - sent)", "(-sent)"),
    ("difference from the client's own vector", SCAFFNEW, "moved - state.x[None]", "moved - state.x_i"),
    ("clients keep their vectors", SCAFFNEW, "x_i=xp.where(everyone, x[None], moved)", "x_i=moved"),
    ("always communicating", SCAFFNEW, "< self.probability", "< 1.0"),
    ("communicating with 1 - p", SCAFFNEW, "[:, 0] < self.probability", "[:, 0] > self.probability"),
    ("sum for mean ", SCAFFNEW, "sent.mean(axis=0)", "sent.sum(axis=0)"),
    ("variance for deviation ", SCAFFNEW, "context.per_replicate(self.sigma)",
     "(context.per_replicate(self.sigma) ** 2)"),
    ("noise on the average only", SCAFFNEW, "engine.normal(context.replicates, k, n,",
     "engine.normal(context.replicates, k, 1,"),
    ("threshold times eta", SCAFFNEW, "Clip(self.threshold)", "Clip(self.threshold * np.ravel(self.step)[0])"),
    ("clip after the noise", SCAFFNEW, "mean = sent", "sent = Clip(self.threshold or 9.0)(context, sent); mean = sent"),
    ("gradients at the server's vector", SCAFFNEW, "at(context, state.x_i", "at(context, 0 * state.x_i + state.x"),
]  # fmt: skip

COHORT: Place = "algorithms.cohort", ("Cohort",), cohort_cases
COHORT_FAULTS = [
    ("poisson with 1 - r/n", COHORT, "u < self.divisor(n) / n", "u > self.divisor(n) / n"),
    ("poisson with r/(n + 1)", COHORT, "u < self.divisor(n) / n", "u < self.divisor(n) / (n + 1)"),
    ("one client too many", COHORT, "size = int(self.divisor(n))", "size = int(self.divisor(n)) + 1"),
    ("one cohort for all replicates", COHORT, "n, stream=COHORT)", "n, stream=COHORT)[:1] + xp.zeros((S, 1))"),
    ("one cohort for all rounds", COHORT, "context.replicates, k, n,", "context.replicates, 0, n,"),
    ("divisor n", COHORT, "self.size is None else float(self.size)", "self.size is None else float(n)"),
    ("counts ignored", COHORT, ".sum(axis=1).astype(xp.float64)", ".any(axis=1).astype(xp.float64)"),
    ("counts of the members ignored", COHORT, "xp.ascontiguousarray(counts.T)", "1.0 * (counts.T > 0)"),
    ("the first client is never drawn", COHORT, "* n).astype(xp.int64)", "* (n - 1) + 1).astype(xp.int64)"),
    ("partition off by one", COHORT, "size - 1, axis=1)[:, size - 1 : size]", "size, axis=1)[:, size : size + 1]"),
    ("the absent are run", COHORT, "xp.argsort(-counts", "xp.argsort(counts"),
    ("members of another replicate", COHORT, "xp.ascontiguousarray(order.T)", "xp.ascontiguousarray(order[::-1].T)"),
]  # fmt: skip

_TWO_SIDED = ("DPTwoSidedFedAvg", "TwoSidedFedAvg", "UnclippedTwoSidedFedAvg")
TWO_SIDED: Place = "descriptions.two_step_sizes", (*_TWO_SIDED, "ModelClippedFedAvg"), both_cases
AVERAGING: Place = "descriptions.averaging", (*_TWO_SIDED, "Scaffold"), averaging_cases
LENGTHS: Place = "algorithms.local_updates", (*_TWO_SIDED, "ModelClippedFedAvg"), both_cases
BATCHED: Place = "algorithms.batched", (*_TWO_SIDED, "Scaffold"), averaging_cases
DP_SGD: Place = "algorithms.dp_sgd", ("DPSGD",), dp_sgd_cases
EF: Place = "algorithms.ef21", ("EF21",), ef21_cases
SCAFFOLD: Place = "descriptions.scaffold", ("Scaffold",), scaffold_cases
RECORD_LEVEL: Place = "descriptions.record_level", ("DPScaffold", "RecordLevelFedAvg"), record_cases
MOMENTUM: Place = "algorithms.momentum", ("ServerMomentum",), momentum_cases
AVERAGE: Place = "algorithms.average", ("WeightedAverage",), average_cases
NEW_FAULTS: list[tuple[str, Place, str, str]] = [
    ("clip after the noise", AVERAGING, "self.after(o, total / self.divisor(o, members)) + self.noise(o, members)",
     "self.bound(o, self.after(o, total / self.divisor(o, members)) + self.noise(o, members), updates)"),
    ("noise not multiplied by eta_g", AVERAGING, "+ self.noise(o, members)",
     "+ self.noise(o, members) / self.global_step"),
    ("global step ignored", AVERAGING, "self.sign * self.global_step * step", "self.sign * step"),
    ("counts ignored", BATCHED, "is None else members.counts)", "is None else 1.0 * (members.counts > 0.0))"),
    ("one noise for each client", BATCHED, "number = members.number\n",
     "number = members.number if members.counts is None else (members.counts**2).sum(axis=1)[:, None]\n"),
    ("noise divided by |P_t|", BATCHED, "(self._xp.sqrt(number) if _many(number) else number**0.5)", "1.0"),
    ("noise where nobody takes part", BATCHED, "self._xp.sqrt(number)", "self._xp.sqrt(self._xp.maximum(number, 1.0))"),
    ("noise on one coordinate", BATCHED, "(normals if for_each else normals[0])",
     "(normals if for_each else normals[0]) * (self._xp.arange(self.d) < 1)"),
    ("all gradients at the server's vector", BATCHED,
     "for _ in range(int(steps)):\n            y = y - step * direction(y)",
     "server = y\n        for _ in range(int(steps)):\n            y = y - step * direction(server)"),
    ("Q - 1 steps", BATCHED, "in range(int(steps))", "in range(max(1, int(steps) - 1))"),
    ("ascent", BATCHED, "y = y - step * direction(y)", "y = y + step * direction(y)"),
    ("one gradient error for all steps", BATCHED, "self._next(GRADIENT)", "0"),
    ("control variates of another replicate", BATCHED, "(members.counts > 0.0).T", "(members.counts[:1] > 0.0).T"),
    ("short vectors stretched", LENGTHS, "(0.0 if normalise else threshold)", "0.0"),
    ("threshold ignored", LENGTHS, "(0.0 if normalise else threshold)", "(0.0 if normalise else 1e9 * threshold)"),
    ("clipped to half the threshold", LENGTHS, "xp.where(over, threshold / xp", "xp.where(over, 0.5 * threshold / xp"),
    ("divisor is not |P_t|", TWO_SIDED, "return over_cohort(self, o, members)", "return o.expected"),
    ("noise missing", TWO_SIDED, "o.sum_of_noises(members, self.sigma) / o.expected", "o.zero"),
    ("difference clipped", TWO_SIDED, """return y

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return o.clip(u, self.threshold)
""", """return w + o.clip(y - w, self.threshold)

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return u
"""),
    ("nobody sends the origin", TWO_SIDED, "o.when(o.count(o.cohort) > 0, lambda: step, lambda: w)", "step"),
    ("noise forgotten", TWO_SIDED, "o.sum_of_noises(members, self.sigma) / self.divisor(o, members)", "o.zero"),
    ("models added to the server's", TWO_SIDED, "lambda: step, lambda: w", "lambda: w + step, lambda: w"),
    ("divisor R", RECORD_LEVEL, "        return b\n", "        return o.records(i)\n"),
    ("sensitivity C", RECORD_LEVEL, "self.relation_factor * self.threshold", "self.threshold"),
    ("noise not divided by b", RECORD_LEVEL, "self.threshold / b", "self.threshold"),
    ("divisor n", DP_SGD, "self.cohort.divisor(n)", "n"),
    ("bounded after the noise", DP_SGD, "* (signal + noise), r", "* self.bounding(context, signal + noise), r"),
    ("schedule frozen", DP_SGD, "step_at(self.step, k)", "step_at(self.step, 0)"),
    ("ascent", DP_SGD, "return x - gamma", "return x + gamma"),
    ("noise without gamma", DP_SGD, "gamma[:, None] * (signal + noise)", "gamma[:, None] * signal - noise"),
    ("noise on one coordinate", DP_SGD, "SERVER_NOISE)[0]", "SERVER_NOISE)[0] * (xp.arange(x.shape[1]) == 0)"),
    ("memory of noisy messages", EF, "state.v_i + beta * sent", "state.v_i + beta * (sent + noise)"),
    ("no beta in vhat", EF, "state.v + beta * (signal + noise)", "state.v + signal + noise"),
    ("no beta in the memories", EF, "state.v_i + beta * sent", "state.v_i + sent"),
    ("noise without beta", EF, "beta * (signal + noise)", "beta * signal + noise"),
    ("noise divided by n", EF, "/ n**0.5", "/ n"),
    ("vhat starts at zero", EF, "v_i.mean(axis=0))", "0.0 * context.start)"),
    ("step along the old estimate", EF, "else v\n", "else state.v\n"),
    ("server normalisation forgotten", EF, "if self.server_normalisation else v", "if False else v"),
    ("gradients sent, not differences", EF, "k, 0) - state.v_i)", "k, 0))"),
    ("control variates with the wrong sign", SCAFFOLD, "return c - own", "return own - c"),
    ("c divided by |C_t|", SCAFFOLD, "return 1 / o.n", "return 1 / o.count(self.members(o))"),
    ("c_i without c", SCAFFOLD, "t.own - t.c + self", "t.own + self"),
    ("c_i with the wrong sign of y - x", SCAFFOLD, "(t.w - t.y)", "(t.y - t.w)"),
    ("c_i without K", SCAFFOLD, "(self.local_steps * self.local_step)", "self.local_step"),
    ("c never moves", SCAFFOLD, "self.control_weight(o) * total", "0.0 * total"),
    ("one draw in a warm round", SCAFFOLD, "for _ in range(self.steps(o))) / self.steps(o)", "for _ in range(1))"),
    ("warm cohort ignored", SCAFFOLD, "self.warm_members(o, o.cohort) if self.is_warm(o) else o.cohort", "o.cohort"),
    ("one warm round short", SCAFFOLD, "o.number < self.warm_start", "o.number < self.warm_start - 1"),
    ("momentum with the wrong sign", MOMENTUM, "velocity + (w - proposed)", "velocity - (w - proposed)"),
    ("momentum of the parameters", MOMENTUM, "* velocity + (w", "* w + (w"),
    ("damped steps", MOMENTUM, "(w - proposed)", "0.9 * (w - proposed)"),
    ("velocity lost", MOMENTUM, "(w - velocity, velocity)", "(w - velocity, w - proposed)"),
    ("first replicate's momentum for all", MOMENTUM, "(self.momentum)[:, None]", "(self.momentum)[:1, None]"),
    ("ratio ignored", AVERAGE, "context.per_replicate(self.ratio) * state.total", "state.total"),
    ("the start is averaged", AVERAGE, "float(self.with_start)", "1.0"),
    ("the start is never averaged", AVERAGE, "float(self.with_start)", "0.0"),
    ("weights that fall", AVERAGE, "context.per_replicate(self.ratio) *", "1.0 / context.per_replicate(self.ratio) *"),
    ("iterates one round late", AVERAGE, "server(inner) - state", "server(state.inner) - state"),
]  # fmt: skip

BOUNDS: Place = (
    "algorithms.bounding", ("Clip", "Normalise", "SmoothedNormalise"), lambda a: dp_sgd_cases(a) + ef21_cases(a)
)  # fmt: skip
ORACLES: Place = "algorithms.gradients", ("NoisyGradient", "RecordGradient"), gradient_cases
PART_FAULTS: list[tuple[str, Place, str, str]] = [
    ("short vectors stretched", BOUNDS, "over = length > C", "over = length > 0.0"),
    ("squared length", BOUNDS, "xp.sqrt((g * g).sum(axis=-1))", "(g * g).sum(axis=-1)"),
    ("normalised to length 1", BOUNDS, "context.per_replicate(self.threshold) / xp", "1.0 / xp"),
    ("alpha twice", BOUNDS, "self.alpha) + length", "self.alpha) * 2.0 + length"),
    ("smoothed and scaled by alpha", BOUNDS, "0.0, 1.0 / xp", "0.0, context.per_replicate(self.alpha) / xp"),
    ("divisor floor(sR)", ORACLES, "self.share * kernels.records", "self._count(kernels.records)"),
    ("divisor R", ORACLES, "self.share * kernels.records", "1.0 * kernels.records"),
    ("sensitivity C", ORACLES, "2.0 * used", "1.0 * used"),
    ("records of the first step in all", ORACLES, "sizes, counts, step)", "sizes, counts, 0)"),
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
