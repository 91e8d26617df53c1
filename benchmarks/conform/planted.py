"""Faults planted in the text of correct rounds, each as it occurs in user code."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.conform import without_privacy

__all__ = ["BUILT_IN", "CONSEQUENCES", "CORRECT", "PLANTED", "Plant", "function_of"]

IMPLEMENTATIONS = Path(__file__).parent / "implementations"
CLIENTS_ADD_NOISE, SERVER_ADDS_NOISE, BUILT_IN_PARAMETERS = "clients_add_noise", "server_adds_noise", "built_in"
NORMALISED, NORM_EC, CLIP21 = "normalised", "norm_ec", "clip21"
SCAFFOLD, DP_SCAFFOLD, SCAFFNEW = "scaffold", "dp_scaffold", "scaffnew"
MCMAHAN, ADAPTIVE, LOCAL_DP, DP_SGD = "mcmahan", "adaptive_clipping", "local_dp", "dp_sgd"
DP_FTRL = "dp_ftrl"
BUILT_IN = {BUILT_IN_PARAMETERS: {"eta_l": 0.05, "eta_g": 1.2, "Q": 4, "c": 0.5, "sigma": 0.3}}
"""Hyper-parameters of rounds that have them built in."""
CORRECT = {
    CLIENTS_ADD_NOISE: "dp-fedavg",
    SERVER_ADDS_NOISE: "dp-fedavg",
    BUILT_IN_PARAMETERS: "dp-fedavg-two-sided",
    NORMALISED: "dp-normfedavg",
    SCAFFOLD: "scaffold",
    SCAFFNEW: "dp-scaffnew",
    NORM_EC: "dp-norm-ec",
    CLIP21: "dp-clip21",
    DP_SCAFFOLD: "dp-scaffold",
    "child_generator": "dp-fedavg",
    "inverse_transform": "dp-fedavg",
    "box_muller": "dp-fedavg",
    "single_precision": "dp-fedavg",
    "guarded_norm": "dp-fedavg",
    "noise_beforehand": "dp-fedavg",
    "scaffold_dataclass": "scaffold",
    **without_privacy.CORRECT,
    MCMAHAN: "dp-fedavg-mcmahan",
    ADAPTIVE: "dp-fedavg-adaptive",
    LOCAL_DP: "dp-fedavg-local",
    DP_SGD: "dp-sgd",
    DP_FTRL: "dp-ftrl",
}
"""The rounds, and the algorithm of each."""


CONSEQUENCES = ("more than the declared sensitivity", "refuted by the audit")
"""Findings that any fault may also cause: those about the privacy of the same round. They are true where they occur:
pairs of data sets, or runs, show them. For example the mean over the clients whose coins come up in ScaffNew moves by
C/|S| with one of them, and not by C/n."""


@dataclass(frozen=True)
class Plant:
    """A fault: its round, the text that is replaced, the new text, and the expected name. Optional: the same for a
    second place, and other names that are also correct."""

    of: str
    old: str
    new: str
    named: str
    also_old: str = ""
    also_new: str = ""
    beside: tuple[str, ...] = ()


def function_of(name: str, plant: Plant | None = None) -> Callable[..., Any]:
    """A round from its text, with the fault planted; the text is where tracebacks look for it."""
    text = (IMPLEMENTATIONS / f"{name}.py").read_text()
    file = f"{name}.py"
    if plant is not None:
        for old, new in ((plant.old, plant.new), (plant.also_old, plant.also_new)):
            if old not in text:
                raise ValueError(f"{name} has no {old!r}")
            text = text.replace(old, new) if old else text
        file = f"{name}, {plant.named}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType(f"planted_{name}")
    sys.modules[module.__name__] = module  # for code that looks up its own module, as dataclasses do
    exec(compile(text, file, "exec"), module.__dict__)  # text of this repository
    found: Callable[..., Any] = module.round
    return found


GLOBAL_STEP = "the global step in the control variate"
PLANTED = (
    # DP-FedAvg, client by client
    Plant(CLIENTS_ADD_NOISE, "axis=0) / r", "axis=0) / len(cohort)", "sum and noise divided by |S| in place of r"),
    Plant(CLIENTS_ADD_NOISE, "axis=0) / r", "axis=0) / len(clients)", "sum and noise divided by n in place of r"),
    Plant(
        CLIENTS_ADD_NOISE,
        "np.sum(messages, axis=0) / r",
        "np.mean(messages, axis=0)",
        "sum and noise divided by |S| in place of r",
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "noise_multiplier * C / np.sqrt(r)",
        "noise_multiplier",
        "sigma where the multiplier was meant",
    ),
    Plant(CLIENTS_ADD_NOISE, "noise_multiplier * C / np.sqrt(r)", "noise_multiplier * C", "sqrt(r) times the noise"),
    Plant(
        CLIENTS_ADD_NOISE, "noise_multiplier * C / np.sqrt(r)", "noise_multiplier * C / r", "sqrt(r) too little noise"
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "noise_multiplier * C / np.sqrt(r)",
        "noise_multiplier / np.sqrt(r)",
        "sensitivity without the clip threshold",
    ),
    Plant(CLIENTS_ADD_NOISE, "C / np.sqrt(r), size", "C * np.sqrt(len(clients) / r), size", "sqrt(n) too much noise"),
    Plant(CLIENTS_ADD_NOISE, "size=w.shape)", "size=1)", "one number for all coordinates"),
    Plant(
        CLIENTS_ADD_NOISE,
        "noise_multiplier * C / np.sqrt(r)",
        "(noise_multiplier * C / np.sqrt(r)) ** 2",
        "variance in place of the standard deviation",
    ),
    Plant(CLIENTS_ADD_NOISE, "clip(update, C) + noise", "clip(update + noise, C)", "noise before clipping"),
    Plant(CLIENTS_ADD_NOISE, "clip(update, C) + noise", "update + noise", "no clipping"),
    Plant(
        CLIENTS_ADD_NOISE,
        "return update * min(1.0, C / norm) if norm > 0 else update",
        "return np.clip(update, -C, C)",
        "per-coordinate clipping",
    ),
    Plant(CLIENTS_ADD_NOISE, "min(1.0, C / norm)", "(C / norm)", "normalised in place of clipped"),
    Plant(CLIENTS_ADD_NOISE, "C / norm)", "C / norm**2)", "clipping by the squared length"),
    Plant(
        CLIENTS_ADD_NOISE,
        "min(1.0, C / norm)",
        "(C / (norm + 1.0))",
        "smoothed normalisation in place of clipping",
    ),
    Plant(
        BUILT_IN_PARAMETERS,
        "        delta = delta / max(1.0, np.linalg.norm(delta) / CLIP)\n",
        "        whole, delta = delta, delta / max(1.0, np.linalg.norm(delta) / CLIP)\n"
        "        state = state + whole - delta\n",
        "what clipping cuts off is added in the next round",
        "    total = 0.0\n",
        "    total, state = (0.0 if state is None else state), 0.0\n",
    ),
    Plant(CLIENTS_ADD_NOISE, "np.linalg.norm(update)", "np.abs(update).max()", "clipping in the maximum norm"),
    Plant(CLIENTS_ADD_NOISE, "range(epochs)", "range(epochs - 1)", "one local step too few"),
    Plant(CLIENTS_ADD_NOISE, "client.gradient(y)", "client.gradient(w)", "local gradients at the server's parameters"),
    Plant(
        CLIENTS_ADD_NOISE,
        "return (w - y) / eta",
        "return w - y",
        "the difference is clipped, not divided by the local step size",
    ),
    Plant(CLIENTS_ADD_NOISE, "w - beta * average", "w + beta * average", "the step has the wrong sign"),
    Plant(CLIENTS_ADD_NOISE, "w - beta * average", "w - average", "no global step size"),
    Plant(
        CLIENTS_ADD_NOISE,
        "        y -= eta * client.gradient(y)",
        "        for j in range(len(client)):\n            y -= eta * client.gradient(y, [j])",
        "batches for steps",
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "return (w - y) / eta",
        "return w - y",
        "the difference is clipped, not divided by the local step size",
        "w - beta * average",
        "w - average",
    ),
    Plant(CLIENTS_ADD_NOISE, "for i in cohort", "for i in range(len(clients))", "all clients in place of the cohort"),
    Plant(CLIENTS_ADD_NOISE, "w - beta * average", "w - beta**2 * average", "the global step size twice"),
    Plant(
        CLIENTS_ADD_NOISE,
        "    return w - beta * average, state",
        "    state = average if state is None else 0.9 * state + average\n    return w - beta * state, state",
        "server momentum",
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "    messages = []",
        "    cohort = rng.choice(len(clients), int(r), replace=False)\n    messages = []",
        "a cohort of its own",
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "    messages = []",
        "    cohort = np.flatnonzero(rng.random(len(clients)) < r / len(clients))\n    messages = []",
        "a cohort of its own",
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "return update * min(1.0, C / norm) if norm > 0 else update",
        "parts = np.split(update, [2])\n"
        "    return np.concatenate([p / max(1.0, np.linalg.norm(p) / C) for p in parts])",
        "each layer is clipped to the whole threshold",
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "return update * min(1.0, C / norm) if norm > 0 else update",
        "parts = np.split(update, [2])\n    C = C / np.sqrt(2)\n"
        "    return np.concatenate([p / max(1.0, np.linalg.norm(p) / C) for p in parts])",
        "per-layer clipping",
    ),
    Plant(CLIENTS_ADD_NOISE, "y = w.copy()", "y = w", "a client starts where the one before it ended"),
    Plant(
        CLIENTS_ADD_NOISE,
        "y = w.copy()",
        "y = w",
        "a client starts where the one before it ended",
        "        update = local_training(clients[i], w, eta, E)",
        "        before = w.copy()\n        local_training(clients[i], w, eta, E)\n        update = (before - w) / eta",
    ),
    Plant(
        CLIENTS_ADD_NOISE,
        "eta * client.gradient(y)",
        "eta * (client.gradient(y) + 5e-4 * y)",
        "weight decay in the local steps",
    ),
    # DP-FedAvg on stacked updates
    Plant(
        SERVER_ADDS_NOISE,
        "np.random.randn(len(w))",
        "np.random.default_rng(7).standard_normal(len(w))",
        "noise from a fixed seed",
    ),
    Plant(SERVER_ADDS_NOISE, "np.random.randn(len(w))", "np.random.laplace(size=len(w)) / np.sqrt(2)", "Laplace noise"),
    Plant(
        SERVER_ADDS_NOISE,
        "clip_norm / np.maximum",
        "np.median(lengths) / np.maximum",
        "clip level from data: the median of the lengths",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "clip_norm / np.maximum",
        "lengths.max() / np.maximum",
        "no clipping",
        beside=("fails without clients",),
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "z * clip_norm * np.random",
        "z * lengths.max() * np.random",
        "noise scaled by data",
        beside=("noise that depends on the data", "fails without clients"),
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "total = (updates * factors).sum(axis=0)",
        "total = updates.sum(axis=0)\n    total = total * min(1.0, cohort_size * clip_norm / "
        "max(np.linalg.norm(total), 1e-300))",
        "clip of the mean",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "    return w - server_lr * (total + noise) / cohort_size, None",
        "    noise = noise if state is None else state\n    return w - server_lr * (total + noise) / cohort_size, "
        "noise",
        "noise re-used",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "(total + noise) / cohort_size",
        "(total / cohort_size + noise)",
        "noise of the sum on the average",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "(total + noise) / cohort_size",
        "(total / len(cohort) + noise / cohort_size)",
        "division by |S| in place of r",
        beside=("fails without clients",),
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "(total + noise) / cohort_size",
        "(total / cohort_size + noise / len(clients))",
        "noise divided by n",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "    points = np.tile",
        "    clip_norm = clip_norm if state is None else state\n    points = np.tile",
        "a clip level that learns from data without noise",
        "cohort_size, None",
        "cohort_size, clip_norm * np.exp(-0.2 * (np.mean(lengths <= clip_norm) - 0.5))",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "    points = np.tile",
        "    clip_norm, bound = clip_norm if state is None else state, clip_norm\n    points = np.tile",
        "a clip level that learns from data without noise",
        "    noise = z * clip_norm * np.random.randn(len(w))  # noqa: NPY002\n"
        "    return w - server_lr * (total + noise) / cohort_size, None",
        "    noise = z * bound * np.random.randn(len(w))  # noqa: NPY002\n"
        "    return w - server_lr * (total + noise) / cohort_size, np.median(lengths) if len(lengths) else clip_norm",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "total = (updates * factors).sum(axis=0)",
        "total = (updates * factors).sum(axis=0) + (updates * factors)[:1].sum(axis=0)",
        "the first client of a cohort has another weight",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "(updates * factors).sum(axis=0)",
        "(updates * factors)[:-1].sum(axis=0)",
        "the last client of a cohort is left out",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "    return w - server_lr",
        "    noise[layers[-1]] = 0.0\n    return w - server_lr",
        "noise on one layer alone",
        "    cohort_size: float,\n",
        "    cohort_size: float,\n    layers: Any,\n",
    ),
    Plant(
        SERVER_ADDS_NOISE,
        "np.random.randn(len(w))",
        "np.abs(np.random.randn(len(w)))",
        "the absolute value of the noise",
    ),
    # two-sided, built in
    Plant(BUILT_IN_PARAMETERS, "delta = x - w", "delta = (x - w) / ETA_L", "the update in place of the difference"),
    Plant(
        BUILT_IN_PARAMETERS,
        "delta / max(1.0, np.linalg.norm(delta) / CLIP)",
        "np.clip(delta, -CLIP, CLIP)",
        "per-coordinate clipping",
    ),
    Plant(BUILT_IN_PARAMETERS, "SIGMA * rng", "SIGMA / np.sqrt(len(cohort)) * rng", "sqrt(r) too little noise"),
    Plant(BUILT_IN_PARAMETERS, "range(Q)", "range(Q + 1)", "one local step too many"),
    Plant(
        BUILT_IN_PARAMETERS, "/ len(cohort), state", "/ len(clients), state", "sum and noise divided by n in place of r"
    ),
    Plant(
        BUILT_IN_PARAMETERS,
        "    total = 0.0\n",
        "    total, x = 0.0, w\n",
        "a client starts where the one before it ended",
        "        x = w\n",
        "",
    ),
    Plant(
        BUILT_IN_PARAMETERS,
        "return w + ETA_G * total / len(cohort), state",
        "state = (0.0 if state is None else 0.9 * state) + 0.1 * total\n"
        "    return w + ETA_G * state / len(cohort), state",
        "server momentum",
    ),
    # DP-NormFedAvg
    Plant(
        NORMALISED,
        "C * u / norm if norm > 0 else 0.0",
        "u * min(1.0, C / norm) if norm > 0 else 0.0",
        "clipped in place of normalised",
    ),
    Plant(NORMALISED, "C * u / norm", "u / norm", "normalised to length 1"),
    Plant(NORMALISED, "sigma, size=len(w)", "sigma / np.sqrt(len(w)), size=len(w)", "noise divided by sqrt(d)"),
    # SCAFFOLD
    Plant(
        SCAFFOLD,
        "for i in cohort:\n        c_i = state.c_i[i].copy()",
        "for j, i in enumerate(cohort):\n        c_i = state.c_i[j].copy()",
        "what clients keep is stored by their place in the cohort",
        "state.c_i[i] = c_plus",
        "state.c_i[j] = c_plus",
    ),
    Plant(SCAFFOLD, "delta_c += c_plus - c_i", "delta_c += c_plus", "control variate sent whole"),
    Plant(
        SCAFFOLD,
        "        for _ in range(K):\n            y = y - eta_l * (clients[i].gradient(y) - c_i + state.c)",
        "        v = 0.0 * w\n        for _ in range(K):\n            v = 0.9 * v + clients[i].gradient(y)\n"
        "            y = y - eta_l * v - eta_l * (state.c - c_i)",
        "momentum in the local steps",
    ),
    Plant(SCAFFOLD, "/ (K * eta_l)", "/ K", "control variate scaled by epochs"),
    Plant(SCAFFOLD, "/ (K * eta_l)", "/ eta_l", "control variate without the number of local steps"),
    Plant(SCAFFOLD, "delta_c / len(clients)", "delta_c / len(cohort)", "server's control variate over the cohort"),
    Plant(
        SCAFFOLD,
        "state = Controls(len(clients), len(w))",
        "state = Controls(len(clients), len(w))\n        state.c_i += w\n        state.c += w",
        "control variates that do not start at zero",
    ),
    Plant(SCAFFOLD, "state.c_i[i].copy()", "state.c_i[i]", "the server's control variate never moves"),
    Plant(SCAFFOLD, "- c_i + state.c)", "+ c_i - state.c)", "the correction has the wrong sign"),
    Plant(SCAFFOLD, "/ (K * eta_l)", "/ (K * len(clients[i]) * eta_l)", "control variate with the number of records"),
    Plant(SCAFFOLD, "state.c_i[i] = c_plus", "state.c_i[:] = c_plus", "one control variate for all clients"),
    Plant(
        SCAFFOLD,
        "eta_g * delta_y / len(cohort)",
        "eta_g * delta_y / len(clients)",
        "division by n in place of the cohort",
    ),
    Plant(
        SCAFFOLD,
        "delta_c += c_plus - c_i",
        "state.c = state.c + (c_plus - c_i) / len(clients)",
        "the server's control variate moves within the round",
    ),
    Plant(
        SCAFFOLD,
        "delta_c += c_plus - c_i",
        "state.c = state.c + (c_plus - c_i) / len(cohort)",
        "the server's control variate moves within the round",
    ),
    Plant(
        SCAFFOLD,
        "c_i - state.c + (w - y) / (K * eta_l)",
        "clients[i].gradient(y)",
        "the control variate is the gradient at the end",
    ),
    Plant(
        SCAFFOLD,
        "            y = y - eta_l * (clients[i].gradient(y) - c_i + state.c)\n"
        "        c_plus = c_i - state.c + (w - y) / (K * eta_l)",
        "            gradient = clients[i].gradient(y)\n            y = y - eta_l * (gradient - c_i + state.c)\n"
        "        c_plus = gradient",
        "the control variate is the last gradient",
    ),
    Plant(SCAFFOLD, "(w - y) / (K * eta_l)", "eta_g * (w - y) / (K * eta_l)", GLOBAL_STEP),
    Plant(SCAFFOLD, "(w - y) / (K * eta_l)", "(w - y) / (K * eta_l * eta_g)", GLOBAL_STEP),
    Plant(SCAFFOLD, "(w - y) / (K * eta_l)", "(w - y) / (K * eta_g)", GLOBAL_STEP),
    Plant(SCAFFOLD, "(K * eta_l)", "((K + 1) * eta_l)", "another number of steps in the control variate"),
    Plant(SCAFFOLD, "(w - y) / (K", "0.7 * (w - y) / (K", "a factor in the control variate"),
    Plant(
        SCAFFOLD,
        "delta_c += c_plus - c_i",
        "share = len(clients[i]) / sum(len(clients[j]) for j in cohort)\n"
        "        delta_c += len(cohort) * share * (c_plus - c_i)",
        "weights by numbers of records in the server's control variate",
    ),
    Plant(SCAFFOLD, "delta_c / len(clients)", "delta_c", "the server's control variate moves by the sum"),
    Plant(SCAFFOLD, "c_i - state.c + (w - y)", "(w - y)", "c_i and c are missing in the new control variate"),
    Plant(
        SCAFFOLD,
        "delta_c / len(clients)",
        "eta_g * delta_c / len(clients)",
        "the global step in the server's control variate",
    ),
    Plant(
        SCAFFOLD,
        "state = Controls(len(clients), len(w))",
        "state = Controls(len(clients), len(w))\n"
        "        state.c_i = np.stack([client.gradient(w) for client in clients])\n"
        "        state.c = state.c_i.mean(axis=0)",
        "control variates that start at the first gradients",
    ),
    Plant(
        SCAFFOLD,
        "    w = w + eta_g",
        "    state.c_i[[i for i in range(len(clients)) if i not in cohort]] = 0.0\n    w = w + eta_g",
        "what absent clients keep is lost",
    ),
    Plant(
        SCAFFOLD,
        "    w = w + eta_g",
        "    for i in set(range(len(clients))) - set(cohort):\n        state.c_i[i] -= state.c\n    w = w + eta_g",
        "control variates of absent clients move",
    ),
    Plant(
        SCAFFOLD,
        "    for i in cohort:",
        "    for i in range(len(clients)):",
        "clients that take no part train",
        "        delta_y += y - w\n        delta_c",
        "        if i not in cohort:\n            continue\n        delta_y += y - w\n        delta_c",
    ),
    Plant(
        SCAFFOLD,
        "- c_i + state.c)",
        "- c_i + state.c + 1e-3 * y)",
        "weight decay in the local steps",
    ),
    Plant(
        SCAFFOLD,
        "            y = y - eta_l",
        "            y = (1 - eta_l * 5e-4) * y - eta_l",
        "weight decay in the local steps",
    ),
    Plant(SCAFFOLD, "- c_i + state.c)", "- c_i + state.c + 0.1 * (y - w))", "a proximal term in the local steps"),
    Plant(SCAFFOLD, "state.c_i[i] = c_plus", "state.c_i[i] = 0.5 * c_i + 0.5 * c_plus", "a damped control variate"),
    Plant(
        SCAFFOLD,
        "        state.c_i[i] = c_plus",
        "        c_plus = 0.9 * c_i + 0.1 * c_plus\n        state.c_i[i] = c_plus",
        "a damped control variate",
    ),
    # DP-ScaffNew
    Plant(
        SCAFFNEW,
        "        return w, (x, h)\n    sent",
        "        return x.mean(axis=0), (x, h)\n    sent",
        "the clients' mean without a communication",
    ),
    Plant(
        SCAFFNEW, "p / eta * (mean - sent[i])", "p / eta * (sent[i] - mean)", "the control variate has the wrong sign"
    ),
    Plant(SCAFFNEW, "p / eta * (mean", "1 / (p * eta) * (mean", "p divides the control variate"),
    Plant(SCAFFNEW, "min(1.0, C / max(float(np.linalg.norm(delta)), 1e-300))", "1.0", "no clipping"),
    Plant(SCAFFNEW, "sigma, len(w))", "sigma / np.sqrt(n), len(w))", "sqrt(n) too little noise"),
    Plant(
        SCAFFNEW,
        "        sent.append(delta + rng.normal(0.0, sigma, len(w)))",
        "        sent.append(delta + noise)",
        "the same noise for all clients",
        "    sent = []",
        "    sent, noise = [], rng.normal(0.0, sigma, len(w))",
    ),
    Plant(
        SCAFFNEW,
        "delta + rng.normal(0.0, sigma, len(w))",
        "delta",
        "the noise of one message on the average",
        "np.mean(sent, axis=0)",
        "np.mean(sent, axis=0) + rng.normal(0.0, sigma, len(w))",
    ),
    Plant(
        SCAFFNEW,
        "delta + rng.normal(0.0, sigma, len(w))",
        "delta",
        "the control variate without the noise",
        "np.mean(sent, axis=0)",
        "np.mean(sent, axis=0) + rng.normal(0.0, sigma / np.sqrt(n), len(w))",
    ),
    Plant(SCAFFNEW, "rng.normal(0.0, sigma, len(w))", "rng.normal(0.0, sigma)", "one number for all coordinates"),
    Plant(SCAFFNEW, "p / eta * (mean", "eta * (mean", "the step multiplies the control variate"),
    Plant(SCAFFNEW, "p / eta * (mean", "p * eta * (mean", "the step multiplies the control variate"),
    Plant(SCAFFNEW, "p / eta * (mean", "(mean", "p and the step are missing in the control variate"),
    Plant(
        SCAFFNEW,
        "(mean - sent[i])",
        "(w - x[i])",
        "the control variate from the unclipped difference",
    ),
    Plant(
        SCAFFNEW,
        "(mean - sent[i])",
        "(x.mean(axis=0) - x[i])",
        "the control variate from an average without noise",
    ),
    Plant(
        SCAFFNEW,
        "        return w, (x, h)",
        "        return w, (x, np.array([h[i] + p / eta * (w - x[i]) for i in range(n)]))",
        "control variates move without a communication",
    ),
    Plant(
        SCAFFNEW,
        "    if rng.random() >= p:\n        return w, (x, h)\n",
        "    communicates = rng.random() < p\n",
        "control variates move without a communication",
        "    w = w + mean\n    h = np.array([h[i] + p / eta * (mean - sent[i]) for i in range(n)])\n",
        "    h = np.array([h[i] + p / eta * (mean - sent[i]) for i in range(n)])\n    if not communicates:\n"
        "        return w, (x, h)\n    w = w + mean\n",
    ),
    Plant(
        SCAFFNEW,
        "    if rng.random() >= p:\n        return w, (x, h)\n",
        "    speak = rng.random(n) < p\n    if not speak.any():\n        return w, (x, h)\n",
        "a coin for each client",
        "    mean = np.mean(sent, axis=0)\n    w = w + mean\n"
        "    h = np.array([h[i] + p / eta * (mean - sent[i]) for i in range(n)])\n"
        "    return w, (np.tile(w, (n, 1)), h)",
        "    mean = np.mean([sent[i] for i in range(n) if speak[i]], axis=0)\n    w = w + mean\n"
        "    h = np.array([h[i] + p / eta * (mean - sent[i]) if speak[i] else h[i] for i in range(n)])\n"
        "    return w, (np.array([w if speak[i] else x[i] for i in range(n)]), h)",
    ),
    Plant(SCAFFNEW, "+ rng.normal(0.0, sigma, len(w)))", ")", "no noise"),
    Plant(
        SCAFFNEW,
        "        delta = x[i] - w\n",
        "        delta = x[i] - w + rng.normal(0.0, sigma, len(w))\n",
        "noise before clipping",
        "delta + rng.normal(0.0, sigma, len(w))",
        "delta",
    ),
    Plant(
        SCAFFNEW,
        "delta * min(1.0, C / max(float(np.linalg.norm(delta)), 1e-300))",
        "x[i] * min(1.0, C / max(float(np.linalg.norm(x[i])), 1e-300)) - w",
        "clip of the parameters in place of the difference",
    ),
    Plant(
        SCAFFNEW,
        "x[i] - eta * (clients[i].gradient(x[i]) - h[i])",
        "x[i] - eta * clients[i].gradient(x[i]) + h[i]",
        "the correction without the step",
    ),
    # error feedback
    Plant(
        NORM_EC,
        "/ (alpha + np.linalg.norm(missing))",
        "/ np.linalg.norm(missing)",
        "normalised without alpha",
        beside=("numbers that are not finite",),
    ),
    Plant(NORM_EC, "memory[i] + beta * delta", "memory[i] + delta", "beta is missing in the memories"),
    Plant(NORM_EC, "gamma * v / norm", "gamma * v", "the server does not normalise"),
    Plant(CLIP21, "client.gradient(w) - memory[i]", "client.gradient(w)", "bounded gradients without error feedback"),
    Plant(
        CLIP21,
        "memory[i] = memory[i] + delta",
        "memory[i] = client.gradient(w)",
        "memories that take the whole gradient",
    ),
    Plant(CLIP21, "rng.normal(0.0, sigma", "rng.normal(0.0, sigma**2", "variance in place of the standard deviation"),
    # DP-SCAFFOLD
    Plant(DP_SCAFFOLD, "2 * C * sigma_g", "C * sigma_g", "half the sensitivity"),
    Plant(
        DP_SCAFFOLD,
        "2 * C * sigma_g / size",
        "2 * C * sigma_g / len(client)",
        "noise divided by all records in place of the batch",
    ),
    Plant(DP_SCAFFOLD, "2 * C * sigma_g / size", "2 * C * sigma_g", "noise of the sum on the average"),
    Plant(DP_SCAFFOLD, "2 * C * sigma_g / size", "sigma_g", "sigma where the multiplier was meant"),
    Plant(DP_SCAFFOLD, "lengths / C)", "np.linalg.norm(gradients.mean(axis=0)) / C)", "clip of the batch's mean"),
    Plant(DP_SCAFFOLD, "range(K)", "range(K * int(1 / s))", "batches for steps"),
    Plant(DP_SCAFFOLD, "size, replace=False)", "size)", "records drawn twice"),
    Plant(DP_SCAFFOLD, "control += new - own[i]", "control += new", "control variate sent whole"),
    Plant(
        DP_SCAFFOLD,
        "control += new - own[i]",
        "c = c + (new - own[i]) / len(clients)",
        "the server's control variate moves within the round",
    ),
    Plant(
        DP_SCAFFOLD,
        "own[i] - c + (w - y) / (K * eta_l)",
        "private_gradient(clients[i], y, rng, C, s, sigma_g)",
        "the control variate is the gradient at the end",
    ),
    Plant(
        DP_SCAFFOLD,
        "own[i] - c + (w - y) / (K * eta_l)",
        "clients[i].gradient(y)",
        "control variates of gradients without noise",
    ),
    Plant(
        DP_SCAFFOLD,
        "y = w\n",
        "y = w\n        raw = []\n",
        "control variates of gradients without noise",
        "            y = y - eta_l * (private_gradient(clients[i], y, rng, C, s, sigma_g) - own[i] + c)\n"
        "        new = own[i] - c + (w - y) / (K * eta_l)",
        "            size = int(s * len(clients[i]))\n"
        "            G = clients[i].record_gradients(y, rng.choice(len(clients[i]), size, replace=False))\n"
        "            raw.append(G.mean(axis=0))\n"
        "            G = G / np.maximum(1.0, np.linalg.norm(G, axis=1, keepdims=True) / C)\n"
        "            g = G.mean(axis=0) + 2 * C * sigma_g / size * rng.standard_normal(len(y))\n"
        "            y = y - eta_l * (g - own[i] + c)\n"
        "        new = np.mean(raw, axis=0)",
    ),
    Plant(DP_SCAFFOLD, "(w - y) / (K * eta_l)", "eta_g * (w - y) / (K * eta_l)", GLOBAL_STEP),
    Plant(DP_SCAFFOLD, "control / len(clients)", "control", "the server's control variate moves by the sum"),
    Plant(
        DP_SCAFFOLD,
        "    for i in cohort:",
        "    for i in range(len(clients)):",
        "clients that take no part train",
        "        model +=",
        "        if i not in cohort:\n            own[i] = new\n            continue\n        model +=",
    ),
    Plant(DP_SCAFFOLD, "- own[i] + c)", "- own[i] + c + 1e-4 * y)", "weight decay in the local steps"),
    Plant(DP_SCAFFOLD, "own[i] = new", "own[i] = 0.5 * own[i] + 0.5 * new", "a damped control variate"),
    *(Plant(*one) for one in without_privacy.FAULTS),
    # DP-FedAvg of McMahan et al. 2018
    Plant(MCMAHAN, "min(len(client) / weight_cap, 1.0)", "len(client) / weight_cap", "weights that are not capped"),
    Plant(
        MCMAHAN,
        "w + total / (q * W) +",
        "w + total / max(weights[cohort].sum(), 1e-9) +",
        "the sum is divided by the weight that took part",
    ),
    Plant(MCMAHAN, "l2_norm_clip / (q * W)", "l2_norm_clip / q", "noise without the total weight"),
    Plant(MCMAHAN, "l2_norm_clip / (q * W)", "l2_norm_clip / W", "noise divided by n"),
    Plant(
        MCMAHAN,
        "l2_norm_clip / (q * W)",
        "l2_norm_clip / cohort_size",
        "noise by the number of clients in place of their weight",
    ),
    Plant(
        MCMAHAN, "l2_norm_clip / np.sqrt(len(layers))", "l2_norm_clip", "each layer is clipped to the whole threshold"
    ),
    Plant(
        MCMAHAN,
        "/ np.sqrt(len(layers))",
        "/ len(layers)",
        "every layer is clipped to S over their number",
    ),
    # Adaptive clipping of Andrew et al. 2021
    Plant(ADAPTIVE, "below + rng.normal(0.0, clipped_count_stddev)", "below", "a count without noise"),
    Plant(
        ADAPTIVE,
        "z_delta = (noise_multiplier**-2 - (2 * clipped_count_stddev) ** -2) ** -0.5",
        "z_delta = noise_multiplier",
        "the count's noise is not in the split",
    ),
    Plant(ADAPTIVE, "(2 * clipped_count_stddev)", "clipped_count_stddev", "a split for a count that moves by 1"),
    Plant(ADAPTIVE, "np.exp(-clip_lr", "np.exp(clip_lr", "the threshold moves the wrong way"),
    Plant(ADAPTIVE, "norm <= clip", "norm > clip", "the share of clipped updates in place of the others"),
    Plant(
        ADAPTIVE,
        "clip * np.exp(-clip_lr * (fraction - target_unclipped_quantile))",
        "clip - clip_lr * (fraction - target_unclipped_quantile)",
        "a linear update of the threshold",
    ),
    Plant(ADAPTIVE, "norm <= clip", "norm <= initial_l2_norm_clip", "updates are counted at the first threshold"),
    Plant(
        ADAPTIVE,
        "(below + rng.normal(0.0, clipped_count_stddev)) / cohort_size",
        "below / cohort_size + rng.normal(0.0, clipped_count_stddev)",
        "the count's noise on the share",
    ),
    Plant(ADAPTIVE, '"clip": clip * ', '"clip": clip + 0 * ', "a threshold that stays"),
    Plant(
        ADAPTIVE,
        "z_delta * clip, w.shape",
        "z_delta * initial_l2_norm_clip, w.shape",
        "noise that does not follow the threshold",
    ),
    Plant(ADAPTIVE, "norm <= clip", "min(norm, clip) <= clip", "updates are counted after they are clipped"),
    Plant(
        ADAPTIVE,
        '["velocity"] + average',
        '["velocity"] + (1 - server_momentum) * average',
        "momentum of the average in place of its sum",
    ),
    # Local differential privacy
    Plant(
        LOCAL_DP,
        "max_norm, noise_multiplier)",
        "max_norm, noise_multiplier / np.sqrt(cohort_size))",
        "a message with its share of the sum's noise",
    ),
    Plant(
        LOCAL_DP,
        "max_norm, noise_multiplier)",
        "max_norm, noise_multiplier / cohort_size)",
        "a message with the noise of the average",
    ),
    Plant(
        LOCAL_DP,
        "update = update / max(1.0, np.linalg.norm(update) / max_norm)",
        "update = update + rng.normal(0.0, noise_multiplier * max_norm, w.shape)",
        "noise before clipping",
        "return update + rng.normal(0.0, noise_multiplier * max_norm, w.shape)",
        "return update / max(1.0, np.linalg.norm(update) / max_norm)",
    ),
    Plant(LOCAL_DP, "max_norm, w.shape)", "max_norm, 1)", "one number for all coordinates"),
    Plant(
        LOCAL_DP,
        "np.mean(sent, axis=0)",
        "np.average(sent, axis=0, weights=[len(clients[i]) for i in cohort])",
        "weights by numbers of records",
    ),
    # DP-SGD over Poisson lots
    Plant(
        DP_SGD,
        "(summed + noise) / expected_batch_size",
        "(summed / max(lot, 1) + noise / expected_batch_size)",
        "the lot is divided by its size",
    ),
    Plant(
        DP_SGD,
        "for g in client.record_gradients(w, chosen):\n            summed += g *",
        "G = client.record_gradients(w, chosen)\n        for k in range(0, len(G), 2):\n"
        "            g = G[k : k + 2].mean(axis=0)\n            summed += len(G[k : k + 2]) * g *",
        "clip of microbatches' means",
    ),
    Plant(DP_SGD, "/ expected_batch_size", "/ max(lot, 1)", "the lot and its noise are divided by its size"),
    Plant(
        DP_SGD,
        "(summed + noise) / expected_batch_size",
        "(summed / expected_batch_size + noise)",
        "noise of the sum on the average",
    ),
    Plant(
        DP_SGD,
        "noise = rng.normal(0.0, noise_multiplier * max_grad_norm, size=w.shape)",
        "noise = rng.normal(0.0, noise_multiplier * max_grad_norm, size=(max(lot, 1), len(w))).sum(axis=0)",
        "noise for each record",
    ),
    Plant(
        DP_SGD,
        "noise = rng.normal(0.0, noise_multiplier * max_grad_norm, size=w.shape)",
        "noise = rng.normal(0.0, noise_multiplier * max_grad_norm, size=(len(clients), len(w))).sum(axis=0)",
        "noise for each client",
    ),
    Plant(
        DP_SGD,
        "np.flatnonzero(rng.random(len(client)) < sample_rate)",
        "rng.permutation(len(client))[: int(sample_rate * len(client))]",
        "batches of a fixed size",
    ),
    Plant(DP_SGD, "noise_multiplier * max_grad_norm", "noise_multiplier", "sigma where the multiplier was meant"),
    Plant(
        DP_SGD,
        "w - lr * (summed + noise) / expected_batch_size",
        "w - lr * ((summed + noise) / expected_batch_size + 0.02 * w)",
        "weight decay in the step",
    ),
    # DP-FTRL with tree aggregation
    Plant(
        DP_FTRL,
        'state["start"] + server_lr * noisy / cohort_size, state',
        'w + server_lr * (state["sum"] - state.pop("old", 0) + state["earlier"] + state["last"]) / cohort_size, '
        '{**state, "old": state["sum"]}',
        "the noise of prefixes in place of its differences",
    ),
    Plant(
        DP_FTRL,
        "return sum(noise for h, noise in self.nodes.items() if self.count >> h & 1)",
        "self.all = getattr(self, 'all', 0) + self.nodes[height]\n        return self.all",
        "independent noise in each round",
    ),
    Plant(
        DP_FTRL,
        "return sum(noise for h, noise in self.nodes.items() if self.count >> h & 1)",
        "return sum(rng.normal(0.0, self.deviation, self.d) for h in self.nodes if self.count >> h & 1)",
        "nodes that are drawn again",
        "self.nodes[height] = rng.normal(0.0, self.deviation, self.d)",
        "self.nodes[height] = 0.0",
    ),
    Plant(
        DP_FTRL,
        "return sum(noise for h, noise in self.nodes.items() if self.count >> h & 1)",
        "return self.nodes[height]",
        "fresh noise in place of a tree",
    ),
    Plant(DP_FTRL, '["tree"].count == restart_frequency', '["tree"].count < 0', "a tree without restart"),
    Plant(
        DP_FTRL,
        'state["earlier"] = state["earlier"] + state["last"]',
        'state["earlier"] = state["earlier"]',
        "the noise of earlier trees is lost at a restart",
    ),
    Plant(
        DP_FTRL,
        'noisy = state["sum"] + state["earlier"] + state["last"]',
        'noisy = state["sum"]',
        "no noise",
    ),
)
