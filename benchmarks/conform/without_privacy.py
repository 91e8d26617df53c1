"""Correct rounds of algorithms without privacy, and faults to plant in them: the round, the text that is replaced, the
new text, the expected name, the same two texts for a second place, and other names that are also correct."""

from __future__ import annotations

from typing import Any

__all__ = ["CORRECT", "FAULTS"]

CORRECT = {
    "fedavg_weighted": "fedavg-mcmahan",
    "fedavg_2017": "fedavg-mcmahan",
    "fedprox": "fedprox",
    "fedprox_loss": "fedprox",
    "fednova": "fednova",
    "fednova_plain": "fednova",
    "fedavgm": "fedavgm",
    "fedavgm_nesterov": "fedavgm",
    "fedadam": "fedadam",
    "fedyogi": "fedyogi",
    "fedadagrad": "fedadagrad",
    "feddyn": "feddyn",
    "proxskip": "scaffnew",
    "feddyn_code": "feddyn",
    "feddyn_literal": "feddyn",
}
"""The algorithm of each round."""

NOT_FINITE = ("numbers that are not finite",)
NOT_KEPT = "the server's momentum is not kept"
MEAN = "sum(size * y for size, y in zip(sizes, ends)) / sum(sizes)"
SUM = "w + sum(size * (y - w) for size, y in zip(sizes, ends)) / sum(sizes)"
SIZES = "sizes = [len(clients[i]) for i in cohort]"
FEDAVG: tuple[tuple[Any, ...], ...] = (
    ("fedavg_weighted", SIZES, "sizes = [1 for _ in cohort]", "all clients weigh the same"),
    ("fedavg_2017", "sizes.append(len(clients[i]))", "sizes.append(1)", "all clients weigh the same"),
    (
        "fedavg_weighted",
        MEAN,
        "w + sum(size * (y - w) for size, y in zip(sizes, ends)) / sum(map(len, clients))",
        "weights over all clients in place of the cohort",
    ),
    (
        "fedavg_2017",
        "weighted_mean(models, sizes)",
        "weighted_mean(models, sizes, sum(map(len, clients)))",
        "weights over all clients in place of the cohort",
        "def weighted_mean(models: Any, sizes: Any) -> Any:\n    total = float(sum(sizes))",
        "def weighted_mean(models: Any, sizes: Any, total: Any) -> Any:",
    ),
    ("fedavg_weighted", SIZES, "sizes = [len(clients[i]) ** 2 for i in cohort]", "weighted twice"),
    ("fedavg_2017", "size / total * model[name]", "(size / total) ** 2 * model[name]", "weighted twice"),
    ("fedavg_weighted", MEAN, MEAN + " / len(cohort)", "a weighted mean divided by the number of clients"),
    ("fedavg_weighted", MEAN, MEAN.replace("sum(sizes)", "len(cohort)"), "weights that do not add up to 1"),
    (
        "fedavg_weighted",
        MEAN,
        "w + sum(y - w for y in ends) / len(clients)",
        "equal weights over all clients in place of the cohort",
    ),
    (
        "fedavg_2017",
        "        models.append(model)\n        sizes.append(len(clients[i]))",
        "        models, sizes = [model], [1.0]",
        "the last client's end is the result",
    ),
    ("fedavg_weighted", "range(epochs)", "range(epochs - 1)", "one epoch too few"),
    ("fedavg_2017", "range(local_epochs)", "range(local_epochs + 1)", "one epoch too many"),
    ("fedavg_weighted", "range(epochs)", "range(1)", "a single epoch"),
    (
        "fedavg_weighted",
        "order[first : first + batch_size])",
        "order[first : first + batch_size])\n            break",
        "epochs count steps",
    ),
    (
        "fedavg_weighted",
        "range(0, len(client), batch_size)",
        "range(0, len(client) - batch_size + 1, batch_size)",
        "the last batch is left out",
    ),
    ("fedavg_weighted", "w + server_lr * (mean - w)", "mean", "no global step size"),
    ("fedavg_weighted", "gradient(y, order", "gradient(w, order", "local gradients at the server's parameters"),
    (
        "fedavg_weighted",
        MEAN,
        f"{SUM} + sizes[0] / sum(sizes) * (ends[0] - w)",
        "the first client of a cohort has another weight",
    ),
    (
        "fedavg_weighted",
        MEAN,
        f"{SUM} - 0.3 * sizes[-1] / sum(sizes) * (ends[-1] - w)",
        "the last client of a cohort has another weight",
    ),
    (
        "fedavg_weighted",
        MEAN,
        SUM.replace("zip(sizes, ends)", "zip(sizes[1:], ends[1:])"),
        "the first client of a cohort is left out",
    ),
    (
        "fedavg_weighted",
        "    return w + server_lr",
        "    mean[2:] = ends[-1][2:]\n    return w + server_lr",
        "a layer is that of one client",
    ),
    (
        "fedavg_weighted",
        MEAN,
        "(w + sum(ends)) / (1 + len(ends))",
        "the sum is divided by one more than the number of clients",
    ),
    (
        "fedavg_weighted",
        MEAN,
        f"{SUM} * len(cohort) / len(clients)",
        "the average times the share of the clients that take part",
    ),
    (
        "fedavg_weighted",
        "    ends = [train(w, clients[i], rng, lr, epochs, batch_size) for i in cohort]",
        "    rounds = {} if state is None else state\n"
        "    ends = [train(w, clients[i], rng, lr * 0.9 ** rounds.get(i, 0), epochs, batch_size) for i in cohort]\n"
        "    state = {i: rounds.get(i, 0) + (i in cohort) for i in range(len(clients))}",
        "a step size that decays with a client's own rounds",
    ),
)

