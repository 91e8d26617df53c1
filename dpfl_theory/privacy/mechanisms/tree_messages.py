"""Sums of all messages so far, with the noise of a binary tree (DP-FTRL)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from dpfl_theory.privacy.events import Event, gaussian
from dpfl_theory.privacy.mechanisms.base import Mechanism, multiplies, parameter


def tree_sensitivity(rounds: int, restart: int, participations: int, separation: int) -> float:
    """A bound of the norm of the nodes' change when a client's messages of norm 1 are left out.

    A round's prefix uses the new node of 2^h rounds that ends there, where 2^h is the largest power of 2 that divides
    the round's number in its tree. The client is in at most c_h = min(k, ceil(2^h/b)) rounds of such a node, of which
    there are m_h, and in k rounds altogether. So the squares of its numbers of rounds have a sum of at most

        sum_h c_h min(k, m_h c_h)

    This is the largest one for k = 1, and where the client takes part in all rounds of one tree.

    >>> [round(tree_sensitivity(n, n, 1, 1) ** 2, 6) for n in (1, 2, 7, 8)]  # the height of the tree
    [1.0, 2.0, 3.0, 4.0]
    """
    trees, rest = divmod(rounds, restart)
    total = 0
    for h in range(min(rounds, restart).bit_length()):
        size = 2**h
        count = sum(times * ((length // size + 1) // 2) for times, length in ((trees, restart), (1, rest)))
        cap = min(participations, -(-size // separation))
        total += cap * min(participations, count * cap)
    return math.sqrt(total)


def pattern_sensitivity(rounds: int, restart: int, taken: Sequence[int]) -> float:
    """The norm of the nodes' change when a client's messages of norm 1 in these rounds, from 1, are left out.

    >>> pattern_sensitivity(8, 8, [1]) ** 2, round(pattern_sensitivity(8, 8, [1, 4]) ** 2, 6)
    (4.0, 10.0)
    """
    so_far = list(itertools.accumulate((k in taken for k in range(1, rounds + 1)), initial=0))
    total = 0
    for k in range(1, rounds + 1):
        place = (k - 1) % restart + 1
        total += (so_far[k] - so_far[k - (place & -place)]) ** 2
    return math.sqrt(total)


PATTERNS = 32
"""The most rounds of a first participation that are tried for a lower limit."""


@cache
def worst_pattern(rounds: int, restart: int, participations: int, separation: int) -> float:
    """The largest `pattern_sensitivity` of the most participations at the least distance, from some first rounds."""
    length = (participations - 1) * separation + 1
    last = rounds - length
    starts = {1 + last * j // (PATTERNS - 1) for j in range(PATTERNS)}
    return max(pattern_sensitivity(rounds, restart, range(one, one + length, separation)) for one in starts)


@dataclass(frozen=True, kw_only=True)
class TreeMessages(Mechanism):
    r"""The sum of the messages of rounds 1 to k for every k, each with the noise of at most log2 k + 1 nodes a tree.

    ``noise_multiplier`` is that of one node: its noise has standard deviation :math:`z C` for zero-out, :math:`2 z C`
    for replace. All releases together are one Gaussian mechanism (Denisov et al. 2022 for messages that depend on
    earlier releases). Its sensitivity is at most `tree_sensitivity`. Cohorts need not be random: nothing is amplified.

    >>> TreeMessages(noise_multiplier=4.0, rounds=15, participations=1).event().forward  # 4 nodes: 4/sqrt(4)
    FullParticipation(z=2.0)
    """

    protects = "client"
    noise_added_by = "server"
    fixed = {"noise": "average", "sampling": "full", "view": "third-party"}  # noqa: RUF012

    restart: int | None = parameter("rounds of a tree, after which another one begins; by default one tree", "count")
    participations: int | None = parameter(
        "the most rounds k in which a client takes part; by default as many as fit", "count"
    )
    separation: int = parameter("the fewest rounds b from one participation of a client to its next", "count", 1)
    relation: str = parameter(
        "neighbouring relation of client data", default="zero-out", choices=("zero-out", "replace")
    )

    def _participations(self) -> int:
        most = -(-self.count("rounds") // self.separation)
        return most if self.participations is None else min(most, self.participations)

    def event(self) -> Event:
        rounds = self.count("rounds")
        moved = tree_sensitivity(rounds, self.restart or rounds, self._participations(), self.separation)
        return gaussian(self.value("noise_multiplier") / moved)

    def attacks(self) -> tuple[tuple[Event, float], ...]:
        """A client that takes part as often and as close together as it may."""
        rounds = self.count("rounds")
        most = worst_pattern(rounds, self.restart or rounds, self._participations(), self.separation)
        return ((gaussian(self.value("noise_multiplier") / most), 0.0),)

    def sigma(self, clip: float) -> dict[str, float]:
        return {"sigma_of_a_node": self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)}

    def setting(self) -> dict[str, str]:
        replaced = self.relation == "replace"
        kind = "are other ones of norm at most C" if replaced else "are zero instead, and the noise stays"
        often = "every round" if self.rounds is None else f"at most {self._participations()} rounds"
        tree = "one tree" if self.restart is None else f"a new tree after {self.restart} rounds"
        return {
            "unit": "one client, with all of its data",
            "neighbours": f"{self.relation}: one client's messages {kind}",
            "multiplier": multiplies(self.noise_multiplier, "each node of the tree", replaced),
            "sampling": f"none: a client takes part in {often}, {self.separation} or more rounds apart",
            "observer": "third party: sees the sum of all messages so far after each round, but no single message",
            "noise": f"once by a trusted server for each node of a binary tree over the rounds; {tree}",
        }

    def notes(self) -> tuple[str, ...]:
        return ("Random cohorts bring nothing: what counts is how often, and how close together, a client takes part.",)
