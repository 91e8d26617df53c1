"""The letters of noble2022's utility analysis (Appendix C), and what shows that a step size must shrink with T.

E is the excess of loss, and O stands for an unknown constant c. Sigma is the paper's Sigma_g(C) = 2 C sqrt(2d)
sigma_g/(sR). (The text says that N(0, I_d) has variance 2d, where it has d; a constant does not mind.) The weights w_t
of the averaged output are read as nonnegative with sum 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.formula import letters_of, prescription_of, total
from dpfl_theory.statements.model import Assumption, Statement, Symbol

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

PAPER = "noble2022"
NOTE = (
    "O(.) is entered with a constant c. Assumption 3.3 (gradients along the run of at most C) is read as: clipping "
    "never acts; with Gaussian noise it cannot hold for strongly convex objectives on R^d otherwise"
)
NEVER_CLIPPED = (
    "Assumption 3.3 is read as: clipping never acts; taken literally no run with sigma_g > 0 meets it, since Gaussian "
    "noise takes the iterates anywhere."
)
"""What the theorems on strongly convex objectives are read by."""

_ALL = (
    Symbol("excess", "E F(xbar^T) - F(x*)", (1, 0), "nonnegative", r"(\mathbb{E}[F(\overline{x}^T)] - F(x^*))"),
    Symbol("gradient", "E||grad F(xbar^T)||^2", (2, -2), "nonnegative", r"\mathbb{E}\|\nabla F(\overline{x}^T)\|^2"),
    Symbol("c", "the constant that O hides", (0, 0), "positive", "c"),
    Symbol("eta_g", "global step size", (0, 0), "positive", r"\eta_g"),
    Symbol("eta_l", "local step size", (-1, 2), "positive", r"\eta_l"),
    Symbol("nu", "smoothness constant of every F_i", (1, -2), "positive", r"\nu"),
    Symbol("mu", "strong convexity constant of every F_i", (1, -2), "positive", r"\mu"),
    Symbol("M", "number of users", (0, 0), "integer", "M"),
    Symbol("l", "share of the users in a round", (0, 0), "probability", "l"),
    Symbol("R", "records of a user", (0, 0), "integer", "R"),
    Symbol("s", "share of the records in a local step", (0, 0), "probability", "s"),
    Symbol("K", "local steps in a round", (0, 0), "integer", "K"),
    Symbol("T", "rounds", (0, 0), "integer", "T"),
    Symbol("varsigma", "root of the variance of one record's gradient", (1, -1), "nonnegative", r"\varsigma"),
    Symbol(
        "Sigma", "root mean square of a step's noise, 2 C sqrt(2d) sigma_g/(sR)", (1, -1), "positive", r"\Sigma_g(C)"
    ),
    Symbol("D0", "initial distance ||x^0 - x*||", (0, 1), "nonnegative", "D_0"),
    Symbol("F0", "F(x^0) - F(x*)", (1, 0), "nonnegative", "F_0"),
    Symbol("G", "dissimilarity of the gradients, constant part", (1, -1), "nonnegative", "G"),
    Symbol("B", "dissimilarity of the gradients, proportional part", (0, 0), "positive", "B"),
)
LETTERS = {symbol.name: symbol for symbol in _ALL}
_SLACK = 1e-9
"""What rounding may do to a constant of a problem, relative to it."""


def letters(*names: str) -> tuple[Symbol, ...]:
    """These letters, in this order."""
    return tuple(LETTERS[name] for name in names)


def deviation(s: Mapping[str, Any]) -> Any:
    """varsigma/sqrt(sR) + Sigma_g, of the letters as sympy symbols."""
    return s["varsigma"] / sp.sqrt(s["s"] * s["R"]) + s["Sigma"]


def _sampling(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    for rate, number, what in (("l", "M", "users"), ("s", "R", "records")):
        if not 0 < values[rate] <= 1:
            return f"{rate} = {values[rate]} does not lie in (0, 1]"
        if values[rate] * values[number] < 1 - 1e-9:
            return f"{rate} {number} = {values[rate] * values[number]} {what} are less than one"
    return None


def _rounds(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    return None if values["T"] >= 1 else f"T = {values['T']} is below 1"


def _always(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    return None


def _smooth(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if problem is None or "nu" not in values or problem.constants.L_max <= values["nu"] * (1 + _SLACK):
        return None
    return f"some F_i is not nu-smooth: nu = {values['nu']:.6g}, the largest constant is {problem.constants.L_max:.6g}"


def _never_clipped(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    """Where the values have a threshold, no record's gradient may exceed it anywhere."""
    if problem is None or "C" not in values or problem.constants.G_record <= values["C"] * (1 + _SLACK):
        return None
    longest = problem.constants.G_record
    return f"a record's gradient may be as long as {longest:.6g} and is clipped at C = {values['C']:.6g}"


