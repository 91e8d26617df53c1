"""Recommended hyper-parameters, from the statements' own prescriptions and bounds.

An algorithm is one module of `dpfl_theory.recommend.algorithms`, a rule one of `dpfl_theory.recommend.rules`; both are
found by scan. The package can be called: ``dpfl_theory.recommend(...)`` is `recommend`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.recommend.algorithms import get, settings
from dpfl_theory.recommend.base import Document, Setting, finite, named
from dpfl_theory.recommend.rules import rules

__all__ = ["Document", "Setting", "get", "named", "recommend", "rules", "settings"]


def recommend(
    algorithm: str,
    rule: str = "printed",
    *,
    data: str | None = None,
    ridge: float | None = None,
    partition: str | None = None,
    features: int | None = None,
    row_norm: float | None = None,
    label_column: str | None = None,
    client_column: str | None = None,
    **inputs: Any,
) -> Document:
    r"""The hyper-parameters that a rule recommends for an algorithm, with the bound that holds for them.

    With ``rule="printed"`` these are a paper's own formulas, for example :math:`\eta = 1/L`,
    :math:`p = \sqrt{\mu/L}` and :math:`T^*` of hou2023 Corollary 1; for dp-scaffold, whose printed step is refuted,
    the repaired theorem's. Counts are rounded up, and what depends on them is computed anew. With
    ``rule="bound-optimal"`` the bound is minimised over all hyper-parameters that are not given.

    Args:
        algorithm: one of `settings`, for example "dp-scaffnew".
        rule: one of `rules`.
        data: a bundled data set's name, or a CSV, Parquet, NPZ or LIBSVM file (`dpfl_theory.problems.files`). The
            clients are those that the file names; without any its records are split (among 10 without their number).
            The constants of logistic regression on it (softmax regression for more than two classes) started at 0
            become the inputs that are not given; each is told with its certificate under ``data``.
        ridge, partition, features, row_norm: of the problem that is made of the data: weight of the ridge [F/X^2],
            ``iid`` (default where the file has no clients), ``shards`` or ``similarity``, number of principal
            components, length of the longest record.
        label_column, client_column: the file's columns of labels and clients, where they are not called so.
        inputs: the fields of the algorithm's `Setting`: constants of the problem and the budget, each with its unit in
            the field's text ([F] objective, [X] parameter).

    Returns:
        Plain data: the hyper-parameters under the paper's names, ``bound`` (None where none is claimed), its named
        ``terms``, ``noise``, ``unrounded`` values, and a ``certificate`` that says why they are what they are. With
        "bound-optimal" also ``vacuous``, a sentence where the bound promises nothing, ``would_help``, the least changes
        of single inputs with which it does, and in the certificate ``lower_bound``, ``gap`` and ``how``.

    Raises:
        InputError: for an unknown algorithm, rule or input, for values that the formulas do not allow, and for data
            without a constant that the algorithm needs (a minimum that is not attained, gradients without bound).

    Sources: das2022 Theorem 4; hou2023 Corollary 1; shulgin2025 Corollary 2; noble2022 Theorem C.1, repaired;
    zhang2021 Corollary 3.2.1, repaired.

    >>> found = recommend("dp-scaffnew", clients=10, dim=20, smoothness=1.0, strong_convexity=0.01, distance=300.0,
    ...                   gradient_norm_at_optimum=0.0, clip=1.0, epsilon=8.0, delta=1e-5, constant=4.0)
    >>> found["eta"], found["p"], found["iterations"], found["certificate"]["optimal"]
    (1.0, 0.1, 237, True)
    >>> found = recommend("dp-scaffnew", data="breast-cancer", ridge=0.1, features=3, clip=1.0, epsilon=8.0, delta=1e-5,
    ...                   constant=4.0)
    >>> found["inputs"]["clients"], found["data"]["constants"]["strong_convexity"]["value"]
    (10, 0.1)
    """
    known = rules()
    if rule not in known:
        raise unknown_name("rule", rule, known)
    kind = get(algorithm)
    own = kind.names()
    for name in inputs:
        if name not in own:
            raise InputError(f"{algorithm} takes no input {name!r}: it takes {', '.join(own)}")
    options: Document = {
        "ridge": ridge,
        "partition": partition,
        "features": features,
        "row_norm": row_norm,
        "label_column": label_column,
        "client_column": client_column,
    }
    shape = {name: value for name, value in options.items() if value is not None}
    source: Document = {}
    wrong = kind.faults(inputs, free=known[rule].chooses, measured=data is not None or bool(shape))
    if data is None and shape:
        many = f"{' and '.join(map(named, shape))} {'is' if len(shape) == 1 else 'are'}"
        wrong.insert(0, f"{many} for a problem that is made of data: give `data` too")
    if wrong:
        raise InputError("; and ".join(wrong))
    if data is not None:
        from dpfl_theory.recommend.data import Source, measure

        inputs, source["data"] = measure(
            kind, Source(data, **{name.removesuffix("_column"): value for name, value in shape.items()}), inputs
        )
    setting = kind(**inputs)
    try:
        document = known[rule].apply(setting)
    except (OverflowError, ZeroDivisionError) as error:
        told = f"the formulas of {algorithm} are beyond double precision for these inputs: give less extreme ones"
        raise InputError(told) from error
    return finite({"algorithm": kind.name, "rule": rule, **document, "inputs": setting.inputs(), **source})


class _Callable(ModuleType):
    """A package that can be called, since the function that it is about has its name."""

    def __call__(self, algorithm: str, rule: str = "printed", **inputs: Any) -> Document:
        return recommend(algorithm, rule, **inputs)


sys.modules[__name__].__class__ = _Callable