FEDAVG += (
    (
        "fedavg_weighted",
        "y = y - lr * client.gradient(y, order[first : first + batch_size])",
        "train.buffer = 0.9 * train.buffer + client.gradient(y, order[first : first + batch_size])\n"
        "            y = y - lr * train.buffer",
        "one momentum buffer for all clients",
        "    ends = [train(",
        "    train.buffer = 0.0 * w\n    ends = [train(",
    ),
    (
        "fedavg_weighted",
        "y = y - lr * client.gradient(y, order[first : first + batch_size])",
        "v = 0.9 * v + client.gradient(y, order[first : first + batch_size])\n            y = y - lr * v",
        "local momentum that starts again in each epoch",
        "        for first in",
        "        v = 0.0 * w\n        for first in",
    ),
    (
        "fedavg_weighted",
        "client.gradient(y, order[first : first + batch_size])",
        "client.gradient(y, order[first : first + batch_size]) * len(order[first : first + batch_size]) / batch_size",
        "gradients of a small batch are divided by B",
    ),
    (
        "fedavg_weighted",
        SIZES,
        "sizes = [-(-len(clients[i]) // batch_size) for i in cohort]",
        "weights by numbers of steps",
    ),
    (
        "fedavg_weighted",
        "client.gradient(y, order[first : first + batch_size])",
        "clipped(client.gradient(y, order[first : first + batch_size]))",
        "clipped local gradients",
        "def train(",
        "def clipped(g: Any) -> Any:\n    return g * min(1.0, 0.7 / max((g @ g) ** 0.5, 1e-12))\n\n\ndef train(",
    ),
    ("fedavg_weighted", "w + server_lr * (mean - w)", "server_lr * mean", "the global step size multiplies w"),
    ("fedavg_weighted", "w + server_lr * (mean - w)", "w", "w does not move"),
)
PULL = "mu * (y - w)"
STEP = "y = y - lr * (clients[i].gradient(y) + mu * (y - w))"
PLAIN = "y = y - lr * clients[i].gradient(y)"
FEDPROX: tuple[tuple[Any, ...], ...] = (
    ("fedprox", PULL, "mu * (y - y)", "no proximal term"),
    ("fedprox", PULL, "mu / 2 * (y - w)", "half the proximal term"),
    ("fedprox", PULL, "2 * mu * (y - w)", "twice the proximal term"),
    ("fedprox", PULL, "mu * (w - y)", "the proximal term has the wrong sign"),
    (
        "fedprox",
        PULL,
        "mu / 2 * (y - w) / max(np.linalg.norm(y - w), 1e-300)",
        "the proximal term is not squared",
    ),
    ("fedprox", PULL, "mu * y", "weight decay in place of the proximal term"),
    ("fedprox", PULL, "-mu * w", "half of the proximal term is overwritten"),
    (
        "fedprox",
        STEP,
        PLAIN,
        "the proximal term once, after the local steps",
        "ends.append(y)",
        "ends.append(y - lr * mu * (y - w))",
    ),
    (
        "fedprox",
        STEP,
        PLAIN + "\n            y = y - lr * mu * (y - w)",
        "the proximal step after the gradient step",
    ),
    (
        "fedprox",
        STEP,
        "y = y - lr * clients[i].gradient(y) - mu * (y - w)",
        "the proximal term without the local step size",
    ),
    ("fedprox", "np.mean(ends, axis=0)", "np.sum(ends, axis=0)", "no division"),
    ("fedprox", "range(epochs)", "range(epochs - 1)", "one epoch too few"),
    (
        "fedprox",
        "(y - w))\n        ends.append(y)\n    return np.mean(ends, axis=0), state",
        "(y - state.get(i, w)))\n        ends.append(y)\n"
        "    return np.mean(ends, axis=0), {**state, **dict(zip(cohort, ends))}",
        "the proximal term pulls to the client's last end",
        "    ends = []\n",
        "    state = state or {}\n    ends = []\n",
    ),
    ("fedprox_loss", "mu / 2 * np.sum", "mu * np.sum", "twice the proximal term"),
)

