"""zhang2021's instances: rounds and runs of scalar quadratics in rational arithmetic, one simulated round, and
simulated runs.

A table for each kind of build, since the edges of a statement's hypotheses are those of its build.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.core.prose import plain
from dpfl_theory.statements.instances import Instance, Instances, Row, edge, problem, row
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._symbols import StepLimits, steps


def quadratics(q: str, m: str, Q: int, P: int, **more: Any) -> Instance:
    """Clients q_i (x - m_i)^2/2, P of which take part in a round of Q local steps.

    >>> quadratics("1 1/2", "0 3", 2, 1)["m"]
    ['0', '3']
    """
    return {"q": q.split(), "m": m.split(), "Q": Q, "P": P, **more}


def _scalar(tags: str, name: str, q: str, m: str, Q: int, P: int, **more: Any) -> Row:
    return row(tags, name, quadratics(q, m, Q, P, **more))


LIMITS = {
    "inside-printed": zhang.printed_limits,
    "inside-repaired": zhang.repaired_limits,
    "inside-sharpened": zhang.sharpened_limits,
}
"""Tags of rows just inside the limits of the steps."""


def _near_limits(tag: str, limits: StepLimits, **more: Any) -> Iterator[Row]:
    """Just inside and just outside each of the three limits of the steps, with identical clients that all take part,
    L = 1; and fewer clients than take part."""
    local = {60: ("129/1000", "130/1000"), 120: ("91/1000", "92/1000")}[limits.local]
    product, pairs = limits.product, limits.pairs
    of_local, of_product, of_pairs = (
        plain(rf"${x} \le {limit}$") for x, limit in zip((r"\eta_l", *[r"\eta_g \eta_l"] * 2), limits.texts)
    )
    short, both = ("1/100", "1/100"), ("99/100", "101/100")
    first: Mapping[str, Any] = {}
    for limit, P, (inside, outside), shares in (
        (of_local, 1, local, ("1/2", "1/2")),
        (of_product, 1, short, both),
        (of_pairs, product // pairs + 3, short, both),
    ):
        for where, eta, share in (("inside", inside, shares[0]), ("outside", outside, shares[1])):
            longest = P / (max(product, pairs * (P - 1)) * Fraction(eta))
            found = quadratics("1 " * P, "0 " * P, 2, P, x=["1"], samplings=["without"])
            found |= {"eta Q L": eta, "eta_g": str(Fraction(share) * longest), **more}
            name, first = f"just {where} {limit}", first or found
            yield row(tag, name, found) if where == "inside" else edge(steps(limits), name, found)
    yield edge(zhang.COHORT, "just outside P <= N", {**first, "stated": {"N": "-1"}}, given=steps(limits))


# fmt: off

# One round.

_NEAR = quadratics("1 2", "-1 3", 2, 1, x=["0"], eta_g="1/20", noise="1")
_AT_MINIMUM: Instance = {"q": ["1"], "m": ["0"], "x": ["0"], "P": 1, "noise": "1", "eta Q L": "1/1000"}
_CONCAVE = {**_AT_MINIMUM, "q": ["-1"], "eta Q L": "129/1000"}
"""Noises grow from step to step."""
_OPTIMUM = quadratics("1 1", "-1 1", 1, 1, x=["0"], eta_l="1/1000")
_TWENTY = quadratics("1 " * 20, "0 " * 20, 1, 1, x=["0"], noise="1", eta_l="1/1000")
_MIDDLE = "the middle line, {}".format

ROUNDS = Instances((
    # Without clipping: no quantity depends on the noises' paths, so that Q may be large.
    _scalar("scalar", "one client, one step", "1", "0", 1, 1, noise="1"),
    _scalar("scalar", "identical clients", "1 1 1", "0 0 0", 4, 2, noise="1"),
    _scalar("scalar", "two clients far apart", "1 1", "-50 50", 3, 1, noise="1"),
    _scalar("scalar", "different curvatures, one negative", "2 -1 1/2", "1 4 -3", 5, 2, noise="3", sigma="1/10"),
    _scalar("scalar", "concave clients, full participation", "-1 -1", "0 2", 3, 2, noise="1/2"),
    _scalar("scalar", "many steps", "1 3", "0 1", 30, 1, noise="1"),
    # With clipping: all noise paths are enumerated.
    _scalar("scalar", "clipped, two clients far apart", "1 1", "-50 50", 2, 1, c="1/2", noise="1"),
    _scalar("scalar", "clipped, noise decides", "1 2", "0 1", 4, 2, c="1/20", noise="2"),
    _scalar("scalar", "clipped, skew noise", "2 -1 1/2", "1 4 -3", 3, 2, c="1/10", noise="3", law="skew", sigma="1/10"),
    _scalar("scalar", "one client clipped", "1 1 1 1", "0 0 0 1000", 2, 3, c="1", noise="1"),
    # For single equations.
    _scalar("simple", "f = x^2/2, x_t = 1, Q = 1", "1", "0", 1, 1, x=["1"], eta_l="1/10", sampling="without"),
    # Attained up to 0.40 by (15), sharpened, and up to 0.108 by (15) itself.
    row("middle", _MIDDLE("noise alone, Q = 100"), {**_CONCAVE, "Q": 100}),
    _scalar("draws", "everyone takes part, opposite updates", "1 1", "-1 1", 1, 2, x=["0"], eta_l="1/10",
        sampling="without"),
    _scalar("draws", "two draws of two identical clients, a run for every draw", "1 1", "0 0", 2, 2, x=["0"],
        eta_l="1/20", noise="1", sampling="anew"),
    row("few-steps", "at a minimum, Q to 31", {**_AT_MINIMUM, "Q": [1, 2, 8, 16, 31]}),
    row("few-steps", "concave near x_t, Q to 28", {**_CONCAVE, "Q": [1, 2, 8, 16, 28]}),
    row("many-steps from-32", "at a minimum, Q from 32", {**_AT_MINIMUM, "Q": [32, 40, 64]}),
    row("many-steps", "concave near x_t, Q from 29", {**_CONCAVE, "Q": [29, 32, 64]}),
    # grad f(x_t) = 0, no noise, no clipping: only the sampling of the clients is left.
    _scalar("sampled", "two clients, L = 100, at the optimum", "100 100", "-1 1", 1, 1, x=["0"], eta_l="1/1000000",
        eta_g="1"),
    *(
        row(tag, name, {**of, "eta_g": eta_g})
        for tag, eta_g in (("optimum-printed", "20"), ("optimum-repaired", "8"))
        for name, of in (
            ("two clients, L = 1, at the optimum", _OPTIMUM),
            ("twenty identical clients, one takes part", _TWENTY),
        )
    ),
    row("inside", "just inside eta_l <= 1/(sqrt(60) QL)", {**_NEAR, "eta Q L": "129/1000"}),
    edge(zhang.LOCAL_STEP, "just outside eta_l <= 1/(sqrt(60) QL)", {**_NEAR, "eta Q L": "130/1000"}),
    *(found for tag, limits in LIMITS.items() for found in _near_limits(tag, limits)),
))
# fair: a client that is drawn twice runs twice; short: 0.091 < 1/sqrt(120) = 0.09129, and with eta_g = 1/11 the product
# is at most P/(120 Q L) for every P >= 1.
_USUAL: Instance = {"x": ["0", "1", "-7/3", "12"], "eta Q L": "129/1000", "eta_g": "1"}
for _tag, _samplings, _changes in (
    ("all", ["without", "anew", "shared"], {}), ("fair", ["without", "anew"], {}), ("shared", ["shared"], {}),
    ("short", ["without", "anew"], {"eta Q L": "91/1000", "eta_g": "1/11"}), ("middle", ["without"], {}),
):
    ROUNDS = ROUNDS.copied(
        "scalar", _tag, named=_MIDDLE if _tag == "middle" else str, **{**_USUAL, **_changes, "samplings": _samplings},
    )

# Several rounds: trees, and runs whose moments have a recursion.


def _tree(tags: str, name: str, of: Instance, x: str, eta_l: str, eta_g: str, T: int, **more: Any) -> Row:
    return row(tags, name, {**of, "x": x, "eta_l": eta_l, "eta_g": eta_g, "T": T, **more})


def _long(name: str, Q: int, T: int, eta_l: str, eta_g: str) -> Row:
    return row("long", name, {"h": "1", "m": "1", "Q": Q, "T": T, "eta_l": eta_l, "eta_g": eta_g})


_APART = quadratics("1 1", "-1 1", 1, 1)
_THREE = quadratics("1 1 1", "-3 0 1", 2, 1, noise="1")
TREES = Instances((
    # broken: the variance of the sampling, which the printed bound lacks.
    _tree("broken", "one of two clients, one round from the optimum", _APART, "0", "1/1000", "20", 1),
    _tree("broken broken-theorem", "one of two clients, three rounds from the optimum", _APART, "0", "1/1000", "20", 3),
    _tree("broken broken-theorem", "two draws of two clients, with replacement", {**_APART, "P": 2}, "0", "1/1000",
        "20", 3, samplings=["anew"]),
    # eta_g eta_l = 1/48 = P/(48Q) is allowed, and a round multiplies x by 1 - 200/48 = -3.17.
    _tree("broken-theorem", "one client, L = 200", quadratics("200", "0", 1, 1), "1", "1/2000", "125/3", 2),
    # everybody: inside the printed hypotheses, without sampling and with L = 1, so that no lost L matters.
    _tree("everybody", "both clients, stochastic gradients",
        quadratics("1 1", "-1 1", 1, 2, noise="1", samplings=["without"]), "1/2", "1/20", "1/3", 3),
    _tree("everybody", "one client, clipped", quadratics("1", "0", 2, 1, noise="1", c="1/10"), "2", "1/20", "1/10", 3),
    _tree("everybody", "three clients of different curvatures, at the limits with their L",
        quadratics("1 1/2 1/10", "-1 2 30", 4, 3, samplings=["without"]), "5", "129/4000", "1/8", 12),
    _tree("allowed", "one of two clients, from the optimum", _APART, "0", "1/1000", "8", 4),
    _tree("allowed", "one of two clients, large local step", _APART, "0", "9/100", "1/11", 4),
    _tree("allowed", "one of three clients, stochastic gradients", _THREE, "1/5", "9/200", "1/11", 2),
    _tree("allowed", "two of three clients, clipped, different curvatures",
        quadratics("2 -1 1/2", "1 4 -3", 1, 2, noise="1", law="skew", c="1/20"), "1", "1/25", "1/6", 2),
    _tree("allowed", "one of two clients, clipped, privacy noise, one round", {**_APART, "Q": 3}, "3", "3/100", "1/11",
        1, noise="2", c="1/10", sigma="1/20"),
    # longer: the steps that sharper constants allow.
    _tree("longer", "one of two clients, from the optimum, at the limit of the steps", _APART, "0", "1/1000", "50", 4),
    _tree("longer", "two of three clients, stochastic gradients, at the limit of the steps",
        {**_THREE, "Q": 1, "P": 2}, "1/5", "129/1000", "3/4", 2),
    # eta_l QL = 0.09: the drift of the local steps maintains the gradient, and neither the start nor the sampling term
    # allows it.
    row("at-rest", "clients of different curvatures, where the rounds rest",
        quadratics("1 " * 10 + "1/100 " * 10, "0 " * 10 + "100 " * 10, 10, 20, eta_l="9/1000", eta_g="1/10000",
        T=10**8)),
    # eta_g = sqrt(QP) and eta_l = 1/(sqrt(T) Q L), Section 3.1, with P = 1 and L = 1; in the last 1/sqrt(TQL), as in
    # the available text.
    _long("the paper's own steps, Q = 4, T = 1e6", 4, 10**6, "1/4000", "2"),
    _long("the paper's own steps, Q = 64, T = 1e8", 64, 10**8, "1/640000", "8"),
    _long("the other reading of the paper's own steps, Q = 64, T = 1e8", 64, 10**8, "1/80000", "8"),
    *(found for tag, limits in LIMITS.items() for found in _near_limits(tag, limits, x="1", T=1)),
))

# One simulated round.


def _quadratic(**parameters: Any) -> Instance:
    return problem("quadratic", **{"clients": 6, "dimension": 2, "seed": 4, **parameters})


_FAR_APART = _quadratic(heterogeneity=2.0, condition=4.0)
_CLOSE = _quadratic(heterogeneity=0.01, condition=2.0)
_MANY: Instance = {"dimension": 200, "heterogeneity": 2.0, "condition": 1000.0}
_EIGHT = _quadratic(clients=8, **_MANY)
_FORTY = _quadratic(clients=40, dimension=3)
_STRETCHED = _quadratic(clients=2, heterogeneity=1.0, condition=1e6, seed=35)
"""Two clients whose long axes nearly agree: L_f/mu_f = 20311."""
_ALONE = _quadratic(clients=1, heterogeneity=0.0, condition=1.0)


def _round(tags: str, name: str, of: Instance = _FAR_APART, P: int = 2, Q: int = 3, **more: Any) -> Row:
    return row(tags, name, {"problem": of, "P": P, "Q": Q, "eta Q L": "129/1000", **more})


def _away(tags: str, name: str, **more: Any) -> Row:
    return _round(tags, name, **{"distance": 3.0, "replicates": 16384, **more})


def _short(name: str, of: Instance, P: int = 2, **more: Any) -> Row:
    """With steps that the repaired theorem allows."""
    given = {"eta Q L": "91/1000", "eta_g": "1/11", "replicates": 4096, **more}
    return _round("descents", name, of, P, **given)


def _local(tags: str, name: str, of: Instance, Q: int, deviation: float, distance: float, **more: Any) -> Row:
    given = {"problem": of, "Q": Q, "eta Q L": "129/1000", "deviation": deviation, "distance": distance}
    return row(tags, name, {**given, **more})


_RIDGE = {"clients": 3, "dimension": 3, "records": 6, "heterogeneity": 1.0, "ridge": 1.0, "seed": 2}
SAMPLES = Instances((
    _round("clipped", "one round in two dimensions, two of six clients, half of them clipped", c=1.0),
    _round("clipped", "one round in two dimensions, two of six clients, none clipped", c=10.0),
    _round("noisy", "one round in two dimensions, stochastic gradients", deviation=1.0),
    # noisiest: where the gradients contribute most, (17) is nearly an equality, which samples cannot decide.
    _round("noisy noisiest", "one round in two dimensions, noise decides", _CLOSE, deviation=1.0),
    _round("noisy noisiest", "four of eight clients in 200 dimensions, stochastic gradients", _EIGHT, 4,
        replicates=256, deviation=1.0),
    _round("noisy noisiest", "one of two clients, f of condition 20000", _STRETCHED, 1, deviation=1.0),
    _round("noisy", "40 draws of 40 clients, with replacement", _FORTY, 40, sampling="anew"),
    _round("sampled drawn-twice", "one round in two dimensions, two of four clients", _quadratic(clients=4)),
    _round("sampled drawn-twice", "one round in two dimensions, three of six clients", P=3),
    _round("sampled", "four of eight clients in 200 dimensions", _EIGHT, 4, replicates=256),
    _round("sampled", "20 of 40 clients", _FORTY, 20, replicates=16384),
    _away("products", "one round in two dimensions, two of six clients, half of them clipped", c=1.0),
    _away("products", "one round in two dimensions, three of six clients, privacy noise", P=3, c=0.5, sigma=2.0),
    _away("unclipped", "one round in two dimensions, two of six clients", replicates=12288),
    _away("unclipped", "one round in two dimensions, a long local phase", P=5, Q=12, **{"eta Q L": "2"}),
    _short("one round in two dimensions, clipped, privacy noise", _FAR_APART, c=1.0, sigma=10.0, distance=1.0),
    _short("one round in two dimensions, privacy noise decides", _CLOSE, c=1.0, sigma=300.0),
    _short("one round in two dimensions, stochastic gradients and privacy noise", _FAR_APART, deviation=3.0, sigma=5.0,
        distance=2.0),
    _short("four of eight clients in 200 dimensions, clipped, privacy noise", _EIGHT, 4, c=1.0, sigma=1.0, distance=1.0,
        replicates=512),
    _short("one of two clients, f of condition 20000, privacy noise", _STRETCHED, 1, c=1.0, sigma=1.0, distance=30.0),
    _local("local local-gradients far", "local steps in two dimensions, gradients decide", _FAR_APART, 8, 0.1, 3.0),
    _local("local local-noise far", "local steps in two dimensions, noise decides", _ALONE, 40, 3.0, 0.0),
    _local("far", "local steps in two dimensions, clients far apart",
        _quadratic(clients=2, heterogeneity=30.0, condition=1.0), 8, 0.1, 0.0),
    _local("wide", "40 clients in 200 dimensions", _quadratic(clients=40, **_MANY), 4, 0.1, 3.0, replicates=64),
    _local("wide", "local steps in two dimensions, Q = 100", _FAR_APART, 100, 1.0, 3.0, replicates=512),
    _local("at-minimum", "at a minimum, Q = 64", _ALONE, 64, 3.0, 0.0),
    row("records", "one round, four records of six at a time, half of them clipped, with a ridge",
        {"problem": problem("huber", **_RIDGE), "P": 2, "share": 0.7, "eta L": 0.1, "clipped": 9, "distance": 2.0,
        "replicates": 4096}),
))
SAMPLES = SAMPLES.copied("far", "middle", named=_MIDDLE, middle=True)
# Full gradients, so that a client that is drawn twice has the same update twice.
SAMPLES = SAMPLES.copied(
    "drawn-twice", "drawn", named="{}, with replacement".format, sampling="anew", replicates=65536,
)

# Simulated runs.


def _run(tags: str, name: str, of: Instance, P: int, Q: int, T: int, **more: Any) -> Row:
    return row(tags, name, _values(of, P, Q, T, **more))


def _values(of: Instance, P: int, Q: int, T: int, **more: Any) -> Instance:
    usual = {"eta Q L": "91/1000", "product": 1.0, "c": 1e9, "sigma": 0.0, "distance": 1.0}
    return {"problem": of, "P": P, "Q": Q, "T": T, **usual, **more}


def _huber(**parameters: Any) -> Instance:
    return problem("huber", **{"clients": 6, "dimension": 3, "seed": 2, **parameters})


def _lines(minimisers: list[float], thresholds: list[float]) -> Instance:
    return problem("huber-scalar", minimisers=minimisers, thresholds=thresholds)


def _equal(clients: int) -> Instance:
    """Identical clients, quadratic within 4 of their minimiser: nothing is lost by sampling, and sigma_g = 0."""
    return _lines([0.0] * clients, [4.0] * clients)


_AXES = problem("huber-axes", clients=12, dimension=100, threshold=10.0)
"""Identical clients, ||x||^2/2 within 10/sqrt(d) of their minimiser in every coordinate."""
_PAIR = _lines([-0.5, 0.5], [1.0] * 2)
_PULLED = _lines([4.95] * 9 + [-1.0], [4.0] * 9 + [0.004])
"""From 0 to 0.94, where the run ends, nine clients have the slope -4, clipped to 1/250, the slope of the last."""
_FINE = {"eta Q L": "1/1000"}
_SAME = {**_FINE, "sigma_g": 0.0}
_CLIENTS_APART = "two clients apart, one takes part"
_BROKEN = _values(_PAIR, 1, 2, 400, distance=0.0, **_FINE)
_MEDIAN = _values(_huber(), 2, 4, 50, c=1.0, replicates=512)
_DRAWN = _values(_huber(clients=30), 30, 2, 40, c=1.0, sampling="anew", replicates=128)
_ROUGH: Instance = {"smoothness": 0.99, "product": 0.9}

RUNS = Instances((
    # In each, one term makes up most of the bound; planted faults in the tests show how near the run comes to it.
    _run("repaired sharpened", "identical clients, what is left of the start", _equal(2), 2, 2, 600, replicates=2,
        **_SAME),
    _run("repaired sharpened", "identical clients, privacy noise", _equal(2), 2, 1, 8000, c=3.0, sigma=1.2,
        distance=1.5, replicates=256, **_SAME),
    _run("repaired sharpened", _CLIENTS_APART, _PAIR, 1, 2, 2000, distance=0.0, replicates=256, sigma_g=0.5, **_FINE),
    _run("repaired pulled", "nine of ten clients clipped to a thousandth", _PULLED, 10, 2, 5000, c=0.001, distance=0.0,
        start=[0.0], replicates=2, product=0.7, **_FINE),
    # All of them at once.
    row("repaired sharpened", "Huber, two of six clients, clipped to the median", _MEDIAN),
    _run("repaired", "Huber, all clients, clipped hard, privacy noise", _huber(), 6, 8, 50, c=0.1, sigma=0.2,
        replicates=512),
    # At the edges.
    _run("repaired", "Huber, four of twelve clients in 100 dimensions", _huber(clients=12, dimension=100), 4, 2, 20,
        c=1.0, sigma=0.05, replicates=64),
    _run("repaired", "12 identical clients in 100 dimensions, privacy noise", _AXES, 12, 2, 600, c=10.0, sigma=0.02,
        distance=1.5, replicates=16, **_SAME),
    _run("repaired", "two draws of two clients, with replacement", _lines([-0.5, 0.5], [4.0] * 2), 2, 2, 1500,
        distance=2.0, sampling="anew", sigma_g=0.5, replicates=64, **_FINE),
    row("repaired", "Huber, 30 draws of 30 clients, with replacement, clipped", _DRAWN),
    row("printed", _CLIENTS_APART, _BROKEN),
    *(
        edge(zhang.SMOOTH, "every f_i just not L-smooth", {**of, **_ROUGH}, given=steps(limits))
        for limits, of in zip(LIMITS.values(), (_BROKEN, _DRAWN, _MEDIAN))
    ),
))
# With 0.315 of the longest steps, as long as 0.7 of the repaired theorem's.
RUNS = RUNS.copied("pulled", "sharpened", product=0.315)

# With delta = 1/100, so that 80 ln(1/delta) = 368.4 and ln(1/delta)/2 = 2.3026.
_BUDGET = {"delta": 1e-2, "epsilon": 2.0, "replicates": 256}
_FEW = {**_BUDGET, "replicates": 64}
_LONGER: Instance = {"eta Q L": "92/1000", "product": 0.5}
_REPAIRED = steps(zhang.repaired_limits)
_DOMINATES = _values(_equal(300), 30, 1, 1200, distance=1.5, **_BUDGET, **_SAME)


def _outside(limits: Any, name: str, T: int = 400, clients: int = 30, **more: Any) -> Row:
    return edge(limits, name, _values(_huber(clients=clients), 3, 1, T, **{**_BUDGET, **more}))


PRIVATE = Instances((
    row("private", "thirty of 300 identical clients, noise dominates", _DOMINATES),
    _run("private", "ten of 100 identical clients, noise dominates", _equal(100), 10, 2, 1500, distance=1.5, **_BUDGET,
        **_SAME),
    _run("private", "thirty of 300 identical clients, what is left of the start", _equal(300), 30, 1, 400, distance=1.5,
        **_FEW, **{**_SAME, "product": 0.15}),
    _run("private", "Huber, three of thirty clients", _huber(clients=30), 3, 4, 400, **_BUDGET),
    _run("private", "just inside T >= 80 ln(1/delta) and epsilon <= ln(1/delta)/2", _huber(clients=30), 3, 1, 369,
        **{**_FEW, "epsilon": 2.3}),
    _run("private", "just inside epsilon <= (P/N)^2 T", _huber(clients=40), 3, 1, 400, **{**_FEW, "epsilon": 2.24}),
    _outside(zhang.LONG, "just outside T >= 80 ln(1/delta)", T=368),
    _outside(zhang.RANGE, "just outside epsilon <= ln(1/delta)/2", epsilon=2.31),
    _outside(zhang.RANGE, "just outside epsilon <= (P/N)^2 T", clients=40, epsilon=2.26),
    _outside(zhang.UNCLIPPED, "just outside c' >= G", c_prime=0.99),
    _outside(zhang.SMOOTH, "every f_i just not L-smooth", **_ROUGH),
    _outside(_REPAIRED, "just outside eta_l <= 1/(sqrt(120) QL)", **_LONGER),
    _outside(_REPAIRED, "just outside eta_g eta_l <= P/(120QL)", product=1.01),
    edge(zhang.COHORT, "just outside P <= N", {**_DOMINATES, "stated": {"N": "-271"}}),
))
# fmt: on
