"""The data of noble2022: the generator of Appendix D.2, the similarity split of real data, and held-out records.

Both are softmax regression with ridge on training records, together with each client's held-out records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

import numpy as np

from dpfl_theory.core.parameter import Meaning
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.linear import LinearData
from dpfl_theory.problems import parameters as p
from dpfl_theory.problems.base import Array, Problem
from dpfl_theory.problems.data import load
from dpfl_theory.problems.linear_model import LinearModel, linear_data
from dpfl_theory.problems.partition import similarity
from dpfl_theory.problems.preparation import standardised
from dpfl_theory.problems.synthetic import Parts, noisy_labels
from dpfl_theory.problems.validation import count, fraction, nonnegative

__all__ = ["EXAMPLES", "FAMILIES", "Split", "similarity_split", "synthetic_split"]


@dataclass(frozen=True, eq=False)
class Split:
    """A training problem and the held-out records of the same clients, prepared in the same way.

    train: softmax regression on the training records;  test: the held-out records, client i's in rows
    offsets[i]:offsets[i+1], features as in ``train.data``.
    """

    train: LinearModel
    test: LinearData


def _held_out(sizes: Sequence[int], test_share: float, rng: np.random.Generator) -> tuple[Parts, Parts]:
    """For each client the positions of its training and of its held-out records, drawn at random."""
    share = fraction("test_share", test_share)
    train: Parts = []
    test: Parts = []
    for i, size in enumerate(sizes):
        held = round(share * size)
        if not 0 < held < size:
            raise InputError(
                f"client {i} has {size} records, of which test_share = {test_share} holds out {held}: "
                "give more records or another share, so that both parts have some"
            )
        order = rng.permutation(size)
        test.append(np.sort(order[:held]))
        train.append(np.sort(order[held:]))
    return train, test


def _split(
    x: Array,
    y: Array,
    clients: Parts,
    classes: int,
    ridge: float,
    test_share: float,
    bias: bool,
    rng: np.random.Generator,
    name: str,
) -> Split:
    """Hold out a share of each client's records, prepare all of them, and make the two parts."""
    inside, outside = _held_out([len(own) for own in clients], test_share, rng)
    train = [own[keep] for own, keep in zip(clients, inside)]
    test = [own[keep] for own, keep in zip(clients, outside)]
    x = standardised(x, np.concatenate(train), unit=True, bias=bias)
    data = linear_data(x, y, train, "softmax", ridge=ridge, classes=classes)
    held = linear_data(x, y, test, "softmax", ridge=ridge, classes=classes)
    return Split(LinearModel(data, name), held)


def _generate(
    clients: int, records: int, features: int, classes: int, alpha: float, beta: float, label_noise: float, seed: int
) -> tuple[Array, Array]:
    """The records of Appendix D.2 before any preparation: x (clients * records, features) and labels, by client."""
    rng = np.random.default_rng(seed)
    deviation = np.arange(1.0, features + 1.0) ** -0.6  # Sigma_jj = j^-1.2 is a variance
    x = np.empty((clients, records, features))
    y = np.empty((clients, records), dtype=np.int64)
    for i in range(clients):
        weights = np.sqrt(alpha) * rng.standard_normal((features, classes)) + rng.standard_normal((features, classes))
        bias = np.sqrt(alpha) * rng.standard_normal(classes) + rng.standard_normal(classes)
        centre = np.sqrt(beta) * rng.standard_normal(features) + rng.standard_normal(features)
        x[i] = centre + deviation * rng.standard_normal((records, features))
        y[i] = np.argmax(x[i] @ weights + bias, axis=1)
    return x.reshape(-1, features), noisy_labels(y.ravel(), classes, label_noise, rng)


