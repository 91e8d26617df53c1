"""DP-SCAFFOLD of noble2022: softmax, each local step a share of a user's records, each record's gradient clipped.

The sizes are those of its synthetic data (10 classes, 40 features and a bias), with a fifth of the users in a round
and a fifth of the records in a step. The idea: the gradient of a record is an outer product, so its length is that of
the residual times that of the record (and a term from the logits for the ridge); no such gradient is formed.

Without noise cohorts and subsets are the package's own, read by address; the private runs draw them themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.harness import ENGINE, Array, Case, Contestant, load_jax, ours
from dpfl_theory.algorithms.record_level import DPScaffold
from dpfl_theory.kernels.engine import Replicates
from dpfl_theory.problems.linear_model import LinearModel
from dpfl_theory.problems.noble2022 import synthetic_split
from dpfl_theory.simulation import Cohort, Simulation
from dpfl_theory.simulation.base import Context

__all__ = ["Setting", "by_formula", "numpy_batched", "setting_of"]


@dataclass(frozen=True)
class Size:
    """Users, records of each (a fifth is held out), features, classes, local steps, replicates and rounds."""

    users: int = 100
    records: int = 1000
    features: int = 40
    classes: int = 10
    local_steps: int = 10
    replicates: int = 16
    rounds: int = 20


SIZES = {
    "full": Size(),
    "quick": Size(users=40, records=250, replicates=8),
    "tiny": Size(5, 25, 4, 3, 2, 3, 6),
}
SHARE, THRESHOLD, STEP = 0.2, 0.5, 0.2  # s and l; C; eta_0, of which a local step is eta_0/(sK)


@dataclass(frozen=True, eq=False)
class Setting:
    """A problem of users with R records each, l M = A users in a round, b = s R records in a step."""

    problem: LinearModel
    start: Array
    local_steps: int
    step: float
    noise_multiplier: float

    @cached_property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """M, R, A, b and the number of classes."""
        M, data = self.problem.n, self.problem.data
        R = len(data.y) // M
        return M, R, round(SHARE * M), int(SHARE * R + 1e-9), data.classes

    @cached_property
    def records(self) -> tuple[Array, Any]:
        """x (M, R, features) and labels (M, R)."""
        data = self.problem.data
        M, R = self.sizes[:2]
        return data.x.reshape(M, R, -1), data.y.reshape(M, R).astype(np.int64)

    def algorithm(self, private: bool) -> Simulation:
        """The package's algorithm."""
        noise = self.noise_multiplier if private else 0.0
        run = DPScaffold(eta_l=self.step, eta_g=1.0, K=self.local_steps, C=THRESHOLD, s=SHARE, sigma_g=noise)
        return Simulation(run, Cohort("fixed", self.sizes[2]))

    def given(self, rounds: int) -> tuple[Any, Any]:
        """The package's cohorts (rounds, A, S) and subsets (rounds, K, A, S, b), with seed 0."""
        M, R, A, b, _ = self.sizes
        S = len(self.start)
        context = Context(
            ENGINE,
            self.problem,
            self.problem.kernels(ENGINE),
            Replicates(0, 0, S),
            slice(0, S),
            ENGINE.asarray(self.start),
        )
        members = [Cohort("fixed", A).members(context, k) for k in range(rounds)]
        sizes, counts = np.full(M, R), np.full(M, b)
        chosen = [
            [ENGINE.subsets(context.replicates, k, members[k], sizes, counts, q) for q in range(self.local_steps)]
            for k in range(rounds)
        ]
        return np.array(members), np.array(chosen)


def setting_of(s: Size) -> Setting:
    """The problem of D.2 with alpha = beta = 1, a starting point for each replicate, and hyper-parameters."""
    problem = synthetic_split(
        clients=s.users, records=s.records, features=s.features, classes=s.classes, alpha=1.0, beta=1.0, seed=0
    ).train
    start = 0.1 * np.random.default_rng(1).standard_normal((s.replicates, problem.d))
    R = len(problem.data.y) // s.users
    return Setting(problem, start, s.local_steps, STEP / (SHARE * s.local_steps), 60.0 * R / 5000)


