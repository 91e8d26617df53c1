"""Faults planted in the text of correct rounds, each as it stands in somebody's code."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["BUILT_IN", "CORRECT", "PLANTED", "Plant", "function_of"]

IMPLEMENTATIONS = Path(__file__).parent / "implementations"
BUILT_IN = {"built_in": {"eta_l": 0.05, "eta_g": 1.2, "Q": 4, "c": 0.5, "sigma": 0.3}}
"""Hyper-parameters of rounds that have them built in."""
CORRECT = {
    "clients_add_noise": "dp-fedavg",
    "server_adds_noise": "dp-fedavg",
    "built_in": "dp-fedavg-two-sided",
    "normalised": "dp-normfedavg",
    "scaffold": "scaffold",
    "scaffnew": "dp-scaffnew",
    "norm_ec": "dp-norm-ec",
    "clip21": "dp-clip21",
    "dp_scaffold": "dp-scaffold",
}
"""The rounds, and the algorithm of each."""


@dataclass(frozen=True)
class Plant:
    """A fault: in which round, what stands there, what is put there, and the name that it should get."""

    of: str
    old: str
    new: str
    named: str


def function_of(name: str, plant: Plant | None = None) -> Callable[..., Any]:
    """A round from its text, with the fault planted; the text is where tracebacks look for it."""
    text = (IMPLEMENTATIONS / f"{name}.py").read_text()
    file = f"{name}.py"
    if plant is not None:
        if plant.old not in text:
            raise ValueError(f"{name} has no {plant.old!r}")
        text, file = text.replace(plant.old, plant.new), f"{name}, {plant.named}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, file, "exec"), space)  # text of this repository
    found: Callable[..., Any] = space["round"]
    return found


A, B, T, N, S, W, M, F, D = CORRECT
PLANTED = (
    # DP-FedAvg, client by client
    Plant(A, "axis=0) / r", "axis=0) / len(cohort)", "sum and noise divided by |S| in place of r"),
    Plant(A, "axis=0) / r", "axis=0) / len(clients)", "sum and noise divided by n in place of r"),
    Plant(A, "np.sum(messages, axis=0) / r", "np.mean(messages, axis=0)", "sum and noise divided by |S| in place of r"),
    Plant(A, "noise_multiplier * C / np.sqrt(r)", "noise_multiplier", "sigma where the multiplier was meant"),
    Plant(A, "noise_multiplier * C / np.sqrt(r)", "noise_multiplier * C", "sqrt(r) too much noise"),
    Plant(A, "noise_multiplier * C / np.sqrt(r)", "noise_multiplier * C / r", "sqrt(r) too little noise"),
    Plant(A, "noise_multiplier * C / np.sqrt(r)", "noise_multiplier / np.sqrt(r)", "sensitivity beside the clip"),
    Plant(A, "C / np.sqrt(r), size", "C * np.sqrt(len(clients) / r), size", "sqrt(n) too much noise"),
    Plant(A, "size=w.shape)", "size=1)", "one number for all coordinates"),
    Plant(
        A,
        "noise_multiplier * C / np.sqrt(r)",
        "(noise_multiplier * C / np.sqrt(r)) ** 2",
        "variance in place of the standard deviation",
    ),
    Plant(A, "clip(update, C) + noise", "clip(update + noise, C)", "noise before clipping"),
    Plant(A, "clip(update, C) + noise", "update + noise", "no clipping"),
    Plant(
        A,
        "return update * min(1.0, C / norm) if norm > 0 else update",
        "return np.clip(update, -C, C)",
        "per-coordinate clipping",
    ),
    Plant(A, "min(1.0, C / norm)", "(C / norm)", "normalised in place of clipped"),
    Plant(A, "C / norm)", "C / norm**2)", "clipping by the squared length"),
    Plant(A, "np.linalg.norm(update)", "np.abs(update).max()", "clipping in the maximum norm"),
    Plant(A, "range(epochs)", "range(epochs - 1)", "one local step too few"),
    Plant(A, "client.gradient(y)", "client.gradient(w)", "local gradients at the server's parameters"),
    Plant(A, "return (w - y) / eta", "return w - y", "the difference in place of the update"),
    Plant(A, "w - beta * average", "w + beta * average", "the step has the wrong sign"),
    Plant(A, "w - beta * average", "w - average", "no global step size"),
    Plant(
        A,
        "        y -= eta * client.gradient(y)",
        "        for j in range(len(client)):\n            y -= eta * client.gradient(y, [j])",
        "batches for steps",
    ),
    # DP-FedAvg on stacked updates
    Plant(B, "np.random.randn(len(w))", "np.random.default_rng(7).standard_normal(len(w))", "noise from a fixed seed"),
    Plant(B, "np.random.randn(len(w))", "np.random.laplace(size=len(w)) / np.sqrt(2)", "Laplace noise"),
    Plant(
        B,
        "clip_norm / np.maximum",
        "np.median(lengths) / np.maximum",
        "clip level from data: the median of the lengths",
    ),
    Plant(B, "clip_norm / np.maximum", "lengths.max() / np.maximum", "no clipping"),
    Plant(B, "z * clip_norm * np.random", "z * lengths.max() * np.random", "noise scaled by data"),
    Plant(
        B,
        "total = (updates * factors).sum(axis=0)",
        "total = updates.sum(axis=0)\n    total = total * min(1.0, cohort_size * clip_norm / "
        "max(np.linalg.norm(total), 1e-300))",
        "clip of the mean",
    ),
    Plant(
        B,
        "    return w - server_lr * (total + noise) / cohort_size, None",
        "    noise = noise if state is None else state\n    return w - server_lr * (total + noise) / cohort_size, "
        "noise",
        "noise re-used",
    ),
    Plant(B, "(total + noise) / cohort_size", "(total / cohort_size + noise)", "noise of the sum on the average"),
    Plant(
        B,
        "(total + noise) / cohort_size",
        "(total / len(cohort) + noise / cohort_size)",
        "division by |S| in place of r",
    ),
    Plant(B, "(total + noise) / cohort_size", "(total / cohort_size + noise / len(clients))", "noise divided by n"),
    # two-sided, built in
    Plant(T, "delta = x - w", "delta = (x - w) / ETA_L", "the update in place of the difference"),
    Plant(
        T, "delta / max(1.0, np.linalg.norm(delta) / CLIP)", "np.clip(delta, -CLIP, CLIP)", "per-coordinate clipping"
    ),
    Plant(T, "SIGMA * rng", "SIGMA / np.sqrt(len(cohort)) * rng", "sqrt(r) too little noise"),
    Plant(T, "range(Q)", "range(Q + 1)", "one local step too many"),
    Plant(T, "/ len(cohort), state", "/ len(clients), state", "sum and noise divided by n in place of r"),
    # DP-NormFedAvg
    Plant(
        N,
        "C * u / norm if norm > 0 else 0.0",
        "u * min(1.0, C / norm) if norm > 0 else 0.0",
        "clipped in place of normalised",
    ),
    Plant(N, "C * u / norm", "u / norm", "normalised to length 1"),
    Plant(N, "sigma, size=len(w)", "sigma / np.sqrt(len(w)), size=len(w)", "noise divided by sqrt(d)"),
    # SCAFFOLD
    Plant(S, "delta_c += c_plus - c_i", "delta_c += c_plus", "control variate sent whole"),
    Plant(S, "/ (K * eta_l)", "/ K", "control variate scaled by epochs"),
    Plant(S, "/ (K * eta_l)", "/ eta_l", "control variate without the number of local steps"),
    Plant(S, "delta_c / len(clients)", "delta_c / len(cohort)", "server's control variate over the cohort"),
    Plant(
        S,
        "state = Controls(len(clients), len(w))",
        "state = Controls(len(clients), len(w))\n        state.c_i += w\n        state.c += w",
        "control variates that do not begin at zero",
    ),
    Plant(S, "state.c_i[i].copy()", "state.c_i[i]", "the server's control variate never moves"),
    Plant(S, "- c_i + state.c)", "+ c_i - state.c)", "the correction has the wrong sign"),
    Plant(S, "/ (K * eta_l)", "/ (K * len(clients[i]) * eta_l)", "control variate with the number of records"),
    Plant(S, "state.c_i[i] = c_plus", "state.c_i[:] = c_plus", "one control variate for all clients"),
    Plant(S, "eta_g * delta_y / len(cohort)", "eta_g * delta_y / len(clients)", "division by n in place of the cohort"),
    # DP-ScaffNew
    Plant(W, "p / eta * (mean - sent[i])", "p / eta * (sent[i] - mean)", "the control variate has the wrong sign"),
    Plant(W, "p / eta * (mean", "1 / (p * eta) * (mean", "p divides the control variate"),
    Plant(W, "min(1.0, C / max(float(np.linalg.norm(delta)), 1e-300))", "1.0", "no clipping"),
    Plant(W, "sigma, len(w))", "sigma / np.sqrt(n), len(w))", "sqrt(n) too little noise"),
    # error feedback
    Plant(M, "/ (alpha + np.linalg.norm(missing))", "/ np.linalg.norm(missing)", "normalised without alpha"),
    Plant(M, "memory[i] + beta * delta", "memory[i] + delta", "beta is missing in the memories"),
    Plant(M, "gamma * v / norm", "gamma * v", "the server does not normalise"),
    Plant(F, "client.gradient(w) - memory[i]", "client.gradient(w)", "bounded gradients without error feedback"),
    Plant(
        F, "memory[i] = memory[i] + delta", "memory[i] = client.gradient(w)", "memories that take the whole gradient"
    ),
    Plant(F, "rng.normal(0.0, sigma", "rng.normal(0.0, sigma**2", "variance in place of the standard deviation"),
    # DP-SCAFFOLD
    Plant(D, "2 * C * sigma_g", "C * sigma_g", "half the sensitivity"),
    Plant(
        D,
        "2 * C * sigma_g / size",
        "2 * C * sigma_g / len(client)",
        "noise divided by all records in place of the batch",
    ),
    Plant(D, "2 * C * sigma_g / size", "2 * C * sigma_g", "noise of the sum on the average"),
    Plant(D, "2 * C * sigma_g / size", "sigma_g", "sigma where the multiplier was meant"),
    Plant(D, "lengths / C)", "np.linalg.norm(gradients.mean(axis=0)) / C)", "clip of the batch's mean"),
    Plant(D, "range(K)", "range(K * int(1 / s))", "batches for steps"),
    Plant(D, "size, replace=False)", "size)", "records drawn twice"),
    Plant(D, "control += new - own[i]", "control += new", "control variate sent whole"),
)
