"""DP-FTRL with tree aggregation: Kairouz et al. 2021, Algorithm 1 without momentum, on clipped differences of clients.

The server's vector is that of the noisy sum of all messages so far, for the first round k = 1 and a cohort S_k:

    w_k = w_0 + (eta_s/r) (sum_{j <= k} sum_{i in S_j} clip(Delta_i, C) + N_k)

N_k adds up the noise of the nodes that cover rounds 1 to k in a binary tree. Each node has N(0, (z C)^2 I), drawn once;
where a client is replaced, twice this standard deviation.
Let 2^h be the largest power of 2 that divides k. The node of the rounds k - 2^h + 1 to k is new, and N_k is N_{k - 2^h}
and its noise. After ``restart`` rounds another tree begins, and the noise of the earlier ones stays in the sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfl_theory.algorithms.central import Central, third_party
from dpfl_theory.algorithms.faults import known, noise_fault
from dpfl_theory.core.algorithm import Extends, Setting
from dpfl_theory.core.parameter import Parameter

ONE_TREE = 2**16
"""The most rounds of a tree, and the default."""


def zeros(number: int) -> int:
    """The exponent of the largest power of 2 that divides a number.

    >>> [zeros(k) for k in (1, 2, 3, 4, 12)]
    [0, 1, 0, 2, 2]
    """
    return (number & -number).bit_length() - 1


ALL = "all clients in place of the cohort"
EVERYONE = (
    "all clients take part, whoever is in the cohort, so that accounting for fewer participations of a client does not "
    "hold"
)
OWN = (
    noise_fault(
        "the noise of prefixes in place of its differences",
        "each round adds the noise of the whole prefix, so that the noise of all prefixes adds up: a round should add "
        "N_k - N_(k-1), for example where the noisy sum itself is taken",
        seen="google-research/federated, issue 30",
        added=lambda a, o, before, after: after,
    ),
    noise_fault(
        "the noise of prefixes in place of its differences",
        "each round adds the noise of the whole prefix, so that the noise of all prefixes of a tree adds up: a round "
        "should add N_k - N_(k-1), for example where the noisy sum itself is taken",
        seen="google-research/federated, issue 30",
        added=lambda a, o, before, after: after,
        begun=lambda a, o, nodes: tuple(o.zero for _ in nodes),
    ),
    noise_fault(
        "fresh noise in place of a tree",
        "the noisy sum of each round has new noise N(0, (z C)^2 I) that is independent of all earlier ones: a tree "
        "keeps the noise of its nodes. A message is in the sums of all later rounds, so that an average of these has "
        "less noise, and the accounting of a tree does not cover it",
        private=True,
        unaccounted=True,
        prefix=lambda a, o, nodes, place, fresh: nodes[-1] + fresh,
    ),
    noise_fault(
        "independent noise in each round",
        "each round adds a new node's noise and none is taken back: this is DP-SGD, whose noise in the sum grows with "
        "the number of rounds, and whose accounting is another one",
        prefix=lambda a, o, nodes, place, fresh: nodes[0] + fresh,
    ),
    noise_fault(
        "nodes that are drawn again",
        "the noise of all nodes of a prefix is drawn in every round: a node's noise must stay the same, or averages of "
        "rounds cancel it",
        private=True,
        unaccounted=True,
        prefix=lambda a, o, nodes, k, new: nodes[-1] + new + o.gaussian(a.deviation(o) * (k.bit_count() - 1) ** 0.5),
    ),
    noise_fault(
        "a tree without restart",
        "one tree is used for all rounds, though it should restart: a client of several trees is then in more nodes of "
        "one tree than is accounted for",
        private=True,
        unaccounted=True,
        place=lambda a, o: int(o.number) + 1,
    ),
    noise_fault(
        "the noise of earlier trees is lost at a restart",
        "the noise of the earlier trees is taken out of the sum at a restart, so that their rounds' messages are "
        "released without it: it must stay",
        seen="google-research/DP-FTRL, issue 2",
        private=True,
        unaccounted=True,
        begun=lambda a, o, nodes: tuple(o.zero for _ in nodes),
    ),
    noise_fault(
        "a tree that begins one round late",
        "the first round has the number 0 in the tree, whose prefix has no node: it gets no noise",
        private=True,
        place=Extends(lambda inner, a, o: inner(o) - 1),
    ),
)


class DPFTRL(Central):
    """DP-FTRL: FedAvg with noise that cancels over the rounds, by a binary tree. The state is N at the last multiples
    of 1, 2, 4, ... rounds, each divided by r."""

    name = "dp-ftrl"
    title = "DP-FTRL with tree aggregation"
    source = "Kairouz et al. 2021 Algorithm 1"
    samplings = ("fixed", "poisson")
    relations = ("zero-out", "replace")
    mechanism = "TreeMessages"
    noise_rounds = 3

    restart = Parameter(
        *("restart", "rounds of a tree"),
        kind="count",
        aliases=("restart_frequency", "tree_restart", "restart_every"),
        default=float(ONE_TREE),
        trials=(ONE_TREE, 1),
        shared=True,
    )

    amplified = False
    released_again = (
        ". A message stays in the sums of later rounds: in one tree of T rounds, one participation costs "
        "sqrt(floor(log2 T) + 1) times this mu"
    )

    def releases(self, setting: Setting) -> dict[str, Any]:
        restart = min(self.restart or ONE_TREE, ONE_TREE)
        return {"relation": third_party(self.name, setting).relation, "restart": restart, "rounds": setting.rounds}

    def initial(self, o: Any, w: Any) -> Any:
        return (o.zero,) * (ONE_TREE.bit_length() + 1)

    def place(self, o: Any) -> int:
        """The number of the round in its tree, from 1."""
        return int(int(o.number) % min(self.restart, ONE_TREE)) + 1

    def begun(self, o: Any, nodes: Any) -> Any:
        """The state at the beginning of another tree."""
        return tuple(nodes[0] for _ in nodes)

    def prefix(self, o: Any, nodes: Any, place: int, fresh: Any) -> Any:
        """The noise of the prefix, with a new node's noise."""
        return nodes[zeros(place) + 1] + fresh if place else nodes[0]

    def added(self, o: Any, before: Any, after: Any) -> Any:
        """The noise that a round adds, by the noises of the prefixes."""
        return after - before

    def step(self, o: Any, members: Any, updates: Any) -> Any:
        """The average and the noise of the new node."""
        total = o.sum(members, self.messages(o, updates), lambda i: self.weight(o, i, members))
        return self.after(o, total / self.divisor(o, members)), self.noise(o, members)

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        average, fresh = step
        place = self.place(o)
        nodes = self.begun(o, state) if place == 1 else state
        now = self.prefix(o, nodes, place, fresh)
        last = zeros(place) if place else -1
        after = tuple(now if j <= last else node for j, node in enumerate(nodes))
        return self.move(o, w, average + self.added(o, state[0], now)), after

    faults = known(
        *OWN,
        *(
            replace(one, description=EVERYONE, private=False) if one.name == ALL else one
            for one in Central.faults()
            if not {"server", "now", "step"} & one.parts.keys()
        ),
    )
