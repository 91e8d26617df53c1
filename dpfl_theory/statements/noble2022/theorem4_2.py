"""noble2022 Theorem 4.2: the rates of DP-FedAvg and DP-SCAFFOLD-warm at the private noise scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Assumption, Check, Sides, Source, Statement, Symbol, sympy_symbols
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _private_runs as private
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _rates as rates
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022 import lemmaC_8, theoremC_2, theoremC_2_repaired
from dpfl_theory.statements.noble2022._letters import LETTERS as PRIVACY
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

_CLIP = Symbol("C", "threshold of the records' gradients", (1, -1), "positive", r"\mathcal{C}")
_DIMENSION = Symbol("d", "number of parameters", (0, 0), "integer", "d")


def _small(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not 0 < values["delta"] <= 0.5:
        return f"delta = {values['delta']} does not lie in (0, 1/2]"
    ratio = values["T"] * values["l"] / values["delta"]
    return None if ratio >= 2 else f"T l/delta = {ratio} is below 2"


_SMALL = Assumption("delta <= 1/2 and T l/delta >= 2, so that log(2 y) <= 2 log(y) for both logarithms", _small)


def _privacy(s: Mapping[str, Any], factor: int = 1) -> Any:
    """D_0 C sqrt(d log(factor Tl/delta) log(factor/delta))/(epsilon M R)."""
    import sympy as sp

    logs = sp.log(factor * s["T"] * s["l"] / s["delta"]) * sp.log(factor / s["delta"])
    return s["D0"] * s["C"] * sp.sqrt(s["d"] * logs) / (s["epsilon"] * s["M"] * s["R"])


def _sampling(s: Mapping[str, Any]) -> Any:
    import sympy as sp

    return s["c"] * s["varsigma"] * s["D0"] / sp.sqrt(s["s"] * s["R"] * s["l"] * s["M"] * s["K"] * s["T"])


def _scaffold() -> Sides:
    import sympy as sp

    s = sympy_symbols(SCAFFOLD)
    start = s["c"] * s["nu"] * s["D0"] ** 2 / (s["l"] ** sp.Rational(2, 3) * s["T"])
    return Sides(
        runs.without_warm_round(s, "excess", "F0"),
        {"privacy": s["c"] * _privacy(s), "sampling": _sampling(s), "start": start},
    )


def _fedavg() -> Sides:
    import sympy as sp

    s = sympy_symbols(FEDAVG)
    third = sp.Rational(1, 3)
    drift = s["D0"] ** (4 * third) * s["nu"] ** third * s["G"] ** (2 * third) / s["T"] ** (2 * third)
    users = s["G"] * s["D0"] * sp.sqrt(1 - s["l"]) / sp.sqrt(s["l"] * s["M"] * s["T"])
    return Sides(
        {"excess": s["excess"]},
        {
            "privacy": s["c"] * _privacy(s),
            "sampling": _sampling(s),
            "start": s["c"] * s["B"] ** 2 * s["nu"] * s["D0"] ** 2 / s["T"],
            "users": s["c"] * users,
            "drift": s["c"] * drift,
        },
    )


def _noise_scale(statement: Callable[[], Statement]) -> Callable[[], Mapping[str, Any]]:
    """sigma_g* = s sqrt(lTK log(2Tl/delta) log(2/delta))/(epsilon sqrt(M))."""

    def build() -> Mapping[str, Any]:
        import sympy as sp

        s = sympy_symbols(statement())
        logs = sp.log(2 * s["T"] * s["l"] / s["delta"]) * sp.log(2 / s["delta"])
        return {"sigma_g": s["s"] * sp.sqrt(s["l"] * s["T"] * s["K"] * logs) / (s["epsilon"] * sp.sqrt(s["M"]))}

    return build


def _privacy_term(statement: Callable[[], Statement]) -> Callable[[Mapping[str, Any]], Outcome]:
    """Sigma_g(C) D_0/sqrt(TKlM) at sigma_g* is 2 sqrt(2) times the privacy bound with log(2 .) for log(.)."""

    def build(_: Mapping[str, Any]) -> Outcome:
        import sympy as sp

        itself = statement()
        s = sympy_symbols(itself)
        assert itself.prescription is not None
        Sigma = 2 * s["C"] * sp.sqrt(2 * s["d"]) * itself.prescription()["sigma_g"] / (s["s"] * s["R"])
        left = Sigma * s["D0"] / sp.sqrt(s["T"] * s["K"] * s["l"] * s["M"])
        return equal(left, 2 * sp.sqrt(2) * _privacy(s, 2), "the noise term at sigma_g* against the privacy bound")

    return build


def _scaffold_constant(_: Mapping[str, Any]) -> Outcome:
    """Lemma C.8 repaired with eta_g = sqrt(lM): sqrt(x^2 + y^2) <= x + y parts its noise term into that of the records
    and that of sigma_g*, and log(2y) <= 2 log(y) for y >= 2 takes the latter's logarithms to the printed ones."""
    import sympy as sp

    s, own = sympy_symbols(SCAFFOLD), sympy_symbols(lemmaC_8.REPAIRED)
    assert lemmaC_8.REPAIRED.sides is not None
    given = lemmaC_8.REPAIRED.sides().rhs
    named = {own[name]: s[name] for name in own if name in s} | {own["eta_g"]: sp.sqrt(s["l"] * s["M"])}
    noise, start = (given[name].subs(named) for name in ("noise", "start"))
    sigma = _noise_scale(lambda: SCAFFOLD)()["sigma_g"]
    noise = noise.subs(own["Sigma"], 2 * s["C"] * sp.sqrt(2 * s["d"]) * sigma / (s["s"] * s["R"]))
    printed = {name: term / s["c"] for name, term in _scaffold().rhs.items()}
    squares = (8 * sp.sqrt(5) * printed["sampling"]) ** 2 + (16 * sp.sqrt(10) * _privacy(s, 2)) ** 2
    first = equal(sp.expand(noise**2), sp.expand(squares), "the square of the noise term, in two parts")
    second = equal(start, 48 * printed["start"], "the start")
    largest = 2 * 16 * sp.sqrt(10)
    enough = largest <= private.CONSTANTS["scaffold"] and largest >= 48
    return Outcome(
        True if first.true and second.true and enough else None,
        f"{first.reason}; {second.reason}; the largest factor is {largest} <= {private.CONSTANTS['scaffold']:g}",
    )