def build(size: str, jax: bool) -> list[Case]:
    """One table."""
    s = SIZES[size]
    setting = setting_of(s)
    problem, start = setting.problem, setting.start
    _, R, A, b, classes = setting.sizes
    flops = 4.0 * s.replicates * s.local_steps * A * b * problem.d
    contestants = [
        ours(setting.algorithm, problem, start, flops),
        numpy_batched("NumPy, lengths by formula", setting, by_formula, flops),
        numpy_batched("NumPy, gradients formed", setting, formed, flops),
    ]
    if jax:
        from benchmarks.scaffold_jax import contestants as in_jax

        contestants += in_jax(setting, THRESHOLD, load_jax(), flops)
    return [
        Case(
            "DP-SCAFFOLD with per-record clipping",
            f"M = {s.users} users, {A} of them in a round, {b} of {R} records in a step, {classes} classes, "
            f"{problem.d // classes} features, K = {s.local_steps}, {s.replicates} replicates, {s.rounds} rounds",
            start,
            s.rounds,
            contestants,
            "4 S K A b d",
            (classes, problem.d // classes, b),
        )
    ]


def _residuals(x: Array, y: Any, w: Array) -> tuple[Array, Array]:
    """Logits and softmax less the label, (A, S, b, classes), of records x (A, S, b, features)."""
    z = x @ w.transpose(0, 1, 3, 2)
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    np.put_along_axis(p, y[..., None], np.take_along_axis(p, y[..., None], -1) - 1.0, -1)
    return z, p


def by_formula(x: Array, y: Any, w: Array, ridge: float) -> Array:
    """Sums of clipped gradients (A, S, classes, features) by the idea above."""
    z, p = _residuals(x, y, w)
    steep, along = (p * p).sum(axis=-1), (p * z).sum(axis=-1)
    square = (w * w).sum(axis=(2, 3))[..., None]
    length = np.sqrt(steep * np.einsum("asbf,asbf->asb", x, x) + 2.0 * ridge * along + ridge**2 * square)
    factor = np.minimum(1.0, THRESHOLD / length)
    p *= factor[..., None]
    return np.asarray(p.transpose(0, 1, 3, 2) @ x + ridge * factor.sum(axis=-1)[..., None, None] * w)


def formed(x: Array, y: Any, w: Array, ridge: float) -> Array:
    """The same with every record's gradient formed, for one user and replicate at a time, or memory would not do."""
    out = np.empty_like(w)
    _, p = _residuals(x, y, w)
    for a, s in np.ndindex(w.shape[:2]):
        g = p[a, s][:, :, None] * x[a, s][:, None, :] + ridge * w[a, s]
        lengths = np.sqrt((g * g).sum(axis=(1, 2)))
        out[a, s] = (g * np.minimum(1.0, THRESHOLD / lengths)[:, None, None]).sum(axis=0)
    return out


def numpy_batched(
    name: str, setting: Setting, sums: Callable[[Array, Any, Array, float], Array], flops: float
) -> Contestant:
    """NumPy, all users of a round and all replicates at a time."""
    (M, R, A, b, classes), K, eta = setting.sizes, setting.local_steps, setting.step
    (x, y), ridge, S = setting.records, setting.problem.data.ridge, len(setting.start)
    replicate = np.arange(S)

    def run(rounds: int, private: bool) -> Array:
        rng = np.random.Generator(np.random.SFC64(0))
        cohorts, subsets = setting.given(0 if private else rounds)
        w = setting.start.reshape(S, classes, -1)
        c, c_i = np.zeros_like(w), np.zeros((M, *w.shape))
        for k in range(rounds):
            members = rng.random((M, S)).argpartition(A, axis=0)[:A] if private else cohorts[k]
            old = c_i[members, replicate]
            local = np.repeat(w[None], A, axis=0)
            for q in range(K):
                drawn = rng.random((A, S, R)).argpartition(b, axis=2)[:, :, :b] if private else subsets[k, q]
                rows = members[..., None], drawn
                total = sums(x[rows], y[rows], local, ridge)
                if private:
                    total += 2.0 * THRESHOLD * setting.noise_multiplier * rng.standard_normal(total.shape)
                local = local - eta * (total / (SHARE * R) - old + c)
            new = old - c + (w - local) / (K * eta)
            w = w + (local - w).mean(axis=0)
            c = c + (new - old).sum(axis=0) / M
            c_i[members, replicate] = new
        return w.reshape(S, -1)

    return Contestant(name, run, flops)
