"""The setting of shulgin2025 Section 6 and Appendix I on convex problems, shared by the scripts of its figures.

The paper trains ResNet20 on CIFAR-10 with 10 workers for 300 rounds. Here: softmax regression on the bundled digits,
and heterogeneous quadratics. beta, tau and alpha have the unit of a gradient, and the paper does not report how long
its gradients are: the printed numbers are read as multiples of G_0, the mean length of the clients' gradients at the
start. Step sizes are multiples of 1/L_f, or of G_0/L_f where the server normalises, and are tuned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfl_theory import privacy
from dpfl_theory.algorithms import (
    DPSGD,
    Algorithm,
    FullGradient,
    Gradient,
    RecordGradient,
    SmoothedNormalise,
    alpha_norm_ec,
    clip21,
    simulate,
)
from dpfl_theory.algorithms.hyperparameters import plain
from dpfl_theory.algorithms.metrics import accuracy
from dpfl_theory.algorithms.observables import Observable
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems import make
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.noble2022 import similarity_split
from dpfl_theory.report import style
from dpfl_theory.validation import Context

ROUNDS = 300
BETAS = (0.01, 0.1, 1.0, 10.0)
PRIVATE_BETAS = (0.001, *BETAS)
"""With noise one smaller beta is tried as well."""
ALPHAS = (0.01, 0.1, 1.0, 10.0)
ALPHA = 0.01
"""The alpha of Figures 3 to 6: the number is lost in the text; Section 6.1 says it is the one of Bu et al. (2024)."""
EPSILON, DELTA = 8.0, 1e-5
"""The private setting's numbers are lost in the text: these are an assumption."""
EVERY = 5
FLOOR = -6.0
"""log10 of the relative suboptimality below which a problem counts as solved: what lies below is set to it."""
SURE = 5.0
"""Standard errors that a paired mean must be from 0: one false alarm in about 10^4 with 16 lanes."""

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


def steps(context: Context) -> list[float]:
    """The tuning grid, in the natural unit of the step size."""
    return [float(s) for s in np.geomspace(1e-3, 10**1.5, context.pick(quick=10, full=19))]


@dataclass(frozen=True, eq=False)
class Task:
    """A problem with its start and what the clients compute in a round.

    radius: a lane starts this far from w*, in a direction of its own; None for the origin in every lane.
    """

    key: str
    title: str
    problem: Problem
    test: LinearData | None
    gradient: Gradient
    seed: int
    radius: float | None = None

    def starts(self, lanes: int, first: int) -> Array:
        """The starting points of lanes first, first + 1, ..., (lanes, d)."""
        if self.radius is None:
            return np.zeros((lanes, self.problem.d))
        w_star = self.problem.constants.w_star
        assert w_star is not None
        found = [np.random.default_rng([self.seed, 7, first + i]).standard_normal(self.problem.d) for i in range(lanes)]
        return np.stack([w_star + self.radius * v / np.linalg.norm(v) for v in found])

    @cached_property
    def scale(self) -> float:
        """G_0: the mean length of the clients' gradients at the start of lane 0 [F/X]."""
        return float(np.mean([np.linalg.norm(g) for g in self.gradients(self.starts(1, 0)[0])]))

    def gradients(self, w: Array) -> Array:
        """All clients' gradients at w, (n, d)."""
        return np.stack([self.problem.client_gradient(i, w) for i in range(self.problem.n)])

    def describe(self) -> dict[str, Any]:
        """What was solved, as plain data."""
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
            else f"{self.radius:g} from w*, in a random direction in each lane",
            **self.gradient.describe(),
        }


def tasks(seed: int) -> list[Task]:
    """Without privacy: 10 workers, records shuffled over them, batches of 32 of 161 records as in the paper; and 10
    heterogeneous quadratics with full gradients."""
    split = similarity_split("digits", clients=10, percent=100.0, features=20, ridge=1e-3, test_share=0.1, seed=seed)
    quadratic = make("quadratic", clients=10, dimension=20, condition=10.0, heterogeneity=1.0, seed=seed)
    return [
        Task("digits", "digits, softmax", split.train, split.test, RecordGradient(share=0.2), seed),
        Task("quadratic", "heterogeneous quadratics", quadratic, None, FullGradient(), seed, 10.0),
    ]


