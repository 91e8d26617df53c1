"""The instances on which shulgin2025's statements are run: plain data, at the edges of their hypotheses.

A row of alpha-NormEC: its tags, its name, the problem, the share of the first gradients in the memories, K and sigma.
Further entries are alpha over R, beta over alpha + R, the step (gamma over its limit) and the distance ||x_0 - w*|| (0:
x_0 = 0). R = |1 - share| max_i ||grad f_i(x_0)||. With share 0 the bound is at least 2R >= 2 ||grad f(x_0)||: it
guarantees less than an algorithm that never moves does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfl_theory.statements.instances import Instance, Instances, Row, edge, row
from dpfl_theory.statements.instances import problem as _problem
from dpfl_theory.statements.shulgin2025 import _symbols as shu


def chosen(shares: Mapping[str, Any], R: Any, L_max: Any) -> dict[str, Any]:
    """R, and alpha, beta and gamma from their shares of R, of alpha + R and of Theorem 1's limit (``step``)."""
    alpha = shares["alpha"] * R
    beta = shares["beta"] * (alpha + R)
    return {"R": R, "alpha": alpha, "beta": beta, "gamma": shares["step"] * beta * R / ((alpha + R) * L_max)}


def quadratics(condition: float = 20.0, heterogeneity: float = 2.0, **more: Any) -> Instance:
    """Quadratics of 6 clients in 4 dimensions, unless other sizes are given."""
    parameters = {"clients": 6, "dimension": 4, "condition": condition, "heterogeneity": heterogeneity, "seed": 3}
    return _problem("quadratic", **{**parameters, **more})


def _isotropic(clients: int, dimension: int = 1) -> Instance:
    """||x||^2/2 in every client: 3 away from the minimiser the gradient's length is 3."""
    return quadratics(1.0, 0.0, clients=clients, dimension=dimension)


def _corner(clients: int, **more: Any) -> Instance:
    return quadratics(1000.0, **{"clients": clients, "dimension": 200, **more})


_ONE, _SIX = _isotropic(1), quadratics(1.0, 5.0, clients=6, dimension=1)
"""One client on the line; six of curvature 1, their minimisers 5 times standard normal numbers."""
_QUADRATICS, _ROUND, _FAR = quadratics(), quadratics(100.0, 0.0), quadratics(100.0, 50.0)
_STRETCHED = quadratics(1e6, 1.0, clients=2, dimension=2, seed=35)
"""Two clients whose long axes nearly agree: L_f/mu_f = 20311; the means of more turned quadratics are rounder."""
_HUBER = _problem("huber", clients=5, dimension=3, seed=2)
_SORTED = _problem(
    "logistic-data", data="breast-cancer", features=5, clients=8, partition="shards", shards_per_client=1
)
_LABELS = "breast cancer sorted by label"


# fmt: off
def _norm_ec(
    tags: str, name: str, problem: Instance, share: float, K: int, sigma: float = 0.0, **more: Any
) -> Row:
    usual = {"alpha": 0.1, "beta": 0.999, "step": 1.0, "distance": 3.0}
    return row(tags, name, {"problem": problem, "share": share, "K": K, "sigma": sigma, **usual, **more})


def _accurate(tags: str, name: str, problem: Instance, K: int, D: float, **more: Any) -> Row:
    """R = D/sqrt(K + 1), D in units of M; where ``step`` is 0, the step is that of (12)."""
    return _norm_ec(tags, name, problem, 0.0, K, D=D, **more)


def _clip21(tags: str, name: str, problem: Instance, share: float = 0.5, tau: float = 0.5, **more: Any) -> Row:
    """share: of the first gradients in the memories; tau: over the largest residual R, for share 1 over the first
    gradient; step: gamma L, or over the limit of clip21.inactive with ``inactive``."""
    usual = {"step": 1.0, "distance": 3.0, "K": 0}
    return row(tags, name, {"problem": problem, "share": share, "tau": tau, **usual, **more})


_UPDATES = {"alpha": 0.0, "beta": 0.9, "distance": 5.0}
_EVEN = {"alpha": 100.0, "beta": 100.0 / 101.0}
_LEAST_D = {"D": 1.0001, "alpha": 1e6, "beta": 1.0 - 1e-6, "step": 0}
_BUDGET = {"c": 2.0, "delta": 1e-5}

