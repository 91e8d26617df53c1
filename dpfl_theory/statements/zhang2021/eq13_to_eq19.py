"""zhang2021 eqs. (13) to (19): the first-order term of the descent inequality; the drift of the local gradients, as
printed and sharpened; the second-order term; and the size of the clients' squared updates.

(15) is a chain. A_1, the square of the clients' mean drift, is at most its middle line, the mean of the clients'
squared drifts. The right side bounds that as well. (14) takes A_1 from it, (19) and the sharpened theorem the middle
line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Outcome, Sides, Statement, Symbols, Values, battery
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.relations import Formula, Proof, algebra, of
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _round as one
from dpfl_theory.statements.zhang2021 import _symbols as zhang
from dpfl_theory.statements.zhang2021._runs import EXACT, LOCAL, MIDDLE, RECORDS, SAMPLED

# (13) and (14).


@algebra("three parts")
def _telescoping(s: Formula) -> Proof:
    """Two of three clients, with arbitrary factors alpha_i and alpha~_i: both sides of (13) in their symbols.

    All are scalars: inner products with grad f are linear. alpha_i and the sum g_i of the stochastic gradients may be
    random, since both sides are linear in alpha_i g_i and g_i; alpha~_i need only be the same in all outcomes.
    """
    N, P = 3, 2
    slope, eta, mean = sp.symbols("slope eta alphabar", real=True)
    own, known, sums = (sp.symbols(f"{name}1:4", real=True) for name in ("alpha", "known", "g"))
    sent = [-eta * a * g for a, g in zip(own, sums)]
    cohorts = list(itertools.combinations(range(N), P))
    parts = of(
        s.statement,
        cohort_product=slope * sum(sent[i] for members in cohorts for i in members) / (P * len(cohorts)),
        first_bias=slope * sum(-eta * (a - k) * g for a, k, g in zip(own, known, sums)) / N,
        second_bias=slope * sum(-eta * (k - mean) * g for k, g in zip(known, sums)) / N,
        common_product=slope * sum(-eta * mean * g for g in sums) / N,
    )
    return parts.lhs, parts.rhs, "the cohort's product against the three parts"


@algebra(
    "participation is P/N",
    "It decides the probability P/N of taking part; the other checks decide the equality of the products.",
)
def _participation(_: Formula) -> Proof:
    """A client is in P of N places: C(N-1, P-1)/C(N, P) = P/N without replacement, and N^(P-1) P/N^P with it; so the
    cohort's mean has the expectation of the clients' mean, for every N and P."""
    N, P = (sp.Symbol(name, positive=True, integer=True) for name in "NP")
    share = sp.gammasimp((sp.binomial(N - 1, P - 1) / sp.binomial(N, P)).rewrite(sp.gamma))
    return sp.simplify(share), P / N, "the probability of taking part against P/N"


def _eq14_sides(s: Symbols, distance: str) -> Sides:
    step, Q = s.eta_l * s.alpha, s.Q
    updates = -step / (2 * Q) * s.local_square / step**2
    rhs = {"gradient": -step * Q / 2 * s.square, "updates": updates, "distance": step / 2 * s[distance]}
    return Sides({"descent": s.common_product}, rhs)


def _polarisation(distance: str, expected: str = "holds") -> Check:
    @algebra("completed squares", expected=expected)
    def squares(s: Formula) -> Proof:
        """The sides in scalars: g the gradient, S the mean of the clients' sums of local gradients.

        The mean of the updates is -eta alpha S. The printed square has (1/sqrt(Q)) sum Delta/(eta N alpha) =
        -S/sqrt(Q) with a minus sign, which makes it sqrt(Q) g + S/sqrt(Q); A_1 of (15) is that of sqrt(Q) g -
        S/sqrt(Q).
        """
        g, S = sp.symbols("g S", real=True)
        step, sign = s.eta_l * s.alpha, 1 if distance == "far_square" else -1
        square = {distance: s.Q * (g + sign * S / s.Q) ** 2, "square": g**2, "local_square": (step * S) ** 2}
        found = of(s.statement, common_product=-step * g * S, **square)
        return found.lhs, found.rhs, "the product against the completed squares"

    return squares


EQ13: Statement = zhang.proof_step(
    "zhang2021.eq13",
    relation="==",
    sides=lambda s: Sides(
        {"cohort": s.cohort_product}, {"noise": s.first_bias, "clients": s.second_bias, "descent": s.common_product}
    ),
    checks=battery(
        _telescoping,
        _participation,
        EXACT("all"),
        one.step_checks(("without", "anew"), directions=("<=", ">="), clipped=True),
        SAMPLED("products"),
        RECORDS("records"),
    ),
    smoke=("one round, four records of six at a time, half of them clipped, with a ridge",),
)

EQ14: Statement = zhang.proof_step(
    "zhang2021.eq14",
    relation="==",
    sides=lambda s: _eq14_sides(s, "far_square"),
    checks=battery(
        _polarisation("far_square", "violated"),
        EXACT(violated="simple all"),
        one.step_checks(verdict=lambda direction, instance: "violated", directions=(">=",)),
        SAMPLED(violated="unclipped"),
    ),
)

EQ14_REPAIRED: Statement = replace(
    EQ14,
    id="zhang2021.eq14.repaired",
    sides=lambda s: _eq14_sides(s, "drift_square"),
    checks=battery(
        _polarisation("drift_square"),
        EXACT("simple all"),
        one.step_checks(directions=("<=", ">=")),
        SAMPLED("unclipped"),
    ),
)

# (15).


def _drifts() -> Iterator[Check]:
    """The worst cases of A_1, and of the middle line, which is larger where the clients' gradients point apart."""
    for Q, clients, noisy in ((1, 2, False), (2, 1, True), (2, 2, False), (3, 1, True), (3, 2, False), (4, 1, False)):
        for product in ("129/1000", "1/100"):
            name = f"{clients} client{'s' * (clients > 1)}, Q = {Q}, eta_l Q L = {product}{', noise' * noisy}"
            instance = {"Q": Q, "clients": clients, "noisy": noisy, "eta Q L": product}
            yield Check("worst-case", name, one.local_steps, instance)
            if Q > 1 and product == "129/1000":
                yield Check("worst-case", f"the middle line, {name}", one.local_steps, {**instance, "middle": True})


