"""noble2022 Theorem 4.2 repaired: its rates with the hypotheses that they need, with constants and with their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.claims import Outcome
from dpfl_theory.statements.model import Assumption, Check, Statement, sympy_symbols
from dpfl_theory.statements.noble2022 import _explicit_runs as runs
from dpfl_theory.statements.noble2022 import _private_runs as private
from dpfl_theory.statements.noble2022 import _proof_letters as proof
from dpfl_theory.statements.noble2022 import _rates as rates
from dpfl_theory.statements.noble2022 import _utility as noble
from dpfl_theory.statements.noble2022 import lemmaC_8, theoremC_2_repaired
from dpfl_theory.statements.noble2022 import theorem4_2 as printed_form
from dpfl_theory.statements.symbolic import equal

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem


def _small(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    if not 0 < values["delta"] <= 0.5:
        return f"delta = {values['delta']} does not lie in (0, 1/2]"
    ratio = values["T"] * values["l"] / values["delta"]
    return None if ratio >= 2 else f"T l/delta = {ratio} is below 2"


SMALL = Assumption("delta <= 1/2 and T l/delta >= 2, so that log(2 y) <= 2 log(y) for both logarithms", _small)


def _noise(statement: Statement) -> Any:
    """sigma_g*."""
    assert statement.prescription is not None
    return statement.prescription()["sigma_g"]


def _terms(statement: Statement) -> dict[str, Any]:
    """The right side at c = 1."""
    assert statement.sides is not None
    c = sympy_symbols(statement)["c"]
    return {name: term.subs(c, 1) for name, term in statement.sides().rhs.items()}


def _scaffold_constant(_: Mapping[str, Any]) -> Outcome:
    """Lemma C.8 repaired with eta_g = sqrt(lM): sqrt(x^2 + y^2) <= x + y parts its noise term into that of the records
    and that of sigma_g*, and log(2y) <= 2 log(y) for y >= 2 takes the latter's logarithms to the printed ones."""
    import sympy as sp

    s, own = sympy_symbols(SCAFFOLD), sympy_symbols(lemmaC_8.REPAIRED)
    assert lemmaC_8.REPAIRED.sides is not None
    given = lemmaC_8.REPAIRED.sides().rhs
    named = {own[name]: s[name] for name in own if name in s} | {own["eta_g"]: sp.sqrt(s["l"] * s["M"])}
    noise, start = (given[name].subs(named) for name in ("noise", "start"))
    sigma = _noise(SCAFFOLD)
    noise = noise.subs(own["Sigma"], 2 * s["C"] * sp.sqrt(2 * s["d"]) * sigma / (s["s"] * s["R"]))
    printed = _terms(SCAFFOLD)
    squares = (8 * sp.sqrt(5) * printed["sampling"]) ** 2 + (16 * sp.sqrt(10) * printed_form.privacy(s, 2)) ** 2
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
    sigma = _noise(FEDAVG)
    noise = given["noise"].subs(own["Sigma"], 2 * s["C"] * sp.sqrt(2 * s["d"]) * sigma / (s["s"] * s["R"]))
    printed = _terms(FEDAVG)
    parts = (sp.sqrt(3) * printed["sampling"]) ** 2 + (2 * sp.sqrt(6) * printed_form.privacy(s, 2)) ** 2
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


_NOTE = (
    "repaired: D_0 > 0, delta <= 1/2, Tl >= 2 delta, and constants: c = 102 for DP-SCAFFOLD-warm and 12 for DP-FedAvg "
    "(204 and 24 for the printed output, over x^1, ..., x^T: for T >= 2 the weights 1/(T - 1) on x^1, ..., x^(T-1) "
    "give at most T/(T - 1) <= 2 times the entered mean, and for T = 1 a short enough step leaves F(x^1) near F(x^0) "
    "<= F* + nu D_0^2/2, which the start's term covers). With log(2Tl/delta) log(2/delta) in the bound delta need only "
    "give the logarithms a sign, and c = 51 and 12 serve. lM and sR are whole numbers"
)


def _assumptions(printed: Statement) -> tuple[Assumption, ...]:
    """Those of the printed form, with whole numbers for the sampling and without what SMALL implies."""
    kept = (proof.WHOLE if a is noble.SAMPLING else a for a in printed.assumptions if a is not printed_form.DEFINED)
    return (*kept, runs.APART, SMALL)


SCAFFOLD: Statement = replace(
    printed_form.SCAFFOLD,
    id="noble2022.theorem4.2.scaffold.repaired",
    title="DP-SCAFFOLD-warm at the private noise scale: convex, with its hypotheses",
    source=replace(
        printed_form.SCAFFOLD.source, note=f"{_NOTE}. Of the mean over T + 1 rounds the warm one is taken back"
    ),
    text=(
        "DP-SCAFFOLD-warm with convex nu-smooth F_i, delta <= 1/2, Tl >= 2 delta and sigma_g = sigma_g* has step sizes "
        "with which the mean excess of x^0, ..., x^{T-1} satisfies the bound with c = 102, whatever the heterogeneity, "
        "if x^0 is not x*."
    ),
    assumptions=_assumptions(printed_form.SCAFFOLD),
    checks=(
        Check("algebra", "a constant that serves", _scaffold_constant),
        Check("algebra", "the exponents of each term", _exponents(lambda: SCAFFOLD, "scaffold")),
        *private.private_runs("scaffold", lambda: SCAFFOLD),
        *rates.checks("scaffold", lambda: SCAFFOLD),
    ),
    expected="holds",
    erratum=None,
    uses=("noble2022.lemmaC.8.repaired",),
    slips=(),
)

FEDAVG: Statement = replace(
    printed_form.FEDAVG,
    id="noble2022.theorem4.2.fedavg.repaired",
    title="DP-FedAvg at the private noise scale: convex, with its hypotheses",
    source=replace(printed_form.FEDAVG.source, note=_NOTE),
    text=(
        "DP-FedAvg with convex nu-smooth F_i of dissimilarity (G, B), delta <= 1/2, Tl >= 2 delta, sigma_g = sigma_g* "
        "has step sizes with which the mean excess of x^0, ..., x^{T-1} satisfies the bound with c = 12, if x^0 is not "
        "x*."
    ),
    assumptions=_assumptions(printed_form.FEDAVG),
    checks=(
        Check("algebra", "a constant that serves", _fedavg_constant),
        Check("algebra", "the exponents of each term", _exponents(lambda: FEDAVG, "fedavg")),
        *private.private_runs("fedavg", lambda: FEDAVG),
        *rates.checks("fedavg", lambda: FEDAVG),
    ),
    expected="holds",
    erratum=None,
    uses=("noble2022.lemmaC.1", "noble2022.theoremC.2.convex.repaired"),
    slips=(),
)

STATEMENTS = (FEDAVG, SCAFFOLD)
