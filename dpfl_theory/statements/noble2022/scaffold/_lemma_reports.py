"""A round of Algorithm 1 whose users also report the vectors that a lemma of Appendix C speaks of.

The model and the control variates are those of `Scaffold`. What users report takes the place of their messages (lengths
in X) or of the signal (gradients), so that the observables ``message-squared`` and ``signal-squared`` read it:

    move      x^t - x^{t-1}                                                  message
    drift     y_i^k - x^{t-1}, all M users and K steps                       messages
    lag       alpha_{i,k-1}^t - x^t, all M users and K steps                 messages
    error     H~_1(y_1^{K-1}) - grad F_1(y_1^{K-1})                          signal
    control   the mean of c_i^t - E c_i^t over the cohort, for quadratics    signal
    sum       sum_k H~_1(y_1^{k-1})                                          signal
    means     sum_k grad F_1(y_1^{k-1})                                      signal

Users outside the cohort take their steps too, unseen, as the paper's drift has it; noise has the address of its user,
so that a user's steps are the same in both roles. Round 0 sets c_i^0 = (1/K) sum_k H~_i^k(alpha_i) at given points
alpha_i, so that the round that follows has a lag. NumPy and the algorithms are loaded with this module: import it where
it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfl_theory.algorithms.base import Context, Round
from dpfl_theory.algorithms.hyperparameters import step_at
from dpfl_theory.algorithms.scaffold import Scaffold, ScaffoldState
from dpfl_theory.errors import unknown_name
from dpfl_theory.problems.base import Problem

__all__ = ["MESSAGES", "SIGNALS", "Lagged", "ReportingScaffold"]

MESSAGES = ("move", "drift", "lag")
SIGNALS = ("error", "control", "sum", "means")


@dataclass(frozen=True)
class Lagged:
    """Where the users' control variates were taken: x^0 plus an offset (n, d) [X] for each user."""

    offsets: tuple[tuple[float, ...], ...] = ()

    def points(self, context: Context, x: Any) -> Any:
        """alpha_i, (n, S, d)."""
        xp, n = context.engine.xp, context.problem.n
        everywhere = xp.broadcast_to(x[None], (n, *x.shape))
        return everywhere + context.engine.asarray(self.offsets)[:, None, :] if self.offsets else everywhere


@dataclass(frozen=True)
class ReportingScaffold(Scaffold):
    """`Scaffold` with one warm round at lagged points, and a report for messages or signal.

    report: one of `MESSAGES` or `SIGNALS`;  lagged: the offsets of the points alpha_i from x^0.

    >>> ReportingScaffold(0.1, report="lag").describe()["report"]
    'lag'
    """

    report: str = "drift"
    lagged: Lagged = Lagged()

    def validate(self, problem: Problem, lanes: int) -> None:
        super().validate(problem, lanes)
        if self.report not in (*MESSAGES, *SIGNALS):
            raise unknown_name("report", self.report, (*MESSAGES, *SIGNALS))

    def round(self, context: Context, state: ScaffoldState, k: int) -> tuple[ScaffoldState, Round]:
        xp = context.engine.xp
        if k == 0:
            points = self.lagged.points(context, state.x)
            own = sum(self.gradient.at(context, points, None, k, j) for j in range(self.local_steps)) / self.local_steps
            still = xp.zeros_like(points)
            return ScaffoldState(state.x, own.mean(axis=0), own), Round(
                context, k, state.x, messages=still, signal=still[0], state=state
            )
        after, happened = super().round(context, state, k)
        members = happened.members
        present = xp.ones((context.problem.n, len(state.x)))
        if members is not None:
            present = (members[:, None, :] == xp.arange(context.problem.n)[None, :, None]).any(axis=0) * 1.0
        steps = _Steps(self, context, state, k, present[:, :, None])
        if self.report in MESSAGES:
            happened.messages = steps.message(after, self.report)
        else:
            happened.signal = steps.signal(after, self.report)
        return after, happened

    def describe(self) -> dict[str, Any]:
        offsets = [list(row) for row in self.lagged.offsets]
        return {**super().describe(), "warm_start": 1, "report": self.report, "lagged_offsets": offsets}


class _Steps:
    """All users' local steps of one round: their points y_i^0, ..., y_i^K, noisy gradients and true ones, (n, S, d)
    each. present (n, S, 1): 1 for the cohort."""

    def __init__(self, run: ReportingScaffold, context: Context, state: ScaffoldState, k: int, present: Any) -> None:
        xp, self.x, self.state, self.context, self.present = context.engine.xp, state.x, state, context, present
        self.run = run
        eta = context.per_lane(step_at(run.local_step, k))[None, :, None]
        self.points = [xp.broadcast_to(state.x[None], state.c_i.shape)]
        self.noisy, self.true, self.quiet = [], [], []
        silent, total = self.points[0], xp.zeros_like(state.c_i)
        for q in range(run.local_steps):
            self.noisy.append(run.gradient.at(context, self.points[-1], None, k, q))
            self.true.append(context.gradients(self.points[-1]))
            self.quiet.append(context.gradients(silent))
            total = total + self.noisy[-1] + state.c[None] - state.c_i
            self.points.append(state.x[None] - eta * total)
            silent = silent - eta * (self.quiet[-1] + state.c[None] - state.c_i)

    def _over_the_cohort(self, vectors: Any) -> Any:
        return (self.present * vectors).sum(axis=0) / self.present.sum(axis=0)

    def message(self, after: ScaffoldState, report: str) -> Any:
        xp = self.context.engine.xp
        if report == "move":
            return (after.x - self.x)[None]
        if report == "drift":
            return xp.concatenate([y - self.x[None] for y in self.points[1:]])
        old = self.run.lagged.points(self.context, self.x)
        return xp.concatenate([self.present * y + (1.0 - self.present) * old - after.x[None] for y in self.points[:-1]])

    def signal(self, after: ScaffoldState, report: str) -> Any:
        K = self.run.local_steps
        if report == "error":
            return (self.noisy[-1] - self.true[-1])[0]
        if report == "control":
            return self._over_the_cohort(after.c_i - sum(self.quiet) / K)
        return sum(self.noisy if report == "sum" else self.true)[0]
