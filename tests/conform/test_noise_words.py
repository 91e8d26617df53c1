"""What a report says about noise and privacy is true: the epsilon, the name of the noise, and the alternatives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dpfl_theory
from dpfl_theory.conform.comparisons.noise_linearity import APART
from dpfl_theory.conform.comparisons.other_noise import PARTLY, TWICE
from dpfl_theory.conform.result import Conformance

UNKNOWN = "this test knows no finite epsilon"


def clip(u: Any, c: Any) -> Any:
    return u * min(1.0, c / max(float(np.linalg.norm(u)), 1e-300))


def update(w: Any, client: Any, lr: float, epochs: int) -> Any:
    y = w
    for _ in range(epochs):
        y = y - lr * client.gradient(y)
    return y - w


def answered(round: Any, as_: str, **given: Any) -> tuple[list[str], str, Conformance]:
    found = dpfl_theory.conform(round, as_, runs=0, **given)
    names = [fault.name for fault in found.faults if fault.name != "more than the declared sensitivity"]
    return names, str(found.privacy.get("told")), found


def adaptive(
    count: float = 1.0,
    split: bool = True,
    first: bool = False,
    late: bool = False,
    damped: bool = False,
    ahead: bool = False,
) -> Any:
    """Adaptive clipping. count: of sigma_b; first: noise at the first threshold; late: updates are counted after they
    are clipped; damped: momentum with 1 - beta; ahead: noise at the next threshold."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any,
        *, lr: Any, eta_s: Any, E: Any, C: Any, beta: Any, gamma: Any, eta_C: Any, sigma_b: Any, z: Any,
    ) -> Any:  # fmt: skip
        level, v = (C, np.zeros_like(w)) if state is None else state
        share = (z**-2 - (2.0 * sigma_b) ** -2) ** -0.5 if split else z
        updates = [update(w, clients[i], lr, E) for i in cohort]
        sent = [clip(u, level) for u in updates]
        counted = (np.linalg.norm(u) <= level * (1.0 + 1e-9) for u in (sent if late else updates))
        b = (sum(counted) + (rng.normal(0.0, count * sigma_b) if count else 0.0)) / len(cohort)
        moved = level * np.exp(-eta_C * (b - gamma))
        mean = (sum(sent) + rng.normal(0.0, share * (C if first else moved if ahead else level), w.shape)) / len(cohort)
        v = beta * v + (1.0 - beta if damped else 1.0) * mean
        return w + eta_s * v, (moved, v)

    return round


def test_the_epsilon_of_adaptive_clipping_includes_the_count() -> None:
    names, told, found = answered(adaptive(), "dp-fedavg-adaptive")
    assert names == []
    assert found.privacy["epsilon"] == pytest.approx(found.privacy["epsilon_claimed"], rel=1e-6)
    names, told, found = answered(adaptive(split=False), "dp-fedavg-adaptive")
    assert names == ["the count's noise is not in the split"]
    assert found.privacy["epsilon"] > found.privacy["epsilon_claimed"]
    names, told, found = answered(adaptive(count=0.0), "dp-fedavg-adaptive")
    assert names == ["a count without noise"]
    assert found.privacy["epsilon"] is None
    assert "no finite epsilon holds" in told


def test_noise_that_does_not_follow_the_threshold() -> None:
    names, told, _ = answered(adaptive(first=True), "dp-fedavg-adaptive")
    assert names == ["noise that does not follow the threshold"]
    assert UNKNOWN in told


@pytest.mark.parametrize("late", [False, True])
def test_noise_of_the_next_threshold_does_not_depend_on_the_data_but_through_the_count(late: bool) -> None:
    names, told, found = answered(adaptive(ahead=True, late=late), "dp-fedavg-adaptive")
    name = "noise of the next round's threshold"
    assert set(names) == {name, *(["updates are counted after they are clipped"] if late else [])}
    (one,) = (one for one in found.faults if one.name == name)
    assert one.private
    assert "too little in a round whose threshold falls" in one.description
    assert UNKNOWN in told