def _fedavg_constant(_: Mapping[str, Any]) -> Outcome:
    """Theorem C.2 (2) repaired at sigma_g*: sqrt(x^2 + y^2) <= x + y parts its noise term, log(2y) <= 2 log(y), lM >= 1
    and 6(1 + B^2) <= 12 B^2 for B >= 1."""
    import sympy as sp

    s, own = sympy_symbols(FEDAVG), sympy_symbols(theoremC_2_repaired.CONVEX)
    assert theoremC_2_repaired.CONVEX.sides is not None
    named = {own[name]: s[name] for name in own if name in s}
    given = {name: term.subs(named) for name, term in theoremC_2_repaired.CONVEX.sides().rhs.items()}
    sigma = _noise_scale(lambda: FEDAVG)()["sigma_g"]
    noise = given["noise"].subs(own["Sigma"], 2 * s["C"] * sp.sqrt(2 * s["d"]) * sigma / (s["s"] * s["R"]))
    printed = {name: term / s["c"] for name, term in _fedavg().rhs.items()}
    parts = (sp.sqrt(3) * printed["sampling"]) ** 2 + (2 * sp.sqrt(6) * _privacy(s, 2)) ** 2
    users, drift = 3 * sp.sqrt(10) / 4, sp.cbrt(189) / 4
    room = sp.expand(sp.simplify(12 * printed["start"] / given["start"] * (1 + s["B"] ** 2) - (1 + s["B"] ** 2)))
    found = (
        equal(sp.expand(noise**2), sp.expand(parts), "the square of the noise term, in two parts"),
        equal(given["sampling of users"] ** 2, (users * printed["users"]) ** 2, "the square of the users"),
        equal(
            given["heterogeneity"] ** 3 * s["l"] * s["M"], (drift * printed["drift"]) ** 3, "lM times the cubed drift"
        ),
        equal(room, s["B"] ** 2 - 1, "what 12 B^2 leaves over 6(1 + B^2), in sixths"),
    )
    largest = sp.Max(sp.sqrt(3), 2 * 2 * sp.sqrt(6), users, drift, 12)
    enough = largest <= private.CONSTANTS["fedavg"]
    return Outcome(
        True if all(o.true for o in found) and enough else None,
        f"{'; '.join(o.reason for o in found)}; the largest factor is {largest} <= {private.CONSTANTS['fedavg']:g}",
    )