@algebra("the lemma's limit on the step")
def _lemma3(s: Formula) -> Proof:
    """The lemma of Reddi et al. requires eta_l <= 1/(8QL); the theorem allows 1/(sqrt(60) QL), which is more.

    Its recursion multiplies by 1 + 1/(2Q-1) + 6 Q L^2 eta^2 each step, which must not exceed 1 + 1/(Q-1): at the
    theorem's limit the room is Q/((Q-1)(2Q-1)) - 1/(10 Q) > 0 for Q >= 2, so the lemma holds there as well. A step adds
    eta^2 (sigma_l^2 + 6 Q sigma_g^2 + 6 Q ||grad f||^2), and (Q-1)((1 + 1/(Q-1))^Q - 1) <= 3 (Q-1) < 5 Q of them are
    left; (15) is L^2 times the sum of Q such bounds.
    """
    Q = sp.Symbol("Q", integer=True, positive=True)
    room = 1 / (Q - 1) - 1 / (2 * Q - 1) - 6 * Q / (60 * Q**2)
    positive = (8 * Q**2 + 3 * Q - 1) / (10 * Q * (Q - 1) * (2 * Q - 1))
    added = s.eta_l**2 * (s.sigma_l**2 + 6 * s.Q * s.sigma_g**2 + 6 * s.Q * s.square)
    return [
        (room, positive, "the room in the lemma's recursion at eta_l = 1/(sqrt(60) QL)"),
        (s.rhs, s.Q * s.L**2 * 5 * s.Q * added, "(15) against Q times L^2 times the lemma"),
    ]


