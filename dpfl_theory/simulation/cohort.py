"""Client sampling: the clients that take part in a round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from dpfl_theory.core.algorithm import Sampling
from dpfl_theory.errors import InputError
from dpfl_theory.kernels.engine import COHORT
from dpfl_theory.simulation.base import Context
from dpfl_theory.simulation.hyperparameters import to_json

SCHEMES = (*get_args(Sampling), "full")


@dataclass(frozen=True)
class Cohort:
    """How clients are sampled in each round.

    scheme: ``poisson`` (each client independently with probability size/n, the scheme of das2022 Algorithm 1),
        ``fixed`` (exactly ``size`` clients, uniformly without replacement, das2022 Algorithm 2), ``with-replacement``
        (``size`` independent draws of one client each; a client that is drawn twice takes part twice), or ``full``
        (all n clients).
    size: the expected number r of participating clients (any number in (0, n] for ``poisson``); ignored for ``full``.

    An algorithm divides by r (`divisor`) or by the number of clients that took part, as its paper prints it.

    >>> Cohort("fixed", 3).divisor(10)
    3.0
    """

    scheme: str = "full"
    size: float | None = None

    def check(self, n: int) -> None:
        """Raise InputError when the scheme cannot sample from n clients."""
        if self.scheme not in SCHEMES:
            raise InputError(f"sampling scheme {self.scheme!r} is unknown: choose one of {', '.join(SCHEMES)}")
        if self.scheme == "full":
            return
        size = self.size
        if not isinstance(size, (int, float, np.number)) or not math.isfinite(size) or not 0 < size <= n:
            raise InputError(
                f"the cohort size is {size!r}: with {n} clients it must lie in (0, {n}], so that r/n is in (0, 1]"
            )
        if self.scheme != "poisson" and size != int(size):
            raise InputError(f"the cohort size is {size}: sampling a fixed number of clients needs a whole number")

    def divisor(self, n: int) -> float:
        """The number r that sums over the cohort are divided by."""
        return float(n) if self.scheme == "full" or self.size is None else float(self.size)

    def sample(self, context: Context, k: int) -> Any:
        """How often each client takes part in round k: (replicates, n) with entries 0 and 1, or counts with
        replacement."""
        engine, n, S = context.engine, context.problem.n, context.replicates.count
        xp = engine.xp
        if self.scheme == "full" or (self.scheme != "with-replacement" and self.divisor(n) == n):
            return xp.ones((S, n))
        if self.scheme == "with-replacement":
            drawn = (engine.uniform(context.replicates, k, int(self.divisor(n)), stream=COHORT) * n).astype(xp.int64)
            drawn = xp.minimum(drawn, n - 1)  # a uniform next to 1 may round up to n
            return (drawn[:, :, None] == xp.arange(n)[None, None, :]).sum(axis=1).astype(xp.float64)
        u = engine.uniform(context.replicates, k, n, stream=COHORT)
        if self.scheme == "poisson":
            return (u < self.divisor(n) / n).astype(xp.float64)
        size = int(self.divisor(n))
        return (u <= xp.partition(u, size - 1, axis=1)[:, size - 1 : size]).astype(xp.float64)

    def members(self, context: Context, k: int) -> Any:
        """The numbers of round k's clients (A, replicates), ascending, for cohorts of a fixed size."""
        xp = context.engine.xp
        size = int(self.divisor(context.problem.n))
        order = xp.argsort(-self.sample(context, k), axis=1, kind="stable")[:, :size]  # ones first, in clients' order
        return xp.ascontiguousarray(order.T)

    def describe(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {"scheme": self.scheme} if self.scheme == "full" else {"scheme": self.scheme, "size": to_json(self.size)}