BUFFER = """    y, buffer, counter, norm, tau = w.copy(), np.zeros_like(w), 0.0, 0.0, 0
    for _ in range(epochs):
        order = rng.permutation(len(client))
        for first in range(0, len(client), batch_size):
            buffer = momentum * buffer + client.gradient(y, order[first : first + batch_size])
            y = y - lr * buffer
"""
FEDNOVA: tuple[tuple[Any, ...], ...] = (
    ("fednova", "np.dot(p, norms)", "np.mean(norms)", "tau_eff without weights"),
    ("fednova", "np.dot(p, norms)", "np.sum(norms)", "tau_eff is a sum"),
    ("fednova", "np.dot(p, norms)", "np.max(norms)", "tau_eff is the largest"),
    (
        "fednova",
        BUFFER,
        BUFFER.replace("buffer", "train.buffer").replace("np.zeros_like(w)", "train.buffer"),
        "one momentum buffer for all clients",
        "    directions, norms",
        "    train.buffer = np.zeros_like(w)\n    directions, norms",
    ),
    (
        "fednova",
        "        order = rng",
        "        buffer = np.zeros_like(w)\n        order = rng",
        "local momentum that starts again in each epoch",
    ),
    ("fednova", "w - tau_eff * lr", "w - lr", "no tau_eff"),
    ("fednova", "(lr * norm)", "lr", "no normalisation", "w - tau_eff * lr", "w - lr"),
    ("fednova", "(lr * norm)", "lr", "tau_eff without normalisation"),
    ("fednova", "(lr * norm)", "(lr * norm**2)", "normalised twice"),
    ("fednova", "norm += counter", "norm += 1.0", "normalised by steps, despite momentum"),
    ("fednova", "(lr * norm)", "(lr * tau)", "normalised by steps, despite momentum"),
    ("fednova", "(lr * norm)", "(lr * epochs)", "normalised by epochs"),
    ("fednova", "sizes.append(len(client))", "sizes.append(1.0)", "all clients weigh the same"),
    ("fednova", "sizes.append(len(client))", "sizes.append(_tau)", "weights by numbers of steps"),
    ("fednova_plain", "tau * sizes[i] / total", "tau / len(cohort)", "tau_eff without weights"),
    ("fednova_plain", "y - w) / tau", "y - w)", "tau_eff without normalisation"),
)

