"""Record-level DP-FedAvg, DP-FedSGD and DP-SCAFFOLD: users add noise at every local step."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from scipy.special import ndtr

from dpfl_theory.errors import InputError
from dpfl_theory.lazy import stats
from dpfl_theory.privacy import sampling
from dpfl_theory.privacy.events import Event, Release, Repeated, WithProbability, gaussian
from dpfl_theory.privacy.mechanisms.base import Alternative, Mechanism, parameter
from dpfl_theory.privacy.tails import GaussianMixturePair


@dataclass(frozen=True, kw_only=True)
class NoisyLocalSteps(Mechanism):
    r"""At each of K local steps a user clips the gradients of floor(sR) of its R records,
    averages them and adds noise of standard deviation :math:`\sigma_g \cdot 2C/(sR)`.

    ``noise_multiplier`` is sigma_g. Neighbouring data sets differ in one record of one user, so that one record's step
    moves by at most 1 in units of the noise's 2C/(sR).

    The certificate here, and the reasons why it is weaker than the paper assumes:

    * **Who takes part can be seen.** The other users' records are arbitrary. So a round with a user and one without can
      look different, whatever the protected record is. Sampling of users then only reduces the number of the user's
      rounds. (Amplification needs a mechanism that hides whole users.) Short messages under much noise hide
      participation, so lower limits subtract the probability that it is not seen.
    * **The other users' noise counts at K = 1 only.** With more local steps a user's later gradients depend on its
      earlier noise, which the sum does not hide: for K > 1 the local steps are composed as if the observer saw them.

    >>> m = NoisyLocalSteps(users=100, records=4000, user_rate=0.05, record_rate=0.2, local_steps=1,
    ...                    noise_multiplier=10.0, rounds=100)
    >>> m.cohort, m.batch
    (5, 800)
    """

    protects = "record"
    noise_added_by = "client"

    users: int | None = parameter("number of users M", "count")
    records: int | None = parameter("records R of each user that enter training", "count")
    user_rate: float | None = parameter("share l of the users in a round; floor(lM) take part", "share")
    record_rate: float | None = parameter("share s of the records in a local step; floor(sR) are used", "share")
    local_steps: int | None = parameter("local steps K in a round", "count")
    view: str = parameter(
        "observer: sees the averages, or every user's message",
        default="third-party",
        choices=("third-party", "server"),
    )

    def validate(self) -> None:
        if self.users and self.user_rate and self.cohort < 1:
            raise InputError(
                f"`user_rate={self.user_rate}` of `users={self.users}` is less than one user: raise one of them"
            )
        if self.records and self.record_rate and self.batch < 1:
            raise InputError(
                f"`record_rate={self.record_rate}` of `records={self.records}` is less than one record: raise one of "
                "them"
            )

    @property
    def cohort(self) -> int:
        """floor(lM), the users in a round."""
        return math.floor(self.value("user_rate") * self.value("users") * (1 + 1e-12))

    @property
    def batch(self) -> int:
        """floor(sR), the records in a local step."""
        return math.floor(self.value("record_rate") * self.value("records") * (1 + 1e-12))

    def event(self) -> Event:
        z, share, rate = self.value("noise_multiplier"), self.batch / self.value("records"), self._rate()
        one_round: Event
        if self._noise_of_others_counts():
            if self.cohort == self.batch == 1:  # one of all records is drawn, and only this one is sent
                share, rate = share * rate, 1.0
            # Distances are counted in units of half the largest change, as `fixed_size` does for replace.
            one_round = sampling.fixed_size(share, 2 * z * math.sqrt(self.cohort), replace=True)
        else:
            local = sampling.fixed_size(share, 2 * z, replace=True)
            one_round = Repeated(local, self.count("local_steps"))
        return Repeated(WithProbability(one_round, rate), self.count("rounds"))

    def attacks(self) -> tuple[tuple[Event, float], ...]:
        """Attacks with linear losses: a record moves every sum by 1 in each step that uses it, and every gradient is
        constant.

        There are two cases. The user's other records can be the opposite of the other users' records, which shows
        participation up to `_unseen`. Or all these records are the same, and a round without the user looks like one
        that does not use the record.
        """
        event, rounds = self.event(), self._attacked_rounds()
        if self.view == "server":
            return ((event, 0.0),)
        seen, unseen = event, rounds * self._unseen()
        if not self._noise_of_others_counts():
            seen = Repeated(WithProbability(self._uses(1.0), self._rate()), rounds)
        if self._rate() == 1:
            return ((seen, 0.0),)
        return (seen, unseen), (Repeated(self._uses(self._rate()), rounds), 0.0)

    def _uses(self, rate: float) -> Release:
        """The distribution of the number of uses of the record in a round's sum, when its user takes part with
        probability ``rate``."""
        steps = self.count("local_steps")
        weights = [
            rate * float(stats.binom.pmf(j, steps, self.batch / self.value("records"))) for j in range(steps + 1)
        ]
        weights[0] += 1 - rate
        kept = [j for j, weight in enumerate(weights) if weight > 0]
        z = self.value("noise_multiplier") * math.sqrt(steps * self.cohort)
        chances = tuple(weights[j] for j in kept)
        moved, still = tuple(float(j) for j in kept), (0.0,) * len(kept)
        return Release(
            GaussianMixturePair(chances, moved, still, z),
            GaussianMixturePair(chances, still, tuple(-x for x in moved), z),
        )

    def _unseen(self) -> float:
        """A bound of the probability that a round's sum looks like that of the wrong kind of round.

        The other users' gradients are C, and those of the user's other records -C. So the sums of K steps differ by K
        sR units, of which the record contributes K; the threshold is the midpoint.
        """
        steps, z = self.count("local_steps"), self.value("noise_multiplier")
        border = math.sqrt(steps) * (self.batch / 2 - 1) / (z * math.sqrt(self.cohort))
        return float(ndtr(-border))

    def _attacked_rounds(self) -> int:
        return self.count("rounds")

    def _rate(self) -> float:
        return self.cohort / self.value("users")

    def _noise_of_others_counts(self) -> bool:
        return self.view == "third-party" and self.local_steps == 1

    def textbook(self) -> tuple[Any, Any] | None:
        import dp_accounting as dp

        if self.cohort != self.users:
            return None
        z = self.value("noise_multiplier") * (math.sqrt(self.cohort) if self._noise_of_others_counts() else 1.0)
        event, records = dp.GaussianDpEvent(z), self.count("records")
        if self.batch != records:
            event = dp.SampledWithoutReplacementDpEvent(records, self.batch, event)
        times = self.count("rounds") * self.count("local_steps")
        return dp.SelfComposedDpEvent(event, times), dp.NeighboringRelation.REPLACE_ONE

    def sigma(self, clip: float) -> dict[str, float]:
        batch = self.value("record_rate") * self.value("records")
        return {"sigma_of_one_step": self.value("noise_multiplier") * 2 * clip / batch}

    def multiplier_of(self) -> str:
        return "step"

    def alternatives(self, given: Collection[str]) -> Iterator[Alternative]:
        """Noise of the same multiplier once a round, on what a user sends: then no batch hides a record."""
        others = math.sqrt(self.cohort) if self.view == "third-party" and self._one_release() else 1.0
        once = gaussian(self.value("noise_multiplier") * others)
        yield Alternative(
            "if each user adds such noise once a round, to its clipped update",
            {},
            Repeated(WithProbability(once, self._rate()), self.count("rounds")),
            bound=True,
        )

    def _one_release(self) -> bool:
        """Whether a message is seen in one sum only."""
        return True

    def setting(self) -> dict[str, str]:
        unit = "C/(sR)" if self.records is None or self.record_rate is None else f"C/{self.batch}"
        z = "" if self.noise_multiplier is None else f", here {2 * self.noise_multiplier:.6g}"
        if self.users is None or self.user_rate is None:
            cohort = "floor(lM) of M users in each round"
        elif self.cohort == self.users:
            cohort = "every user in every round"
        else:
            cohort = (
                f"{self.cohort} of {self.users} users in each round, without replacement, which does not hide "
                "participation"
            )
        if self.records is None or self.record_rate is None:
            batch = "floor(sR) of its R records"
        elif self.batch == self.records:
            batch = "all of its records"
        else:
            batch = f"{self.batch} of its {self.records} records, without replacement"
        if self.view == "server":
            observer = "server: sees every user's message, which only that user's noise hides"
        elif not self._one_release():
            observer = (
                "third party: sees averages, which repeat a user's noise, so the other users' noise is not counted"
            )
        elif self.local_steps == 1:
            observer = "third party: sees the average of each round, which the noise of the whole cohort hides"
        else:
            observer = "third party: sees averages; a user's local steps are counted as seen, with its own noise only"
        return {
            "unit": "one record of one user",
            "neighbours": "replace: one record of one user is another one",
            "multiplier": (
                f"of 2{unit}, the most that a replaced record changes a user's average gradient: a local step's noise "
                f"has standard deviation 2z {unit}. In units of {unit} it is 2z{z}"
            ),
            "sampling": f"{cohort}; in each local step a user takes {batch}",
            "observer": observer,
            "noise": "at every local step by each user, to its average gradient",
        }

    def notes(self) -> tuple[str, ...]:
        said = []
        if self.user_rate is not None and self.users is not None and self.cohort < self.users:
            said.append(
                "Users' other records can show who takes part, so sampling of users only reduces the number of a "
                "user's rounds and does not hide participation."
            )
        if self.view == "third-party" and self.local_steps is not None and self.local_steps > 1:
            said.append("With more than one local step the other users' noise does not hide a user's earlier steps.")
        return tuple(said)


@dataclass(frozen=True, kw_only=True)
class DPFedSGD(NoisyLocalSteps):
    """Record-level DP-FedSGD: DP-FedAvg with one local step on all records (Ks = 1)."""

    name = "dp-fedsgd"
    title = "DP-FedSGD"
    source = "noble2022 Section 5"

    record_rate: float | None = parameter("share s of the records in a local step; 1 for FedSGD", "share", 1.0)
    local_steps: int | None = parameter("local steps K in a round; 1 for FedSGD", "count", 1)

    def validate(self) -> None:
        super().validate()
        if self.local_steps != 1:
            raise InputError(f"`local_steps` is {self.local_steps}: DP-FedSGD takes 1; use dp-fedavg-record for more")


@dataclass(frozen=True, kw_only=True)
class NoisyControlVariates(NoisyLocalSteps):
    """As in `NoisyLocalSteps`, but users' control variates remember their noise.

    A user sends its control variate's change, and so its earlier noise a second time, in another cohort's sum: a
    contribution that the other users' noise hid once is seen twice. Therefore the messages are composed as if each were
    seen, also for third parties. (The rounds that warm up the control variates release as much as any other: count them
    among ``rounds``.)
    """

    def _noise_of_others_counts(self) -> bool:
        return False

    def _one_release(self) -> bool:
        return False

    def _attacked_rounds(self) -> int:
        return 1  # until a user returns, its sums are those of DP-FedAvg

    def notes(self) -> tuple[str, ...]:
        said = "Control variates repeat earlier noise in other sums, so the other users' noise is not counted."
        return (*(n for n in super().notes() if "other users' noise does not hide" not in n), said)


MECHANISMS = (DPFedSGD,)
