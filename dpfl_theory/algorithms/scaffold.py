"""SCAFFOLD, SCAFFOLD-warm and DP-SCAFFOLD: noble2022 Algorithm 1.

In round t, with users C_t, every user i in C_t starts at y = x and does K times

    y <- y - eta_l (H_i(y) - c_i + c)

where H_i is a (clipped, noisy, subsampled) gradient; then, in the paper's notation,

    c_i^+ = c_i - c + (x - y)/(K eta_l)  (the mean of the H_i along the way)
    sends (y - x, c_i^+ - c_i);   c_i <- c_i^+
    x <- x + eta_g (1/|C_t|) sum_i (y_i - x);   c <- c + (|C_t|/M) (1/|C_t|) sum_i (c_i^+ - c_i)

Line 20 prints 1/(lM), and line 21 the factor l; here |C_t| is used for lM. By line 2 |C_t| = floor(lM), so both are the
same where lM is a whole number. Elsewhere 1/(lM) would shorten the mean of the y_i - x, and so eta_g, by the factor
floor(lM)/(lM); a mean over the users that take part does not. For c the readings agree: l/(lM) = 1/M, and c stays the
mean of all c_i, as the proof uses it (Appendix C.3).

The warm start (Section 3.3) spends rounds only on the control variates: c_i = (1/K) sum_k H_i^k(x_0) with K draws of
the gradient at x_0, c = (1/M) sum_i c_i, and the model does not move.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpfl_theory.algorithms.base import Algorithm, Context, Round
from dpfl_theory.algorithms.cohort import Cohort
from dpfl_theory.algorithms.fedavg_two_stepsizes import local_models
from dpfl_theory.algorithms.gradients import FullGradient, Gradient
from dpfl_theory.algorithms.hyperparameters import StepSize, positive_steps, require_integer, step_at, to_json
from dpfl_theory.errors import InputError
from dpfl_theory.problems.base import Problem

__all__ = ["Scaffold", "ScaffoldState", "WarmPoints"]


@dataclass
class ScaffoldState:
    """x, c (S, d): the server's model [X] and control variate [F/X];  c_i (n, S, d): the users' control variates."""

    x: Any
    c: Any
    c_i: Any


@dataclass(frozen=True)
class WarmPoints:
    """The points at which warm rounds at x set the users' control variates, as earlier rounds might have left them.

    They are x plus the rows of ``offsets`` (n, d) [X], a row for each user; () for x itself.

    >>> WarmPoints(((1.0,), (-2.0,))).describe()
    {'warm_points': [[1.0], [-2.0]]}
    """

    offsets: tuple[tuple[float, ...], ...] = ()

    def points(self, context: Context, x: Any, members: Any) -> Any:
        """The points of members (A, S), None for all, at x (S, d): (A, S, d)."""
        count = context.problem.n if members is None else len(members)
        everywhere = context.engine.xp.broadcast_to(x[None], (count, *x.shape))
        if not self.offsets:
            return everywhere
        offsets = context.engine.asarray(self.offsets)
        return everywhere + (offsets[:, None, :] if members is None else offsets[members])

    def check(self, problem: Problem) -> None:
        """Raise InputError for offsets that do not fit the problem."""
        if self.offsets and [len(row) for row in self.offsets] != [problem.d] * problem.n:
            raise InputError(
                f"the warm points' offsets are not {problem.n} rows of {problem.d} numbers, one for each user"
            )

    def describe(self) -> dict[str, Any]:
        """The offsets as plain JSON data."""
        return {"warm_points": [list(row) for row in self.offsets]}


@dataclass(frozen=True)
class Scaffold(Algorithm):
    """noble2022 Algorithm 1 with zero initial control variates, or warm ones.

    local_step: eta_l [X^2/F];  global_step: eta_g, without unit;  local_steps: K;
    cohort: full, or fixed of size floor(lM) as printed (other schemes make the size of C_t random);
    gradient: `RecordGradient` for DP-SCAFFOLD (clipping, noise and subsampling of records), full by default;
    warm_start: the number of first rounds that set control variates; in each a cohort is drawn as in any other round.
        The paper's theory needs every user to have been drawn: use a full cohort's single round, or some 4/l rounds;
    warm_cohort: the sampling in warm rounds; None for ``cohort``;
    warm_points: the points at which they set them; x_0 by default.

    >>> Scaffold(0.1, local_steps=5, cohort=Cohort("fixed", 2), warm_start=3).describe()["warm_start"]
    3
    """

    local_step: StepSize
    global_step: StepSize = 1.0
    local_steps: int = 1
    cohort: Cohort = field(default_factory=Cohort)
    gradient: Gradient = field(default_factory=FullGradient)
    warm_start: int = 0
    warm_cohort: Cohort | None = None
    warm_points: WarmPoints = WarmPoints()

    def __post_init__(self) -> None:
        positive_steps("the local step size", self.local_step)
        positive_steps("the global step size", self.global_step)
        require_integer("the number of local steps", self.local_steps)
        require_integer("the number of warm rounds", self.warm_start, minimum=0)

    def validate(self, problem: Problem, replicates: int) -> None:
        super().validate(problem, replicates)
        self.gradient.validate(problem, replicates)
        for cohort in (self.cohort, self.warm_cohort or self.cohort):
            cohort.check(problem.n)
            if cohort.scheme not in ("fixed", "full"):
                need = "SCAFFOLD's averages are over a cohort of known size: choose fixed or full"
                raise InputError(f"sampling scheme {cohort.scheme!r} does not fit: {need}")
        self.warm_points.check(problem)

    def initial_state(self, context: Context) -> ScaffoldState:
        xp, x = context.engine.xp, context.start
        return ScaffoldState(x, xp.zeros_like(x), xp.zeros((context.problem.n, *x.shape)))

    def server(self, state: ScaffoldState) -> Any:
        return state.x

    def round(self, context: Context, state: ScaffoldState, k: int) -> tuple[ScaffoldState, Round]:
        xp, n, K = context.engine.xp, context.problem.n, self.local_steps
        warm = k < self.warm_start
        cohort = (self.warm_cohort or self.cohort) if warm else self.cohort
        members, _ = cohort.members(context, k)
        replicate = xp.arange(context.replicates.count)[None, :]
        old = state.c_i if members is None else state.c_i[members, replicate]
        if warm:
            points = self.warm_points.points(context, state.x, members)
            new = sum(self.gradient.evaluate(context, points, members, k, j) for j in range(K)) / K
            sent = xp.zeros_like(old)
        else:
            eta = context.per_replicate(step_at(self.local_step, k))
            sent = local_models(context, state.x, eta, K, self.gradient, members, k, state.c[None] - old)
            new = old - state.c[None] - sent / (K * eta[:, None])
        if members is None:
            c_i = new
        else:
            c_i = state.c_i.copy()
            c_i[members, replicate] = new
        signal = sent.mean(axis=0)
        x = state.x if warm else state.x + context.per_replicate(step_at(self.global_step, k))[:, None] * signal
        after = ScaffoldState(x, state.c + (new - old).sum(axis=0) / n, c_i)
        return after, Round(
            context,
            k,
            state.x,
            members=members,
            messages=sent,
            signal=signal,
            state=state,
            after=after,
            algorithm=self,
        )

    def describe(self) -> dict[str, Any]:
        return {
            "algorithm": "Scaffold",
            "local_step": to_json(self.local_step),
            "global_step": to_json(self.global_step),
            "local_steps": int(self.local_steps),
            "cohort": self.cohort.describe(),
            "warm_start": int(self.warm_start),
            "warm_cohort": None if self.warm_cohort is None else self.warm_cohort.describe(),
            **self.warm_points.describe(),
            **self.gradient.describe(),
        }
