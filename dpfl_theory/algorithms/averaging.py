"""The round of all algorithms in which clients send vectors and the server moves by their average."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.core.algorithm import Algorithm, PlainGradient, Setting
from dpfl_theory.core.parameter import Parameter
from dpfl_theory.errors import InputError

SERVER_NOISE = "the server adds noise to the average"
"""The reading in which clients add no noise."""


def over_cohort(a: Any, o: Any, members: Any) -> Any:
    """Division by |S|."""
    size = o.count(members)
    return o.when(size > 0, lambda: size, lambda: 1)


def mean_of_clients(a: Any, o: Any, w: Any, ends: Any) -> Any:
    """The mean of the clients' vectors, as a server would see it that gets them in every round."""
    return o.sum(o.everyone, ends) / o.n


def weighted_difference(inner: Callable[..., Any], a: Any, o: Any, t: Any) -> Any:
    """What client t.i sends for SCAFFOLD's c, times |S| and the client's share of the cohort's records."""
    return o.count(o.cohort) * (o.records(t.i) / o.tally(o.cohort, o.records)) * inner(o, t)


class Averaging(Algorithm):
    """A round in named parts; a subclass declares ``local_step``, ``local_steps``, ``global_step``.

    y = w;  steps times  y = y - rate optimizer(direction(y));  u_i = update(w, y);  g_i = bound(u_i);
    w = server(w, (1/divisor) sum_i weight_i g_i + noise).
    """

    observed = ("messages", "after", "noise")
    sign = 1
    """The sign of a step: -1 where clients send what is subtracted."""
    local_step: Any
    local_steps: Any
    global_step: Any
    threshold: Any
    sigma: Any

    mechanism = "AveragedMessages"

    def server_adds_noise(self, setting: Setting) -> bool:
        """Whether the server adds the noise, where each client may add it too."""
        return False

    def under(self, setting: Setting) -> Averaging:
        if not self.server_adds_noise(setting):
            return self
        (reading,) = (one for one in self.readings if one.name == SERVER_NOISE)
        return self.replaced(**reading.parts)

    def releases(self, setting: Setting) -> dict[str, Any]:
        return {
            "clients": setting.clients,
            "cohort": setting.cohort,
            "sampling": setting.sampling,
            "noise": "average" if self.server_adds_noise(setting) else "per-client",
            "relation": setting.relation,
            "view": setting.view,
            "rounds": setting.rounds,
        }

    def now(self, o: Any, state: Any) -> Averaging:
        """The algorithm of this round, given the state of earlier rounds."""
        return self

    def members(self, o: Any) -> Any:
        """The clients that send."""
        return o.cohort

    def steps(self, o: Any, i: Any) -> Any:
        """The number of client i's local steps."""
        return self.local_steps

    def rate(self, o: Any) -> Any:
        """The size of the local steps of this round."""
        return self.local_step

    def gradient(self, o: Any, i: Any, y: Any) -> Any:
        """The gradient of client i at y, as far as it is known."""
        return o.gradient(i, y)

    def direction(self, o: Any, i: Any, y: Any, w: Any) -> Any:
        """The direction of a local step of client i at y, in a round that starts at w."""
        return self.gradient(o, i, y)

    def optimizer(self, o: Any, i: Any) -> Callable[[Any], Any] | None:
        """What makes a step of client i from its direction, with a memory of the steps before; None for the direction
        itself."""
        return None

    def steps_are_plain(self) -> bool:
        own = type(self)
        return all(getattr(own, part) is getattr(Averaging, part) for part in ("gradient", "direction", "optimizer"))

    def local(self, o: Any, w: Any, i: Any) -> Any:
        """Where client i ends."""
        direction = (
            PlainGradient(o, i) if self.steps_are_plain() else self.along(o, i, lambda y: self.direction(o, i, y, w))
        )
        return o.descend(w, i, self.rate(o), self.steps(o, i), direction)

    def along(self, o: Any, i: Any, direction: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The direction of client i's next local step, by its optimizer."""
        step = self.optimizer(o, i)
        return direction if step is None else lambda y: step(direction(y))

    def update(self, o: Any, w: Any, y: Any) -> Any:
        """What a client that ends at y sends, before the bound."""
        return y - w

    def message(self, o: Any, w: Any, i: Any) -> Any:
        return self.update(o, w, self.local(o, w, i))

    def updates(self, o: Any, w: Any, members: Any) -> Any:
        """What each member sends, before the bound."""
        return o.each(members, lambda i: self.message(o, w, i))

    def bound(self, o: Any, u: Any, updates: Any) -> Any:
        """The message of a client, ``updates`` being those of the whole cohort."""
        return u

    def messages(self, o: Any, updates: Any) -> Any:
        """The members' messages without noise."""
        return o.apply(updates, lambda u: self.bound(o, u, updates))

    def weight(self, o: Any, i: Any, members: Any) -> Any:
        """The weight of a message in the sum; None for 1."""
        return None

    def divisor(self, o: Any, members: Any) -> Any:
        """What the sum is divided by: the expected number of members."""
        return o.expected

    def after(self, o: Any, mean: Any) -> Any:
        """The average that the server uses."""
        return mean

    def noise(self, o: Any, members: Any) -> Any:
        """The noise on the average."""
        return o.zero

    def step(self, o: Any, members: Any, updates: Any) -> Any:
        """The noisy average."""
        total = o.sum(members, self.messages(o, updates), lambda i: self.weight(o, i, members))
        return self.after(o, total / self.divisor(o, members)) + self.noise(o, members)

    def move(self, o: Any, w: Any, step: Any) -> Any:
        """The server's next vector."""
        return w + self.sign * self.global_step * step

    def server(self, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        """The server's next vector, and the state for the next round."""
        return self.move(o, w, step), state

    def round(self, o: Any, w: Any, state: Any) -> tuple[Any, Any]:
        state = self.initial(o, w) if state is None else state
        now = self.now(o, state)
        members = now.members(o)
        updates = now.updates(o, w, members)
        return now.server(o, w, now.step(o, members, updates), state, updates)

    def deviation(self, o: Any) -> Any:
        """The standard deviation of the noise on the average of a full cohort."""
        return self.sigma


def remembering(of: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[[Any], Any]:
    """An optimizer with a memory, which is None at first: of(memory, g) is the next memory and the step."""
    memory = None

    def step(g: Any) -> Any:
        nonlocal memory
        memory, found = of(memory, g)
        return found

    return step


def heavy_ball(b: float) -> Callable[[Any], Any]:
    """An optimizer with momentum: v = b v + g, and a step along v."""
    return remembering(lambda v, g: (v := g if v is None else b * v + g, v))


def with_momentum(kind: type[Averaging]) -> type[Averaging]:
    """The algorithm with heavy-ball momentum at the server (das2022 Appendix H has m = 0.8). Raises InputError for an
    algorithm that keeps another state.

    v = m v + (w - w'),  w = w - v,  where w' is the next vector of the algorithm itself. It uses only released
    vectors, so it costs no privacy.

    >>> from dpfl_theory.algorithms.fedavg import FedAvg
    >>> with_momentum(FedAvg)(eta=0.1, momentum=0.8).momentum
    0.8
    """

    owner = next(one for one in kind.__mro__ if "round" in vars(one))
    if "server" not in vars(owner) or kind.initial is not Algorithm.initial:
        raise InputError(f"{kind.name} keeps a state in addition to the server's vector: give an algorithm without one")

    def server(a: Any, o: Any, w: Any, step: Any, state: Any, updates: Any) -> tuple[Any, Any]:
        velocity = a.momentum * state + (w - a.move(o, w, step))
        return w - velocity, velocity

    parts = {"initial": lambda a, o, w: o.zero, "server": server}
    return kind.with_parts({**parts, "momentum": Parameter("m", "server momentum", kind="fraction", default=None)})  # type: ignore[dict-item]
