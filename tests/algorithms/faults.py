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

QUADRATICS, RECORDS = ("dense", "low-rank", "huber"), ("huber", "unequal")
Cases = list[tuple[Any, Sequence[str]]]


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
        (a.TwoSidedFedAvg(0.3, 1.2, 2, 1.0, 0.2, a.Cohort("with-replacement", 4)), ("dense",)),
        (a.TwoSidedFedAvg(0.3, 1.2, 2, 1.0, 0.2, a.Cohort("fixed", 2)), ("dense",)),
        (a.Scaffold(0.3, 1.2, 2, a.Cohort("fixed", 2)), ("dense",)),
    ]


def scaffnew_cases(a: Zoo) -> Cases:
    return [
        (a.Simulation(a.DPScaffNew(eta=0.5, p=0.4, C=0.8, sigma=[0.1, 0.3, 0.2])), QUADRATICS),
        (a.Simulation(a.ScaffNew(eta=[0.3, 0.5, 0.2], p=0.5), gradient=a.NoisyGradient(0.2)), QUADRATICS),
    ]


def two_sided_cases(a: Zoo) -> Cases:
    steps, sigma = (Schedule([0.4, 0.3, 0.2], 0.8), [1.5, 0.7, 1.0]), [0.1, 0.5, 0.3]
    return [
        (a.TwoSidedFedAvg(*steps, 3, [0.5, 1.0, 2.0], sigma, Cohort("fixed", 2), a.NoisyGradient(0.2)), ("dense",)),
        (a.TwoSidedFedAvg(0.3, Schedule(1.5, 0.9), 2, 0.5, 0.3, Cohort("poisson", 1.5)), ("dense", "huber")),
        (a.TwoSidedFedAvg(0.3, 1.5, 2, None, 0.3, Cohort("with-replacement", 4)), ("low-rank",)),
    ]


def model_clipping_cases(a: Zoo) -> Cases:
    return [
        (a.ModelClippedFedAvg(Schedule(0.4, 0.8), [1.0, 2.0, 3.0], 3, 0.2, Cohort("poisson", 1.5)), ("dense",)),
        (a.ModelClippedFedAvg(0.3, 1.0, 2, [0.1, 0.2, 0.3], Cohort("fixed", 2), a.NoisyGradient(0.2)), ("huber",)),
    ]


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
    steps = (Schedule([0.3, 0.2, 0.1], 0.8), [1.5, 0.7, 1.0])
    return [
        (a.Scaffold(*steps, 3, Cohort("fixed", 2), a.NoisyGradient(0.2)), ("dense",)),
        (a.Scaffold(0.3, 1.2, 2, Cohort("fixed", 2), a.NoisyGradient(0.2), 2, Cohort("fixed", 4)), ("dense",)),
    ]


def gradient_cases(a: Zoo) -> Cases:
    oracles = (a.RecordGradient(0.7, [0.3, 0.6, 1.2], [0.5, 0.0, 2.0]), a.RecordGradient(0.5, "median", 0.4))
    return [
        (a.TwoSidedFedAvg(0.3, 1.0, 2, gradient=a.NoisyGradient([0.1, 0.4, 0.2])), ("dense",)),
        *((a.TwoSidedFedAvg(0.3, 1.0, 2, None, 0.0, Cohort("fixed", 2), oracle), RECORDS) for oracle in oracles),
    ]


def momentum_cases(a: Zoo) -> Cases:
    return [(a.ServerMomentum(a.FedAvg(0.2, sigma=0.3), [0.0, 0.5, 0.8]), ("dense",))]


def average_cases(a: Zoo) -> Cases:
    ratio = [1.0, 0.5, 0.9]
    return [(a.WeightedAverage(a.FedAvg(0.2, sigma=0.3), ratio, start), ("dense",)) for start in (False, True)]


Place = tuple[str, tuple[str, ...], Callable[[Zoo], Cases]]  # a module, its classes and the cases that run them
FEDAVG: Place = "algorithms.fedavg", ("FedAvg",), fedavg_cases
SCAFFNEW: Place = "descriptions.scaffnew", ("DPScaffNew", "ScaffNew", "UnclippedScaffNew"), scaffnew_cases
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

