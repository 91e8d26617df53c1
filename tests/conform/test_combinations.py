"""Rounds as shipped: several deviations at once are all named, and those that are declared are not reported."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from dpfl_theory import conform
from dpfl_theory.conform.result import Conformance
from dpfl_theory.errors import InputError

Round = Callable[..., tuple[Any, Any]]


def descended(
    w: Any, client: Any, lr: float, K: int, extra: Mapping[str, float], first: Any = None, correction: Any = 0.0
) -> tuple[Any, Any]:
    """The end of local steps with the usual options of an optimizer, and its momentum buffer."""
    y, v = w.copy(), first
    for k in range(K):
        g = client.gradient(y)
        g = g * min(1.0, extra.get("clip_gradient", np.inf) / np.linalg.norm(g))
        g = g + correction + extra.get("weight_decay", 0.0) * y + extra.get("proximal", 0.0) * (y - w)
        beta = extra.get("momentum", 0.0)
        v = g if v is None else beta * v + g
        step = g + beta * v if extra.get("nesterov") else v
        y = y - lr * extra.get("step_decay", 1.0) ** k * step
    return y, v


def weights_of(kind: str, clients: Sequence[Any], cohort: Any) -> Any:
    sizes = np.array([len(clients[i]) for i in cohort], dtype=float)
    everyone = sum(len(client) for client in clients)
    return {"equal": np.ones(len(cohort)) / len(cohort), "records": sizes / sizes.sum(), "all": sizes / everyone}[kind]


def averaging(weights: str = "equal", factor: float | None = None, kept: bool = False, **extra: float) -> Round:
    """FedAvg with two step sizes, and these options."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
    ) -> Any:
        number, buffers = (0, {}) if state is None else state
        total, buffers = np.zeros_like(w), dict(buffers)
        for share, i in zip(weights_of(weights, clients, cohort), cohort):
            first = buffers.get(int(i)) if kept else None
            y, buffers[int(i)] = descended(
                w, clients[i], lr * extra.get("lr_decay", 1.0) ** number, epochs, extra, first
            )
            total += share * (y - w)
        return w + (server_lr if factor is None else factor) * total, (number + 1, buffers)

    return round


