"""FedAvg as McMahan et al. 2017 print it, the base of the algorithms that people implement.

McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from Decentralized Data", Algorithm 1, with the
cohort S of a round, the numbers n_k of the clients' records, and m = sum_{k in S} n_k:
    split the records of client k into batches of size B;
    y = w;  E times, for each batch b:  y = y - eta grad f_k(y; b);
    w = w + eta_g sum_{k in S} (n_k/m) (y_k - w).
In the paper eta_g = 1: then the server's vector is the weighted mean of the clients' ends. With equal weights and full
gradients it is `fedavg-two-sided`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from dpfl_theory.algorithms.averaging import Averaging, over_cohort
from dpfl_theory.algorithms.faults import known
from dpfl_theory.algorithms.faults.mcmahan import FAULTS
from dpfl_theory.algorithms.fedavg import FedAvg
from dpfl_theory.algorithms.two_step_sizes import TwoSidedFedAvg
from dpfl_theory.core.parameter import Parameter, Range


class McMahanFedAvg(Averaging):
    """FedAvg with weights by records, local epochs, and batches."""

    name = "fedavg-mcmahan"
    title = "FedAvg with weights by records"
    source = "McMahan et al. 2017 Algorithm 1"
    samplings: ClassVar[tuple[str, ...]] = ("fixed", "poisson", "with-replacement")

    local_step = replace(FedAvg.local_step, aliases=("local_step", "lr", "learning_rate", "client_lr", "local_lr"))
    global_step = replace(
        TwoSidedFedAvg.global_step,
        aliases=("global_step", "server_lr", "server_learning_rate", "global_lr"),
        search=Range((0.1, 10.0)),
    )
    local_steps = replace(
        FedAvg.local_steps,
        meaning="local epochs",
        aliases=("local_steps", "epochs", "local_epochs", "num_epochs", "K", "Q"),
        trials=(3, 2),
    )
    batch_size = Parameter(
        *("B", "records in a batch (0: all of them)"),
        kind="size",
        aliases=("batch_size", "bs", "local_bs"),
        default=0,
        trials=(100, 2),
        shared=True,
    )

    def batches(self, o: Any, i: Any) -> Any:
        """The number of batches in an epoch of client i."""
        return -(-o.records(i) // self.batch_size) if self.batch_size else 1

    def steps(self, o: Any, i: Any) -> Any:
        return self.local_steps * self.batches(o, i)

    def gradient(self, o: Any, i: Any, y: Any) -> Any:
        return o.batch_gradient(i, y, self.batch_size)

    def steps_are_plain(self) -> bool:
        own = type(self)
        same = (getattr(own, part) is getattr(McMahanFedAvg, part) for part in ("gradient", "direction", "optimizer"))
        return not self.batch_size and all(same)

    def weight(self, o: Any, i: Any, members: Any) -> Any:
        return o.records(i)

    def divisor(self, o: Any, members: Any) -> Any:
        total = o.tally(members, o.records)
        return o.when(total > 0, lambda: total, lambda: 1)

    faults = known(*FAULTS)


BY_RECORDS: Mapping[str, Callable[..., Any]] = {"weight": McMahanFedAvg.weight, "divisor": McMahanFedAvg.divisor}
"""The parts of weights by records."""


class EqualFedAvg(McMahanFedAvg):
    """The same with the plain mean of the cohort, the base of algorithms that print 1/|S|."""

    def weight(self, o: Any, i: Any, members: Any) -> Any:
        return None

    divisor = over_cohort