@algebra("growth over the local steps")
def _growth(s: Formula) -> Proof:
    """Let a_q = sqrt(E||x_q - x_t||^2) and b_q = eta (sqrt(q) sigma_l + q ||grad f_i(x_t)||). Minkowski gives a_q <=
    b_q + eta L sum_{j<q} a_j. So a_q <= exp(eta L Q) b_q and b_q^2 <= 2 eta^2 (q sigma_l^2 + q^2 ||grad f_i(x_t)||^2).

    That is for one client. The mean over the clients of ||grad f_i(x_t)||^2 is at most ||grad f(x_t)||^2 + sigma_g^2.
    So the middle line of (15) is bounded, and with it A_1.

    L^2 times the sum over q < Q has the coefficients 2 sum q <= Q^2 and 2 sum q^2 <= (2/3) Q^3 times exp(2/sqrt(60)).
    """
    q, unit, right = sp.Symbol("q", integer=True), s.L**2 * s.eta_l**2, sp.expand(s.rhs)
    noise, square, apart = (right.coeff(x) / unit for x in (s.sigma_l**2, s.square, s.sigma_g**2))
    rest = sp.expand(right - unit * (noise * s.sigma_l**2 + square * s.square + apart * s.sigma_g**2))
    if rest != 0 or sp.expand(apart - square) != 0:
        return Outcome(False, f"(15), sharpened, has another form: {s.rhs}")
    growth, kept = sp.exp(2 / sp.sqrt(60)), [noise, square]
    sums = [sp.simplify(2 * sp.summation(q**power, (q, 0, s.Q - 1))) for power in (1, 2)]
    tops = [sp.limit(found / s.Q**n, s.Q, sp.oo) for n, found in zip((2, 3), sums)]
    # Both sums are below their leading terms: the differences are Q, and Q^2 - Q/3.
    missing = [sp.expand(top * s.Q**n - found) for top, n, found in zip(tops, (2, 3), sums)]
    below = [sp.expand(m - want) == 0 for m, want in zip(missing, (s.Q, s.Q**2 - s.Q / 3))]
    fits = [bool(growth * top <= k / s.Q**n) for top, k, n in zip(tops, kept, (2, 3))]
    return Outcome(
        all(below) and all(fits),
        f"exp(2/sqrt(60)) = {sp.N(growth, 6)} times {tops} fits below the coefficients {kept}: {fits}, sums: {below}",
    )


def _drift(s: Symbols, **terms: tuple[Any, Any]) -> Sides:
    """A_1 against (L Q eta_l)^2 times the products of these factors."""
    unit = s.L**2 * s.Q**2 * s.eta_l**2
    return Sides({"A_1": s.drift_square}, {name: factor * unit * term for name, (factor, term) in terms.items()})


_ALL = (EXACT("all inside"), MIDDLE("middle"), LOCAL("local wide middle"))

EQ15: Statement = zhang.proof_step(
    "zhang2021.eq15",
    hypotheses=(zhang.LOCAL_STEP,),
    sides=lambda s: _drift(s, variances=(5, s.sigma_l**2 + 6 * s.Q * s.sigma_g**2), gradient=(30 * s.Q, s.square)),
    checks=battery(_lemma3, _drifts(), *_ALL),
    smoke=("2 clients, Q = 1, eta_l Q L = 129/1000",),
)

EQ15_SHARPENED: Statement = replace(
    EQ15,
    id="zhang2021.eq15.sharpened",
    sides=lambda s: _drift(s, noise=(sp.Rational(4, 3), s.sigma_l**2), gradient=(s.Q, s.sigma_g**2 + s.square)),
    checks=battery(_growth, _drifts(), *_ALL),
)

# (16) to (18).


@algebra("three squares")
def _three_squares(s: Formula) -> Proof:
    """With the three parts a, b and c of the cohort's mean, (16)'s sides differ by the squares of their differences."""
    a, b, c = sp.symbols("a b c", real=True)
    squares = {"first_spread": a**2, "second_spread": b**2, "cohort_common": c**2}
    slack = of(s.statement, cohort_clipped=(a + b + c) ** 2, **squares).slack
    return slack, (a - b) ** 2 + (b - c) ** 2 + (a - c) ** 2, "the slack of (16) against squares"


def _noise(s: Symbols) -> Any:
    """The mean square of the noises of a cohort's mean where every draw is a separate run: P Q of them over P^2."""
    return s.eta_l**2 * s.alpha**2 * s.Q * s.sigma_l**2 / s.P


@algebra("two squares")
def _two_squares(s: Formula) -> Proof:
    """(17)'s sides differ by (a - b)^2, with the cohort's mean a of the updates without noise and b of the noises.

    The mean square of b is that of P Q uncorrelated noises over P^2 where every draw is a separate run."""
    a, b = sp.symbols("a b", real=True)
    slack = of(s.statement, cohort_common=(a + b) ** 2, cohort_local=a**2).slack
    return slack - 2 * _noise(s) + 2 * b**2, (a - b) ** 2, "the slack of (17) against a square"