def scaffold(weights: str = "equal", over: str = "n", initial: str = "zero", **extra: float) -> Round:
    """SCAFFOLD with these options."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
    ) -> Any:
        c, own = (np.zeros_like(w), {}) if state is None else state
        own, moved, total = dict(own), np.zeros_like(w), np.zeros_like(w)
        for share, i in zip(weights_of(weights, clients, cohort), cohort):
            c_i = own.get(int(i), np.zeros_like(w))
            y, _ = descended(w, clients[i], lr, epochs, extra, None, c - c_i)
            own[int(i)] = c_i - c + (w - y) / (epochs * lr)
            moved += own[int(i)] - c_i
            total += share * (y - w)
        return w + server_lr * total, (c + moved / (len(clients) if over == "n" else len(cohort)), own)

    return round


MOMENTUM, DECAY = "momentum in the local steps", "weight decay in the local steps"
RECORDS, ALL = "weights by numbers of records", "weights over all clients in place of the cohort"
PROXIMAL, WITHIN = "a proximal term in the local steps", "a step size that decays within a round"
PER_ROUND, NO_STEP = "a step size that decays with the rounds", "no global step size"
OVER = "server's control variate over the cohort"
TWO = "fedavg-two-sided"
SHIPPED: list[tuple[Round, str, set[str]]] = [
    (averaging("records", momentum=0.9), TWO, {RECORDS, MOMENTUM}),
    (averaging("records", 1.0, momentum=0.85, weight_decay=0.003), TWO, {RECORDS, MOMENTUM, DECAY, NO_STEP}),
    (averaging("records", lr_decay=0.97), TWO, {RECORDS, PER_ROUND}),
    (averaging("all", momentum=0.5, lr_decay=0.9), TWO, {ALL, MOMENTUM, PER_ROUND}),
    (averaging(momentum=0.9, kept=True), TWO, {"local momentum that is kept between rounds"}),
    (averaging(momentum=0.9, nesterov=1.0, weight_decay=0.01), TWO, {MOMENTUM, DECAY}),
    (averaging(proximal=0.05, step_decay=0.9), TWO, {PROXIMAL, WITHIN}),
    (scaffold("records", over="cohort"), "scaffold", {RECORDS, OVER}),
    (scaffold("records", over="cohort", momentum=0.9), "scaffold", {RECORDS, OVER, MOMENTUM}),
]


def test(round: Round, as_: str | None, **keywords: Any) -> Conformance:
    return conform(round, as_, runs=0, **keywords)


test.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize(("round", "as_", "names"), SHIPPED)
def test_all_deviations_are_named(round: Round, as_: str, names: set[str]) -> None:
    found = test(round, as_)
    assert {one.name for one in found.faults} == names


def test_numbers_of_deviations_are_found() -> None:
    said = " ".join(one.description for one in test(averaging(momentum=0.37, weight_decay=0.0123), TWO).faults)
    assert "b = 0.37:" in said
    assert "0.0123 times" in said


def test_declared_variations_conform() -> None:
    meant = {"weights": "records", "momentum": 0.9, "lr-decay": 0.97}
    meant = {name.replace("-", "_"): value for name, value in meant.items()}
    round = averaging("records", momentum=0.9, lr_decay=0.97)
    assert test(round, TWO, variations=meant).verdict == "conforms"
    other = test(round, TWO, variations={**meant, "momentum": 0.8})
    assert other.verdict == "differs"


def test_the_order_of_declared_variations_does_not_matter() -> None:
    meant = {"weight_decay": 0.01, "clip_gradient": 1.5, "momentum": 0.9}
    round = averaging(weight_decay=0.01, clip_gradient=1.5, momentum=0.9)  # optimizers add the decay after the clipping
    assert test(round, TWO, variations=meant).verdict == "conforms"
    assert test(round, TWO, variations=dict(reversed(meant.items()))).verdict == "conforms"
    assert {one.name for one in test(round, TWO).faults} == {"clipped local gradients", DECAY, MOMENTUM}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"wieghts": "records"}, "did you mean 'weights'"),
        ({"weights": "heavy"}, "give records or all-records"),
        ({"momentum": -1}, "give a positive number"),
    ],
)
def test_variations_that_do_not_exist_are_refused(given: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        test(averaging(), TWO, variations=given)


def batched(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
) -> Any:
    """Epochs of shuffled batches of two records."""
    ends = []
    for i in cohort:
        y = w.copy()
        for _ in range(epochs):
            order = rng.permutation(len(clients[i]))
            for first in range(0, len(order), 2):
                y = y - lr * clients[i].gradient(y, order[first : first + 2])
        ends.append(y - w)
    return w + server_lr * np.mean(ends, axis=0), state


def dropping(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
) -> Any:
    """Only the first two members take part."""
    total = sum(descended(w, clients[i], lr, epochs, {})[0] - w for i in cohort[:2])
    return w + server_lr * total / len(cohort[:2]), state


@pytest.mark.parametrize(
    ("round", "name", "option"),
    [
        (batched, "local steps on batches of records", "batches"),
        (dropping, "members of the cohort that do not take part", "dropouts"),
    ],
)
def test_choices_of_the_function_are_observed(round: Round, name: str, option: str) -> None:
    assert [one.name for one in test(round, TWO).faults] == [name]
    assert test(round, TWO, variations={option: "own"}).verdict == "conforms"


def unreliable(
    decay: float = 0.0,
    power: int = 1,
    noise: Callable[..., Any] | None = None,
    epoch_counts: bool = False,
    **more: float,
) -> Round:
    """Members that drop out at random, or take a random number of epochs; and a step size lr/(1 + decay k^power)."""

    def round(
        w: Any,
        state: Any,
        clients: Any,
        cohort: Any,
        rng: Any,
        *,
        lr: float,
        server_lr: float,
        epochs: int,
        round_number: int,
    ) -> Any:
        ends = []
        for i in cohort:
            many = int(rng.integers(1, epochs + 1)) if epoch_counts else epochs
            if epoch_counts or rng.random() >= 0.3:
                ends.append(descended(w, clients[i], lr / (1.0 + decay * round_number**power), many, more)[0] - w)
        added = noise(rng, w.shape) if noise else 0.0
        return (w + server_lr * (np.mean(ends, axis=0) + added) if ends else w), state

    return round


def test_random_drop_outs_are_compared_round_by_round() -> None:
    """A declared choice of the function is known in each round, and not in samples of the algorithm."""
    meant = {"variations": {"dropouts": "own"}}
    assert test(unreliable(), TWO, **meant).verdict == "conforms"
    (one,) = test(unreliable(decay=0.1), TWO, **meant).faults
    assert one.name == "a step size that decays with the rounds"
    assert test(unreliable(decay=0.3), TWO, variations={"dropouts": "own", "inverse_decay": 0.3}).conforms
    (one,) = test(unreliable(decay=0.1, power=3), TWO, **meant).faults
    assert one.name == "another round"
    assert "the first round of every path agrees with the algorithm, but not all later rounds" in one.description
    assert test(unreliable(momentum=0.9), TWO, **meant).faults[0].name == MOMENTUM


@pytest.mark.slow
def test_random_drop_outs_do_not_end_the_search_for_the_nearest_algorithm() -> None:
    found = test(unreliable(), None)
    assert [one.name for one in found.faults] == ["members of the cohort that do not take part"]
    assert any("the nearest of" in note for note in found.notes)


def test_a_random_number_of_epochs_is_no_batch_where_the_algorithm_has_batches() -> None:
    found = test(unreliable(epoch_counts=True), "fedavg-mcmahan")
    assert "clients with numbers of local steps of their own" in {one.name for one in found.faults}
    assert "batches" not in " ".join(one.name for one in found.faults)


def test_declared_drop_outs_are_not_compared_by_samples() -> None:
    """The reference has no samples of the function's drop-outs, and its round without members does not move."""

    def uniform(rng: Any, shape: Any) -> Any:
        return 1e-3 * rng.uniform(-1.0, 1.0, shape)

    found = test(unreliable(noise=uniform), TWO, variations={"dropouts": "own"})
    assert found.verdict == "undecided"
    assert found.faults == ()
    assert "perhaps from rng.random or rng.uniform or a generator" in found.notes[0]
    assert "so nothing was compared" in found.notes[0]


