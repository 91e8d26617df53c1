"""Planted faults in the algorithms' privacy: an audit must expose each.

Its lower limit for epsilon or mu then exceeds the claim for the faultless code. A fault changes the source text of a
description, of batched simulations or of what these call, while the audit runs. The faultless code, audited with the
same seeds, exceeds no claim. The probability that it did by chance is at most 1e-5 for all of its audits together. The
end of the test run prints a table of the audits that exposed each fault.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mutants.planting import plant

from dpfl_theory.audit.registry import AUDITS
from dpfl_theory.kernels.array import ArrayEngine

FAMILY_ALPHA = 1e-5
DELTA, REPLICATES = 1e-3, 50_000
DELTA_OF_SAMPLING, REPLICATES_OF_SAMPLING = 1e-2, 200_000  # harder to detect than a lack of noise

OPERATIONS, COHORT, AVERAGING = "simulation.operations", "simulation.cohort", "algorithms.averaging"
FEDAVG, SCAFFNEW = "algorithms.fedavg", "algorithms.scaffnew"
CLIP, CLIENT, REPLACE = "dp-fedavg, server noise", "dp-fedavg, client noise", "dp-fedavg, replace"
ROUNDS, ROUNDS_CLIENT = "dp-fedavg, 3 rounds", "dp-normfedavg, client noise, 2 rounds"
NORMALISE, NORMALISE_CLIENT = "dp-normfedavg, server noise", "dp-normfedavg, client noise"
POISSON, POISSON_ROUNDS = "dp-fedavg, Poisson", "dp-fedavg, Poisson, 3 rounds"
THIRD, COIN, SERVER = "dp-scaffnew, third party", "dp-scaffnew, server, coin", "dp-scaffnew, server, 2 rounds"

DRAWN, WHOSE = "deviation * (normals if for_each else normals[0])", "self._context.replicates, self._k, clients"
BOUND, STRETCH = "o.clip(u, self.threshold)", "o.stretch(u, self.threshold)"
ON_AVERAGE, ON_MESSAGE, OWN = "a.deviation(o)", "self.deviation(o) * o.expected**0.5", "o.gaussian(self.sigma, i)"
FIRST, NOT_LAST = "(self._xp.arange(self.d) == 0)", "(self._xp.arange(self.d) < self.d - 1)"
ONE = "(self._xp.arange(clients) == 1)[:, None, None]"
Fault = tuple[str, str, str, str, str]
"""Name, module, source text, its replacement, and the audit that exposes it."""


def each(drawn: str) -> str:
    """Other noise of single clients."""
    return f"deviation * ({drawn} if for_each else normals[0])"


COORDINATES: list[Fault] = [
    ("noise on the first coordinate only", OPERATIONS, DRAWN, f"{DRAWN} * {FIRST}", CLIP),
    ("no noise on the last coordinate", OPERATIONS, DRAWN, f"{DRAWN} * {NOT_LAST}", ROUNDS),
    ("one noise for all coordinates", OPERATIONS, DRAWN, f"({DRAWN})[:, :1]", NORMALISE),
    ("no noise on the last coordinate of messages", OPERATIONS, DRAWN, each(f"normals * {NOT_LAST}"), THIRD),
    ("one noise for all coordinates of a message", OPERATIONS, DRAWN, each("normals[:, :, :1] + 0.0 * normals"), COIN),
]
SENSITIVITY: list[Fault] = [
    ("clipped at 2C", FEDAVG, BOUND, "o.clip(u, 2.0 * self.threshold)", CLIP),
    ("normalised to 2C", FEDAVG, STRETCH, "o.stretch(u, 2.0 * self.threshold)", NORMALISE),
    ("clipped at E C", FEDAVG, BOUND, "o.clip(u, self.local_steps * self.threshold)", ROUNDS),
    ("noise for C/2", FEDAVG, ON_MESSAGE, f"0.5 * {ON_MESSAGE}", CLIENT),
    ("noise for zero-out under replace", FEDAVG, ON_AVERAGE, f"0.5 * {ON_AVERAGE}", REPLACE),
    ("sum for mean", AVERAGING, "total / self.divisor(o, members)", "total", NORMALISE),
    ("clipping forgotten", FEDAVG, BOUND, "u", CLIP),
    ("clipping forgotten, 3 rounds", FEDAVG, BOUND, "u", ROUNDS),
    ("clipped at 2C", SCAFFNEW, BOUND, "o.clip(u, 2.0 * self.threshold)", THIRD),
    ("clipped per coordinate", SCAFFNEW, BOUND, "u.clip(-1.0, 1.0)", THIRD),
    ("clipping forgotten", SCAFFNEW, BOUND, "u", THIRD),
]
NOISE: list[Fault] = [
    ("noise forgotten", OPERATIONS, DRAWN, f"0.0 * {DRAWN}", POISSON),
    ("noise forgotten in round 1", OPERATIONS, DRAWN, f"(self._k != 1) * {DRAWN}", ROUNDS),
    ("noise in round 0 only", OPERATIONS, DRAWN, f"(self._k == 0) * {DRAWN}", POISSON_ROUNDS),
    ("noise reused between rounds", OPERATIONS, WHOSE, "self._context.replicates, 0, clients", ROUNDS),
    ("reused in pairs of rounds", OPERATIONS, WHOSE, "self._context.replicates, self._k // 2, clients", ROUNDS),
    ("noise reused by clients", OPERATIONS, WHOSE, "self._context.replicates, 0, clients", ROUNDS_CLIENT),
    ("deviation too small by sqrt(r)", FEDAVG, ON_AVERAGE, f"{ON_AVERAGE} / o.expected**0.5", CLIP),
    ("clients' deviation without sqrt(r)", FEDAVG, ON_MESSAGE, "self.deviation(o)", CLIENT),
    ("and normalised", FEDAVG, ON_MESSAGE, "self.deviation(o)", NORMALISE_CLIENT),
    ("variance for deviation", FEDAVG, ON_AVERAGE, f"{ON_AVERAGE} ** 2", CLIP),
    ("noise reused between clients", OPERATIONS, WHOSE, "self._context.replicates, self._k, 1", SERVER),
    ("noise reused between clients, coin", OPERATIONS, WHOSE, "self._context.replicates, self._k, 1", COIN),
    ("noise of messages reused between rounds", OPERATIONS, WHOSE, "self._context.replicates, 0, clients", SERVER),
    (
        "noise of one client only",
        OPERATIONS,
        DRAWN,
        each(f"normals * {ONE}"),
        COIN,
    ),
    ("noise of messages forgotten in round 1", OPERATIONS, DRAWN, f"(self._k != 1) * {DRAWN}", COIN),
    ("clients' deviation over sqrt(n)", SCAFFNEW, OWN, "o.gaussian(self.sigma / o.n**0.5, i)", THIRD),
]
SAMPLING: list[Fault] = [
    ("everybody takes part", AVERAGING, "return o.cohort", "return o.everyone", POISSON),
    ("one cohort for all rounds", COHORT, "context.replicates, k, n,", "context.replicates, 0, n,", POISSON_ROUNDS),
    ("twice the rate r/n", COHORT, "u < self.divisor(n) / n", "u < 2.0 * self.divisor(n) / n", POISSON),
]

ENGINE, QUADRATIC = "kernels.array", "problems.quadratic"
LENGTHS, SPECTRAL = "xp.sqrt((updates * updates).sum(axis=2))", "lengths, bound = self.lengths, "
KERNELS: list[Fault] = [
    ("clipped by the largest coordinate", ENGINE, LENGTHS, "abs(updates).max(axis=2)", CLIP),
    ("normalised by the largest coordinate", ENGINE, LENGTHS, "abs(updates).max(axis=2)", NORMALISE),
    ("normalised by the squared norm", ENGINE, LENGTHS, "(updates * updates).sum(axis=2)", NORMALISE),
    ("normalised by the norm's root", ENGINE, LENGTHS, f"xp.sqrt({LENGTHS})", NORMALISE_CLIENT),
    ("short updates clipped", ENGINE, "norms > threshold[:, None]", "norms < threshold[:, None]", CLIP),
    ("normalised by the squared norm", QUADRATIC, SPECTRAL, "lengths, bound = self.lengths**2, ", NORMALISE),
    ("clipped by the norm's root", QUADRATIC, SPECTRAL, "lengths, bound = self.lengths**0.5, ", CLIP),
    ("short updates clipped", QUADRATIC, "(lengths > bound)", "(lengths < bound)", ROUNDS),
]
FAULTS = [*COORDINATES, *SENSITIVITY, *NOISE, *SAMPLING, *KERNELS]
SOUND = sorted({(fault[-1], fault[1] == ENGINE, fault in SAMPLING) for fault in FAULTS})
"""Name of the audit, whether on arrays, and whether with the settings for sampling."""


def name_of(fault: Fault) -> str:
    return f"{fault[1].partition('.')[2]}: {fault[0]}"


def exposures(name: str, on_arrays: bool, sampling: bool) -> list[str]:
    """The limits above a claim in the audit of that name: canary, score, limit and claim."""
    found = []
    for result in AUDITS[name].run(
        delta=DELTA_OF_SAMPLING if sampling else DELTA,
        replicates=REPLICATES_OF_SAMPLING if sampling else REPLICATES,
        seed=11,
        confidence=1.0 - FAMILY_ALPHA / len(SOUND),
        device=ArrayEngine(np, "array", "the engine of arrays") if on_arrays else "cpu",
    ):
        if result.verdict == "violated":
            by = (
                f"{result.score} {result.epsilon_low:.2f} > {result.claimed:.2f}"
                if result.epsilon_low > result.claimed
                else f"{result.mu_score} mu {result.mu_low:.2f} > {result.claimed_mu:.2f}"
            )
            found.append(f"{result.canary}: {by}")
    return found


@pytest.mark.exhaustive(keep=3)
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_fault_is_exposed(fault: Fault, record_property: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module, old, new, name = fault
    plant(monkeypatch, module, old, new)
    found = exposures(name, module == ENGINE, fault in SAMPLING)
    record_property("kill", (name_of(fault), f"{len(found)} of {len(AUDITS[name].pairs())}: {(found or ['-'])[-1]}"))
    assert found


@pytest.mark.exhaustive
@pytest.mark.parametrize("sound", SOUND, ids=str)
def test_what_is_sound_is_not_exposed(sound: tuple[str, bool, bool]) -> None:
    """Without a fault no claim is exceeded; so the tests above expose the fault itself."""
    assert exposures(*sound) == []


def test_names_of_faults_are_unique() -> None:
    names = [name_of(fault) for fault in FAULTS]
    assert len(names) == len(set(names))