def synthetic_split(
    clients: p.Clients = 100,
    records: p.Records = 5000,
    features: p.Features = 40,
    classes: p.Classes = 10,
    alpha: Annotated[float, Meaning("variance of the differences between the clients' models")] = 0.0,
    beta: Annotated[float, Meaning("variance of the differences between the clients' features")] = 0.0,
    ridge: p.Ridge = 5e-3,
    test_share: p.TestShare = 0.2,
    label_noise: p.LabelNoise = 0.05,
    seed: p.Seed = 0,
) -> Split:
    """The synthetic data of noble2022 Appendix D.2, split into training and held-out records of each client.

    Client i's true model is ``argmax(W_i^T x + b_i)`` with ``W_i ~ N(u_i, I)``, ``u_i ~ N(0, alpha I)`` (features,
    classes) and ``b_i ~ N(u'_i, I)``, ``u'_i ~ N(0, alpha I)``; its records are ``x ~ N(v_i, Sigma)``,
    ``Sigma_jj = j^-1.2``, ``v_i ~ N(B_i, I)``, ``B_i ~ N(0, beta I)``. alpha and beta multiply the identity: they are
    variances. Labels are replaced by one of the others with probability label_noise. Then, as Section 5 says, a share
    of each client's records is held out, features are standardised and each record is scaled to length one.

    Where the text is incomplete or garbled: the covariance of B_i is printed ``nu I`` and read as beta, which Section 5
    names as its parameter and D.2 does not use otherwise; means and deviations are those of all clients' training
    records together (one client's own would remove v_i, and beta with it); the bias of the model is a column of ones,
    appended after the scaling, so rows have length sqrt(2). Li et al. 2020a draw one number u_i for each client; here,
    as printed, every entry has its own. **As printed, alpha does not matter**: (W_i, b_i) is sqrt(1 + alpha) times a
    standard normal draw, independent over clients, and the largest logit does not depend on that factor. So records and
    labels have the same distribution for every alpha (nor would one number for all classes change the largest logit).
    records: per client, before the split; d = classes * (features + 1).

    Raises InputError for counts below one, alpha or beta < 0, and a share that leaves a client without records.

    >>> split = synthetic_split(clients=3, records=50, features=4, classes=3, alpha=1.0, beta=1.0)
    >>> split.train.n, split.train.d, split.train.data.x.shape, split.test.x.shape
    (3, 15, (120, 5), (30, 5))
    """
    clients, records = count("clients", clients), count("records", records)
    features, classes = count("features", features), count("classes", classes, 2)
    alpha, beta, seed = nonnegative("alpha", alpha), nonnegative("beta", beta), count("seed", seed, 0)
    x, y = _generate(clients, records, features, classes, alpha, beta, label_noise, seed)
    parts = np.split(np.arange(clients * records), clients)
    name = f"softmax, noble2022 D.2, alpha {alpha:g}, beta {beta:g}"
    rng = np.random.default_rng([seed, 1])  # its own stream, so that the split does not depend on the records
    return _split(x, y, parts, classes, ridge, test_share, True, rng, name)


def similarity_split(
    data: p.Data = "digits",
    clients: p.Clients = 10,
    percent: p.Percent = 10.0,
    records: Annotated[int | None, Meaning("records of each client, a random choice; all without it")] = None,
    features: p.Columns = None,
    ridge: p.Ridge = 5e-3,
    test_share: p.TestShare = 0.2,
    bias: p.Bias = True,
    seed: p.Seed = 0,
) -> Split:
    """Real data over clients by gamma-percent similarity, split and prepared as in noble2022 Section 5.

    data: ``digits``, ``breast-cancer``, or a LIBSVM or NPZ file. percent: the share of each client's records that is
    i.i.d., the rest is sorted by label. records: the number of each client's records before the split (a random choice;
    by default all are used). features: a number of leading principal components, taken before the preparation, or a
    list of columns. The preparation is that of ``synthetic_split``.

    Raises InputError when the data have too few records, and for every input that the data's loader refuses.

    >>> split = similarity_split(clients=5, percent=0, features=3)
    >>> split.train.d, split.test.clients, len(split.train.data.x) + len(split.test.x)
    (40, 5, 1797)
    """
    found = load(data, standardise=False, bias=False, features=features)
    clients, seed = count("clients", clients), count("seed", seed, 0)
    rng = np.random.default_rng([seed, 1])
    x, y = found.x, found.y
    if records is not None:
        wanted = clients * count("records", records)
        if wanted > len(x):
            raise InputError(
                f"{clients} clients with {records} records need {wanted}, and {found.name!r} has {len(x)}: use fewer"
            )
        chosen = np.sort(rng.permutation(len(x))[:wanted])
        x, y = x[chosen], y[chosen]
    parts = similarity(y, clients, percent, seed)
    name = f"softmax on {found.name}, {percent:g}% similarity"
    return _split(x, y, parts, found.classes, ridge, test_share, bias, rng, name)


def _training(split: Callable[..., Split]) -> Callable[..., Problem]:
    """The training problem of a split, with the same parameters."""

    @wraps(split)
    def problem(*arguments: Any, **parameters: Any) -> Problem:
        return split(*arguments, **parameters).train

    return problem


FAMILIES: dict[str, Callable[..., Problem]] = {
    "softmax-noble2022": _training(synthetic_split),
    "softmax-noble2022-data": _training(similarity_split),
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "softmax-noble2022": [
        {"clients": 3, "records": 40, "features": 3, "classes": 3, "alpha": 1.0, "beta": 1.0},
        {"clients": 2, "records": 25, "features": 2, "classes": 4, "ridge": 0.0, "label_noise": 0.3, "test_share": 0.4},
    ],
    "softmax-noble2022-data": [{"clients": 4, "percent": 0.0, "features": 2, "records": 60}],
}
