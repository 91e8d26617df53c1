"""shulgin2025, Section 5: the noise with which alpha-NormEC is said to be differentially private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfl_theory.core import Check, Hypothesis, Remark, Sides, Source, Statement, Symbol, Symbols, checks
from dpfl_theory.core.check_inputs import ConstantClaim, PrivacyClaim, PrivacyPoint
from dpfl_theory.lazy import mpmath
from dpfl_theory.lazy import sympy as sp
from dpfl_theory.statements import prescribed_noise as shared
from dpfl_theory.statements.repaired_noise import BUDGET, PROOF, repaired_checks
from dpfl_theory.statements.shulgin2025._symbols import whole_rounds

PAPER = "shulgin2025"
_SYMBOLS = (
    Symbol("sigma", "standard deviation of each coordinate of a client's noise", (0, 0), "positive", r"\sigma"),
    Symbol("K", "index of the last round; there are $K + 1$", (0, 0), "nonnegative", "K"),
    Symbol("epsilon", "privacy budget", (0, 0), "positive", r"\varepsilon"),
    Symbol("delta", "privacy failure probability", (0, 0), "probability", r"\delta"),
)
_CONSTANT = Symbol("v", "square of the constant that $O$ hides", (0, 0), "positive", "v")
_OF_RANGE = Symbol("u", r"constant of the range of $\varepsilon$ in Theorem 1 of Abadi et al.", (0, 0), "positive", "u")


ROUNDS = Hypothesis(whole_rounds, "every client sends in each of the $K + 1$ rounds")


def _squared(s: Mapping[str, Any], variance: Any) -> Any:
    """The squared noise multiplier of K + 1 messages, each of which has norm at most 1."""
    return variance / (s["K"] + 1)


def _deviation(s: Symbols, constant: Any = None) -> Any:
    return (sp.sqrt(s.v) if constant is None else constant) * sp.sqrt((s.K + 1) * sp.log(1 / s.delta)) / s.epsilon


def _every_client(statement: Statement, instance: Mapping[str, Any]) -> ConstantClaim:
    escape = shared.many_rounds(statement, _squared, lambda rounds: {"K": rounds - 1})
    return shared.existence(instance, escape, shared.fails())


def _on_the_range(statement: Statement, instance: Mapping[str, Any]) -> PrivacyClaim:
    def points() -> list[PrivacyPoint]:
        found = []
        with mpmath.workdps(65):
            for epsilon in map(mpmath.mpf, instance["epsilon"]):
                for log in map(mpmath.mpf, instance["log(1/delta)"]):
                    at = {"K": 299, "v": 4, "epsilon": epsilon, "delta": mpmath.exp(-log)}
                    variance = shared.evaluate(statement, shared.noise_of(statement), at)
                    found.append(PrivacyPoint(at, at["delta"], *shared.one_release(epsilon, _squared(at, variance))))
        return found

    return PrivacyClaim("the true delta", points, f"10 <= 2 log(1/delta) where delta <= e^-5; {PROOF}")


_RANGE_GRID = {
    "epsilon": ["1/1000", "1", "5", "10"],
    "log(1/delta)": ["5", "7", "11.512925464970228", "50", "2000"],
}

_OUTSIDE: dict[str, dict[str, Any]] = {
    "just outside epsilon <= 10": {"epsilon": ["51/5"], "log(1/delta)": ["5"]},
    "just outside delta <= e^-5": {"epsilon": ["10"], "log(1/delta)": ["4.985"]},
    "just outside delta > 0": {"epsilon": ["10"], "log(1/delta)": ["5"], "stated": {"delta": "0"}},
    "just outside K >= 0": {"epsilon": ["10"], "log(1/delta)": ["5"], "stated": {"K": "-300"}},
}

NOISE: Statement = Statement(
    id="shulgin2025.noise",
    kind="corollary",
    title=r"noise that makes $\alpha$-NormEC differentially private",
    source=Source(
        PAPER,
        "Utility guarantees, Section 5",
        note=(
            r"Section 3.3 has a range of $\varepsilon$ and $\delta$, 'To obtain reasonable DP guarantees, we usually "
            r"choose', whose values are lost; the second one mentions 'the number of data points', and $\delta \le "
            "1/N$ is at most $e^{-5}$ from $N = 149$ on. The theorem of Abadi et al. has a range of its own. Every "
            "client in every round. Zero-out: a client's message is replaced by noise only; each client's messages "
            "are seen. Where only their sum over $n$ clients is seen, the case of one client is the same"
        ),
        provenance="restored",
        restoration=(
            "from 'setting the standard deviation of the DP noise according to Theorem 1 of Abadi et al. (2016)' and "
            r"from the sensitivity 1 that (7) gives. That all $K + 1$ rounds and $\log(1/\delta)$ enter by their "
            r"square root is, as we judge, pinned by that theorem; the range of $\varepsilon$ and $\delta$ is a "
            "judgement, and so is what neighbours are"
        ),
    ),
    text=(
        r"With noise of standard deviation $\sigma = O(\sqrt{(K + 1) \log(1/\delta)}/\varepsilon)$ on every client's "
        r"normalised message, $\alpha$-NormEC is $(\varepsilon, \delta)$-differentially private for $\varepsilon \le "
        r"10$ and $\delta \le e^{-5}$: the constant 2 is enough."
    ),
    symbols=(*_SYMBOLS, _CONSTANT),
    hypotheses=(
        Hypothesis(
            lambda s: (s.epsilon > 0, s.epsilon <= 10, s.delta <= sp.exp(-5)),
            (r"$0 < \varepsilon \le 10$ and $\delta \le e^{-5}$"),
        ),
        ROUNDS,
        shared.DELTA,
    ),
    relation="==",
    sides=lambda s: Sides({"noise": s.sigma}, {"prescribed deviation": _deviation(s)}),
    prescription=lambda s: {"sigma": _deviation(s)},
    checks=(
        shared.rounds_together(_squared),
        Check("privacy", "v = 4 on the whole range", _on_the_range, _RANGE_GRID),
        *checks("privacy", _on_the_range, _OUTSIDE, "not-applicable"),
    ),
    remark=Remark(
        r"If no range of $\varepsilon$ is meant but that of Theorem 1 of Abadi et al., $\varepsilon \le u (K + 1)$, "
        r"then no constant is enough: for every $u$ and $v$, with $s^2 = v \log(1/\delta) \ge 1$ and $\varepsilon = 4 "
        r"s^2$, the true $\delta$ exceeds $\Phi(s) - \varphi(s)/(3 s) > 0.76$ once $K + 1 \ge \varepsilon/u$, as "
        r"every client takes part in every round. The true $\delta$ is the least for all messages of norm up to 1, "
        r"where one client's are replaced by noise only. In numbers: $v = 4$, which is enough for $\varepsilon \le "
        r"10$, is not for $\delta = 10^{-5}$ and $\varepsilon = 37$: whatever $K$ is ($\sigma = 1.116$ for $K + 1 = "
        r"37$), the true $\delta$ is 1.361e-5.",
        shown_by="shulgin2025.noise.any-epsilon",
        repaired="shulgin2025.noise.repaired",
    ),
    reading=(
        r"The range that Section 3.3 mentions, its values lost, is read as $\varepsilon \le 10$ and $\delta \le "
        "e^{-5}$."
    ),
    universal=False,
)

ANY_EPSILON: Statement = replace(
    NOISE,
    id="shulgin2025.noise.any-epsilon",
    title=r"noise that makes $\alpha$-NormEC differentially private, for every $\varepsilon$",
    text=(
        r"Constants $u$ and $v$ exist such that, for every $\varepsilon \le u (K + 1)$ and $\delta$, noise of "
        r"standard deviation $\sqrt{v (K + 1) \log(1/\delta)}/\varepsilon$ on every client's normalised message makes "
        r"$\alpha$-NormEC $(\varepsilon, \delta)$-differentially private."
    ),
    symbols=(*_SYMBOLS, _OF_RANGE, _CONSTANT),
    hypotheses=(Hypothesis(lambda s: (s.epsilon > 0, s.epsilon <= s.u * (s.K + 1))), ROUNDS, shared.DELTA),
    sides=lambda s: Sides({"noise": s.sigma}, {"prescribed deviation": _deviation(s)}),
    prescription=lambda s: {"sigma": _deviation(s)},
    checks=(
        shared.rounds_together(_squared),
        Check(
            "privacy",
            "no constant, every client in every round",
            _every_client,
            {**shared.LADDER, "needed": shared.NEEDED},
            "violated",
        ),
    ),
    expected="violated",
    remark=None,
    reading=r"No range of $\varepsilon$ is read from Section 3.3; that of Theorem 1 of Abadi et al. is taken.",
    reading_of="shulgin2025.noise",
    universal=True,
)

REPAIRED: Statement = Statement(
    id="shulgin2025.noise.repaired",
    kind="corollary",
    title=r"noise that makes $\alpha$-NormEC differentially private, $\varepsilon \le 2 \log(1/\delta)$",
    source=Source(
        PAPER,
        "Utility guarantees, Section 5",
        note=(
            r"repaired: $0 < \varepsilon \le 2 \log(1/\delta)$, and the constant is 2; 4 with replacement instead of "
            "zero-out"
        ),
    ),
    text=(
        r"Let $\delta$ be in (0, 1) and $0 < \varepsilon \le 2 \log(1/\delta)$. With noise of standard deviation "
        r"$\sigma = 2 \sqrt{(K + 1) \log(1/\delta)}/\varepsilon$ on every client's normalised message, "
        r"$\alpha$-NormEC is $(\varepsilon, \delta)$-differentially private."
    ),
    symbols=_SYMBOLS,
    hypotheses=(BUDGET, ROUNDS, shared.DELTA),
    relation="==",
    sides=lambda s: Sides({"noise": s.sigma}, {"prescribed deviation": _deviation(s, 2)}),
    prescription=lambda s: {"sigma": _deviation(s, 2)},
    checks=repaired_checks(_squared, {"K": 299}, {"K >= 0": {"K": "-300"}}),
    smoke=("the smallest constant",),
)

STATEMENTS = (NOISE, ANY_EPSILON, REPAIRED)