def test_counted_after_clipping_with_dampened_momentum() -> None:
    names, _, _ = answered(adaptive(late=True, damped=True), "dp-fedavg-adaptive")
    assert sorted(names) == [
        "momentum of the average in place of its sum",
        "updates are counted after they are clipped",
    ]


def two_sided(noise: Any, before: bool = False, level: Any = None) -> Any:
    """DP-FedAvg with this noise on the sum, or on each update before it is clipped. level: of the updates' lengths."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, Q: Any, c: Any, z: Any
    ) -> Any:
        r, updates = len(cohort), [update(w, clients[i], lr, Q) for i in cohort]
        c = c if level is None else level(c, [np.linalg.norm(u) for u in updates])
        if before:
            return w + server_lr * sum(clip(u + noise(rng, z, c / r**0.5, len(w)), c) for u in updates) / r, state
        return w + server_lr * (sum(clip(u, c) for u in updates) + noise(rng, z, c, len(w))) / r, state

    return round


def plain(rng: Any, z: Any, c: Any, d: int) -> Any:
    return rng.normal(0.0, z * c, d)


def on_some(rng: Any, z: Any, c: Any, d: int) -> Any:
    noise = rng.normal(0.0, z * c, d)
    noise[1] = noise[3] = 0.0
    return noise


def repeated(rng: Any, z: Any, c: Any, d: int) -> Any:
    return z * c * np.resize(rng.normal(0.0, 1.0, d - 2), d)


@pytest.mark.parametrize(
    ("round", "name", "told"),
    [
        (two_sided(plain, before=True), "noise before clipping", UNKNOWN),
        (two_sided(lambda rng, z, c, d: rng.laplace(0.0, z * c, d)), "Laplace noise", UNKNOWN),
        (two_sided(on_some), PARTLY, "no finite epsilon holds"),
        (two_sided(repeated), TWICE, "no finite epsilon holds"),
        (
            two_sided(plain, level=lambda c, lengths: min(c, np.median(lengths))),
            "clip level from data: the median of the lengths",
            UNKNOWN,
        ),
    ],
    ids=["before clipping", "Laplace", "some coordinates", "the same numbers", "the median"],
)
def test_no_epsilon_where_the_accounting_does_not_hold(round: Any, name: str, told: str) -> None:
    names, said, found = answered(round, "dp-fedavg-two-sided")
    assert name in names
    assert "another round" not in names
    assert told in said
    assert found.privacy["epsilon"] is None


def test_noise_that_follows_no_power_of_the_multiplier() -> None:
    cast = two_sided(lambda rng, z, c, d: rng.normal(0.0, int(z) * c, d))
    _, _, found = answered(cast, "dp-fedavg-two-sided")
    assert "not to a power of noise_multiplier" in found.faults[0].description


def ftrl(tree: bool) -> Any:
    """Fresh noise on the noisy sum of each round; or a tree whose prefixes are added in each round."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any,
        *, lr: Any, server_lr: Any, E: Any, C: Any, restart: Any, z: Any, round_number: Any,
    ) -> Any:  # fmt: skip
        new = state is None or round_number % restart == 0
        total = sum(clip(update(w, clients[i], lr, E), C) for i in cohort)
        noise = rng.normal(0.0, z * C, w.shape)
        if not tree:
            base, before = (w, 0.0 * w) if new else state
            return base + server_lr * (before + total + noise) / len(cohort), (base, before + total)
        nodes, t = ({}, 1) if new else (dict(state[0]), state[1] + 1)
        low = (t & -t).bit_length() - 1
        nodes = {j: node for j, node in nodes.items() if j > low} | {low: noise}
        return w + server_lr * (total + sum(nodes.values())) / len(cohort), (nodes, t)

    return round


