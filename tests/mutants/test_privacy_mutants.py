"""Planted faults in the algorithms' privacy: an audit must expose each.

Its lower limit for epsilon or mu then exceeds the claim for the faultless code. A fault is a change of the source text,
compiled outside of the package. The faultless code, recompiled the same way and audited with the same seeds, exceeds no
claim. The probability that it did by chance is at most 1e-5 for all of its audits together. The end of the test run
prints a table of the audits that exposed each fault.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mutants.planting import mutated
from mutants.test_algorithm_mutants import with_kernels

from dpfl_theory.privacy.audit import audit
from dpfl_theory.privacy.audit.registry import audits
from dpfl_theory.problems.base import Problem

FAMILY_ALPHA = 1e-5
DELTA, REPLICATES = 1e-3, 50_000
DELTA_OF_SAMPLING, REPLICATES_OF_SAMPLING = 1e-2, 200_000  # harder to detect than a lack of noise

FEDAVG, SCAFFNEW = ("algorithms.fedavg", "FedAvg"), ("algorithms.scaffnew", "ScaffNew")
COHORT = "algorithms.cohort", "Cohort"
CLIP, CLIENT, REPLACE = "FedAvg, clip, average", "FedAvg, clip, client", "FedAvg, clip, replace"
ROUNDS, ROUNDS_CLIENT = "FedAvg, clip, 3 rounds", "FedAvg, normalise, client, 2 rounds"
NORMALISE, NORMALISE_CLIENT = "FedAvg, normalise, average", "FedAvg, normalise, client"
POISSON, POISSON_ROUNDS = "FedAvg, clip, Poisson", "FedAvg, clip, Poisson, 3 rounds"
THIRD, COIN, SERVER = "ScaffNew, third party", "ScaffNew, server, coin", "ScaffNew, server, 2 rounds"

SIGMA, COUNT = "context.per_replicate(self.sigma)", "cohort.sum(axis=1)"
BOUNDED = "self.bounding.combined(context, phase, cohort / r)"
LEVEL = "phase.bounded_combine(cohort / r, {} * self.bounding.level(context), {})"
DRAWN, NORMAL = "SERVER_NOISE)[0]", "engine.normal(context.replicates, k, n, d, NOISE, where=coin)"
Fault = tuple[str, tuple[str, str], str, str, str]
"""Name, module and class, source text, its replacement, and the audit that exposes it."""

COORDINATES: list[Fault] = [
    ("noise on the first coordinate only", FEDAVG, DRAWN, f"{DRAWN} * (xp.arange(w.shape[1]) == 0)", CLIP),
    ("no noise on the last coordinate", FEDAVG, DRAWN, f"{DRAWN} * (xp.arange(w.shape[1]) < w.shape[1] - 1)", ROUNDS),
    ("one noise for all coordinates", FEDAVG, DRAWN, f"{DRAWN}[:, :1]", NORMALISE),
    ("no noise on the last coordinate", SCAFFNEW, NORMAL, f"{NORMAL} * (xp.arange(d) < d - 1)", THIRD),
    ("one noise for all coordinates", SCAFFNEW, NORMAL, f"{NORMAL}[:, :, :1]", COIN),
]  # fmt: skip
SENSITIVITY: list[Fault] = [
    ("clipped at 2C", FEDAVG, BOUNDED, LEVEL.format("2.0", False), CLIP),
    ("normalised to 2C", FEDAVG, BOUNDED, LEVEL.format("2.0", True), NORMALISE),
    ("clipped at E C", FEDAVG, BOUNDED, LEVEL.format("self.local_steps", False), ROUNDS),
    ("noise for C/2", FEDAVG, SIGMA, f"0.5 * {SIGMA}", CLIENT),
    ("noise for zero-out under replace", FEDAVG, SIGMA, f"0.5 * {SIGMA}", REPLACE),
    ("sum for mean", FEDAVG, "cohort / r)", "cohort)", NORMALISE),
    ("clipping forgotten", FEDAVG, BOUNDED, "phase.combine(cohort / r)", CLIP),
    ("clipping forgotten, 3 rounds", FEDAVG, BOUNDED, "phase.combine(cohort / r)", ROUNDS),
    ("clipped at 2C", SCAFFNEW, "Clip(self.threshold)", "Clip(2.0 * self.threshold)", THIRD),
    ("clipped per coordinate", SCAFFNEW, "Clip(self.threshold)(context, messages)", "messages.clip(-1.0, 1.0)", THIRD),
    ("clipping forgotten", SCAFFNEW, "self.threshold is not None:", "False:", THIRD),
]  # fmt: skip
NOISE: list[Fault] = [
    ("noise forgotten", FEDAVG, "noise = deviation", "noise = 0.0 * deviation", POISSON),
    ("noise forgotten in round 1", FEDAVG, "noise = deviation", "noise = (k != 1) * deviation", ROUNDS),
    ("noise in round 0 only", FEDAVG, "noise = deviation", "noise = (k == 0) * deviation", POISSON_ROUNDS),
    ("noise reused between rounds", FEDAVG, "normal(context.replicates, k, 1", "normal(context.replicates, 0, 1",
     ROUNDS),
    ("reused in pairs of rounds", FEDAVG, "normal(context.replicates, k, 1", "normal(context.replicates, k // 2, 1",
     ROUNDS),
    ("noise reused by clients", FEDAVG, "normal(context.replicates, k, 1", "normal(context.replicates, 0, 1",
     ROUNDS_CLIENT),
    ("deviation too small by sqrt(r)", FEDAVG, SIGMA, f"{SIGMA} / r**0.5", CLIP),
    ("clients' deviation without sqrt(r)", FEDAVG, f"xp.sqrt({COUNT} / r)", f"xp.sqrt({COUNT}) / r", CLIENT),
    ("and normalised", FEDAVG, f"xp.sqrt({COUNT} / r)", f"xp.sqrt({COUNT}) / r", NORMALISE_CLIENT),
    ("variance for deviation", FEDAVG, SIGMA, f"{SIGMA} ** 2", CLIP),
    ("noise reused between clients", SCAFFNEW, "context.replicates, k, n, d", "context.replicates, k, 1, d", SERVER),
    ("noise reused between clients, coin", SCAFFNEW, "context.replicates, k, n, d", "context.replicates, k, 1, d",
     COIN),
    ("noise reused between rounds", SCAFFNEW, "context.replicates, k, n, d", "context.replicates, 0, n, d", SERVER),
    ("noise of one client only", SCAFFNEW, NORMAL, f"{NORMAL} * (xp.arange(n) == 1)[:, None, None]", COIN),
    ("noise forgotten in round 1", SCAFFNEW, NORMAL, f"(k != 1) * {NORMAL}", COIN),
    ("clients' deviation over sqrt(n)", SCAFFNEW, SIGMA, f"({SIGMA} / np.sqrt(n))", THIRD),
]  # fmt: skip
SAMPLING: list[Fault] = [
    ("everybody takes part", FEDAVG, "cohort / r)", "xp.ones_like(cohort) / r)", POISSON),
    ("one cohort for all rounds", COHORT, "context.replicates, k, n,", "context.replicates, 0, n,", POISSON_ROUNDS),
    ("twice the rate r/n", COHORT, "u < self.divisor(n) / n", "u < 2.0 * self.divisor(n) / n", POISSON),
]  # fmt: skip

ENGINE, QUADRATIC = ("kernels.array", "ArrayEngine"), ("problems.quadratic_kernels", "QuadraticKernels")
LENGTHS, SPECTRAL = "xp.sqrt((updates * updates).sum(axis=2))", "norms, bound = self.norms, "
KERNELS: list[Fault] = [
    ("clipped by the largest coordinate", ENGINE, LENGTHS, "abs(updates).max(axis=2)", CLIP),
    ("normalised by the largest coordinate", ENGINE, LENGTHS, "abs(updates).max(axis=2)", NORMALISE),
    ("normalised by the squared norm", ENGINE, LENGTHS, "(updates * updates).sum(axis=2)", NORMALISE),
    ("normalised by the norm's root", ENGINE, LENGTHS, f"xp.sqrt({LENGTHS})", NORMALISE_CLIENT),
    ("short updates clipped", ENGINE, "norms > threshold[:, None]", "norms < threshold[:, None]", CLIP),
    ("normalised by the squared norm", QUADRATIC, SPECTRAL, "norms, bound = self.norms**2, ", NORMALISE),
    ("clipped by the norm's root", QUADRATIC, SPECTRAL, "norms, bound = self.norms**0.5, ", CLIP),
    ("short updates clipped", QUADRATIC, "(norms > bound)", "(norms < bound)", ROUNDS),
]  # fmt: skip
FAULTS = [*COORDINATES, *SENSITIVITY, *NOISE, *SAMPLING, *KERNELS]
SOUND: list[Fault] = [
    *(("nothing", FEDAVG if name.startswith("FedAvg") else SCAFFNEW, "return", "return", name)
      for name in sorted({fault[-1] for fault in FAULTS})),
    ("nothing", COHORT, "return", "return", POISSON),
    ("nothing", COHORT, "return", "return", POISSON_ROUNDS),
    ("nothing", ENGINE, "xp", "xp", NORMALISE),
    ("nothing", QUADRATIC, "return", "return", ROUNDS),
]  # fmt: skip


def name_of(fault: Fault) -> str:
    return f"{fault[1][1]}: {fault[0]}"


def exposures(
    name: str,
    delta: float,
    replicates: int,
    rebuild: Callable[[Any], Any] = lambda algorithm: algorithm,
    engine: Any = "cpu",
    wrap: Callable[[Problem], Problem] = lambda problem: problem,
) -> list[str]:
    """The limits above a claim in the audit of that name, run on other code: canary, score, limit and claim."""
    line = audits()[name]
    (claimed, claimed_mu), pairs = line.claimed(delta), line.pairs()
    found = []
    for pair in pairs:
        result = audit(
            rebuild(line.algorithm),
            dataclasses.replace(pair, present=wrap(pair.present), absent=wrap(pair.absent)),
            delta=delta,
            rounds=line.mechanism_with_rounds().rounds,
            replicates=replicates,
            seed=11,
            confidence=1.0 - FAMILY_ALPHA / (len(SOUND) * len(pairs)),
            claimed=claimed,
            claimed_mu=claimed_mu,
            messages=line.messages,
            rate=line.rate(),
            device=engine,
        )
        if result.verdict == "violated":
            by = (
                f"{result.score} {result.epsilon_low:.2f} > {result.claimed:.2f}"
                if result.epsilon_low > claimed
                else f"{result.mu_score} mu {result.mu_low:.2f} > {result.claimed_mu:.2f}"
            )
            found.append(f"{pair.name}: {by}")
    return found


def faulty_run(fault: Fault) -> list[str]:
    _, (module, cls), old, new, name = fault
    found = getattr(mutated(module, old, new), cls)
    size = (
        (DELTA_OF_SAMPLING, REPLICATES_OF_SAMPLING) if fault in SAMPLING or fault[1] == COHORT else (DELTA, REPLICATES)
    )
    if fault[1] == ENGINE:
        return exposures(name, *size, engine=found(np, "array", "with a fault"))
    if fault[1] == QUADRATIC:
        return exposures(name, *size, wrap=lambda problem: with_kernels(problem, found))
    if fault[1] == COHORT:
        return exposures(name, *size, lambda a: dataclasses.replace(a, cohort=found(a.cohort.scheme, a.cohort.size)))
    return exposures(name, *size, lambda a: found(**{f.name: getattr(a, f.name) for f in dataclasses.fields(a)}))


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_fault_is_exposed(fault: Fault, record_property: Any) -> None:
    found = faulty_run(fault)
    record_property(
        "kill", (name_of(fault), f"{len(found)} of {len(audits()[fault[-1]].pairs())}: {(found or ['-'])[-1]}")
    )
    assert found


@pytest.mark.exhaustive
@pytest.mark.parametrize("nothing", SOUND, ids=lambda f: f"{f[1][1]} {f[-1]}")
def test_what_is_sound_is_not_exposed(nothing: Fault) -> None:
    """Without a fault, the recompiled code exceeds no claim; so the tests above expose the fault itself."""
    assert faulty_run(nothing) == []


def test_names_of_faults_are_unique() -> None:
    names = [name_of(fault) for fault in FAULTS]
    assert len(names) == len(set(names))