def _exponents(statement: Callable[[], Statement], method: str) -> Callable[[Mapping[str, Any]], Outcome]:
    """The exponents that the runs are held to are those of the entered terms."""

    def build(_: Mapping[str, Any]) -> Outcome:
        import sympy as sp

        found = rates.exponents(statement())
        wanted = {(r["term"], r["letter"]): sp.Rational(r["claimed"]) for r in rates.REGIMES if r["method"] == method}
        wrong = [f"{t} has {n}^({found[t, n]}), not {e}" for (t, n), e in wanted.items() if found[t, n] != e]
        shown = {f"{term}: {name}": str(power) for (term, name), power in found.items() if power != 0}
        return Outcome(not wrong, "; ".join(wrong) or f"{len(wanted)} exponents agree with the terms", shown)

    return build


def _same_as_theorem_c2(_: Mapping[str, Any]) -> Outcome:
    """All terms but the privacy bound are those of Theorem C.2 (2) without Sigma_g."""
    s, own = sympy_symbols(FEDAVG), sympy_symbols(theoremC_2.CONVEX)
    assert theoremC_2.CONVEX.sides is not None
    given = sum(theoremC_2.CONVEX.sides().rhs.values()).subs(own["Sigma"], 0)
    ours = sum(v for name, v in _fedavg().rhs.items() if name != "privacy")
    return equal(
        given.subs({own[name]: s[name] for name in own if name in s}), ours, "Theorem C.2 against the last terms"
    )


_NAMES = ("c", "nu", "varsigma", "s", "R", *proof.COHORT, "T", "D0")
_LETTERS = (*proof.letters(*_NAMES), _CLIP, _DIMENSION, *(PRIVACY[name] for name in ("epsilon", "delta", "sigma_g")))
_BASE = (noble.CONVEX, noble.SMOOTH, noble.GRADIENTS, proof.WHOLE, noble.ROUNDS, runs.APART, _SMALL)
_NOTE = (
    "O stands for a constant c. 'There exist step sizes and weights' is entered with equal weights over the iterates "
    "that the rounds start from, whose mean excess bounds that of the averaged output, and the step sizes of the "
    "proofs. The printed output, over x^1, ..., x^T, follows: for T >= 2 the weights 1/(T - 1) on x^1, ..., x^(T-1) "
    "give at most T/(T - 1) <= 2 times the entered mean, and for T = 1 a short enough step leaves F(x^1) near F(x^0) "
    "<= F* + nu D_0^2/2, which the start's term covers; so c = 204 and 24 serve for it. Two hypotheses are not in the "
    "paper. D_0 > 0: from x* itself the right side is 0, which steps of size 0 "
    "alone attain. delta <= 1/2 and Tl >= 2 delta: sigma_g* has log(2Tl/delta) log(2/delta) where the bound has "
    "log(Tl/delta) log(1/delta), which tends to 0 with 1 - delta while sigma_g* may be as large as one likes; then "
    "nothing is better than standing still, and F(x^0) - F* exceeds c nu D_0^2/T for large T, whatever c is"
)
_LOGARITHMS = (
    "The theorem prints log(Tl/delta) log(1/delta) where sigma_g* has log(2Tl/delta) log(2/delta): no constant takes "
    "the one to the other as delta tends to 1, or Tl/delta to 1.",
    "The averaged output is over x^1, ..., x^T; the proofs bound x^0, ..., x^{T-1}.",
)

