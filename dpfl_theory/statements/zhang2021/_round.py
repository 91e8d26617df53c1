"""One round of DP-FedAvg in a world: all quantities in the steps of zhang2021's proof.

`Phases` are the local phases of all clients, represented by their messages. Given x_t, clients run independently of
each other. So only the mean and the variance of a phase's message matter, and the cohort is drawn among these. The
world defines a client: a scalar quadratic in rational arithmetic (`ScalarRound`), or any smooth function
(`_worst_cases`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from dpfl_theory.algorithms.two_step_sizes import DPTwoSidedFedAvg, TwoSidedFedAvg
from dpfl_theory.core import Statement, Values
from dpfl_theory.semantics.base import EVEN, SKEWED, Vector, World, average, expected
from dpfl_theory.semantics.operations import draws, local_path, run_round
from dpfl_theory.semantics.rational import Quadratics

__all__ = ["Phases", "ScalarRound", "rounds"]

F = Fraction
KINDS = ("clipped", "first", "second", "known", "common", "local", "sum")
_SQUARED = ("clipped", "common", "local", "first", "second")


class Phases:
    """Every client's local phase of Q steps from x, represented by its messages.

    The kinds are ``clipped`` Delta, ``known`` Delta~ (times alpha~), ``common`` (times alpha-bar), ``local`` (alpha-bar
    times the gradients without noise), ``first`` Delta - Delta~, ``second`` Delta~ - common, ``sum`` (the gradients
    without noise, summed). known: alpha~_i of every client; noisy: whether gradients have errors; thresholds: of every
    client, as the world's ``bounded`` takes them; None for no clipping.
    """

    def __init__(
        self,
        world: World,
        x: Vector,
        eta: Any,
        Q: int,
        known: Sequence[Any],
        *,
        noisy: bool,
        thresholds: Sequence[Any] | None = None,
    ) -> None:
        self.world, self.x, self.eta, self.Q, self.noisy = world, x, eta, Q, noisy
        self.known, self.thresholds = known, thresholds
        self.algorithm = TwoSidedFedAvg(eta_l=eta, Q=Q)
        self.alpha = sum(known[1:], known[0]) / len(known)
        self.slope = average([world.gradient(i, x) for i in range(world.clients)])
        self._sent = {kind: [] for kind in KINDS}  # type: dict[str, list[Vector]]
        for i in range(world.clients):
            found = expected(world, lambda i=i: self._observed(i))  # type: ignore[misc]
            for kind, of_kind in self._sent.items():
                first = found[kind]
                world.declare(kind, i, variance=found[f"{kind}, squared"] - world.inner(first, first))
                of_kind.append(Vector(first))

    def _observed(self, i: int) -> dict[str, Any]:
        """The messages of client i's phase, and their squares."""
        world, alpha = self.world, self.alpha
        path = self.path(i)
        moved = path[-1] - self.x
        clipped = moved if self.thresholds is None else world.bounded(moved, self.thresholds[i])
        total = self.Q * average([world.gradient(i, y) for y in path[:-1]])
        sent = {
            "clipped": clipped,
            "first": clipped - self.known[i] * moved,
            "second": (self.known[i] - alpha) * moved,
            "known": self.known[i] * moved,
            "common": alpha * moved,
            "local": -self.eta * alpha * total,
            "sum": total,
        }
        sent = {kind: world.substitute_known(v) for kind, v in sent.items()}
        return {k: v.known for k, v in sent.items()} | {f"{k}, squared": world.square(v) for k, v in sent.items()}

    def path(self, i: int) -> tuple[Vector, ...]:
        """The points of client i's phase."""
        return local_path(self.algorithm, self.world, self.x, i, self.noisy)

    def message(self, kind: str, i: int, run: int = 0) -> Vector:
        """The message of client i in one of its runs, by its mean and its variance."""
        return self._sent[kind][i] + self.world.error(kind, i, run=run)

    def mean(self, kind: str) -> Vector:
        """The mean of all clients' messages."""
        return average([self.message(kind, i) for i in range(self.world.clients)])

    def cohort(self, kind: str, P: int, sampling: str) -> dict[str, Any]:
        """E <grad f, (1/P) sum over the cohort>, as ``product``, and the mean ``square`` of that sum over P."""
        world = self.world

        def heard() -> dict[str, Any]:
            mean = average([self.message(kind, i, i.run) for i in draws(world, P, sampling)])
            return {"product": world.product(self.slope, mean), "square": world.square(mean)}

        return expected(world, heard)

    def symbols(self, P: int, sampling: str) -> dict[str, Any]:
        """The symbols of the proof (`_symbols.SYMBOLS`) in a round with this cohort."""
        world, Q, everyone = self.world, self.Q, range(self.world.clients)
        squares = {kind: self.cohort(kind, P, sampling) for kind in _SQUARED}

        def along(kind: str) -> Any:
            return world.product(self.slope, self.mean(kind))

        return {
            "eta_l": self.eta,
            "alpha": self.alpha,
            "square": world.square(self.slope),
            "cohort_product": squares["clipped"]["product"],
            "first_bias": along("clipped") - along("known"),
            "second_bias": along("known") - along("common"),
            "common_product": along("common"),
            "local_square": world.square(self.mean("local")),
            "local_squares": sum(world.square(self.message("local", i)) for i in everyone),
            "far_square": world.square(Q * self.slope + self.mean("sum")) / Q,
            "drift_square": world.square(self.mean("sum") - Q * self.slope) / Q,
            "cohort_clipped": squares["clipped"]["square"],
            "cohort_common": squares["common"]["square"],
            "cohort_local": squares["local"]["square"],
            "first_spread": squares["first"]["square"],
            "second_spread": squares["second"]["square"],
        }