_FAMILIES: dict[str, Instance] = {
    "isotropic quadratics": {
        "epsilon": 640, "n": 2, "d": 8, "K": 400, "c": 2.0, "R": 0.4, "delta": 1e-5, "distance": 3.0,
        "replicates": 384,
    },
    "slopes that last": {"epsilon": 13.6, "n": 1, "d": 1, "K": 20, "delta": 1e-5, "replicates": 128},
    "quadratics": {"K": 100, "D": 1.0, "alpha over D": 1.0, "step": 1.0, "distance": 3.0},
    "slopes that last, no noise": {"K": 99},
}


def _grid(tag: str, term: str, family: str, symbol: str, claimed: str, *grid: float) -> Row:
    """A claimed exponent of a symbol, which runs over a geometric grid of its values decide."""
    what = {"family": family, "symbol": symbol, "term": term, "claimed": claimed, "grid": list(grid)}
    return row(tag, f"exponent of {symbol} on {family}", {**what, **_FAMILIES[family]})


_FIRST, _SECOND = ("exponents1", "all three"), ("exponents2", "order t: initialisation, memory and privacy noise")
TABLE = Instances((
    # Theorems 1 and 2, and Lemma 3.
    _norm_ec("quiet", "quadratics, R large, all at their limits", _QUADRATICS, 4.0, 200),
    _norm_ec("quiet", "quadratics, zero memories", _QUADRATICS, 0.0, 200),
    _norm_ec("quiet", "quadratics, R small", _QUADRATICS, 0.98, 1000),
    _norm_ec("quiet", "quadratics, alpha = 0", _QUADRATICS, 0.9, 400, alpha=0.0),
    _norm_ec("quiet", "quadratics, alpha = 0, R large, beta half of R", _QUADRATICS, 3.0, 200, alpha=0.0, beta=0.5),
    _norm_ec("quiet", "quadratics, alpha large", _QUADRATICS, 0.9, 1000, alpha=30.0),
    _norm_ec("quiet", "quadratics, short step and slow memories", _QUADRATICS, 0.9, 800, step=0.3, beta=0.1),
    _norm_ec("quiet", "one quadratic, first round only", _ONE, 0.7, 0),
    _norm_ec("quiet", "one quadratic, R small", _ONE, 0.95, 100),
    _norm_ec("quiet", "very heterogeneous quadratics", _FAR, 0.95, 1000),
    _norm_ec("quiet", _LABELS, _SORTED, 0.9, 300, distance=0.0),
    _norm_ec("quiet", "40 clients in 200 dimensions, condition 1000", _corner(40, heterogeneity=0.01), 0.95, 150),
    _norm_ec("quiet", "200 clients, condition 1000", _corner(200, dimension=4, heterogeneity=0.5), 0.95, 300),
    _norm_ec("quiet", "one client, condition 1000", quadratics(1000.0, clients=1), 0.95, 1000),
    _norm_ec("quiet", "two clients, f of condition 20000", _STRETCHED, 0.95, 1000),
    # Theorem 1's sharpened bound where it is small although the memories start at 0.
    _norm_ec("sharp", "one quadratic, zero memories, alpha = beta = 100 R, first round", _ONE, 0.0, 0, **_EVEN),
    _norm_ec("sharp", "quadratics, zero memories, alpha = beta = 100 R, long run", _QUADRATICS, 0.0, 1500, step=0.03,
        **_EVEN),
    _norm_ec("sharp", "very heterogeneous, zero memories, alpha = beta = 100 R", _FAR, 0.0, 1500, step=0.03, **_EVEN),
    _norm_ec("noisy", "Huber, R small", _HUBER, 0.9, 60, 0.5),
    _norm_ec("noisy", "Huber, zero memories, slow", _HUBER, 0.0, 40, 0.5, beta=0.1),
    _norm_ec("noisy", "Huber, first round only", _HUBER, 0.95, 0, 1.0),
    _norm_ec("noisy", "quadratics, R small, all at their limits", _QUADRATICS, 0.95, 150, 0.05),
    _norm_ec("noisy", "quadratics, R large, alpha = 0", _QUADRATICS, 3.0, 40, 0.3, alpha=0.0),
    _norm_ec("noisy", "quadratics, noise dominates", _QUADRATICS, 0.9, 60, 20.0, beta=0.5),
    _norm_ec("noisy", _LABELS, _SORTED, 0.9, 60, 0.1, distance=0.0, replicates=512),
    # Here the bound is less than half of ||grad f(x^0)||, and noise a large share of it; in most others it is above
    # ||grad f(x^0)||, so that they would hold for an algorithm that never moves.
    _norm_ec("noisy", "16 clients on the line, noise term 41% of a small bound", _isotropic(16), 0.967, 80, 0.7,
        alpha=1.0, beta=0.95),
    _norm_ec("noisy", "16 clients in 4 dimensions, noise term 41% of a small bound", _isotropic(16, 4), 0.967, 80, 0.35,
        alpha=1.0, beta=0.95),
    # Bounds below ||grad f(x^0)||. Lemma 3 is not run on them: in many dimensions it is nearly an equality, which
    # samples cannot decide.
    _norm_ec("noisy-far", "100 clients in 200 dimensions, condition 1000", _corner(100, heterogeneity=0.01), 0.95, 90,
        0.002, replicates=8),
    _norm_ec("noisy-far", "two clients, f of condition 20000", _STRETCHED, 0.95, 400, 0.002, replicates=256),
    # Noise on the line, where Lemma 3 has the most slack: a factor sqrt(2/pi).
    _norm_ec("noise-alone", "one client on the line", _ONE, 0.5, 3, 1.0),
    # Lemma 2, and the descent.
    # Lemma 2 over the rounds of a run: with beta too large for the radius R, and small enough for it.
    _norm_ec("overshooting", "one client, its residual R/10", _ONE, 0.98, 0, cushion=10.0, **_UPDATES),
    _norm_ec("overshooting", "one client, its residual R/10, alpha = R/100", _ONE, 0.98, 0, cushion=10.0,
        **{**_UPDATES, "alpha": 0.01}),
    _norm_ec("overshooting", "six clients on the line, round 51", _SIX, 0.5, 50, alpha=0.0),
    _norm_ec("overshooting", "quadratics, round 201", _QUADRATICS, 0.9, 200, alpha=0.0),
    _norm_ec("overshooting", "Huber, round 51", _HUBER, 0.5, 50, alpha=0.0),
    _norm_ec("overshooting", f"{_LABELS}, round 51", _SORTED, 0.5, 50, alpha=0.0, distance=0.0),
    _norm_ec("within no-overshoot", "quadratics, beta = alpha", _QUADRATICS, 0.5, 100, alpha=1.0, beta=0.5),
    _norm_ec("within", "six clients on the line, beta = R/2, alpha = 0", _SIX, 0.5, 50, alpha=0.0, beta=0.5),
    _norm_ec("within no-overshoot", "very heterogeneous, beta = alpha", _FAR, 0.95, 300, alpha=1.0, beta=0.5),
    # The repaired Lemma 2 with a first residual near its radius, here 1.8 R. The memory is on the side from which the
    # gradient moves away.
    *(
        _norm_ec("beyond", f"one client, its residual 1.79 R, round {K + 1}", _ONE, 1.02, K, cushion=1 / 1.79,
            **_UPDATES)
        for K in (0, 40)
    ),
    # First rounds; "near": their estimate is nearer to the gradient than 0 is.
    _norm_ec("first near", "quadratics", _QUADRATICS, 0.9, 0),
    _norm_ec("first", "quadratics, zero memories", _QUADRATICS, 0.0, 0),
    _norm_ec("first", "quadratics, the estimate far off", _QUADRATICS, 4.0, 0, alpha=0.0, beta=0.5),
    _norm_ec("first near", "one quadratic, no overshoot", _ONE, 0.5, 0, alpha=0.0),
    _norm_ec("first", "very heterogeneous quadratics", _FAR, 0.5, 0),
    _norm_ec("first near", _LABELS, _SORTED, 0.5, 0, distance=0.0),
    # Corollaries 1 and 2, and (12).
    _accurate("accurate", "quadratics, D = 3 M", _QUADRATICS, 300, 3.0, alpha=2.0, beta=0.5),
    _accurate("accurate", "quadratics, D = M/20", _QUADRATICS, 300, 0.05),
    _accurate("accurate", "very heterogeneous, D = M", _FAR, 500, 1.0),
    _accurate("accurate", "first round only", _ONE, 0, 0.5),
    _accurate("accurate", _LABELS, _SORTED, 300, 0.5, distance=0.0),
    # (12), whose step Corollary 1 allows for D > M only.
    _accurate("small", "condition 100, D = 3 M", _ROUND, 400, 3.0, step=0),
    _accurate("small", "heterogeneous, D = 12 M", quadratics(20.0, 5.0), 200, 12.0, alpha=0.0, step=0),
    _accurate("less", "condition 100, D = M/20", _ROUND, 400, 0.05, step=0),
    _accurate("less", "condition 1000, D = M/20", quadratics(1000.0, 0.0), 1000, 0.05, step=0),
    _accurate("less", "heterogeneous, condition 100, D = M/20", quadratics(100.0), 400, 0.05, step=0),
    # (12) with steps that Corollary 1 allows. Where D is nearly M the bound is 3 L gamma, here 35% and 17% of ||grad
    # f(x^0)||, and the runs end at gradients of nearly L gamma/2: on the line they are (sqrt(K + 1) - k) L gamma, and
    # the shortest of these is longest for K + 1 = m (m + 1).
    _accurate("large", "condition 100, D = 3 M, alpha = 1000 R", _ROUND, 400, 3.0, alpha=1000.0, step=0),
    _accurate("large", "heterogeneous, D = 12 M, alpha = 1000 R", quadratics(20.0, 5.0), 200, 12.0, alpha=1000.0,
        step=0),
    _accurate("large", "one quadratic, long run, D = 2 M, alpha = 10000 R", _ONE, 2000, 2.0, alpha=1e4, step=0),
    _accurate("large", "one quadratic, 72 rounds, D = 1.0001 M", _ONE, 71, **_LEAST_D),
    _accurate("large", "one client in two dimensions, condition 300, D = 1.0001 M",
        quadratics(300.0, 0.0, clients=1, dimension=2, seed=5), 400, **_LEAST_D),
    # The repaired (12) where it is nearly attained, and with first memories as near as in the restored form.
    _accurate("nearly", "one quadratic, first round, D = M/20", _ONE, 0, 0.05, step=0),
    _accurate("closer", "condition 1000, D = M/20, R = D/sqrt(K + 1)", quadratics(1000.0, 0.0), 1000, 0.05, step=0,
        R="as restored"),
    _accurate("closer", "one quadratic, D = M/20, R = D/sqrt(K + 1)", _ONE, 100, 0.05, step=0, R="as restored"),
    # Corollary 2 with the constant of the repaired noise. The bounds are above ||grad f(x^0)||: an algorithm that never
    # moves would break only those of "accurate-private".
    _norm_ec("private", "Huber, epsilon = 8", _HUBER, 0.9, 20, epsilon=8.0, beta=0.5, **_BUDGET),
    _norm_ec("private", "quadratics, epsilon = 1", _QUADRATICS, 0.5, 30, epsilon=1.0, delta=1e-6, c=2.0,
        replicates=512),
    _norm_ec("private", f"{_LABELS}, epsilon = 8", _SORTED, 0.9, 40, epsilon=8.0, distance=0.0, replicates=512,
        **_BUDGET),
    # Corollary 2 at t = (d log(1/delta)/(n epsilon^2))^(1/4), R = alpha = t and the best beta_0: the bound is 14.5 t,
    # while ||grad f(x^0)|| = 3; the last two are private by the repaired noise, epsilon <= 2 log(1/delta), and their
    # bound is 24.4 while ||grad f(x^0)|| = 30.
    *(
        row("accurate-private", f"||x||^2/2, {what}",
            {"problem": _isotropic(n, d), "t": t, "K": K, "distance": way, **_BUDGET})
        for t, what, n, d, K, way in (
            (0.1, "epsilon = 84.8, n = 16", 16, 1, 78, 3.0),
            (0.05, "epsilon = 339, n = 16", 16, 1, 314, 3.0),
            (0.1, "epsilon = 170, n = 16, d = 4", 16, 4, 78, 3.0),
            (0.2, "epsilon = 21.2, n = 16, from 30 away", 16, 1, 400, 30.0),
            (0.2, "epsilon = 8.48, n = 100, from 30 away", 100, 1, 400, 30.0),
        )
    ),
    # Corollary 2 where its order is attained: min_k E||grad f(x^k)|| is t itself, whatever the noise.
    *(
        row("flat", f"the slope stays t = {t}, {what}",
            {"t": t, "n": n, "d": d, "K": K, "delta": 1e-5, "replicates": 256})
        for t, what, n, d, K in (
            (0.5, "epsilon = 13.6", 1, 1, 20),
            (0.25, "epsilon = 54.3", 1, 1, 20),
            (0.25, "epsilon = 13.6, n = 16", 16, 1, 20),
            (0.5, "epsilon = 13.6, n = d = 16", 16, 16, 20),
            (0.25, "epsilon = 54.3, K = 200", 1, 1, 200),
        )
    ),
    # Clip21: first rounds, and runs whose residuals stay below tau.
    _clip21("clip21", "quadratics", _QUADRATICS),
    _clip21("clip21", "one client", quadratics(2.0, 0.0, clients=1, dimension=2), 0.9),
    _clip21("clip21", "quadratics, zero memories, short threshold", _QUADRATICS, 0.0, 0.01),
    _clip21("clip21", "quadratics, no clipping", _QUADRATICS, tau=2.0),
    _clip21("clip21", "quadratics, short step", quadratics(100.0, 20.0), 3.0, step=0.1),
    _clip21("clip21", _LABELS, _SORTED, distance=0.0),
    _clip21("inactive", "quadratics", _QUADRATICS, 0.95, 1.0, K=50, inactive=True),
    _clip21("inactive", "very heterogeneous quadratics", _FAR, 0.9, 1.0, K=100, inactive=True),
    _clip21("inactive", "one quadratic, first round", _ONE, 1.0, step=0.99, inactive=True),
    _clip21("inactive", _LABELS, _SORTED, 0.8, 1.0, K=50, distance=0.0, inactive=True),
    # Exponents of Corollaries 1 and 2. Along every grid t falls, or stays: the order is claimed for small t, where d
    # is small and the other symbols large. R of the isotropic quadratics is in units of t, so that noise makes up
    # nearly all of the remaining gradient. D of the quadratics is in units of M.
    _grid(*_FIRST, "quadratics", "K + 1", "-1/2", 101, 401, 1601),
    _grid(*_FIRST, "slopes that last, no noise", "K + 1", "-1/2", 100, 400, 1600),
    _grid(*_SECOND, "isotropic quadratics", "epsilon", "-1/2", 320, 640, 1280),
    _grid(*_SECOND, "isotropic quadratics", "n", "-1/4", 2, 4, 8),
    _grid(*_SECOND, "isotropic quadratics", "d", "1/4", 32, 16, 8),
    _grid(*_SECOND, "isotropic quadratics", "K + 1", "0", 201, 401, 801),
    _grid(*_SECOND, "slopes that last", "epsilon", "-1/2", 13.6, 27.2, 54.4),
    _grid(*_SECOND, "slopes that last", "n", "-1/4", 1, 4, 16),
    _grid(*_SECOND, "slopes that last", "d", "1/4", 16, 4, 1),
    _grid(*_SECOND, "slopes that last", "K + 1", "0", 21, 41, 81),
    # By symbols with other stated values.
    edge(shu.SMOOTH_F, "just not L-smooth", {"stated": {"L": "99/100"}}),
    edge(shu.CLIENTS, "just not L_max-smooth", {"stated": {"L_max": "99/100"}}),
    edge(shu.MEMORIES, "just outside R as the largest residual", {"stated": {"residual_0": "101/100"}}),
    edge(shu.CLIPS, "just outside tau > 0", {"stated": {"tau": "0"}}),
    edge(shu.POSITIVE_STEP, "just outside gamma > 0", {"stated": {"gamma": "0"}}),
    edge(shu.QUIET, "just outside messages without noise", {"stated": {"sigma": "+1/50"}}),
    edge(shu.ROUNDS, "just outside K >= 0", {"stated": {"K": "+1/50"}}),
    edge(shu.NOISE, "just outside n as the number of clients", {"stated": {"n": "+1/50"}}),
)).copied("noisy", "noise-alone", replicates=4096)

