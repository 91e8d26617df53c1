"""The audit: run an algorithm with and without a canary in many replicates, and bound epsilon and mu from below."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dpfl_theory.audit.bounds import EpsilonBound, MuBound, gaussian_epsilon
from dpfl_theory.audit.canaries import Canary
from dpfl_theory.audit.rules import Rule, choose_for_epsilon, choose_for_mu, epsilon_from_counts, mu_from_counts
from dpfl_theory.audit.view import Messages, Observer, Score, fitted, fixed_scores
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import select
from dpfl_theory.kernels.engine import Engine
from dpfl_theory.problems.validation import count as require_integer
from dpfl_theory.simulation.base import Algorithm


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit. All limits hold together with probability ``confidence``.

    epsilon_low: the lower limit for epsilon at ``delta``, without any assumption on the mechanism;  score and epsilon:
        the data that it depends on (score's name; rule, counts, replicates tested).
    mu_low, mu_score, mu: likewise for mu: the code is not mu'-GDP for any mu' < mu_low.
    epsilon_low_if_gaussian: the epsilon of mu_low-GDP at ``delta``: a lower limit only if the code's privacy curve is
        Gaussian, which is assumed, not tested.
    claimed, claimed_mu: the claims that it is compared with, or None.
    verdict: ``violated`` when a lower limit exceeds its claim, else ``consistent`` (which proves nothing).
    reason: one sentence.  canary: its name.  replicates: the number of all replicates that were run.  seconds: of wall
    time.
    """

    epsilon_low: float
    delta: float
    score: str
    epsilon: EpsilonBound
    mu_low: float
    mu_score: str
    mu: MuBound
    epsilon_low_if_gaussian: float
    claimed: float | None
    claimed_mu: float | None
    verdict: str
    reason: str
    canary: str
    confidence: float
    replicates: int
    seed: int
    seconds: float


