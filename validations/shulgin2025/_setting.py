"""The setting of shulgin2025 Section 6 and Appendix I on convex problems, shared by the scripts of its figures.

The paper trains ResNet20 on CIFAR-10 with 10 workers for 300 rounds. Here: softmax regression on the bundled digits,
and heterogeneous quadratics. beta, tau and alpha have the unit of a gradient, and the paper does not report the length
of its gradients. The printed numbers are read as multiples of G_0, the mean length of the clients' gradients at the
start. Step sizes are multiples of 1/L_f, or of G_0/L_f where the server normalises, and are tuned.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory.algorithms.error_feedback import Clip21, DPNormSGD, ErrorFeedback, NormEC
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.noble2022 import similarity_split
from dpfl_theory.simulation import (
    Algorithm,
    FullGradient,
    Gradient,
    RecordGradient,
    Simulation,
)
from dpfl_theory.simulation.hyperparameters import to_json
from dpfl_theory.validation import style

DIFFERS = (
    "softmax regression on digits and heterogeneous quadratics in place of ResNet20 on CIFAR-10; the loss in place of "
    "the test accuracy; beta and alpha in units of the first gradients' length"
)
"""The differences of the experiments here from the paper's."""
ROUNDS = 300
BETAS = (0.01, 0.1, 1.0, 10.0)
ALPHAS = (0.01, 0.1, 1.0, 10.0)
ALPHA = 0.01
"""The alpha of Figures 3 to 6: the number is lost in the text; Section 6.1 says it is the one of Bu et al. (2024)."""

METHODS = {
    "ec": r"$\alpha$-NormEC",
    "ec-server": r"$\alpha$-NormEC, server normalises",
    "clip21": "Clip21",
    "dp-sgd": r"DP-SGD, smoothed normalisation",
}
COLOURS = {
    "ec": style.NORMALISE,
    "ec-server": style.PALETTE[3],
    "clip21": style.CLIP,
    "dp-sgd": style.PALETTE[2],
}


@dataclass(frozen=True, eq=False)
class Task:
    """A problem with its start and the clients' computation in a round.

    radius: a replicate starts at this distance from w*, in its own direction; None for the origin in every replicate.
    """

    key: str
    title: str
    problem: Problem
    test: LinearData | None
    gradient: Gradient
    seed: int
    radius: float | None = None

    def starts(self, replicates: int, first: int) -> Array:
        """The starting points of replicates first, first + 1, ..., (replicates, d)."""
        if self.radius is None:
            return np.zeros((replicates, self.problem.d))
        w_star = self.problem.constants.w_star
        assert w_star is not None
        found = [
            np.random.default_rng([self.seed, 7, first + i]).standard_normal(self.problem.d) for i in range(replicates)
        ]
        return np.stack([w_star + self.radius * v / np.linalg.norm(v) for v in found])

    @cached_property
    def scale(self) -> float:
        """G_0: the mean length of the clients' gradients at the start of replicate 0 [F/X]."""
        return float(np.mean([np.linalg.norm(g) for g in self.gradients(self.starts(1, 0)[0])]))

    @cached_property
    def gap(self) -> float:
        """f(x^0) - f* at the start of replicate 0 [F]."""
        return self.problem.value(self.starts(1, 0)[0]) - self.problem.constants.f_star

    def gradients(self, w: Array) -> Array:
        """All clients' gradients at w, (n, d)."""
        return np.stack([self.problem.client_gradient(i, w) for i in range(self.problem.n)])

    def describe(self) -> dict[str, Any]:
        """The solved problem, as plain data."""
        c = self.problem.constants
        return {
            "problem": self.problem.name,
            "clients": self.problem.n,
            "dimension": self.problem.d,
            "G_0": self.scale,
            "L_f": c.L_f,
            "L_max": c.L_max,
            "start": "origin"
            if self.radius is None
            else f"{self.radius:g} from w*, in a random direction in each replicate",
            **self.gradient.describe(),
        }


@functools.cache
def tasks(seed: int) -> list[Task]:
    """Without privacy: 10 workers, records shuffled over them, batches of 32 of 161 records as in the paper; and 10
    heterogeneous quadratics with full gradients."""
    split = similarity_split("digits", clients=10, percent=100.0, features=20, ridge=1e-3, test_share=0.1, seed=seed)
    quadratic = make("quadratic", clients=10, dimension=20, condition=10.0, heterogeneity=1.0, seed=seed)
    return [
        Task("digits", "digits, softmax", split.train, split.test, RecordGradient(share=0.2), seed),
        Task("quadratic", "heterogeneous quadratics", quadratic, None, FullGradient(), seed, 10.0),
    ]


def algorithm(task: Task, method: str, beta: Any, alpha: Any, step: Any, noise: float = 0.0) -> Algorithm:
    """The method with beta (or tau) and alpha in units of G_0, and the step in its natural unit. The noise is in units
    of the message's largest length; numbers, or one for each replicate."""
    scale, L = task.scale, task.problem.constants.L_f
    beta, alpha, gamma = (np.asarray(x, dtype=float) for x in (beta, alpha, step))
    tau, smoothing = to_json(beta * scale), to_json(alpha * scale)
    if method == "clip21":
        clipped = Clip21(gamma=to_json(gamma / L), tau=tau, sigma=to_json(noise * beta * scale))
        return Simulation(clipped, gradient=task.gradient)
    if method == "dp-sgd":  # beta times the normalised gradient: beta only scales the step
        spread = noise / task.problem.n**0.5
        plain = DPNormSGD(gamma=to_json(gamma * beta * scale / L), alpha=smoothing, sigma=spread)
        return Simulation(plain, gradient=task.gradient)
    server = method == "ec-server"
    natural = scale if server else 1.0
    run = NormEC(gamma=to_json(gamma * natural / L), alpha=smoothing, beta=tau, sigma=noise)
    return Simulation(run if server else run.replaced(direction=ErrorFeedback.direction), gradient=task.gradient)
