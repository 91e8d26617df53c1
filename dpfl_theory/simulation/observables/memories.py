"""Observables of what clients remember: SCAFFOLD's and ScaffNew's control variates, and EF21's memories.

SCAFFOLD's are the quantities of one round's local steps in noble2022's Appendix C, for all M users or one. Users
outside the cohort take their steps too, unseen, as the paper's drift has it. Noise has the address of its user, so a
user's steps are the same in both roles. All are zero in warm rounds, in which no user takes a step. ScaffNew's are
hou2023's Lyapunov function, its part of the control variates, and the messages; EF21's are the errors of the clients'
memories and of the server's estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpfl_theory.errors import InputError
from dpfl_theory.simulation.base import Round
from dpfl_theory.simulation.local_updates import dense
from dpfl_theory.simulation.observables.base import Observable, cached, nonnegative, require_attribute

STEPS = "SCAFFOLD's steps"
"""The place where a round keeps its `Steps` for the other observables."""


class Steps:
    """All users' local steps of one round: their points y_i^0, ..., y_i^K, their noisy gradients, and the gradients at
    these points and at those of a user without errors, (n, S, d) each. present (n, S, 1): 1 for the cohort."""

    def __init__(self, h: Round) -> None:
        xp, context, run, o = h.context.engine.xp, h.context, h.run, h.again()
        self.round, self.steps = h, run.local_steps
        (c, c_i), x = h.state.inner, h.w
        self.present = h.cohort.T[:, :, None]
        eta = o.row(run.local_step)[None, :, None]
        self.points = [xp.broadcast_to(x[None], c_i.shape)]
        self.noisy, self.true, self.quiet = [], [], []
        silent, total = self.points[0], xp.zeros_like(c_i)
        for _ in range(run.local_steps):
            at = self.points[-1]
            self.noisy.append(o.each(o.everyone, lambda i, at=at: run.gradient(o, i, at)))
            self.true.append(context.gradients(at))
            self.quiet.append(context.gradients(silent))
            total = total + self.noisy[-1] + c[None] - c_i
            self.points.append(x[None] - eta * total)
            silent = silent - eta * (self.quiet[-1] + c[None] - c_i)

    def move(self) -> Any:
        """x^t - x^{t-1}, (1, S, d)."""
        return (self.round.after.w - self.round.w)[None]

    def drift(self) -> Any:
        """y_i^k - x^{t-1} for k = 1..K, (K n, S, d)."""
        return self.round.context.engine.xp.concatenate([y - self.points[0] for y in self.points[1:]])

    def lag(self) -> Any:
        """alpha_{i,k-1}^t - x^t, (K n, S, d): where a user's gradients were taken when it last took part."""
        h, run = self.round, self.round.run
        if h.k != run.warm_start:
            raise InputError(
                "observable 'scaffold-lag' is for the first round after the warm ones: run no further round"
            )
        old = run.warm_points(h.again(), Ellipsis, h.context.start)
        before = self.points[:-1]
        return h.context.engine.xp.concatenate(
            [self.present * y + (1.0 - self.present) * old - h.after.w[None] for y in before]
        )

    def error(self) -> Any:
        """H~_1(y_1^{K-1}) - grad F_1(y_1^{K-1}), (1, S, d)."""
        return (self.noisy[-1] - self.true[-1])[:1]

    def control(self) -> Any:
        """The mean of c_i^t - E c_i^t over the cohort, for quadratics, (1, S, d)."""
        _, c_i = self.round.after.inner
        error = c_i - sum(self.quiet) / self.steps
        return ((self.present * error).sum(axis=0) / self.present.sum(axis=0))[None]

    def total(self) -> Any:
        """sum_k H~_1(y_1^{k-1}), (1, S, d)."""
        return sum(self.noisy)[:1]

    def true_total(self) -> Any:
        """sum_k grad F_1(y_1^{k-1}), (1, S, d)."""
        return sum(self.true)[:1]


def _mean_square(name: str, unit: tuple[int, int], latex: str, meaning: str, of: Callable[[Steps], Any]) -> Observable:
    """The mean of the squared lengths of some vectors of a round."""

    def evaluate(h: Round) -> Any:
        if not hasattr(h.run, "control_weight"):
            raise InputError(
                f"observable {name!r} needs the local steps of SCAFFOLD's users, which this algorithm does not have"
            )
        if h.k < h.run.warm_start:
            return h.context.engine.xp.zeros(len(h.w))
        vectors = of(cached(h, STEPS, lambda: Steps(h)))
        return (vectors * vectors).sum(axis=2).mean(axis=0)

    return nonnegative(name, unit, latex, meaning, evaluate)


def _shifts(h: Round) -> Any:
    """hou2023: (eta^2/p^2) ||h_t - h*||^2 over the stacked clients."""
    context = h.context
    if not hasattr(h.run, "communicated") or context.problem.constants.w_star is None:
        raise InputError("observable 'scaffnew-lyapunov' needs ScaffNew's control variates and a minimiser w*")
    _, h_i = h.state.inner
    h_i = h_i - context.engine.asarray(context.problem.gradients_at_star)[:, None, :]
    weight = h.again().row(h.run.step / h.run.probability)
    return weight**2 * (h_i * h_i).sum(axis=(0, 2))


