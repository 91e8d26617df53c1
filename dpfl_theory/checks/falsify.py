"""falsify: a search for an instance on which a statement fails, by runs inside its hypotheses.

The search starts from the instances of the statement's Monte-Carlo checks and changes their numbers. It keeps the
instances inside the hypotheses with the largest excess, (left - right)/(|left| + |right|), of an equality its size, and
continues from these. The result of a search is not evidence: its excesses are the largest of many. The best instance is
therefore run again with fresh seeds and all its replicates, and that run's verdict counts.
"""

from __future__ import annotations

import functools
import math
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpfl_theory.checks import monte_carlo
from dpfl_theory.checks.execute import run_one
from dpfl_theory.checks.hypotheses import unmet
from dpfl_theory.checks.perturb_instance import varied
from dpfl_theory.checks.settings import LEAST_SECONDS, Settings
from dpfl_theory.core import Check, Experiment, Statement, methods
from dpfl_theory.core.evidence import ENDED, Evidence
from dpfl_theory.core.expressions import compiled
from dpfl_theory.core.formula import prescription_of
from dpfl_theory.errors import DpflError, InputError, format_error
from dpfl_theory.runtime.executor import one_thread
from dpfl_theory.runtime.time_limits import TimeoutExceeded, limited

REPLICATES, MORE_REPLICATES = 64, 512
"""Replicates of a run of the search, and of its repetition with other seeds if it exceeds all earlier ones: the
largest of many noisy excesses is too large. The last run has as many replicates as the check it descends from."""
KEPT = 6
"""The number of best instances from which the search continues."""
COST = 8.0
"""The maximum work of an instance relative to its ancestor's."""
FRESH, REPEATED = 0x5EED, 0xC0DE
"""The offsets of the seeds of the last run and of a repetition from those of the search."""

Rule = Callable[[Mapping[str, float]], float]
"""The prescribed value of a symbol, from the values of all of them."""
Tell = Callable[[int, float, float], None]
"""Called with: instances tried, share of the budget spent, the largest excess."""


@dataclass(frozen=True)
class Candidate:
    """An instance of the search: the check it descends from, and its excess."""

    excess: float
    check: Check
    instance: Mapping[str, Any]


@dataclass(frozen=True)
class Search:
    """The result of a search: counts, the largest excesses, and the evidence of the best instance.

    It has how many instances were tried, how many of these were variations of recorded ones, and how many were inside
    the hypotheses. It says which hypotheses excluded the others (and how many could not be run), and why the first of
    those could not. It has the largest excess of the recorded runs and of all runs. It names the other methods by which
    the statement is checked, whose instances are not among them. It has the evidence of the best instance's run with
    fresh seeds. It says whether such a run can be violated: that takes limits that are valid at finite sample size."""

    statement: str
    tried: int
    variations: int
    inside: int
    outside: Mapping[str, int]
    recorded: float
    largest: float
    evidence: Evidence
    certifiable: bool
    seconds: float
    reasons: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()

    @property
    def suspicious(self) -> bool:
        """Whether the run with fresh seeds is undecided although its asymptotic limits exclude the right side."""
        e = self.evidence
        return e.verdict == "inconclusive" and e.lhs is not None and e.rhs is not None and not e.lhs.low <= e.rhs

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        known = ("statement", "tried", "variations", "inside", "recorded", "largest", "certifiable", "suspicious")
        return {
            **{name: getattr(self, name) for name in known},
            "outside": dict(self.outside),
            "reasons": dict(self.reasons),
            "other_methods": list(self.others),
            "seconds": round(self.seconds, 3),
            "evidence": self.evidence.to_json(),
        }


