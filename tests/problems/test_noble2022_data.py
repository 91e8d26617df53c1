"""The data of noble2022: the generator's distribution, the split, the preparation, and the similarity partition.

Statistical tests compare means over many independent draws with limits at 6 standard errors; each has a false-alarm
rate below 1e-8 and is seeded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from short_forms import fedavg

from dpfl_theory import problems
from dpfl_theory.errors import InputError
from dpfl_theory.problems import whitened
from dpfl_theory.problems.data import load
from dpfl_theory.problems.noble2022 import (
    Split,
    _generate,
    _held_out,
    similarity_split,
    synthetic_split,
)
from dpfl_theory.problems.risk import global_risk
from dpfl_theory.problems.whitened import Whitened
from dpfl_theory.simulation import simulate
from dpfl_theory.simulation.metrics import accuracy

SMALL: dict[str, Any] = {"clients": 4, "records": 50, "features": 5, "classes": 3, "alpha": 1.0, "beta": 2.0}


def client_rows(split: Split, i: int) -> np.ndarray:
    d = split.train.data
    return np.asarray(d.x[d.offsets[i] : d.offsets[i + 1]])


@pytest.mark.parametrize("beta", [0.0, 3.0])
def test_records_have_the_stated_moments(beta: float) -> None:
    """Within a client coordinate j has variance j^-1.2; the clients' means have variance 1 + beta."""
    clients, records, features = 400, 50, 6
    x, _ = _generate(clients, records, features, 2, 0.0, beta, 0.0, seed=3)
    x = x.reshape(clients, records, features)
    inside = x.var(axis=1, ddof=1)  # (clients, features), each with mean j^-1.2 and relative variance 2/(records - 1)
    expected = np.arange(1, features + 1) ** -1.2
    error = expected * math.sqrt(2.0 / (records - 1) / clients)
    assert np.all(np.abs(inside.mean(axis=0) - expected) < 6.0 * error)
    means = x.mean(axis=1)
    spread = 1.0 + beta + expected / records
    assert np.all(np.abs(means.var(axis=0) - spread) < 6.0 * spread * math.sqrt(2.0 / clients))


@pytest.mark.parametrize("alpha", [0.0, 4.0])
def test_labels_are_linear_within_a_client_and_independent_between_clients(alpha: float) -> None:
    """Two classes: a client's labels are nearly the sign of a linear fit, and the fits of two clients agree on common
    records half of the time."""
    rng = np.random.default_rng(0)
    agreement = []
    for seed in range(60):
        x, y = _generate(2, 400, 3, 2, alpha, 0.0, 0.0, seed=seed)
        slopes = []
        for own in (slice(0, 400), slice(400, 800)):
            design = np.hstack([x[own], np.ones((400, 1))])
            weights = np.linalg.lstsq(design, 2.0 * y[own] - 1.0, rcond=None)[0]
            assert np.mean((design @ weights > 0.0) == (y[own] > 0.5)) > 0.85
            slopes.append(weights[:3])
        probe = rng.standard_normal((500, 3))
        if all(np.linalg.norm(v) > 1e-9 for v in slopes):
            agreement.append(float(np.mean((probe @ slopes[0] > 0.0) == (probe @ slopes[1] > 0.0))))
    assert abs(np.mean(agreement) - 0.5) < 6.0 * 0.5 / math.sqrt(len(agreement))


def test_alpha_changes_draws_but_not_their_distribution() -> None:
    """As printed, (W_i, b_i) is sqrt(1 + alpha) times a standard normal draw, independent over clients, and the largest
    logit does not depend on that factor: statistics of the labels at alpha = 0 and alpha = 99 agree."""
    plain, same = (_generate(3, 50, 4, 3, alpha, 1.0, 0.0, seed=5) for alpha in (0.0, 99.0))
    np.testing.assert_array_equal(plain[0], same[0])  # the records do not depend on alpha
    assert np.any(plain[1] != same[1])
    for statistic in (
        lambda y: np.array([np.bincount(row.astype(int), minlength=3).max() / 20 for row in y]),  # the largest class
        lambda y: np.array([len(np.unique(row)) / 3 for row in y]),  # how many classes a client has
    ):
        found = [
            statistic(_generate(600, 20, 3, 3, alpha, 1.0, 0.0, seed=seed)[1].reshape(600, 20))
            for alpha, seed in ((0.0, 6), (99.0, 7))
        ]
        error = math.sqrt(sum(v.var() / len(v) for v in found))
        assert abs(found[0].mean() - found[1].mean()) < 6.0 * error


