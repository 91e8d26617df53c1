"""Averages of bounded client messages, with noise from each client or from the server (DP-FedAvg); messages that are
private by themselves (local differential privacy); and sums with noise from a trusted server (DP-FedAvg of
libraries)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from dpfl_theory.core.parameter import KINDS, fits
from dpfl_theory.errors import InputError
from dpfl_theory.privacy import sampling
from dpfl_theory.privacy.events import Event, Repeated, WithProbability, gaussian
from dpfl_theory.privacy.mechanisms.base import Alternative, Mechanism, multiplies, parameter


@dataclass(frozen=True, kw_only=True)
class AveragedMessages(Mechanism):
    r"""message_i = clip(u_i, C) + noise, and the server averages the messages of a cohort.

    ``noise_multiplier`` is that of the sum of ``cohort`` messages: in das2022's notation :math:`z = r\sigma/C` for
    zero-out and :math:`r\sigma/(2C)` for replace, since the average's noise has standard deviation sigma (each client
    adds :math:`\sqrt r \sigma`); in the notation of zhang2021 and hou2023, whose sigma belongs to one message, :math:`z
    = \sqrt{r}\sigma/C`.

    >>> m = AveragedMessages(
    ...     clients=100, cohort=10, sampling="poisson", noise="average", noise_multiplier=2.0, rounds=50
    ... )
    >>> m.sigma(clip=1.0)["sigma"]  # das2022's, of the average
    0.2
    """

    protects = "client"
    noise_added_by = "client"

    clients: int | None = parameter("number of clients n", "count")
    cohort: float | None = parameter("clients in a round r (for poisson: on average); by default all", "positive")
    sampling: str = parameter(
        "how a cohort is drawn", default="full", choices=("full", "poisson", "fixed", "with-replacement")
    )
    noise: str = parameter(
        "whether each client adds noise, or the average gets it",
        default="per-client",
        choices=("per-client", "average"),
    )
    relation: str = parameter(
        "neighbouring relation of client data", default="zero-out", choices=("zero-out", "replace", "add-remove")
    )
    view: str = parameter(
        "observer: sees the averages, or every message", default="third-party", choices=("third-party", "server")
    )

    def validate(self) -> None:
        if self.cohort is not None and self.sampling != "poisson" and not fits(self.cohort, "count"):
            raise InputError(f"`cohort` is {self.cohort!r}: give {KINDS['count']}")
        if self.clients is not None and self.cohort is not None:
            if self.sampling != "with-replacement" and self.cohort > self.clients:
                raise InputError(f"`cohort` is {self.cohort}: it cannot exceed `clients={self.clients}`")
            if self.sampling == "full" and self.cohort != self.clients:
                raise InputError(
                    f"`cohort` is {self.cohort} of {self.clients} clients, but `sampling` is full: choose poisson, "
                    "fixed or with-replacement"
                )
        if self.view == "server" and self.noise == "average":
            raise InputError(
                "`view=server` with `noise=average`: the server sees the messages before any noise, so nothing is "
                "private; use `noise=per-client`"
            )
        if self.relation == "add-remove" and not (self.noise == "average" and self.sampling in ("full", "poisson")):
            raise InputError(
                f"`relation=add-remove` with `noise={self.noise}` and `sampling={self.sampling}`: one more client also "
                "changes the noise of the sum or the others' probabilities, which no accountant certifies; use "
                "`relation=zero-out`"
            )

    def event(self) -> Event:
        n, r, rounds, replace = self.count("clients"), self.size(), self.count("rounds"), self.relation == "replace"
        # The unit of length is C, so that a replaced message moves by 2.
        z = self.value("noise_multiplier") * (2 if replace else 1)
        if self.view == "server":
            message = gaussian(self.value("noise_multiplier") / math.sqrt(r))
            if self.sampling == "with-replacement":
                raise InputError(
                    "`view=server` with `sampling=with-replacement`: the description lacks the number of draws of a "
                    "client in one round; use `sampling=fixed` or poisson"
                )
            return Repeated(WithProbability(message, min(1.0, r / n)), rounds)
        match self.sampling:
            case "full":
                one = sampling.full(z, replace)
            case "with-replacement":
                one = sampling.with_replacement(n, int(r), z, replace)
            case "fixed":
                one = sampling.fixed_size(r / n, z, replace)
            case _ if self.noise == "per-client":
                one = sampling.poisson_own_noise(n, r, z, replace)
            case _:
                one = sampling.poisson(r / n, z, replace)
        return Repeated(one, rounds)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "noise_added_by": "server" if self.noise == "average" else "client"}

    def multiplier_of(self) -> str:
        return "sum"

    def factors(self) -> dict[str, float]:
        r = self._known_size()
        if r is None:
            return {}
        return {"sum": 1.0, **({"message": math.sqrt(r)} if self.noise == "per-client" else {}), "average": float(r)}

    def alternatives(self, given: Collection[str]) -> Iterator[Alternative]:
        yield from super().alternatives(given)
        if "noise" not in given and self.view == "third-party" and self.relation != "add-remove":
            event = self.with_(noise="average").event()
            if event != self.event():
                yield Alternative(
                    "if the server adds the noise, to the sum or the average", {"noise": "average"}, event
                )

    def setting(self) -> dict[str, str]:
        r, z = self._known_size(), self.noise_multiplier
        neighbours = {
            "zero-out": "zero-out: one client's message is zero instead, and the noise stays",
            "replace": "replace: one client's message is another one of norm at most C",
            "add-remove": "add-remove: one client more or less",
        }[self.relation]
        drawn = {
            "full": "none: every client takes part in every round",
            "poisson": "Poisson: each client takes part in a round independently, with probability r/n",
            "fixed": "fixed size: r of n clients, drawn without replacement in each round",
            "with-replacement": "with replacement: r draws from n clients in each round",
        }[self.sampling]
        if r is not None and self.clients and self.sampling != "full":
            drawn += f" = {r:g}/{self.clients}"
        if self.noise == "average":
            placed = "once a round by a trusted server, to the sum or, divided by r, to the average: both are the same"
        else:
            placed = "once a round by each client of the cohort, 1/sqrt(r) of the sum's standard deviation each"
            if r is not None and z is not None:
                placed += f": the multiplier of one message is {z / math.sqrt(r):.6g}"
        observer = (
            "third party: sees the sum or average of each round, but no single message"
            if self.view == "third-party"
            else "server: sees every message, which only that client's noise hides"
        )
        return {
            "unit": "one client, with all of its data",
            "neighbours": neighbours,
            "multiplier": multiplies(z, "the sum over a cohort", self.relation == "replace"),
            "sampling": drawn,
            "observer": observer,
            "noise": placed,
        }

    def _known_size(self) -> float | None:
        return self.clients if self.sampling == "full" else self.cohort

    def size(self) -> float:
        """The cohort r; all clients when sampling is full."""
        return self.value("clients") if self.sampling == "full" else self.value("cohort")

    def textbook(self) -> tuple[Any, Any] | None:
        import dp_accounting as dp

        relations = dp.NeighboringRelation
        if self.view == "server":
            return None
        gauss = dp.GaussianDpEvent(self.value("noise_multiplier"))
        n, rounds, cohort = self.count("clients"), self.count("rounds"), self.size()
        if self.sampling == "full" or (self.sampling != "with-replacement" and cohort == n):
            relation = relations.REPLACE_ONE if self.relation == "replace" else relations.REPLACE_SPECIAL
            return dp.SelfComposedDpEvent(gauss, rounds), relation
        if self.sampling == "poisson" and self.noise == "average" and self.relation != "replace":
            event = dp.PoissonSampledDpEvent(cohort / n, gauss)
            return dp.SelfComposedDpEvent(event, rounds), relations.REPLACE_SPECIAL
        if self.sampling == "fixed" and self.relation == "replace":
            event = dp.SampledWithoutReplacementDpEvent(n, int(cohort), gauss)
            return dp.SelfComposedDpEvent(event, rounds), relations.REPLACE_ONE
        return None

    def sigma(self, clip: float) -> dict[str, float]:
        r = self.size()
        total = self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)
        if self.sigma_of == "message":
            return {"sigma": total / math.sqrt(r)}
        return {"sigma": total / r, "sigma_of_one_message": total / math.sqrt(r)}

    def notes(self) -> tuple[str, ...]:
        said = []
        if self.view == "server":
            said.append("The server knows who takes part: sampling helps only a client that is not drawn.")
        elif self.sampling == "poisson" and self.noise == "per-client":
            said.append(
                "The noise of the sum grows with the cohort, whose random size the other clients' messages or many "
                "dimensions can reveal. The lower limit is for many dimensions; in few, epsilon may be less. The "
                "epsilon of `noise=average` does not hold here."
            )
        elif self.sampling == "fixed" and self.relation == "zero-out":
            said.append("A client that is not drawn is replaced by another, whose message may be the opposite one.")
        elif self.sampling == "with-replacement":
            said.append("A client that is drawn j times sends j messages, each with its own noise.")
        return tuple(said)


@dataclass(frozen=True, kw_only=True)
class LocalMessages(AveragedMessages):
    r"""message_i = clip(u_i, C) + N(0, z^2 C^2 I), where the observer is the server by default.

    ``noise_multiplier`` is that of one message. A third party that sees only averages of r messages learns what
    `AveragedMessages` with the multiplier :math:`\sqrt r z` of a sum releases.

    >>> LocalMessages(clients=100, cohort=25, sampling="fixed", noise_multiplier=2.0, rounds=50).sigma(clip=0.5)
    {'sigma_of_one_message': 1.0}
    """

    noise: str = parameter("each client adds noise", default="per-client", choices=("per-client",))
    view: str = parameter(
        "observer: sees the averages, or every message", default="server", choices=("third-party", "server")
    )

    def event(self) -> Event:
        return self._of_sums().event()

    def _of_sums(self) -> AveragedMessages:
        names = ("clients", "cohort", "sampling", "relation", "view", "rounds")
        self.count("clients"), self.count("rounds")  # an error names this algorithm
        z = self.value("noise_multiplier") * math.sqrt(self.size())
        return AveragedMessages(**{name: getattr(self, name) for name in names}, noise_multiplier=z)

    def multiplier_of(self) -> str:
        return "message"

    def factors(self) -> dict[str, float]:
        r = self._known_size()
        return {} if r is None else {"message": 1.0, "sum": 1 / math.sqrt(r), "average": math.sqrt(r)}

    def alternatives(self, given: Collection[str]) -> Iterator[Alternative]:
        yield from Mechanism.alternatives(self, given)

    def textbook(self) -> tuple[Any, Any] | None:
        return None if self.view == "server" else self._of_sums().textbook()

    def setting(self) -> dict[str, str]:
        return {
            **super().setting(),
            "multiplier": multiplies(self.noise_multiplier, "each message", self.relation == "replace"),
            "noise": "once a round by each client of the cohort, to its own message",
        }

    def sigma(self, clip: float) -> dict[str, float]:
        factor = 2 if self.relation == "replace" else 1
        return {"sigma_of_one_message": self.value("noise_multiplier") * clip * factor}


@dataclass(frozen=True, kw_only=True)
class SummedMessages(AveragedMessages):
    r"""message_i = w_i clip(u_i, C) with fixed weights w_i of at most 1, and the server adds noise to a cohort's sum.

    ``noise_multiplier`` is z: the sum's noise has standard deviation :math:`z C` for zero-out and add-remove,
    :math:`2 z C` for replace. The weights, and what the noisy sum is divided by, are public constants: they depend on
    neither the cohort nor the data.

    >>> m = SummedMessages(clients=100, cohort=10, sampling="poisson", noise_multiplier=2.0, rounds=50)
    >>> m.sigma(clip=0.5)
    {'sigma_of_the_sum': 1.0}
    """

    noise: str = parameter("the server adds the noise, to the sum", default="average", choices=("average",))

    def sigma(self, clip: float) -> dict[str, float]:
        return {"sigma_of_the_sum": self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)}


@dataclass(frozen=True, kw_only=True)
class CountedMessages(SummedMessages):
    r"""As in `SummedMessages`, and the server also releases a noisy count of the messages within the threshold.

    ``noise_multiplier`` is z, that of both together. A client moves the sum by at most C, and the count, from which
    half the number of messages is subtracted, by at most 1/2. So both are one Gaussian mechanism with :math:`z^{-2} =
    z_\Delta^{-2} + (2 \sigma_b)^{-2}`; ``count_noise`` is :math:`\sigma_b`, and :math:`z_\Delta C` is the noise of the
    sum. Zero-out and add-remove: a client that is left out sends neither an update nor a bit.

    >>> m = CountedMessages(clients=100, cohort=10, sampling="fixed", noise_multiplier=0.6, count_noise=0.5, rounds=50)
    >>> round(m.sigma(clip=1.0)["sigma_of_the_sum"], 9)
    0.75
    """

    count_noise: float = parameter(
        "standard deviation sigma_b of the count's noise; 0 for 5 z (10 z for replace)", "nonnegative", 0.0
    )

    def validate(self) -> None:
        super().validate()
        z, most = self.noise_multiplier, self._most()
        if z is not None and z >= most:
            raise InputError(
                f"`count_noise` is {self.count_noise}: the count alone has the multiplier {most:g}, and both together "
                f"cannot have {z:g}; raise `count_noise` above {z / most * self.count_noise:g}"
            )

    def _most(self) -> float:
        """The multiplier of the count alone."""
        factor = 2.0 if self.relation == "replace" else 1.0
        return 2.0 * self.count_noise / factor if self.count_noise else math.inf

    def factors(self) -> dict[str, float]:
        """The multiplier is that of both releases: neither a sum's nor an average's."""
        return {}

    def setting(self) -> dict[str, str]:
        found = super().setting()
        found["observer"] = "third party: sees the noisy sum and the noisy count of each round, but no single message"
        found["noise"] = "once a round by a trusted server, to the sum and to the count"
        found["multiplier"] = "of the sum and the count together"
        if self.noise_multiplier is not None:
            z, doubled = self.noise_multiplier, self.relation == "replace"
            count = self.count_noise or 5.0 * z * (2.0 if doubled else 1.0)
            total = self.sigma(1.0)["sigma_of_the_sum"]
            found["multiplier"] += f": the noise of the sum is {total:.6g} C, and that of the count {count:.6g}"
        return found

    def sigma(self, clip: float) -> dict[str, float]:
        """The noise of the sum, of multiplier z_delta."""
        z = self.value("noise_multiplier")
        most = self._most() if self.count_noise else 10.0 * z
        (total,) = super().sigma(clip).values()
        return {"sigma_of_the_sum": total / math.sqrt(1.0 - (z / most) ** 2)}