def falsify(
    statement: Statement,
    *,
    budget: float = 60.0,
    instances: int | None = None,
    seed: int = 0,
    alpha: float = 1e-6,
    device: str = "auto",
    limit: float | None = None,
    progress: Tell | None = None,
) -> Search:
    """Search for a counterexample for a number of seconds, or a number of instances (which always finds the same). The
    recorded instances and the last run are done in any case.

    limit: seconds after which a run is stopped. Each run is then in a process of its own, and an exception from the
    build of a variation only excludes that variation. Use it for statements from untrusted authors.

    Raises InputError for a statement without runs, one that is not claimed for all instances, or one whose checks are
    all outside its hypotheses. With a limit it is also raised for a recorded instance that cannot be run within it.
    """
    if not statement.universal:
        raise InputError(
            f"{statement.id} is not claimed wherever its hypotheses hold, so no failing instance refutes it: check "
            f"it instead (dpfl-theory check {statement.id})"
        )
    own = statement.checks
    bases = [c for c in statement.checks if methods.get(c.method).simulates and "stated" not in c.instance]
    if not bases:
        raise InputError(
            f"{statement.id} has no runs to vary: check it by its other methods, which search whole classes of "
            f"functions (dpfl-theory check {statement.id})"
        )
    if limit is not None:
        _run_recorded(statement, bases, Settings(seed, 0.5, device, limit=limit))
    started, draw, outside = time.monotonic(), random.Random(seed), Counter[str]()
    tried, inside, kept = 0, 0, list[Candidate]()
    rules: Mapping[str, Rule] = {}
    reasons: dict[str, str] = {}

    def spent() -> float:
        """The share of the search that is done."""
        return (time.monotonic() - started) / budget if instances is None else tried / instances

    def run(check: Check, instance: Mapping[str, Any], maximum: float) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            experiment = _built(statement, check, instance, maximum, rules)
            found = _excess(statement, check, experiment, Settings(seed, 0.5, device), REPLICATES)
            if not kept or found <= kept[0].excess:
                return found
            return _excess(statement, check, experiment, Settings(seed ^ REPEATED, 0.5, device), MORE_REPLICATES)

    def measured(check: Check, instance: Mapping[str, Any], maximum: float) -> float | None:
        try:
            # A recorded one was tried; here, it compiles the kernels that its variations use.
            if limit is None or maximum == math.inf:
                return run(check, instance, maximum)
            left = math.inf if instances is not None else started + budget - time.monotonic()
            return limited(lambda: run(check, instance, maximum), min(limit, max(LEAST_SECONDS, left)))
        except _LeftOut as left_out:
            what, why = left_out.args
        except Exception as error:
            if limit is None:
                raise
            what, why = "took too long" if isinstance(error, TimeoutExceeded) else "cannot be built or run", _why(error)
        outside[what] += 1
        if why:
            reasons.setdefault(what, why)
        return None

    def enter(check: Check, instance: Mapping[str, Any], maximum: float) -> None:
        nonlocal tried, inside
        tried += 1
        excess = measured(check, instance, maximum)
        if excess is not None:
            inside += 1
            kept.append(Candidate(excess, check, instance))
            kept.sort(key=lambda f: -f.excess)
        if progress is not None:
            progress(tried, min(1.0, spent()), kept[0].excess if kept else -1.0)

    with one_thread():
        for check in bases:
            enter(check, check.instance, math.inf)
        if not kept:
            raise InputError(f"no run of {statement.id} is inside its hypotheses, so the search has no starting point")
        recorded = kept[0].excess
        runs = {f.check.name: f.check.make(statement) for f in kept}
        rules = rules_of(statement, list(runs.values()))
        work = {name: _work(run) for name, run in runs.items()}
        while spent() < 1.0:
            # Half of the time start from any: a near equality stays the best for long, and leads nowhere.
            parent = draw.choice(kept[:KEPT] if draw.random() < 0.5 else kept)
            enter(parent.check, varied(parent.instance, draw), COST * work[parent.check.name])
        best = kept[0]
        last = replace(best.check.make(statement, best.instance), known={})  # known of the recorded one, if at all
        name = f"found from: {best.check.name}"
        found = functools.wraps(best.check.build)(lambda *_: last)
        again = replace(best.check, name=name, instance=best.instance, build=found)
        evidence = run_one(statement, again, Settings(seed ^ FRESH, alpha, device, limit=limit))
    return Search(
        statement.id,
        tried,
        tried - len(bases),
        inside,
        outside,
        recorded,
        best.excess,
        evidence,
        last.reach is not None or not last.random,
        time.monotonic() - started,
        reasons,
        tuple(m for m in statement.methods if not methods.get(m).simulates and any(c.method == m for c in own)),
    )