def _convex(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if problem is None or problem.constants.mu_min >= -_SLACK * problem.constants.L_max:
        return None
    return f"some F_i is not convex: its least curvature is {problem.constants.mu_min:.6g}"


def _strongly_convex(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not values["mu"] > 0:
        return f"mu = {values['mu']} is not positive"
    if problem is None or problem.constants.mu_min >= values["mu"] * (1 - _SLACK):
        return None
    return f"some F_i is not mu-strongly convex: mu = {values['mu']:.6g}, the least is {problem.constants.mu_min:.6g}"


def _dissimilar(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    """B >= 1, and the inequality at x*, where grad F = 0: a test that may refuse, and proves nothing elsewhere."""
    if values["B"] < 1:
        return f"B = {values['B']} is below 1"
    if problem is None or problem.constants.w_star is None:
        return None
    least = float((problem.gradients_at_star**2).sum(axis=1).mean())
    if least <= values["G"] ** 2 * (1 + _SLACK) + _SLACK**2:  # x* is known up to a gradient of 1e-10
        return None
    return f"at x* the mean of ||grad F_i||^2 is {least:.6g}, above G^2 = {values['G'] ** 2:.6g}"


SAMPLING = Assumption("lM >= 1 users in a round and sR >= 1 records in a local step", _sampling)
ROUNDS = Assumption("T >= 1", _rounds)
SMOOTH = Assumption("each F_i is nu-smooth (Assumption 2)", _smooth)
GRADIENTS = Assumption(
    "unbiased stochastic gradients, variance at most varsigma^2, never clipped (Assumption 3)", _never_clipped
)
CONVEX = Assumption("each F_i is convex", _convex)
STRONGLY_CONVEX = Assumption("each F_i is mu-strongly convex, mu > 0", _strongly_convex)
WARM = Assumption("the first control variates are noisy gradients at x^0", _always)
DISSIMILAR = Assumption(
    "(1/M) sum_i ||grad F_i||^2 <= G^2 + B^2 ||grad F||^2 everywhere, B >= 1 (Assumption 4)", _dissimilar
)


def starts_at_the_minimiser(start: str) -> Callable[[Statement, Mapping[str, Any]], Outcome]:
    """x^0 = x*, so that the printed right side is 0 whatever c is; one round of one local step by all users.

    F_i(x) = nu ||x||^2/2 for all i, s = 1: x^1 is eta_g eta_l times the mean of M Gaussian vectors (the control
    variates cancel), each with second moment Sigma^2/2, and the only weight is w_1 = 1. start: ``D0`` or ``F0``.
    """

    def build(statement: Statement, _: Mapping[str, Any]) -> Outcome:
        s = letters_of(statement)
        one = {s["l"]: 1, s["K"]: 1, s["T"]: 1, s["s"]: 1, s["varsigma"]: 0}
        if "B" in s:
            one |= {s["B"]: 1, s["G"]: 0}
        chosen = prescription_of(statement)
        step = (chosen["eta_g"] * chosen["eta_l"].subs(s["eta_g"], chosen["eta_g"])).subs(one)
        moment = step**2 * s["Sigma"] ** 2 / (2 * s["M"])  # E||x^1||^2
        left = s["nu"] * moment / 2 if start == "D0" else s["nu"] ** 2 * moment
        right = total(statement).subs(one).subs(s[start], 0)
        refuted = right == 0 and bool(left.is_positive)
        return Outcome(
            False if refuted else None,
            f"at x^0 = x* with T = K = l = s = 1 the left side is {left}, the right side {right} for every constant",
            {"left": str(left), "right": str(right)},
        )

    return build


def keeps_a_distance(statement: Statement, instance: Mapping[str, Any]) -> Outcome:
    """For a step that does not shrink with T the excess stays above a floor, whatever the weights, while the right side
    tends to 0.

    One dimension, equal users, l = K = s = 1: x' = x - eta F'(x) + eta xi, xi ~ N(0, tau^2), tau^2 = Sigma^2/(2M),
    F'(x) = nu x for x > 0 and mu x for x < 0. With m = E x and p = E max(x, 0): m' = (1 - eta mu) m - eta (nu - mu)
    p, and E|x'| >= eta E|xi| = 2h, so that p >= (2h + m)/2 from the first iterate on. From x^0 = -h follows m_t <= -a,
    a = min((1 - eta mu) h, eta (nu - mu) h/2), for all t >= 1; by Jensen's inequality E F(xbar) >= mu a^2/2.

    All that is used of xi is its symmetry. Where the instance has varsigma for Sigma, one user of two records, with
    gradients F'(x) +- varsigma, draws one in each step, without privacy noise: |x^t| <= varsigma/mu for all t, so that
    no gradient is longer than C = (nu/mu + 1) varsigma. eta is the step that the statement prescribes.
    """
    s = letters_of(statement)
    nu, mu, users = (sp.Rational(instance[name]) for name in ("nu", "mu", "M"))
    noise, records = (sp.Rational(instance.get(name, 0)) for name in ("Sigma", "varsigma"))
    if records and (noise or users != 1):
        raise ValueError("either Gaussian noise, or the records of one user")
    one = {s[name]: 1 for name in ("l", "K", "s", "R", "c")} | {s.nu: nu, s.M: users}  # sR = 1 in either case
    one |= {s.mu: mu} if "mu" in s else {}
    one |= {s.B: 1, s.G: 0} if "B" in s else {}
    chosen = prescription_of(statement)
    eta = (chosen["eta_g"] * chosen["eta_l"].subs(s.eta_g, chosen["eta_g"])).subs(one)
    h = eta * (records + noise / sp.sqrt(2 * users) * sp.sqrt(2 / sp.pi)) / 2
    a = sp.Min((1 - eta * mu) * h, eta * (nu - mu) * h / 2)
    floor = mu * a**2 / 2
    right = total(statement).subs({**one, s.Sigma: noise, s.D0: h, s.varsigma: records})
    needed = {T: float((floor / right.subs(s.T, T)).evalf(20)) for T in instance["T"]}
    tends = sp.limit(right, s.T, sp.oo)
    refuted = tends == 0 and floor.evalf() > 0 and list(needed.values()) == sorted(needed.values())
    shown = ", ".join(f"{c:.3g} at T = {T:.0e}" for T, c in needed.items())
    return Outcome(
        False if refuted else None,
        f"the excess stays above {float(floor):.4g} for all T and weights, the right side tends to {tends}: the "
        f"constant must be at least {shown}",
        {
            "floor": float(floor),
            "eta": str(eta),
            "start": float(-h),
            "needed": {str(k): v for k, v in needed.items()},
        },
    )