@algebra("products of gradients and noises", letters="h Q x m")
def _products(s: Formula, h: Any, Q: Any, x: Any, m: Any) -> Proof:
    """With the cohort's mean a of the updates without noise and b of the noises, E||a + b||^2 = E||a||^2 + E||b||^2 +
    2 E<a, b>, where E||b||^2 is at most V = eta^2 alpha^2 Q sigma_l^2/P.

    Different draws have separate runs, so only products of one draw's gradients and noises matter: P of P^2 products.
    Without the noise of step p the point before step q > p moves by at most eta (1 + h)^(q-p-1) times its length, h =
    eta L; terms that do not depend on that noise have the product 0 with it. So 2 E<a, b> is at most 2/Q times the sum
    over p < q of h (1 + h)^(q-p-1), times V. The sum is ((1 + h)^Q - 1)/h - Q, and at h = x/Q at most Q ((e^x - 1)/x -
    1), which increases with x, a power series with positive coefficients; its value at x = 1/sqrt(60) is enough.
    """
    added = ((1 + h) ** Q - 1) / h - Q
    # With Q + 1 in place of Q the pairs with q = Q come in: the sum over p of h (1 + h)^(Q-p-1) is (1 + h)^Q - 1.
    more = sp.expand(added.subs(Q, Q + 1) - added), sp.expand((1 + h) ** Q - 1), "the contribution of one more step"
    series = sp.summation(x**m / sp.factorial(m + 1), (m, 1, sp.oo)), (sp.exp(x) - 1) / x - 1, "the series in x"
    found = [equal(*step) for step in ((added.subs(Q, 1), 0, "the sum for Q = 1"), more, series)]
    most = 2 * ((sp.exp(x) - 1) / x - 1).subs(x, 1 / sp.sqrt(60))
    allowed = sp.simplify(of(s.statement, cohort_local=0).rhs / _noise(s) - 1)
    return Outcome(
        True if all(one.true for one in found) and bool(most < allowed) else None,
        f"{'; '.join(one.reason for one in found)}; 2 E<a, b> is at most {sp.N(most, 5)} <= {allowed} of the noise",
    )


def _slack(sampling: str, name: str, expected: str = "holds") -> Check:
    @algebra(name, expected=expected)
    def slack(s: Formula) -> Proof:
        """The slack of (18), right side less left side, never negative.

        Let S be the mean of the clients' mean squares. Let m be the square of the mean of their means and v the mean of
        their variances, so that the clients' mean has the mean square m + v/N <= S. A pair of different clients is
        drawn without replacement with probability P(P-1)/(N(N-1)), and the slack is ((P-1)/(P(N-1))) (S - m - v/N). It
        is ((P-1)/P) v/N with replacement and a run for every draw, and 0 with one run for each client.
        """
        (P, M), (S, m, v) = sp.symbols("P M", integer=True, positive=True), sp.symbols("S m v", positive=True)
        N = 1 + M  # with one client no pair exists
        square = m + v / N  # E||(1/N) sum_i Delta_i||^2 of independent clients
        # E||sum over different clients||^2 over the pairs i != j, whose runs are independent: sum of <means>. S - v is
        # the mean over the clients of their means' squares.
        pairs = N**2 * m - N * (S - v)
        moment, short = {
            "without": (P * S + P * (P - 1) / (N * (N - 1)) * pairs, (P - 1) / (P * (N - 1)) * (S - square)),
            "anew": (P * S + P * (P - 1) * m, (P - 1) / P * v / N),
            "shared": (P * S + P * (P - 1) * square, sp.Integer(0)),
        }[sampling]
        right = of(s.statement, P=P, N=N, cohort_local=moment / P**2, local_squares=N * S, local_square=square)
        found = equal(right.slack, short, f"the slack of (18), sampling {sampling}")
        if s.statement.relation == "==" and short != 0 and found.true:
            return Outcome(False, f"sampling {sampling}: the right side of (18) is larger by {short}", found.notes)
        return found

    return slack


EQ16: Statement = zhang.proof_step(
    "zhang2021.eq16",
    sides=lambda s: Sides(
        {"cohort": s.cohort_clipped},
        {"noise": 3 * s.first_spread, "clients": 3 * s.second_spread, "common factor": 3 * s.cohort_common},
    ),
    checks=battery(_three_squares, EXACT("all"), one.step_checks(clipped=True), SAMPLED("clipped")),
)

