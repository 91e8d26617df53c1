"""The recommendation by any rule: ``best``, from runs, or one of `dpfl_theory.recommend.rule_answers`, by formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.notebook import Tabular
from dpfl_theory.recommend.inputs import DataOptions, Document, options_of, quote_option
from dpfl_theory.recommend.papers import get
from dpfl_theory.recommend.rule_answers import applied, rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpfl_theory.recommend.search import Plan
    from dpfl_theory.runtime.cached_calls import Reuse

BEST = "best"
"""The rule without a formula: the best result of runs."""


class Recommendation(Document, Tabular):
    """The result of `dpfl_theory.recommend`: plain data that a notebook shows as a table.

    >>> Recommendation(eta=1.0, p=0.1, bound=8.0, terms={"optimisation": 8.0}).records()
    [{'eta': 1.0, 'p': 0.1, 'bound': 8.0}]
    """

    def records(self) -> list[dict[str, Any]]:
        """A row for each compared algorithm; for a rule, one row with its hyper-parameters and its bound."""
        if "algorithms" not in self:
            return [{name: value for name, value in self.items() if isinstance(value, (int, float, str))}]
        best = set(self["recommended_by_unit"].values())
        return [
            {
                "algorithm": row["name"],
                "protects": row["protects"],
                "recommended": row["name"] in best,
                "suboptimality": row["suboptimality"]["mean"],
                "error": row["suboptimality"]["error"],
                **row["hyperparameters"],
            }
            for row in self["algorithms"]
        ]

    def plot(self) -> Figure:
        """The comparison of the algorithms, or the neighbourhood that ``confirm`` ran. Raises ValueError for a rule's
        recommendation that was not confirmed."""
        from dpfl_theory.recommend import figure

        if "algorithms" in self:
            return figure.draw(self)
        if "confirmed" not in self:
            raise ValueError("a rule's recommendation has no runs to plot: call recommend(..., confirm=True)")
        return figure.neighbourhoods(self["confirmed"])


def recommend(
    algorithm: str | None = None,
    rule: str = BEST,
    *,
    data: str | None = None,
    ridge: float | None = None,
    partition: str | None = None,
    features: int | None = None,
    row_norm: float | None = None,
    label_column: str | None = None,
    client_column: str | None = None,
    unit: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    plan: Plan | None = None,
    progress: Callable[[float, str], None] | None = None,
    confirm: bool = False,
    reuse: Reuse | None = None,
    **inputs: Any,
) -> Recommendation:
    r"""Recommend hyper-parameters: the best ones found by runs within a privacy budget, or those of a rule.

    With ``rule="best"`` they come from runs with certified noise on the data, or on a problem with the given constants;
    without an algorithm all private ones are compared. With ``rule="printed"`` they come from a paper's own formulas,
    for example :math:`\eta = 1/L`, :math:`p = \sqrt{\mu/L}` and :math:`T^*` of hou2023 Corollary 1. For dp-scaffold,
    whose printed step is refuted, they are those of the repaired theorem. Counts are rounded up, and quantities that
    depend on them are computed again. With ``rule="bound-optimal"`` the bound is minimised over all hyper-parameters
    that are not given.

    Args:
        algorithm: one of `settings`, for example "dp-scaffnew"; by the rule "best" one of `recommend.tuned.tuned`, or
            None for all of them.
        rule: "best", or one of `rules`.
        data: a bundled data set's name, or a CSV, Parquet, NPZ, LIBSVM or IDX file (`dpfl_theory.problems.files`). The
            clients are those that the file names; if it names none, its records are split (by a rule among 10, if their
            number is not given). The inputs that are not given become the constants of logistic regression on the data
            (softmax regression for more than two classes), started at 0. Each is reported with its certificate under
            ``data``.
        ridge, partition, features, row_norm: of the problem that is made from the data: weight of the ridge [F/X^2],
            ``iid`` (default where the file has no clients), ``shards`` or ``similarity``, number of principal
            components, length of the longest record.
        label_column, client_column: the file's columns of labels and clients, if they have other names.
        unit, seed, jobs, plan, progress: of the rule "best": the unit of privacy (``client``, ``record``, ``all``), the
            runs' seed, the number of processes, the amount of computation, and a function that is called with the
            finished share.
        reuse: a store (`dpfl_theory.runtime.cached_calls.Reuse`) of earlier results.
        confirm: whether to run the neighbourhood of the recommendation, to test if the bound is least where runs are
            best; for a rule's recommendation on the data, or on a problem with the given constants.
        inputs: by the rule "best" those of `recommend.best`: epsilon, delta, rounds, cohort, clients, or constants. By
            another rule the fields of the algorithm's `Setting`: constants of the problem and the budget, each with its
            unit in the field's text ([F] objective, [X] parameter).

    Returns:
        Plain data. By the rule "best" that of `recommend.best`. By another rule the hyper-parameters under the paper's
        names, ``bound`` (None where none is claimed), its named ``terms``, ``noise``, ``unrounded`` values, and a
        ``certificate`` with the reasons. With "bound-optimal" also ``vacuous``, a sentence if the bound promises
        nothing, ``would_help``, the least changes of single inputs with which it promises something, and in the
        certificate ``lower_bound``, ``gap`` and ``how``. With ``confirm`` the list ``confirmed``
        (`dpfl_theory.recommend.confirm`), one entry for each algorithm with a bound.

    Raises:
        InputError: for an unknown algorithm, rule or input, and for values that the formulas do not allow. Also for
            data without a constant that the algorithm needs (a minimum that is not attained, gradients without bound).

    Sources: das2022 Theorem 4; hou2023 Corollary 1; shulgin2025 Corollary 2; noble2022 Theorem C.1, repaired;
    zhang2021 Corollary 3.2.1, repaired.

    >>> found = recommend("dp-scaffnew", "printed", clients=10, dim=20, smoothness=1.0, strong_convexity=0.01,
    ...                   distance=300.0, gradient_norm_at_optimum=0.0, clip=1.0, epsilon=8.0, delta=1e-5, constant=4.0)
    >>> found["eta"], found["p"], found["iterations"], found["certificate"]["optimal"]
    (1.0, 0.1, 237, True)
    >>> found = recommend("dp-scaffnew", "printed", data="breast-cancer", ridge=0.1, features=3, clip=1.0, epsilon=8.0,
    ...                   delta=1e-5, constant=4.0)
    >>> found["inputs"]["clients"], found["data"]["constants"]["strong_convexity"]["value"]
    (10, 0.1)
    """
    known = rules()
    if rule not in (BEST, *known):
        raise unknown_name("rule", rule, (BEST, *known))
    options: Document = {
        "ridge": ridge,
        "partition": partition,
        "features": features,
        "row_norm": row_norm,
        "label_column": label_column,
        "client_column": client_column,
    }
    shape = {name: value for name, value in options.items() if value is not None}
    wrong = []
    if data is None and shape:
        many = f"{' and '.join(map(quote_option, shape))} {'is' if len(shape) == 1 else 'are'}"
        wrong.append(f"{many} for a problem that is made from data: give `data` too")
    source = {field: shape[name] for name, field in options_of(DataOptions).items() if name in shape}
    if rule == BEST:
        from dpfl_theory.recommend.data import DataSource
        from dpfl_theory.recommend.run import best

        on = None if data is None else DataSource(data, **source)
        how: Document = {"seed": seed, "jobs": jobs, "plan": plan, "progress": progress}
        return Recommendation(
            best(algorithm, inputs, on, unit=unit or "all", confirm=confirm, wrong=wrong, reuse=reuse, **how)
        )
    if algorithm is None:
        raise InputError(f"`rule` is {rule!r}, which needs one algorithm: name an `algorithm`, or take `rule=best`")
    if unit is not None:
        raise InputError(f"`unit` is for `rule=best`: leave it out, the unit of {algorithm} is fixed")
    found = _by_rule(algorithm, rule, inputs, data, source, wrong)
    if confirm:
        from dpfl_theory.recommend.confirm import of_rule, stands_for
        from dpfl_theory.recommend.data import DataSource

        clients = found["inputs"].get("users", found["inputs"].get("clients"))
        problem = (
            stands_for(algorithm, found["inputs"]) if data is None else DataSource(data, **source).problem(clients)
        )
        found["confirmed"] = [of_rule(found, problem, seed=seed, reuse=reuse)]
    return Recommendation(found)


def _by_rule(
    algorithm: str, rule: str, inputs: Mapping[str, Any], data: str | None, source: Document, wrong: Sequence[str]
) -> Document:
    """A rule's document; source: the other fields of `DataOptions`; wrong: other errors of the call."""
    kind, free = get(algorithm), rules()[rule].chooses
    for name in inputs:
        if name not in kind.names():
            known = ", ".join(map(quote_option, kind.names()))
            raise InputError(f"{algorithm} takes no {quote_option(name)}: it takes {known}")
    if faults := [*wrong, *kind.faults(inputs, free=free, measured=data is not None or bool(source))]:
        raise InputError("; and ".join(faults))
    if data is None:
        return applied(rule, kind(**inputs))
    from dpfl_theory.recommend.data import DataSource, against_start, measure

    inputs, reported = measure(kind, DataSource(data, **source), inputs)
    found = applied(rule, kind(**inputs))
    return {**found, **against_start(found, reported), "data": reported}