@pytest.mark.parametrize(
    ("tree", "name"),
    [(False, "fresh noise in place of a tree"), (True, "the noise of prefixes in place of its differences")],
)
def test_noise_of_sums_and_prefixes(tree: bool, name: str) -> None:
    names, told, found = answered(ftrl(tree), "dp-ftrl")
    assert names == [name]
    assert (UNKNOWN in told) is not tree
    words = found.faults[0].evidence.replace(",", "").split()
    assert words[words.index("is") + 1] != words[words.index("and") + 1]  # the numbers show the difference


def test_each_setting_may_show_one_of_two_mistakes_in_the_noise() -> None:
    """A tree of one round has no other nodes that are drawn again, and one tree has no restart."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any,
        *, lr: Any, server_lr: Any, E: Any, C: Any, restart: Any, z: Any, round_number: Any,
    ) -> Any:  # fmt: skip
        base, before = (w, 0.0 * w) if state is None else state
        total = before + sum(clip(update(w, clients[i], lr, E), C) for i in cohort)
        nodes = (round_number % restart + 1).bit_count()
        noise = sum(rng.normal(0.0, z * C, w.shape) for _ in range(nodes))
        return base + server_lr * (total + noise) / len(cohort), (base, total)

    names, _, _ = answered(round, "dp-ftrl")
    assert names == ["nodes that are drawn again", "the noise of earlier trees is lost at a restart"]


def test_later_noise_is_compared_in_the_setting_that_is_named() -> None:
    """With one local step the later noise is too small, and with several it depends on the earlier noise."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, E: Any, C: Any, z: Any
    ) -> Any:
        sent = sum(clip(update(w, clients[i], lr, E), C) for i in cohort)
        first, before = (True, 0.0) if state is None else (False, state)
        noise = rng.normal(0.0, z * C, w.shape) * (1.0 if first or E > 1 else 0.3)
        return w + server_lr * (sent + noise - (0.5 * before if E > 1 else 0.0)) / len(cohort), noise

    names, _, found = answered(round, "dp-fedavg-mcmahan", cohort=3, sampling="fixed")
    assert names == ["noise that changes with the rounds"]
    assert found.faults[0].private
    assert "later it differs with noise_multiplier = 0.6: it has less fresh noise" in found.faults[0].description


def local(weighted: bool) -> Any:
    """Local privacy with noisy messages that are weighted by records; or one noise on the mean."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, E: Any, C: Any, z: Any
    ) -> Any:
        sent = [clip(update(w, clients[i], lr, E), C) for i in cohort]
        if not weighted:
            return w + server_lr * (sum(sent) / len(sent) + rng.normal(0.0, z * C, w.shape)), state
        sizes = np.array([len(clients[i]) for i in cohort], float)
        return w + server_lr * sum(
            a * (u + rng.normal(0.0, z * C, w.shape)) for a, u in zip(sizes / sizes.sum(), sent)
        ), state

    return round


def test_the_pairs_differ_in_the_client_that_counts_most() -> None:
    """The last client's message is lost, whose epsilon is 0: that of another one is reported."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, Q: Any, c: Any, z: Any
    ) -> Any:
        sent = [clip(update(w, clients[i], lr, Q), c) for i in cohort]
        return w + server_lr * (sum(sent[:-1]) + rng.normal(0.0, z * c, w.shape)) / len(cohort), state

    names, _, found = answered(round, "dp-fedavg-two-sided")
    assert names == ["the last client of a cohort is left out"]
    assert found.privacy["epsilon"] == pytest.approx(found.privacy["epsilon_claimed"], rel=1e-6)


def test_weights_of_noisy_messages() -> None:
    names, told, found = answered(local(True), "dp-fedavg-local")
    assert names == ["weights by numbers of records"]
    assert "this changes the average, and neither the noise nor the privacy of a message" in found.faults[0].description
    assert "towards those who see w alone" in told


def test_one_noise_is_none_of_each_message() -> None:
    names, _, found = answered(local(False), "dp-fedavg-local")
    assert names == ["the same noise for all clients"]
    assert "or to their average" in found.faults[0].description