def in_batches(many: Callable[[int, int], int], momentum: float = 0.0) -> Round:
    """Epochs with this number of batches of a client, by its number of records and the size of a batch."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int, B: int
    ) -> Any:
        sizes, ends = [len(clients[i]) for i in cohort], []
        for size, i in zip(sizes, cohort):
            y, v, batch = w.copy(), 0.0 * w, B or size
            for _ in range(epochs):
                order = rng.permutation(size)
                for k in range(many(size, batch)):
                    v = momentum * v + clients[i].gradient(y, order[k * batch : (k + 1) * batch])
                    y = y - lr * v
            ends.append(y - w)
        return w + server_lr * np.average(ends, axis=0, weights=sizes), state

    return round


def counted_twice(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
) -> Any:
    """The sum of the clients' ends starts with the first one, to which all of them are added."""
    ends = [descended(w, clients[i], lr, epochs, {})[0] for i in cohort]
    return w + server_lr * ((ends[0] + sum(ends)) / (len(ends) + 1) - w), state


def test_a_client_that_is_counted_twice_is_not_taken_for_the_server() -> None:
    found = test(counted_twice, "fedavg-mcmahan").faults
    assert {one.name for one in found} == {
        "the sum is divided by one more than the number of clients",
        "the first client of a cohort has another weight",
    }
    (divided,) = (one for one in found if one.name.startswith("the sum is divided"))
    assert "a client is counted twice, which is then a deviation of its own" in divided.description
    assert "w is averaged with the clients' ends" in divided.description


def regularised(
    w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, alpha: float
) -> Any:
    """FedDyn with weights by records."""
    h, duals = (0.0 * w, [0.0 * w for _ in clients]) if state is None else (state[0], list(state[1]))
    ends = []
    for i in cohort:
        y = w
        for _ in range(epochs):
            y = y - lr * (clients[i].gradient(y) - duals[i] + alpha * (y - w))
        duals[i] = duals[i] - alpha * (y - w)
        ends.append(y)
    h = h - alpha / len(clients) * sum(y - w for y in ends)
    return np.average(ends, axis=0, weights=[len(clients[i]) for i in cohort]) - h / alpha, (h, duals)