def _lyapunov(h: Round) -> Any:
    """hou2023: ||x_t - x*||^2 + (eta^2/p^2) ||h_t - h*||^2 over the stacked clients."""
    shifts = _shifts(h)
    x = h.state.inner[0] - h.context.engine.asarray(h.context.problem.constants.w_star)
    return (x * x).sum(axis=(0, 2)) + shifts


def _message_squared(h: Round) -> Any:
    messages = dense(require_attribute(h, "messages"))
    squares = (messages * messages).sum(axis=2)
    if h.cohort is None or len(squares) < h.context.problem.n:
        return squares.mean(axis=0)
    counts = h.cohort.T
    return (counts * squares).sum(axis=0) / h.context.engine.xp.maximum(counts.sum(axis=0), 1.0)


def _memories(h: Round, observable: str) -> Any:
    """The server's estimate v (S, d), and the clients' memories v_i (n, S, d)."""
    if not hasattr(h.run, "remember"):
        raise InputError(f"observable {observable!r} needs memories v_i, which this algorithm does not have")
    return h.state.inner


def _largest_residual(h: Round) -> Any:
    xp, (_, v_i) = h.context.engine.xp, _memories(h, "largest-residual")
    missing = h.context.gradients(xp.repeat(h.w[None], h.context.problem.n, axis=0)) - v_i
    return xp.sqrt((missing * missing).sum(axis=2).max(axis=0))


def _estimate_noise(h: Round) -> Any:
    v, v_i = _memories(h, "estimate-noise")
    apart = v - v_i.mean(axis=0)
    return h.context.engine.xp.sqrt((apart * apart).sum(axis=1))


OBSERVABLES = (
    _mean_square("scaffold-move", (0, 2), r"\|x^t - x^{t-1}\|^2", "squared move of the server's model", Steps.move),
    _mean_square(
        "scaffold-drift",
        (0, 2),
        r"\frac{1}{KM}\sum_{k,i} \|y_i^k - x^{t-1}\|^2",
        "mean squared distance of all users' local models from the round's start",
        Steps.drift,
    ),
    _mean_square(
        "scaffold-lag",
        (0, 2),
        r"\frac{1}{KM}\sum_{k,i} \|\alpha_{i,k-1}^t - x^t\|^2",
        "mean squared distance of the points of the users' control variates from the model, after the first round",
        Steps.lag,
    ),
    _mean_square(
        "scaffold-gradient-error",
        (2, -2),
        r"\|\tilde{H}_1(y_1^{K-1}) - \nabla F_1(y_1^{K-1})\|^2",
        "squared error of the first user's last gradient",
        Steps.error,
    ),
    _mean_square(
        "scaffold-control-error",
        (2, -2),
        r"\|\frac{1}{lM}\sum_{i \in C^t} (c_i^t - \mathbb{E} c_i^t)\|^2",
        "squared error of the cohort's mean control variate, for quadratic clients",
        Steps.control,
    ),
    _mean_square(
        "scaffold-gradient-sum",
        (2, -2),
        r"\|\sum_k \tilde{H}_1(y_1^{k-1})\|^2",
        "squared sum of the first user's noisy gradients",
        Steps.total,
    ),
    _mean_square(
        "scaffold-true-gradient-sum",
        (2, -2),
        r"\|\sum_k \nabla F_1(y_1^{k-1})\|^2",
        "squared sum of the first user's gradients at the points of its local steps",
        Steps.true_total,
    ),
    nonnegative(
        "message-squared",
        (0, 2),
        r"\frac{1}{n}\sum_i \|\hat{x}_{t+1}^{(i)} - x_t\|^2",
        "mean squared length of the messages that ScaffNew's clients would send in this iteration, before noise",
        _message_squared,
    ),
    nonnegative(
        "scaffnew-shifts",
        (0, 2),
        r"\frac{\eta^2}{p^2}\|\mathbf{h}_t - \mathbf{h}^*\|^2",
        "the control variates' part of hou2023's Lyapunov function",
        _shifts,
        of_state=True,
    ),
    nonnegative(
        "scaffnew-lyapunov",
        (0, 2),
        r"\psi_t",
        "hou2023's Lyapunov function over the stacked clients",
        _lyapunov,
        of_state=True,
    ),
    nonnegative(
        "largest-residual",
        (1, -1),
        r"\max_i \|\nabla f_i(x^k) - v_i^k\|",
        "largest distance of a client's memory from its gradient",
        _largest_residual,
        of_state=True,
    ),
    nonnegative(
        "estimate-noise",
        (1, -1),
        r"\|\hat{v}^k - \frac{1}{n}\sum_i v_i^k\|",
        "distance of the server's estimate from the mean of the clients' memories",
        _estimate_noise,
        of_state=True,
    ),
)
