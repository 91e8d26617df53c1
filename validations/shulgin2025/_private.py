"""The private setting of shulgin2025 Section 6.2: its problems, and the noise that hides a client."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from dpfl_theory import privacy
from dpfl_theory.problems import make
from dpfl_theory.problems.noble2022 import similarity_split
from dpfl_theory.simulation import FullGradient
from dpfl_theory.validation import Context

from . import _runs as runs
from . import _setting as setting

BETAS = (0.001, *setting.BETAS)
"""With noise one smaller beta is tried as well."""
EPSILON, DELTA = 8.0, 1e-5
"""The private setting's numbers are lost in the text: these are an assumption."""
ASSUMED = "the budget (8, 1e-5) and 100 clients are assumed, the paper's budget being lost and its workers 10"
"""The differences of the private setting from the paper's."""


def counts(context: Context) -> tuple[int, int]:
    """The numbers of replicates that measure a configuration and that tune its step, the same in all figures: they
    share runs."""
    return context.pick(full=12, paper=64), context.pick(full=2, paper=4, standard=1)


def steps(context: Context) -> list[float]:
    """The tuning grid; in the standard profile without its two largest steps, which no configuration is tuned to."""
    grid = runs.steps(context)
    return context.pick(full=grid, paper=grid, standard=grid[:-2])


@functools.cache
def tasks(seed: int) -> list[setting.Task]:
    """With noise: 100 clients, fewer features and full gradients. With 10 clients the noise that hides a client hides
    all differences on these problems."""
    split = similarity_split("digits", clients=100, percent=100.0, features=5, ridge=1e-3, test_share=0.1, seed=seed)
    quadratic = make("quadratic", clients=100, dimension=20, condition=10.0, heterogeneity=1.0, seed=seed)
    return [
        setting.Task("digits", "digits, softmax", split.train, split.test, FullGradient(), seed),
        setting.Task("quadratic", "heterogeneous quadratics", quadratic, None, FullGradient(), seed, 10.0),
    ]


def describe(context: Context, problems: Sequence[setting.Task], **more: Any) -> dict[str, Any]:
    """The configuration of a figure with noise, as plain data."""
    clients = problems[0].problem.n
    noise = sigma(clients)
    return {
        "rounds": setting.ROUNDS,
        "clients": clients,
        "beta": BETAS,
        "alpha": setting.ALPHA,
        "epsilon": EPSILON,
        "delta": DELTA,
        "noise": "certified for those who see sums over clients, zero-out; epsilon and delta are lost in the text and "
        "assumed",
        "noise multiplier of one message": noise,
        "epsilon for those who see every message": epsilon_if(clients, noise, "server"),
        "Section 5's noise with the constant 1": {
            "noise multiplier of one message": printed_sigma(),
            "epsilon for those who see sums": epsilon_if(clients, printed_sigma()),
            "epsilon for those who see every message": epsilon_if(clients, printed_sigma(), "server"),
        },
        "step grid": steps(context),
        "unit of beta, tau and alpha": "G_0, the mean length of the clients' gradients at the start",
        "unit of the step": "1/L_f, or G_0/L_f with server normalisation; chosen by the final training "
        "loss on separate replicates",
        "problems": {task.key: task.describe() for task in problems},
        "standard errors for a verdict": runs.SURE,
        **more,
    }


def sigma(clients: int) -> float:
    """The noise of one message, in units of its largest length, certified to give (EPSILON, DELTA) to a client (zero-
    out; every client in each round) against those who see only what the server adds up."""
    return privacy.calibrate(_mechanism(clients), epsilon=EPSILON, delta=DELTA, start=10.0 / clients**0.5)


def epsilon_if(clients: int, noise: float, view: str = "third-party") -> float:
    """The epsilon at DELTA that this noise gives."""
    mechanism = _mechanism(clients).with_(noise_multiplier=noise, view=view)
    return privacy.account(mechanism, delta=DELTA).epsilon.high


def _mechanism(clients: int) -> privacy.Mechanism:
    kind: Any = privacy.get("dp-norm-ec")
    made: privacy.Mechanism = kind(clients=clients, rounds=setting.ROUNDS, view="third-party")
    return made


def printed_sigma() -> float:
    """Section 5's sqrt(K log(1/delta))/epsilon, with the constant 1."""
    return math.sqrt(setting.ROUNDS * math.log(1.0 / DELTA)) / EPSILON