VELOCITY = "velocity = momentum * velocity + delta"
FEDAVGM: tuple[tuple[Any, ...], ...] = (
    ("fedavgm", "+ delta", "+ (1 - momentum) * delta", "server momentum as a moving average"),
    ("fedavgm", "return w + server_lr * velocity, velocity", "return w + server_lr * velocity, None", NOT_KEPT),
    (
        "fedavgm",
        "server_lr * velocity,",
        "server_lr * (delta + velocity),",
        "the server's momentum is added to a step already taken",
    ),
    (
        "fedavgm",
        VELOCITY,
        "w = w + server_lr * momentum * velocity\n    velocity = momentum * velocity + delta",
        "the server's momentum without the last average",
        "return w + server_lr * velocity, velocity",
        "return w, velocity",
    ),
    (
        "fedavgm",
        "w + server_lr * velocity, velocity",
        "momentum * w + (1 - momentum) * (w + server_lr * delta), None",
        "1 - beta times the step, without momentum",
    ),
    ("fedavgm", VELOCITY, "velocity = delta - momentum * velocity", "the server's momentum has the wrong sign"),
    ("fedavgm", "+ delta", "+ server_lr * delta", "the global step size twice"),
    ("fedavgm", "float(len(clients[i]))", "1.0", "all clients weigh the same"),
    ("fedavgm_nesterov", "weights /= weights.sum()", "weights /= len(cohort)", "weights that do not add up to 1"),
)
ROOT, FIRST, START = "(np.sqrt(v) + tau)", "m = beta_1 * m + (1 - beta_1) * delta", "np.full_like(w, tau**2)"
CORRECTED = "(m / (1 - beta_1**t)) / (np.sqrt(v / (1 - beta_2**t)) + tau)"
STEP_CORRECTED = "np.sqrt(1 - beta_2 ** (t + 1)) / (1 - beta_1 ** (t + 1)) * m / (np.sqrt(v) + tau)"
SECOND = "v = beta_2 * v + (1 - beta_2) * delta**2"
OVER_STEP = "the average is divided by the local step size"
OF_MULTIPLE = "the optimizer gets a multiple of the average"
FEDOPT: tuple[tuple[Any, ...], ...] = (
    ("fedadam", "m / " + ROOT, CORRECTED, "bias correction"),
    ("fedadam", "m / " + ROOT, STEP_CORRECTED, "bias correction of the step size"),
    ("fedadam", "m / " + ROOT, STEP_CORRECTED, "bias correction of the step size", START, "np.zeros_like(w)"),
    ("fedadam", "m / " + ROOT, CORRECTED, "bias correction, v from 0", START, "np.zeros_like(w)"),
    ("fedadam", ROOT, "np.sqrt(v + tau)", "tau within the root"),
    ("fedadam", ROOT, "np.sqrt(v + tau**2)", "tau within the root"),
    ("fedadam", ROOT, "(v + tau)", "no root of the second moment"),
    ("fedadam", "m / " + ROOT, "delta / " + ROOT, "the average in place of the momentum"),
    ("fedadam", FIRST, "m = beta_1 * m + delta", "the momentum is a sum"),
    ("fedadam", FIRST, f"{FIRST} if t > 1 else delta", "the first round's momentum is the average"),
    ("fedadam", FIRST, "m = (1 - beta_1) * m + beta_1 * delta", "factors of the momentum swapped"),
    ("fedadam", START, "np.zeros_like(w)", "v starts at 0"),
    ("fedadam", START, "np.full_like(w, tau)", "v starts at tau"),
    ("fedadam", START, "np.ones_like(w)", "v starts at 1"),
    ("fedadam", "delta**2", "(w + delta) ** 2", "squares of the parameters"),
    (
        "fedadam",
        "delta = np.mean([train(w, clients[i], rng, lr, epochs, batch_size) for i in cohort], axis=0)",
        "moves = np.array([train(w, clients[i], rng, lr, epochs, batch_size) for i in cohort])\n"
        "    delta = moves.mean(axis=0)",
        "squares of the single differences",
        "delta**2",
        "np.mean(moves**2, axis=0)",
    ),
    ("fedadam", SECOND, "v = v + delta**2", "the second moment of FedAdagrad"),
    (
        "fedadam",
        SECOND,
        "v = v - (1 - beta_2) * delta**2 * np.sign(v - delta**2)",
        "the second moment of FedYogi",
    ),
    (
        "fedadam",
        SECOND,
        "v = beta_1 * v + (1 - beta_1) * delta**2",
        "the two decays swapped",
        FIRST,
        "m = beta_2 * m + (1 - beta_2) * delta",
    ),
    ("fedadam", "w + server_lr", "w - server_lr", "the step has the wrong sign"),
    ("fedadam", SECOND, SECOND.replace("beta_2 *", "np.maximum(v, beta_2 *", 1) + ")", "the largest second moment"),
    (
        "fedadam",
        "m, v, t = (np.zeros_like(w), np.full_like(w, tau**2), 0)",
        "m, v, top, t = (np.zeros_like(w), np.full_like(w, tau**2), 0.0, 0)",
        "the largest second moment",
        "return w + server_lr * m / (np.sqrt(v) + tau), (m, v, t)",
        "top = np.maximum(top, v)\n    return w + server_lr * m / (np.sqrt(top) + tau), (m, v, top, t)",
    ),
    ("fedadam", "for i in cohort], axis=0)", "for i in cohort], axis=0) / lr", OVER_STEP),
    ("fedadam", "for i in cohort], axis=0)", "for i in cohort], axis=0) * 0.7", OF_MULTIPLE),
    ("fedyogi", "np.sign(v - square)", "np.sign(square - v)", "the sign of the second moment", "", "", NOT_FINITE),
    (
        "fedyogi",
        "np.sign(v - square)",
        "np.sign(square - v)",
        "the sign of the second moment",
        "np.sqrt(v)",
        "np.sqrt(np.abs(v))",
    ),
    ("fedyogi", "v = v - (1 - b2) * square * np.sign(v - square)", "v = v + square", "the second moment of FedAdagrad"),
    ("fedyogi", "epsilon**2", "0.0", "v starts at 0"),
    (
        "fedadagrad",
        "+ total / len(cohort)",
        "+ total / len(clients)",
        "equal weights over all clients in place of the cohort",
    ),
    ("fedadagrad", "np.sqrt(v) + tau", "np.sqrt(v + tau)", "tau within the root"),
)

