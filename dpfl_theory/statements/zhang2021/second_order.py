"""zhang2021 eqs. (16) to (19): the second-order term of the descent inequality."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpfl_theory.statements.claims import Case, Outcome, Performance
from dpfl_theory.statements.model import Check, Erratum, Sides, Source, Statement, sympy_symbols
from dpfl_theory.statements.symbolic import equal
from dpfl_theory.statements.zhang2021 import _letters as zhang
from dpfl_theory.statements.zhang2021._proof_instances import exact
from dpfl_theory.statements.zhang2021._round import cases

_WHERE = "Appendix A.1, proof of Theorem 3.1"


def _eq16_sides() -> Sides:
    s = sympy_symbols(EQ16)
    return Sides(
        lhs={"cohort": s["cohort_clipped"]},
        rhs={
            "noise": 3 * s["first_spread"],
            "clients": 3 * s["second_spread"],
            "common factor": 3 * s["cohort_common"],
        },
    )


def _three_squares(_: Mapping[str, Any]) -> Outcome:
    """3(a^2 + b^2 + c^2) - (a + b + c)^2 is the sum of the squares of the differences."""
    import sympy as sp

    a, b, c = sp.symbols("a b c", real=True)
    left = sp.expand(3 * (a**2 + b**2 + c**2) - (a + b + c) ** 2)
    return equal(left, sp.expand((a - b) ** 2 + (b - c) ** 2 + (a - c) ** 2), "the slack against squares")


def _eq17_sides() -> Sides:
    s = sympy_symbols(EQ17)
    noise = 2 / s["P"] * s["eta_l"] ** 2 * s["alpha"] ** 2 * s["Q"] * s["sigma_l"] ** 2
    return Sides(lhs={"cohort": s["cohort_common"]}, rhs={"gradients": 2 * s["cohort_local"], "noise": noise})


def _two_squares(_: Mapping[str, Any]) -> Outcome:
    """2(a^2 + b^2) - (a + b)^2 = (a - b)^2."""
    import sympy as sp

    a, b = sp.symbols("a b", real=True)
    return equal(sp.expand(2 * (a**2 + b**2) - (a + b) ** 2), sp.expand((a - b) ** 2), "the slack against a square")


def _eq18_sides() -> Sides:
    s = sympy_symbols(EQ18)
    P, N = s["P"], s["N"]
    return Sides(
        lhs={"cohort": s["cohort_local"]},
        rhs={"draws": s["local_squares"] / (P * N), "pairs": P * (P - 1) * s["local_square"] / P**2},
    )


def _pairs(_: Mapping[str, Any]) -> Outcome:
    """Without replacement a pair is drawn with probability P(P-1)/(N(N-1)): the left side falls short of the right one
    by ((P-1)/(P(N-1))) (S - m), S the mean of the squares and m the square of the mean: never negative."""
    import sympy as sp

    P, N, S, m = sp.symbols("P N S m", positive=True)
    moment = (P * S + P * (P - 1) / (N * (N - 1)) * (N**2 * m - N * S)) / P**2
    printed = S / P + (P - 1) * m / P
    return equal(
        printed - moment, (P - 1) / (P * (N - 1)) * (S - m), "what sampling without replacement takes off (18)"
    )


def _eq19_sides() -> Sides:
    s = sympy_symbols(EQ19)
    N, L, eta, Q, alpha = (s[name] for name in ("N", "L", "eta_l", "Q", "alpha"))
    return Sides(
        lhs={"updates": s["local_squares"]},
        rhs={
            "noise": 10 * N * eta**4 * alpha * L**2 * Q**2 * s["sigma_l"] ** 2,
            "gradients": 4 * N * eta**2 * alpha * Q**3 * (15 * L**2 * eta**2 + 1) * (s["square"] + s["sigma_g"] ** 2),
        },
    )


def repaired_squares(s: Mapping[str, Any]) -> dict[str, Any]:
    """The right side of (19) over N, repaired: 10 eta^4 alpha^2 L^2 Q^3 sigma_l^2 and 4 eta^2 alpha^2 Q^2 (15 Q^2 L^2
    eta^2 + 1)(||grad f||^2 + sigma_g^2)."""
    L, eta, Q, alpha = (s[name] for name in ("L", "eta_l", "Q", "alpha"))
    return {
        "noise": 10 * eta**4 * alpha**2 * L**2 * Q**3 * s["sigma_l"] ** 2,
        "gradients": 4 * eta**2 * alpha**2 * Q**2 * (15 * Q**2 * L**2 * eta**2 + 1) * (s["square"] + s["sigma_g"] ** 2),
    }


def _repaired_sides() -> Sides:
    s = sympy_symbols(EQ19_REPAIRED)
    return Sides(
        lhs={"updates": s["local_squares"]},
        rhs={name: s["N"] * term for name, term in repaired_squares(s).items()},
    )


def _last_line(_: Mapping[str, Any]) -> Outcome:
    """The last equality of (19): (iii) sorted by variances."""
    import sympy as sp

    s = sympy_symbols(EQ19)
    N, L, eta, Q, alpha = (s[name] for name in ("N", "L", "eta_l", "Q", "alpha"))
    noise, apart, square = s["sigma_l"] ** 2, s["sigma_g"] ** 2, s["square"]
    bracket = 5 * L**2 * Q**2 * eta**2 * (noise + 6 * Q * apart) + 30 * L**2 * Q**3 * eta**2 * square
    third = 2 * eta**2 * alpha * N * (bracket + 2 * Q**3 * square + 2 * Q**3 * apart)
    return equal(sp.expand(third), sp.expand(sum(_eq19_sides().rhs.values())), "(iii) against the last line")


def _from_eq15(_: Mapping[str, Any]) -> Outcome:
    """||sum_q a_q||^2 <= Q sum_q ||a_q||^2 once, (15), and ||grad f_i||^2 on average at most ||grad f||^2 + sigma_g^2.

    N times 2 eta^2 alpha^2 (Q (15) + Q^2 (||grad f||^2 + sigma_g^2)) is the repaired right side less what the factor 2
    of the second part gives away.
    """
    import sympy as sp

    s = sympy_symbols(EQ19_REPAIRED)
    L, eta, Q, alpha = (s[name] for name in ("L", "eta_l", "Q", "alpha"))
    noise, both = s["sigma_l"] ** 2, s["square"] + s["sigma_g"] ** 2
    drift = 5 * L**2 * Q**2 * eta**2 * noise + 30 * L**2 * Q**3 * eta**2 * both
    proved = 2 * eta**2 * alpha**2 * (Q * drift + Q**2 * both)
    slack = sum(repaired_squares(s).values()) - proved
    return equal(sp.expand(slack), sp.expand(2 * eta**2 * alpha**2 * Q**2 * both), "the slack of the repaired (19)")


def local_sum(instance: Mapping[str, Any], squared: int) -> Performance:
    """The worst case of ||sum_q grad f(x_q)||^2: one smooth client without noise, L = 1.

    With N = 1 and alpha = 1, (19) over eta^2: ||sum_q grad f(x_q)||^2 <= 4 Q^3 (15 L^2 eta^2 + 1) ||grad f(x_t)||^2 as
    printed (squared = 3), 4 Q^2 (15 Q^2 L^2 eta^2 + 1) ||grad f(x_t)||^2 repaired (squared = 2).
    """
    from PEPit import PEP
    from PEPit.functions import SmoothFunction

    Q = int(instance["Q"])
    eta = float(Fraction(instance["eta Q L"])) / Q
    problem = PEP()
    f = problem.declare_function(SmoothFunction, L=1.0)
    x = problem.set_initial_point()
    gradients = []
    for _ in range(Q):
        gradients.append(f.gradient(x))
        x = x - eta * gradients[-1]
    total = sum(gradients[1:], gradients[0])
    inside = 15 * eta**2 * (Q**2 if squared == 2 else 1) + 1
    return Performance(problem, total**2, 4 * Q**squared * inside * gradients[0] ** 2, "(19) over eta^2, one client")


def noise_cases(statement: Callable[[], Statement]) -> Callable[[Mapping[str, Any]], list[Case]]:
    """One client at its minimum, so that only sigma_l is left, for each Q of the instance."""

    def build(instance: Mapping[str, Any]) -> list[Case]:
        return [case for Q in instance["Q"] for case in cases(statement)({**instance, "Q": Q})]

    return build


EQ16: Statement = Statement(
    id="zhang2021.eq16",
    kind="step",
    title="The second-order term in three parts",
    source=Source(zhang.PAPER, _WHERE, "16"),
    text=(
        "E||(1/P) sum_{P_t} Delta||^2 <= 3 E||(1/P) sum (Delta - Delta~)||^2 + 3 E||(1/P) sum (Delta~ - "
        "Delta-bar)||^2 + 3 E||(1/P) sum Delta-bar||^2."
    ),
    symbols=zhang.letters("cohort_clipped", "first_spread", "second_spread", "cohort_common"),
    sides=_eq16_sides,
    checks=(Check("algebra", "three squares", _three_squares), *exact(lambda: EQ16)),
)

_FAIR = {"samplings": ["without", "anew"]}

EQ17: Statement = Statement(
    id="zhang2021.eq17",
    kind="step",
    title="The noise of the stochastic gradients split off",
    source=Source(
        zhang.PAPER,
        _WHERE,
        "17",
        "for eta_l <= 1/(sqrt(60) QL), without replacement, or with it where every draw is a local run of its own; "
        "alpha-bar^2 in the last term is (alpha-bar^t)^2",
    ),
    text=(
        "E||(1/P) sum_{P_t} Delta-bar||^2 <= 2 E||(1/P) sum_{P_t} Delta-breve||^2 + (2/P) eta_l^2 alpha-bar^2 Q "
        "sigma_l^2."
    ),
    symbols=zhang.letters("cohort_common", "cohort_local", "P", "eta_l", "alpha", "Q", "sigma_l"),
    sides=_eq17_sides,
    checks=(
        Check("algebra", "two squares", _two_squares),
        *exact(lambda: EQ17, None, _FAIR),
    ),
    slips=(
        "The middle line has grad f where the clients' own gradients grad f_i are meant, as its two ends do.",
        "If a client that is drawn twice runs once and counts twice, as the equality (18) needs, it fails for concave "
        "clients: f_i = -x^2/2, x_t = 0, N = P = 10, Q = 5, eta_l Q L = 0.129 gives 1.046 times the right side.",
        "The steps' noises must be uncorrelated given the past, which 'E g = grad f_i(x_i^{t,q})' means only if it is "
        "read as a conditional expectation.",
    ),
)

EQ18: Statement = Statement(
    id="zhang2021.eq18",
    kind="step",
    title="The second moment of the sampled updates",
    source=Source(
        zhang.PAPER,
        _WHERE,
        "18",
        "with replacement, as its justification (ii) says; a client that is drawn twice runs once and counts twice",
    ),
    text=(
        "E||(1/P) sum_{P_t} Delta-breve||^2 = (1/P^2) E[(P/N) sum_i ||Delta-breve_i||^2 + P(P-1) ||(1/N) sum_i "
        "Delta-breve_i||^2]."
    ),
    symbols=zhang.letters("cohort_local", "local_squares", "local_square", "P", "N"),
    relation="==",
    sides=_eq18_sides,
    checks=(
        Check("algebra", "without replacement", _pairs),
        *exact(lambda: EQ18, None, {"samplings": ["shared"]}),
    ),
    slips=(
        "Algorithm 3 takes P_t as a subset of [N], which is sampling without replacement; the equality is then an "
        "inequality, <=, which is what the proof needs.",
        "With replacement and a new local run for every draw, which (17) needs, it is an inequality as well.",
    ),
)

_NOISE = {"q": ["1"], "m": ["0"], "x": ["0"], "P": 1, "noise": "1", "eta Q L": "1/1000"}

EQ19: Statement = Statement(
    id="zhang2021.eq19",
    kind="step",
    title="The clients' squared updates",
    source=Source(zhang.PAPER, _WHERE, "19", "the last line; for eta_l <= 1/(sqrt(60) QL)"),
    text=(
        "E sum_i ||Delta-breve_i||^2 <= 10 N eta_l^4 alpha-bar L^2 Q^2 sigma_l^2 + 4 N eta_l^2 alpha-bar Q^3 (15 L^2 "
        "eta_l^2 + 1)(||grad f(x_t)||^2 + sigma_g^2)."
    ),
    symbols=zhang.letters("local_squares", "N", "L", "eta_l", "Q", "alpha", "sigma_l", "sigma_g", "square"),
    sides=_eq19_sides,
    checks=(
        Check("algebra", "(iii) against the last line", _last_line),
        *exact(lambda: EQ19),
        Check("exact", "at a minimum, Q to 31", noise_cases(lambda: EQ19), {**_NOISE, "Q": [1, 2, 8, 16, 31]}),
        Check("exact", "at a minimum, Q from 32", noise_cases(lambda: EQ19), {**_NOISE, "Q": [32, 40, 64]}, "violated"),
        *(
            Check(
                "worst-case",
                f"without noise, Q = {Q}, eta_l Q L = {product}",
                lambda i: local_sum(i, 3),
                {"Q": Q, "eta Q L": product},
            )
            for Q, product in ((1, "129/1000"), (2, "129/1000"), (2, "1/20"), (3, "129/1000"), (4, "129/1000"))
        ),
    ),
    expected="violated",
    erratum=Erratum(
        printed="10 N eta_l^4 alpha L^2 Q^2 sigma_l^2 + 4 N eta_l^2 alpha Q^3 (15 L^2 eta_l^2 + 1)(...)",
        true="10 N eta_l^4 alpha^2 L^2 Q^3 sigma_l^2 + 4 N eta_l^2 alpha^2 Q^2 (15 Q^2 L^2 eta_l^2 + 1)(...)",
        cause=(
            "(ii) takes Q^2 where Cauchy's inequality gives Q, and prints grad f_i(x_t) + grad f_i(x_i^{t,q}) for the "
            "difference; (iii) then drops the factor before the sum that it bounds by (15). What is too large in one "
            "place does not make up for what is missing in the other once Q >= 32"
        ),
        counterexample=(
            "N = 1, f = x^2/2, x_t = 0, gradients x +- sigma_l, eta_l -> 0: the left side is eta_l^4 sigma_l^2 "
            "(Q-1)Q(2Q-1)/6, the right side 10 eta_l^4 Q^2 sigma_l^2: larger from Q = 32 on, the paper's own Q"
        ),
        repaired="zhang2021.eq19.repaired",
        affects=("zhang2021.eq20", "zhang2021.eq21", "zhang2021.eq22", "zhang2021.theorem3.1"),
    ),
    uses=("zhang2021.eq15",),
)

EQ19_REPAIRED: Statement = Statement(
    id="zhang2021.eq19.repaired",
    kind="step",
    title="The clients' squared updates, repaired",
    source=Source(zhang.PAPER, _WHERE, "19", "repaired: Cauchy's inequality with Q, and its factor kept"),
    text=(
        "E sum_i ||Delta-breve_i||^2 <= 10 N eta_l^4 alpha-bar^2 L^2 Q^3 sigma_l^2 + 4 N eta_l^2 alpha-bar^2 Q^2 (15 "
        "Q^2 L^2 eta_l^2 + 1)(||grad f(x_t)||^2 + sigma_g^2), for eta_l <= 1/(sqrt(60) QL)."
    ),
    symbols=EQ19.symbols,
    sides=_repaired_sides,
    checks=(
        Check("algebra", "follows from (15)", _from_eq15),
        *exact(lambda: EQ19_REPAIRED),
        Check(
            "exact",
            "at a minimum, Q from 32",
            noise_cases(lambda: EQ19_REPAIRED),
            {**_NOISE, "Q": [32, 40, 64]},
        ),
        *(
            Check("worst-case", c.name, lambda i: local_sum(i, 2), c.instance)
            for c in EQ19.checks
            if c.method == "worst-case"
        ),
    ),
    uses=("zhang2021.eq15",),
)

STATEMENTS = (EQ16, EQ17, EQ18, EQ19, EQ19_REPAIRED)