def private_tasks(seed: int) -> list[Task]:
    """With noise: 100 clients, fewer features and full gradients. With 10 clients the noise that hides a client drowns
    what these problems have to say."""
    split = similarity_split("digits", clients=100, percent=100.0, features=5, ridge=1e-3, test_share=0.1, seed=seed)
    quadratic = make("quadratic", clients=100, dimension=20, condition=10.0, heterogeneity=1.0, seed=seed)
    return [
        Task("digits", "digits, softmax", split.train, split.test, FullGradient(), seed),
        Task("quadratic", "heterogeneous quadratics", quadratic, None, FullGradient(), seed, 10.0),
    ]


def private_setting(context: Context, problems: Sequence[Task], **more: Any) -> dict[str, Any]:
    """What a figure with noise was made with, as plain data."""
    clients = problems[0].problem.n
    noise = sigma(clients)
    return {
        "rounds": ROUNDS,
        "clients": clients,
        "beta": PRIVATE_BETAS,
        "alpha": ALPHA,
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
        "unit of the step": "1/L_f, or G_0/L_f with server normalisation; chosen by the final training loss on lanes "
        "of its own",
        "problems": {task.key: task.describe() for task in problems},
        "standard errors for a verdict": SURE,
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
    made: privacy.Mechanism = kind(clients=clients, rounds=ROUNDS, view="third-party")
    return made


def printed_sigma() -> float:
    """Section 5's sqrt(K log(1/delta))/epsilon, with the constant 1."""
    return math.sqrt(ROUNDS * math.log(1.0 / DELTA)) / EPSILON


def algorithm(task: Task, method: str, beta: Any, alpha: Any, step: Any, noise: float = 0.0) -> Algorithm:
    """The method with beta (or tau) and alpha in units of G_0, the step in its natural unit, and the noise in units of
    the message's largest length; numbers, or one for each lane."""
    scale, L = task.scale, task.problem.constants.L_f
    beta, alpha, gamma = (np.asarray(x, dtype=float) for x in (beta, alpha, step))
    tau, smoothing = plain(beta * scale), plain(alpha * scale)
    if method == "clip21":
        return clip21(plain(gamma / L), tau, sigma=plain(noise * beta * scale), gradient=task.gradient)
    if method == "dp-sgd":  # beta times the normalised gradient: beta only stretches the step
        spread = noise / task.problem.n**0.5
        return DPSGD(plain(gamma * beta * scale / L), SmoothedNormalise(smoothing), spread, gradient=task.gradient)
    server = method == "ec-server"
    natural = scale if server else 1.0
    return alpha_norm_ec(plain(gamma * natural / L), smoothing, tau, server, sigma=noise, gradient=task.gradient)


@dataclass(frozen=True)
class Config:
    """One line of a figure before its step size is tuned; beta and alpha in units of G_0."""

    method: str
    beta: float
    alpha: float


@dataclass(frozen=True)
class Tuning:
    """Scores of one configuration over the grid of steps, means over lanes of log10 of f(x_k) - f* over f(x_0) - f*, no
    lower than FLOOR, +inf where a run overflows: ``final`` after the last round, ``average`` over the rounds."""

    config: Config
    grid: Sequence[float]
    final: list[float]
    average: list[float]

    @property
    def step(self) -> float:
        """The step with the lowest final value."""
        return float(self.grid[int(np.argmin(self.final))])

    @property
    def fast(self) -> float:
        """The step with the lowest average."""
        return float(self.grid[int(np.argmin(self.average))])


def tune(
    context: Context,
    task: Task,
    configs: Sequence[Config],
    grid: Sequence[float],
    lanes: int,
    noise: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> list[Tuning]:
    """Every configuration with every step, on lanes that no measurement uses."""
    found: dict[Config, Tuning] = {}
    names = sorted({c.method for c in configs})
    for part, method in enumerate(names):
        own = [c for c in configs if c.method == method]
        cells = [(c.beta, c.alpha, s) for c in own for s in grid for _ in range(lanes)]
        beta, alpha, step = (np.array(column) for column in zip(*cells))

        def tell(share: float, at: int = part) -> None:
            if progress is not None:
                progress((at + share) / len(names))

        with np.errstate(over="ignore", invalid="ignore"):
            run = simulate(
                algorithm(task, method, beta, alpha, step, noise),
                task.problem,
                ROUNDS,
                len(cells),
                seed=2 * context.seed,
                start=np.tile(task.starts(lanes, 0), (len(own) * len(grid), 1)),
                series=True,
                every=4 * EVERY,
                device=context.device,
                progress=tell,
            )
            series = run["suboptimality"].every_round
            logs = _logs(series, series[0]).reshape(len(series), len(own), len(grid), lanes).mean(axis=3)
        for i, config in enumerate(own):
            found[config] = Tuning(config, grid, logs[-1, i].tolist(), logs[:, i].mean(axis=0).tolist())
    return [found[c] for c in configs]


def _logs(values: Array, first: Array) -> Array:
    """log10 of values/first, no lower than FLOOR; what is not finite counts as +inf."""
    ratio = np.where(np.isfinite(values), values, np.inf) / first
    return np.asarray(np.log10(np.maximum(ratio, 10.0**FLOOR)))


def measure(
    context: Context, task: Task, config: Config, step: float, lanes: int, noise: float = 0.0, first: int = 1000
) -> dict[str, Any]:
    """A configuration at one step on fresh lanes: log10 of the relative suboptimality by observed round and lane, and
    the final test accuracy of each lane. All configurations of a task share start, batches and noise lane by lane."""
    observe: list[str | Observable] = ["suboptimality"]
    if task.test is not None:
        observe.append(accuracy(task.test))
    with np.errstate(over="ignore", invalid="ignore"):
        run = simulate(
            algorithm(task, config.method, config.beta, config.alpha, step, noise),
            task.problem,
            ROUNDS,
            lanes,
            seed=2 * context.seed + 1,
            observe=observe,
            start=task.starts(lanes, first),
            series=True,
            every=EVERY,
            device=context.device,
        )
        series = run["suboptimality"].every_round
        logs = _logs(series, series[0])
    return {"logs": logs, "accuracy": run["test-accuracy"].last if task.test is not None else None}


def summary(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a measurement: mean and standard error of the final value, and the curve with its range."""
    logs = measured["logs"]
    out = {
        "curve": rounded(logs.mean(axis=1)),
        "low": rounded(np.quantile(logs, 0.1, axis=1)),
        "high": rounded(np.quantile(logs, 0.9, axis=1)),
        "final": float(logs[-1].mean()),
        "error": standard_error(logs[-1]),
    }
    if measured["accuracy"] is not None:
        out |= {
            "accuracy": float(measured["accuracy"].mean()),
            "accuracy_error": standard_error(measured["accuracy"]),
        }
    return out


OBSERVED = [*range(0, ROUNDS, EVERY), ROUNDS]
"""The rounds of a curve."""


def standard_error(x: Array) -> float:
    """Of the mean over lanes."""
    return float(np.std(x, ddof=1) / len(x) ** 0.5)


def paired(lower: Array, higher: Array) -> float:
    """How many standard errors the mean over lanes of ``higher - lower`` is above 0."""
    difference = np.asarray(higher) - np.asarray(lower)
    if not np.isfinite(difference).all():
        return math.copysign(math.inf, float(np.nan_to_num(difference).mean()))
    spread = standard_error(difference)
    mean = float(difference.mean())
    return mean / spread if spread > 0.0 else math.copysign(math.inf, mean) if mean else 0.0


def verdict(scores: Sequence[float]) -> str:
    """Of "all of these are above 0", each given in standard errors."""
    if any(z < -SURE for z in scores):
        return "not-reproduced"
    return "reproduced" if all(z > SURE for z in scores) else "inconclusive"


def rounded(values: Any, digits: int = 4) -> list[float]:
    """A list of floats with that many significant digits, to keep the data files readable."""
    return [float(f"{v:.{digits}g}") for v in values]
