"""Correct rounds of algorithms without privacy, and faults to plant in them: the round, the text that is replaced, the
new text, the expected name, and the same two texts for a second place."""

from __future__ import annotations

__all__ = ["CORRECT", "FAULTS"]

CORRECT = {
    "fedavg_weighted": "fedavg-mcmahan",
    "fedavg_2017": "fedavg-mcmahan",
    "fedprox": "fedprox",
    "fedprox_loss": "fedprox",
    "fednova": "fednova",
    "fednova_plain": "fednova",
}
"""The algorithm of each round."""

MEAN = "sum(size * y for size, y in zip(sizes, ends)) / sum(sizes)"
SIZES = "sizes = [len(clients[i]) for i in cohort]"
FEDAVG: tuple[tuple[str, ...], ...] = (
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
)

PULL = "mu * (y - w)"
STEP = "y = y - lr * (clients[i].gradient(y) + mu * (y - w))"
PLAIN = "y = y - lr * clients[i].gradient(y)"
FEDPROX: tuple[tuple[str, ...], ...] = (
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
    ("fedprox", "np.mean(ends, axis=0)", "np.sum(ends, axis=0)", "no division"),
    ("fedprox", "range(epochs)", "range(epochs - 1)", "one epoch too few"),
    ("fedprox_loss", "mu / 2 * np.sum", "mu * np.sum", "twice the proximal term"),
)

FEDNOVA: tuple[tuple[str, ...], ...] = (
    ("fednova", "np.dot(p, norms)", "np.mean(norms)", "tau_eff without weights"),
    ("fednova", "np.dot(p, norms)", "np.sum(norms)", "tau_eff is a sum"),
    ("fednova", "w - tau_eff * lr", "w - lr", "no tau_eff"),
    ("fednova", "(lr * norm)", "lr", "no normalisation", "w - tau_eff * lr", "w - lr"),
    ("fednova", "(lr * norm)", "lr", "tau_eff without normalisation"),
    ("fednova", "(lr * norm)", "(lr * norm**2)", "normalised twice"),
    ("fednova", "norm += counter", "norm += 1.0", "normalised by steps, despite momentum"),
    ("fednova", "(lr * norm)", "(lr * tau)", "normalised by steps, despite momentum"),
    ("fednova", "(lr * norm)", "(lr * epochs)", "normalised by epochs"),
    ("fednova", "sizes.append(len(client))", "sizes.append(1.0)", "all clients weigh the same"),
    ("fednova", "sizes.append(len(client))", "sizes.append(tau)", "weights by numbers of steps"),
    ("fednova_plain", "tau * sizes[i] / total", "tau / len(cohort)", "tau_eff without weights"),
    ("fednova_plain", "y - w) / tau", "y - w)", "tau_eff without normalisation"),
)

FAULTS = (*FEDAVG, *FEDPROX, *FEDNOVA)
"""All of them."""