def test_label_noise_is_the_probability_of_a_change() -> None:
    clean = _generate(10, 2000, 3, 4, 1.0, 1.0, 0.0, seed=7)
    noisy = _generate(10, 2000, 3, 4, 1.0, 1.0, 0.05, seed=7)
    np.testing.assert_array_equal(clean[0], noisy[0])
    changed = clean[1] != noisy[1]
    assert abs(changed.mean() - 0.05) < 6.0 * math.sqrt(0.05 * 0.95 / 20000)
    other = (noisy[1] - clean[1])[changed] % 4  # 1, 2, 3 equally often
    counts = np.bincount(other.astype(int), minlength=4)[1:] / changed.sum()
    assert np.all(np.abs(counts - 1 / 3) < 6.0 * math.sqrt(2 / 9 / changed.sum()))


def test_split_sizes_and_labels() -> None:
    split = synthetic_split(**SMALL)
    train, test = split.train.data, split.test
    assert (train.clients, test.clients) == (4, 4)
    np.testing.assert_array_equal(np.diff(train.offsets), 40)
    np.testing.assert_array_equal(np.diff(test.offsets), 10)
    assert split.train.d == 3 * 6
    assert train.ridge == 5e-3
    assert set(np.unique(np.concatenate([train.y, test.y]))) <= {0.0, 1.0, 2.0}


def test_every_record_is_on_one_side_only() -> None:
    """The raw labels and directions reappear: together the two sides are the generated records, in each client."""
    _, y = _generate(4, 50, 5, 3, 1.0, 2.0, 0.05, seed=0)
    split = synthetic_split(**SMALL)
    train, test = split.train.data, split.test
    for i in range(4):
        own = slice(50 * i, 50 * (i + 1))
        sides = [d.y[d.offsets[i] : d.offsets[i + 1]] for d in (train, test)]
        np.testing.assert_array_equal(np.sort(np.concatenate(sides)), np.sort(y[own]))
        rows = np.vstack([d.x[d.offsets[i] : d.offsets[i + 1]] for d in (train, test)])
        assert len(np.unique(rows.round(12), axis=0)) == 50