FEDDYN: tuple[tuple[Any, ...], ...] = (
    ("feddyn", "+ alpha * (y - w) - dual[i])", "- dual[i])", "no quadratic term"),
    ("feddyn", "+ alpha * (y - w) -", "+ alpha / 2 * (y - w) -", "half the quadratic term"),
    ("feddyn", "+ alpha * (y - w) -", "- alpha * w -", "the square is missing in the quadratic term"),
    ("feddyn", " - dual[i])", ")", "no linear term"),
    ("feddyn", " - dual[i])", " + dual[i])", "the linear term has the wrong sign"),
    ("feddyn", " - dual[i])", " - alpha * dual[i])", "the linear term is multiplied by alpha"),
    ("feddyn", "dual[i] -= alpha * (y - w)", "dual[i] -= alpha * (w - y)", "the linear term has the wrong sign"),
    ("feddyn", "dual[i] -= alpha * (y - w)", "dual[i] -= y - w", "the client's state without alpha"),
    ("feddyn", "dual[i] -= alpha * (y - w)", "dual[i] = -alpha * (y - w)", "the client's state is replaced"),
    ("feddyn", "        dual[i] -= alpha * (y - w)\n", "", "no linear term"),
    ("feddyn", "/ len(clients)", "/ len(cohort)", "h is divided by |S| in place of n"),
    ("feddyn", "alpha / len(clients) * moved", "alpha * moved", "h moves by the sum"),
    ("feddyn", "- h / alpha", "+ h / alpha", "h has the wrong sign"),
    ("feddyn", "- h / alpha", "- h", "h is not divided by alpha"),
    ("feddyn", "- h / alpha", "", "no server state"),
    ("feddyn", "h = h - alpha", "h = -alpha", "h is not kept"),
    ("feddyn", "- h / alpha", "- sum(dual[i] for i in cohort) / len(cohort) / alpha", "h of the cohort alone"),
    (
        "feddyn",
        "    h = h - alpha / len(clients) * moved\n",
        "    old, h = h, h - alpha / len(clients) * moved\n",
        "h of the round before",
        "- h / alpha",
        "- old / alpha",
    ),
    ("feddyn", "moved / len(cohort)", "moved / len(clients)", "division by n in place of the cohort"),
    ("feddyn", "moved / len(cohort) - h", "0.0 - h", "h is subtracted from w in place of the clients' mean"),
    (
        "feddyn",
        "for i in cohort:",
        "for j, i in enumerate(cohort):",
        "what clients keep is stored by their place in the cohort",
        " - dual[i])\n        dual[i] -=",
        " - dual[j])\n        dual[j] -=",
    ),
    (
        "feddyn",
        "    h = h - alpha",
        "    dual = {i: dual[i] if i in cohort else np.zeros_like(w) for i in dual}\n    h = h - alpha",
        "what absent clients keep is lost",
    ),
    ("feddyn", "range(epochs)", "range(epochs + 1)", "one epoch too many"),
    ("feddyn_code", "np.mean(own, axis=0)", "np.mean(own[cohort], axis=0)", "h of the cohort alone"),
)

PROXSKIP: tuple[tuple[Any, ...], ...] = (
    ("proxskip", "h + p / gamma *", "h + 1 / gamma *", "p is missing in the control variate"),
    ("proxskip", "h + p / gamma *", "h + 1 / (p * gamma) *", "p divides the control variate"),
    ("proxskip", "h + p / gamma *", "h + p *", "the step is missing in the control variate"),
    ("proxskip", "(after - ahead)", "(ahead - after)", "the control variate has the wrong sign"),
    ("proxskip", " - h[i])", " + h[i])", "the control variate has the wrong sign"),
    ("proxskip", " - h[i])", ")", "control variates that are not kept"),
)

FAULTS = (*FEDAVG, *FEDPROX, *FEDNOVA, *FEDAVGM, *FEDOPT, *FEDDYN, *PROXSKIP)
"""All of them."""