def test_the_advice_on_weights_leads_to_a_round_that_conforms() -> None:
    """An algorithm that does more than average is not compared with a plain average."""
    (one,) = test(regularised, "feddyn").faults
    assert one.name == RECORDS
    assert one.description.endswith("declare it as the variation weights=records where you mean it")
    assert test(regularised, "feddyn", variations={"weights": "records"}).verdict == "conforms"
    (one,) = test(averaging("records"), TWO).faults
    assert one.description.endswith("compare it with fedavg-mcmahan")
    assert test(averaging("records"), "fedavg-mcmahan").verdict == "conforms"


DROPPED = {
    "drop-last": (lambda records, batch: records // batch, "a client with fewer than B records takes no step"),
    "drop-last-of-several": (
        lambda records, batch: max(1, records // batch),
        "a client with fewer than B records takes a batch of all of them",
    ),
}


@pytest.mark.parametrize("option", DROPPED)
def test_a_last_batch_that_is_left_out_is_named_and_can_be_declared(option: str) -> None:
    many, sentence = DROPPED[option]
    (one,) = test(in_batches(many), "fedavg-mcmahan").faults
    assert one.name == "the last batch is left out"
    assert sentence in one.description
    assert f"batches={option} where you mean it" in one.description
    both = {fault.name for fault in test(in_batches(many, 0.9), "fedavg-mcmahan").faults}
    assert both == {"the last batch is left out", "momentum in the local steps"}
    for other in DROPPED:
        verdict = test(in_batches(many), "fedavg-mcmahan", variations={"batches": other}).verdict
        assert (verdict == "conforms") == (other == option)


def test_epochs_without_a_last_batch_need_an_algorithm_with_epochs_of_batches() -> None:
    with pytest.raises(InputError, match="has no batches in its round"):
        test(averaging(), TWO, variations={"batches": "drop-last"})


def test_numbers_of_batches_of_their_own_are_compared_with_those_of_the_algorithm() -> None:
    """The algorithm has batches itself, and clients with different numbers of them."""
    (one,) = test(in_batches(lambda records, batch: min(2, -(-records // batch))), "fedavg-mcmahan").faults
    assert one.name == "clients with numbers of local steps of their own"
    assert "ceil(n_k/B)" in one.description
    assert "one number for all" not in one.description


def test_the_nearest_algorithm_is_found() -> None:
    found = test(scaffold(), None)
    assert (found.algorithm, found.verdict) == ("scaffold", "conforms")
    found = test(scaffold("records"), None)
    assert (found.algorithm, [one.name for one in found.faults]) == ("scaffold", [RECORDS])
    assert any("the nearest of" in note for note in found.notes)


def test_what_explains_only_the_local_steps_is_said() -> None:
    def odd(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, server_lr: float, epochs: int
    ) -> Any:
        total = sum(descended(w, clients[i], lr, epochs, {"momentum": 0.9})[0] - w for i in cohort)
        return w + server_lr * np.sign(total) * np.abs(total) ** 0.7, state

    (one,) = test(odd, TWO).faults
    assert one.name == "another round"
    assert "the local steps agree, given 'momentum in the local steps'" in one.description


def test_a_deviation_chooses_the_algorithm_that_needs_no_other() -> None:
    """Weights by records belong to one algorithm and are a deviation from another."""

    def round(
        w: Any, state: Any, clients: Any, cohort: Any, rng: Any, *, lr: float, epochs: int, server_lr: float
    ) -> Any:
        sizes = np.array([len(clients[i]) for i in cohort])
        total = np.zeros_like(w)
        for size, i in zip(sizes / sizes.sum(), cohort):
            total += size * -lr * epochs * clients[i].gradient(w)
        return w + server_lr * total, state

    found = conform(round, runs=0)
    assert found.algorithm == "fedavg-mcmahan"
    assert [fault.name for fault in found.faults] == ["local gradients at the server's parameters"]
    assert "B" not in found.assumed
    (line,) = [n for _, n in found.faults[0].lines if "gradient" in linecache.getline(__file__, n)]
    assert "epochs * clients[i].gradient(w)" in linecache.getline(__file__, line)