def test_preparation_uses_the_training_part_only() -> None:
    """Rows have length one and a bias; the means and deviations are those of the training records, redone here."""
    split = synthetic_split(**SMALL)
    for d in (split.train.data, split.test):
        np.testing.assert_allclose(np.linalg.norm(d.x[:, :-1], axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(d.x[:, -1], 1.0)
    x, _ = _generate(4, 50, 5, 3, 1.0, 2.0, 0.05, seed=0)
    inside, outside = _held_out([50] * 4, 0.2, np.random.default_rng([0, 1]))
    train = np.concatenate([50 * i + own for i, own in enumerate(inside)])
    test = np.concatenate([50 * i + own for i, own in enumerate(outside)])
    scaled = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    np.testing.assert_allclose(split.train.data.x[:, :-1], scaled[train], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(split.test.x[:, :-1], scaled[test], rtol=1e-10, atol=1e-12)


def test_beta_separates_the_clients_after_preparation() -> None:
    """Pooled standardisation keeps what beta does: clients' mean directions are farther apart than at beta = 0."""

    def spread(beta: float) -> float:
        split = synthetic_split(**{**SMALL, "clients": 40, "features": 20, "beta": beta})
        means = np.stack([client_rows(split, i)[:, :-1].mean(axis=0) for i in range(40)])
        return float(np.mean(np.linalg.norm(means, axis=1)))

    assert spread(50.0) > spread(0.0) + 0.05


def test_the_minimiser_is_right_on_held_out_records() -> None:
    """The two parts have the same features, labels and clients: accuracy by hand, and far above chance, 1/3."""
    split = synthetic_split(**SMALL)
    w_star = split.train.constants.w_star
    assert w_star is not None
    w = np.vstack([np.random.default_rng(1).standard_normal((3, split.train.d)), w_star])
    measured = [accuracy(split.test)]
    run = simulate(fedavg(0.1), split.train, 1, len(w), observe=measured, start=w, series=True, device="cpu")
    found = run["test-accuracy"].every_round[0]
    t = split.test
    for k in range(len(w)):
        by_hand = []
        for i in range(t.clients):
            own = slice(t.offsets[i], t.offsets[i + 1])
            scores = t.x[own] @ w[k].reshape(3, -1).T
            by_hand.append(np.mean(scores.argmax(axis=1) == t.y[own]))
        assert found[k] == pytest.approx(np.mean(by_hand), rel=1e-12)
    assert found[-1] > 0.6


def test_similarity_split_of_digits() -> None:
    sorted_split, mixed = similarity_split(percent=0.0, clients=10), similarity_split(percent=100.0, clients=10)
    for split in (sorted_split, mixed):
        assert len(split.train.data.x) + len(split.test.x) == 1797
        np.testing.assert_allclose(
            np.sum(split.train.data.x[:, :-1] ** 2, axis=1), 1.0, rtol=1e-12
        )  # no digit is constant zero
    classes = [
        [len(np.unique(s.train.data.y[a:b])) for a, b in zip(s.train.data.offsets[:-1], s.train.data.offsets[1:])]
        for s in (sorted_split, mixed)
    ]
    assert max(classes[0]) <= 3
    assert min(classes[1]) == 10


def test_similarity_split_takes_a_number_of_records_and_files(tmp_path: Any) -> None:
    split = similarity_split(clients=6, percent=10.0, records=100, features=8, test_share=0.3)
    np.testing.assert_array_equal(np.diff(split.train.data.offsets), 70)
    np.testing.assert_array_equal(np.diff(split.test.offsets), 30)
    assert split.train.data.x.shape[1] == 9
    rng = np.random.default_rng(2)
    path = tmp_path / "own.npz"
    np.savez(path, x=rng.standard_normal((60, 4)), y=rng.integers(0, 2, 60))
    own = similarity_split(str(path), clients=3, percent=50.0, bias=False)
    assert own.train.d == 8
    assert own.train.constants.w_star is not None
    with pytest.raises(InputError, match="use fewer"):
        similarity_split(str(path), clients=3, records=21)
    with pytest.raises(InputError, match="does not fit"):
        similarity_split("diabetes")


def test_a_constant_column_and_a_zero_row_stay_zero(tmp_path: Any) -> None:
    x = np.ones((40, 2))
    x[:, 0] = np.arange(40) % 2
    path = tmp_path / "flat.npz"
    np.savez(path, x=x, y=np.arange(40) % 2)
    split = similarity_split(str(path), clients=2, percent=100.0)
    assert np.all(np.isfinite(split.train.data.x))
    assert np.all(split.train.data.x[:, 1] == 0.0)
    assert load(str(path), standardise=False).x.shape == (40, 3)


def test_the_family_is_the_training_part_and_repeats() -> None:
    problem = problems.make("softmax-noble2022", **SMALL)
    again = synthetic_split(**SMALL).train
    other = synthetic_split(**SMALL, seed=1).train
    w = np.linspace(-1.0, 1.0, problem.d)
    assert problem.value(w) == again.value(w) == synthetic_split(**SMALL).train.value(w)
    assert problem.value(w) != other.value(w)
    assert problem.constants.mu_f == 5e-3
    assert problem.constants.L_max <= 0.5 * 2.0 + 5e-3 + 1e-12  # rows have squared length 2


def test_hessians_of_many_records_are_formed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of any size add up to the same Hessian; the default is larger than the tests' problems."""
    white = Whitened(global_risk(synthetic_split(**SMALL).train.data))
    q = np.linspace(-1.0, 1.0, white.size)
    whole = white.hessian(white.curvature(q))
    for block in (1, 7, 160):
        monkeypatch.setattr(whitened, "_RECORDS", block)
        np.testing.assert_allclose(white.hessian(white.curvature(q)), whole, rtol=1e-12, atol=1e-14)


def test_few_hessians_certify_a_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method keeps a Hessian while it serves: at full size a new one costs a hundred gradients."""
    formed = 0
    form = Whitened.hessian

    def counted(self: Whitened, curvature: np.ndarray) -> np.ndarray:
        nonlocal formed
        formed += 1
        return form(self, curvature)

    monkeypatch.setattr(Whitened, "hessian", counted)
    problem = synthetic_split(clients=10, records=200, features=10, classes=5, beta=1.0).train
    constants = problem.constants
    assert formed <= 5 * 11  # f and ten clients
    w_star = constants.w_star
    assert w_star is not None
    assert np.linalg.norm(problem.gradient(w_star)) < 1e-13
    assert constants.certificates["f_star"].error < 1e-11


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"beta": math.nan}, "beta"),
        ({"test_share": 0.0}, "both parts"),
        ({"test_share": 1.5}, "test_share"),
        ({"records": 2}, "both parts"),
        ({"classes": 1}, "classes"),
        ({"label_noise": 2.0}, "label_noise"),
    ],
)
def test_refusals(change: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        synthetic_split(**{**SMALL, **change})