TWO_SIDED: Place = "algorithms.fedavg_two_stepsizes", ("TwoSidedFedAvg",), two_sided_cases
MODELS: Place = "algorithms.model_clipping", ("ModelClippedFedAvg",), model_clipping_cases
DP_SGD: Place = "algorithms.dp_sgd", ("DPSGD",), dp_sgd_cases
EF: Place = "algorithms.ef21", ("EF21",), ef21_cases
SCAFFOLD: Place = "algorithms.scaffold", ("Scaffold",), scaffold_cases
MOMENTUM: Place = "algorithms.momentum", ("ServerMomentum",), momentum_cases
AVERAGE: Place = "algorithms.average", ("WeightedAverage",), average_cases
NEW_FAULTS: list[tuple[str, Place, str, str]] = [
    ("clip after the noise", TWO_SIDED, "(signal + noise), r", "Clip(self.threshold or 9)(context, signal + noise), r"),
    ("divisor is not |P_t|", TWO_SIDED, "total = counts.sum(axis=0)", "total = len(counts) + 0.0 * counts.sum(axis=0)"),
    ("counts ignored", TWO_SIDED, "((counts / total).T)", "(((counts > 0.0) / total).T)"),
    ("one noise for each client", TWO_SIDED, "* somebody / xp", "* (counts**2 / total).sum(axis=0) ** 0.5 / xp"),
    ("noise divided by |P_t|", TWO_SIDED, "somebody / xp.sqrt(total)", "somebody / total"),
    ("noise where nobody takes part", TWO_SIDED, "* somebody / xp", "/ xp"),
    ("noise not multiplied by eta_g", TWO_SIDED, "[:, None] * (signal + noise)", "[:, None] * signal + noise"),
    ("noise on one coordinate", TWO_SIDED, "SERVER_NOISE)[0]", "SERVER_NOISE)[0] * (xp.arange(sent.shape[2]) < 1)"),
    ("all gradients at the server's vector", TWO_SIDED, "x[None] - step[:, None] * total", "x[None] + 0.0 * total"),
    ("one gradient error for all steps", TWO_SIDED, "members, k, q)", "members, k, 0)"),
    ("Q - 1 steps", TWO_SIDED, "in range(steps)", "in range(max(1, steps - 1))"),
    ("ascent", TWO_SIDED, "return -step[:, None]", "return step[:, None]"),
    ("difference clipped", MODELS, "(self.threshold)(context, sent)", "(self.threshold)(context, sent - x) + x"),
    (
        "nobody sends the origin",
        MODELS,
        "context.engine.xp.where(somebody[:, None], signal + noise, x)",
        "signal + noise",
    ),
    ("noise forgotten", MODELS, "counts, self.sigma, k)", "counts, 0.0, k)"),
    ("models added to the server's", MODELS, "signal + noise, x)", "x + signal + noise, x)"),
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
    ("control variates with the wrong sign", SCAFFOLD, "k, state.c[None] - old)", "k, old - state.c[None])"),
    ("c divided by |C_t|", SCAFFOLD, "(new - old).sum(axis=0) / n", "(new - old).mean(axis=0)"),
    ("c_i without c", SCAFFOLD, "old - state.c[None] - sent", "old - sent"),
    ("c_i with the wrong sign of y - x", SCAFFOLD, "state.c[None] - sent /", "state.c[None] + sent /"),
    ("c_i without K", SCAFFOLD, "sent / (K * eta", "sent / (eta"),
    ("c never moves", SCAFFOLD, "state.c + (new - old)", "state.c + 0.0 * (new - old)"),
    ("one draw in a warm round", SCAFFOLD, "for j in range(K)) / K", "for j in range(1))"),
    ("warm cohort ignored", SCAFFOLD, "(self.warm_cohort or self.cohort) if warm", "self.cohort if warm"),
    ("one warm round short", SCAFFOLD, "warm = k < self.warm_start", "warm = k < self.warm_start - 1"),
    ("control variates of another replicate", SCAFFOLD, "c_i[members, replicate] = new",
     "c_i[members, 0 * replicate] = new"),
    ("global step ignored", SCAFFOLD, "step_at(self.global_step, k))", "1.0)"),
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
