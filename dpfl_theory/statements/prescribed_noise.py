"""Noise prescribed "by Theorem 1 of Abadi et al. (2016)": the shared part of the statements of that form.

They all claim constants u and v. For every epsilon up to u q^2 T, noise of multiplier z = q sqrt(v T
ln(1/delta))/epsilon in each of T rounds with participation q is enough. Where a client takes part in all rounds (q =
1), its T releases are together one Gaussian release of multiplier z/sqrt(T), whatever T is: the sum of the releases is
sufficient for the client's share in it. So everything for q = 1 is exact and in closed form, with L = ln(1/delta) and s
= sqrt(v L): delta(epsilon) = Phi(-b) - e^epsilon Phi(-b - epsilon/s), b = s - epsilon/(2 s).

The neighbouring relation is zero-out (the client's message is replaced by noise only) by default; *replace* doubles the
sensitivity, so that four times the constant is needed.

The repaired form: with 0 < epsilon <= 2 ln(1/delta) and every release counted, 4 is enough.

All of a client's releases together have noise multiplier z = sqrt(v L)/epsilon or more, L = ln(1/delta). Then delta is
below Phi(-b), b = sqrt(v L) - epsilon/(2 sqrt(v L)), and b^2 >= 2 L where epsilon/(2 v L) + sqrt(2/v) <= 1, which for
epsilon = 2 L means v >= 2 + sqrt(3). As delta tends to 0 the bound has the exact exponent, so no smaller v is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from dpfl_theory.core import (
    Check,
    ConstantClaim,
    Escape,
    Hypothesis,
    Outcome,
    PrivacyClaim,
    PrivacyPoint,
    Statement,
    expressions,
)
from dpfl_theory.core.formula import prescription_of, symbols_of, total
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements.instances import edges_of
from dpfl_theory.statements.relations import Formula, Proof, algebra

Squared = Callable[[Mapping[str, Any], Any], Any]
"""From a statement's symbols and the variance of the noise, the squared noise multiplier of all of a client's releases
together. It uses only the four operations of arithmetic, so that it takes numbers and sympy expressions."""

LADDER = {"u": [0.001, 0.01, 0.1, 1.0], "v": [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]}
"""Candidates for (u, v). Where a pair fails, each pair with a larger u and a smaller v fails at the same instance."""

NEEDED = [["0.1", "1e-5"], ["1", "1e-5"], ["10", "1e-5"], ["100", "1e-5"], ["1000", "1e-5"]]
"""(epsilon, delta) at which the smallest valid v is reported: it grows like epsilon/(2 ln(1/delta))."""


def evaluate(statement: Statement, expression: Any, values: Mapping[str, Any]) -> Any:
    """An expression in the statement's symbols, evaluated with 65 digits."""
    with mpmath.workdps(65):
        used = {s.name: mpmath.mpf(values[s.name]) for s in expression.free_symbols}
        return mpmath.mpf(expressions.evaluate(expression, used, statement.id))


def noise_of(statement: Statement) -> Any:
    """The prescribed variance of the noise as a sympy expression, from the statement's own printed formula: its sides,
    where they are noise = formula or noise >= formula, else its prescription."""
    s = symbols_of(statement)
    meant = s.noise_variance if "noise_variance" in s else s.sigma**2
    if statement.relation in ("==", ">=") and statement.sides is not None:
        left, right = total(statement, "lhs"), total(statement, "rhs")
        if left in (meant, meant ** sp.Rational(1, 2)):
            return right if left == meant else right**2
    found = prescription_of(statement)
    return found["noise_variance"] if "noise_variance" in found else found["sigma"] ** 2


def variance(statement: Statement, instance: Mapping[str, Any]) -> Any:
    """The prescribed variance of the noise at values of the symbols, with 65 digits."""
    return evaluate(statement, noise_of(statement), instance)


def one_release(epsilon: Any, squared: Any) -> tuple[Any, Any]:
    """The exact delta (low, high) of Gaussian releases whose noise multiplier, taken together, has this square."""
    from dpfl_theory.privacy.gaussian import gaussian_delta

    with mpmath.workdps(65):
        return gaussian_delta(epsilon, mpmath.sqrt(squared))