EQ17: Statement = zhang.proof_step(
    "zhang2021.eq17",
    sides=lambda s: Sides({"cohort": s.cohort_common}, {"gradients": 2 * s.cohort_local, "noise": 2 * _noise(s)}),
    checks=battery(_two_squares, EXACT("fair"), one.step_checks(("without", "anew")), SAMPLED("noisy")),
)

EQ17_SHARPENED: Statement = replace(
    EQ17,
    id="zhang2021.eq17.sharpened",
    hypotheses=(zhang.LOCAL_STEP,),
    sides=lambda s: Sides(
        {"cohort": s.cohort_common}, {"gradients": s.cohort_local, "noise": sp.Rational(8, 7) * _noise(s)}
    ),
    checks=battery(_products, EXACT("fair inside"), one.step_checks(("without", "anew")), SAMPLED("noisiest")),
)


def _equality(direction: str, instance: Mapping[str, Any]) -> str:
    """The left side of (18) is smaller where two clients are drawn, unless a client that is drawn twice runs once. With
    a run for every draw it is smaller only through the noise."""
    short = instance["P"] > 1 and (instance["sampling"] == "without" or instance["noisy"])
    return "violated" if direction == ">=" and short and instance["sampling"] != "shared" else "holds"


EQ18: Statement = zhang.proof_step(
    "zhang2021.eq18",
    relation="==",
    sides=lambda s: Sides(
        {"cohort": s.cohort_local}, {"draws": s.local_squares / (s.P * s.N), "pairs": (s.P - 1) / s.P * s.local_square}
    ),
    checks=battery(
        _slack("shared", "with replacement, one run for each client"),
        EXACT("shared"),
        one.step_checks(("shared",), _equality, ("<=", ">=")),
        SAMPLED("drawn"),
    ),
)

EQ18_SETS: Statement = replace(
    EQ18,
    id="zhang2021.eq18.algorithm3",
    checks=battery(
        _slack("without", "without replacement", "violated"),
        _slack("anew", "with replacement, a run for every draw", "violated"),
        EXACT(violated="draws"),
        one.step_checks(("without", "anew"), _equality, ("<=", ">=")),
        SAMPLED(violated="sampled"),
    ),
    reading_of="zhang2021.eq18",
)

EQ18_REPAIRED: Statement = replace(
    EQ18,
    id="zhang2021.eq18.repaired",
    relation="<=",
    checks=battery(
        [_slack(sampling, f"slack, {sampling}") for sampling in ("without", "anew", "shared")],
        EXACT("draws all"),
        one.step_checks(("without", "anew", "shared")),
        SAMPLED("sampled"),
    ),
)

# (19).


def repaired_squares(s: Symbols) -> dict[str, Any]:
    """The right side of (19) over N, repaired: 10 eta^4 alpha^2 L^2 Q^3 sigma_l^2 and 4 eta^2 alpha^2 Q^2 (15 Q^2 L^2
    eta^2 + 1)(||grad f||^2 + sigma_g^2)."""
    L, eta, Q, alpha = s.L, s.eta_l, s.Q, s.alpha
    return {
        "noise": 10 * eta**4 * alpha**2 * L**2 * Q**3 * s.sigma_l**2,
        "gradients": 4 * eta**2 * alpha**2 * Q**2 * (15 * Q**2 * L**2 * eta**2 + 1) * (s.square + s.sigma_g**2),
    }


def _updates(s: Symbols, noise: Any, gradients: Any) -> Sides:
    """The squared updates against N eta^2 times these terms."""
    unit = s.N * s.eta_l**2
    return Sides(
        {"updates": s.local_squares},
        {"noise": unit * noise * s.sigma_l**2, "gradients": unit * gradients * (s.square + s.sigma_g**2)},
    )


@algebra("(iii) against the last line")
def _last_line(s: Formula) -> Proof:
    """The last equality of (19): (iii) sorted by variances."""
    L, eta, Q, noise, apart = s.L, s.eta_l, s.Q, s.sigma_l**2, s.sigma_g**2
    bracket = 5 * L**2 * Q**2 * eta**2 * (noise + 6 * Q * apart) + 30 * L**2 * Q**3 * eta**2 * s.square
    third = 2 * eta**2 * s.alpha * s.N * (bracket + 2 * Q**3 * s.square + 2 * Q**3 * apart)
    return third, s.rhs, "(iii) against the last line"