def _run_recorded(statement: Statement, checks: Sequence[Check], settings: Settings) -> None:
    """Run the recorded instances with few replicates, as `check` does. Raises InputError for one that cannot be run."""
    for check in checks:

        def short(statement: Statement, instance: Mapping[str, Any], build: Any = check.build) -> Any:
            built = build(statement, instance)
            few = isinstance(built, Experiment) and isinstance(built.replicates, int) and built.replicates > REPLICATES
            return replace(built, replicates=REPLICATES) if few else built

        evidence = run_one(statement, replace(check, build=functools.wraps(check.build)(short)), settings)
        if evidence.notes.get(ENDED):
            raise InputError(f"check {check.name!r} of {statement.id}: {evidence.reason}")


def _work(experiment: Experiment) -> float:
    """The approximate number of single-coordinate gradients in one replicate of a run."""
    run = getattr(experiment.algorithm, "run", experiment.algorithm)
    steps = float(getattr(run, "local_steps", 1) or 1)
    own = experiment.rounds * experiment.problem.n * experiment.problem.d * steps
    return own + (0.0 if experiment.rival is None else _work(experiment.rival))


def _built(
    statement: Statement, check: Check, instance: Mapping[str, Any], maximum: float, rules: Mapping[str, Rule]
) -> Experiment:
    """The run of an instance. Raises _LeftOut for one that cannot be built, needs too much work, or is outside the
    hypotheses or the prescriptions."""
    try:
        experiment: Experiment = check.make(statement, instance)
        missing = unmet(statement, experiment.values, experiment.problem)
    except _UNFIT as error:
        raise _LeftOut("cannot be built", _why(error)) from error
    if _work(experiment) > maximum:
        raise _LeftOut("too much work")
    if missing is not None:
        raise _LeftOut(missing[0])
    for symbol, rule in rules.items():
        if not agrees(experiment.values[symbol], rule(experiment.values)):
            raise _LeftOut(f"the prescribed {symbol}")
    return experiment


def _excess(statement: Statement, check: Check, experiment: Experiment, settings: Settings, replicates: int) -> float:
    """The excess in a run of this many replicates. Raises _LeftOut for one that cannot be run, or diverges."""
    short = replace(experiment, replicates=min(experiment.replicates, replicates))
    try:
        evidence = monte_carlo.run(statement, replace(check, build=lambda *_: short), settings)
    except _UNFIT as error:
        raise _LeftOut(f"cannot be run: {type(error).__name__}", _why(error)) from error
    left, right = evidence.lhs, evidence.rhs
    if left is None or right is None or not math.isfinite(left.estimate) or not math.isfinite(right):
        raise _LeftOut("a side is infinite or not a number")
    size = abs(left.estimate) + abs(right)
    excess = (left.estimate - right) / size if size else 0.0
    return abs(excess) if statement.relation == "==" else excess


_UNFIT = (DpflError, ArithmeticError, ValueError, KeyError, AssertionError, TypeError, IndexError)
"""The exceptions of building or running an instance whose numbers are inconsistent."""


class _LeftOut(Exception):
    """An instance that is not run: its category, and the reason, where the category does not say it."""

    def __init__(self, label: str, why: str = "") -> None:
        super().__init__(label, why)


def _why(error: Exception) -> str:
    """An error in one sentence."""
    return str(error).strip().rstrip(".") if isinstance(error, DpflError) else format_error(error)


def rules_of(statement: Statement, recorded: Sequence[Experiment]) -> dict[str, Rule]:
    """The statement's prescriptions for its own symbols that every recorded run follows: variations must follow them
    too."""
    if statement.prescription is None:
        return {}

    def rule(expression: Any) -> Rule:
        # Every variation evaluates it, and sympy's own substitution takes a tenth of a second or more.
        names, formula = compiled(expression, "mpmath")

        def value(values: Mapping[str, float]) -> float:
            try:
                return float(formula(*(values[name] for name in names)))
            except (KeyError, TypeError, ArithmeticError):  # a symbol is missing, a root of a negative number, or 1/0
                return math.nan

        return value

    found = {name: rule(e) for name, e in prescription_of(statement).items()}
    return {
        name: given
        for name, given in found.items()
        if all(name in run.values and agrees(run.values[name], given(run.values)) for run in recorded)
    }


def agrees(value: float, prescribed: float) -> bool:
    """Whether a symbol has the prescribed value, up to rounding."""
    return math.isclose(value, prescribed, rel_tol=1e-6)
