"""Algorithms as a user writes them in a file outside the package: FedProx with clipping, noise and momentum."""

from __future__ import annotations

from typing import Any

from dpfl_theory import algorithms
from dpfl_theory.algorithms.averaging import Averaging
from dpfl_theory.core.parameter import Parameter


@algorithms.register
class DPFedProx(Averaging):
    name = "my-dp-fedprox"
    protects = "client"
    local_step = Parameter("eta", "local step", "X^2/F", aliases=("lr",))
    local_steps = Parameter("E", "local steps", kind="count", shared=True)
    global_step = Parameter("beta", "global step")
    proximal = Parameter("mu", "strength of the proximal term", "F/X^2", kind="nonnegative")
    threshold = Parameter("C", "threshold of a difference", "X")
    sigma = Parameter("sigma", "noise of one message", "X", kind="nonnegative")

    def direction(self, o: Any, i: Any, y: Any, w: Any) -> Any:
        return o.gradient(i, y) + self.proximal * (y - w)

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        return o.clip(u, self.threshold)

    def noise(self, o: Any, members: Any) -> Any:
        return o.sum_of_noises(members, self.sigma) / o.expected


@algorithms.register
class Momentum(DPFedProx):
    """The same with momentum of the server, a state that starts with `initial`."""

    name = "my-momentum"
    kept = Parameter("b", "share of the momentum that is kept", kind="nonnegative")

    def initial(self, o: Any, w: Any) -> Any:
        return o.zero

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        along = self.kept * state + step
        return self.move(o, w, along), along