@algebra("follows from (15)")
def _from_eq15(s: Formula) -> Proof:
    """||sum_q a_q||^2 <= Q sum_q ||a_q||^2 once, the middle line of (15), and ||grad f_i||^2 on average at
    most ||grad f||^2 + sigma_g^2.

    N times 2 eta^2 alpha^2 (Q (15) + Q^2 (||grad f||^2 + sigma_g^2)) is the repaired right side less the slack of the
    factor 2 in the second part.
    """
    unit, starts = 2 * s.eta_l**2 * s.alpha**2, s.Q**2 * (s.square + s.sigma_g**2)
    return s.rhs / s.N - unit * (s.Q * of(EQ15).rhs + starts), unit * starts, "the slack of the repaired (19)"


@algebra("follows from (15), sharpened")
def _young(s: Formula) -> Proof:
    """By Young's inequality ||sum_q a_q||^2 <= 3/2 ||Q g||^2 + 3 Q sum_q ||a_q - g||^2 for a_q = grad f_i(x_q) and g =
    grad f_i(x_t).

    On the mean over the clients ||g||^2 is at most ||grad f||^2 + sigma_g^2, and sum_q ||a_q - g||^2 the middle line of
    (15).
    """
    u, v = sp.symbols("u v", real=True)
    slack = sp.Rational(3, 2) * u**2 + 3 * v**2 - (u + v) ** 2
    start = sp.Rational(3, 2) * s.Q**2 * (s.square + s.sigma_g**2)
    squares = s.N * s.eta_l**2 * s.alpha**2 * (start + 3 * s.Q * of(EQ15_SHARPENED).rhs)
    return [
        (slack, (u - 2 * v) ** 2 / 2, "the slack of Young's inequality against a square"),
        (squares, s.rhs, "the consequence of (15), sharpened"),
    ]


def _sums() -> Iterator[Check]:
    for Q, product in ((1, "129/1000"), (2, "129/1000"), (2, "1/20"), (3, "129/1000"), (4, "129/1000")):
        name = f"without noise, Q = {Q}, eta_l Q L = {product}"
        yield Check("worst-case", name, one.local_steps, {"Q": Q, "eta Q L": product})


def noise_alone(statement: Statement, instance: Mapping[str, Any]) -> list[Values]:
    """One client at its minimum, so that only sigma_l is left, for each Q of the instance."""
    return [found for Q in instance["Q"] for found in one.rounds(statement, {**instance, "Q": Q})]


NOISE = EXACT.by(noise_alone)

EQ19: Statement = zhang.proof_step(
    "zhang2021.eq19",
    hypotheses=(zhang.LOCAL_STEP,),
    sides=lambda s: _updates(
        s, 10 * s.eta_l**2 * s.alpha * s.L**2 * s.Q**2, 4 * s.alpha * s.Q**3 * (15 * s.L**2 * s.eta_l**2 + 1)
    ),
    checks=battery(
        _last_line,
        EXACT("all inside"),
        NOISE("few-steps", violated="many-steps"),
        _sums(),
        LOCAL("local-gradients", violated="local-noise at-minimum"),
    ),
    uses=("zhang2021.eq15",),
)

EQ19_REPAIRED: Statement = replace(
    EQ19,
    id="zhang2021.eq19.repaired",
    sides=lambda s: Sides(
        {"updates": s.local_squares}, {name: s.N * term for name, term in repaired_squares(s).items()}
    ),
    checks=battery(_from_eq15, EXACT("all inside"), NOISE("many-steps"), _sums(), LOCAL("local at-minimum")),
)

EQ19_SHARPENED: Statement = replace(
    EQ19_REPAIRED,
    id="zhang2021.eq19.repaired.sharpened",
    sides=lambda s: _updates(
        s,
        4 * s.alpha**2 * s.eta_l**2 * s.L**2 * s.Q**3,
        sp.Rational(3, 2) * s.alpha**2 * s.Q**2 * (2 * s.Q**2 * s.L**2 * s.eta_l**2 + 1),
    ),
    checks=battery(_young, EXACT("all inside"), NOISE("from-32"), _sums(), LOCAL("local")),
    uses=("zhang2021.eq15.sharpened",),
)

STATEMENTS = (
    *(EQ13, EQ14, EQ14_REPAIRED, EQ15, EQ15_SHARPENED, EQ16, EQ17, EQ17_SHARPENED),
    *(EQ18, EQ18_SETS, EQ18_REPAIRED, EQ19, EQ19_REPAIRED, EQ19_SHARPENED),
)