def _one_round(tag: str, inside: dict[str, str], **beyond: dict[str, str]) -> tuple[Row, ...]:
    """One round on the line just inside, and changes of it just outside hypotheses (see `_line.one_round`)."""
    changes = {f"just outside {words}": change for words, change in beyond.items()}
    return (
        row(tag, "one round, just inside the hypotheses", inside),
        *(row(f"{tag}-outside", name, {**inside, **change}) for name, change in changes.items()),
    )


_INSIDE = {"L": "1", "slope": "1", "R": "1/100", "alpha": "1/100", "beta share": "99/100", "step": "1"}
_TWELVE = {"L": "1", "slope": "1", "R": "51/50", "alpha": "0", "beta share": "99/100", "gamma": "1"}
_WEIGHTED = {"L": "1", "slope": "1", "R": "2", "D": "1", "alpha": "2", "beta": "2", "gamma": "1"}
_GAMMA = {"gamma as prescribed": {"gamma": "99/100"}}

ONE_ROUND = Instances((
    edge(shu.SMOOTH, "just outside L <= L_max", {"L_max": "99/100"}),
    edge(shu.CONTRACTS, "just outside beta < alpha + R", {"beta share": "101/100"}),
    edge(shu.STEP, "just outside gamma at its limit", {"step": "51/50"}),
    edge(shu.ROUNDS, "just outside K >= 0", {"K": "-1/50"}),
    edge(shu.FIRST, "just outside R as the largest residual", {"residual_0": "101/10000"}),
    edge(shu.QUIET, "just outside messages without noise", {"sigma": "1/50"}),
    *_one_round("theorem1", _INSIDE),
    *_one_round("theorem2", _INSIDE, **{"sigma >= 0": {"sigma": "-1/100"}}),
    *_one_round("corollary1", _INSIDE, **{
        "K >= 0": {"K": "201/10000", "D": "101/10000", "step": "9/10", "c": "89991/10000000"},
        "R = D/sqrt(K + 1)": {"D": "101/10000"},
        "c = gamma sqrt(K + 1)": {"c": "51/5000"},
    }),
    *_one_round("corollary2", {**_INSIDE, "sigma": "1", "c": "1", "epsilon": "1", "log": "1"}, **{
        "sigma as prescribed": {"sigma": "51/50"},
        "beta as prescribed": {"beta_0": "101/5000"},
        "delta < 1": {"log": "-1/100"},
        "L <= L_max": {"L_max": "99/100", "step": "100/99"},
        "K >= 0": {"K": "201/10000", "beta_0": "1009899/50000000", "sigma": "101/100"},
    }),
    *_one_round("twelve", _TWELVE, **_GAMMA, **{
        "K >= 0": {"K": "201/10000", "gamma": "100/101", "D": "5151/5000"},
        "R as the largest residual": {"residual_0": "103/100"},
        "R = D/sqrt(K + 1)": {"D": "103/100"},
    }),
    row("twelve-limit", "just outside Corollary 1's limit of the step", {**_TWELVE, "R": "1"}),
    *_one_round("weighted", _WEIGHTED, **_GAMMA, **{
        "L <= L_max": {"L_max": "99/100", "alpha": "19701/10000", "beta": "19701/10000", "R": "199/100"},
        "K >= 0": {"K": "201/10000", "gamma": "100/101", "alpha": "200/101", "beta": "200/101", "R": "200/101"},
        "R as the largest residual": {"residual_0": "101/50"},
        "alpha as prescribed": {"alpha": "101/50"},
        "beta as prescribed": {"beta": "101/50"},
        "R <= (D + M)/sqrt(K + 1)": {"R": "51/25"},
    }),
))
"""One round just inside all hypotheses of a theorem or corollary, and changes just outside of each."""
# fmt: on
