"""DP-SGD with Poisson sampling: noise on a sum over independently drawn records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfl_theory.privacy import sampling
from dpfl_theory.privacy.events import Event, Repeated
from dpfl_theory.privacy.mechanisms.base import Mechanism, multiplies, parameter


@dataclass(frozen=True, kw_only=True)
class PoissonGaussian(Mechanism):
    r"""The Poisson-subsampled Gaussian mechanism. In each step every record is drawn independently with probability q.
    The drawn records' gradients are clipped to norm C and added up, and the sum gets noise :math:`N(0, z^2 C^2 I)`.

    ``noise_multiplier`` is z, as DP-SGD libraries count it; for replace the noise is :math:`N(0, (2zC)^2 I)`.
    ``rounds`` counts steps.

    >>> from dpfl_theory.privacy.accounting import epsilon_spent
    >>> run = PoissonGaussian(sampling_rate=256 / 60000, noise_multiplier=1.3, rounds=3510)  # MNIST, 15 epochs
    >>> print(f"{epsilon_spent(run, 1e-5).high:.3f}")
    0.864
    """

    name = "poisson-gaussian"
    title = "DP-SGD on Poisson samples of records"
    source = "Abadi et al. 2016, Algorithm 1"
    protects = "record"
    noise_added_by = "server"
    aliases = {"steps": "rounds"}  # noqa: RUF012
    fixed = {"noise": "sum", "sampling": "poisson", "view": "third-party"}  # noqa: RUF012

    sampling_rate: float | None = parameter(
        "probability q with which a step draws each record: batch over records", "share"
    )
    relation: str = parameter(
        "neighbouring relation of records", default="add-remove", choices=("add-remove", "zero-out", "replace")
    )

    def event(self) -> Event:
        replace = self.relation == "replace"
        z = self.value("noise_multiplier") * (2 if replace else 1)  # in units of C
        return Repeated(sampling.poisson(self.value("sampling_rate"), z, replace), self.count("rounds"))

    def textbook(self) -> tuple[Any, Any] | None:
        import dp_accounting as dp

        if self.relation == "replace":
            return None
        event: Any = dp.GaussianDpEvent(self.value("noise_multiplier"))
        if self.sampling_rate != 1:
            event = dp.PoissonSampledDpEvent(self.value("sampling_rate"), event)
        return dp.SelfComposedDpEvent(event, self.count("rounds")), dp.NeighboringRelation.ADD_OR_REMOVE_ONE

    def sigma(self, clip: float) -> dict[str, float]:
        return {"sigma_of_the_sum": self.value("noise_multiplier") * clip * (2 if self.relation == "replace" else 1)}

    def multiplier_of(self) -> str:
        return "sum"

    def setting(self) -> dict[str, str]:
        neighbours = {
            "add-remove": "add-remove: one record more or less",
            "zero-out": "zero-out: one record's gradient is zero instead",
            "replace": "replace: one record is another one",
        }[self.relation]
        rate = "" if self.sampling_rate is None else f" = {self.sampling_rate:g}"
        return {
            "unit": "one record (or any unit that is sampled and clipped as one)",
            "neighbours": neighbours,
            "multiplier": multiplies(
                self.noise_multiplier, "the sum of a batch's clipped gradients", self.relation == "replace"
            ),
            "sampling": f"Poisson: each record is in a step's batch independently, with probability q{rate}",
            "observer": "an observer of the model after every step, or of these noisy sums, but not of the draws",
            "noise": "once a step by a trusted server, to the sum of the batch",
        }

    def notes(self) -> tuple[str, ...]:
        return (
            "Batches of a fixed size, or from shuffled epochs, are other mechanisms: this epsilon does not hold for "
            "them.",
            "The noise does not depend on the size of the batch. Divide the sum by the expected size, not by the "
            "actual one.",
        )


MECHANISMS = (PoissonGaussian,)