class ScalarRound:
    """A round from x with clients f_i(x) = q_i (x - m_i)^2/2, q_i of either sign, in rational arithmetic.

    instance: q, m (one each per client, as texts), x, Q, ``eta Q L`` or eta_l, eta_g, P, sampling, c (absent: no
    clipping), noise s, law (``even``, or ``skew``), sigma (deviation of the privacy noise), L (absent: the largest
    |q_i|). Independent noise is added in every local step, with mean 0 and variance s^2.
    """

    def __init__(self, instance: Mapping[str, Any]) -> None:
        q, m = (tuple(map(F, instance[name])) for name in ("q", "m"))
        self.x, self.Q, self.P, self.N = F(instance["x"]), int(instance["Q"]), int(instance["P"]), len(q)
        self.L = F(instance.get("L", max(map(abs, q))))
        if any(abs(h) > self.L for h in q) or not 1 <= self.P <= self.N:
            raise ValueError("L is not a smoothness constant of every client, or P is not a number of clients")
        self.eta = F(instance["eta_l"]) if "eta_l" in instance else F(instance["eta Q L"]) / (self.Q * self.L)
        self.eta_g = F(instance.get("eta_g", 1))
        self.sampling = str(instance.get("sampling", "without"))
        self.c = F(instance["c"]) if "c" in instance else None
        self.s, self.sigma = abs(F(instance.get("noise", 0))), F(instance.get("sigma", 0))
        shape = {"even": EVEN, "skew": SKEWED}[str(instance.get("law", "even"))]
        self.world = Quadratics(q, [h * at for h, at in zip(q, m, strict=True)], {"error": self.s**2}, shape)
        algorithm = TwoSidedFedAvg(eta_l=self.eta, Q=self.Q)
        ends = [local_path(algorithm, self.world, Vector(self.x), i)[-1].known for i in range(self.N)]
        # Without clipping no message depends on the errors' paths, and none is enumerated.
        self.phases = Phases(
            self.world,
            Vector(self.x),
            self.eta,
            self.Q,
            [F(1) if self.c is None else self.c / max(self.c, abs(end - self.x)) for end in ends],
            noisy=bool(self.s),
            thresholds=None if self.c is None else [self.c] * self.N,
        )

    @property
    def sigma_g(self) -> Fraction:
        """The largest |f_i' - f'| at x."""
        apart = (self.world.gradient(i, Vector(self.x)) - self.phases.slope for i in range(self.N))
        return max(F(abs(slope.known)) for slope in apart)

    @cached_property
    def drifts(self) -> Fraction:
        """The middle line of (15): the mean over the clients of E sum_q (f_i'(x_q) - f_i'(x))^2."""
        world, found = self.world, F(0)
        for i in range(self.N):
            path = self.phases.path(i)
            found += sum(world.square(world.gradient(i, y) - world.gradient(i, path[0])) for y in path[:-1])
        return found / self.N

    def deviations(self) -> dict[str, Fraction]:
        """Means over the clients of E|alpha_i - alpha~_i| + |alpha~_i - alpha-bar|, and of the squares."""
        world, found = self.world, {"E_deviation": F(0), "E_square_deviation": F(0)}
        for i, own in enumerate(self.phases.known):

            def observed(i: int = i, own: Fraction = own) -> dict[str, Fraction]:
                path = self.phases.path(i)
                length = abs(world.resolved(path[-1] - path[0]).known)
                apart = abs((F(1) if self.c is None else self.c / max(self.c, length)) - own)
                return {"E_deviation": apart, "E_square_deviation": apart**2}

            for power, (name, noise) in enumerate(expected(world, observed).items(), start=1):
                found[name] += (noise + abs(own - self.phases.alpha) ** power) / self.N
        return found

    def outcomes(self) -> tuple[dict[Fraction, Fraction], Fraction]:
        """x_{t+1} -> its probability, without privacy noise, and the length of the longest stochastic gradient that may
        occur."""
        world, ends, lengths = self.world, dict[Fraction, Fraction](), [F(0)]
        algorithm = DPTwoSidedFedAvg(eta_l=self.eta, eta_g=self.eta_g, Q=self.Q, c=self.c, sigma=0)

        def run() -> dict[str, Fraction]:
            after = run_round(
                *(algorithm, world, Vector(self.x)), size=self.P, errors=bool(self.s), sampling=self.sampling
            )
            x = world.resolved(after.x).known
            ends[x] = ends.get(x, F(0)) + world.weight
            for path in filter(None, after.paths):
                lengths.extend(abs(world.resolved(a - b).known) / self.eta for a, b in pairwise(path))
            return {}

        expected(world, run)
        return ends, max(lengths)

    def values(self, sampling: str | None = None) -> dict[str, Fraction]:
        """The symbols of the proof (`_symbols.SYMBOLS`) in this round, or one with another sampling; values of f are
        relative to f(x_t)."""
        found = self.phases.symbols(self.P, sampling or self.sampling)
        curvature, noise = sum(self.world.curvatures, F(0)) / self.N, self.sigma**2 / self.P
        return {
            **found,
            **{name: F(getattr(self, name)) for name in ("N", "P", "Q", "L", "eta_g", "sigma_g")},
            "d": F(1),
            "sigma_l": self.s,
            "noise_variance": self.sigma**2,
            "f_now": F(0),
            "E_next": self.eta_g * found["cohort_product"]
            + curvature * self.eta_g**2 * (found["cohort_clipped"] + noise) / 2,
            "drift_mean": self.drifts,
        }


_SHOWN = ("N", "P", "Q", "L", "eta_l", "eta_g", "sigma_l", "sigma_g", "square", "alpha")


def rounds(_: Statement, instance: Mapping[str, Any], instead: Mapping[str, str] | None = None) -> list[Values]:
    """One round from every point x, for every sampling, of the instance.

    instead: symbols that take another quantity of `ScalarRound.values`, by its name.
    """
    found = []
    once = {x: ScalarRound({**instance, "x": x}) for x in instance["x"]}
    for sampling in instance.get("samplings", [instance.get("sampling", "without")]):
        for x in instance["x"]:
            values = once[x].values(sampling)
            values |= {symbol: values[other] for symbol, other in (instead or {}).items()}
            found.append(Values(values, {"x": x, "sampling": sampling, **{name: values[name] for name in _SHOWN}}))
    return found
