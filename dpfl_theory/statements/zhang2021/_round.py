"""One round of DP-FedAvg on scalar quadratics with stochastic gradients, in rational arithmetic: everything that the
steps of zhang2021's proof speak of.

With a threshold c all noise paths of a client (`_clients`) are enumerated; without one the moments are known in closed
form, for any Q. Cohorts are enumerated.

Samplings: ``without`` replacement (P_t is a subset of [N], as in Algorithm 3); ``anew``: P independent draws, and a
client that is drawn twice runs twice; ``shared``: the same, but it runs once and counts twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from dpfl_theory.statements.claims import Values
from dpfl_theory.statements.model import Statement
from dpfl_theory.statements.zhang2021._clients import Client, Moments, Path, mean_square, shifted

__all__ = ["SAMPLINGS", "ScalarRound", "rounds"]

F = Fraction
SAMPLINGS = ("without", "anew", "shared")


class ScalarRound:
    """A round from x.

    instance: q, m (one each per client, as texts), x, Q, ``eta Q L`` or eta_l, eta_g, P, sampling, c (absent: no
    clipping), noise s, law, sigma (deviation of the privacy noise), L (absent: the largest |q_i|).
    """

    def __init__(self, instance: Mapping[str, Any]) -> None:
        self.clients = tuple(Client(F(q), F(m)) for q, m in zip(instance["q"], instance["m"], strict=True))
        self.x, self.Q, self.P = F(instance["x"]), int(instance["Q"]), int(instance["P"])
        self.N = len(self.clients)
        self.L = F(instance.get("L", max(abs(client.q) for client in self.clients)))
        if any(abs(client.q) > self.L for client in self.clients) or not 1 <= self.P <= self.N:
            raise ValueError("L is no smoothness constant of every client, or P is not a number of clients")
        self.eta = F(instance["eta_l"]) if "eta_l" in instance else F(instance["eta Q L"]) / (self.Q * self.L)
        self.eta_g = F(instance.get("eta_g", 1))
        self.sampling = str(instance.get("sampling", "without"))
        if self.sampling not in SAMPLINGS:
            raise ValueError(f"sampling {self.sampling!r} is none of {SAMPLINGS}")
        self.c = F(instance["c"]) if "c" in instance else None
        self.s, self.sigma = F(instance.get("noise", 0)), F(instance.get("sigma", 0))
        self.law = str(instance.get("law", "even"))

    @cached_property
    def factors(self) -> tuple[tuple[Fraction, ...], Fraction]:
        """alpha~_i of every client, and their mean."""
        sums = [client.sums(self.x, self.eta, self.Q, self.s)[0].first for client in self.clients]
        found = tuple(F(1) if self.c is None else self.c / max(self.c, self.eta * abs(total)) for total in sums)
        return found, sum(found, F(0)) / self.N

    @cached_property
    def _paths(self) -> tuple[tuple[Path, ...], ...]:
        return tuple(tuple(k.paths(self.x, self.eta, self.Q, self.s, self.law)) for k in self.clients)

    @property
    def longest(self) -> Fraction:
        """The length of the longest stochastic gradient."""
        return max(path.longest for paths in self._paths for path in paths)

    def alpha(self, path: Path) -> Fraction:
        """The factor alpha_i of one local phase."""
        return F(1) if self.c is None else self.c / max(self.c, self.eta * abs(path.total))

    def moments(self, kind: str) -> list[Moments]:
        """Of each client's update: ``clipped`` Delta, ``known`` Delta~ (times alpha~), ``common`` (times alpha-bar),
        ``local`` (alpha-bar times the gradients without noise), ``first`` Delta - Delta~, ``second`` Delta~ - common,
        ``sum`` (the gradients without noise, summed)."""
        known, mean = self.factors
        found = []
        for i, client in enumerate(self.clients):
            if self.c is None or kind not in ("clipped", "first"):
                noisy, plain = client.sums(self.x, self.eta, self.Q, self.s)
                of, factor = {
                    "clipped": (noisy, F(1)),
                    "known": (noisy, known[i]),
                    "common": (noisy, mean),
                    "local": (plain, mean),
                    "first": (noisy, F(0)),
                    "second": (noisy, known[i] - mean),
                    "sum": (plain, -1 / self.eta),
                }[kind]
                scale = -self.eta * factor
                found.append(Moments(scale * of.first, scale**2 * of.second))
                continue
            first = second = F(0)
            for path in self._paths[i]:
                factor = self.alpha(path) - (known[i] if kind == "first" else 0)
                sent = -self.eta * path.total * factor
                first, second = first + path.probability * sent, second + path.probability * sent**2
            found.append(Moments(first, second))
        return found

    def _cohorts(self) -> list[tuple[int, ...]]:
        if self.sampling == "without":
            return list(itertools.combinations(range(self.N), self.P))
        return list(itertools.product(range(self.N), repeat=self.P))

    def cohort_mean(self, kind: str) -> Fraction:
        """E (1/P) sum over the cohort, by enumeration."""
        moments, cohorts = self.moments(kind), self._cohorts()
        return sum((moments[i].first for members in cohorts for i in members), F(0)) / (self.P * len(cohorts))

    def cohort_square(self, kind: str) -> Fraction:
        """E((1/P) sum over the cohort)^2, by enumeration."""
        moments, cohorts, total = self.moments(kind), self._cohorts(), F(0)
        for members in cohorts:
            if self.sampling == "anew":  # every draw is a run of its own
                total += mean_square([moments[i] for i in members], [1] * self.P, self.P)
            else:
                total += mean_square(moments, [members.count(i) for i in range(self.N)], self.P)
        return total / len(cohorts)

    def _everyone(self, moments: Sequence[Moments]) -> Fraction:
        return mean_square(moments, [1] * self.N, self.N)

    @cached_property
    def slope(self) -> Fraction:
        """f'(x)."""
        return sum((client.slope(self.x) for client in self.clients), F(0)) / self.N

    def deviations(self) -> dict[str, Fraction]:
        """Means over the clients of E|alpha_i - alpha~_i| + |alpha~_i - alpha-bar|, and of the squares."""
        known, mean = self.factors
        found = {"E_deviation": F(0), "E_square_deviation": F(0)}
        for own, paths in zip(known, self._paths):
            for name, power in (("E_deviation", 1), ("E_square_deviation", 2)):
                noise = sum((p.probability * abs(self.alpha(p) - own) ** power for p in paths), F(0))
                found[name] += (noise + abs(own - mean) ** power) / self.N
        return found

    def next_states(self) -> dict[Fraction, Fraction]:
        """x_{t+1} -> its probability, without privacy noise; for sampling without replacement or anew."""
        if self.sigma or self.sampling == "shared":
            raise ValueError("the states are enumerated without privacy noise, and every draw runs on its own")
        cohorts, found = self._cohorts(), dict[Fraction, Fraction]()
        for members in cohorts:
            for drawn in itertools.product(*(self._paths[i] for i in members)):
                x, probability = self.x, F(1, len(cohorts))
                for path in drawn:
                    x -= self.eta_g * self.eta * self.alpha(path) * path.total / self.P
                    probability *= path.probability
                found[x] = found.get(x, F(0)) + probability
        return found

    def values(self) -> dict[str, Fraction]:
        """The letters of the proof (`_letters.LETTERS`) in this round; values of f are counted from f(x_t)."""
        slope, alpha = self.slope, self.factors[1]
        curvature = sum((client.q for client in self.clients), F(0)) / self.N
        moved, square = self.cohort_mean("clipped"), self.cohort_square("clipped")
        noise = self.sigma**2 / self.P
        local, sums = self.moments("local"), self.moments("sum")
        plus, minus = ([shifted(m, by, sign) for m in sums] for by, sign in ((self.Q * slope, 1), (self.Q * slope, -1)))

        def mean(kind: str) -> Fraction:
            return sum((m.first for m in self.moments(kind)), F(0)) / self.N

        return {
            "N": F(self.N),
            "P": F(self.P),
            "Q": F(self.Q),
            "d": F(1),
            "L": self.L,
            "eta_l": self.eta,
            "eta_g": self.eta_g,
            "sigma_l": abs(self.s),
            "sigma_g": max(abs(client.slope(self.x) - slope) for client in self.clients),
            "noise_variance": self.sigma**2,
            "f_now": F(0),
            "E_next": self.eta_g * slope * moved + curvature * self.eta_g**2 * (square + noise) / 2,
            "square": slope**2,
            "alpha": alpha,
            "local_square": self._everyone(local),
            "local_squares": sum((m.second for m in local), F(0)),
            "cohort_local": self.cohort_square("local"),
            "cohort_common": self.cohort_square("common"),
            "cohort_clipped": square,
            "first_bias": slope * (mean("clipped") - mean("known")),
            "second_bias": slope * (mean("known") - mean("common")),
            "common_product": slope * mean("common"),
            "cohort_product": slope * moved,
            "first_spread": self.cohort_square("first"),
            "second_spread": self.cohort_square("second"),
            "far_square": self._everyone(plus) / self.Q,
            "drift_square": self._everyone(minus) / self.Q,
            "drift_mean": sum((k.drifts(self.x, self.eta, self.Q, self.s) for k in self.clients), F(0)) / self.N,
        }


_SHOWN = ("N", "P", "Q", "L", "eta_l", "eta_g", "sigma_l", "sigma_g", "square", "alpha")


def rounds(_: Statement, instance: Mapping[str, Any], instead: Mapping[str, str] | None = None) -> list[Values]:
    """One round from every point x, for every sampling, of the instance.

    instead: letters that stand for another quantity of `ScalarRound.values`, by its name.
    """
    found = []
    for sampling in instance.get("samplings", [instance.get("sampling", "without")]):
        for x in instance["x"]:
            values = ScalarRound({**instance, "x": x, "sampling": sampling}).values()
            values |= {letter: values[other] for letter, other in (instead or {}).items()}
            found.append(Values(values, {"x": x, "sampling": sampling, **{name: values[name] for name in _SHOWN}}))
    return found