def test_a_factor_that_follows_the_cohort_belongs_to_the_name() -> None:
    """The sum and its noise are divided by |S|, and the noise has another size, too."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, eta: Any, beta: Any, E: Any, C: Any, r: Any, z: Any
    ) -> Any:
        total = sum((clip(-update(w, clients[i], eta, E) / eta, C) for i in cohort), 0.0 * w)
        return w - beta * (total + 0.37 * z * rng.normal(0.0, 1.0, w.shape)) / max(1, len(cohort)), state

    names, _, found = answered(round, "dp-fedavg")
    assert "sum and noise divided by |S| in place of r" in names
    assert not any("no observation separates" in fault.description for fault in found.faults)


def test_the_median_of_two_is_no_alternative_to_their_mean() -> None:
    def round(w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, epochs: Any) -> Any:
        kept = list(cohort)[:-1] if len(cohort) > 1 else list(cohort)
        return w + np.mean([update(w, clients[i], lr, epochs) for i in kept], axis=0), state

    names, _, _ = answered(round, "fedavg-mcmahan")
    assert "all clients weigh the same" in names


def test_noise_that_depends_on_the_round_before() -> None:
    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, Q: Any, c: Any, z: Any
    ) -> Any:
        new = rng.normal(0.0, z * c, w.shape)
        noise = new if state is None else new + 0.5 * state
        return w + server_lr * (sum(clip(update(w, clients[i], lr, Q), c) for i in cohort) + noise) / len(cohort), new

    names, told, found = answered(round, "dp-fedavg-two-sided")
    assert names == [APART]
    assert UNKNOWN in told
    assert "it depends on them in another way" in found.faults[0].description


@pytest.mark.parametrize("weighted", [False, True])
def test_one_noise_vector_for_all_clients_is_not_said_to_be_divided(weighted: bool) -> None:
    """Weights by records do not hide that no noise is divided by |S|."""

    def one_round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: Any, server_lr: Any, E: Any, C: Any, z: Any
    ) -> Any:
        noise = rng.normal(0.0, z * C, w.shape)
        sent = [clip(update(w, clients[i], lr, E), C) + noise for i in cohort]
        sizes = [len(clients[i]) if weighted else 1 for i in cohort]
        return w + server_lr * np.average(sent, axis=0, weights=sizes), state

    weights = ["weights by numbers of records"] if weighted else []
    names, _, _ = answered(one_round, "dp-fedavg-local")
    assert names == [*weights, "the same noise for all clients"]
    names, _, found = answered(one_round, "dp-fedavg-two-sided")
    assert names == [*weights, "noise of the sum on the average"]
    assert "another that all messages have one noise vector of this size" in found.faults[len(weights)].description


def test_the_numbers_of_another_noise_have_its_factor() -> None:
    """The noise is compared with that of the round with the other deviations, in the factor and in the numbers."""

    def one_round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, gamma: Any, beta: Any, alpha: Any, sigma: Any
    ) -> Any:
        g, v = ([0.0 * w for _ in clients], 0.0 * w) if state is None else (list(state[0]), state[1])
        for i in cohort:
            u = clients[i].gradient(w) - g[i]
            u = beta * u / (alpha + np.linalg.norm(u))
            g[i], v = g[i] + u, v + (u + rng.normal(0.0, sigma, w.shape)) / len(clients)
        return w - gamma * v, (g, v)

    names, _, found = answered(one_round, "dp-norm-ec")
    assert names == ["the server does not normalise", "another noise"]
    said, seen = found.faults[-1].description, found.faults[-1].evidence
    factors = re.search(r"is ([\d.]+) to ([\d.]+) times", said)
    numbers = re.search(r"is ([\d.]+) in a round, and ([\d.]+) without this deviation", seen)
    assert factors is not None
    assert numbers is not None
    one, other = map(float, numbers.groups())
    assert one / other in [pytest.approx(float(factor), rel=1e-3) for factor in factors.groups()]
