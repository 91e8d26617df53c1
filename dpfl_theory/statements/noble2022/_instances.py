"""The instances on which noble2022's utility statements are run: plain data.

Long runs (`TABLE`) are long enough, or noisy enough, that three faulty algorithms would exceed the bounds: one that
does not move, one that forgets the global step, and one whose noise the users do not average. One round (`ROUND`) is
run for the lemmas, and computed exactly for users with quadratics (`QUADRATICS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.core import Hypothesis
from dpfl_theory.statements.instances import Instance, Instances, Row, edge, problem, row
from dpfl_theory.statements.noble2022 import _symbols as noble


def run_of(problem: Mapping[str, Any], size: int, K: int, T: int, sigma: float, **more: Any) -> Instance:
    """share: s; distance: of x^0 from a minimiser; step: eta~ over its limit; eta_g: None for sqrt(lM); clip: C where
    the gradients have no bound (far above those of the run, so that it never acts), else their bound."""
    common = {"share": 1.0, "distance": 1.0, "step": 1.0, "eta_g": None, "replicates": 64}
    return {"problem": problem, "size": size, "K": K, "T": T, "sigma": sigma, **common, **more}


def points_of(clients: int, **more: Any) -> Instance:
    """The description of `_runs.points`."""
    return problem("points", clients=clients, **more)


def _ridge(clients: int, size: int, K: int, T: int, sigma: float, spread: float = 0.3, **more: Any) -> Instance:
    return run_of(points_of(clients, spread=spread, ridge=1.0), size, K, T, sigma, clip=10.0, **more)


# fmt: off
_LONG = (
    row("long short users", "256 users, long",
        run_of(points_of(256, spread=0.3), 256, 1, 400, 0.003, replicates=24)),
    row("long short users", "300 users, noise dominates",
        run_of(points_of(300), 300, 10, 40, 0.5, distance=0.05, replicates=24)),
    row("long half users", "half of the records",
        run_of(points_of(4, spread=0.3, records=2, record_spread=0.1), 4, 2, 600, 0.001, share=0.5)),
    # One user and one record in a step: the run near which the edges lie.
    row("long one", "one of eight users", run_of(points_of(8, spread=0.5), 1, 2, 1000, 0.002, eta_g=1.0)),
    row("long short half", "three dimensions",
        run_of(problem("axes", clients=24, dimension=3), 12, 2, 1000, 0.002, replicates=32)),
    row("long half below", "four users, a step below the limit", run_of(points_of(4), 4, 1, 1200, 0.2)),
    row("minimiser", "100 users, from the minimiser",
        run_of(points_of(100), 100, 10, 50, 0.5, distance=0.0, replicates=24)),
    row("users", "four users, a step below the limit", run_of(points_of(4), 4, 1, 2400, 0.2)),
    row("users", "four of eight users", run_of(points_of(8, spread=0.5), 4, 2, 1500, 0.001)),
    # Huber losses with a ridge: strongly convex.
    row("ridge ridge-users", "256 users, with a ridge", _ridge(256, 256, 1, 300, 1e-5, replicates=16)),
    row("ridge-users", "300 users, noise dominates",
        _ridge(300, 300, 10, 64, 0.5, 0.0, distance=0.05, replicates=24)),
    row("ridge ridge-users", "four users, with a ridge", _ridge(4, 4, 2, 600, 0.001)),
    row("ridge", "half of the users, with a ridge", _ridge(4, 2, 1, 1000, 0.001)),
    row("ridge-users", "two of four users, with a ridge", _ridge(4, 2, 1, 1000, 0.001)),
    row("ridge ridge-users", "four users, a step below the limit", _ridge(4, 4, 2, 2000, 0.05)),
    row("ridge", "four users, just inside T >= 108/l", _ridge(4, 4, 2, 108, 0.001)),
    row("ridge-outside", "four users, just outside T >= 108/l", _ridge(4, 4, 2, 106, 0.001)),
    row("moderate", "four users, T = 600, c = 1", _ridge(4, 4, 2, 600, 0.001)),
    row("moderate-inside", "four users, T = 108, c = 1", _ridge(4, 4, 2, 108, 0.001)),
    row("moderate-outside", "four users, T = 106, c = 1", _ridge(4, 4, 2, 106, 0.001)),
)
"""short: runs that together detect every planted fault; half, users: of Theorems C.1 and C.2 repaired."""
# fmt: on


def _misstated(hypothesis: Hypothesis, name: str, constant: str, factor: float) -> Row:
    """A run that is not simulated, since the claimed value of a constant is its value times this factor; the other runs
    lie on the edge itself."""
    return edge(hypothesis, f"just outside {name}", {"constants": {constant: factor}})


TABLE = Instances(
    (
        *_LONG,
        _misstated(noble.SMOOTH, "nu-smooth F_i", "nu", 0.99),
        _misstated(noble.STRONGLY_CONVEX, "mu-strongly convex F_i", "mu", 1.01),
        _misstated(noble.DISSIMILAR, "dissimilarity (G, B)", "G", 0.99),
        *(_misstated(both, "lM >= 1", "l", 0.98) for both in (noble.WHOLE, noble.SAMPLING)),
        *(_misstated(both, "sR >= 1", "s", 0.98) for both in (noble.WHOLE, noble.SAMPLING)),
        _misstated(noble.ROUNDS, "T >= 1", "T", 0.0),
        _misstated(noble.APART, "D_0 > 0", "D0", 0.0),
        _misstated(noble.AWAY, "F(x^0) > F(x*)", "F0", 0.0),
    )
)
TABLE = TABLE.copied(
    "long", "half-outside", "four users, a step below the limit", named=lambda _: "just outside nu-smooth F_i",
    constants={"nu": 0.99},
)  # fmt: skip


def _quadratic(**parameters: Any) -> Instance:
    return problem("quadratic", **{"clients": 4, "dimension": 3, "seed": 1, **parameters})


def _huber(**parameters: Any) -> Instance:
    return problem("huber", **{"clients": 4, "dimension": 3, "records": 5, "seed": 2, **parameters})


def _round(problem: Instance, size: int, K: int, **more: Any) -> Instance:
    """size: lM; distance: of x^{t-1} from x*; lag: length of the users' offsets; noise: standard deviation of a
    coordinate's error on quadratics, or sigma_g over records; share: s; step: eta~ nu over its limit; private: whether
    that error counts as privacy noise, whose second moment is half of Sigma_g^2; claimed: factors of symbols, whose
    values are then not those of the run."""
    common = {"distance": 1.0, "lag": 0.0, "noise": 1.0, "share": 0.2, "step": 1.0, "eta_g": None, "replicates": 2048}
    return {"problem": problem, "size": size, "K": K, **common, "private": False, **more}


_PART_OF_A_RECORD = "2% of a record more than one of five"
# fmt: off
ROUND = Instances((
    row("round quadratic", "one of four users, lagging, little noise",
        _round(_quadratic(), 1, 3, distance=0.3, lag=1.0, noise=0.02)),
    row("round quadratic alone", "noise alone, two of four users",
        _round(_quadratic(heterogeneity=0.0), 2, 2, distance=0.0, noise=3.0)),
    row("round quadratic", "far apart, all users",
        _round(_quadratic(heterogeneity=20.0), 4, 5, distance=2.0, noise=0.5, eta_g=1.0)),
    row("round quadratic", "far apart, at the minimiser",
        _round(_quadratic(heterogeneity=20.0), 1, 5, distance=0.0, noise=0.1)),
    row("round", "records sampled, privacy noise",
        _round(_huber(heterogeneity=3.0), 2, 3, distance=2.0, lag=0.5, noise=0.3)),
    # For the sharpened forms, which imply the printed ones: many users, coordinates and steps.
    row("corners", "one of twelve users, 100 dimensions, 20 steps",
        _round(_quadratic(clients=12, dimension=100), 1, 20, lag=1.0, noise=0.02, replicates=64)),
    row("corners", "two of 24 users, far apart",
        _round(_quadratic(clients=24, heterogeneity=20.0), 2, 2, lag=0.5, noise=0.1, replicates=512)),
    row("samples", "one record of five, little noise",
        _round(_huber(threshold=0.1), 4, 2, distance=20.0, noise=0.001)),
    row("samples", "two records of ten, privacy noise", _round(_huber(records=10), 4, 2, noise=1.0)),
    row("samples", "all records, 50 dimensions",
        _round(_huber(dimension=50, records=2), 4, 1, noise=0.5, share=1.0, replicates=512)),
    row("sums", "four steps, noise alone", _round(_quadratic(clients=1), 1, 4, distance=0.1, noise=3.0)),
    row("sums", "four steps, gradient and noise", _round(_quadratic(clients=1), 1, 4, distance=3.0, noise=1.0)),
    row("sums", "eight steps, Huber, records", _round(_huber(clients=1), 1, 8, distance=5.0, noise=0.05)),
    # Algorithm 1 rounds numbers of users and records down.
    edge(noble.SMOOTH, "just outside nu-smooth F_i", _round(_quadratic(), 1, 2, claimed={"nu": 0.99})),
    edge(noble.WHOLE, "2% of a user more than one of four", _round(_quadratic(), 1, 2, claimed={"l": 1.02})),
    edge(noble.WHOLE, _PART_OF_A_RECORD, _round(_huber(), 1, 2, claimed={"s": 1.02})),
    edge(noble.RECORDS, _PART_OF_A_RECORD, _round(_huber(), 1, 2, claimed={"s": 1.02})),
))
# fmt: on


def _users(curvatures: list[str], offsets: list[str], size: int, K: int, **more: Any) -> Instance:
    common = {"start": ["0", "3"], "V": ["0", "1", "10000"], "T": 3, "eta_g": "1"}
    return {"curvatures": curvatures, "offsets": offsets, "size": size, "K": K, **common, **more}


def _one_at_a_time(M: int) -> Instance:
    """Only errors, from x* on, and a long global step: the number of users whose errors the server averages matters."""
    return _users(["1", *["0"] * (M - 1)], ["0"] * M, 1, 1, start=["0"], V=["1"], T=2, eta_g="4")


_FOUR = (["1", "1", "1/2", "0"], ["9", "-9", "1", "0"])
# fmt: off
QUADRATICS = Instances((
    row("convex few user", "one user", _users(["1"], ["0"], 1, 2)),
    row("convex", "two equal users, one at a time", _users(["1", "1"], ["0", "0"], 1, 2)),
    row("convex", "two far apart, one at a time", _users(["1", "1/4"], ["10", "-10"], 1, 2)),
    row("convex few flat", "three users, all", _users(["1", "0", "1/2"], ["1", "-5", "2"], 3, 2, eta_g="2", T=2)),
    row("convex flat", "four users, one at a time", _users(*_FOUR, 1, 1)),
    row("convex flat", "four users, one at a time, K = 3", _users(*_FOUR, 1, 3, T=2)),
    row("convex few flat", "eight users, one at a time",
        _users(["1", *["1/2"] * 7], ["9", *["-1"] * 7], 1, 1, T=2, V=["1"])),
    row("flat", "four users, one at a time, eta_g = 4", _one_at_a_time(4)),
    row("flat", "eight users, one at a time, eta_g = 4", _one_at_a_time(8)),
    row("other", "two users, one concave", _users(["1", "-1/2"], ["1", "0"], 1, 2)),
    row("other", "four users, one concave", _users(["1", "1", "-1", "0"], ["9", "-9", "1", "0"], 1, 1)),
    # Local steps that are long where the server's is not: there the drift helps least.
    row("long", "one user, K = 3, eta_g = 1/12", _users(["1"], ["0"], 1, 3, eta_g="1/12", T=1)),
))
"""other: for the sharpened forms, which ask for no convexity and imply the printed ones; few: for the printed forms;
flat: some user is flat, or there are many, where the step size or the errors of others count most."""
# fmt: on