SCAFFOLD: Statement = Statement(
    id="noble2022.theorem4.2.scaffold",
    kind="theorem",
    title="DP-SCAFFOLD-warm at the private noise scale: convex",
    source=Source(
        proof.PAPER,
        "Theorem 4.2, Section 4.2",
        note=(
            "the display is missing in the text; it is Theorem C.1 (2) at sigma_g*, as Appendix C.2 says, written as "
            "the one "
            f"for DP-FedAvg. {_NOTE}; the mean over T + 1 rounds counts the warm one, which the second term takes back"
        ),
    ),
    text=(
        "DP-SCAFFOLD-warm with convex nu-smooth F_i and sigma_g = sigma_g* has step sizes and weights with which the "
        "excess satisfies the bound, whatever the heterogeneity."
    ),
    symbols=(*_LETTERS, *proof.letters("F0")),
    expectations=(runs.EXCESS,),
    assumptions=(*_BASE, noble.WARM),
    sides=_scaffold,
    universal=False,
    prescription=_noise_scale(lambda: SCAFFOLD),
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term(lambda: SCAFFOLD)),
        Check("algebra", "a constant that serves", _scaffold_constant),
        Check("algebra", "the exponents of each term", _exponents(lambda: SCAFFOLD, "scaffold")),
        *private.private_runs("scaffold", lambda: SCAFFOLD),
        *rates.checks("scaffold", lambda: SCAFFOLD),
    ),
    uses=("noble2022.lemmaC.8.repaired",),
    slips=(
        *_LOGARITHMS,
        "Appendix C.2 prints Sigma_g(C) = 2 C d sqrt(2 lTK ...)/(epsilon R sqrt(M)) at sigma_g*, with d where its own "
        "definition has sqrt(d).",
    ),
)

FEDAVG: Statement = Statement(
    id="noble2022.theorem4.2.fedavg",
    kind="theorem",
    title="DP-FedAvg at the private noise scale: convex",
    source=Source(
        proof.PAPER,
        "Theorem 4.2, Section 4.2",
        note=_NOTE,
    ),
    text=(
        "DP-FedAvg with convex nu-smooth F_i of dissimilarity (G, B) and sigma_g = sigma_g* has step sizes and "
        "weights with which the excess satisfies the bound."
    ),
    symbols=(*_LETTERS, *noble.letters("G", "B")),
    expectations=(private.MEAN,),
    assumptions=(*_BASE, noble.DISSIMILAR),
    sides=_fedavg,
    universal=False,
    prescription=_noise_scale(lambda: FEDAVG),
    checks=(
        Check("algebra", "the privacy bound at sigma_g*", _privacy_term(lambda: FEDAVG)),
        Check("algebra", "the other terms are those of Theorem C.2", _same_as_theorem_c2),
        Check("algebra", "a constant that serves", _fedavg_constant),
        Check("algebra", "the exponents of each term", _exponents(lambda: FEDAVG, "fedavg")),
        *private.private_runs("fedavg", lambda: FEDAVG),
        *rates.checks("fedavg", lambda: FEDAVG),
    ),
    uses=("noble2022.lemmaC.1", "noble2022.theoremC.2.convex.repaired"),
    slips=_LOGARITHMS,
)

STATEMENTS = (FEDAVG, SCAFFOLD)
