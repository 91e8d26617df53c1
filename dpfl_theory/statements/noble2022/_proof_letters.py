"""The letters of the lemmas in noble2022's Appendix C.1 to C.4, which bound one round, and their shared hypotheses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpfl_theory.statements.model import Assumption, Symbol
from dpfl_theory.statements.noble2022 import _utility as noble

if TYPE_CHECKING:
    from dpfl_theory.problems.base import Problem

PAPER = noble.PAPER
WHOLE_NOTE = "lM and sR are read as whole numbers; E_t counts the local steps that all M users would take"

_GAP = r"(\mathbb{E}[F(x^{t-1})] - F(x^*))"
_ALL = (
    *noble.LETTERS.values(),
    Symbol("eta", "global step size K eta_l eta_g", (-1, 2), "positive", r"\tilde{\eta}"),
    Symbol("alpha", "exponent of l in the step size", (0, 0), "positive", r"\alpha"),
    Symbol("move", "E||x^t - x^{t-1}||^2", (0, 2), "nonnegative", r"\mathbb{E}\|x^t - x^{t-1}\|^2"),
    Symbol("drift", "user drift, the mean of E||y_i^k - x^{t-1}||^2", (0, 2), "nonnegative", r"\mathcal{E}_t"),
    Symbol("lag", "control lag before the round", (0, 2), "nonnegative", r"\mathcal{F}_{t-1}"),
    Symbol("lag_after", "control lag after the round", (0, 2), "nonnegative", r"\mathcal{F}_t"),
    Symbol("gap", "E F(x^{t-1}) - F(x*)", (1, 0), "nonnegative", _GAP),
    Symbol("slope", "E||grad F(x^{t-1})||^2", (2, -2), "nonnegative", r"\mathbb{E}\|\nabla F(x^{t-1})\|^2"),
    Symbol("distance", "E||x^{t-1} - x*||^2", (0, 2), "nonnegative", r"\mathbb{E}\|x^{t-1} - x^*\|^2"),
    Symbol("distance_after", "E||x^t - x*||^2", (0, 2), "nonnegative", r"\mathbb{E}\|x^t - x^*\|^2"),
)
LETTERS = {symbol.name: symbol for symbol in _ALL}
VARIANCE = ("varsigma", "s", "R", "Sigma")
COHORT = ("K", "l", "M")


def letters(*names: str) -> tuple[Symbol, ...]:
    """These letters, in this order."""
    return tuple(LETTERS[name] for name in names)


def variance(s: Mapping[str, Any]) -> Any:
    """varsigma^2/(sR) + Sigma_g^2(C)."""
    return s["varsigma"] ** 2 / (s["s"] * s["R"]) + s["Sigma"] ** 2


def averaged(s: Mapping[str, Any]) -> Any:
    """(varsigma^2/(sR) + Sigma_g^2(C))/(KlM)."""
    return variance(s) / (s["K"] * s["l"] * s["M"])


def _whole(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    for rate, number, what in (("l", "M", "users"), ("s", "R", "records")):
        count = values[rate] * values[number]
        if not 0 < values[rate] <= 1 or count < 1 - 1e-9 or abs(count - round(count)) > 1e-9:
            return f"{rate} {number} = {count} {what} are not a whole number between 1 and {values[number]}"
    return None


def _at_least_one(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    return None if values["eta_g"] >= 1 else f"eta_g = {values['eta_g']} is below 1"


def _always(problem: Problem | None, values: Mapping[str, Any]) -> str | None:
    return None


WHOLE = Assumption("lM users take part in a round and a local step uses sR records, both whole numbers", _whole)
GLOBAL = Assumption("eta_g >= 1", _at_least_one)
MINIMISER = Assumption("x* is a minimiser of F", _always)