def over_random_rounds(delta: Callable[[int], tuple[Any, Any]], T: int, p: Any) -> tuple[Any, Any]:
    """The exact delta (low, high) of a binomial number of releases that is seen, from the delta of j of them.

    Who takes part when does not depend on the data, so delta is the mean over their number j.
    """
    low = high = mpmath.mpf(0)
    with mpmath.workdps(50):
        chance = mpmath.mpmathify(p)
        for j in range(1, T + 1):
            weight = mpmath.binomial(T, j) * chance**j * (1 - chance) ** (T - j)
            below, above = delta(j)
            low, high = low + weight * below, high + weight * above
        rounding = high * mpmath.mpf(10) ** -30
        return low - rounding, high + rounding


def budget(v: Any, factor: int) -> tuple[Any, Any]:
    """(epsilon, delta) with epsilon = factor s^2, s^2 = v ln(1/delta) >= 1 and delta <= 1e-5."""
    with mpmath.workdps(65):
        log = max(mpmath.log(10**5), 1 / mpmath.mpf(v))
        return factor * mpmath.mpf(v) * log, mpmath.exp(-log)


def returned_sum_delta(epsilon: Any, multiplier: Any, rounds: int) -> Any:
    r"""A lower limit of delta if the observer sees only one iterate, that of a round chosen uniformly and kept secret.

    Where a client's update is the same vector in each round (a linear objective) the iterate of round k is its starting
    point plus the sum of k releases: normal with shift k and deviation sqrt(k) z along this vector, in units of the
    sensitivity, z being the noise multiplier of a round. The event that it exceeds t = K/4 has probability at least
    floor(K/2)/K Phi((K/2 - t)/(sqrt(K/2) z)), since (k - t)/sqrt(k) grows with k and k >= K/2 for floor(K/2) of the
    rounds 0, ..., K - 1; without the client it has probability at most Phi(-t/(sqrt(K) z)).
    """
    with mpmath.workdps(65):
        K, z = mpmath.mpf(rounds), mpmath.mpf(multiplier)
        t = K / 4
        seen = (rounds // 2) / K * mpmath.ncdf((K / 2 - t) / (mpmath.sqrt(K / 2) * z))
        return seen - mpmath.exp(epsilon) * mpmath.ncdf(-t / (mpmath.sqrt(K) * z)) - mpmath.mpf(10) ** -30


def sampled_sum_delta(epsilon: Any, multiplier: Any, rounds: int, rate: Any) -> Any:
    """A lower limit of delta when a client takes part in each round independently with probability ``rate``.

    With probability at least 1 - exp(-rate rounds/8) (Chernoff) it does in m = rate rounds/2 rounds or more. The event
    that the sum of all releases exceeds m/2 then has probability at least Phi(m/(2 sqrt(rounds) z)), and without the
    client probability Phi(-m/(2 sqrt(rounds) z)).
    """
    with mpmath.workdps(65):
        T, q = mpmath.mpf(rounds), mpmath.mpf(rate)
        half = q * T / 4 / (mpmath.sqrt(T) * multiplier)
        often = 1 - mpmath.exp(-q * T / 8)
        return often * mpmath.ncdf(half) - mpmath.exp(epsilon) * mpmath.ncdf(-half) - mpmath.mpf(10) ** -30


def smallest_constant(true_delta: Callable[[Any], tuple[Any, Any]], delta: Any, width: float = 1e-6) -> tuple[Any, Any]:
    """Limits of the smallest v with true_delta(v) <= delta, where true_delta (low, high) falls with v, by bisection.

    >>> low, high = smallest_constant(lambda v: (1 / v, 1 / v), 0.25)
    >>> low <= 4 <= high and float(high - low) < 1e-5
    True
    """
    with mpmath.workdps(40):
        low, high, target = mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf(delta)
        below, above = true_delta(high)
        while above > target:
            low, high = high if below > target else low, 2 * high
            below, above = true_delta(high)
        while high - low > width * high:
            middle = (low + high) / 2
            below, above = true_delta(middle)
            if above <= target:
                high = middle
            elif below > target:
                low = middle
            else:
                break
        return low, high


def needed_points(
    pairs: Iterable[Sequence[str]], also: Mapping[str, Any] | None = None, stated: float | None = None
) -> list[PrivacyPoint]:
    """The smallest valid v under full participation at (epsilon, delta), together with the stated one if there is one.
    Without a stated v, the first is also given for the *replace* relation."""

    def true_delta(epsilon: Any, log: Any, v: Any) -> tuple[Any, Any]:
        return one_release(epsilon, v * log / epsilon**2)

    found = []
    for epsilon, delta in pairs:
        with mpmath.workdps(40):
            e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
            low, high = smallest_constant(partial(true_delta, e, -mpmath.log(d)), d)
        at = {"epsilon": e, "delta": d, **(also or {})}
        claimed = float("inf") if stated is None else stated
        found.append(PrivacyPoint({**at, "relation": "zero-out"}, claimed, low, high))
        if stated is None and len(found) == 1:
            found.append(PrivacyPoint({**at, "relation": "replace"}, claimed, 4 * low, 4 * high))
    return found


DELTA = Hypothesis(lambda s: (s.delta > 0, s.delta < 1))


def existence(
    instance: Mapping[str, Any],
    escape: Callable[[Any, Any], Escape],
    argument: str,
    constant: str = "v",
    needed: Callable[[], list[PrivacyPoint]] | None = None,
) -> ConstantClaim:
    """The claim that some u and v exist, with the ladder of the instance and its points, or those of ``needed``."""
    ladder = tuple(product(instance["u"], instance["v"]))
    return ConstantClaim(constant, needed or (lambda: needed_points(instance["needed"])), escape, ladder, argument)


def no_constants(
    name: str,
    squared: Squared,
    symbols: Callable[[int], Mapping[str, Any]],
    constant: str = "v",
    needed: Sequence[Sequence[str]] = NEEDED,
) -> Check:
    """The check, which is violated, that some u and v exist: epsilon = 4 v ln(1/delta) in as many rounds as u needs to
    admit it, every client in every round.

    symbols: from the number of rounds, the values of all symbols but u, v, epsilon and delta; constant: v's symbol;
    needed: the (epsilon, delta) at which the smallest valid v is reported.

    >>> no_constants("every client", lambda s, variance: variance, lambda rounds: {"K": rounds}).expected
    'violated'
    """
    argument = (
        f"For any u and {constant} let s^2 = {constant} ln(1/delta) >= 1 with delta <= 1/e, epsilon = 4 s^2, and take "
        "at least epsilon/u rounds: with every client in every round the true delta is Phi(s) - e^epsilon Phi(-3 s) >= "
        "Phi(s) - phi(s)/(3 s) > 0.76, so no constants exist"
    )

    def build(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
        def escape(u: Any, v: Any) -> Escape:
            epsilon, delta = budget(v, 4)
            at = {**symbols(int(epsilon / u) + 2), "u": u, constant: v, "epsilon": epsilon, "delta": delta}
            with mpmath.workdps(65):
                together = squared(at, variance(statement, at))
            return Escape(at, delta, *one_release(epsilon, together))

        return existence(instance, escape, argument, constant)

    return Check("privacy", name, build, {**LADDER, "needed": needed}, "violated")


def rounds_together(squared: Squared, constant: str = "v", full: Mapping[str, str] | None = None) -> Check:
    """The check of the squared noise multiplier of all rounds together, with every client in every round.

    It must be v ln(1/delta)/epsilon^2, whatever the number of rounds is.

    constant: v's symbol; full: pairs of symbols that are equal then.
    """

    @algebra("all rounds together")
    def step(s: Formula) -> Proof:
        found = squared(s, noise_of(s.statement)).subs({s[a]: s[b] for a, b in (full or {}).items()})
        claimed = s[constant] * sp.log(1 / s.delta) / s.epsilon**2
        return found, claimed, "the squared noise multiplier of all rounds together"

    return step


DEMANDING = [["23.02585", "1e-5"], ["4.6", "0.1"], ["460.517", "1e-100"], ["4605.17", "1e-1000"]]
"""(epsilon, delta) with epsilon just below 2 ln(1/delta), where the smallest v comes near 2 + sqrt(3) = 3.732."""

GRID = {
    "delta": ["0.9", "0.5", "0.1", "1e-2", "1e-5", "1e-10", "1e-30", "1e-100", "1e-1000"],
    "share": ["1e-3", "0.1", "0.5", "1", "1.5", "2"],
}
"""Where a repaired statement is evaluated: deltas, and epsilon/ln(1/delta) in (0, 2]."""

PROOF = (
    "for all delta in (0, 1) and 0 < epsilon <= 2 ln(1/delta): the true delta is below Phi(-b) <= "
    "exp(-b^2/2)/2 with b >= 1.5 sqrt(ln(1/delta)), so below delta^(9/8)/2, and fewer releases or more noise lower it"
)


BUDGET = Hypothesis(
    lambda s: (s.epsilon > 0, s.epsilon <= -2 * sp.log(s.delta)), (r"$0 < \varepsilon \le 2 \ln(1/\delta)$")
)


def sufficiency_claim(squared: Squared, statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    """The true delta of the prescribed noise at each delta of the instance and each share of ln(1/delta) for epsilon;
    ``symbols`` has the values of the symbols that do not matter."""

    def points() -> list[PrivacyPoint]:
        found = []
        with mpmath.workdps(65):
            for delta, share in product(*(map(mpmath.mpf, instance[name]) for name in ("delta", "share"))):
                at = {**instance["symbols"], "epsilon": -share * mpmath.log(delta), "delta": delta}
                together = squared(at, variance(statement, at))
                found.append(PrivacyPoint(at, delta, *one_release(at["epsilon"], together)))
        return found

    return PrivacyClaim("the true delta", points, PROOF)


def repaired_checks(
    squared: Squared, symbols: Mapping[str, Any], beyond: Mapping[str, Mapping[str, str]]
) -> tuple[Check, ...]:
    """The checks of a repaired statement: its constant, 4, is enough for 0 < epsilon <= 2 ln(1/delta).

    squared: as `prescribed_noise.Squared`; symbols: values of those that do not matter; beyond: how symbols are stated
    just outside other hypotheses, by the words of these.
    """
    claim = partial(sufficiency_claim, squared)
    one = {"delta": ["1e-5"], "share": ["1"], "symbols": symbols}
    outside: dict[str, dict[str, Any]] = {"epsilon <= 2 ln(1/delta)": {**GRID, "share": ["2.02"]}}
    outside |= {words: {"stated": stated} for words, stated in {"delta > 0": {"delta": "0"}, **beyond}.items()}

    @algebra("the exponent", letters="ell")
    def exponent(s: Formula, log: Any) -> Proof:
        """b = epsilon z - 1/(2z) falls with epsilon, and is 1.5 sqrt(L) at the end of the range."""
        square = sp.simplify(squared(s, noise_of(s.statement)).subs(s.delta, sp.exp(-log)))
        z = sp.sqrt(square)
        b = sp.simplify(s.epsilon * z - 1 / (2 * z))
        slope = sp.simplify(sp.diff(b, s.epsilon))
        if slope.is_negative is not True:
            return Outcome(False, f"b does not fall with epsilon: its slope is {slope}")
        return b.subs(s.epsilon, 2 * log), sp.Rational(3, 2) * sp.sqrt(log), "b at epsilon = 2 ln(1/delta)"

    def constant(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
        """v in the prescribed noise, whose square over all releases is v ln(1/delta)/epsilon^2."""
        at = {**symbols, "epsilon": 1, "delta": mpmath.exp(-1)}
        stated = float(squared(at, variance(statement, at)))
        return ConstantClaim("the constant", lambda: needed_points(instance["needed"], symbols, stated), argument=PROOF)

    return (
        exponent,
        _tail,
        Check("privacy", "0 < epsilon <= 2 ln(1/delta)", claim, {**GRID, "symbols": symbols}),
        *edges_of("privacy", claim, one, outside),
        Check("privacy", "the smallest constant", constant, {"needed": [*NEEDED[:3], *DEMANDING]}),
    )


@algebra(
    "tail of the normal distribution",
    "It decides Phi(-b) <= exp(-b^2/2)/2, which bounds the true delta; another check decides the value of b.",
    letters="b",
)
def _tail(_: Formula, b: Any) -> Proof:
    """h(b) = exp(-b^2/2)/2 - Phi(-b) vanishes at 0 and at infinity and has derivative exp(-b^2/2)(1/sqrt(2 pi) - b/2),
    which changes sign once, from + to -: so h >= 0 for b >= 0."""
    gap = sp.exp(-(b**2) / 2) / 2 - sp.erfc(b / sp.sqrt(2)) / 2
    if gap.subs(b, 0) != 0 or sp.limit(gap, b, sp.oo) != 0:
        return Outcome(False, "exp(-b^2/2)/2 - Phi(-b) does not vanish at both ends")
    slope = sp.exp(-(b**2) / 2) * (1 / sp.sqrt(2 * sp.pi) - b / 2)
    return sp.diff(gap, b), slope, "the derivative of exp(-b^2/2)/2 - Phi(-b)"