def audit(
    algorithm: Algorithm,
    canary: Canary,
    *,
    delta: float,
    rounds: int = 1,
    replicates: int = 400_000,
    seed: int = 0,
    confidence: float = 1.0 - 1e-6,
    claimed: float | None = None,
    claimed_mu: float | None = None,
    messages: Messages | None = None,
    rate: float = 1.0,
    pilot: float = 0.2,
    device: str | Engine = "cpu",
) -> AuditResult:
    """Lower limits for epsilon and mu of the running code, compared with the claims.

    algorithm: its hyper-parameters are numbers, not arrays with an entry for each replicate;  canary: the neighbouring
    data sets;  rounds: of each run, which starts at zero;  replicates: total number of runs. The first ``pilot`` of
    them, half with and half without the canary, chooses score and rule; the others draw their data set by a fair coin
    and test it. messages: how the server recovers what each client sent; None audits the third party's view. rate: the
    probability that the canary takes part in a round; it affects only the form of a score. claimed, claimed_mu: upper
    bounds from an accountant, epsilon at ``delta`` and mu.

    Error: the probability that epsilon_low or mu_low exceeds the truth is at most 1 - confidence, half for each. It
    depends on independent replicates, which the engine's addressed noise gives. An audit cannot detect a fault that
    makes replicates share their noise.

    Raises InputError for counts that are not whole, too few replicates, parameters outside their range, or a canary
    whose problems differ in size.

    >>> from dpfl_theory.simulation import Simulation
    >>> from dpfl_theory.algorithms import get
    >>> from dpfl_theory.audit import canary
    >>> run = get("dp-fedavg")(eta=0.5, beta=0.5, E=1, C=1.0, sigma=1.0)  # 3 clients: noise multiplier 3
    >>> found = audit(Simulation(run), canary(clients=3), delta=0.01, replicates=100_000, claimed=0.57)
    >>> found.verdict, 0.3 < found.epsilon_low < 0.57
    ('consistent', True)
    """
    require_integer("the number of rounds", rounds)
    require_integer("the number of replicates", replicates, minimum=1000)
    require_integer("the seed", seed, minimum=0)
    if not 0.0 <= delta < 1.0:
        raise InputError(f"delta is {delta}: it must lie in [0, 1)")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"the confidence is {confidence}: it must lie strictly between 0 and 1")
    if not 0.0 < pilot < 1.0 or round(0.5 * pilot * replicates) < 100 or (1.0 - pilot) * replicates < 100:
        raise InputError(
            f"the pilot has a share {pilot} of {replicates} replicates: the pilot and the test need at least 200 "
            "replicates each"
        )
    if seed >= 2**64 or replicates > 2**32 or rounds > 2**32:
        raise InputError(
            "seed, replicate or round is too large: seeds stay below 2^64, replicates and rounds below 2^32"
        )
    for name, claim in (("epsilon", claimed), ("mu", claimed_mu)):
        if claim is not None and not claim >= 0.0:
            raise InputError(f"the claimed {name} is {claim}: give a number that is at least 0, or None")
    if not 0.0 < rate <= 1.0:
        raise InputError(f"the rate is {rate}: it must lie in (0, 1]")
    problems = canary.present, canary.absent
    if (problems[0].n, problems[0].d) != (problems[1].n, problems[1].d):
        raise InputError("the canary's problems differ in size: neighbouring data sets have the same clients")
    for problem in problems:
        algorithm.validate(problem, 1)
    started = time.perf_counter()
    engine = select(device) if isinstance(device, str) else device
    observer = Observer(algorithm, canary, rounds, seed, messages, engine)
    alpha = 0.5 * (1.0 - confidence)

    half = round(0.5 * pilot * replicates)
    tested = replicates - 2 * half
    one, zero = observer.collect(canary.present, 0, half), observer.collect(canary.absent, half, half)
    in_advance = fixed_scores(canary, rounds, 1 if messages is None else problems[0].n)
    scores: dict[str, Score] = {**in_advance, **fitted(in_advance, one, zero, rate, rounds)}
    by_epsilon: dict[str, tuple[float, Rule]] = {}
    by_mu: dict[str, tuple[float, Rule]] = {}
    for name, score in scores.items():
        a, b = np.sort(score(one)), np.sort(score(zero))
        by_epsilon[name] = choose_for_epsilon(a, b, delta, alpha, tested)
        by_mu[name] = choose_for_mu(a, b, alpha, tested)
    del one, zero
    i, j = (max(promised, key=lambda name: promised[name][0]) for promised in (by_epsilon, by_mu))
    rule, test = by_epsilon[i][1], by_mu[j][1]

    heads = int(np.random.default_rng([seed, replicates]).binomial(tested, 0.5))
    first = 2 * half
    says = np.zeros((2, 2), dtype=np.int64)  # arm (with, without) x guess (with, without)
    above = np.zeros(2, dtype=np.int64)
    for arm, (problem, begin, number) in enumerate(
        ((canary.present, first, heads), (canary.absent, first + heads, tested - heads))
    ):
        for batch in observer.batches(problem, begin, number):
            says[arm] += rule.guesses(scores[i](batch))
            above[arm] += test.guesses(scores[j](batch))[0]
    correct, wrong = int(says[0, 0] + says[1, 1]), int(says[0, 1] + says[1, 0])
    epsilon_low = float(epsilon_from_counts(correct, wrong, tested, delta, rule.sides, alpha))
    mu_low = float(mu_from_counts(above[0], heads, above[1], tested - heads, alpha))
    gaussian = gaussian_epsilon(mu_low, delta)
    verdict, reason = _verdict(epsilon_low, mu_low, delta, i, j, claimed, claimed_mu)
    return AuditResult(
        epsilon_low=epsilon_low,
        delta=delta,
        score=i,
        epsilon=EpsilonBound(epsilon_low, rule, correct, wrong, tested),
        mu_low=mu_low,
        mu_score=j,
        mu=MuBound(mu_low, test, int(above[0]), heads, int(above[1]), tested - heads),
        epsilon_low_if_gaussian=gaussian,
        claimed=claimed,
        claimed_mu=claimed_mu,
        verdict=verdict,
        reason=reason,
        canary=canary.name,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
        seconds=time.perf_counter() - started,
    )


def _verdict(
    epsilon: float, mu: float, delta: float, score: str, mu_score: str, claimed: float | None, claimed_mu: float | None
) -> tuple[str, str]:
    found = f"epsilon is at least {epsilon:.4g} at delta = {delta:g} ({score})"
    if claimed is not None and epsilon > claimed:
        return "violated", f"{found}, and {claimed:.4g} is claimed"
    if claimed_mu is not None and mu > claimed_mu:
        return "violated", f"the code is not {claimed_mu:.4g}-GDP as claimed: mu is at least {mu:.4g} ({mu_score})"
    if claimed is None and claimed_mu is None:
        return "consistent", f"{found}, and nothing is claimed"
    parts = [] if claimed is None else [f"{found}, within the claimed {claimed:.4g}"]
    if claimed_mu is not None:
        parts.append(f"mu is at least {mu:.4g} ({mu_score}), within the claimed {claimed_mu:.4g}")
    return "consistent", "; ".join(parts)
