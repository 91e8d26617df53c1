"""FedNova: averages of normalised local updates, for clients that take different numbers of local steps.

Wang et al. 2020, "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization", Section 4.
A cohort S has the weights p_k = n_k/m, client k takes tau_k local steps, and rho is the local momentum:
    v = 0, y = w;  tau_k times  v = rho v + grad f_k(y; b),  y = y - eta v;
    a_k = (1 - rho^tau_k, ..., 1 - rho)/(1 - rho);  d_k = (w - y_k)/(eta ||a_k||_1);
    w = w - eta_g eta tau_eff sum_{k in S} p_k d_k,   tau_eff = sum_{k in S} p_k ||a_k||_1.
Without momentum ||a_k||_1 = tau_k. The paper leaves tau_eff free, and names sum_k p_k tau_k too: the second reading.
With E epochs of batches of B records, tau_k = E ceil(n_k/B). The paper sums over all clients; a cohort, its weights
n_k/m and eta_g are as in implementations. With equal steps and rho = 0 it is `fedavg-mcmahan`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import heavy_ball, over_cohort
from dpfl_theory.algorithms.faults import average_fault, known
from dpfl_theory.algorithms.faults.carried import SHARED
from dpfl_theory.algorithms.faults.mcmahan import COHORT, TRAINING, WEIGHTED
from dpfl_theory.algorithms.mcmahan import McMahanFedAvg
from dpfl_theory.core.algorithm import Reading
from dpfl_theory.core.parameter import Parameter, Range

__all__ = ["FedNova"]


FREE = "The paper's general form leaves tau_eff free, so this is FedNova with another step of the server"
BY_STEPS = (
    "differences are divided by the numbers of steps tau_k, and their mean is multiplied by that of the tau_k or "
    "||a_k||_1: with momentum a step's gradient counts in all later steps, and the divisor is ||a_k||_1"
)
NORMALISATION = (
    average_fault(
        "tau_eff without weights",
        f"tau_eff is the plain mean over the clients: weight it by their shares of the records. {FREE}",
        effective=lambda a, o, members: o.tally(members, lambda i: a.accumulated(o, i)) / over_cohort(a, o, members),
    ),
    average_fault(
        "tau_eff is a sum",
        f"tau_eff is the sum over the clients, not their mean: weight it by their shares of the records. {FREE}",
        effective=lambda a, o, members: o.tally(members, lambda i: a.accumulated(o, i)),
    ),
    average_fault(
        "tau_eff is the largest",
        "tau_eff is the largest ||a_k||_1 of the cohort: it is their mean, weighted by the clients' shares of "
        f"the records. {FREE}",
        effective=lambda a, o, members: max((a.accumulated(o, i) for i in members), default=0),
    ),
    average_fault(
        "no tau_eff",
        "the mean of the normalised updates is not multiplied by tau_eff, so that w moves as after one local step",
        effective=lambda a, o, members: 1,
    ),
    average_fault(
        "no normalisation",
        "the clients' differences are averaged as they are, which is FedAvg: clients with more steps count more",
        normaliser=lambda a, o, i: 1,
        effective=lambda a, o, members: 1,
    ),
    average_fault(
        "tau_eff without normalisation",
        "the mean of the differences is multiplied by tau_eff, but the differences are not divided by ||a_k||_1",
        normaliser=lambda a, o, i: 1,
    ),
    average_fault(
        "normalised twice",
        "the difference is divided by ||a_k||_1 twice, as at the client and at the server",
        normaliser=lambda a, o, i: a.accumulated(o, i) ** 2,
    ),
    average_fault(
        "normalised by steps, despite momentum",
        BY_STEPS,
        normaliser=lambda a, o, i: a.steps(o, i),
    ),
    average_fault(
        "normalised by steps, despite momentum",
        BY_STEPS,
        normaliser=lambda a, o, i: a.steps(o, i),
        accumulated=lambda a, o, i: a.steps(o, i),
    ),
    average_fault(
        "normalised by epochs",
        "differences are divided by the number of epochs: a client takes a step for each batch",
        normaliser=lambda a, o, i: a.local_steps,
    ),
)
"""Mistakes in the normalisation."""


class FedNova(McMahanFedAvg):
    """FedNova with local momentum; normalised updates are differences per accumulated step."""

    name = "fednova"
    title = "FedNova"
    source = "Wang et al. 2020 Section 4"
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading("tau_eff is the mean of the ||a_k||_1"),
        Reading("tau_eff is the mean of the tau_k", {"effective": lambda a, o, members: a.mean(o, members, a.steps)}),
    )

    momentum_factor = Parameter(
        *("rho", "local momentum"),
        kind="fraction",
        aliases=("momentum", "local_momentum", "client_momentum"),
        default=0.0,
        search=Range((0.0, 0.5, 0.9), between=False),
        trials=(0.0, 0.5),
    )

    def optimizer(self, o: Any, i: Any) -> Callable[[Any], Any] | None:
        return heavy_ball(self.momentum_factor)

    def accumulated(self, o: Any, i: Any) -> Any:
        """||a_k||_1."""
        tau, rho = self.steps(o, i), self.momentum_factor
        return (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)

    def normaliser(self, o: Any, i: Any) -> Any:
        """What client i divides its difference by."""
        return self.accumulated(o, i)

    def message(self, o: Any, w: Any, i: Any) -> Any:
        return super().message(o, w, i) / self.normaliser(o, i)

    def mean(self, o: Any, members: Any, of: Callable[[Any, Any], Any]) -> Any:
        """The mean of one number for each client, with the weights of the messages."""

        def weighted(i: Any) -> Any:
            weight = self.weight(o, i, members)
            return of(o, i) if weight is None else weight * of(o, i)

        return o.tally(members, weighted) / self.divisor(o, members)

    def effective(self, o: Any, members: Any) -> Any:
        """tau_eff."""
        return self.mean(o, members, self.accumulated)

    def step(self, o: Any, members: Any, updates: Any) -> Any:
        return self.effective(o, members) * super().step(o, members, updates)

    faults = known(*NORMALISATION, SHARED, *(one for one in WEIGHTED if "update" not in one.parts), *COHORT, *TRAINING)
